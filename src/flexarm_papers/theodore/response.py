"""Theodore & Ghosal 1995, Figs. 7 and 8: deflections of links 2 and 3; how the closed loop goes."""

from dataclasses import replace

import numpy as np
import scipy.linalg

from flexarm.formulations import DEFAULT, formulation
from flexarm.runs.run import Run
from flexarm.spatial import Array
from flexarm_papers.base import Figure, Found, curve
from flexarm_papers.readings import Grid, Reading, Scope, ways
from flexarm_papers.runs import apart, changed, difference, simulate, slopes
from flexarm_papers.statements import Limit, Statement, compare, search, together
from flexarm_papers.theodore.loop import (
    DIRECTION,
    DT,
    GAINS,
    GOALS,
    KINDS,
    LINK_1,
    MOVE,
    READ,
    STIFFER,
    TIP,
    loop,
    moved,
    of_order,
)
from flexarm_papers.theodore.rates import both

SIMILAR = Limit(high=10.0, unit="%")  # of the range
# Over what counts: 0.01 ms are 400 times what the runs' own error makes of a lag.
LAGS, CAUSED = Limit(low=1.0, unit="times as much"), Limit(low=0.01, unit="ms")
COUNTS = "a lag counts from"
LAGGING = {"0.01 ms on": 0.01, "1 ms on, a line's width in the figure": 1.0}  # [ms]
UNITS = {"deflection": "m", "slope": "rad"}
RESPONSE = Grid((TIP, DIRECTION), ((TIP.name, DIRECTION.name),))
OBSERVED = Grid((*RESPONSE.choices, ways(COUNTS, *LAGGING)), ((TIP.name, DIRECTION.name, COUNTS),))
HELD = Grid((ways("joints of the manipulator system", "held", "free"),))
PROPORTIONAL = Limit(high=1.0, unit="%")
AFTER = 4.0  # [s] without the second loop
BOUNDED = Limit(high=0.1, unit="1/s")  # beats, no growth: .08 from half to half of 2 s
TURNS = 10  # of a history that oscillates
STEP = 1e-5  # of amplitudes, for derivatives


def deflections(link: int, scope: Scope) -> Found:
    """Compare deflection and rotation of a link's tip between modes and elements.

    Notes
    -----
    The joints move exactly as wanted: gains and weights, which the paper does not give, drop out.
    """
    statements = said(link, scope)
    best = max(statements[1].tried, key=lambda each: each.value).reading.without(COUNTS)
    loops = {kind: loop(kind).run for kind in KINDS}
    figures = tuple(
        Figure(f"Fig. {5 + link}: {name} at the tip of link {link}", "time [s]",
               f"{name.partition(' ')[0]} [{UNITS[name.partition(' ')[0]]}]",
               (curve("modes", moved("modes", best).t, pair[0]),
                curve("elements", moved("elements", best).t, pair[1])), reading=str(best))
        for name, pair in _pairs(link, best).items()
    ) + tuple(
        Figure(f"Fig. {5 + link}: {name} at the tip of link {link}, closed loop", "time [s]",
               f"{name.partition(' ')[0]} [{UNITS[name.partition(' ')[0]]}]",
               tuple(curve(kind, run.t, _histories(run, link)[name])
                     for kind, run in loops.items()), reading=READ)
        for name in _pairs(link, best)
    )  # fmt: skip
    return Found(
        statements,
        figures=figures,
        because="J_L of eq. 11 is one number, and modes of link 2 see it in both planes; but a "
        "link 3 across link 2 has no inertia about its own axis, as in the last reading.  The "
        "paper observes the lag in its figure; 0.01 ms are 400 times what a tighter tolerance "
        "changes.",
    )


def said(link: int, scope: Scope) -> tuple[Statement, ...]:
    """Decide what the text says of the figure of a link."""
    return (
        search("the dynamic response is similar for both models", RESPONSE.readings(scope),
               lambda x: 100 * max(apart(b, a) for a, b in _pairs(link, x).values()), SIMILAR,
               "largest rms distance of four histories, of the range"),
        search("it can be observed that the response in finite elements lags behind that in modes",
               OBSERVED.readings(scope),
               lambda x: min(_lags(link, x).values()) / LAGGING[x[COUNTS]], LAGS,
               "least lag of four histories, over what counts"),
        search("the lag is due to frequencies that finite elements overestimate",
               [each for each in RESPONSE.readings(scope) if not each.against],
               lambda x: max(_lags(link, x, STIFFER).values()), CAUSED,
               "largest lag of four histories of modes, all frequencies 1 % higher, behind "
               "those of modes as they are"),
    )  # fmt: skip


def upright(scope: Scope) -> Scope:
    """Have link 1 along the axis of joint 1, whatever is asked for: lags are of that arm alone."""
    return replace(scope, only=((LINK_1.name, next(iter(LINK_1.ways))), *scope.only))


