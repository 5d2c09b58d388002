"""Graves 1989: Jacobians, inertia and nonlinear loads, as the paper states them and complete."""

from functools import cache

import casadi as ca
import numpy as np

from flexarm.arm.forces import At
from flexarm.formulations import formulation
from flexarm.formulations.base import Formulation
from flexarm.formulations.kinematic_influence import KinematicInfluence, Walk
from flexarm.io.model_file import change_arm
from flexarm.mechanics.kinematics import frames
from flexarm.mechanics.point_forces import place
from flexarm.mechanics.sections import picked
from flexarm.model import ArmPoint, Model, build
from flexarm.spatial import Array, Scalar
from flexarm_papers.base import Figure, Found, Table, curve
from flexarm_papers.readings import Reading, every, ways
from flexarm_papers.runs import changed, difference, operations
from flexarm_papers.verdicts import claim, general, measured, search

# [m] standard deviation of the amplitudes of links of 1 m, whose tips then deflect by about 1 %,
# which "small deflections" are taken for.
SMALL = 0.005
LARGER = {"deflections twice as large [%]": 0.01, "four times as large [%]": 0.02}
CENTRES, SEEN = "J_cm", "with the link's own modes"
ITS, RELATIVE, LEVER, LEFT_OUT = ("v_b of eq. 27", "relative to a", "alpha_a x r of eq. 27",
                                  "left out, as printed")  # fmt: skip
LINKS = ("rigid, in a plane", "rigid, in space", "that deflect, in space")
ANGLES = {f"{x:g} rad": x for x in (0.01, 0.03, 0.1)}
STATED = every(ways(CENTRES, SEEN, "without them"))
ITERATED = every(ways(ITS, RELATIVE, "absolute"), ways(LEVER, LEFT_OUT, "understood"))
CHAINS = ("count-2-2-2", "count-3-2-2")  # arms on which the paper's equations are evaluated
SLIDER = "chu-example-1"
STATES, RATE = 5, 0.05  # random states; standard deviation of rates, SI units
WITHIN = claim("largest error", high=5.0, unit="%")  # of the largest entry
POINTS: dict[str, At] = {
    "tip of the boom": "tip", "middle": 3.0, "0.36 m off the axis": (3.0, 0.3, -0.2),
}  # fmt: skip
MANY = (4, 8, 16)  # modes per link


def inertia() -> Found:
    """Compare inertia matrix and nonlinear loads as stated with the complete ones."""

    def mass(size: float, names: tuple[str, ...] = CHAINS) -> float:
        return max(mass_error(name, size) for name in names)

    sizes = np.array([0.002, 0.005, 0.01, 0.02, 0.05])
    errors = [[mass_error(CHAINS[0], x), loads_error(CHAINS[0], True, x, joints=True),
               loads_error(CHAINS[0], True, x)] for x in sizes]  # fmt: skip
    labels = ("M of eq. 25", "nonlinear loads on joints", "on joints and modes")
    least = min(iterated(x, LINKS[2:]) for x in ITERATED.readings())
    tips = max(tip_error(x, SMALL) for x in CHAINS)
    lump = _loads(STATED.first, joints=True)
    return Found(
        (
            measured("the method gives the system inertia matrix (eqs. 24, 25), deflections of "
                     "about 1 % of the length", "eq. 25", WITHIN, mass(SMALL),
                     beside={name: mass(x) for name, x in LARGER.items()}),
            measured("the manipulator may have translational joints", "V-Sim", WITHIN,
                     mass(SMALL, (SLIDER,))),
            search("the nonlinear forces are approximated by J_cm^T times loads of centres of mass",
                   "after eq. 27", WITHIN, STATED.readings(), lambda x: _loads(x),
                   beside={"of joints alone [%]": lambda x: _loads(x, joints=True)}),
            search("eq. 27 gives the nonlinear accelerations by iteration", "eq. 27", WITHIN,
                   ITERATED.readings(), lambda x: iterated(x, LINKS),
                   beside={name: lambda x, name=name: iterated(x, (name,))  # type: ignore[misc]
                           for name in LINKS}),
        ),
        figures=(
            Figure("Error of the equations as stated, two flexible links of 1 m",
                   "amplitude [m]", "largest error [%]",
                   tuple(curve(label, sizes, [x[k] for x in errors])
                         for k, label in enumerate(labels)), log=True),
        ),
        finding="Four simplifications make the paper's equations wrong. At deflections of about "
        f"1 % of the length the inertia of undeflected links (eq. 25) is off by {mass(SMALL):.1f} "
        f"%, and the Jacobian of tips that turn by eq. 3 by {tips:.1f} %, in proportion to the "
        f"deflection. Nonlinear loads at centres of mass are off by {lump:.0f} % on the joints: a "
        "centre does not represent the Coriolis loads of modal rates. "
        f"Accelerations by eq. 27 are off by at least {least:.0f} % for links that deflect.",
        text="Eq. 27 lacks terms: it is right for rigid links in a plane "
        "if v_b is relative to a, and in space if the rotation at a is carried over too.",
    )  # fmt: skip


