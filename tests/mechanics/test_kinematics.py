"""Frames of the deformed arm against chains written by hand; Jacobians against differences."""

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt
import pytest
from numpy.polynomial import Polynomial
from scipy.integrate import quad
from scipy.interpolate import BarycentricInterpolator
from scipy.spatial.transform import Rotation

from flexarm.arm import Arm
from flexarm.errors import FlexarmError
from flexarm.io.model_file import example_arm
from flexarm.mechanics.kinematics import end_frame, end_jacobian, frames, jacobian, section
from flexarm.model import Model, build, start_state
from flexarm.spatial import Expr
from tests.physics.cases import distinct_samples

Array = npt.NDArray[np.float64]
SECTION = {"mass_per_length": 2.0, "EIy": 30.0, "EIz": 40.0, "GJ": 20.0, "EA": 500.0, "Jx": 0.01}
ONE_EACH = {"bending_y": 1, "bending_z": 1, "torsion": 1, "stretch": 1}
ALL_WAYS = ONE_EACH | {"bending_y": 2}
BEAM = {
    "length": 1.1,
    "section": SECTION,
    "shapes": {"kind": "clamped-free", **ALL_WAYS},
}
PIECES = {"root_piece": {"length": 0.2}, "tip_piece": {"length": 0.15}}
PLACED = {
    "before": {"position": [0.1, -0.2, 0.3], "rotation": [0.4, -0.9, 0.5]},
    "after": {"position": [-0.3, 0.1, 0.2], "rotation": [-0.7, 0.2, 1.3]},
}
AXES: dict[str, list[float]] = {
    "x": [1, 0, 0],
    "y": [0, -2, 0],
    "z": [0, 0, 1],
    "oblique": [0.3, -0.5, 0.8],
}
SLIDING = {
    "kind": "sliding", "start": {"position": 0.8}, "before": PLACED["before"],
    "limits": {"lower": 0.4, "upper": 1.0},
}  # fmt: skip
JOINTS: dict[str, dict[str, Any]] = {
    **{f"{k} {n}": {"kind": k, "axis": a, **PLACED} for k in ("revolute", "prismatic")
       for n, a in AXES.items()},
    "fixed": {"kind": "fixed", **PLACED},
    "standard DH": {"kind": "revolute", "dh": {"theta": 0.3, "d": 0.4, "alpha": -1.1}},
    "modified DH": {"kind": "prismatic",
                    "dh": {"convention": "modified", "theta": 0.3, "d": 0.4, "alpha": -1.1}},
}  # fmt: skip
SLIDES: dict[str, dict[str, Any]] = {
    "sliding in proportion": {"kind": "clamped-free", **ONE_EACH},
    "sliding elements": {"kind": "elements", **ONE_EACH},
    "sliding modes that follow": {
        "kind": "clamped-mass", "tip": {"mass": 3}, "follow": True, **ONE_EACH
    },
}  # fmt: skip
BASES: dict[str, dict[str, Any]] = {
    "fixed": {"kind": "fixed"},
    "moved": {"kind": "moved", "motion": {"y": {"kind": "constant", "value": 0.3}}},
    "free": {"kind": "free", "body": {"mass": 5, "inertia": [1, 2, 3]}},
}
RIGID = {"joint": {"kind": "revolute", "axis": [1, 0.2, 0.4]}, "length": 0.6}


def arm(*links: dict[str, Any], **more: Any) -> Arm:
    """Make an arm."""
    return Arm.model_validate({"flexarm": 1, "name": "arm", "links": links, **more})


@cache
def with_joint(joint: str, base: str, stiffening: bool) -> Model:
    """Build an arm whose second link hangs on the joint in question, between bending links."""
    inner = {"joint": {"kind": "revolute"}, **BEAM, "tip_piece": {"length": 0.1}}
    if joint in SLIDES:
        beam = {"length": 1.3, "section": SECTION, "shapes": SLIDES[joint]}
        tested = {"joint": SLIDING, **beam, "tip_piece": {"length": 0.15}}
    else:
        tested = {"joint": JOINTS[joint], **BEAM, **PIECES}
    turned = {"position": [1, 2, 3], "rotation": [0.2, -0.4, 0.9]}
    made = arm(inner, tested, RIGID, base=BASES[base] | turned)
    return build(made, stiffening=stiffening)


