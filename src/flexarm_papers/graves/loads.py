"""Graves 1989: inertia, Jacobians, rotations and nonlinear loads, right and as they are stated."""

from functools import cache

import casadi as ca
import numpy as np

from flexarm.formulations import formulation
from flexarm.formulations.base import Formulation
from flexarm.formulations.equation import Equation
from flexarm.formulations.kinematic_influence import KinematicInfluence, Walk
from flexarm.mechanics.kinematics import frames
from flexarm.mechanics.sections import picked
from flexarm.model import Model, TipRotation, build
from flexarm.spatial import Array, Scalar
from flexarm_papers.base import Found, Item, Table
from flexarm_papers.readings import Grid, Reading, Scope, ways
from flexarm_papers.runs import changed, difference, operations
from flexarm_papers.statements import Limit, search

PAPER = "graves-1989"
ANGLES = {f"{x:g} rad": x for x in (0.03, 0.01, 0.1)}  # "a small rotation vector"
ANGLE, EQUATIONS, PRINTED, MODES = ("rotation of a link's tip", "equations", "the paper's",
                                    "modes per link")  # fmt: skip
CHAIN = "links between the frames"
TURNED = Grid((ways(ANGLE, *ANGLES), ways(CHAIN, "1", "2", "3", "6")), ((ANGLE, CHAIN),))
MANY = ("8", "4", "16")  # of each link: "many flexible modes"
SYMBOLS = Grid((ways(EQUATIONS, "complete", PRINTED), ways(MODES, *MANY)), ((EQUATIONS, MODES),))
CLOSE = Limit(high=2.0, unit="%")  # "very close to one", "approximated"
BENT_BY = "amplitudes, of links of 1 m"
DEFLECTED = {"5 mm": 0.005, "none": 0.0, "1 cm": 0.01, "5 cm": 0.05, "10 cm": 0.1}  # deviations
LARGE = 'review: "valid only for small link deflections"'
DEFLECTIONS = ways(BENT_BY, *DEFLECTED, against=dict.fromkeys(("5 cm", "10 cm"), LARGE))
SPEEDS = Grid((SYMBOLS.choices[0], DEFLECTIONS), ((EQUATIONS, BENT_BY),))
NO_FARTHER = Limit(high=1.01, unit="times")  # a reason: small where that of the determinant is
OBTAIN = Limit(high=5.0, unit="%")  # of the largest: "may be obtained", some of it approximated
OVERWHELMING = Limit(low=10.0, unit="times")
STATES = 5  # random ones, at which control is tried
CHAINS = ("count-2-2-2", "count-3-2-2")  # arms that the paper's own equations are run on
SLIDER = "chu-example-1"
RIGHT = "the paper's, nonlinear loads put right"
METHOD = Grid((ways(EQUATIONS, "complete", RIGHT), DEFLECTIONS), ((EQUATIONS, BENT_BY),))
CENTRES, SEEN, UNSEEN = "J_cm", "with the link's own modes", "without them"
# "non-linear torques" may be those of the joints; modes may be slow beside them.
ROWS, EVERY_ROW, RATE, JOINT_RATE = (
    "nonlinear torques",
    "of joints and modes",
    "rates of modes",
    0.05,
)
RATES = {"0.05 m/s": 0.05, "0.005 m/s": 0.005, "none": 0.0}  # joints have 0.05 rad/s
STATED = Grid((ways(CENTRES, SEEN, UNSEEN), *METHOD.choices[1:],
               ways(ROWS, EVERY_ROW, "of joints"), ways(RATE, *RATES)),
              ((CENTRES, BENT_BY, ROWS, RATE),))  # fmt: skip
# Readings of eq. 27: what v_b is, whether what is at a is carried over to b, and the chain.
ITS, LEVER, LINKS = "v_b of eq. 27", "alpha_a x r of eq. 27", "links"
RELATIVE, LEFT_OUT, PLANAR, BENDING = ("relative to a", "left out, as printed", "rigid, in a plane",
                                       "that deflect, in space")  # fmt: skip
ITERATED = Grid((ways(ITS, RELATIVE, "absolute"), ways(LEVER, LEFT_OUT, "understood"),
                 ways(LINKS, PLANAR, "rigid, in space", BENDING)),
                ((ITS, LEVER, LINKS),))  # fmt: skip
WHAT = ("inertia matrix", "nonlinear torques", "loads")


