"""Random links for random arms: sections, shapes, rigid pieces, nonlinear elasticity.

A draft notes the name of every option of the model file that it takes, so that a run can say what
it covered.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

Piece = dict[str, Any]
PINNED = ("pinned-free", "pinned-pinned")
# Whose bending amplitudes are called y1, y2, z1, ...
MODAL = ("loaded", "clamped-free", "clamped-mass", "free-free", *PINNED)
SHAPES = (*MODAL, "elements", "reduced elements", "craig-bampton", "lumped")
SLIDING_SHAPES = ("loaded", "clamped-free", "clamped-mass", "following", "elements")
ROOTS = ("auto", "free", "geared", "held")
OUTLINES = ("rectangle", "tube", "box", "I")
DIRECTIONS = ("bending_y", "bending_z", "torsion", "stretch")

LINK_OPTIONS = (
    "rigid link by body", "rigid link by section", "flexible link",
    "root piece", "tip piece", "products of inertia",
    "section by numbers", "section by stations", "jump of section", "rotary inertia",
    "no rotary inertia", *(f"outline {kind}" for kind in OUTLINES),
    *(f"shapes {kind}" for kind in SHAPES), *(f"sliding {kind}" for kind in SLIDING_SHAPES),
    *(f"root {kind}" for kind in ROOTS), "tip load given", "configuration",
    *DIRECTIONS, "automatic count", "normalise tip", "normalise mass", "normalise none",
    "damping", "damping per mode", "elastic energy", "elastic force",
    "quadratic x", "quadratic y", "quadratic z",
)  # fmt: skip


class Draft:
    """A source of random choices that notes the options taken."""

    def __init__(self, seed: Sequence[int]) -> None:
        self.random = np.random.default_rng(seed)
        self.options: set[str] = set()

    def note(self, option: str) -> None:
        """Count an option as taken."""
        self.options.add(option)

    def chance(self, share: float) -> bool:
        """Say yes with a probability."""
        return bool(self.random.random() < share)

    def one(self, choices: Sequence[str]) -> str:
        """Take one of several."""
        return choices[int(self.random.integers(len(choices)))]

    def number(self, low: float, high: float) -> float:
        """Draw a number."""
        return low + (high - low) * self.random.random()  # bit for bit `uniform`, in a third

    def vector(self, size: float) -> list[float]:
        """Draw a vector with entries up to a size."""
        return [self.number(-size, size) for _ in range(3)]

    def body(self) -> Piece:
        """Draw a rigid body, with products of inertia or without."""
        inertia = [self.number(0.01, 0.03) for _ in range(3)]
        if self.chance(0.5):
            self.note("products of inertia")
            inertia += self.vector(0.003)
        return {"mass": self.number(0.1, 1.0), "com": self.vector(0.1), "inertia": inertia}


def rigid_link(draft: Draft) -> Piece:
    """Draw a rigid link."""
    length = draft.number(0.1, 0.6)
    if draft.chance(0.5):
        draft.note("rigid link by body")
        return {"length": length, "body": draft.body()}
    draft.note("rigid link by section")
    link: Piece = {"length": length + 0.4, "rigid": True, "section": _numbers(draft)}
    _pieces(draft, link)
    return link


def flexible_link(draft: Draft, *, pinned: bool) -> Piece:
    """Draw a flexible link of constant length; ``pinned`` ones bend in one plane only."""
    draft.note("flexible link")
    link: Piece = {"length": draft.number(0.5, 1.2)}
    if not pinned:
        _pieces(draft, link)
    ends = [link[end]["length"] for end in ("root_piece", "tip_piece") if end in link]
    link["section"] = _section(draft, link["length"] - sum(ends))
    kind = draft.one(PINNED if pinned else [s for s in SHAPES if s not in PINNED])
    draft.note(f"shapes {kind}")
    link["shapes"] = _shapes(draft, kind, pinned=pinned)
    _damping(draft, link)
    if kind in MODAL:
        _nonlinear(draft, link)
    return link


def sliding_link(draft: Draft) -> Piece:
    """Draw a flexible link that grows out of its hub."""
    draft.note("flexible link")
    link: Piece = {"length": draft.number(0.8, 1.4), "section": _numbers(draft)}
    if draft.chance(0.4):
        draft.note("tip piece")
        link["tip_piece"] = {"length": 0.1, "body": draft.body()}
    kind = draft.one(SLIDING_SHAPES)
    draft.note(f"sliding {kind}")
    # one shape per direction: what is tested does not get better with more, but slower
    chosen = [d for d in DIRECTIONS if draft.chance(0.4)] or ["bending_y"]
    if kind in ("following", "elements"):
        chosen = chosen[:2]
    counts: Piece = {d: int(d in chosen) for d in DIRECTIONS}
    for direction in chosen:
        draft.note(direction)
    link["shapes"] = {"kind": "clamped-mass" if kind == "following" else kind, **counts}
    if kind == "following":
        link["shapes"]["follow"] = True
    if kind in MODAL and "bending_y" in chosen and draft.chance(0.3):
        draft.note("elastic energy")
        link["elastic_energy"] = [{"coefficient": 300.0, "powers": {"y1": 4}}]
    _damping(draft, link)
    return link


def _pieces(draft: Draft, link: Piece) -> None:
    for name, note in (("root_piece", "root piece"), ("tip_piece", "tip piece")):
        if draft.chance(0.3):
            draft.note(note)
            link[name] = {"length": draft.number(0.05, 0.15), "body": draft.body()}


def _section(draft: Draft, span: float) -> Piece:
    form = draft.one(("numbers", "numbers", "outline", "stations"))
    if form == "numbers":
        return _numbers(draft)
    if form == "outline":
        return _outline(draft)
    draft.note("section by stations")
    places = [0.0, 0.4 * span, span]
    if draft.chance(0.5):
        draft.note("jump of section")
        places.insert(2, 0.4 * span)
    return {"stations": [{"at": x, **_properties(draft, rotary=True)} for x in places]}


def _numbers(draft: Draft) -> Piece:
    draft.note("section by numbers")
    rotary = draft.chance(0.5)
    if rotary:
        draft.note("rotary inertia")
    return _properties(draft, rotary=rotary)


def _properties(draft: Draft, *, rotary: bool) -> Piece:
    table = {
        "mass_per_length": draft.number(0.5, 2.0),
        "EIz": draft.number(5.0, 40.0),
        "EIy": draft.number(5.0, 40.0),
        "GJ": draft.number(3.0, 20.0),
        "EA": draft.number(300.0, 2000.0),
        "Jx": draft.number(0.01, 0.05),
    }
    if rotary:
        table |= {"Jy": draft.number(0.001, 0.01), "Jz": draft.number(0.001, 0.01)}
    return table


def _outline(draft: Draft) -> Piece:
    kind = draft.one(OUTLINES)
    draft.note(f"outline {kind}")
    shape: Piece = {"kind": kind}
    if kind == "tube":
        shape |= {"diameter": 0.04, "thickness": draft.number(0.002, 0.02)}
    else:
        shape |= {"width": draft.number(0.03, 0.05), "height": draft.number(0.03, 0.05)}
    if kind == "box":
        shape |= {"thickness": 0.003}
    if kind == "I":
        shape |= {"flange": 0.004, "web": 0.005}
    section: Piece = {"material": {"E": 1e9, "density": 2000.0}, "shape": shape}
    if draft.chance(0.5):
        draft.note("no rotary inertia")
        section["rotary_inertia"] = False
    return section


def _shapes(draft: Draft, kind: str, *, pinned: bool) -> Piece:
    chosen = [d for d in DIRECTIONS if draft.chance(0.5)] or ["bending_y"]
    if pinned:
        chosen = ["bending_y"]
    for direction in chosen:
        draft.note(direction)
    most = 2 if kind in MODAL else 1
    counts: Piece = {d: int(draft.random.integers(1, most + 1)) if d in chosen else 0
                     for d in DIRECTIONS}  # fmt: skip
    if kind == "reduced elements":
        return {"kind": "elements", "reduce": 1, **{d: 3 * counts[d] for d in DIRECTIONS}}
    choice = {"kind": kind, **counts}
    if kind == "loaded" and draft.chance(0.2):
        draft.note("automatic count")
        choice[chosen[0]] = "auto"
        if chosen == ["stretch"]:
            choice["bending_y"] = 1  # stretch may be too stiff to be chosen
    if kind in MODAL:
        choice["normalise"] = draft.one(("tip", "mass", "none"))
        draft.note(f"normalise {choice['normalise']}")
    if kind == "loaded":
        choice["root"] = draft.one(ROOTS)
        draft.note(f"root {choice['root']}")
    if kind == "clamped-mass" and draft.chance(0.5):
        draft.note("tip load given")
        choice["tip"] = {"mass": 0.4, "inertia": 0.02, "offset": 0.1}
    return choice


def _damping(draft: Draft, link: Piece) -> None:
    if draft.chance(0.3):
        draft.note("damping")
        link["damping"] = draft.number(0.01, 0.1)
    elif draft.chance(0.2):
        draft.note("damping per mode")
        link["damping"] = [draft.number(0.01, 0.1) for _ in range(_modes(link["shapes"]))]


def _modes(shapes: Piece) -> int:
    """Count the modes that are sure to be there."""
    return max(sum(int(shapes[d] not in (0, "auto")) for d in DIRECTIONS), 1)


def _nonlinear(draft: Draft, link: Piece) -> None:
    """Add elastic terms and quadratic shapes that name bending amplitudes."""
    counts = link["shapes"]
    names = [n for n, d in (("y1", "bending_y"), ("z1", "bending_z")) if counts[d]]
    if not names:
        return
    if draft.chance(0.2):
        draft.note("elastic energy")
        powers = {names[0]: 3, names[-1]: 2} if len(names) > 1 else {names[0]: 4}
        link["elastic_energy"] = [{"coefficient": draft.number(-50, 300), "powers": powers}]
    if draft.chance(0.2):
        draft.note("elastic force")
        table = {"amplitude": [-0.5, -0.02, 0.03, 0.6], "force": [-60.0, -1.0, 4.0, 90.0]}
        link["elastic_force"] = [{"coordinate": draft.one(names), **table}]
    if draft.chance(0.25):
        direction = draft.one("xyz")
        draft.note(f"quadratic {direction}")
        span = link["length"] - sum(link[e]["length"] for e in ("root_piece", "tip_piece")
                                    if e in link)  # fmt: skip
        stations = [0.0, 0.25 * span, 0.6 * span, span]
        size = draft.number(-1.0, 1.0)
        pair = [draft.one(names), draft.one(names)]
        link["quadratic_shapes"] = [
            {"direction": direction, "amplitudes": pair, "stations": stations,
             "values": [size * x**2 for x in stations]}
        ]  # fmt: skip
