"""Bodies of any shape that loads stiffen: against springs of true lengths, points, and a beam."""

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
from flexarm.links.imported.body import ReducedBody
from flexarm.links.imported.file import inspect_body, write_body
from tests.links.reduced_bodies import arm_with, craig_bampton, lattice, rigid, said

Array = NDArray[np.float64]
SPINS = ((0, 0), (1, 1), (2, 2), (1, 2), (2, 0), (0, 1))
PAYLOAD: dict[str, Any] = {"mass": 0.3, "com": [0.02, 0.01, -0.03], "inertia": [1e-3, 2e-3, 1.5e-3]}


def unit_loads(nodes: Array, mass: Array, tip: Array) -> Array:
    """Forces on nodes, (18, 3N), of the 18 unit loads; ``tip`` (6, 3N) reads the tip's motion."""
    eye = np.eye(3)
    fields = [np.tile(axis, (len(nodes), 1)) for axis in eye]
    fields += [np.cross(axis, nodes) for axis in eye]
    for a, b in SPINS:
        square = np.zeros((3, 3))
        square[a, b] += 1.0
        square[b, a] += 1.0
        # w~ w~ = w w^T - w^2 1, and a product of two velocities stands in it twice
        product = square / 2 - np.eye(3) if a == b else square
        fields.append(nodes @ product)
    inertial = [-(mass[:, None] * field).ravel() for field in fields]
    return np.array([*inertial, *tip])


def spring_lattice() -> tuple[dict[str, Any], Any, Array, Array]:
    """Make the bent lattice with all its 24 modes, and the tangent stiffness of true springs.

    Returns
    -------
    body, tangent, nodes, mass
        In the plain form with K_sigma and K_u; K (24, 24) at displacements (24,) of the free nodes.
    """
    nodes, stiffness, mass = lattice(2)
    u = ca.SX.sym("u", 24)
    moved = ca.vertcat(ca.DM(nodes[:4].ravel()), ca.DM(nodes[4:].ravel()) + u)
    energy, side = ca.SX(0), 0.1
    stress, u0 = ca.SX.zeros(36, 36), ca.SX.sym("u0", 24)
    whole = ca.vertcat(ca.SX.zeros(12, 1), u0)
    for a in range(12):
        for b in range(a):
            way = nodes[a] - nodes[b]
            length = float(np.linalg.norm(way))
            if length < 2.1 * side:
                now = moved[3 * a : 3 * a + 3] - moved[3 * b : 3 * b + 3]
                energy += 4e4 / length * (ca.norm_2(now) - length) ** 2 / 2
                n = way / length
                pull = 4e4 / length * ca.dot(n, whole[3 * a : 3 * a + 3] - whole[3 * b : 3 * b + 3])
                block = pull / length * (np.eye(3) - np.outer(n, n))
                for i, j, sign in ((a, a, 1), (b, b, 1), (a, b, -1), (b, a, -1)):
                    stress[3 * i : 3 * i + 3, 3 * j : 3 * j + 3] += sign * block
    hessian, gradient = ca.hessian(energy, u)
    tangent = ca.Function("K", [u], [hessian, gradient])
    change = ca.Function(
        "dK", [u0], [ca.substitute(ca.jtimes(hessian, u, u0), u, ca.DM.zeros(24)), stress[12:, 12:]]
    )
    free = stiffness[12:, 12:]
    squares, modes = scipy.linalg.eigh(free, np.diag(np.repeat(mass[4:], 3)))
    end = nodes[8:]
    fit = np.linalg.pinv(rigid(end, end.mean(axis=0)))
    tip = np.zeros((6, 36))
    tip[:, 24:] = fit
    sigma, both = [], []
    for load in unit_loads(nodes, mass, tip):
        total, stressed = (np.array(x) for x in change(np.linalg.solve(free, load[12:])))
        sigma.append(modes.T @ stressed @ modes)
        both.append(modes.T @ total @ modes)
    shapes = np.zeros((24, 36))
    shapes[:, 12:] = modes.T
    body = {
        "nodes": nodes, "node_mass": mass, "shapes": shapes.reshape(24, 12, 3),
        "K": np.diag(squares), "tip_shapes": (tip @ shapes.T).T, "hub_nodes": np.arange(1, 5),
        "tip_position": end.mean(axis=0), "K_sigma": np.array(sigma),
        "K_u": np.array(both) - np.array(sigma),
    }  # fmt: skip
    return body, tangent, nodes, mass