def one_run(scope: Scope) -> Found:
    """Judge as one what is said of one simulation: each is of the same arm."""
    lag_ = [said(link, scope)[1] for link in (2, 3)]
    tip = of_order(upright(scope))
    return Found(
        (
            together("the response in finite elements lags behind that in modes, of links 2 and 3 "
                     "(Figs. 7, 8)", lag_),
            together("end-effector errors are on the order of 8 mm, and the response in finite "
                     "elements lags behind that in modes (Figs. 6-8)", (tip, *lag_)),
            *both(scope),
        ),
        because="Each part is decided in its own item; what is open in several is read alike here. "
        "Points of link 3 are its material's, for eq. 20 is of a mass dm; x held in eq. 6, as "
        "Algorithm 1 has it to the letter (errata), is tried in Table 2 alone.",
    )  # fmt: skip


def closed_loop(scope: Scope) -> Found:
    """Look at what the law makes of joints and of flexible variables, without its second loop."""
    found = loop("modes")
    model, motion = found.run.model, found.motion
    joints = [model.names.index(name) for name in GOALS]
    rng, off = np.random.default_rng(0), []
    for t in (0.1, 0.25, 0.4):
        (q_d,), (v_d,), (a_d,) = motion.at(np.array([t]))
        e, e_d = 1e-3 * rng.standard_normal((2, model.size))
        u = np.asarray(found.law(t, q_d + e, v_d + e_d)).ravel()
        a = formulation(DEFAULT, model).forward_dynamics(q_d + e, v_d + e_d, u)[joints]
        off.append(difference(a, (a_d - GAINS[0] * e - GAINS[1] * e_d)[joints]))
    run = simulate(changed("theodore-rrp-motion"), t_end=MOVE + AFTER, dt=DT, rtol=1e-4)
    y = np.delete(run.q[run.t > MOVE], joints, axis=1)
    turns = np.count_nonzero(np.diff(np.sign(np.diff(y, axis=0)), axis=0), axis=0).min()
    early, late = (np.abs(x).max(axis=0) for x in np.array_split(y, 2))
    growth = float(np.log(late / early).max() / (AFTER / 2)) if turns >= TURNS else np.inf
    return Found((
        compare("the law reduces the system to double integrators of the joint variables (eq. 35), "
                "whose errors obey eq. 34", max(off), Limit(high=1e-9),
                "error of the joints' accelerations at random states, of the largest"),
        compare("the flexible variables would give bounded oscillatory response", growth, BOUNDED,
                f"growth in {AFTER:g} s after the motion, joints prescribed as the law would have "
                f"them, in which each turns {turns} times or more, the most"),
        search("the natural frequencies of the system are proportional to its closed-loop "
               "eigenvalues", HELD.readings(scope), _proportion, PROPORTIONAL,
               "by how much their ratios differ, of all modes where the motion begins and ends"),
    ))  # fmt: skip


def _proportion(reading: Reading) -> float:
    """Compare ratios of natural frequencies to eigenvalues of the closed loop about rest [%]."""
    law, motion = loop("modes").law, loop("modes").motion
    equation, found = formulation(DEFAULT, motion.model), []
    bent, still = list(equation.flexible), np.zeros(motion.model.size)
    joints = reading[HELD.choices[0].name] == "free"

    def accelerations(t: float, q: Array) -> Array:
        return equation.forward_dynamics(q, still, np.asarray(law(t, q, still)).ravel())[bent]

    for t, share in ((0.0, 0.0), (MOVE - DT, 1.0)):  # before the second loop begins
        q = motion.path.at(share)
        M, K = equation.mass_matrix(q), slopes(equation, q, part="elastic", step=1e-3)
        counted = np.ix_(*2 * [range(len(q)) if joints else bent])
        natural = scipy.linalg.eigh(K[counted], M[counted], eigvals_only=True)[-len(bent) :]
        steps = STEP * np.eye(len(q))[bent]
        rows = [accelerations(t, q + h) - accelerations(t, q - h) for h in steps]
        closed = np.sort(scipy.linalg.eigvals(np.transpose(rows) / (-2 * STEP)).real)
        found.append(np.sqrt(closed / natural))
    return 100 * float(np.max(found) / np.min(found) - 1)


def _pairs(link: int, reading: Reading, beside: str = "elements") -> dict[str, tuple[Array, Array]]:
    """Give histories of a link's tip in modes and in elements, or what else, by name."""
    one, other = (_histories(moved(each, reading), link) for each in ("modes", beside))
    return {name: (y, other[name]) for name, y in one.items()}


def _histories(run: Run, link: int) -> dict[str, Array]:
    """Pick deflection and slope at a link's tip, by name, (T,)."""
    found = run.along([1.0]).sel(link=f"link{link}")
    return {
        f"{what} along {axis}": np.asarray(found[what].sel(axis=axis).values[:, 0])
        for what in UNITS
        for axis in "yz"
    }


def _lags(link: int, reading: Reading, beside: str = "elements") -> dict[str, float]:
    """Find by how much elements, or what else, lag behind modes [ms]."""
    t = moved("modes", reading).t
    return {name: 1e3 * lag(t, a, b) for name, (a, b) in _pairs(link, reading, beside).items()}


def lag(t: Array, first: Array, second: Array) -> float:
    """Find the small shift [s] by which the second history follows the first best.

    Notes
    -----
    Least squares of ``second - first = -lag d(first)/dt``.
    """
    rate = np.gradient(first, t)
    return -float(np.dot(rate, second - first) / np.dot(rate, rate))
