"""Theodore & Ghosal 1995, section 4.3: ranks and definiteness, and the lemma on stiffness."""

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
from flexarm_papers.base import Figure, Found, Table, curve
from flexarm_papers.readings import Reading, every, ways
from flexarm_papers.runs import changed, difference, plain_link, slopes
from flexarm_papers.theodore.loop import EI, GOALS
from flexarm_papers.verdicts import claim, corrected, general, measured, search

AT, REMARK = "section 4.3, lemma", "section 4.3, remark 2"
ALIKE = "all stiffness"
# Senses in which a matrix that is not symmetric may be positive definite.
DEFINITE, SIGNS, FORM = "positive definite by", "its eigenvalues", "x^T A x"
SENSES = ways(DEFINITE, SIGNS, FORM)
ERROR, UNIFORM, ANY = "alpha", "dK = alpha K", "lambda_max(dK) = alpha lambda_max(K)"
POSTURES = {"where the motion begins": 0.0, "half way": 0.5, "where it ends": 1.0}
GAINS = {f"{p:g} 1/s^2, {v:g} 1/s": (p, v) for p, v in
         ((400.0, 40.0), (100.0, 5.0), (25.0, 10.0), (2500.0, 100.0))}  # fmt: skip
# Joints faster than all vibrations, without G_v: nothing of the undamped loop decays.
FAST = "1e8 1/s^2, 0 1/s"
LITTLE = 1e-6  # of K, which makes any dK positive definite, as the lemma has it
SHARE = 1e-3  # of the condition's alpha at which growth is looked at
SECTION_5, SLIDES = "RRP, section 5", "one prismatic link"


@cache
def motion() -> Trajectory:
    """Return the motion of section 5, modes of unit mass."""
    unit = {f"links.{k}.shapes.normalise": "mass" for k in (2, 3)}
    return joint_move(build(changed("theodore-rrp", unit)), GOALS, Timing("cycloid", 0.5))


@cache
def _equation(name: str = SECTION_5) -> Equation:
    if name == SECTION_5:
        return formulation("composite", motion().model)
    return formulation("composite", build(_sliding() if name == SLIDES else example_arm("tg-rr")))


def lemma() -> Found:
    """Judge the lemma, for stiffness that is overestimated alike everywhere and otherwise."""
    bounds = {x: bound(motion().path.at(y)) for x, y in POSTURES.items()}

    def distance(reading: Reading) -> float:
        found = []
        for posture, limit in bounds.items():
            limits = overestimates(_equation(), motion().path.at(POSTURES[posture]))
            each = limits[reading[DEFINITE]]
            kinds = [ALIKE] if reading[ERROR] == UNIFORM else list(each)
            found += [abs(each[x] / limit - 1) for x in kinds]
        return max(found)

    growths = {f"{name}, {posture}": growth(y, GAINS[name], SHARE * bounds[posture])
               for name in GAINS for posture, y in POSTURES.items()}  # fmt: skip
    least = growths[max(growths, key=lambda x: growths[x])]
    end = POSTURES[list(POSTURES)[-1]]
    limits = overestimates(_equation(), motion().path.at(end))
    rows = tuple((kind, *(f"{limits[sense][kind]:.4g}" for sense in limits))
                 for kind in limits[SIGNS])  # fmt: skip
    shares = np.geomspace(1e-3, 2.0, 25)
    limit = bounds[list(POSTURES)[-1]]
    return Found(
        (
            measured("with a computed stiffness in the law the closed loop obeys eqs. 49 and 50",
                     "section 4.3", claim("error of its accelerations", high=1e-9), eliminated()),
            search("K - H dK is positive definite if and only if alpha lambda_max(H) < 1", AT,
                   claim("largest distance of the limit of alpha from the condition", high=1e-6),
                   every(SENSES, ways(ERROR, UNIFORM, ANY)).readings(), distance),
            general("overestimated stiffness may lead to unstable closed-loop response", AT,
                    claim("growth at alpha of twice the condition", low=0.0, unit="1/s"),
                    {name: growth(end, y, 2 * limit) for name, y in GAINS.items()}),
            general("the closed loop is stable only if alpha lambda_max(H) < 1", AT,
                    claim("growth at alpha of twice the condition", low=1e-6, unit="1/s"),
                    {name: growth(end, y, 2 * limit)
                     for name, y in (GAINS | {FAST: (1e8, 0.0)}).items()}),
            general("if alpha lambda_max(H) < 1 the closed-loop system will be stable", AT,
                    claim(f"growth at {SHARE:g} of that alpha", high=0.0, unit="1/s"), growths),
        ),
        figures=(
            Figure("Growth of the undamped closed loop, dK = alpha K, end of the motion",
                   "alpha lambda_max(H)", "growth [1/s]",
                   tuple(curve(name, shares, [growth(end, y, float(x) * limit) for x in shares])
                         for name, y in GAINS.items()), log=True),
        ),
        tables=(Table("Largest alpha with K - H dK positive definite, end of the motion; the "
                      f"condition: {limit:.4g}", ("overestimated", *limits), rows),),
        text="The paper's links are undamped: with G_v > 0 they vibrate ever more at any alpha > 0 "
        f"(by up to {least:.1g} 1/s at a thousandth of the condition), so that the condition "
        "separates nothing. With G_v = 0 and joints faster than all vibrations the loop is stable "
        "beyond the condition.",
    )  # fmt: skip


