"""Theodore & Ghosal 1995, section 5: the RRP arm under its control law, in modes and elements."""

from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np
import scipy.linalg

from flexarm.control import Timing, Trajectory, decoupling_law, joint_move, lqr
from flexarm.formulations import DEFAULT, formulation
from flexarm.integrate.batch.many import simulate_many
from flexarm.io.model_file import example_arm
from flexarm.model import build
from flexarm.runs.run import Run
from flexarm.spatial import Array
from flexarm_papers.base import Figure, Found, curve
from flexarm_papers.readings import Choice, Grid, Reading, every, over, ways
from flexarm_papers.runs import changed, discord, rms, simulate
from flexarm_papers.verdicts import HISTORY, claim, measured, search

PAPER, AT = "theodore-1995", "section 5"
GOALS = {"joint1": np.pi, "joint2": np.pi / 2, "joint3": 1.0}
KINDS = {"modes": "theodore-rrp", "elements": "theodore-rrp-elements"}
MOVE, T_END, DT = 0.5, 1.0, 1e-3  # [s]
GAINS = (400.0, 40.0)  # G_p [1/s^2], G_v [1/s]: the paper gives none
BANDWIDTH = 40.0  # [rad/s] of the second loop, whose weights the paper does not give either
# Mass [kg] and inertia [kg m^2] at the tip of link 2 for its modes, which the paper does not give.
# Inertias are of link 3 and the payload when it is out by 0.65 m and by 1 m; or of all 1.3 m of
# Table 3, in each plane its own, none about link 3 itself.
TIP = Choice("tip body of link 2's modes", {
    **{f"{m:g} kg, {J:g} kg m^2": {"links.2.shapes.tip": {"mass": m, "inertia": J}}
       for m, J in ((0.5131, 0.09558), (0.5131, 0.0), (0.5131, 0.19611))},
    "0.5131 kg, link 3 at full length, its inertia in one plane": {"links.2.shapes.tip": "auto"},
})  # fmt: skip
# Eqs. 1 and 6: link 2 lies along x_2, and link 3 slides along z_2, across it.
DIRECTION = Choice("direction of link 3", {
    name: {"links.3.joint.before": {"rotation": ["-90 deg", turn, 0.0]}}
    for name, turn in {"alpha_2 = 90 deg": "-90 deg", "alpha_2 = -90 deg": "90 deg"}.items()
})  # fmt: skip
# Eq. 6 has a revolute link along x_j, so that l_1 is a_1; in a Stanford arm it is d_1.
ACROSS = "across the axis of joint 1, a_1 = 0.1 m"
LINK_1 = Choice("link 1", {
    "along the axis of joint 1, d_1 = 0.1 m": {},
    ACROSS: {"links.1.joint.dh": {"alpha": "90 deg"}, "links.1.length": 0.1},
})  # fmt: skip
# Fig. 6 and its size of 8 mm: of the distance or of its components, at most or on average.
ERROR, DISTANCE, PARTS = "error", "distance of the tip", "largest of its components along x, y, z"
SIZE, MOST, MEAN = "size", "at most", "root mean square"
TIPS = Grid((DIRECTION, TIP, LINK_1, ways(ERROR, DISTANCE, PARTS), ways(SIZE, MOST, MEAN)),
            ((DIRECTION.name, TIP.name, ERROR, SIZE), (LINK_1.name, ERROR, SIZE)))  # fmt: skip
RESPONSE = every(TIP, DIRECTION)
ELEMENTS = {"kind": "elements", "bending_y": 2, "bending_z": 2}
STIFFER = "modes, frequencies 1 % higher"
EI = 1165.4916  # [N m^2] of links 2 and 3
WEIGHTS = "weights of the second loop: its bandwidth"
SECOND_LOOP = every(over(WEIGHTS, "", (BANDWIDTH, 2.0, 10.0, 160.0), "{:g} rad/s"))
STEP = 1e-6  # of a coordinate, for the derivative of the tip's place
LATER = 20.0  # [s] after the motion, within which a slow second loop settles too
SETTLED = 1e-4  # [m]
UNITS = {"deflection": "m", "slope": "rad"}
VISIBLE = 1.0  # [ms]: a thousandth of the time axis of Figs. 7 and 8, less than a line's width
PRINTED_CPU = {"modes": 1533.34, "elements": 2036.89}  # [s]


@dataclass(frozen=True)
class Loop:
    """A run of the arm under its law, and the motion it follows."""

    motion: Trajectory
    run: Run

    @property
    def joint_errors(self) -> Array:
        """Errors of the joints [rad], [rad], [m], (T, 3)."""
        joints = [self.run.model.names.index(name) for name in GOALS]
        return np.asarray((self.run.q - self.motion.at(self.run.t)[0])[:, joints])

    @property
    def tip_parts(self) -> Array:
        """Distance of the tip from the rigid arm's, along the axes of the world [m], (T, 3)."""
        return np.asarray(self.run.tip - self.motion.tip(self.run.t))


