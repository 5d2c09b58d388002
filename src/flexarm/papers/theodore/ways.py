"""Readings of Theodore & Ghosal (1995), Table 2: which arm it is and how entries are written.

The paper prints how many operations its inertia matrices take, but neither the arms in full nor
how their entries were written.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

# Quarter turns about x between joints.
TURNS = {
    ("RR", ""): (0, 0),
    ("RRR", ""): (1, 0, 0),
    ("RRR", "parallel"): (0, 0, 0),
    ("RRR", "crossed"): (1, 1, 0),
    ("RP", ""): (1, 0),
    ("RP", "axis"): (0, 0),
    ("RP", "along"): (0, 0),
    ("RRP", ""): (1, 1, 0),
    ("RRP", "axis"): (1, 0, 0),
    ("RRP", "along"): (1, 0, 0),
}


def ways(robot: str, kind: str) -> "Iterator[Way]":
    """List the readings that are tried for a cell of Table 2."""
    arm = robot.partition(" ")[0]
    slides = arm.endswith("P")
    for name, terms, joined, order, factored, named in product(
        [reading for each, reading in TURNS if each == arm],
        list(product((True, False), repeat=2)) if slides else [(True, True)],
        ("entry", "body", "element") if kind == "elements" else ("entry", "body"),
        (9, 1),
        (False, True),
        (True, False) if kind == "modes" else (True,),
    ):
        yield Way(arm=name, hub=terms[0], material=terms[1], joined=joined, order=order,
                  nested=factored, named=named)  # fmt: skip
    if arm == "RR":
        for named, order in product((True, False), (9, 1)):
            yield Way(planes=2, named=named, order=order)
            yield Way(identities=False, named=named, order=order)


@dataclass(frozen=True)
class Way:
    """A reading of the paper's arm and of how its entries are written.

    Attributes
    ----------
    arm
        What the paper shows in no figure: whether a sliding link goes across the link before, in
        its plane of turning (""), parallel to its joint's "axis", or "along" it; whether joint axes
        of RRR are as in the samples (""), "parallel", or "crossed" twice.
    hub, material
        Whether the beam's part in the hub counts, and whether points move along the shapes.
    identities
        Whether squares of sines are rewritten.
    joined
        Like terms are joined within an "entry", or within a "body" (a link, hub part, payload) or
        an "element" only, whose matrices are then added.
    order
        Highest power of amplitudes that is kept.
    nested
        Whether entries are factored, most frequent factor first, instead of multiplied out.
    named
        Whether the angle of a tip is worked out once.
    planes
        Planes in which links bend.
    """

    arm: str = ""
    hub: bool = True
    material: bool = True
    identities: bool = True
    joined: str = "entry"
    order: int = 9
    nested: bool = False
    named: bool = True
    planes: int = 1