def reach(model: Model) -> Array:
    """Say how far each coordinate goes to turn something by about 1 rad or move it by about 1 m."""
    size = np.ones(model.size)
    for part in model.links:
        shapes = part.beam.shapes if part.body.one_length else None
        if part.body.range is not None:
            shapes = part.sliding_beam.shapes.at(sum(part.sliding_beam.shapes.range) / 2)
        if shapes is not None:
            x = np.linspace(0, shapes.edges[-1], 20)
            turned = np.abs(shapes.rotation(x)).max(axis=(0, 1))
            size[part.modes] = 1 / np.maximum(turned, 1 / part.length)
    return size


def some_state(model: Model, seed: int = 1) -> Array:
    """Draw coordinates at random: joints by about 1, amplitudes for turns by about 0.1 rad."""
    q: Array = np.random.default_rng(seed).uniform(-1, 1, model.size)
    size = reach(model)
    for part in model.links:
        q[part.modes] *= 0.1 * size[part.modes]
        if part.range is not None:
            low, high = part.range
            q[part.exposed] = low + (0.5 + 0.4 * q[part.exposed]) * (high - low)
    return q


Pose = tuple[Expr, Expr]


def placed_section(model: Model, q: Expr, link: int, x: float) -> Pose:
    """Place an inner section of a link in the world."""
    frame = frames(model, q)[link]
    local = section(model, model.links[link], q, x)
    return frame.R_WL @ local.rotation, frame.p_WL + frame.R_WL @ local.position


def placed_tip(model: Model, q: Expr, link: int) -> Pose:
    """Place a flexible tip in the world."""
    frame = frames(model, q)[link]
    return frame.R_WT, frame.p_WT


def traced(model: Model, place: Callable[[Expr], Pose]) -> Callable[[Array], Array]:
    """Compile a pose: coordinates (n, k) in, positions and rotations (12, k) out."""
    q = ca.SX.sym("q", model.size)
    rotation, position = place(q)
    function = ca.Function("pose", [q], [ca.vertcat(position, ca.vec(rotation))])
    return lambda states: np.array(function(states))


def called(place: Callable[[Expr], Pose]) -> Callable[[Array], Array]:
    """Evaluate a pose that cannot be traced, one state after the other."""

    def evaluate(states: Array) -> Array:
        columns = []
        for state in states.T:
            rotation, position = place(ca.DM(state))
            columns.append(
                np.concatenate([np.array(position).ravel(), np.array(rotation).T.ravel()])
            )
        return np.stack(columns, axis=1)

    return evaluate


def differences(
    pose: Callable[[Array], Array], q: Array, size: Array
) -> tuple[Array, Array]:  # fmt: skip
    """Differentiate a pose by central differences of fourth order: linear, angular, (3, n) each."""
    h = 1e-3 * size
    near, back, far, far_back = (pose(q[:, None] + np.diag(k * h)) for k in (1, -1, 2, -2))
    rate = (8 * (near - back) - (far - far_back)) / (12 * h)
    rotation = pose(q[:, None])[3:, 0].reshape(3, 3, order="F")
    angular = np.zeros((3, len(q)))
    for k in range(len(q)):
        spin = rate[3:, k].reshape(3, 3, order="F") @ rotation.T
        angular[:, k] = spin[2, 1], spin[0, 2], spin[1, 0]
    return rate[:3], angular