@cache
def loop(kind: str) -> Loop:
    """Simulate the arm under the decoupling law and the second loop."""
    arm = example_arm(KINDS[kind])
    motion = joint_move(build(arm), GOALS, Timing("cycloid", MOVE))
    law = decoupling_law(
        motion, kp=GAINS[0], kd=GAINS[1], regulator=lqr(motion, bandwidth=BANDWIDTH)
    )
    return Loop(motion, simulate(arm, t_end=T_END, dt=DT, control=law, rtol=1e-4))


def closed_loop() -> Found:
    """Compare joints, tip errors and CPU time of the closed loop with the text."""
    both = {kind: loop(kind) for kind in KINDS}
    moving = both["modes"].run.t <= MOVE
    most = max(float(np.abs(x.joint_errors[moving]).max()) for x in both.values())
    cpu = [both[kind].run.statistics.cpu_seconds for kind in ("elements", "modes")]
    printed = PRINTED_CPU["elements"] / PRINTED_CPU["modes"]
    zero = claim("largest error", high=1e-3, unit="rad or m")
    return Found(
        (
            measured("joints go from 0 to 180 deg, 0 to 90 deg and 0.3 to 1.0 m in 0.5 s, with "
                     "errors close to zero", "section 5, Figs. 4, 5", zero, most,
                     printed="180 deg, 90 deg, 1.0 m, 0.5 s"),
            search("end-effector errors are on the order of 8 mm while the joints move",
                   "section 5, Fig. 6", claim("error", 4.0, 16.0, "mm"),
                   TIPS.readings(), tip_error, printed="8 mm"),
            search("errors are driven within 0.1 mm at between 0.5 and 1 s", "section 5, Fig. 6",
                   claim("time from which on they are", MOVE, T_END + 1e-9, "s"),
                   SECOND_LOOP.readings(), lambda x: _damped(float(x[WEIGHTS].split()[0])),
                   printed="0.1 mm, 1 s"),
            measured("the run in finite elements takes more CPU time", "sections 4.4, 5",
                     claim("CPU time over that in modes", low=1.0, unit="times"), cpu[0] / cpu[1],
                     printed=f"{printed:.2f} times (2036.89 s, 1533.34 s)"),
        ),
        figures=tuple(
            Figure(f"Fig. 6: error of the tip along {axis}", "time [s]", "error [m]",
                   tuple(curve(k, x.run.t, x.tip_parts[:, n]) for k, x in both.items()))
            for n, axis in enumerate("xy")
        ),
        text="Joints follow their motion for any gains. The size of the tip's error depends on "
        "the direction of link 3, which Fig. 3 alone shows, and on what Fig. 6 plots.",
    )  # fmt: skip


@cache
def moved(kind: str) -> dict[tuple[str, str], Run]:
    """Move the joints as wanted, by tip body of the modes and direction of link 3.

    Gains and weights drop out.  Elements have no tip body: theirs is the first.
    """
    stiffer = {f"links.{k}.section.EI{x}": EI * 1.01**2 for k in (2, 3) for x in "yz"}
    tips = {next(iter(TIP.ways)): {}} if kind == "elements" else TIP.ways
    found = list(product(tips, DIRECTION.ways))
    more = stiffer if kind == STIFFER else {}
    changes = [{**more, **tips[tip], **DIRECTION.ways[way]} for tip, way in found]
    shapes = {f"links.{k}.shapes": ELEMENTS for k in (2, 3)} if kind == "elements" else {}
    arm = changed("theodore-rrp-motion", shapes)
    runs = simulate_many(arm, t_end=MOVE, dt=DT, rtol=1e-5, parameters=changes)
    return dict(zip(found, runs, strict=True))


def _run(kind: str, reading: Reading) -> Run:
    tip = next(iter(TIP.ways)) if kind == "elements" else reading[TIP.name]
    return moved(kind)[tip, reading[DIRECTION.name]]


@cache
def _tip_parts(reading: Reading) -> Array:
    """Return the distance of the tip from the straight arm's, joints as wanted [m], (T, 3)."""
    if reading[LINK_1.name] == ACROSS:
        arm = changed("theodore-rrp-motion", Grid((DIRECTION, TIP, LINK_1)).changes(reading))
        run = simulate(arm, t_end=MOVE, dt=DT, rtol=1e-5)
    else:
        run = _run("modes", reading)
    straight = np.array(run.q)
    joints = [run.model.names.index(name) for name in GOALS]
    straight[:, [k for k in range(run.model.size) if k not in joints]] = 0.0
    return np.asarray(run.tip - formulation(DEFAULT, run.model).tip_pose(straight)[1])


