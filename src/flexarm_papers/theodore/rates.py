"""Theodore & Ghosal 1995, Figs. 9 and 10: frequencies of links 2 and 3 along the motion.

A mode belongs to the link with most of its elastic energy, at every posture; modes of a link are
numbered by frequency.
"""

from functools import cache
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from flexarm.control import Timing, joint_move
from flexarm.formulations import formulation
from flexarm.model import build
from flexarm.spatial import Array
from flexarm_papers.base import Figure, Found, curve
from flexarm_papers.readings import Reading, every, ways
from flexarm_papers.runs import changed, slopes
from flexarm_papers.theodore.loop import GOALS, KINDS, MOVE, TIP
from flexarm_papers.verdicts import FREQUENCY, claim, search

TIMES = np.linspace(0.0, MOVE, 26)  # [s]
LATE = 0.3  # [s] from which on the paper finds that both models converge
PLANE = "plane"
PLANES = {"of joint 2": "y", "out of that of joint 2": "z"}
GRID = every(ways(PLANE, *PLANES), TIP)
STEP = 1e-3  # [m]
NAMED = (
    "At each posture a mode belongs to the link with most of its elastic energy. Frequencies of "
    "both models are paired in increasing order. "
)
Rates = dict[tuple[int, int], Array]  # frequencies [rad/s] along the motion by link and mode


@cache
def rates(kind: str, tip: str, plane: str) -> Rates:
    """Return the frequencies of the flexible variables in a plane, joints as they move, (P,)."""
    axis, values = PLANES[plane], dict[str, Any]()
    for k in (2, 3):
        values |= {f"links.{k}.shapes.bending_{x}": 2 if x == axis else 0 for x in "yz"}
    if kind == "modes":
        values |= TIP.ways[tip]
    equation = formulation("composite", build(changed(KINDS[kind], values)))
    rest = list(equation.flexible)
    second = np.array([equation.model.names[k].startswith("link2") for k in rest])
    found: dict[tuple[int, int], list[float]] = {(n, m): [] for n in (2, 3) for m in (1, 2)}
    wanted = joint_move(equation.model, GOALS, Timing("cycloid", MOVE)).at(TIMES)[0]
    for q in wanted:
        K = slopes(equation, q, part="elastic", step=STEP)[np.ix_(rest, rest)]
        M = equation.mass_matrix(q)[np.ix_(rest, rest)]
        for link, squares in zip((2, 3), _by_link(M, (K + K.T) / 2, second), strict=True):
            for mode in (1, 2):
                found[link, mode].append(float(np.sqrt(squares[mode - 1])))
    return {key: np.array(x) for key, x in found.items()}


def _by_link(M: Array, K: Array, second: NDArray[np.bool_]) -> tuple[Array, Array]:
    """Return the squared frequencies of link 2 and of link 3, increasing."""
    squares, vectors = scipy.linalg.eigh(K, M)
    part = vectors * second[:, None]
    share = np.einsum("ik,ij,jk->k", part, K, part) / squares
    of_second = np.zeros(len(squares), dtype=bool)
    of_second[np.argsort(-share)[: int(second.sum())]] = True
    return squares[of_second], squares[~of_second]


def _pairs(reading: Reading, mode: int) -> dict[int, tuple[Array, Array]]:
    """Return the frequencies of a mode of links 2 and 3 in modes, and those in elements.

    Branches meet at other times in elements: the four frequencies of both models are paired in
    increasing order, and named as in modes.
    """
    modes, elements = (
        rates(kind, reading[TIP.name] if kind == "modes" else next(iter(TIP.ways)), reading[PLANE])
        for kind in KINDS
    )
    ranks = np.argsort(np.argsort(list(modes.values()), axis=0), axis=0)
    paired = np.take_along_axis(np.sort(list(elements.values()), axis=0), ranks, axis=0)
    other = dict(zip(modes, paired, strict=True))
    return {link: (modes[link, mode], other[link, mode]) for link in (2, 3)}


def _excess(reading: Reading, mode: int) -> Array:
    return np.stack([100 * (b / a - 1) for a, b in _pairs(reading, mode).values()])


def eigenvalues(mode: int) -> Found:
    """Compare the frequencies of a mode of both links between modes and elements."""
    readings, at = GRID.readings(), f"Fig. {8 + mode}"
    late = TIMES >= LATE

    def spread(reading: Reading, link: int) -> float:
        y = _pairs(reading, mode)[link][0]
        return 100 * float(np.ptp(y) / y.mean())

    def converges(reading: Reading) -> float:
        off = np.abs(_excess(reading, mode)[1])
        return float(off[late].max() / off[~late].max())

    drawn = [GRID.first.taking({PLANE: plane}) for plane in reversed(PLANES)]
    spreads = [spread(x, 2) for x in readings]
    return Found(
        (
            search(f"frequencies of mode {mode} are within acceptable accuracy with two elements",
                   at, FREQUENCY, readings, lambda x: float(np.abs(_excess(x, mode)).max())),
            search(f"frequencies of mode {mode} in finite elements are always higher", at,
                   claim("least excess", low=0.0, unit="%"), readings,
                   lambda x: float(_excess(x, mode).min())),
            search(f"frequencies of mode {mode} converge in the lower range", at,
                   claim("largest distance of link 3 after 0.3 s over that before", high=1.0,
                         unit="times"), readings, converges),
            search(f"frequencies of mode {mode} of the revolute link 2 are constant", at,
                   claim("range over the mean", high=5.0, unit="%"), readings,
                   lambda x: spread(x, 2)),
            search(f"frequencies of mode {mode} of the prismatic link 3 vary", at,
                   claim("range over the mean", low=5.0, unit="%"), readings,
                   lambda x: spread(x, 3)),
        ),
        figures=tuple(
            Figure(f"Fig. {8 + mode}: mode {mode} of links 2 and 3", "time [s]",
                   "frequency [rad/s]",
                   tuple(each for n, (a, b) in _pairs(x, mode).items() for each in
                         (curve(f"link {n}, modes", TIMES, a),
                          curve(f"link {n}, elements", TIMES, b, points=True))), reading=str(x))
            for x in drawn
        ),
        text=(NAMED if mode == 1 else "") + f"Mode {mode} of link 2 varies by {min(spreads):.1f} "
        f"to {max(spreads):.1f} % of its mean, since link 3 changes its length and the inertia "
        "that link 2 carries.",
    )  # fmt: skip
