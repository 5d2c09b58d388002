"""Where in its paper a statement stands: section, equation or figure; pages are not at hand."""

SIMULATION, SUMMED = "Computational simulation", "end of Proposed algorithm"
FALL, STIFF, REVIEW, V_SIM = ("text after that of Fig. 5", "text of Fig. 2",
                              "Review of previous work", "V-Sim")  # fmt: skip
# By paper and item: the place of each statement, or one of all.
PLACES: dict[str, dict[str, tuple[str, ...]]] = {
    "korayem-2009": {
        "table-1": ("Tables 1, 2", SUMMED, SUMMED, SUMMED),
        "table-2": ("Table 2", "Table 2", SUMMED, "abstract", "Conclusion, 2", "Introduction"),
        "identities": (
            "after eqs. 42, 44", "after eq. 42", "after eq. 54", "after eqs. 80, 84, 93",
            "after eqs. 80, 93", "after eq. 80", "before eq. 45", "after eq. 47", "before eq. 45",
            "abstract", "Conclusion, 1", "abstract", "Conclusion, 3", "before eq. 94",
            "after eq. 42",
        ),
        "tip-rotation": ("eq. 6", "step 1"),
        **{f"fig-{k}": (SIMULATION,) for k in range(4, 16)},
        **dict.fromkeys(("figures", "more-modes", "vibration"), (SIMULATION,)),
    },
    "graves-1989": {
        "cantilever": ("abstract",),
        "shuttle-arm": ("abstract", "before eq. 8", V_SIM, "abstract, eq. 16", V_SIM),
        "compensation": (REVIEW, REVIEW, REVIEW, "after eq. 27", "before eq. 27", V_SIM),
        "jacobian": ("eqs. 7-14",), "transposes": ("before eq. 4",),
        "christoffel": ("after eq. 26",), "rotation-limit": (REVIEW,),
    },
    "theodore-1995": {
        "table-1": (*("Table 1",) * 4, "section 4", "section 4"),
        "table-2": (*("Table 2",) * 5, "section 4.4", *("Table 2",) * 4, *("section 4.4",) * 5),
        "equation-numbers": (*("section 4.4",) * 4, "section 4.3, remark 2"),
        "li-sankar": ("section 4.4", "section 4.4", "section 6", "section 4.4, Table 2"),
        "frequency-equation": (*("section 4.2",) * 5, *("section 2.1.1",) * 4),
        "ease-of-modelling": (
            *("section 4.1",) * 4, "section 4", "section 4.1", "section 2.2", "section 1.1",
            "section 2.1.1", "section 4.3",
        ),
        "ranks": (
            *("section 4.3, remark 2",) * 3, "section 4.3, remark 1", "Appendix",
            "section 4.3, remark 2", "Appendix",
        ),
        "lemma": (
            "section 4.3", "section 4.3, lemma", "section 4.3, proof of the lemma", "section 4.3",
            "section 4.3, remark 3", "section 4.3, lemma", "section 4.3, proof of the lemma",
        ),
        "closed-loop": ("section 3", "section 3", "section 5"),
        "cpu": ("sections 4.4, 5",),
        **{f"fig-{k}": ("section 5",) for k in range(4, 11)}, "one-run": ("section 5",),
    },
    "chu": {
        **{f"fig-{k}": ("section 3.1",) for k in (6, 7, 8)}, "parameters": ("section 3.1",),
        **{f"fig-{k}": ("section 3.2",) for k in (12, 13, 14, 15)},
        **{f"fig-{k}": ("section 4",) for k in (19, 20, 21, 22)},
        "figures": ("section 3.1", "section 3.2"),
        "cost": ("section 1", "section 6"),
        "deficiency": ("section 6", "before eq. 18", "after eq. 6"),
        "table-1": (
            "sections 1, 6", "after eq. 25", "section 6", "abstract", "after eq. 25", "eqs. 8-17",
            "end of section 2", "section 6",
        ),
    },
    "chen-2012": {
        "fig-2a": (STIFF,), "fig-2b": (STIFF,), "critical-speed": (STIFF, "abstract"),
        "fig-4": ("text of Fig. 4",),
        **dict.fromkeys(("fig-5", "longitudinal", "chordwise"), ("text of Fig. 5",)),
        "figures": ("texts of Figs. 4, 5",),
        "offset": (
            *("text of Fig. 3",) * 3, FALL, "abstract", FALL, FALL, FALL, "abstract",
            "abstract, conclusion", "abstract, conclusion", "introduction",
        ),
        "symmetry": ("before eq. 37",), "frequency-ratios": ("introduction",),
    },
}  # fmt: skip