def assert_derivative(
    model: Model, found: Iterable[Expr], pose: Callable[[Array], Array], q: Array
) -> None:
    """Compare a Jacobian with differences of the pose, each column by its own reach."""
    size = reach(model)
    for value, expected in zip(found, differences(pose, q, size), strict=True):
        scale = max(1.0, float(np.abs(expected * size).max()))
        assert np.array(value) * size == pytest.approx(expected * size, abs=2e-9 * scale)


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("joint", "stiffening"),
    [*((joint, False) for joint in JOINTS), *((joint, True) for joint in ("fixed", *SLIDES))],
)
def test_jacobians_of_tips_are_the_derivatives_of_their_poses(joint: str, stiffening: bool) -> None:
    model = with_joint(joint, "fixed", stiffening)
    q = some_state(model)
    tip = traced(model, lambda s: placed_tip(model, s, 1))
    assert_derivative(model, jacobian(model, ca.DM(q), 1), tip, q)
    end = traced(model, lambda s: end_frame(model, s))
    assert_derivative(model, end_jacobian(model, ca.DM(q)), end, q)


@pytest.mark.parametrize(
    ("joint", "stiffening"), [*((joint, False) for joint in JOINTS), ("revolute oblique", True)]
)
def test_jacobian_of_an_inner_section(joint: str, stiffening: bool) -> None:
    model = with_joint(joint, "fixed", stiffening)
    q = some_state(model, seed=2)
    pose = traced(model, lambda s: placed_section(model, s, 1, 0.37))
    assert_derivative(model, jacobian(model, ca.DM(q), 1, 0.37), pose, q)


@pytest.mark.campaign
@pytest.mark.parametrize(
    ("shapes", "stiffening"),
    [
        pytest.param("sliding elements", True, marks=pytest.mark.campaign),
        pytest.param("sliding modes that follow", True, marks=pytest.mark.campaign),
        ("sliding in proportion", True),
        pytest.param("sliding in proportion", False, marks=pytest.mark.campaign),
    ],
)
def test_jacobian_of_a_section_that_has_left_the_hub(shapes: str, stiffening: bool) -> None:
    beam = {"joint": SLIDING, "length": 1.3, "section": SECTION, "shapes": SLIDES[shapes]}
    model = build(arm(beam), stiffening=stiffening)
    q = some_state(model, seed=2)
    pose = called(lambda s: placed_section(model, s, 0, 0.95))
    assert_derivative(model, jacobian(model, ca.DM(q), 0, 0.95), pose, q)


@pytest.mark.parametrize("base", BASES)
def test_jacobian_of_an_arm_on_any_base(base: str) -> None:
    model = with_joint("revolute oblique", base, True)
    q = some_state(model, seed=3)
    pose = traced(model, lambda s: end_frame(model, s))
    assert_derivative(model, end_jacobian(model, ca.DM(q)), pose, q)
    x = 0.61
    inner = traced(model, lambda s: placed_section(model, s, 0, x))
    assert_derivative(model, jacobian(model, ca.DM(q), 0, x), inner, q)


@pytest.mark.few(4)
@pytest.mark.parametrize("name", distinct_samples())
def test_end_jacobian_of_every_sample(name: str) -> None:
    model = build(example_arm(name))
    pose = traced(model, lambda s: end_frame(model, s))
    q = ca.SX.sym("q", model.size)
    compiled = ca.Function("jacobian", [q], list(end_jacobian(model, q)))
    for seed in (1, 2):
        state = some_state(model, seed)
        assert_derivative(model, compiled(state), pose, state)


def homogeneous(rotation: npt.ArrayLike, position: Any = (0.0, 0.0, 0.0)) -> Array:
    """Make a 4x4 transform."""
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = rotation, position
    return matrix


def about(axis: str, angle: float) -> Array:
    """Turn about a coordinate axis."""
    return homogeneous(Rotation.from_euler(axis, angle).as_matrix())


def along(x: float = 0.0, z: float = 0.0) -> Array:
    """Move along x and z."""
    return homogeneous(np.eye(3), (x, 0, z))


def end_matrix(model: Model, q: Array) -> Array:
    """Place the arm's tip as a 4x4 transform."""
    rotation, position = end_frame(model, ca.DM(q))
    return homogeneous(np.array(rotation), np.array(position).ravel())


