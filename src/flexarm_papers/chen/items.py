"""Chen, Zhang & Liu 2012: stiffening of a rotating link, and a spatial fall with elastic joints."""

from functools import partial

from flexarm_papers.base import Item
from flexarm_papers.chen import fall, link

PAPER = "chen-2012"
ITEMS = (
    Item(PAPER, "fig-2a", "Fig. 2(a): rotating link at 10 rad/s", link.low_speed),
    Item(PAPER, "fig-2b", "Fig. 2(b): rotating link at 80 rad/s", link.high_speed),
    Item(PAPER, "stiffening", "Dynamic stiffening of one link and of two", link.stiffening),
    Item(PAPER, "fig-4", "Fig. 4: torsional angle of link 1", fall.torsion, "fall"),
    *(
        Item(PAPER, name, f"{title}: {name} deformation of link 2's tip",
             partial(fall.deformation, name), "fall")
        for title, name in (("Fig. 5", "flapwise"), ("Text of Fig. 5", "longitudinal"),
                            ("Text of Fig. 5", "chordwise"))
    ),
    Item(PAPER, "offset", "Offset of the links, flexibility and stiffening", fall.offset, "fall"),
)  # fmt: skip
