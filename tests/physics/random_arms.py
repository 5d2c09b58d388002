"""Random valid arms that between them take every option the model file has.

Left out: files (tabulated shapes, CSV profiles) and names, notes, limits of effort and speed, which
no equation sees.  Arms come in blocks of 25; each block takes every option at least once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from flexarm.arm import Arm
from tests.physics.random_links import (
    LINK_OPTIONS,
    Draft,
    Piece,
    flexible_link,
    rigid_link,
    sliding_link,
)

BLOCK = 25
DRAFTS = (
    60  # tried for each arm of a block: taken is what covers most that is missing, for its cost
)
PROFILES = ("constant", "step", "bang-bang", "sine", "cycloid", "spin-up", "linear table",
            "cubic table", "held table")  # fmt: skip
SMOOTH = ("constant", "sine", "cycloid", "spin-up", "cubic table")
JOINTS = ("revolute", "prismatic", "sliding", "screw", "universal", "fixed")

OPTIONS: tuple[str, ...] = (
    *LINK_OPTIONS,
    "stiffening", "no stiffening", "gravity", "weightless", "payload",
    "base fixed", "base turned", "base moved", "base free", "wrench on the base",
    *(f"joint {kind}" for kind in JOINTS), "rigid sliding link",
    "frame before", "frame after", "standard DH", "modified DH",
    "axis x", "axis y", "axis z", "axis oblique", "hub inboard", "hub outboard",
    "torque", "free", *(f"prescribed {kind}" for kind in ("revolute", "prismatic", "sliding")),
    *(f"profile {kind}" for kind in PROFILES),
    "rigid transmission, simple rotor", "rigid transmission, full rotor",
    "elastic joint, simple rotor", "elastic joint, full rotor", "elastic joint, table",
    "elastic joint, damping", "motor torque", "gear reversed",
    "spring", "spring table", "spring damping", "viscous friction", "Coulomb friction",
    "wrench world", "wrench link", "wrench along the link", "wrench factor",
)  # fmt: skip


# Which drafts the first arms of each block are: to choose them takes half a second.
CHOSEN = (
    (18, 53, 40, 11, 22, 39, 20, 14, 4, 14, 8, 35, 16, 12, 45),
    (13, 32, 30, 23, 8, 12, 42, 3, 57, 8, 0, 11, 0, 4, 12),
    (19, 32, 5, 6, 38, 2, 0, 0, 16, 2, 20, 30, 13, 2, 10, 5, 6),
    (1, 47, 16, 38, 6, 28, 11, 1, 3, 22, 14, 6, 53, 1, 7, 0, 1),
    (7, 26, 11, 30, 0, 32, 47, 19, 0, 12, 8, 14, 10, 5),
    (1, 41, 12, 39, 36, 32, 1, 36, 16, 23, 5, 29, 55, 2, 5),
    (8, 23, 58, 6, 59, 4, 44, 16, 4, 3, 1, 38, 1, 10, 18, 10),
    (38, 32, 7, 47, 8, 34, 27, 42, 0, 5, 20, 10, 9, 7, 0, 3),
    (25, 52, 19, 17, 18, 50, 17, 6, 13, 13, 1, 4, 21, 31),
    (29, 52, 53, 7, 25, 6, 5, 8, 12, 1, 16, 42, 2, 8, 1),
    (16, 36, 23, 0, 47, 27, 21, 33, 7, 21, 11, 25, 12, 9, 3),
    (24, 53, 58, 55, 19, 32, 14, 13, 15, 9, 21, 11, 4, 0, 4, 15),
    (39, 42, 2, 9, 7, 36, 8, 17, 10, 18, 4, 2, 5, 3),
    (52, 56, 15, 21, 26, 2, 43, 14, 38, 10, 6, 24, 0, 12, 9),
    (33, 30, 52, 37, 21, 19, 42, 21, 18, 12, 7, 13, 1, 9, 17, 3),
    (13, 14, 10, 39, 30, 4, 25, 5, 53, 0, 11, 58, 31, 5, 21, 5),
    (42, 11, 3, 34, 34, 8, 1, 10, 9, 6, 3, 8, 3, 4, 0, 29),
    (35, 1, 39, 4, 26, 11, 24, 16, 12, 6, 36, 1, 38, 2, 1, 13),
    (58, 34, 58, 8, 39, 50, 11, 37, 6, 13, 47, 5, 17, 9, 27, 29),
    (28, 47, 0, 25, 26, 7, 4, 11, 1, 13, 7, 43, 8, 10, 0, 11),
    (7, 19, 13, 20, 12, 14, 3, 9, 16, 13, 1, 2, 25, 0, 2, 5, 30),
    (11, 49, 25, 23, 4, 47, 23, 24, 4, 21, 7, 5, 0, 1, 55, 9),
    (57, 11, 17, 0, 53, 0, 21, 18, 34, 4, 9, 10, 6, 12, 28),
    (15, 12, 18, 37, 47, 36, 10, 15, 1, 0, 7, 5, 1, 11, 2),
)  # fmt: skip


@dataclass(frozen=True)
class RandomArm:
    """A random arm and the options that it takes."""

    number: int
    arm: Arm
    options: frozenset[str]


def block(index: int) -> tuple[RandomArm, ...]:
    """Make a block of arms, each determined by its number alone."""
    return tuple(random_arm(index * BLOCK + place) for place in range(BLOCK))


def chosen(index: int) -> list[int]:
    """Choose the drafts of a block's first arms, until they take every option; others are first."""
    missing, found = set(OPTIONS), list[int]()
    while missing:
        number = index * BLOCK + len(found)
        drafts = [_draft((number, k))[1] for k in range(DRAFTS)]
        gains = [len(options & missing) / _cost(options) for options in drafts]
        found.append(gains.index(max(gains)))
        missing -= drafts[found[-1]]
    return found