def compensation(scope: Scope) -> Found:
    """Find inertia matrix and nonlinear torques, and the loads that they make of accelerations."""
    readings, stated = METHOD.readings(scope), STATED.readings(scope)
    off = {reading: obtained(reading) for reading in (*readings, *stated)}
    says = dict(zip(WHAT, (
        "the method may be used to obtain the system inertia matrix",
        "and the nonlinear torques",
        "which are necessary in control algorithms involving dynamical compensation",
    ), strict=True))  # fmt: skip
    of = dict(zip(WHAT, ("inertia matrix", "nonlinear torques", "loads for given accelerations, "
                         "elastic ones apart"), strict=True))  # fmt: skip
    statements = (
        *(search(text, readings, lambda x, name=name: 100 * off[x][name],  # type: ignore[misc]
                 OBTAIN, f"error of {of[name]}, of the largest") for name, text in says.items()),
        search("the nonlinear forces are approximated by J_cm^T times loads of centres of mass",
               stated, lambda x: 100 * off[x]["nonlinear torques"], OBTAIN,
               "error of nonlinear torques, of the largest"),
        search("the nonlinear accelerations may be computed in an iterative fashion (eq. 27)",
               ITERATED.readings(scope), _iterated, OBTAIN,
               "error of the tip's nonlinear acceleration, three links, the most of five"),
        search("the manipulator may have n joints, translational and rotational, and m modes",
               readings, lambda x: 100 * obtained(x, (SLIDER,))["inertia matrix"], OBTAIN,
               "error of the inertia matrix of an arm with a prismatic joint and five elements"),
    )  # fmt: skip
    rows = tuple((str(x), *(f"{100 * y:.2g}" for y in found.values())) for x, found in off.items())
    title = f"Largest difference [%] from composite at {STATES} states, coordinates scaled so that "
    title += "M has a unit diagonal"
    return Found(
        statements,
        tables=(Table(title, ("by kinematic influence", *of.values()), rows),),
        because="The paper weighs links undeflected (eq. 25), and approximates nonlinear forces by "
        "J_cm^T times loads of centres of mass.  As stated, a link's own modes are loaded by the "
        "acceleration of its centre alone, or not at all, whatever the deflection; accelerations "
        "are exact there, not those of eq. 27, which is judged by itself.  Loads for given "
        "accelerations are mostly those of the inertia matrix here: with nonlinear forces as "
        "stated they are wrong by at most "
        + f"{100 * max(off[x]['loads'] for x in stated):.0f} %.  Chains have two or three links, "
        "joints at 1 rad, rates of 0.05 in SI units unless said; complete equations are run on the "
        "Shuttle-like arm too.",
    )


def accelerations(reading: Reading) -> list[tuple[Array, Array]]:
    """Give nonlinear accelerations of the tip of random chains, by eq. 27 and right."""
    rng, pairs = np.random.default_rng(2), []
    plane = np.array([[0, 0, 1], [1, 1, 0]]) if reading[LINKS] == PLANAR else np.ones((2, 3))
    for _ in range(5):
        omega, alpha, a, printed, v = np.zeros((5, 3))
        for _ in range(3):
            turn, r = rng.standard_normal((2, 3)) * plane
            alpha = alpha + np.cross(omega, turn)
            omega = omega + turn
            grows = rng.standard_normal(3) if reading[LINKS] == BENDING else np.zeros(3)
            moved = np.cross(omega, r) + grows
            v = v + moved
            printed = printed + np.cross(omega, moved if reading[ITS] == RELATIVE else v)
            if reading[LEVER] != LEFT_OUT:
                printed = printed + np.cross(alpha, r)
            a = a + np.cross(alpha, r) + np.cross(omega, moved + grows)
        pairs.append((printed, a))
    return pairs


def _iterated(reading: Reading) -> float:
    return 100 * max(difference(*pair) for pair in accelerations(reading))


def obtained(reading: Reading, names: tuple[str, ...] = CHAINS) -> dict[str, float]:
    """Compare with composite at random states, the worst of some arms."""
    how = next(way for name, way in reading.taken if name in (EQUATIONS, CENTRES))
    worst = np.zeros(3)
    for name in ("graves-rms", *names) if how == "complete" and names == CHAINS else names:
        worst = np.maximum(worst, _differences(name, how, reading))
    return dict(zip(WHAT, worst.tolist(), strict=True))