def tip_error(reading: Reading) -> float:
    """Return the size of the error of the tip, as a reading takes error and size [mm]."""
    parts = 1e3 * np.abs(_tip_parts(reading.without(ERROR, SIZE)))
    away = np.linalg.norm(parts, axis=1)[:, None] if reading[ERROR] == DISTANCE else parts
    return float(away.max()) if reading[SIZE] == MOST else max(map(rms, away.T))


def settled(t: Array, error: Array) -> float:
    """Return the time from which on an error stays within 0.1 mm [s]; infinite if it does not."""
    above = np.flatnonzero(error > SETTLED)
    if not len(above):
        return float(t[0])
    return float(t[above[-1] + 1]) if above[-1] + 1 < len(t) else np.inf


def _damped(bandwidth: float) -> float:
    """Return the time from which on a second loop has the tip error within 0.1 mm [s].

    Linear about the end of the motion, where the vibrations are small.
    """
    found = loop("modes")
    regulator = lqr(found.motion, bandwidth=bandwidth)
    linear = regulator.models[0]
    p = int(np.searchsorted(found.run.t, MOVE))
    q_d, v_d = (each[-1] for each in found.motion.at(found.run.t)[:2])
    state = np.concatenate([found.run.q[p] - q_d, found.run.v[p] - v_d])
    step = scipy.linalg.expm((linear.A - linear.B @ regulator.gains[0]) * DT)
    equation = formulation(DEFAULT, found.run.model)
    tip = equation.tip_pose(q_d)[1]
    slope = np.array([equation.tip_pose(q_d + STEP * e)[1] - tip for e in np.eye(len(q_d))]).T
    t = np.asarray(MOVE + DT * np.arange(round(LATER / DT)), dtype=float)
    states = np.empty((len(t), len(state)))
    for k in range(len(t)):
        states[k] = state
        state = step @ state
    error = np.linalg.norm(states[:, : len(q_d)] @ slope.T / STEP, axis=1)
    return settled(t, np.asarray(error, dtype=float))


def deflections(link: int) -> Found:
    """Compare deflection and rotation of a link's tip between modes and elements."""
    readings, at = RESPONSE.readings(), f"Fig. {5 + link}"

    def lags(reading: Reading, beside: str) -> list[float]:
        t = _run("modes", reading).t
        return [1e3 * lag(t, a, b) for a, b in _pairs(link, reading, beside).values()]

    first = RESPONSE.first
    worst = {name: 100 * discord(b, a) for name, (a, b) in _pairs(link, first).items()}
    drawn = sorted(worst, key=lambda x: worst[x])[-1:]
    return Found(
        (
            search(f"the response of link {link} is similar for both models", at, HISTORY, readings,
                   lambda x: 100 * max(discord(b, a) for a, b in _pairs(link, x).values())),
            search(f"the response of link {link} in finite elements lags behind that in modes", at,
                   claim("least lag of four histories", low=VISIBLE, unit="ms"), readings,
                   lambda x: min(lags(x, "elements")),
                   beside={"largest lag [ms]": lambda x: max(lags(x, "elements"))}),
            search("the lag is due to frequencies that finite elements overestimate", at,
                   claim("largest lag of modes whose frequencies are 1 % higher", low=VISIBLE,
                         unit="ms"), readings, lambda x: max(lags(x, STIFFER))),
        ),
        figures=tuple(
            Figure(f"Fig. {5 + link}: {name} at the tip of link {link}", "time [s]",
                   f"{name.partition(' ')[0]} [{UNITS[name.partition(' ')[0]]}]",
                   tuple(curve(kind, _run(kind, first).t, y)
                         for kind, y in zip(KINDS, _pairs(link, first)[name], strict=True)),
                   reading=str(first))
            for name in drawn
        ),
        text="Both models move alike. Histories of elements are ahead or behind by about a "
        "millisecond at most, less than a line's width in the figure. Higher frequencies run "
        "ahead instead of behind." if link == 2 else "",
    )  # fmt: skip


def _pairs(link: int, reading: Reading, beside: str = "elements") -> dict[str, tuple[Array, Array]]:
    """Return histories of a link's tip in modes and in elements, or what else, by name."""
    one, other = (_histories(_run(kind, reading), link) for kind in ("modes", beside))
    return {name: (y, other[name]) for name, y in one.items()}


def _histories(run: Run, link: int) -> dict[str, Array]:
    found = run.along([1.0]).sel(link=f"link{link}")
    return {
        f"{what} along {axis}": np.asarray(found[what].sel(axis=axis).values[:, 0])
        for what in UNITS
        for axis in "yz"
    }


def lag(t: Array, first: Array, second: Array) -> float:
    """Return the small shift [s] by which the second history follows the first best.

    Notes
    -----
    Least squares of ``second - first = -lag d(first)/dt``.
    """
    rate = np.gradient(first, t)
    return -float(np.dot(rate, second - first) / np.dot(rate, rate))
