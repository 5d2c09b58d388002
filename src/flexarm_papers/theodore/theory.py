"""Theodore & Ghosal 1995, section 4.3: ranks and definiteness, and the lemma on stiffness."""

from collections.abc import Callable
from functools import cache

import numpy as np

from flexarm.arm import Arm
from flexarm.control import Timing, Trajectory, joint_move
from flexarm.formulations import formulation
from flexarm.formulations.equation import Equation
from flexarm.formulations.quantities import Partitioned
from flexarm.io.model_file import example_arm
from flexarm.model import build
from flexarm.spatial import Array
from flexarm_papers.base import Found, Table
from flexarm_papers.readings import Choice, Grid, Reading, Scope, ways
from flexarm_papers.runs import changed, difference, plain_link, slopes
from flexarm_papers.statements import Limit, compare, search
from flexarm_papers.theodore.loop import DIRECTION, EI, GOALS

ALIKE = "all alike"
STIFFER, DEFINITE = "overestimated stiffness", "positive definite by"
# Of a matrix A that is not symmetric; the last does not depend on how modes are scaled.
SIGNS, FORM, METRIC = "its eigenvalues", "x^T A x", "M_ff^-1 A"
GAINS, DAMPING, POSTURE, BENT = "gains G_p, G_v", "damping of the links", "posture", "links"
POSTURES = {"where the motion begins": 0.0, "half way": 0.5, "where it ends": 1.0}
DIFFERENT = ways(STIFFER, ALIKE, "link 2 alone", "link 3 alone", "first modes alone",
                 "second modes alone")  # fmt: skip
SENSES = ways(DEFINITE, SIGNS, FORM, METRIC)
LEMMA = Grid((DIFFERENT, SENSES, ways(POSTURE, *POSTURES)), ((STIFFER, DEFINITE, POSTURE),))
BY_GAINS = {f"{p:g} 1/s^2, {v:g} 1/s": (p, v) for p, v in
            ((400.0, 40.0), (100.0, 5.0), (25.0, 10.0), (2500.0, 100.0))}  # fmt: skip
STABLE = Grid((
    DIFFERENT,
    ways(GAINS, *BY_GAINS),
    Choice(DAMPING, {
        "none": {}, "2 %": {f"links.{k}.damping": 0.02 for k in (2, 3)},
    }),
), ((STIFFER, GAINS, DAMPING),))  # fmt: skip
NECESSARY = Grid((*STABLE.choices, SENSES), ((STIFFER, GAINS, DAMPING, DEFINITE),))
LEMMA_GRID = Grid((*NECESSARY.choices, LEMMA.choices[-1]))
LITTLE = 1e-6  # of K, which makes any dK positive definite, as the lemma has it
# Standard deviation of amplitudes [m kg^1/2]; tips of modes of unit mass move by about 3.5 of it.
DEFLECTED = {"straight": 0.0, "bent by 1 cm": 3e-3}
RANKS = Grid((ways(POSTURE, *POSTURES), DIRECTION, ways(BENT, *DEFLECTED)),
             ((POSTURE, DIRECTION.name, BENT),))  # fmt: skip
SEMI = Grid((*RANKS.choices, SENSES),
            ((POSTURE, DIRECTION.name, BENT, DEFINITE),))  # fmt: skip
ARM, SECTION_5, SLIDES = "arm", "RRP, section 5", "one prismatic link"
RANKED = Grid((ways(ARM, SECTION_5, SLIDES, "RR, Table 2"), RANKS.choices[-1]), ((ARM, BENT),))
BESIDE, AS_PRINTED = "blocks beside the diagonal of M^-1", "where they are printed"
SWAPPED = Grid((ways(BESIDE, AS_PRINTED, "in each other's place"),))
RANK_GRID = Grid((RANKED.choices[0], *SEMI.choices, *SWAPPED.choices))
FULL = Limit(high=0.5)  # joints that a rank is short of
STILL = 0.1  # [1/s], growth that counts as none: undamped links grow a little by any overestimate