DH_TABLE = [  # kind, theta, d, a, alpha
    ("revolute", 0.3, 0.2, 0.5, 0.4), ("prismatic", -0.6, 0.1, 0.3, -1.2),
    ("revolute", 1.1, -0.4, 0.0, 0.9), ("revolute", 0.0, 0.3, 0.7, -0.5),
]  # fmt: skip


@pytest.mark.parametrize("convention", ["standard", "modified"])
def test_rigid_arm_by_denavit_and_hartenberg(convention: str) -> None:
    links = [
        {"joint": {"kind": k, "dh": {"convention": convention, "theta": t, "d": d, "alpha": e}},
         "length": a}
        for k, t, d, a, e in DH_TABLE
    ]  # fmt: skip
    model = build(arm(*links))
    q = np.array([0.7, -0.25, 2.1, -1.4])
    expected = np.eye(4)
    for (kind, theta, d, a, alpha), value in zip(DH_TABLE, q.tolist(), strict=True):
        turn = about("z", theta + (value if kind == "revolute" else 0))
        slide = along(z=d + (value if kind == "prismatic" else 0))
        if convention == "standard":
            expected = expected @ turn @ slide @ along(a) @ about("x", alpha)
        else:
            expected = expected @ about("x", alpha) @ turn @ slide @ along(a)
    assert end_matrix(model, q) == pytest.approx(expected, abs=1e-14)


def test_tip_of_the_rigid_puma() -> None:
    # Corke & Armstrong-Helouvry 1994, standard DH: d, a, alpha
    table = [(0.672, 0, 90), (0, 0.4318, 0), (0.15005, 0.0203, -90), (0.4318, 0, 90),
             (0, 0, -90), (0, 0, 0)]  # fmt: skip
    model = build(example_arm("puma-560"))
    for q in (start_state(model)[0], np.zeros(6), some_state(model)):
        expected = np.eye(4)
        for (d, a, alpha), value in zip(table, q.tolist(), strict=True):
            expected = expected @ about("z", value) @ along(a, d) @ about("x", np.radians(alpha))
        assert end_matrix(model, q) == pytest.approx(expected, abs=1e-14)
    assert end_matrix(model, np.zeros(6))[:3, 3] == pytest.approx([0.4521, -0.15005, 1.1038])


@pytest.mark.parametrize("base", BASES)
def test_rigid_arm_by_plain_frames_and_oblique_axes(base: str) -> None:
    joints = [JOINTS["revolute oblique"], JOINTS["prismatic oblique"], JOINTS["fixed"]]
    turned = {"position": [1, 2, 3], "rotation": [0.2, -0.4, 0.9]}
    links = [{"joint": joint, "length": 0.4} for joint in joints]
    model = build(arm(*links, base=BASES[base] | turned))
    q = np.random.default_rng(5).uniform(-1, 1, model.size)
    expected = homogeneous(Rotation.from_euler("xyz", [0.2, -0.4, 0.9]).as_matrix(), (1, 2, 3))
    values = q.tolist()
    if base != "fixed":
        expected[:3, 3] += values[:3]
        expected = expected @ homogeneous(Rotation.from_euler("XYZ", values[3:6]).as_matrix())
    before, after = (
        homogeneous(Rotation.from_euler("xyz", f["rotation"]).as_matrix(), f["position"])
        for f in (PLACED["before"], PLACED["after"])
    )
    axis = np.array(AXES["oblique"]) / np.linalg.norm(AXES["oblique"])
    turn = homogeneous(Rotation.from_rotvec(values[-2] * axis).as_matrix())
    slide = homogeneous(np.eye(3), values[-1] * axis)
    for motion in (turn, slide, np.eye(4)):
        expected = expected @ before @ motion @ after @ along(0.4)
    assert end_matrix(model, q) == pytest.approx(expected, abs=1e-14)


NODAL = {"kind": "elements", **ONE_EACH}
AMPLITUDES = np.array([0.06, 0.2, -0.09, -0.11, 0.15, 0.01])  # y, y', z, z', twist, stretch