def _cost(options: set[str]) -> float:
    """Guess how long the equations of an arm are, relative to others."""
    return 5.0 if any(option.startswith("sliding ") for option in options) else 1.0


@cache
def _drafts(index: int) -> Sequence[int]:
    return CHOSEN[index] if index < len(CHOSEN) else chosen(index)


def random_arm(number: int) -> RandomArm:
    """Give the random arm of a number."""
    index, place = divmod(number, BLOCK)
    drafts = _drafts(index)
    return _arm(number, drafts[place] if place < len(drafts) else 0)


def late_arm(number: int) -> RandomArm:
    """Give the same of an arm late in its block, without those before it.

    They have taken every option, so that it is its first draft.
    """
    return _arm(number, 0)


def _arm(number: int, k: int) -> RandomArm:
    draft, options = _draft((number, k))
    return RandomArm(number, Arm.model_validate(draft), frozenset(options))


def _draft(seed: Sequence[int]) -> tuple[Piece, set[str]]:
    draft = Draft(seed)
    arm: Piece = {"flexarm": 1, "name": f"random {seed[0]}", "base": _base(draft)}
    arm["gravity"] = draft.vector(10.0) if draft.chance(0.8) else [0.0, 0.0, 0.0]
    draft.note("gravity" if any(arm["gravity"]) else "weightless")
    arm["stiffening"] = draft.chance(0.65)
    draft.note("stiffening" if arm["stiffening"] else "no stiffening")
    links: list[Piece] = []
    for _ in range(int(draft.random.integers(1, 4))):
        # a sliding link's equations are long: one is enough
        slides = any(link["joint"]["kind"] == "sliding" for link in links)
        links.append(_link(draft, slides=slides))
    while not _moves(arm["base"], links):
        links.append(_link(draft, slides=False))
    if draft.chance(0.5):
        draft.note("payload")
        arm["payload"] = draft.body()
    _lend_inertia(arm, links)
    _configure(draft, links)
    arm["links"] = links
    return arm, draft.options


def _moves(base: Piece, links: list[Piece]) -> bool:
    """Tell whether there is a coordinate: an arm without any is refused."""
    movable = any(link["joint"]["kind"] != "fixed" or "shapes" in link for link in links)
    return movable or base["kind"] != "fixed"


def _lend_inertia(arm: Piece, links: list[Piece]) -> None:
    """Give the last link a tip body where a massless end would leave a coordinate without mass."""
    last = links[-1]
    if "payload" not in arm and last["length"] == 0:
        arm["payload"] = {"mass": 0.5, "inertia": [0.01, 0.01, 0.01]}


def _configure(draft: Draft, links: list[Piece]) -> None:
    """Let clamped-mass modes see the arm bent, or a body that their length can follow.

    A body that reaches inboard may put a node at the tip at some length, where the mode cannot be
    scaled by its tip: what follows its length gets a body that does not.
    """
    for i, link in enumerate(links):
        if link.get("shapes", {}).get("follow") and i + 1 < len(links):
            link["shapes"]["tip"] = {"mass": 0.4, "inertia": 0.02, "offset": 0.1}
        moving = [k for k in range(i + 1, len(links)) if links[k]["joint"]["kind"] == "revolute"]
        shapes = link.get("shapes", {})
        if shapes.get("kind") == "clamped-mass" and "tip" not in shapes and moving:
            draft.note("configuration")
            shapes["configuration"] = {f"joint{moving[0] + 1}": draft.number(-2, 2)}