@cache
def compared(name: str, how: str) -> tuple[Model, Equation, Equation, ca.Function | None]:
    """Give an arm, the method, what is right, and nonlinear loads where they are as stated."""
    model = build(changed(name), stiffening=None if name == "graves-rms" else False)
    ours = formulation("kinematic-influence", model, paper=how != "complete")
    stated = lumped(model, own=how == SEEN) if how in (SEEN, UNSEEN) else None
    return model, ours, formulation("composite", model), stated


def _differences(name: str, how: str, reading: Reading) -> Array:
    """Find the largest errors of inertia matrix, nonlinear torques, and loads by them, (3,)."""
    model, ours, exact, stated = compared(name, how)
    taken = dict(reading.taken)
    slow, every = RATES[taken.get(RATE, "0.05 m/s")], taken.get(ROWS, EVERY_ROW) == EVERY_ROW
    modes = np.array(["." in x for x in model.names])
    size = np.where(modes, DEFLECTED[reading[BENT_BY]], 1.0)
    speed, rows = np.where(modes, slow, JOINT_RATE), ~modes | every
    rng, found = np.random.default_rng(0), []
    for _ in range(STATES):
        q, v = size * rng.standard_normal(len(size)), speed * rng.standard_normal(len(size))
        mass, expected = ours.mass_matrix(q), exact.mass_matrix(q)
        scale = np.sqrt(np.diag(expected))
        a = rng.standard_normal(len(size)) / scale
        # elastic forces are the same code in both, and much larger
        right = exact.parts(q, v)["coriolis"]
        loads = ours.parts(q, v)["coriolis"] if stated is None else stated(q, v).full().ravel()
        needed = (expected @ a + right) / scale
        found.append((
            np.abs((mass - expected) / np.outer(scale, scale)).max(),
            difference((loads / scale)[rows], (right / scale)[rows]),
            difference((mass @ a + loads) / scale, needed),
        ))  # fmt: skip
    return np.asarray(np.max(np.array(found), axis=0))


def transposes(scope: Scope) -> Found:
    """Compare the inverse of a small rotation, 1 + skew, with its transpose."""
    readings = TURNED.readings(scope)

    def turn(reading: Reading) -> Array:
        rng, found = np.random.default_rng(3), np.eye(3)
        for _ in range(int(reading[CHAIN])):
            joint = np.linalg.qr(rng.standard_normal((3, 3)))[0]
            found = found @ turned(ANGLES[reading[ANGLE]]) @ (joint * np.linalg.det(joint))
        return found

    return Found(
        (
            search("the determinant of a rotational transformation is very close to one", readings,
                   lambda x: 100 * abs(float(np.linalg.det(turn(x))) - 1), CLOSE,
                   "distance of the determinant from 1"),
            search("its inverse may be approximated as the transpose (eq. 5)", readings,
                   lambda x: 100 * float(np.abs(turn(x) @ turn(x).T - np.eye(3)).max()), CLOSE,
                   "largest entry of T T^T - 1"),
            search("'since the determinant is very close to one'", readings,
                   lambda x: float(np.linalg.norm(turn(x) @ turn(x).T - np.eye(3), 2)
                                   / (np.linalg.det(turn(x)) - 1)), NO_FARTHER,
                   "distance of T T^T from 1 over that of the determinant"),
        ),
        because="Of links whose tips turn by theta the determinant is (1 + theta^2)^n (eq. 4), and "
        "the squared stretches of T lie between 1 and it: of such matrices, not of others, one "
        "follows from the other.  Angles of joints between the links are random.",
    )  # fmt: skip


def influence(scope: Scope) -> Found:
    """Compare influence coefficients with derivatives of the place of the tip."""
    return Found(
        (
            search("velocities of any point are the Jacobian times speeds of joints and modes "
                   "(eqs. 7-12), and its transpose makes equivalent loads of forces (eq. 13)",
                   SPEEDS.readings(scope), _influence, OBTAIN,
                   f"error of the tip's Jacobian at {STATES} states of two arms, of the largest "
                   "entry, the most"),
        ),
        because="Loads are right as far as velocities are: both are one virtual work (eq. 14).  A "
        "tip that turns by 1 + skew (eq. 3) moves what is beyond by psi_r x R with R as it was "
        "before it turned, not as it is.",
    )  # fmt: skip