def lemma(scope: Scope) -> Found:
    """Decide the lemma, for stiffness that is overestimated alike everywhere and otherwise."""

    def allowed(reading: Reading) -> float:
        definite, bound = _definite(reading[POSTURE])
        return definite[reading[DEFINITE]][reading[STIFFER]] / bound

    def ratios(reading: Reading) -> list[float]:
        return [_still(posture, reading) / _definite(posture)[1] for posture in POSTURES]

    def beyond(reading: Reading) -> float:
        kind, sense = reading[STIFFER], reading[DEFINITE]
        return max(_still(x, reading) / _definite(x)[0][sense][kind] for x in POSTURES)

    still = f"largest alpha with which nothing grows by more than {STILL:g} 1/s, over"
    statements = (
        compare("with a computed stiffness in the law the closed loop obeys eqs. 49 and 50",
                _eliminated(), Limit(high=1e-9),
                "error of its accelerations for random forces, of the largest"),
        search("K - H dK is positive definite only if alpha lambda_max(H) < 1, alpha the ratio of "
               "the largest eigenvalues of dK and K", LEMMA.readings(scope),
               allowed, Limit(high=1.0 + 1e-6, unit="times"),
               "largest alpha with K - H dK definite, over 1/lambda_max(H); 1: exactly as said"),
        search("K - H dK is positive definite if alpha lambda_max(H) < 1 ('reduces to')",
               LEMMA.readings(scope), allowed, Limit(low=1.0 - 1e-6, unit="times"),
               "largest alpha with K - H dK definite, over 1/lambda_max(H)"),
        search("overestimated stiffness may lead to unstable closed-loop response",
               STABLE.readings(scope), lambda x: min(_still(y, x) for y in POSTURES),
               Limit(high=0.01), "least alpha from which on something grows", may=True),
        search("for a stable response K - H dK has to be positive definite (remark 3)",
               NECESSARY.readings(scope), beyond, Limit(high=1.0 + 1e-6, unit="times"),
               f"{still} that with K - H dK definite, the most of three postures"),
        search("the closed loop is stable only if alpha lambda_max(H) < 1",
               STABLE.readings(scope), lambda x: max(ratios(x)),
               Limit(high=1.0 + 1e-6, unit="times"),
               f"{still} what the condition allows, the most of three postures"),
        search("if the condition holds, the closed loop is stable", STABLE.readings(scope),
               lambda x: min(ratios(x)), Limit(low=1.0 - 1e-6, unit="times"),
               f"{still} what the condition allows, the least of three postures"),
    )  # fmt: skip
    rows = tuple((x, f"{_definite(x)[1]:.4f}", f"{_still(x, STABLE.first):.4f}") for x in POSTURES)
    head = ("", "1/lambda_max(H)", "largest alpha of a closed loop without growth")
    limits, bound = _definite(list(POSTURES)[-1])
    ends = tuple(
        (
            name,
            *(f"{x:.4g}" for sense in limits.values() for x in (sense[name], sense[name] / bound)),
        )
        for name in limits[SIGNS]
    )
    return Found(
        statements,
        tables=(Table("Along the motion, dK = alpha K, G_p = 400, G_v = 40", head, rows),
                Table("Largest alpha with A = K - H dK positive definite, at the end of the motion",
                      ("overestimated", *(y for x in limits
                                          for y in (f"alpha, by {x}", "over 1/lambda_max(H)"))),
                      ends)),
        because="Modes are normalised as in the paper, int psi^2 = 1, on which alpha and x^T A x "
        "depend; every dK is positive definite, if by little.  By M_ff^-1 A, that is by whether "
        "M_ff q_f'' + A q_f = 0 (eq. 50) only vibrates, "
        "and by the eigenvalues of A the condition is exact for dK = alpha K; for another dK the "
        "ratio of largest eigenvalues says little.  Gains are in the closed loop alone (eqs. 49 "
        "and 50), in which motions grow far below the condition, or not at all far beyond it.",
    )  # fmt: skip


@cache
def _move(damping: str) -> Trajectory:
    unit = {f"links.{k}.shapes.normalise": "mass" for k in (2, 3)}
    model = build(changed("theodore-rrp", {**unit, **STABLE.choices[2].ways[damping]}))
    return joint_move(model, GOALS, Timing("cycloid", 0.5))


@cache
def _definite(posture: str) -> tuple[dict[str, dict[str, float]], float]:
    """Find up to which alpha K - H dK is definite, and 1/lambda_max(H)."""
    equation = equation_of(next(iter(DIRECTION.ways)))
    q = _move("none").path.at(POSTURES[posture])
    values = np.linalg.eigvals(stiffness_gain(equation.partitioned(q))).real
    return overestimates(equation, q), float(1 / values.max())