def spinning_slopes(body: dict[str, Any], folder: Path) -> Array:
    """Slopes of squared frequencies over squared spin about z, by the equations."""
    np.savez(folder / "spun.npz", **body)
    link = {
        "joint": {"kind": "revolute", "axis": [0, 0, 1]},
        "body": {"kind": "modal", "file": "spun.npz"},
    }
    data = {"flexarm": 1, "name": "spun", "gravity": [0, 0, 0], "links": [link]}
    arm = Arm.model_validate(data, context={"files": SideFiles.beside(folder)})
    eq = flexarm.formulation("composite", flexarm.build(arm))
    q, v = np.zeros(25), np.zeros(25)
    v[0] = 1.0  # forces of spin are quadratic in it, and linear in amplitudes
    turned, still = (_gradient(lambda x, v=w: eq.bias(x, v)[1:], q) for w in (v, 0 * v))
    M = eq.mass_matrix(q)[1:, 1:]
    vectors = scipy.linalg.eigh(still, M)[1]
    return np.array(np.diag(vectors.T @ (turned - still) @ vectors))


def _gradient(function: Any, q: Array) -> Array:
    h = 1e-5
    rows = [(function(q + h * e) - function(q - h * e)) / (2 * h) for e in np.eye(len(q))[1:]]
    return np.array(rows)


def true_slopes(tangent: Any, nodes: Array, mass: Array, spin: float) -> Array:
    """Change of squared frequencies over squared spin about z of springs in their balance."""
    weights = np.repeat(mass[4:], 3)
    square = np.diag([-1.0, -1.0, 0.0])
    u, softer = np.zeros(24), np.kron(np.eye(8), square) * weights[:, None] * spin**2
    pulled = weights * spin**2 * (nodes[4:] @ -square).ravel()
    for _ in range(8):
        K, force = (np.array(x) for x in tangent(u))
        u -= np.linalg.solve(K + softer, force.ravel() + softer @ u - pulled)
    found = [np.array(tangent(u)[0]) + softer, np.array(tangent(0 * u)[0])]
    after, before = (scipy.linalg.eigvalsh(K, np.diag(weights)) for K in found)
    return np.asarray((after - before) / spin**2)


@pytest.mark.campaign
def test_spin_stiffens_as_springs_of_true_length_do(tmp_path: Path) -> None:
    body, tangent, nodes, mass = spring_lattice()
    slopes = (4 * true_slopes(tangent, nodes, mass, 10) - true_slopes(tangent, nodes, mass, 20)) / 3
    found = spinning_slopes(body, tmp_path)
    assert np.abs(found - slopes)[:6].max() < 1e-6
    report, kept = inspect_body(tmp_path / "spun.npz")
    assert kept is not None
    assert dict(report.facts)["spin"].endswith(f"z {slopes[0]:.3g}")
    write_body(tmp_path / "kept.npz", kept)
    again = inspect_body(tmp_path / "kept.npz")[1]
    assert again is not None
    assert again.second_order is not None
    assert kept.second_order is not None
    for key, x in vars(kept.second_order).items():
        assert np.allclose(vars(again.second_order)[key], x, rtol=1e-12)


def _second_order(value: Any, e: Any) -> Any:
    """Give a function of e at 1 by its series at 0 to second order."""
    slope = ca.jacobian(value, e)
    bend = ca.jacobian(slope, e)
    return sum(ca.substitute(x, e, 0) / k for x, k in ((value, 1), (slope, 1), (bend, 2)))


