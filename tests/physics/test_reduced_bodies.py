"""Bodies of any shape: against all their nodes as point masses, against beams, by their energy."""

from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest
import scipy.linalg
from numpy.typing import NDArray

import flexarm
from flexarm.arm import Arm
from flexarm.arm.side_files import SideFiles
from flexarm.closed_forms.equations import closed_form
from flexarm.formulations import FORMULATIONS
from flexarm.links.imported.body import ReducedBody
from flexarm.links.imported.file import inspect_body, write_body
from flexarm.model import Model
from flexarm.studies.compare import operation_counts
from tests.links.reduced_bodies import arm_with, clamped, craig_bampton, lattice, rigid

Array = NDArray[np.float64]
PAYLOAD: dict[str, Any] = {"mass": 0.3, "com": [0.02, 0.01, -0.03], "inertia": [1e-3, 2e-3, 1.5e-3]}


def skew(a: Any) -> Any:
    return ca.vertcat(
        ca.horzcat(0, -a[2], a[1]), ca.horzcat(a[2], 0, -a[0]), ca.horzcat(-a[1], a[0], 0)
    )


def turned_about(axis: Array, angle: Any) -> Any:
    """Rodrigues' formula."""
    k = skew(axis / np.linalg.norm(axis))
    return ca.SX.eye(3) + ca.sin(angle) * k + (1 - ca.cos(angle)) * (k @ k)


def points_of(bodies: list[dict[str, Any]], axes: list[Array], q: Any) -> tuple[Any, list[float]]:
    """Place every node of every body, and the masses of a payload, in the world.

    Nothing of the package is used: hub frame, joint, X + sum d phi, tip by Cayley's rotation.
    """
    R, p, at = ca.SX.eye(3), ca.SX.zeros(3, 1), 0
    places, masses = [], []
    for body, axis in zip(bodies, axes, strict=True):
        m = len(body["shapes"])
        R = R @ turned_about(axis, q[at])
        d = q[at + 1 : at + 1 + m]
        for k, mass in enumerate(body["node_mass"]):
            moved = ca.DM(body["nodes"][k]) + ca.DM(body["shapes"][:, k, :].T) @ d
            places.append(p + R @ moved)
            masses.append(float(mass))
        u, angle = (ca.DM(body["tip_shapes"].T[rows]) @ d for rows in (slice(0, 3), slice(3, 6)))
        cross = skew(angle) / 2
        E = ca.solve(ca.SX.eye(3) - cross, ca.SX.eye(3) + cross)
        p = p + R @ (ca.DM(body["tip_position"]) + u)
        R = R @ E @ ca.DM(body["tip_rotation"])
        at += 1 + m
    for place, mass in payload_points():
        places.append(p + R @ ca.DM(place))
        masses.append(mass)
    return ca.horzcat(*places), masses