def _still(posture: str, reading: Reading) -> float:
    """Find up to which alpha nothing grows in the closed loop."""
    return _still_with(posture, *(reading[x] for x in (STIFFER, GAINS, DAMPING)))


@cache
def _still_with(posture: str, kind: str, gains: str, damping: str) -> float:
    """Find up to which alpha no solution of eqs. 49 and 50, linear in a posture, grows."""
    motion = _move(damping)
    equation, q = formulation("composite", motion.model), motion.path.at(POSTURES[posture])
    (rr, rf, ff), K, kinds, share = _matrices(equation, q)
    extra, (p, v) = kinds[kind], BY_GAINS[gains]
    rest = list(equation.flexible)
    C = np.array([equation.bias(q, e) - equation.bias(q, -e) for e in np.eye(len(q))]).T / 2
    C = np.outer(*[_scale(equation, q)] * 2) * C[np.ix_(rest, rest)]
    n, N = rf.shape
    B = np.linalg.solve(rr, rf) @ np.linalg.inv(ff - rf.T @ np.linalg.solve(rr, rf))
    inertia = np.block([[np.eye(n), np.zeros((n, N))], [np.zeros((N, n)), ff]])
    springs = np.block([[p * np.eye(n), np.zeros((n, N))], [-p * rf.T, K]])
    lost = np.block([[np.zeros((n, n)), B @ extra], [np.zeros((N, n)), -rf.T @ B @ extra]])
    damped = np.block([[v * np.eye(n), np.zeros((n, N))], [-v * rf.T, C]])

    def system(force: Array, rate: Array) -> Array:
        below = -np.linalg.solve(inertia, np.hstack([force, rate]))
        return np.vstack([np.eye(n + N, 2 * (n + N), n + N), below])

    exact, change = system(springs, damped), system(lost, 0 * damped)
    change[: n + N] = 0.0
    return share[kind] * _first(lambda x: np.linalg.eigvals(exact + x * change).real.max() < STILL)


def _eliminated() -> float:
    """Compare accelerations by the law of eq. 48 in eqs. 27 and 28 with those of eqs. 49 and 50."""
    equation = equation_of(next(iter(DIRECTION.ways)))
    part = equation.partitioned(_move("none").path.at(0.5))
    (n, N), rng = part.rf.shape, np.random.default_rng(0)
    (h_r, u), (h_f, held, extra) = rng.standard_normal((2, n)), rng.standard_normal((3, N))
    coupled = part.rf @ np.linalg.inv(part.ff)  # `held` and `extra` are K q_f and dK q_f
    law = (part.rr - coupled @ part.rf.T) @ u + h_r - coupled @ (h_f + held + extra)
    M = np.block([[part.rr, part.rf], [part.rf.T, part.ff]])
    ours = np.linalg.solve(M, np.concatenate([law - h_r, -h_f - held]))
    pulled = np.linalg.solve(part.rr, part.rf)
    joints = u - pulled @ np.linalg.solve(part.ff - part.rf.T @ pulled, extra)
    bent = stiffness_gain(part) @ extra - held - h_f - part.rf.T @ u
    return difference(np.concatenate([joints, np.linalg.solve(part.ff, bent)]), ours)


def stiffness_gain(part: Partitioned) -> Array:
    """Give H of eq. 50."""
    pulled = part.rf.T @ np.linalg.solve(part.rr, part.rf)
    return np.asarray(pulled @ np.linalg.inv(part.ff - pulled))


def overestimates(equation: Equation, q: Array) -> dict[str, dict[str, float]]:
    """Find up to which alpha K - H dK is positive definite in three senses, for different dK.

    Alpha is the largest eigenvalue of dK over that of K, as in the lemma's proof.
    """
    (rr, rf, ff), K, kinds, share = _matrices(equation, q)
    H = stiffness_gain(Partitioned(rr, rf, ff))
    found: dict[str, dict[str, float]] = {SIGNS: {}, FORM: {}, METRIC: {}}
    for name, extra in kinds.items():
        lost = H @ extra
        for sense, matrix in ((SIGNS, lost), (FORM, (lost + lost.T) / 2)):
            # det(K - x matrix) = 0 first where 1/x is the largest real eigenvalue of K^-1 matrix
            values = np.linalg.eigvals(np.linalg.solve(K, matrix))
            found[sense][name] = float(share[name] / values.real.max())
        found[METRIC][name] = share[name] * _vibrates(ff, K, lost)
    return found