def _base(draft: Draft) -> Piece:
    kind = draft.one(("fixed", "fixed", "turned", "free", "free", "moved"))
    draft.note(f"base {kind}")
    base: Piece = {"kind": "fixed" if kind == "turned" else kind}
    if kind != "fixed":
        base |= {"position": draft.vector(1.0), "rotation": draft.vector(2.0)}
    if kind == "moved":
        names = ("x", "y", "z", "rx", "ry", "rz")
        base["motion"] = {n: _profile(draft, SMOOTH, 0.3) for n in names if draft.chance(0.5)}
    if kind == "free":
        base["body"] = draft.body() | {"mass": draft.number(1.0, 5.0)}
        if draft.chance(0.5):
            draft.note("wrench on the base")
            base["wrenches"] = [_wrench(draft, along=0.3)]
    return base


def _link(draft: Draft, *, slides: bool) -> Piece:
    kind = draft.one(("revolute",) * 5 + ("prismatic", "fixed") + (() if slides else ("sliding",)))
    draft.note(f"joint {kind}")
    pinned = kind == "revolute" and draft.chance(0.2)
    if kind == "sliding":
        link = sliding_link(draft)
        if draft.chance(0.15):
            draft.note("rigid sliding link")
            keys = ("length", "section", "tip_piece")
            link = {k: v for k, v in link.items() if k in keys} | {"rigid": True}
    elif pinned or draft.chance(0.75):
        link = flexible_link(draft, pinned=pinned)
    else:
        link = rigid_link(draft)
    link["joint"] = _joint(draft, kind, pinned=pinned, length=link["length"])
    wrenches = []
    while draft.chance(0.25):
        wrenches.append(_wrench(draft, along=None if kind == "sliding" else link["length"]))
    if wrenches:
        link["wrenches"] = wrenches
    return link


def _joint(draft: Draft, kind: str, *, pinned: bool, length: float) -> Piece:
    joint: Piece = {"kind": kind}
    _place(draft, joint, pinned=pinned)
    for side in ("inboard",) if kind == "sliding" else ("inboard", "outboard"):
        if draft.chance(0.3):
            draft.note(f"hub {side}")
            joint.setdefault("hub", {})[side] = draft.body()
    if kind == "fixed":
        return joint
    actuation = draft.one(("torque", "torque", "free", "prescribed"))
    joint["actuation"] = actuation
    draft.note(f"prescribed {kind}" if actuation == "prescribed" else actuation)
    if actuation == "prescribed":
        joint["motion"] = _profile(draft, SMOOTH, 0.5)
    elif kind == "sliding":
        joint["start"] = {"position": 0.6 * length}
    if kind == "sliding":
        joint["limits"] = {"lower": 0.3 * length, "upper": 0.85 * length}
    if actuation == "torque" and draft.chance(0.4):
        joint["input"] = _profile(draft, PROFILES, 3.0)
    # a pinned root turns its hub: a rotor behind a rigid transmission is refused there
    if draft.chance(0.5) and not (pinned and actuation == "free"):
        elastic = pinned or (actuation != "free" and draft.chance(0.6))
        joint["drive"] = _drive(draft, elastic=elastic)
    _springs(draft, joint)
    if kind == "revolute" and not pinned and "dh" not in joint and draft.chance(0.3):
        return _other_turn(draft, joint)
    return joint


def _other_turn(draft: Draft, joint: Piece) -> Piece:
    """Make a screw of a turn, or the first axis of a universal joint."""
    if draft.chance(0.5):
        draft.note("joint screw")
        return joint | {"kind": "screw", "pitch": draft.number(-0.5, 0.5)}
    draft.note("joint universal")
    kept = {key: joint[key] for key in ("before", "after", "hub") if key in joint}
    acts = {k: v for k, v in joint.items() if k not in (*kept, "kind", "axis", "drive")}
    second: Piece = {"actuation": "free"}
    _springs(draft, second)
    return kept | {"kind": "universal", "first": acts, "second": second}