def _loads(reading: Reading, *, joints: bool = False) -> float:
    seen = reading[CENTRES] == SEEN
    return max(loads_error(name, seen, SMALL, joints=joints) for name in CHAINS)


def _states(model: Model, size: float) -> list[tuple[Array, Array]]:
    """Return random coordinates and rates; amplitudes have a standard deviation of `size` [m]."""
    rng = np.random.default_rng(0)
    scale = np.where(["." in x for x in model.names], size, 1.0)
    return [(scale * rng.standard_normal(model.size), RATE * rng.standard_normal(model.size))
            for _ in range(STATES)]  # fmt: skip


@cache
def _model(name: str) -> Model:
    return build(changed(name), stiffening=False)


def mass_error(name: str, size: float) -> float:
    """Return the largest error of M of eq. 25 at random states, of a unit diagonal [%]."""
    model = _model(name)
    ours = formulation("kinematic-influence", model, paper=True)
    exact, found = formulation("composite", model), []
    for q, _ in _states(model, size):
        expected = exact.mass_matrix(q)
        scale = np.sqrt(np.diag(expected))
        found.append(np.abs((ours.mass_matrix(q) - expected) / np.outer(scale, scale)).max())
    return 100 * float(max(found))


@cache
def loads_error(name: str, own: bool, size: float, *, joints: bool = False) -> float:
    """Return the largest error of the nonlinear loads as stated, of the largest load [%]."""
    model = _model(name)
    stated, exact, found = lumped(model, own=own), formulation("composite", model), []
    rows = np.array([not joints or "." not in x for x in model.names])
    for q, v in _states(model, size):
        scale = np.sqrt(np.diag(exact.mass_matrix(q)))
        ours, right = stated(q, v).full().ravel() / scale, exact.parts(q, v)["coriolis"] / scale
        found.append(difference(ours[rows], right[rows]))
    return 100 * max(found)


def lumped(model: Model, *, own: bool) -> ca.Function:
    """Trace the nonlinear loads as they are stated: J_cm^T times loads at centres of mass.

    Accelerations are exact, not those of eq. 27.  Links are slender and carry nothing.

    Parameters
    ----------
    model
        The arm.
    own
        Whether J_cm has the link's own modes, as they are at the centre, or none of them.
    """
    q, v = (ca.SX.sym(name, model.size) for name in "qv")
    total = ca.SX(model.size, 1)
    for part, frame in zip(model.links, frames(model, q), strict=True):
        section, half = part.link.section, part.link.length / 2
        assert section is not None  # a beam, rigid or not
        assert section.mass_per_length is not None
        mass = 2 * half * section.mass_per_length
        bent: list[Scalar] = [0.0, 0.0]
        if part.body.one_length:
            shapes, at = part.beam.shapes, np.array([half])
            rows = [shapes.values("y", at)[0], shapes.values("z", at)[0]]
            bent = [ca.DM(row).T @ picked(q, part.own) for row in rows]
        R = frame.R_WL
        J = ca.jacobian(frame.p_WL + R @ ca.vertcat(half, *bent), q)
        turning = ca.reshape(ca.jtimes(ca.vec(R), q, v), 3, 3) @ R.T
        omega = ca.vertcat(turning[2, 1], turning[0, 2], turning[1, 0])
        a, alpha = ca.jtimes(J @ v, q, v), ca.jtimes(omega, q, v)
        thin = mass * (2 * half) ** 2 / 12
        I_cm = R @ ca.diag(ca.DM([0.0, thin, thin])) @ R.T
        seen = J if own else J @ ca.diag([float(k not in part.own) for k in range(model.size)])
        total += mass * seen.T @ a
        total += ca.jacobian(omega, v).T @ (I_cm @ alpha + ca.cross(omega, I_cm @ omega))
    return ca.Function("lumped", [q, v], [total])