def _matrices(
    equation: Equation, q: Array
) -> tuple[tuple[Array, Array, Array], Array, dict[str, Array], dict[str, float]]:
    """Give the blocks of M, K, and some dK with the alpha of each, modes as in the paper."""
    rest = list(equation.flexible)
    names = [equation.model.names[k] for k in rest]
    scale, part = _scale(equation, q), equation.partitioned(q)
    both = np.outer(scale, scale)
    K = both * slopes(equation, q, part="elastic", step=1e-3)[np.ix_(rest, rest)]
    chosen = {
        ALIKE: [True] * len(rest),
        **{f"link {k} alone": [name.startswith(f"link{k}") for name in names] for k in (2, 3)},
        **{f"{x} modes alone": [name.endswith(str(k)) for name in names]
           for k, x in ((1, "first"), (2, "second"))},
    }  # fmt: skip
    kinds = {name: np.outer(x, x) * K + LITTLE * K for name, x in chosen.items()}
    most = np.linalg.eigvalsh(K).max()
    share = {name: float(np.linalg.eigvalsh(x).max() / most) for name, x in kinds.items()}
    return (part.rr, part.rf * scale, both * part.ff), K, kinds, share


def _vibrates(mass: Array, K: Array, lost: Array) -> float:
    """Find up to which x all solutions of ``mass q'' + (K - x lost) q = 0`` are vibrations."""

    def good(x: float) -> bool:
        values = np.linalg.eigvals(np.linalg.solve(mass, K - x * lost))
        return bool(np.all(values.real > 0) and np.all(np.abs(values.imag) < 1e-5 * abs(values)))

    return _first(good)


def _first(good: Callable[[float], bool]) -> float:
    """Find up to which x something is good from 0 on."""
    tried = np.geomspace(1e-5, 1e3, 141)
    first = next((k for k, x in enumerate(tried) if not good(float(x))), None)
    if not first:
        return 0.0 if first == 0 else float("inf")
    low, high = tried[first - 1 : first + 1].tolist()
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if good(middle) else (low, middle)
    return float(low)


def _scale(equation: Equation, q: Array) -> Array:
    """Give what modes of unit mass are multiplied by to have int psi^2 = 1, but for a constant."""
    names = equation.model.names
    out = float(np.sqrt(q[names.index("joint3")]))  # [m^1/2]: link 2 is 1 m long
    return np.array([out if names[k].startswith("link3") else 1.0 for k in equation.flexible])


def ranks(scope: Scope) -> Found:
    """Decide what the proof of remark 2 says of ranks and definiteness."""
    return Found(
        (
            *(search(f"the rank of {name} is n, the number of joints", RANKED.readings(scope),
                     lambda x, k=k: _short(x, k), FULL,  # type: ignore[misc]
                     "joints less the rank, the most of three postures")
              for k, name in enumerate(("M_rf", "H"))),
            search("H is positive semidefinite", SEMI.readings(scope),
                   _semidefinite, Limit(low=-1e-9),
                   "least eigenvalue, of H, of its symmetric part or of M_ff^-1 H, over the "
                   "largest"),
            search("M_ff is symmetric and positive definite", RANKS.readings(scope),
                   lambda x: _least(_coupling(x)[3], SIGNS), Limit(low=0.0),
                   "least eigenvalue over the largest"),
            search("M_rr - M_rf M_ff^-1 M_rf^T is symmetric and positive definite",
                   RANKS.readings(scope), lambda x: _least(_coupling(x)[2], SIGNS),
                   Limit(low=0.0), "least eigenvalue over the largest"),
            search("M_ff - M_rf^T M_rr^-1 M_rf is symmetric, positive definite and of rank N",
                   RANKS.readings(scope), lambda x: _least(_coupling(x)[4], SIGNS),
                   Limit(low=0.0), "least eigenvalue over the largest"),
            search("M^-1 is given by either of two partitioned formulas", SWAPPED.readings(scope),
                   lambda x: np.inf if x[BESIDE] == AS_PRINTED else inverse()[1], Limit(high=1e-12),
                   "error of the blocks beside the diagonal; infinite where they do not fit"),
        ),
        because="H is a product of symmetric matrices and not symmetric itself; M_ff^-1 H = (M_ff "
        "- M_rf^T M_rr^-1 M_rf)^-1 - M_ff^-1 is, and positive semidefinite.",
    )  # fmt: skip


