"""What hangs on a link's ends: the rule of the default modes by hand, and clamped-mass ends."""

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq

from flexarm.arm import Arm, Body
from flexarm.arm.shapes import ClampedMass, Counted, Loaded
from flexarm.io.model_file import example_arm
from flexarm.links.base import Counts, Ends
from flexarm.links.end_loads import clamped_mass_ends, hold, loaded_ends, reflected_rotor
from flexarm.links.shape_counts import counts
from flexarm.studies.converge import frequencies

INF = math.inf
SECTION = {"mass_per_length": 3.0, "EIy": 500.0, "EIz": 400.0, "GJ": 300.0, "Jx": 0.0}
FREE: dict[str, Any] = {"actuation": "free"}
HELD: dict[str, Any] = {"actuation": "prescribed", "motion": {"kind": "constant", "value": 0}}


def geared(inertia: float, ratio: float = 10.0) -> dict[str, Any]:
    """Drive a joint through a gear; the inertia is the reflected one."""
    return {"drive": {"rotor_inertia": inertia / ratio**2, "gear_ratio": ratio}}


def hub(inertia: float, mass: float = 0.0) -> dict[str, Any]:
    """Put a body with the same inertia about all axes on a joint's outboard side."""
    return {"hub": {"outboard": {"mass": mass, "inertia": [inertia] * 3}}}


