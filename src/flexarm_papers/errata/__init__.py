"""Errata of the five papers, run: printed, right, and what each misprint does."""

import csv
from collections.abc import Callable
from functools import cache, partial
from importlib import import_module
from pathlib import Path

from flexarm.errors import FlexarmError
from flexarm_papers.base import Table
from flexarm_papers.errata.base import Erratum, measured
from flexarm_papers.report import NAMES, lined

FILES = {
    "korayem-2009": "flexarm_papers.errata.korayem",
    "graves-1989": "flexarm_papers.errata.others",
    "theodore-1995": "flexarm_papers.errata.theodore",
    "chu": "flexarm_papers.errata.others",
    "chen-2012": "flexarm_papers.errata.others",
}


@cache
def errata(paper: str | None = None) -> tuple[Erratum, ...]:
    """List the errata of a paper, or of all.

    Raises
    ------
    FlexarmError
        If there is no such paper.
    """
    if paper is not None and paper not in FILES:
        raise FlexarmError(f"no paper '{paper}': there are {', '.join(FILES)}")
    with (Path(__file__).parent / "errata.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if paper in (None, row["paper"])]
    return tuple(_erratum(**row) for row in rows)


def _erratum(*, paper: str, effect: str, **words: str) -> Erratum:
    """Make an erratum of a row of the table."""
    run: Callable[[], str] | str = effect
    if effect.startswith("="):
        name, *given = effect[1:].split(":", 2)
        run = partial(getattr(import_module(FILES[paper]), f"_{name}"), *given)
    return Erratum(paper, effect=run, **words)  # type: ignore[arg-type]


def markdown() -> str:
    """Write all errata as a page, every misprint run; transcription damage is left out."""
    parts = [_ABOUT]
    for paper, name in NAMES.items():
        rows = tuple(
            (each.where, each.kind if each.runs else f"{each.kind}, not run", each.printed,
             each.right, measured(each), f"`{each.code}`" if each.code else "")
            for each in errata(paper)
            if each.kind != "transcription"
        )  # fmt: skip
        head = ("where", "kind", "printed", "right", "effect", "marked in")
        parts.append(f"## {name}\n\n{lined(Table(name, head, rows))}")
    return "\n\n".join(parts) + "\n"


_ABOUT = """# Errata of the five papers

Made by `flexarm reproduce --errata --out docs/errata.md`; do not edit. The papers were read in a
machine transcription, without arrows and tildes. An *error* is wrong as transcribed and corrected
nowhere in the paper. An *approximation* is stated by the paper; its effect is the size of the
neglected terms. A *remark* is on undefined or ambiguous text.

Effects compare the equation as printed and corrected at random states;
[Gibbs-Appell](papers/korayem.md#gibbs-appell) effects for three spatial links with two modes each,
amplitudes to 0.05 m, rates and accelerations to 1 SI, relative to the largest entry.
*Not run*: no effect can be computed. Source files mark the corrected line by `erratum`."""
__all__ = ["Erratum", "errata", "markdown", "measured"]
