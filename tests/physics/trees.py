"""Random arms with branches: links on the base, at tips, at roots and within other links."""

from flexarm.arm import Arm
from tests.physics.random_arms import _base, _link
from tests.physics.random_links import Draft


def random_tree(number: int, links: int = 4, *, exact: bool = False) -> Arm:
    """Draw an arm with branches, determined by its number, of linear or exact beams."""
    draft = Draft((number, 71))
    pieces = [_link(draft, slides=k > 0) for k in range(links)]
    for k, piece in enumerate(pieces):
        piece["name"] = f"part{k}"
        if piece["joint"]["kind"] == "sliding":
            piece.pop("damping", None)  # the library interpolates it over the length
        if draft.chance(0.3):
            piece["payload"] = draft.body()
    for k in range(1, links):
        parent = int(draft.random.integers(-1, k))
        pieces[k]["parent"] = "base" if parent < 0 else f"part{parent}"
        carrier = pieces[parent]
        if parent >= 0 and carrier["joint"]["kind"] != "sliding":
            place = draft.one(("tip", "root", "within", "within"))
            pieces[k]["at"] = draft.number(0.1, 0.9) if place == "within" else place
    arm = {"flexarm": 1, "name": f"tree {number}", "base": _base(draft), "links": pieces}
    arm |= {"gravity": draft.vector(10.0), "stiffening": exact, "payload": draft.body()}
    return Arm.model_validate(arm)


def rigid_tree(links: int) -> Arm:
    """Make a tree of rigid links in which every link carries two."""
    pieces = [
        {
            "name": f"part{k}",
            "parent": f"part{(k - 1) // 2}" if k else "base",
            "joint": {"kind": "revolute", "axis": [0, 0, 1], "before": {"rotation": [0.3, 0.2, k]}},
            "length": 0.5,
            "body": {"mass": 1.0, "com": [0.25, 0.01, 0], "inertia": [0.01, 0.03, 0.04]},
        }
        for k in range(links)
    ]
    return Arm.model_validate({"flexarm": 1, "name": f"tree of {links}", "links": pieces})