def bound(q: Array) -> float:
    """Return 1 / lambda_max(H), the condition's alpha."""
    values = np.linalg.eigvals(stiffness_gain(_equation().partitioned(q))).real
    return float(1 / values.max())


def growth(share: float, gains: tuple[float, float], alpha: float) -> float:
    """Return the fastest growth of eqs. 49 and 50, linear in a posture, dK = alpha K [1/s]."""
    equation, q = _equation(), motion().path.at(share)
    (rr, rf, ff), K, kinds, shares = _matrices(equation, q)
    extra, (p, v) = alpha / shares[ALIKE] * kinds[ALIKE], gains
    n, N = rf.shape
    B = np.linalg.solve(rr, rf) @ np.linalg.inv(ff - rf.T @ np.linalg.solve(rr, rf))
    inertia = np.block([[np.eye(n), np.zeros((n, N))], [np.zeros((N, n)), ff]])
    force = np.block([[p * np.eye(n), B @ extra], [-p * rf.T, K - rf.T @ B @ extra]])
    rate = np.block([[v * np.eye(n), np.zeros((n, N))], [-v * rf.T, np.zeros((N, N))]])
    below = -np.linalg.solve(inertia, np.hstack([force, rate]))
    return float(np.linalg.eigvals(
        np.vstack([np.eye(n + N, 2 * (n + N), n + N), below])
    ).real.max())  # fmt: skip


def eliminated() -> float:
    """Return the distance of accelerations by eq. 48 in eqs. 27, 28 from those of eqs. 49, 50."""
    part = _equation().partitioned(motion().path.at(0.5))
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
    """Return H of eq. 50."""
    pulled = part.rf.T @ np.linalg.solve(part.rr, part.rf)
    return np.asarray(pulled @ np.linalg.inv(part.ff - pulled))


def overestimates(equation: Equation, q: Array) -> dict[str, dict[str, float]]:
    """Return the largest alpha with K - H dK positive definite in two senses, by dK.

    Alpha is the largest eigenvalue of dK over that of K, as in the lemma's proof.
    """
    (rr, rf, ff), K, kinds, share = _matrices(equation, q)
    H = stiffness_gain(Partitioned(rr, rf, ff))
    found: dict[str, dict[str, float]] = {SIGNS: {}, FORM: {}}
    for name, extra in kinds.items():
        lost = H @ extra
        for sense, matrix in ((SIGNS, lost), (FORM, (lost + lost.T) / 2)):
            # det(K - x matrix) = 0 first where 1/x is the largest real eigenvalue of K^-1 matrix
            values = np.linalg.eigvals(np.linalg.solve(K, matrix))
            found[sense][name] = float(share[name] / values.real.max())
    return found


def _matrices(
    equation: Equation, q: Array
) -> tuple[tuple[Array, Array, Array], Array, dict[str, Array], dict[str, float]]:
    """Return the blocks of M, K, and some dK with the alpha of each, modes as in the paper."""
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


def _scale(equation: Equation, q: Array) -> Array:
    """Return factors of modes of unit mass that make int psi^2 = 1, but for a constant."""
    names = equation.model.names
    out = float(np.sqrt(q[names.index("joint3")]))  # [m^1/2]: link 2 is 1 m long
    return np.array([out if names[k].startswith("link3") else 1.0 for k in equation.flexible])