def iterated(reading: Reading, links: tuple[str, ...] = LINKS) -> float:
    """Return the error of the tip's nonlinear acceleration by eq. 27, three links, the most [%]."""
    return 100 * max(difference(*pair) for x in links for pair in accelerations(reading, x))


def accelerations(reading: Reading, links: str) -> list[tuple[Array, Array]]:
    """Return nonlinear accelerations of the tip of random chains, by eq. 27 and right."""
    rng, pairs = np.random.default_rng(2), []
    plane = np.array([[0, 0, 1], [1, 1, 0]]) if links == LINKS[0] else np.ones((2, 3))
    for _ in range(STATES):
        omega, alpha, a, printed, v = np.zeros((5, 3))
        for _ in range(3):
            turn, r = rng.standard_normal((2, 3)) * plane
            alpha = alpha + np.cross(omega, turn)
            omega = omega + turn
            grows = rng.standard_normal(3) if links == LINKS[2] else np.zeros(3)
            moved = np.cross(omega, r) + grows
            v = v + moved
            printed = printed + np.cross(omega, moved if reading[ITS] == RELATIVE else v)
            if reading[LEVER] != LEFT_OUT:
                printed = printed + np.cross(alpha, r)
            a = a + np.cross(alpha, r) + np.cross(omega, moved + grows)
        pairs.append((printed, a))
    return pairs


def influence() -> Found:
    """Compare influence coefficients with derivatives of places, on and off the axis."""
    turns = {name: turned(x) for name, x in ANGLES.items()}

    def speeds(size: float) -> float:
        return max(tip_error(name, size) for name in CHAINS)

    return Found(
        (
            measured("velocities of any point are the Jacobian times the speeds of joints and "
                     "modes, deflections of about 1 % of the length", "eqs. 7-12", WITHIN,
                     speeds(SMALL),
                     beside={name: speeds(x) for name, x in LARGER.items()}),
            general("the transposed Jacobian gives the equivalent loads of forces and torques at "
                    "any point", "eq. 13", claim("largest error, of the largest load", high=1e-6),
                    {name: off_axis(at) for name, at in POINTS.items()}),
            general("the determinant of a rotation is very close to one", "before eq. 5",
                    claim("distance of the determinant from 1", high=2.0, unit="%"),
                    {name: 100 * abs(float(np.linalg.det(T)) - 1) for name, T in turns.items()}),
            general("the inverse of a rotation may be approximated as its transpose", "eq. 5",
                    claim("largest entry of T T^T - 1", high=2.0, unit="%"),
                    {name: 100 * float(np.abs(T @ T.T - np.eye(3)).max())
                     for name, T in turns.items()}),
        ),
        tables=(_coefficients(),),
        text="A tip that turns by 1 + skew (eq. 3) moves what is beyond it by psi_r x R with R as "
        "before the turn, an error in proportion to the deflection. With exact rotations the "
        "coefficients are those of Equation.jacobian, for points off the axis too.",
    )  # fmt: skip


def _coefficients() -> Table:
    """Return the influence coefficients of the tip of the Shuttle-like arm's boom, undeflected."""
    equation = formulation("kinematic-influence", build(changed("graves-rms")))
    J = equation.jacobian(np.zeros(equation.model.size), link="upper-arm", at="tip")
    rows = tuple((name, *(f"{x:.4g}" for x in column)) for name, column in
                 zip(equation.model.names, J.T, strict=True) if np.any(column))  # fmt: skip
    head = ("coordinate", "v_x", "v_y", "v_z", "omega_x", "omega_y", "omega_z")
    return Table("Influence coefficients g of the tip of the upper arm, undeflected", head, rows)


