"""Readings of Theodore & Ghosal (1995), Table 2: which arm it is and how entries are written.

The paper prints how many operations its inertia matrices take, but neither the arms in full nor
how their entries were written.
"""

from dataclasses import dataclass

# Quarter turns about x between joints.
TURNS = {
    ("RR", ""): (0, 0),
    ("RRR", ""): (1, 0, 0),
    ("RRR", "parallel"): (0, 0, 0),
    ("RRR", "crossed"): (1, 1, 0),
    ("RP", ""): (1, 0),
    ("RRP", ""): (1, 1, 0),
}


@dataclass(frozen=True)
class Way:
    """A reading of the paper's arm and of how its entries are written."""

    # Whether joint axes of RRR are as in the samples (""), "parallel", or "crossed" twice.
    arm: str = ""
    # hub, material: whether the beam's part in the hub counts, and whether points move along the
    # shapes.
    hub: bool = True
    material: bool = True
    # Like terms are joined within an "entry", or within a "body" (a link, hub part, payload) or an
    # "element" only, whose matrices are then added.
    joined: str = "entry"
    order: int = 9  # highest power of amplitudes that is kept
    # Whether entries are factored, most frequent factor first, instead of multiplied out.
    nested: bool = False
    named: bool = True  # whether the angle of a tip is worked out once