def test_equations_are_those_of_points_with_displacements_of_second_order(tmp_path: Path) -> None:
    body = craig_bampton(0)
    m, n = 6, len(body["nodes"])
    generator = np.random.default_rng(3)
    field = generator.normal(size=(n, 3, m, m)) * np.linspace(0, 4, n)[:, None, None, None]
    field = field + field.transpose(0, 1, 3, 2)
    tip = generator.normal(size=(6, m, m))
    tip = tip + tip.transpose(0, 2, 1)
    loads = unit_loads(body["nodes"], body["node_mass"], np.zeros((6, 3 * n)))
    total = -np.einsum("lna,naij->lij", loads.reshape(18, n, 3), field)
    total[12:] = -tip
    share = generator.normal(size=total.shape)
    share = share + share.transpose(0, 2, 1)
    given = body | {"K_sigma": share, "K_u": total - share}
    arm = arm_with(tmp_path, given, payload=PAYLOAD, gravity=[1, 2, -9.81])
    model = flexarm.build(arm)
    q, v, a = (ca.SX.sym(name, m + 1) for name in "qva")
    e = ca.SX.sym("e")  # orders of amplitudes and their rates

    def turned(angle: Any) -> Any:
        k = ca.skew(ca.DM([0, 0, 1]))
        return ca.SX.eye(3) + ca.sin(angle) * k + (1 - ca.cos(angle)) * (k @ k)

    d = e * q[1:]
    R = turned(q[0])
    places = [
        R @ (ca.DM(body["nodes"][k]) + ca.DM(body["shapes"][:, k].T) @ d
             + ca.vertcat(*[d.T @ ca.DM(field[k, c]) @ d for c in range(3)]) / 2)
        for k in range(n)
    ]  # fmt: skip
    speeds = [ca.jtimes(p, q, v) for p in places]
    weigh = zip(body["node_mass"], places, speeds, strict=True)
    kinetic, height = ca.SX(0), ca.SX(0)
    for mass, p, s in weigh:
        kinetic += mass * ca.dot(s, s) / 2
        height -= mass * ca.dot(ca.DM([1, 2, -9.81]), p)
    kinetic, height = _second_order(kinetic, e), _second_order(height, e)
    u = ca.DM(body["tip_shapes"].T) @ q[1:]
    u += ca.vertcat(*[q[1:].T @ ca.DM(x) @ q[1:] for x in tip]) / 2
    half = ca.skew(u[3:]) / 2
    E = ca.solve(ca.SX.eye(3) - half, ca.SX.eye(3) + half)
    end, turn = R @ (ca.DM(body["tip_position"]) + u[:3]), R @ E @ ca.DM(body["tip_rotation"])
    spread = (np.sum(PAYLOAD["inertia"]) / 2 - np.array(PAYLOAD["inertia"])) / 0.1
    for k in range(6):
        at = np.array(PAYLOAD["com"]) + (-1) ** k * np.sqrt(spread[k // 2]) * np.eye(3)[k // 2]
        place = end + turn @ ca.DM(at)
        speed = ca.jtimes(place, q, v)
        kinetic += 0.05 * ca.dot(speed, speed) / 2
        height -= 0.05 * ca.dot(ca.DM([1, 2, -9.81]), place)
    elastic = ca.dot(q[1:], ca.DM(body["K"]) @ q[1:]) / 2
    momentum = ca.gradient(kinetic, v)
    force = ca.jtimes(momentum, q, v) + ca.jtimes(momentum, v, a)
    force += ca.gradient(height + elastic - kinetic, q)
    reference = ca.Function("f", [q, v, a], [ca.hessian(kinetic, v)[0], force, kinetic, height])
    scale = np.array([1.0, *[0.02] * m])
    for name in ("articulated", "composite"):
        eq = flexarm.formulation(name, model)
        for _ in range(2):
            q0, v0, a0 = (scale * generator.normal(size=m + 1) for _ in range(3))
            M, f, T, _ = (np.array(each) for each in reference(q0, v0, a0))
            assert np.abs(eq.mass_matrix(q0) - M).max() < 1e-9 * np.abs(M).max()
            assert (
                np.abs(eq.inverse_dynamics(q0, v0, a0) - f.ravel()).max() < 1e-9 * np.abs(f).max()
            )
            assert eq.energy(q0, v0)[0] == pytest.approx(float(T[0, 0]), rel=1e-9)
    plain = flexarm.formulation("composite", flexarm.build(arm, stiffening=False))
    bare = flexarm.build(arm_with(tmp_path, body, payload=PAYLOAD, gravity=[1, 2, -9.81]))
    other = flexarm.formulation("composite", bare)
    assert np.array_equal(plain.mass_matrix(q0), other.mass_matrix(q0))
    u0 = np.array([0.3])
    one, two = (
        flexarm.formulation(name, model).forward_dynamics(q0, v0, u0)
        for name in ("articulated", "composite")
    )
    assert np.abs(one - two).max() < 1e-9 * np.abs(two).max()


def beams() -> Arm:
    link = {
        "joint": {"kind": "revolute", "axis": [0, 1, 1]},
        "length": 0.8,
        "section": {"mass_per_length": 1.5, "EIy": 400, "EIz": 300},
        "shapes": {"kind": "clamped-free", "bending_y": 2, "bending_z": 2},
    }
    data = {"flexarm": 1, "name": "beam", "gravity": [0, 0, 0], "links": [link]}
    return Arm.model_validate(data | {"payload": {"mass": 0.7}})


def beam_with_loads(arm: Arm) -> dict[str, Any]:
    """Write a beam down as nodes, with K_sigma of tensions and no K_u, as straight beams have."""
    elastic = flexarm.build(arm, stiffening=False).links[0].beam
    assert elastic is not None
    x, weight = elastic.span.quadrature(30)
    end, shapes = np.array([elastic.span.length]), elastic.shapes
    nodes, mass = np.stack([x, 0 * x, 0 * x], axis=1), weight * 1.5
    # a beam keeps its length: a force along x at a place stiffens all up to there
    fine, steps = np.polynomial.legendre.leggauss(30)
    stiffer = []
    for at in (*x, 0.8):
        places = at / 2 * (1 + fine)
        slope = shapes.values("y", places, 1), shapes.values("z", places, 1)
        stiffer.append(sum(np.einsum("g,gi,gj->ij", at / 2 * steps, s, s) for s in slope))
    loads = unit_loads(nodes, mass, np.zeros((6, 3 * len(x)))).reshape(18, -1, 3)
    K_sigma = np.einsum("la,aij->lij", loads[:, :, 0], np.array(stiffer[:-1]))
    K_sigma[12] = stiffer[-1]
    return {
        "nodes": nodes, "node_mass": mass, "shapes": shapes.displacement(x).transpose(2, 0, 1),
        "tip_shapes": np.vstack([shapes.displacement(end)[0], shapes.rotation(end)[0]]).T,
        "tip_position": np.array([0.8, 0, 0]), "K": shapes.stiffness, "K_sigma": K_sigma,
    }  # fmt: skip


def test_a_beam_given_with_its_tensions_is_the_exact_beam_to_first_order(tmp_path: Path) -> None:
    beam = beams()
    body = arm_with(tmp_path, beam_with_loads(beam), payload={"mass": 0.7}, gravity=[0, 0, 0])
    data = body.model_dump(exclude_unset=True)
    data["links"][0]["joint"]["axis"] = [0, 1, 1]
    body = Arm.model_validate(data, context={"files": SideFiles.beside(tmp_path)})
    spun = np.array([3.0, 0, 0, 0, 0])
    found = []
    for arm in (beam, body):
        eq = flexarm.formulation("composite", flexarm.build(arm))
        found.append(_gradient(lambda q, eq=eq: eq.bias(q, spun)[1:], np.zeros(5)))
    soft = flexarm.formulation("composite", flexarm.build(body, stiffening=False))
    plain = _gradient(lambda q: soft.bias(q, spun)[1:], np.zeros(5))
    change = np.abs(found[0] - plain).max()
    assert np.abs(found[0] - found[1]).max() < 1e-7 * change


def test_a_stiffened_swing_keeps_its_energy(tmp_path: Path) -> None:
    arm = arm_with(tmp_path, beam_with_loads(beams()), payload=PAYLOAD)
    run = flexarm.simulate(arm, t_end=0.3, dt=0.02, method="dop853", rtol=1e-9)
    assert np.ptp(run.energy.sum(axis=1)) < 1e-9 * np.abs(run.energy).max()
    tip = run.dataset.deflection.sel(link="link1", station=1).values
    body = flexarm.build(arm).links[0].body
    assert isinstance(body, ReducedBody)
    assert body.second_order is not None
    d = run.q[:, 1:]
    drawn = np.einsum("aij,ti,tj->ta", body.second_order.tip, d, d) / 2
    assert np.allclose(tip, d @ body.tip_shape.T + drawn, atol=1e-15)
    assert np.abs(drawn).max() > 1e-6


def _bent(body: dict[str, Any]) -> dict[str, Any]:
    return body | {"nodes": body["nodes"] + [[0, 0.2 * x**2, 0] for x in body["nodes"][:, 0]]}


def _swapped(body: dict[str, Any]) -> dict[str, Any]:
    return {{"K_sigma": "K_u"}.get(name, name): value for name, value in body.items()}


LOADED: dict[str, tuple[Any, str]] = {
    "odd": (lambda b: b | {"K_sigma": b["K_sigma"] + np.eye(4, k=1)}, "must be symmetric"),
    "few": (lambda b: b | {"K_sigma": b["K_sigma"][:6]}, "(18, shapes, shapes)"),
    "small": (
        lambda b: b | {"K_sigma": b["K_sigma"][:, :3, :3]},
        "must have the shape (18, shapes, shapes) = (18, 4, 4)",
    ),
    "nan": (lambda b: b | {"K_u": b["K_sigma"] * np.nan}, "must be finite"),
    "alone": (_swapped, "beside K_sigma alone"),
    "bent": (_bent, "K_sigma alone is wrong, even in sign"),
    "units": (lambda b: b | {"K_sigma": 1e6 * b["K_sigma"]}, "Is it per unit load"),
    "loose": (lambda b: b | {"hub_shapes": np.full((4, 6), 0.1)}, "the hub is at rest"),
}


@pytest.mark.parametrize("mistake", LOADED)
def test_wrong_stiffness_per_load_is_refused(tmp_path: Path, mistake: str) -> None:
    change, words = LOADED[mistake]
    told = said(tmp_path, change(beam_with_loads(beams())))
    assert told.startswith("refused")
    assert words in told