def payload_points() -> list[tuple[Array, float]]:
    """Six point masses with the payload's mass, centre and inertia."""
    mass, inertia = PAYLOAD["mass"], np.array(PAYLOAD["inertia"])
    spread = (inertia.sum() / 2 - inertia) / (mass / 3)
    centre = np.array(PAYLOAD["com"])
    return [
        (centre + sign * np.sqrt(spread[k]) * np.eye(3)[k], mass / 6)
        for k in range(3)
        for sign in (-1, 1)
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bodies")


@pytest.fixture(scope="module")
def pair(folder: Path) -> tuple[Model, list[dict[str, Any]]]:
    """Build two bodies of eight shapes each with a payload."""
    body = craig_bampton(2)
    model = flexarm.build(arm_with(folder, body, body, payload=PAYLOAD, gravity=[1, 2, -9.81]))
    return model, [body, body]


def test_equations_are_those_of_all_nodes_as_point_masses(
    pair: tuple[Model, list[dict[str, Any]]],
) -> None:
    """Of one formulation: others are compared with it."""
    model, bodies = pair
    q, v, a = (ca.SX.sym(n, model.size) for n in "qva")
    places, masses = points_of(bodies, [np.array([0, 0, 1.0]), np.array([0, 1, 0.3])], q)
    speed = ca.jtimes(places, q, v)
    weights = ca.DM(masses).T
    kinetic = ca.sum2(weights * ca.sum1(speed * speed)) / 2
    height = -ca.sum2(weights * (ca.DM([1, 2, -9.81]).T @ places))
    elastic = ca.SX(0)
    for k, body in enumerate(bodies):
        d = q[1 + 9 * k : 9 + 9 * k]
        elastic += ca.dot(d, ca.DM(body["K"]) @ d) / 2
    momentum = ca.gradient(kinetic, v)
    force = ca.jtimes(momentum, q, v) + ca.jtimes(momentum, v, a)
    force += ca.gradient(height + elastic - kinetic, q)
    reference = ca.Function("f", [q, v, a], [ca.hessian(kinetic, v)[0], force, kinetic])
    eq, other = (flexarm.formulation(name, model) for name in ("composite", "articulated"))
    generator = np.random.default_rng(2)
    scale = np.array([1.0, *[0.02] * 8] * 2)
    for _ in range(3):
        q0, v0, a0 = (scale * generator.normal(size=model.size) for _ in range(3))
        M, f, T = (np.array(each) for each in reference(q0, v0, a0))
        assert np.abs(eq.mass_matrix(q0) - M).max() < 1e-9 * np.abs(M).max()
        got = eq.inverse_dynamics(q0, v0, a0)
        assert np.abs(got - f.ravel()).max() < 1e-9 * np.abs(f).max()
        assert eq.energy(q0, v0)[0] == pytest.approx(float(T[0, 0]), rel=1e-10)
    one, two = (each.forward_dynamics(q0, v0, np.ones(2)) for each in (eq, other))
    assert np.abs(one - two).max() < 1e-9 * np.abs(two).max()


def test_every_other_formulation_refuses_in_words(pair: tuple[Model, list[dict[str, Any]]]) -> None:
    for name in set(FORMULATIONS) - {"articulated", "composite"}:
        with pytest.raises(flexarm.FlexarmError, match="body with modes"):
            flexarm.formulation(name, pair[0])
    with pytest.raises(
        flexarm.FlexarmError, match="link1 is a body with modes, which has no short"
    ):
        closed_form(pair[0])


def beam_arm() -> Arm:
    link = {
        "joint": {"kind": "revolute", "axis": [0, 1, 0.2]},
        "length": 0.8,
        "section": {
            "mass_per_length": 1.5, "EIy": 400, "EIz": 300, "GJ": 200,
            "Jx": 2e-3, "Jy": 1e-3, "Jz": 1e-3,
        },
        "shapes": {"kind": "clamped-free", "bending_y": 2, "bending_z": 2, "torsion": 1},
    }  # fmt: skip
    data = {"flexarm": 1, "name": "beam", "stiffening": False, "links": [link, link]}
    return Arm.model_validate(data | {"payload": PAYLOAD})


def as_body(arm: Arm) -> dict[str, Any]:
    """Write a beam down at Gauss points, as nodes with rotary inertia."""
    elastic = flexarm.build(arm).links[0].beam
    assert elastic is not None
    x, weight = elastic.span.quadrature(20)
    inertia = np.zeros((len(x), 3, 3))
    for axis, name in enumerate(("Jx", "Jy", "Jz")):
        inertia[:, axis, axis] = weight * elastic.span.at(name, x)
    end = np.array([elastic.span.length])
    shapes = elastic.shapes
    tips = [shapes.displacement(end)[0], shapes.rotation(end)[0]]
    return {
        "nodes": np.stack([x, 0 * x, 0 * x], axis=1),
        "node_mass": weight * elastic.span.at("mass_per_length", x),
        "inertia": inertia,
        "shapes": shapes.displacement(x).transpose(2, 0, 1),
        "rotations": shapes.rotation(x).transpose(2, 0, 1),
        "tip_shapes": np.vstack(tips).T,
        "tip_position": np.array([elastic.span.length, 0, 0]),
        "K": shapes.stiffness,
        "names": np.array(shapes.names),
    }


def test_a_beam_given_as_a_body_is_the_beam(folder: Path) -> None:
    beams = beam_arm()
    body = as_body(beams)
    data = beams.model_dump(exclude_unset=True)
    np.savez(folder / "beam.npz", **body)
    for link in data["links"]:
        for key in ("length", "section", "shapes"):
            del link[key]
        link["body"] = {"kind": "modal", "file": "beam.npz"}
    bodies = Arm.model_validate(data, context={"files": SideFiles.beside(folder)})
    known, given = flexarm.build(beams), flexarm.build(bodies)
    assert given.names == known.names
    generator = np.random.default_rng(1)
    scale = np.array([1.0, *[0.01] * 4, 0.1] * 2)
    q, v = (scale * generator.normal(size=known.size) for _ in range(2))
    pairs = [flexarm.formulation("articulated", each) for each in (known, given)]
    for one, two in (
        [eq.mass_matrix(q) for eq in pairs],
        [eq.bias(q, v) for eq in pairs],
        [eq.forward_dynamics(q, v, np.array([1.0, 2.0])) for eq in pairs],
    ):
        assert np.abs(one - two).max() < 1e-10 * np.abs(one).max()
    hertz = [[m.frequency_hz for m in flexarm.modes(each).modes] for each in (beams, bodies)]
    assert np.allclose(hertz[0], hertz[1], rtol=1e-8)


def dropped(shapes: Array, times: Array) -> Array:
    """Let the hub-held lattice go under its weight: tip's motions (T, 6) by all of its unknowns.

    Shapes (18, 3N) span all motions with the hub held and the tip rigid.
    """
    nodes, stiffness, mass = lattice(2)
    weights, tip = np.repeat(mass, 3), nodes[-4:].mean(axis=0)
    pull = np.tile([1.0, 2.0, -9.81], len(nodes))
    M, K = shapes @ (weights * shapes).T, shapes @ stiffness @ shapes.T
    squares, modes = scipy.linalg.eigh(K, M)
    swing = (modes.T @ (shapes @ (weights * pull)) / squares)[:, None]
    swing = swing * (1 - np.cos(np.sqrt(squares)[:, None] * times))
    moved = (shapes.T @ modes @ swing).T.reshape(len(times), -1, 3)[:, -4:]
    fit = np.linalg.pinv(rigid(nodes[-4:], tip))
    return np.asarray(moved.reshape(len(times), -1) @ fit.T)


@pytest.mark.few(1)
@pytest.mark.parametrize(("fixed", "apart"), [(12, 1e-8), (5, 0.1)])
def test_a_transient_is_that_of_all_unknowns(folder: Path, fixed: int, apart: float) -> None:
    np.savez(folder / "drop.npz", **craig_bampton(fixed, 2))
    link = {"joint": {"kind": "fixed"}, "body": {"kind": "modal", "file": "drop.npz"}}
    data = {"flexarm": 1, "name": "drop", "gravity": [1, 2, -9.81], "links": [link]}
    arm = Arm.model_validate(data, context={"files": SideFiles.beside(folder)})
    run = flexarm.simulate(arm, t_end=0.05, dt=2.5e-3, method="dop853", rtol=1e-9)
    wanted = dropped(craig_bampton(12, 2)["shapes"].reshape(18, -1), run.t)
    off = np.abs(run.q[:, :6] - wanted).max(axis=0) / np.ptp(wanted, axis=0)
    assert off.max() < apart


def test_a_swing_keeps_its_energy_and_is_kept_with_its_body(folder: Path) -> None:
    strains = np.random.default_rng(0).normal(size=(7, 5))
    arm = arm_with(folder, craig_bampton(1) | {"strains": strains}, payload=PAYLOAD)
    run = flexarm.simulate(arm, t_end=0.05, dt=0.005, method="dop853", rtol=1e-9)
    total = run.energy.sum(axis=1)
    assert np.ptp(total) < 1e-10 * run.energy[:, 0].max()
    run.save(folder / "run.nc")
    again = flexarm.load_run(folder / "run.nc")
    assert again.model.names == run.model.names
    moved = run.dataset.deflection.sel(link="link1", station=1).values
    tip = flexarm.build(arm).links[0].body
    assert isinstance(tip, ReducedBody)
    assert np.allclose(moved, run.q[:, 1:] @ tip.tip_shape.T)
    largest = np.abs(run.q[:, 1:] @ strains).max(axis=1)
    assert np.allclose(run.section_forces().strain.sel(link="link1", station=1), largest)


def test_a_superelement_without_nodes_is_the_body_to_first_order(folder: Path) -> None:
    body = craig_bampton()
    shapes = body["shapes"].reshape(10, -1)
    whole = np.concatenate([_rigid_at(body["nodes"], np.zeros(3)), shapes])
    weights = np.repeat(body["node_mass"], 3)
    mass, stiffness = whole @ (weights * whole).T, np.zeros((16, 16))
    stiffness[6:, 6:] = body["K"]
    back = np.eye(16)  # from own motions of the tip to its motions in all
    back[6:12, :6] = -_frame_shift(body["tip_position"])
    given = {
        "K": back.T @ stiffness @ back,
        "M": back.T @ mass @ back,
        "tip_position": body["tip_position"],
        "tip_rotation": body["tip_rotation"],
    }
    models = [flexarm.build(arm_with(folder, each, payload=PAYLOAD)) for each in (body, given)]
    eqs = [flexarm.formulation("articulated", model) for model in models]
    rest, v = np.zeros(models[0].size), np.random.default_rng(0).normal(0, 0.1, models[0].size)
    first, second = (eq.mass_matrix(rest) for eq in eqs)
    assert np.abs(first - second).max() < 1e-10 * np.abs(first).max()
    report, found = inspect_body(folder / "body0.npz")
    assert found is not None
    assert found.first_order
    assert any("no nodes" in note for note in report.notes)
    power = v @ (eqs[1].bias(rest, v) - eqs[1].bias(rest, 0 * v))
    assert power == pytest.approx(_half_mass_rate(eqs[1], rest, v), rel=1e-6)


def _rigid_at(nodes: Array, origin: Array) -> Array:
    rows = [np.tile(axis, len(nodes)) for axis in np.eye(3)]
    return np.array(rows + [np.cross(axis, nodes - origin).ravel() for axis in np.eye(3)])


def _frame_shift(offset: Array) -> Array:
    """Motion of a frame at an offset by motions of the origin, (6, 6)."""
    whole = np.eye(6)
    whole[:3, 3:] = np.cross(np.eye(3), offset).T
    return whole


def _half_mass_rate(eq: Any, q: Array, v: Array) -> float:
    h = 1e-5
    return float(v @ ((eq.mass_matrix(q + h * v) - eq.mass_matrix(q - h * v)) / (4 * h)) @ v)


def test_a_flexible_payload_is_a_body_on_a_fixed_joint(folder: Path) -> None:
    body = craig_bampton(1)
    np.savez(folder / "load.npz", **body)
    held = {"kind": "modal", "file": "load.npz"}
    turn = {"kind": "revolute", "axis": [0, 1, 0]}
    before = {"position": [0.5, 0, 0], "rotation": [0, 0, 0.4]}
    chains: list[list[dict[str, Any]]] = [
        [{"joint": turn, "length": 0.5}, {"joint": {"kind": "fixed", "before": {
            "rotation": [0, 0, 0.4]}}, "body": held}],
        [{"joint": {**turn, "after": before}, "body": held}],
    ]  # fmt: skip
    found = []
    for links in chains:
        data = {"flexarm": 1, "name": "load", "links": links, "payload": PAYLOAD}
        arm = Arm.model_validate(data, context={"files": SideFiles.beside(folder)})
        model = flexarm.build(arm)
        q = np.linspace(0.5, 0.6, model.size) * np.array([1.0, *[0.02] * 7])
        eq = flexarm.formulation("articulated", model)
        found.append((eq.mass_matrix(q), eq.bias(q, 2 * q)))
    for one, two in zip(*found, strict=True):
        assert np.abs(one - two).max() < 1e-12 * np.abs(one).max()


def test_a_body_takes_fewer_operations_than_a_beam_with_as_many_amplitudes(folder: Path) -> None:
    shapes = {"kind": "clamped-free", "bending_y": 3, "bending_z": 3, "torsion": 1, "stretch": 1}
    section = {"mass_per_length": 1.5, "EIy": 400, "EIz": 300, "GJ": 200, "EA": 1e6, "Jx": 1e-3}
    joint = {"kind": "revolute", "axis": [0, 1, 0.3]}
    link = {"joint": joint, "length": 0.5, "section": section, "shapes": shapes}
    beam = Arm.model_validate({"flexarm": 1, "name": "beam", "links": [link], "payload": PAYLOAD})
    body = arm_with(folder, craig_bampton(2), payload=PAYLOAD)
    total = []
    for arm in (beam, body):
        model = flexarm.build(arm)
        assert model.size == 9
        count = operation_counts(flexarm.formulation("articulated", model), "forward_dynamics")
        total.append(count.multiplications + count.additions + count.divisions)
    assert total[1] < total[0]


def test_modes_without_statics_are_said_to_be_too_stiff_and_write_back(folder: Path) -> None:
    np.savez(folder / "clamped.npz", **clamped(), strains=np.ones((5, 2)))
    report, body = inspect_body(folder / "clamped.npz")
    assert body is not None
    assert any("too stiff" in note for note in report.notes)
    write_body(folder / "small.npz", body)
    again = inspect_body(folder / "small.npz")[1]
    assert again is not None
    assert np.allclose(again.integrals.shape_shape, body.integrals.shape_shape, atol=1e-15)
    assert again.strains is not None
    assert body.strains is not None
    assert np.allclose(again.strains, body.strains)
    assert again.names == body.names == tuple(f"mode{k}" for k in range(1, 6))