def _place(draft: Draft, joint: Piece, *, pinned: bool) -> None:
    """Draw frames and axis; a pinned link's root may turn about its joint's axis z only."""
    kind = joint["kind"]
    form = (
        "frames" if kind == "sliding" else draft.one(("frames", "frames", "standard", "modified"))
    )
    if form != "frames":
        draft.note(f"{form} DH")
        joint["dh"] = {"convention": form, "theta": draft.number(-2, 2),
                       "d": draft.number(-0.3, 0.3), "alpha": draft.number(-2, 2)}  # fmt: skip
        return
    if draft.chance(0.5):
        draft.note("frame before")
        joint["before"] = {"position": draft.vector(0.3), "rotation": draft.vector(2.0)}
    if kind == "sliding":
        return
    if draft.chance(0.3):
        draft.note("frame after")
        turned = [0.0, 0.0, draft.number(-2, 2)] if pinned else draft.vector(2.0)
        joint["after"] = {"position": draft.vector(0.2), "rotation": turned}
    if kind != "fixed" and not pinned:
        name = draft.one(("x", "y", "z", "oblique"))
        draft.note(f"axis {name}")
        axes = {"x": [1.0, 0.0, 0.0], "y": [0.0, -1.0, 0.0], "z": [0.0, 0.0, 1.0]}
        joint["axis"] = axes.get(name) or draft.vector(1.0)


def _drive(draft: Draft, *, elastic: bool) -> Piece:
    rotor = draft.one(("simple", "full"))
    draft.note(f"{'elastic joint' if elastic else 'rigid transmission'}, {rotor} rotor")
    drive: Piece = {"rotor_inertia": draft.number(0.001, 0.02), "rotor": rotor}
    drive["gear_ratio"] = draft.number(1.0, 8.0)
    if draft.chance(0.3):
        draft.note("gear reversed")
        drive["gear_ratio"] *= -1
    if draft.chance(0.3):
        draft.note("motor torque")
        drive["motor_torque"] = True
    if not elastic:
        return drive
    drive["stiffness"] = draft.number(20.0, 200.0)
    if draft.chance(0.3):
        draft.note("elastic joint, table")
        drive["stiffness"] = _spring_table()
    if draft.chance(0.5):
        draft.note("elastic joint, damping")
        drive["damping"] = draft.number(0.1, 1.0)
    return drive


def _springs(draft: Draft, joint: Piece) -> None:
    if draft.chance(0.25):
        draft.note("spring")
        joint["spring"] = {"stiffness": draft.number(5.0, 50.0), "rest": draft.number(-0.5, 0.5)}
        if draft.chance(0.4):
            draft.note("spring table")
            joint["spring"]["stiffness"] = _spring_table()
        if draft.chance(0.5):
            draft.note("spring damping")
            joint["spring"]["damping"] = draft.number(0.1, 1.0)
    if draft.chance(0.3):
        draft.note("viscous friction")
        joint["friction"] = {"viscous": draft.number(0.1, 1.0)}
        if draft.chance(0.5):
            draft.note("Coulomb friction")
            joint["friction"] |= {"coulomb": draft.number(0.1, 2.0), "smoothing": 0.5}


def _spring_table() -> Piece:
    return {"deflection": [-0.5, -0.05, 0.04, 0.6], "effort": [-9.0, -1.0, 1.5, 12.0]}


def _wrench(draft: Draft, *, along: float | None) -> Piece:
    frame = draft.one(("world", "link"))
    draft.note(f"wrench {frame}")
    wrench: Piece = {"frame": frame, "force": draft.vector(5.0), "torque": draft.vector(2.0)}
    if along is not None and draft.chance(0.5):
        draft.note("wrench along the link")
        wrench["at"] = draft.number(0.0, along)
        if (
            wrench["force"][0] > 0
        ):  # no further draw or option: they would change the choice of arms
            wrench["at"] = [wrench["at"], *(0.1 * each for each in wrench["torque"][1:])]
    if draft.chance(0.4):
        draft.note("wrench factor")
        wrench["factor"] = _profile(draft, PROFILES, 1.0)
    return wrench


def _profile(draft: Draft, kinds: tuple[str, ...], size: float) -> Piece:
    kind = draft.one(kinds)
    draft.note(f"profile {kind}")
    value = draft.number(-size, size)
    table: Piece = {"kind": "table", "times": [0.0, 0.5, 1.0, 2.0],
                    "values": [0.0, value, -value, 0.5 * value]}  # fmt: skip
    profiles: dict[str, Piece] = {
        "constant": {"kind": "constant", "value": value},
        "step": {"kind": "step", "value": value, "time": 0.3, "before": -value},
        "bang-bang": {"kind": "bang-bang", "amplitude": value, "times": [0.0, 0.5, 1.0]},
        "sine": {"kind": "sine", "amplitude": value, "frequency": 0.7, "phase": 0.3},
        "cycloid": {"kind": "cycloid", "start": 0.0, "end": value, "duration": 1.5},
        "spin-up": {"kind": "spin-up", "rate": value, "duration": 1.5},
        "linear table": table | {"interpolation": "linear"},
        "cubic table": table | {"interpolation": "cubic"},
        "held table": table | {"interpolation": "hold"},
    }
    return profiles[kind]