def link(length: float, joint: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Make a link on a revolute joint."""
    return {"joint": {"kind": "revolute", **joint}, "length": length, "section": SECTION, **more}


def arm(*links: dict[str, Any], **more: Any) -> Arm:
    """Make an arm."""
    return Arm.model_validate({"flexarm": 1, "name": "arm", "links": links, **more})


def two_links(first: dict[str, Any], second: dict[str, Any]) -> Arm:
    """Make a planar two-link arm: hubs 0.3 and 0.2 (4 kg), payload 2 kg and 0.05."""
    return arm(
        link(1.5, hub(0.3) | first),
        link(0.8, hub(0.2, mass=4.0) | second),
        payload={"mass": 2.0, "inertia": [0.05] * 3},
    )


# Outboard of link 1 of `two_links`, about its tip: hub, link of 2.4 kg, payload at 0.8 m.
DISTAL_MASS = 4.0 + 2.4 + 2.0
DISTAL_INERTIA = 0.2 + 3.0 * 0.8**3 / 3 + 2.0 * 0.8**2 + 0.05


def test_free_joints_let_the_hub_through_at_the_root_and_nothing_at_the_tip() -> None:
    ends = loaded_ends(two_links(FREE, FREE), 0)
    assert ends.root_inertia == pytest.approx((INF, INF, 0.3))
    assert ends.tip_mass == pytest.approx(DISTAL_MASS)
    assert ends.tip_inertia[2] == 0.0
    assert ends.tip_offset == 0.0


def test_axes_that_the_next_joint_does_not_turn_about_feel_the_whole_inertia() -> None:
    ends = loaded_ends(two_links(FREE, FREE), 0)
    assert ends.tip_inertia[:2] == pytest.approx((DISTAL_INERTIA, DISTAL_INERTIA), rel=1e-13)


def test_rotors_stand_beside_the_hub_and_in_series_with_the_arm_outboard() -> None:
    ends = loaded_ends(two_links(geared(0.7), geared(0.4, ratio=-50.0)), 0)
    assert ends.root_inertia == pytest.approx((INF, INF, 0.3 + 0.7))
    series = 0.4 * DISTAL_INERTIA / (0.4 + DISTAL_INERTIA)
    assert ends.tip_inertia[2] == pytest.approx(series, rel=1e-13)


@pytest.mark.parametrize("joint", [HELD, {}], ids=["prescribed", "torque, no rotor"])
def test_held_joints_clamp_the_root_and_pass_the_whole_inertia(joint: dict[str, Any]) -> None:
    ends = loaded_ends(two_links(joint, joint), 0)
    assert ends.root_inertia == (INF, INF, INF)
    assert ends.tip_inertia == pytest.approx((DISTAL_INERTIA,) * 3, rel=1e-13)
    assert ends.tip_mass == pytest.approx(DISTAL_MASS)


def test_each_end_follows_its_own_joint() -> None:
    ends = loaded_ends(two_links(HELD, FREE), 0)
    assert ends.root_inertia == (INF, INF, INF)
    assert ends.tip_inertia[2] == 0.0
    ends = loaded_ends(two_links(FREE, HELD), 0)
    assert ends.root_inertia[2] == pytest.approx(0.3)
    assert ends.tip_inertia[2] == pytest.approx(DISTAL_INERTIA)


@pytest.mark.parametrize(("rotor", "share"), [(1e-9, 0.0), (1e9, 1.0)])
def test_rotor_goes_from_free_to_held(rotor: float, share: float) -> None:
    ends = loaded_ends(two_links(FREE, geared(rotor)), 0)
    assert ends.tip_inertia[2] == pytest.approx(share * DISTAL_INERTIA, abs=1e-8)


def test_hub_inertia_about_the_joint_axis_alone_counts_in_full_in_a_planar_arm() -> None:
    # bodies of a planar arm as its model file gives them: about z only
    body = {"mass": 4.0, "inertia": [0, 0, 0.2]}
    planar = arm(
        link(1.5, HELD),
        link(0.8, HELD | {"hub": {"outboard": body}}),
        payload={"mass": 2.0, "inertia": [0, 0, 0.05]},
    )
    assert loaded_ends(planar, 0).tip_inertia[2] == pytest.approx(DISTAL_INERTIA, rel=1e-13)


def test_last_link_carries_the_payload() -> None:
    ends = loaded_ends(two_links(FREE, geared(0.4)), 1)
    assert ends.root_inertia == pytest.approx((INF, INF, 0.2 + 0.4))
    assert (ends.tip_mass, ends.tip_offset) == (2.0, 0.0)
    assert ends.tip_inertia == pytest.approx((0.05,) * 3)


def test_payload_off_the_tip_has_its_offset_and_its_inertia_about_the_tip() -> None:
    payload = {"mass": 2.0, "com": [0.3, 0.1, 0], "inertia": [0.01, 0.02, 0.03]}
    ends = loaded_ends(arm(link(1.0, FREE), payload=payload), 0)
    assert ends.tip_offset == pytest.approx(0.3)
    lever = [2 * 0.1**2, 2 * 0.3**2, 2 * (0.3**2 + 0.1**2)]
    assert ends.tip_inertia == pytest.approx([0.01 + lever[0], 0.02 + lever[1], 0.03 + lever[2]])


def test_link_alone_has_a_bare_tip() -> None:
    assert loaded_ends(arm(link(1.0, FREE)), 0) == Ends((INF, INF, 0.0), 0.0, (0.0, 0.0, 0.0))


def three_links(*joints: dict[str, Any]) -> Arm:
    """Make a planar three-link arm of 1.2, 0.9 and 0.6 m with hubs and a payload of 1.5 kg."""
    lengths, hubs = (1.2, 0.9, 0.6), ((0.5, 6.0), (0.3, 4.0), (0.1, 2.0))
    links = [
        link(length, hub(*body) | joint)
        for length, body, joint in zip(lengths, hubs, joints, strict=True)
    ]
    return arm(*links, payload={"mass": 1.5, "inertia": [0.02] * 3})


def test_outboard_inertia_of_three_links_adds_up_from_the_tip() -> None:
    # J_d(i) = hub + mu L^3/3 + m_d L^2 of the next link + J_d of that link
    second = 0.1 + 3 * 0.6**3 / 3 + 1.5 * 0.6**2 + 0.02
    carried = 2.0 + 3 * 0.6 + 1.5
    first = 0.3 + 3 * 0.9**3 / 3 + carried * 0.9**2 + second
    held = three_links(HELD, HELD, HELD)
    assert loaded_ends(held, 1).tip_inertia == pytest.approx((second,) * 3, rel=1e-13)
    assert loaded_ends(held, 1).tip_mass == pytest.approx(carried)
    assert loaded_ends(held, 0).tip_inertia == pytest.approx((first,) * 3, rel=1e-13)
    assert loaded_ends(held, 0).tip_mass == pytest.approx(4.0 + 3 * 0.9 + carried)


def test_joints_further_out_do_not_change_what_a_joint_passes() -> None:
    # the recursion takes the whole J_d of the next link, whatever that link's own joints are
    free_wrist = loaded_ends(three_links(HELD, HELD, FREE), 0).tip_inertia
    assert free_wrist == loaded_ends(three_links(HELD, HELD, HELD), 0).tip_inertia
    rotor = loaded_ends(three_links(FREE, geared(0.25), HELD), 0).tip_inertia
    whole = free_wrist[2]
    assert rotor[2] == pytest.approx(0.25 * whole / (0.25 + whole), rel=1e-13)


def test_body_on_the_inboard_side_of_the_next_joint_is_rigid_with_the_tip() -> None:
    body = {"mass": 5.0, "com": [0.1, 0, 0], "inertia": [0.3, 0.4, 0.5]}
    outer = link(0.8, FREE | {"hub": {"inboard": body}})
    ends = loaded_ends(arm(link(1.5, FREE), outer), 0)
    assert ends.tip_mass == pytest.approx(5.0 + 2.4)
    assert ends.tip_inertia[2] == pytest.approx(0.5 + 5.0 * 0.1**2)
    assert ends.tip_offset == pytest.approx(5.0 * 0.1 / 7.4)


@pytest.mark.parametrize(
    ("frames", "free"),
    [
        ({"axis": [0, 1, 0]}, 1),
        ({"axis": [0.1, 0.05, -3]}, 2),
        ({"before": {"rotation": ["90 deg", 0, 0]}}, 1),
        ({"before": {"rotation": [0, "90 deg", 0]}}, 0),
        ({"dh": {"convention": "modified", "alpha": "90 deg"}}, 1),
    ],
)
def test_free_axis_is_the_one_that_the_next_joint_turns_about(
    frames: dict[str, Any], free: int
) -> None:
    ends = loaded_ends(two_links(HELD, FREE | frames), 0)
    expected = np.full(3, DISTAL_INERTIA)
    expected[free] = 0
    assert ends.tip_inertia == pytest.approx(expected, rel=1e-13)


def test_twist_at_the_end_of_a_standard_dh_link_turns_the_next_axis() -> None:
    ends = loaded_ends(two_links(HELD | {"dh": {"alpha": "90 deg"}}, FREE), 0)
    assert ends.tip_inertia == pytest.approx((DISTAL_INERTIA, 0, DISTAL_INERTIA), rel=1e-13)


def test_root_axis_is_that_of_its_own_joint_in_link_axes() -> None:
    inertia = {"mass": 0.0, "inertia": [0.1, 0.2, 0.3]}
    tilted = arm(link(1.0, FREE | {"axis": [0, 1, 0], "hub": {"outboard": inertia}}))
    assert loaded_ends(tilted, 0).root_inertia == pytest.approx((INF, 0.2, INF))
    turned = {"after": {"rotation": ["90 deg", 0, 0]}, "hub": {"outboard": inertia}}
    # after a turn by 90 degrees about x, the joint's z axis is the link's y axis
    root = loaded_ends(arm(link(1.0, FREE | turned)), 0).root_inertia
    assert root == pytest.approx((INF, 0.3, INF))


@pytest.mark.parametrize("kind", ["prismatic", "fixed"])
def test_joint_that_does_not_turn_passes_the_whole_inertia(kind: str) -> None:
    outer = {"joint": {"kind": kind}, "length": 0.8, "section": SECTION}
    if kind == "prismatic":
        outer["joint"] = {"kind": kind, "actuation": "free"}
    ends = loaded_ends(arm(link(1.5, FREE), outer), 0)
    assert ends.tip_inertia == pytest.approx((3 * 0.8**3 / 3,) * 3, rel=1e-13)


def test_rigid_tip_piece_sets_the_outboard_mass_off_from_the_flexible_tip() -> None:
    piece = {"length": 0.2, "body": {"mass": 1.0, "com": [0.1, 0, 0], "inertia": [0.01] * 3}}
    ends = loaded_ends(arm(link(1.5, HELD, tip_piece=piece), link(0.8, FREE)), 0)
    assert ends.tip_mass == pytest.approx(1.0 + 2.4)
    assert ends.tip_offset == pytest.approx((1.0 * 0.1 + 2.4 * 0.2) / 3.4)
    whole = 0.01 + 1.0 * 0.1**2 + 2.4 * 0.2**2
    assert ends.tip_inertia[2] == pytest.approx(whole, rel=1e-13)
    assert ends.tip_inertia[1] == pytest.approx(whole + 3 * 0.8**3 / 3, rel=1e-13)


def test_rigid_root_piece_turns_with_the_hub() -> None:
    piece = {"length": 0.2, "body": {"mass": 1.0, "com": [0.1, 0, 0], "inertia": [0, 0, 0.01]}}
    ends = loaded_ends(arm(link(1.5, FREE | hub(0.3), root_piece=piece)), 0)
    assert ends.root_inertia[2] == pytest.approx(0.3 + 0.01 + 1.0 * 0.1**2)


def elastic(stiffness: Any) -> dict[str, Any]:
    """Drive a joint through a spring."""
    return {"drive": {"rotor_inertia": 0.1, "gear_ratio": 2.0, "stiffness": stiffness}}


def sprung(stiffness: Any, actuation: str = "free") -> dict[str, Any]:
    """Put a passive spring across a joint."""
    return {"actuation": actuation, "spring": {"stiffness": stiffness}}


# 20 N m/rad where it is relaxed, which is not the middle of the table
TABLE = {"deflection": [-0.01, 0.01, 0.1, 0.2, 0.3], "effort": [-0.2, 0.2, 100, 300, 900]}
SLIDING = {"kind": "prismatic", "axis": [0, 1, 0]}


@pytest.mark.parametrize(
    ("joint", "expected"),
    [
        (FREE, "free"), (HELD, "held"), ({}, "held"), (geared(0.1), "geared"),
        (elastic(41.0), "held"), (elastic(39.0), "free"), (elastic(TABLE), "free"),
        (sprung(41.0), "held"), (sprung(39.0), "free"), (sprung(TABLE), "free"),
        (sprung(39.0, "torque"), "held"), (sprung(39.0, "torque") | geared(0.1), "geared"),
        (sprung(41.0, "torque") | geared(0.1), "held"),
        (sprung(21.0, "torque") | elastic(21.0), "held"),
        (FREE | SLIDING, "held"), (sprung(1e-3) | SLIDING, "held"),
    ],
)  # fmt: skip
def test_what_a_joint_lets_through(joint: dict[str, Any], expected: str) -> None:
    # A tenth of EI/L of the softer plane is 40 N m.
    assert hold(arm(link(1.0, joint)), 0).state == expected


@pytest.mark.parametrize(("length", "tip"), [(0.5, 0.0), (3.0, DISTAL_INERTIA)])
def test_link_before_a_spring_feels_it_by_its_own_stiffness(length: float, tip: float) -> None:
    # 55 N m/rad is soft beside 0.1 EI/L = 80 N m of the short link, and stiff beside 13 N m
    made = arm(
        link(length, FREE),
        link(0.8, hub(0.2, mass=4.0) | sprung(55.0)),
        payload={"mass": 2.0, "inertia": [0.05] * 3},
    )
    assert loaded_ends(made, 0).tip_inertia[2] == pytest.approx(tip)
    assert loaded_ends(made, 1).root_inertia[2] == INF


SPRINGS = [0.0, 0.09, 0.11, 1.0, 10.0, 1e4]


@pytest.mark.few(3)
@pytest.mark.parametrize("stiffness", SPRINGS)
@pytest.mark.parametrize(("links", "hubs"), [(1, 0.05), (2, 0.0)])
def test_default_shapes_have_the_frequencies_whatever_the_joints_spring(
    stiffness: float, hubs: float, links: int
) -> None:
    section = {"mass_per_length": 5.0, "EIz": 1000.0}
    joint = (sprung(1000 * stiffness) if stiffness else FREE) | (hub(hubs, 0.5) if hubs else {})

    def made(shapes: dict[str, Any]) -> Arm:
        each = {"section": section, "shapes": shapes}
        return arm(*[link(1.0, joint) | each for _ in range(links)])

    found, _ = frequencies(made({"kind": "loaded"}))
    exact, _ = frequencies(made({"kind": "polynomials", "bending_y": 11}))
    for pose in ("start", "bent"):
        assert found[pose, "free"][:3] == pytest.approx(exact[pose, "free"][:3], rel=7e-3)


def test_rotor_that_a_free_joint_turns_back_counts_too() -> None:
    ends = loaded_ends(two_links(FREE | geared(0.7), FREE | geared(0.4)), 0)
    assert ends.root_inertia[2] == pytest.approx(0.3 + 0.7)
    series = 0.4 * DISTAL_INERTIA / (0.4 + DISTAL_INERTIA)
    assert ends.tip_inertia[2] == pytest.approx(series, rel=1e-13)


@pytest.mark.parametrize("wish", ["free", "geared", "held"])
def test_wish_of_the_link_overrules_its_joint(wish: str) -> None:
    wanted = {"shapes": {"kind": "loaded", "root": wish}}
    made = arm(link(1.5, HELD), link(0.8, geared(0.4) | hub(0.2), **wanted))
    assert hold(made, 1).state == wish
    inertia = 0.2 + 3 * 0.8**3 / 3
    passed = {"free": 0.0, "geared": 0.4 * inertia / (0.4 + inertia), "held": inertia}
    root = {"free": 0.2, "geared": 0.2 + 0.4, "held": INF}
    assert loaded_ends(made, 0).tip_inertia[2] == pytest.approx(passed[wish])
    assert loaded_ends(made, 1).root_inertia[2] == pytest.approx(root[wish])


def test_rotor_is_reflected_by_the_gear_ratio_squared() -> None:
    driven = {"drive": {"rotor_inertia": 2e-4, "gear_ratio": -62.6111}}
    assert reflected_rotor(arm(link(1.0, driven)).links[0]) == pytest.approx(0.784030, rel=1e-6)


@pytest.mark.parametrize(
    ("links", "joint", "bending"),
    [
        (1, FREE, 3), (2, FREE, 3), (3, FREE, 4), (4, FREE, 4), (1, HELD, 3), (3, HELD, 3),
        (2, geared(0.1), 4), (3, geared(0.1), 4), (2, {}, 4), (2, elastic(1e5), 4),
        (1, sprung(1e5), 4), (1, sprung(1.0), 3), (1, FREE | SLIDING, 4),
    ],
)  # fmt: skip
def test_number_of_bending_shapes(links: int, joint: dict[str, Any], bending: int) -> None:
    made = arm(*[link(1.0, joint) for _ in range(links)])
    found = counts(made, 0, Loaded())
    assert (found.y, found.z) == (bending, bending)


def test_rigid_links_do_not_count_among_the_flexible_ones() -> None:
    made = arm(link(1.0, FREE), link(1.0, FREE, rigid=True), link(1.0, FREE))
    assert counts(made, 0, Loaded()).y == 3


def test_directions_without_stiffness_get_no_shape() -> None:
    made = arm(link(1.0, FREE) | {"section": {"mass_per_length": 1, "EIz": 1, "EA": 1e6}})
    assert counts(made, 0, Loaded()) == Counts(y=3, z=0, twist=0, x=0)


@pytest.mark.parametrize(
    ("EA", "payload", "gravity", "stretch"),
    [
        # (2.5 pi)^2 = 61.7 rad/s is the third mode's of bending; stretch is at sqrt(3 EA) without
        # payload, at sqrt(EA/(m + 1/3)) with one of m
        (1200, 0.0, 0.0, 1), (1350, 0.0, 0.0, 0), (1350, 1.0, 0.0, 1), (5200, 1.0, 0.0, 0),
        (1e4, 0.0, 9.81, 0), (4000, 0.0, 9.81, 1),
    ],
)  # fmt: skip
def test_stretch_gets_a_shape_where_it_is_as_slow_as_bending_or_weight_strains(
    EA: float, payload: float, gravity: float, stretch: int
) -> None:
    made = arm(link(1.0, FREE) | {"section": {"mass_per_length": 1, "EIz": 1, "EA": EA}})
    update: dict[str, Any] = {"gravity": (0.0, 0.0, -gravity)}
    update["payload"] = Body(mass=payload) if payload else None
    assert counts(made.model_copy(update=update), 0, Loaded()).x == stretch


@pytest.mark.parametrize(("jx", "inertia", "torsion"), [(0, 0, 0), (0.1, 0, 1), (0, 0.1, 1)])
def test_torsion_gets_one_shape_where_something_turns(
    jx: float, inertia: float, torsion: int
) -> None:
    section = SECTION | {"Jx": jx}
    payload = {"mass": 1.0, "inertia": [inertia] * 3}
    made = arm(link(1.0, FREE) | {"section": section}, payload=payload)
    assert counts(made, 0, Loaded()).twist == torsion


@pytest.mark.parametrize(
    ("section", "found"),
    [
        ({"GJ": 1, "Jx": 0.1}, Counts(y=0, z=0, twist=3, x=0)),
        ({"EA": 1}, Counts(y=0, z=0, twist=0, x=3)),
        ({"GJ": 1, "Jx": 0.1, "EA": 1}, Counts(y=0, z=0, twist=3, x=3)),
        # Slowest bending at 3.57 sqrt(EI), a second mode of torsion at pi sqrt(GJ/Jx) rad/s.
        ({"GJ": 1, "Jx": 0.8, "EIz": 1}, Counts(y=3, z=0, twist=3, x=0)),
        ({"GJ": 1, "Jx": 0.75, "EIz": 1}, Counts(y=3, z=0, twist=1, x=0)),
    ],
)
def test_a_link_that_does_not_bend_sooner_gets_as_many_shapes_of_torsion_or_stretch(
    section: dict[str, float], found: Counts
) -> None:
    made = arm(link(1.0, FREE) | {"section": {"mass_per_length": 1} | section})
    assert counts(made, 0, Loaded()) == found


def test_given_numbers_stand() -> None:
    made = arm(link(1.0, FREE))
    choice = Counted.model_validate({"bending_y": 7, "torsion": 0, "stretch": 2})
    assert counts(made, 0, choice) == Counts(y=7, z=3, twist=0, x=2)


def clamped_frequencies(ends: Ends, *, mass: float, length: float, rigidity: float) -> list[float]:
    """Find two frequencies [Hz] of a clamped beam with a tip body by its 4x4 determinant.

    Rows: w = w' = 0 at the root, moment and shear of the tip body at the tip, of
    w = a cosh + b sinh + c cos + d sin.
    """
    m = ends.tip_mass / mass
    j = ends.tip_inertia[2] / (mass * length**2)
    d = ends.tip_mass * ends.tip_offset / (mass * length)

    def determinant(b: float) -> float:
        ch, sh, c, s = math.cosh(b), math.sinh(b), math.cos(b), math.sin(b)
        w = np.array([ch, sh, c, s])
        w1 = b * np.array([sh, ch, -s, c])
        w2 = b**2 * np.array([ch, sh, -c, -s])
        w3 = b**3 * np.array([sh, ch, s, -c])
        rows = [
            [1, 0, 1, 0],
            [0, 1, 0, 1],
            w2 - b**4 * (j * w1 + d * w),
            w3 + b**4 * (m * w + d * w1),
        ]
        return float(np.linalg.det(np.array(rows)))  # fmt: skip

    grid = np.arange(0.05, 12, 0.05).tolist()
    roots = [
        float(brentq(determinant, a, b, xtol=1e-14))
        for a, b in pairwise(grid)
        if determinant(a) * determinant(b) < 0
    ]
    scale = math.sqrt(rigidity / (mass * length**3)) / (2 * math.pi)
    return [root**2 * scale for root in roots[:2]]


@pytest.mark.parametrize(
    ("elbow", "offset", "printed"),
    [(90, 0.0, (0.479693, 1.796589)), (0, 0.075, (0.440983, 1.985852)),
     (180, -0.075, (0.530751, 1.654051))],
)  # fmt: skip
def test_clamped_mass_ends_of_the_arm_of_de_luca_and_siciliano(
    elbow: float, offset: float, printed: tuple[float, float]
) -> None:
    made = example_arm("deluca-siciliano")
    choice = ClampedMass.model_validate(
        {"kind": "clamped-mass", "configuration": {"joint2": f"{elbow} deg"}}
    )
    ends = clamped_mass_ends(made, 0, choice)
    assert ends.root_inertia == (INF, INF, INF)
    # elbow 1 kg, link 0.1 kg, payload 0.1 kg; hub, rod about its end, payload
    assert ends.tip_mass == pytest.approx(1.2)
    assert ends.tip_inertia[2] == pytest.approx(0.1 + 0.1 * 0.25 / 3 + 0.1 * 0.25 + 5e-4)
    assert ends.tip_mass * ends.tip_offset == pytest.approx(offset, abs=1e-15)
    found = clamped_frequencies(ends, mass=0.1, length=0.5, rigidity=1.0)
    assert found == pytest.approx(printed, abs=5.01e-7)


def test_clamped_mass_ends_of_the_last_link_are_its_payload() -> None:
    made = example_arm("deluca-siciliano")
    choice = ClampedMass.model_validate({"kind": "clamped-mass"})
    ends = clamped_mass_ends(made, 1, choice)
    assert (ends.tip_mass, ends.tip_inertia, ends.tip_offset) == (0.1, (0.0, 0.0, 5e-4), 0.0)
    found = clamped_frequencies(ends, mass=0.1, length=0.5, rigidity=1.0)
    assert found == pytest.approx((2.178334, 15.914513), abs=5.01e-7)


def test_given_tip_load_acts_about_the_tip_and_twists_about_its_own_axis() -> None:
    choice = ClampedMass.model_validate(
        {"kind": "clamped-mass", "tip": {"mass": 2, "inertia": 0.5, "offset": 0.1}}
    )
    ends = clamped_mass_ends(two_links(FREE, FREE), 0, choice)
    # a body that is the same about all its axes: 0.48 kg m^2, 0.02 more about the tip
    assert (ends.root_inertia, ends.tip_mass, ends.tip_offset) == ((INF, INF, INF), 2.0, 0.1)
    assert ends.tip_inertia == pytest.approx((0.48, 0.5, 0.5))