def ranks() -> Found:
    """Judge the statements about ranks and definiteness in the proof of remark 2."""
    arms = (SECTION_5, SLIDES, "RR, Table 2")
    short = {arm: _short(arm) for arm in arms}
    blocks = [_coupling(y) for y in POSTURES.values()]
    printed, right = inverse()

    positive = claim("least eigenvalue over the largest", low=0.0)
    return Found(
        (
            general("the rank of M_rf is n, the number of joints", REMARK,
                    claim("joints less the rank", high=0.5), short),
            search("H is positive semidefinite", REMARK,
                   claim("least eigenvalue over the largest", low=-1e-9),
                   every(SENSES).readings(),
                   lambda x: min(_least(block[1], x[DEFINITE]) for block in blocks)),
            general("M_ff and both Schur complements of M are symmetric and positive definite",
                    "section 4.3, appendix", positive,
                    {f"{name}, {x}": _least(block[k], SIGNS)
                     for x, block in zip(POSTURES, blocks, strict=True)
                     for name, k in (("M_ff", 3), ("M_rr - M_rf M_ff^-1 M_rf^T", 2),
                                     ("M_ff - M_rf^T M_rr^-1 M_rf", 4))}),
            corrected("M^-1 is given by either of two partitioned formulas", "appendix",
                      claim("error of the blocks beside the diagonal", high=1e-12),
                      "the places of the two blocks beside the diagonal, which do not fit as "
                      "printed", as_printed=printed,
                      right=right),
        ),
        text="H is a product of symmetric matrices, has no negative eigenvalue and is not "
        "symmetric, so that x^T H x can be negative. A straight link that slides along itself "
        "does not couple with its bending: M_rf of it has rank 0.",
    )  # fmt: skip


def _coupling(share: float) -> tuple[Array, Array, Array, Array, Array]:
    """Return M_rf, H, both Schur complements and between them M_ff, modes as in the paper."""
    equation, q = _equation(), np.array(motion().path.at(share))
    (rr, rf, ff), *_ = _matrices(equation, q)
    H = stiffness_gain(Partitioned(rr, rf, ff))
    return (rf, H, rr - rf @ np.linalg.solve(ff, rf.T), ff,
            ff - rf.T @ np.linalg.solve(rr, rf))  # fmt: skip


def _short(arm: str) -> float:
    """Return the number of joints less the rank of M_rf, links straight, the most of postures."""
    equation, gaps = _equation(arm), []
    model = equation.model
    goals = GOALS if arm == SECTION_5 else {name: 1.0 for name in GOALS if name in model.names}
    path = joint_move(model, goals, Timing("cycloid", 0.5)).path
    for share in POSTURES.values():
        part = equation.partitioned(np.array(path.at(share)))
        size = [np.sqrt(np.diag(x)) for x in (part.rr, part.ff)]
        rank = np.linalg.matrix_rank(part.rf / np.outer(*size), tol=1e-9)
        gaps.append(float(len(part.rr) - rank))
    return max(gaps)


def _sliding() -> Arm:
    """Return link 3 alone: it slides along itself, and bends across."""
    joint = {"kind": "sliding", "start": {"position": 0.65}}
    shapes = {"kind": "clamped-free", "bending_y": 2}
    return plain_link(shapes, 1.3, 0.331, EI, **{"links.1.joint": joint})


def inverse() -> tuple[float, float]:
    """Return the error of the blocks of M^-1 beside the diagonal where printed, and exchanged.

    Where they are printed they do not fit, which is an infinite error.
    """
    part = _equation().partitioned(motion().path.at(0.5))
    rr, rf, ff = part.rr, part.rf, part.ff
    right = np.linalg.inv(np.block([[rr, rf], [rf.T, ff]]))[len(rr) :, : len(rr)]
    one = -np.linalg.solve(ff - rf.T @ np.linalg.solve(rr, rf), rf.T) @ np.linalg.inv(rr)
    other = -np.linalg.solve(ff, rf.T) @ np.linalg.inv(rr - rf @ np.linalg.solve(ff, rf.T))
    fits = one.shape == rf.shape  # the upper right block is n x N
    return (0.0 if fits else np.inf), max(difference(x, right) for x in (one, other))


def _least(matrix: Array, sense: str) -> float:
    """Return the least eigenvalue over the largest, of a matrix or of its symmetric part."""
    values = np.linalg.eigvals(matrix if sense == SIGNS else (matrix + matrix.T) / 2).real
    return float(values.min() / values.max())