def hermite_curves(span: float) -> tuple[Polynomial, Polynomial]:
    """Give the deflections along y and z of a beam element, clamped at its root."""
    y, y1, z, z1 = AMPLITUDES.tolist()[:4]
    t = Polynomial([0, 1 / span])
    value, slope = 3 * t**2 - 2 * t**3, span * (t**3 - t**2)
    return y * value + y1 * slope, z * value + z1 * slope


def hermite_section(span: float, x: float) -> Array:
    """Place a section of a beam element of given span by linear theory."""
    (v, w), (twist, stretch) = hermite_curves(span), AMPLITUDES.tolist()[4:]
    place = (x + stretch * x / span, v(x), w(x))
    theta = np.array([twist * x / span, -w.deriv()(x), v.deriv()(x)])
    half = np.cross(np.eye(3), theta / 2)  # the skew matrix of theta/2
    return homogeneous(np.linalg.solve(np.eye(3) - half, np.eye(3) + half), place)


def exact_section(span: float, x: float) -> Array:
    """Place a section of an element that turns by its slopes, without the library."""
    (v, w), (twist, stretch) = hermite_curves(span), AMPLITUDES.tolist()[4:]

    def tangent(s: float) -> Array:
        bent = Rotation.from_rotvec([0.0, -w.deriv()(s), v.deriv()(s)])
        return np.asarray((1 + stretch / span) * bent.apply([1.0, 0.0, 0.0]))

    node, weight = np.polynomial.legendre.leggauss(40)
    places = [tangent(x / 2 * (1 + n)) for n in node]
    place = x / 2 * (weight @ np.stack(places))
    bent = Rotation.from_rotvec([0.0, -w.deriv()(x), v.deriv()(x)])
    turned = (bent * Rotation.from_rotvec([twist * x / span, 0.0, 0.0])).as_matrix()
    return homogeneous(turned, place)


@pytest.mark.parametrize("stiffening", [True, False])
def test_bent_twisted_and_stretched_element_between_rigid_pieces(stiffening: bool) -> None:
    link = {"joint": {"kind": "revolute", "axis": [0, 1, 0]}, "length": 1.35, **PIECES}
    made = arm(link | {"section": SECTION, "shapes": NODAL})
    model = build(made, stiffening=stiffening, nodes=12)
    q = np.concatenate([[0.4], AMPLITUDES])
    root = about("y", 0.4) @ along(0.2)
    placed = exact_section if stiffening else hermite_section
    expected = root @ placed(1.0, 1.0) @ along(0.15)
    assert end_matrix(model, q) == pytest.approx(expected, abs=1e-13)
    rotation, position = placed_section(model, ca.DM(q), 0, 0.3)
    found = homogeneous(np.array(rotation), np.array(position).ravel())
    assert found == pytest.approx(root @ placed(1.0, 0.3), abs=1e-13)


@pytest.mark.parametrize("stiffening", [True, False])
def test_element_that_slides_out_of_its_hub(stiffening: bool) -> None:
    beam = {"length": 1.3, "section": SECTION, "shapes": NODAL, "tip_piece": {"length": 0.3}}
    model = build(arm({"joint": SLIDING, **beam}), stiffening=stiffening, nodes=12)
    placed = exact_section if stiffening else hermite_section
    q = np.concatenate([[0.8], AMPLITUDES])
    turned = Rotation.from_euler("xyz", PLACED["before"]["rotation"]).as_matrix()
    mouth = homogeneous(turned, PLACED["before"]["position"])
    expected = mouth @ placed(0.8, 0.8) @ along(0.3)
    assert end_matrix(model, q) == pytest.approx(expected, abs=1e-12)
    # 1 m of beam before the tip piece, of which 0.8 m are out: 0.45 m from the inner end
    rotation, position = placed_section(model, ca.DM(q), 0, 0.45)
    found = homogeneous(np.array(rotation), np.array(position).ravel())
    inside = mouth @ placed(0.8, 0.25)
    assert found == pytest.approx(inside, abs=1e-12)