def off_axis(at: At) -> float:
    """Return the error of J^T (F, M) against the work at a point of the Shuttle-like arm's boom.

    The load of the model file and Equation.jacobian are compared with differences of the point's
    place and attitude.
    """
    force, torque, step = np.array([30.0, -20.0, 50.0]), np.array([4.0, 6.0, -5.0]), 1e-6
    load = {"at": at, "force": force.tolist(), "torque": torque.tolist()}
    plain = change_arm(changed("graves-rms"), {"contacts": [], "events": []})
    models = [build(x) for x in (plain, change_arm(plain, {"links.2.wrenches": [load]}))]
    equations = [formulation("kinematic-influence", x) for x in models]
    model, n = models[0], models[0].size
    q, still = 0.05 * np.random.default_rng(0).standard_normal(n), np.zeros(n)
    point = ArmPoint.on(plain, 1, at)

    def pose(x: Array) -> tuple[Array, Array]:
        rotation, position, _ = place(model, ca.DM(x), frames(model, ca.DM(x)), point)
        return np.array(rotation), np.array(position).ravel()

    work = []
    for e in step * np.eye(n):
        (R, p), (R_0, p_0) = pose(q + e), pose(q - e)
        turn = R @ R_0.T
        spin = np.array([turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0],
                         turn[1, 0] - turn[0, 1]]) / 2  # fmt: skip
        work.append(((p - p_0) @ force + spin @ torque) / (2 * step))
    without, with_ = (x.inverse_dynamics(q, still, still) for x in equations)
    J = equations[0].jacobian(q, link="upper-arm", at=at)
    ours = J.T @ np.concatenate([force, torque])
    return max(difference(x, np.array(work)) for x in (without - with_, ours))


def tip_error(name: str, size: float) -> float:
    """Return the largest error of the tip's Jacobian by eq. 3, of its largest entry [%]."""
    model, both = jacobians(name)
    return 100 * max(difference(*(x.full() for x in both(q))) for q, _ in _states(model, size))


@cache
def jacobians(name: str) -> tuple[Model, ca.Function]:
    """Trace the tip's Jacobian by eqs. 8 to 11, and as a derivative of its place."""
    model = build(changed(name), stiffening=False, tip_rotation="first-order")
    q = ca.SX.sym("q", model.size)
    walk = Walk(model, q, ca.SX(model.size, 1), ca.SX(3, 1))
    for part, frame in zip(model.links, frames(model, q), strict=True):
        walk.cross_joint(part, frame)
        walk.cross_link(part, frame, ca.SX(6, 1))
    both = [walk.jacobian()[:3, :], ca.jacobian(walk.frame.r, q)]
    return model, ca.Function("both", [q], both)


def turned(angle: float) -> Array:
    """Return the matrix of eq. 3 of a tip that turns about an axis askew [rad]."""
    x, y, z = angle * np.array([1.0, 2.0, 2.0]) / 3.0
    return np.array([[1.0, -z, y], [z, 1.0, -x], [-y, x, 1.0]])


def christoffel() -> Found:
    """Count nonlinear loads by Christoffel symbols of M and by accelerations of the links."""
    counts = {n: _counts(n) for n in MANY}
    return Found(
        (
            general("Christoffel symbols are overwhelming for many flexible modes; collecting "
                    "common operations takes fewer", "after eq. 26",
                    claim("operations over those by accelerations", low=10.0, unit="times"),
                    {f"{n} modes per link": a / b for n, (a, b) in counts.items()}),
        ),
        figures=(
            Figure("Operations of the nonlinear loads of two flexible links", "modes per link",
                   "operations", tuple(curve(name, MANY, [x[k] for x in counts.values()])
                                       for k, name in enumerate(("Christoffel symbols",
                                                                 "accelerations of the links"))),
                   log=True),
        ),
        text="Symbols are derivatives of every entry of M, and n^3 products with two rates.",
    )  # fmt: skip


def _counts(modes: int) -> tuple[int, int]:
    """Return the operations of nonlinear loads by symbols and by accelerations."""
    shapes = {f"links.{k}.shapes.bending_y": modes for k in (1, 2)}
    model = build(changed("count-2-2-2", shapes), stiffening=False)
    ours: Formulation = KinematicInfluence(model, paper=True)
    q, v = (ca.SX.sym(name, model.size) for name in "qv")
    loads = ours.inertial_expression(q, v, None, gravity=False)
    n, mass = model.size, ours.mass_expression(q)
    entries = ca.vertcat(*(mass[i, j] for i in range(n) for j in range(i, n)))
    products = n * n * (n + 1)  # a symbol per load and pair of rates: times them, and added
    return operations([q], ca.jacobian(entries, q)) + products, operations([q, v], loads)
