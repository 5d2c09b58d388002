"""The built arm: coordinates, start, refusals, damping."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import scipy.linalg
from numpy.polynomial import chebyshev
from scipy.integrate import quad_vec

from flexarm.arm import Arm
from flexarm.errors import ModelError
from flexarm.formulations import formulation
from flexarm.io.model_file import loads
from flexarm.links.base import Shapes
from flexarm.model import SlidingBeam, build, start_state

Array = npt.NDArray[np.float64]
SECTION = {"mass_per_length": 2.0, "EIy": 30.0, "EIz": 40.0, "GJ": 20.0, "EA": 500.0, "Jx": 0.01}
REVOLUTE: dict[str, Any] = {"kind": "revolute"}
FREE_BASE = {"kind": "free", "body": {"mass": 5, "inertia": [1, 2, 3]}}


def arm(*links: dict[str, Any], **more: Any) -> Arm:
    """Make an arm."""
    return Arm.model_validate({"flexarm": 1, "name": "arm", "links": links, **more})


def beam(joint: dict[str, Any], kind: str = "clamped-free", **counts: Any) -> dict[str, Any]:
    """Make a flexible link of 1 m."""
    given = {"bending_y": 0, "bending_z": 0, "torsion": 0, "stretch": 0} | counts
    return {"joint": joint, "length": 1.0, "section": SECTION, "shapes": {"kind": kind, **given}}


def test_coordinates_come_in_order_base_motor_joint_then_bending_twist_stretch() -> None:
    spring = {"drive": {"rotor_inertia": 1e-3, "gear_ratio": 50, "stiffness": 1e3}}
    model = build(
        arm(
            beam(REVOLUTE | spring, bending_y=2, bending_z=1, torsion=1, stretch=1),
            {"joint": {"kind": "prismatic"}, "length": 0.2},
            {"joint": {"kind": "fixed"}, "length": 0.2},
            beam(REVOLUTE, "elements", bending_y=2, bending_z=1, torsion=1, stretch=1),
            base=FREE_BASE,
        )
    )
    base = ["base.x", "base.y", "base.z", "base.rx", "base.ry", "base.rz"]
    first = ["joint1.motor", "joint1", "link1.y1", "link1.y2", "link1.z1", "link1.twist1",
             "link1.stretch1"]  # fmt: skip
    nodes = ["node1.y", "node1.slope_y", "node2.y", "node2.slope_y", "node1.z", "node1.slope_z",
             "node1.twist", "node1.stretch"]  # fmt: skip
    last = ["joint4", *[f"link4.{name}" for name in nodes]]
    assert model.names == (*base, *first, "joint2", *last)
    assert model.size == 23
    units = [*"mmm", "rad", "rad", "rad", "rad", "rad", *"mmm", "rad", "m", "m"]
    units += ["rad", "m", "rad", "m", "rad", "m", "rad", "rad", "m"]
    assert list(model.units) == units
    assert [part.modes for part in model.links] == [
        slice(8, 13), slice(14, 14), slice(14, 14), slice(15, 23)
    ]  # fmt: skip
    assert [(axis.link, axis.motor, axis.index) for axis in model.axes] == [
        (0, 6, 7), (1, None, 13), (3, None, 14)
    ]  # fmt: skip


def test_coordinates_go_by_the_names_that_the_file_gives() -> None:
    link = beam(REVOLUTE | {"name": "shoulder"}, bending_y=1) | {"name": "boom"}
    assert build(arm(link)).names == ("shoulder", "boom.y1")


def test_sliding_link_has_its_exposed_length_as_coordinate() -> None:
    joint = {"kind": "sliding", "start": {"position": 0.5}}
    model = build(arm(beam(joint, bending_z=1, torsion=1)))
    assert model.names == ("joint1", "link1.z1", "link1.twist1")
    assert model.units == ("m", "m", "rad")
    assert model.links[0].kind == "sliding"


def test_lumped_amplitudes_are_angles_of_springs_and_gaps() -> None:
    model = build(arm(beam({"kind": "fixed"}, "lumped", bending_y=2, torsion=1, stretch=1)))
    assert model.units == ("rad", "rad", "rad", "m")


def test_second_craig_bampton_amplitude_is_the_slope_of_the_tip() -> None:
    model = build(arm(beam({"kind": "fixed"}, "craig-bampton", bending_y=1, bending_z=1)))
    assert model.names == tuple(f"link1.{n}" for n in ("y1", "y2", "y3", "z1", "z2", "z3"))
    assert model.units == ("m", "rad", "m", "m", "rad", "m")


def test_fixed_base_and_rigid_arm_have_joints_only() -> None:
    rigid = {"joint": REVOLUTE, "length": 1, "section": SECTION, "rigid": True}
    assert build(arm({"joint": REVOLUTE, "length": 1}, rigid)).names == ("joint1", "joint2")


def test_moved_base_and_prescribed_joints_are_known() -> None:
    motion = {"kind": "constant", "value": 0.3}
    given = {"actuation": "prescribed", "motion": motion}
    made = arm(
        beam(REVOLUTE | given, bending_y=1),
        beam(REVOLUTE, bending_y=1),
        base={"kind": "moved", "motion": {"z": motion}},
    )
    model = build(made)
    assert model.prescribed == (0, 1, 2, 3, 4, 5, 6)
    q, v = start_state(model)
    assert q.tolist() == [0, 0, 0.3, 0, 0, 0, 0.3, 0, 0, 0]
    assert not v.any()


def test_start_is_read_off_the_file() -> None:
    spring = {"drive": {"rotor_inertia": 1e-3, "stiffness": 1e3}}
    first = {"start": {"position": "30 deg", "speed": 0.4}} | spring
    second = {"start": {"position": 0.2, "motor_position": 0.25, "motor_speed": -1.0}} | spring
    link = beam(REVOLUTE | first, bending_y=2) | {"start": {"y2": 0.01}, "start_speed": {"y1": -2}}
    model = build(arm(link, {"joint": REVOLUTE | second, "length": 1}))
    q, v = start_state(model)
    angle = np.pi / 6
    # a motor of which nothing is said starts with its spring relaxed
    assert q == pytest.approx([angle, angle, 0, 0.01, 0.25, 0.2])
    assert v == pytest.approx([0.4, 0.4, -2, 0, -1, 0])


def test_motor_of_a_prescribed_elastic_joint_starts_with_its_spring_relaxed() -> None:
    given = {"actuation": "prescribed", "motion": {"kind": "constant", "value": 0.5}}
    spring = {"drive": {"rotor_inertia": 1e-3, "stiffness": 1e3}}
    model = build(arm({"joint": REVOLUTE | given | spring, "length": 1}))
    assert start_state(model)[0].tolist() == [0.5, 0.5]


def test_free_base_starts_with_its_velocity_and_spin_in_base_axes() -> None:
    base = FREE_BASE | {
        "rotation": [0, 0, "90 deg"], "velocity": [1, 0, 2], "spin": [0.1, 0.2, 0.3]
    }  # fmt: skip
    q, v = start_state(build(arm({"joint": {"kind": "fixed"}, "length": 1}, base=base)))
    assert not q.any()
    assert v == pytest.approx([0, 1, 2, 0.1, 0.2, 0.3], abs=1e-15)


def test_stiffening_is_the_arms_own_choice_unless_told() -> None:
    made = arm(beam(REVOLUTE, bending_y=1), stiffening=False)
    assert not build(made).stiffening
    model = build(made, stiffening=True)
    assert model.stiffening
    assert model.links[0].exact is not None
    series = build(made, stiffening=True, series=True)
    assert series.links[0].body.draws


TABLE = {"coordinate": "z9", "amplitude": [0, 1], "force": [0, 1]}
CURVE = {"direction": "z", "amplitudes": ["y1", "z9"], "stations": [0, 0.5, 1], "values": [0, 1, 2]}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("start", {"z9": 0.1}),
        ("start_speed", {"z9": 0.1}),
        ("elastic_energy", [{"coefficient": 1, "powers": {"y1": 2, "z9": 2}}]),
        ("elastic_force", [TABLE]),
        ("quadratic_shapes", [CURVE]),
    ],
)
def test_amplitude_that_the_link_does_not_have_is_refused(key: str, value: Any) -> None:
    first = beam(REVOLUTE, bending_y=1)
    made = arm(first, beam(REVOLUTE, bending_y=2) | {key: value, "name": "boom"})
    with pytest.raises(
        ModelError, match=rf"links\[2\]\.{key}: there is no amplitude 'z9'. boom has y1, y2"
    ):
        build(made)


def test_a_flexible_link_without_any_shape_is_refused() -> None:
    with pytest.raises(ModelError, match=r"links\[1\]\.shapes: .* no shape .*rigid: true"):
        build(arm(beam(REVOLUTE)))


def test_shapes_without_their_stiffness_are_refused_with_the_link_and_the_remedy() -> None:
    bare = beam(REVOLUTE, bending_y=2) | {"section": {"mass_per_length": 1, "EIy": 1}}
    with pytest.raises(ModelError, match=r"links\[1\]\.shapes: link1: .*EIz.*bending_y: 0"):
        build(arm(bare))


TILTED = {"kind": "revolute", "after": {"rotation": ["90 deg", 0, 0]}}


@pytest.mark.parametrize(
    ("joint", "plane"),
    [
        (REVOLUTE, "bending_z"),
        (REVOLUTE | {"axis": [0, 1, 0]}, "bending_y"),
        (REVOLUTE | {"axis": [0, 1, 1]}, "bending_y"),
        (TILTED, "bending_y"),
        ({"kind": "prismatic"}, "bending_y"),
        ({"kind": "fixed"}, "bending_y"),
    ],
)
def test_pinned_shapes_are_refused_in_a_plane_that_the_joint_holds(
    joint: dict[str, Any], plane: str
) -> None:
    with pytest.raises(ModelError, match=r"links\[1\]\.shapes: pinned-free.*joint"):
        build(arm(beam(joint, "pinned-free", **{plane: 1})))


@pytest.mark.parametrize(
    ("joint", "plane"), [(REVOLUTE, "bending_y"), (REVOLUTE | {"axis": [0, 1, 0]}, "bending_z"),
                         (TILTED, "bending_z")],
)  # fmt: skip
def test_pinned_shapes_turn_the_hub_about_the_joint_axis(
    joint: dict[str, Any], plane: str
) -> None:  # fmt: skip
    hub = {"hub": {"outboard": {"mass": 3, "inertia": [1, 2, 3]}}}
    part = build(arm(beam(joint | hub, "pinned-free", **{plane: 1}))).links[0]
    assert np.abs(part.beam.root_angle).max() > 1
    assert part.hub_body.mass == 3
    assert part.root_body.mass == 0


def test_lumped_springs_cannot_slide_because_only_curvature_holds_a_sliding_beam() -> None:
    joint = {"kind": "sliding", "start": {"position": 0.5}}
    with pytest.raises(ValueError, match="lumped"):
        build(arm(beam(joint, "lumped", bending_y=2)))


@pytest.mark.parametrize("kind", ["pinned-free", "pinned-pinned"])
def test_pinned_shapes_cannot_slide_because_the_hub_clamps_the_beam(kind: str) -> None:
    joint = {"kind": "sliding", "start": {"position": 0.5}}
    with pytest.raises(ValueError, match=f"{kind} shapes.*clamped"):
        arm(beam(joint, kind, bending_y=1))


def test_given_quadratic_shapes_cannot_slide() -> None:
    joint = {"kind": "sliding", "start": {"position": 0.5}}
    curve = CURVE | {"amplitudes": ["y1", "y1"]}
    with pytest.raises((ModelError, ValueError), match="quadratic_shapes"):
        build(arm(beam(joint, bending_y=1) | {"quadratic_shapes": [curve]}))


def test_twist_without_inertia_is_refused_where_damping_needs_its_frequency() -> None:
    massless = beam(REVOLUTE, "elements", bending_y=1, torsion=1) | {"damping": 0.01}
    massless["section"] = {"mass_per_length": 1, "EIz": 1, "GJ": 1}
    with pytest.raises(ModelError, match="Jx"):
        build(arm(massless))


def test_more_damping_ratios_than_modes_are_refused() -> None:
    with pytest.raises(
        ModelError, match=r"links\[1\]\.damping: 3 damping ratios are given for 2 modes"
    ):
        build(arm(beam(REVOLUTE, bending_y=2) | {"damping": [0.1, 0.2, 0.3]}))


PAYLOAD: dict[str, Any] = {
    "mass": 1.5,
    "com": [0.1, 0.05, -0.08],
    "inertia": [0.02, 0.03, 0.04, 0, 0.005, 0],
}


def clamped_mass_matrix(shapes: Shapes, length: float) -> Array:
    """Sum the mass matrix of a clamped link of `SECTION` with `PAYLOAD` at its tip."""

    def density(x: float) -> Array:
        moved, turned = shapes.displacement(np.array([x]))[0], shapes.rotation(np.array([x]))[0]
        return np.asarray(2.0 * moved.T @ moved + 0.01 * np.outer(turned[0], turned[0]))

    total = quad_vec(density, 0, length, epsabs=1e-12, epsrel=1e-12)[0]
    tip = np.array([length])
    moved, turned = shapes.displacement(tip)[0], shapes.rotation(tip)[0]
    centre = moved + np.cross(turned.T, PAYLOAD["com"]).T
    xx, yy, zz, xy, xz, yz = PAYLOAD["inertia"]
    inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return np.asarray(total + 1.5 * centre.T @ centre + turned.T @ inertia @ turned)


def damping_ratios(stiffness: Array, damping: Array, mass: Array) -> Array:
    """Find the ratios of damped modes, slowest first, from the roots of the damped system."""
    m = len(mass)
    left = np.block([[np.zeros((m, m)), np.eye(m)], [-stiffness, -damping]])
    right = scipy.linalg.block_diag(np.eye(m), mass)
    roots = np.linalg.eigvals(np.linalg.solve(right, left))
    upper = roots[roots.imag > 0]
    upper = upper[np.argsort(np.abs(upper))]
    return np.asarray(-upper.real / np.abs(upper))


@pytest.mark.parametrize(
    ("given", "expected"),
    [(0.03, [0.03] * 9), ([0.01, 0.05, 0.002, 0.2], [0.01, 0.05, 0.002, 0.2, *[0.0] * 5])],
)
@pytest.mark.parametrize("kind", ["clamped-free", "loaded", "elements"])
def test_damping_ratios_are_those_of_the_link_clamped_with_its_tip_body(
    kind: str, given: float | list[float], expected: list[float]
) -> None:
    link = beam(REVOLUTE, kind, bending_y=2, bending_z=2, torsion=1) | {"damping": given}
    elastic = build(arm(link, payload=PAYLOAD)).links[0].beam
    assert elastic is not None
    mass = clamped_mass_matrix(elastic.shapes, 1.0)
    found = damping_ratios(elastic.shapes.stiffness, elastic.damping, mass)
    assert found == pytest.approx(expected[: len(mass)], abs=1e-10)
    assert elastic.damping == pytest.approx(elastic.damping.T, rel=1e-12)


def test_sliding_link_keeps_its_damping_ratios_at_every_length() -> None:
    joint = {"kind": "sliding", "start": {"position": 0.5}, "limits": {"lower": 0.3, "upper": 0.9}}
    link = beam(joint, bending_y=2, bending_z=1) | {"damping": [0.01, 0.05, 0.002]}
    part = build(arm(link, payload=PAYLOAD)).links[0]
    assert isinstance(part.body, SlidingBeam)
    assert part.body.damping is not None
    for length in (0.3, 0.71):
        shapes = part.sliding_beam.shapes.at(length)
        damping = chebyshev.chebval((2 * length - 1.2) / 0.6, part.body.damping)
        mass = clamped_mass_matrix(shapes, length)
        found = damping_ratios(shapes.stiffness, np.asarray(damping), mass)
        assert found == pytest.approx([0.01, 0.05, 0.002], rel=1e-3)


def test_an_arm_in_which_nothing_moves_is_refused() -> None:
    link = {"joint": {"kind": "fixed"}, "length": 1.0, "body": {"mass": 1.0}}
    arm = Arm.model_validate({"flexarm": 1, "name": "post", "links": [link]})
    with pytest.raises(
        ModelError, match="nothing in this arm can move, since every joint is fixed"
    ):
        build(arm)


def test_gear_ratio_of_a_sliding_joint_is_an_angle_per_travel() -> None:
    """A rotor of 1e-4 kg m^2 on a screw of 5 mm lead weighs 1e-4 (2 pi/0.005)^2 kg."""
    text = """
flexarm: 1
name: a slide on a screw
links:
  - joint: {kind: prismatic, drive: {rotor_inertia: 1.0e-4, gear_ratio: 200 rev/m}}
    body: {mass: 2}
"""
    mass = formulation("composite", build(loads(text))).mass_matrix(np.zeros(1))
    assert mass == pytest.approx(2 + 1e-4 * (2 * np.pi / 0.005) ** 2, rel=1e-12)