def _influence(reading: Reading) -> float:
    """Find the error of the tip's Jacobian, the worst of some arms and random states [%]."""
    worst = 0.0
    for name in CHAINS:
        model, both = jacobians(name, paper=reading[EQUATIONS] == PRINTED)
        size = np.array([DEFLECTED[reading[BENT_BY]] if "." in x else 1.0 for x in model.names])
        rng = np.random.default_rng(0)
        for _ in range(STATES):
            ours, right = (x.full() for x in both(size * rng.standard_normal(model.size)))
            worst = max(worst, 100 * difference(ours, right))
    return worst


@cache
def jacobians(name: str, *, paper: bool) -> tuple[Model, ca.Function]:
    """Trace the tip's Jacobian by influence coefficients, and as a derivative of its place.

    Parameters
    ----------
    name
        Of a sample.
    paper
        Whether tips turn by eq. 3, or as they do.
    """
    tips: TipRotation = "first-order" if paper else "cayley"
    model = build(changed(name), stiffening=False, tip_rotation=tips)
    q = ca.SX.sym("q", model.size)
    walk = Walk(model, q, ca.SX(model.size, 1), ca.SX(3, 1))
    for part, frame in zip(model.links, frames(model, q), strict=True):
        walk.cross_joint(part, frame)
        walk.cross_link(part, frame, ca.SX(6, 1))
    both = [walk.jacobian()[:3, :], ca.jacobian(walk.frame.r, q)]
    return model, ca.Function("both", [q], both)


def turned(angle: float) -> Array:
    """Give the matrix of eq. 3 of a tip that turns about an axis askew [rad]."""
    x, y, z = angle * np.array([1.0, 2.0, 2.0]) / 3.0
    return np.array([[1.0, -z, y], [z, 1.0, -x], [-y, x, 1.0]])


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


def christoffel(scope: Scope) -> Found:
    """Count nonlinear loads by Christoffel symbols of M and by accelerations of the links."""
    readings = SYMBOLS.readings(scope)
    counts = {reading: _counts(reading) for reading in readings}
    rows = tuple((str(x), *map(str, found)) for x, found in counts.items())
    return Found(
        (
            search("Christoffel symbols are overwhelming for many flexible modes; collecting "
                   "common operations takes fewer", readings,
                   lambda x: counts[x][0] / counts[x][1], OVERWHELMING,
                   "operations by them over those by accelerations of the links"),
        ),
        tables=(Table("Nonlinear loads of two flexible links, operations",
                      ("", "Christoffel symbols", "accelerations of links"), rows),),
        because="Symbols are derivatives of every entry of M, and n^3 products with two rates.",
    )  # fmt: skip


def _counts(reading: Reading) -> tuple[int, int]:
    """Count the operations of nonlinear loads in two ways, as they are traced."""
    shapes = {f"links.{k}.shapes.bending_y": int(reading[MODES]) for k in (1, 2)}
    model = build(changed("count-2-2-2", shapes), stiffening=False)
    ours = KinematicInfluence(model, paper=reading[EQUATIONS] == PRINTED)
    q, v = (ca.SX.sym(name, model.size) for name in "qv")
    loads = ours.inertial_expression(q, v, None, gravity=False)
    return _by_symbols(ours, q), operations([q, v], loads)


def _by_symbols(ours: Formulation, q: ca.SX) -> int:
    """Count derivatives of the upper triangle of M, and what multiplies them by rates."""
    n, mass = q.numel(), ours.mass_expression(q)
    entries = ca.vertcat(*(mass[i, j] for i in range(n) for j in range(i, n)))
    products = n * n * (n + 1)  # a symbol per load and pair of rates: times them, and added
    return operations([q], ca.jacobian(entries, q)) + products


LOAD_ITEMS = (
    Item(
        PAPER,
        "compensation",
        "inertia matrix and nonlinear torques",
        compensation,
        Grid((*METHOD.choices, STATED.choices[0], *STATED.choices[2:], *ITERATED.choices)),
    ),
    Item(PAPER, "jacobian", "velocities and loads by influence coefficients", influence, SPEEDS),
    Item(PAPER, "transposes", "rotations of tips, eqs. 3 and 5", transposes, TURNED),
    Item(PAPER, "christoffel", "cost of the nonlinear loads", christoffel, SYMBOLS),
)