@cache
def equation_of(direction: str, name: str = SECTION_5) -> Equation:
    """Give the equations of the arm of section 5, its modes of unit mass, or of another."""
    if name != SECTION_5:
        return formulation(
            "composite", build(_sliding() if name == SLIDES else example_arm("tg-rr"))
        )
    unit = {f"links.{k}.shapes.normalise": "mass" for k in (2, 3)}
    arm = changed("theodore-rrp", {**unit, **DIRECTION.ways[direction]})
    return formulation("composite", build(arm))


def _semidefinite(reading: Reading) -> float:
    """Find the least eigenvalue over the largest of H, in one of three senses."""
    coupled, sense = _coupling(reading), reading[DEFINITE]
    if sense == METRIC:
        return _least(np.asarray(np.linalg.solve(coupled[3], coupled[1])), FORM)
    return _least(coupled[1], sense)


def _coupling(reading: Reading) -> tuple[Array, Array, Array, Array, Array]:
    """Give M_rf of a unit diagonal, H, both Schur complements and between them M_ff."""
    arm, share = dict(reading.taken).get(ARM, SECTION_5), POSTURES[reading[POSTURE]]
    equation = equation_of(reading[DIRECTION.name], arm)
    model = equation.model
    goals = GOALS if arm == SECTION_5 else {name: 1.0 for name in GOALS if name in model.names}
    bent = np.array(joint_move(model, goals, Timing("cycloid", 0.5)).path.at(share))
    noise = np.random.default_rng(0).standard_normal(model.size)
    flexible = list(equation.flexible)
    bent[flexible] += (DEFLECTED[reading[BENT]] * noise)[flexible]
    part = equation.partitioned(bent)
    size = [np.sqrt(np.diag(x)) for x in (part.rr, part.ff)]
    equivalent = part.rr - part.rf @ np.linalg.solve(part.ff, part.rf.T)
    scale = _scale(equation, bent) if arm == SECTION_5 else np.ones(len(flexible))
    H, both = scale[:, None] * stiffness_gain(part) / scale, np.outer(scale, scale)
    loose = part.ff - part.rf.T @ np.linalg.solve(part.rr, part.rf)
    return part.rf / np.outer(*size), H, equivalent, both * part.ff, both * loose


def _sliding() -> Arm:
    """Make link 3 alone: it slides along itself, and bends across."""
    joint = {"kind": "sliding", "start": {"position": 0.65}}
    shapes = {"kind": "clamped-free", "bending_y": 2}
    return plain_link(shapes, 1.3, 0.331, EI, **{"links.1.joint": joint})


@cache
def inverse() -> tuple[tuple[int, ...], float]:
    """Give the size of the upper right block of M^-1, and the error of those printed there.

    They are N x n: the error is that at the lower left.
    """
    equation = equation_of(next(iter(DIRECTION.ways)))
    q = joint_move(equation.model, GOALS, Timing("cycloid", 0.5)).path.at(0.5)
    rr, rf, ff = (getattr(equation.partitioned(q), name) for name in ("rr", "rf", "ff"))
    right = np.linalg.inv(np.block([[rr, rf], [rf.T, ff]]))[len(rr) :, : len(rr)]
    one = -np.linalg.solve(ff - rf.T @ np.linalg.solve(rr, rf), rf.T) @ np.linalg.inv(rr)
    other = -np.linalg.solve(ff, rf.T) @ np.linalg.inv(rr - rf @ np.linalg.solve(ff, rf.T))
    return rf.shape, max(difference(x, right) for x in (one, other))


def _short(reading: Reading, k: int) -> float:
    """Find by how much the rank of M_rf or H is short of the number of joints, the most."""
    gaps = []
    for posture in POSTURES:
        taken = {POSTURE: posture, DIRECTION.name: next(iter(DIRECTION.ways))}
        coupled = _coupling(reading.taking(taken))
        tol = 1e-9 * max(1.0, float(np.abs(coupled[k]).max()))
        gaps.append(float(len(coupled[0]) - np.linalg.matrix_rank(coupled[k], tol=tol)))
    return max(gaps)


def _least(matrix: Array, sense: str) -> float:
    """Find the least eigenvalue over the largest, of a matrix or of its symmetric part."""
    values = np.linalg.eigvals(matrix if sense == SIGNS else (matrix + matrix.T) / 2).real
    return float(values.min() / values.max())