def test_rigid_beam_slides_out_as_far_as_a_flexible_one() -> None:
    beam = {"joint": SLIDING, "length": 1.3, "section": SECTION, "tip_piece": {"length": 0.3}}
    flexible = build(arm({**beam, "shapes": NODAL}))
    rigid = build(arm({**beam, "rigid": True}))
    straight = end_matrix(flexible, np.concatenate([[0.8], np.zeros(6)]))
    assert end_matrix(rigid, np.array([0.8])) == pytest.approx(straight, abs=1e-12)


def cayley_vector(rotation: Array) -> Array:
    """Find twice the tangent of half a rotation's angle, along its axis."""
    x, y, z, w = Rotation.from_matrix(rotation).as_quat()
    return np.array([x, y, z]) * (2 / float(w))


def test_given_quadratic_shape_moves_and_turns_the_sections() -> None:
    stations = [0.0, 0.4, 0.7, 1.1]
    bow = {"direction": "z", "amplitudes": ["y1", "y1"], "stations": stations,
           "values": [0.3 * x**2 for x in stations]}  # fmt: skip
    shapes = {"kind": "clamped-free", "bending_y": 1, "bending_z": 0, "torsion": 0, "stretch": 0}
    link = {"joint": {"kind": "fixed"}, **BEAM, "shapes": shapes}
    model = build(arm({**link, "quadratic_shapes": [bow]}), stiffening=False)
    plain = build(arm(link), stiffening=False)
    d = ca.DM([0.2])
    for x in (0.5, 1.1):
        local, without = (section(m, m.links[0], d, x) for m in (model, plain))
        shift = np.array(local.position - without.position).ravel()
        assert shift == pytest.approx([0, 0, 0.3 * x**2 * 0.2**2], abs=1e-14)
        turned, plainly = (cayley_vector(np.array(m.rotation)) for m in (local, without))
        assert turned - plainly == pytest.approx([0, -0.6 * x * 0.2**2, 0], abs=1e-14)
    pose = traced(model, lambda s: end_frame(model, s))
    assert_derivative(model, end_jacobian(model, d), pose, np.array([0.2]))


def test_first_order_tip_is_no_rotation_and_has_no_jacobian() -> None:
    link = {"joint": {"kind": "fixed"}, "length": 1.0, "section": SECTION, "shapes": NODAL}
    model = build(arm(link), stiffening=False, tip_rotation="first-order")
    found = end_matrix(model, AMPLITUDES)[:3, :3]
    tx, ty, tz = AMPLITUDES[4], -AMPLITUDES[3], AMPLITUDES[1]
    assert found == pytest.approx(np.array([[1, -tz, ty], [tz, 1, -tx], [-ty, tx, 1]]), abs=1e-14)
    with pytest.raises(FlexarmError, match="tip_rotation='cayley'"):
        end_jacobian(model, ca.DM(AMPLITUDES))


def test_section_inside_the_hub_is_refused() -> None:
    model = build(arm({"joint": SLIDING, "length": 1.3, "section": SECTION, "shapes": NODAL}))
    q = ca.DM(np.concatenate([[0.8], AMPLITUDES]))
    with pytest.raises(FlexarmError, match=r"0\.4 m is inside the hub.*0\.8 m of 1\.3 m"):
        section(model, model.links[0], q, 0.4)
    with pytest.raises(FlexarmError, match="numbers"):
        section(model, model.links[0], ca.SX.sym("q", 7), 0.9)


CANTILEVER = {
    "joint": {"kind": "fixed"},
    **BEAM,
    "shapes": {
        "kind": "clamped-free", "bending_y": 2, "bending_z": 1, "torsion": 1, "stretch": 0
    },
}  # fmt: skip


@cache
def cantilever(stiffening: bool) -> Model:
    """Build a link that bends in both planes and twists, by the series or linearly."""
    return build(arm(CANTILEVER), stiffening=stiffening, series=True)


