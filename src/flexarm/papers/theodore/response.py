"""Theodore & Ghosal 1995, Figs. 7 and 8: deflections of links 2 and 3; how the closed loop goes."""

import numpy as np

from flexarm.formulations import DEFAULT, formulation
from flexarm.links.base import Array
from flexarm.papers.base import Figure, Found, Limit, compare, curve, search
from flexarm.papers.readings import Grid, Reading, Scope
from flexarm.papers.runs import apart, changed, difference, simulate
from flexarm.papers.theodore.loop import (
    DIRECTION,
    DT,
    GAINS,
    GOALS,
    KINDS,
    MOVE,
    READ,
    STIFFER,
    TIP,
    loop,
    moved,
)
from flexarm.runs.run import Run

SIMILAR = Limit(high=10.0, unit="%")  # of the range
LAGS = Limit(low=0.01, unit="ms")  # "lags": 400 times what the runs' own error makes of it
OBSERVED = Limit(low=1.0, unit="ms")  # "can be observed": a line's width in a figure of 0.5 s
UNITS = {"deflection": "m", "slope": "rad"}
RESPONSE = Grid((TIP, DIRECTION), ((TIP.name, DIRECTION.name),))
AFTER = 4.0  # [s] without the second loop
BOUNDED = Limit(high=0.1, unit="1/s")  # beats, no growth: .08 from half to half of 2 s
TURNS = 10  # of a history that oscillates


def deflections(link: int, scope: Scope) -> Found:
    """Compare deflection and rotation of a link's tip between modes and elements.

    Notes
    -----
    The joints move exactly as wanted: gains and weights, which the paper does not give, drop out.
    """
    readings = RESPONSE.readings(scope)
    similar = search("the response is similar for both models", readings,
                     lambda x: 100 * max(apart(b, a) for a, b in _pairs(link, x).values()), SIMILAR,
                     "largest rms distance of four histories, of the range")  # fmt: skip
    lags, observed = (
        search(says, readings, lambda x: min(_lags(link, x).values()), limit,
               "least lag of four histories")
        for says, limit in (("the response in finite elements lags behind that in modes", LAGS),
                            (f"this can be observed in Fig. {5 + link}", OBSERVED))
    )  # fmt: skip
    cause = search("this is due to frequencies that finite elements overestimate",
                   [each for each in readings if not each.against],
                   lambda x: max(_lags(link, x, STIFFER).values()), LAGS,
                   "largest lag of four histories of modes, all frequencies 1 % higher, behind "
                   "those of modes as they are")  # fmt: skip
    best = max(lags.tried, key=lambda each: each.value).reading
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
        (similar, lags, observed, cause),
        figures=figures,
        because="J_L of eq. 11 is one number, and modes of link 2 see it in both planes; but a "
        "link 3 across link 2 has no inertia about its own axis, as in the last reading.  A lag "
        f"counts from {LAGS.low:g} ms on, 400 times what a tighter tolerance changes, and can be "
        f"observed from {OBSERVED.low:g} ms on.",
    )


def closed_loop() -> Found:
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
    ))  # fmt: skip


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