def axis_of(model: Model, d: Array) -> Callable[[float], Array]:
    """Give the tangent vector dr/dx of the deformed axis, by interpolation between sections."""
    part = model.links[0]
    nodes = part.length / 2 * (1 - np.cos(np.pi * np.arange(29) / 28))
    places = [np.array(section(model, part, ca.DM(d), x).position).ravel() for x in nodes.tolist()]
    curve = BarycentricInterpolator(nodes, np.stack(places))
    return lambda x: np.asarray(curve.derivative(x))


BEND = np.array([0.2, 0.02, -0.15, 0.0])


def extra_length(stiffening: bool, scale: float) -> float:
    """Measure how much longer than the undeformed link its bent axis is."""
    model = cantilever(stiffening)
    tangent = axis_of(model, scale * BEND)
    length = model.links[0].length
    return float(quad(lambda x: np.linalg.norm(tangent(x)) - 1, 0, length, epsabs=1e-13)[0])


@pytest.mark.parametrize(("nodes", "most"), [(1, 1e-3), (8, 6e-7), (16, 5e-11)])
def test_bent_axis_of_an_exact_beam_keeps_its_length_with_enough_nodes(
    nodes: int, most: float
) -> None:
    model = build(arm(CANTILEVER), nodes=nodes)
    d = BEND + np.array([0, 0, 0, 0.5])
    tangent = axis_of(model, d)
    assert max(abs(np.linalg.norm(tangent(x)) - 1) for x in np.linspace(0, 1.1, 23)) < most
    for x in (0.4, 1.1):
        normal = np.array(section(model, model.links[0], ca.DM(d), x).rotation)[:, 0]
        assert normal == pytest.approx(tangent(x), abs=most)


def test_bent_axis_keeps_its_length_to_third_order_by_the_series() -> None:
    longer = [extra_length(True, scale) for scale in (1.0, 0.5, 0.25)]
    assert longer[0] / longer[1] == pytest.approx(16, rel=0.02)
    assert longer[1] / longer[2] == pytest.approx(16, rel=0.005)
    # (1 - s^2/2)^2 + s^2 = 1 + s^4/4: what is left is one eighth of the slopes' fourth power
    tangent = axis_of(cantilever(False), 0.25 * BEND)
    fourth = quad(lambda x: float(np.sum(tangent(x)[1:] ** 2)) ** 2 / 8, 0, 1.1)[0]
    assert longer[2] == pytest.approx(fourth, rel=1e-4)


def test_bent_axis_grows_by_half_the_squared_slopes_without_stiffening() -> None:
    longer = [extra_length(False, scale) for scale in (0.5, 0.25)]
    assert longer[0] / longer[1] == pytest.approx(4, rel=0.03)
    drawn = np.array(cantilever(True).links[0].beam.tip_quadratic[0])
    d = 0.25 * BEND
    assert longer[1] == pytest.approx(-d @ drawn @ d / 2, rel=0.005)


def tilt(stiffening: bool, d: Array, x: float) -> float:
    """Measure the angle [rad] between a section's x axis and the deformed axis."""
    model = cantilever(stiffening)
    tangent = axis_of(model, d)(x)
    normal = np.array(section(model, model.links[0], ca.DM(d), x).rotation)[:, 0]
    return float(np.linalg.norm(np.cross(normal, tangent / np.linalg.norm(tangent))))


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("stiffening", "twist", "order"), [(True, 0.0, 7), (True, 0.3, 2), (False, 0.0, 3)]
)
@pytest.mark.parametrize("x", [0.6, 1.1])
def test_section_is_square_to_the_bent_axis(
    stiffening: bool, twist: float, order: int, x: float
) -> None:
    d = 1.5 * BEND + [0, 0, 0, twist]
    errors = [tilt(stiffening, scale * d, x) for scale in (1.0, 0.5)]
    assert errors[0] < {7: 1e-3, 3: 0.1, 2: 0.2}[order]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.35)
