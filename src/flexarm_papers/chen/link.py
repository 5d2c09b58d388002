"""Chen, Zhang & Liu 2012: the rotating link of Fig. 2, and how the paper's equations stiffen."""

import math
from functools import cache

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

from flexarm.arm.joint import Revolute
from flexarm.formulations import formulation
from flexarm.formulations.equation import Equation
from flexarm.linear.modes import modes
from flexarm.model import build
from flexarm.model.profiles import evaluate
from flexarm.runs.run import Run
from flexarm.spatial import Array
from flexarm_papers.base import Figure, Found, Table, curve
from flexarm_papers.beams.classical import CLAMPED_FREE, beam_roots
from flexarm_papers.readings import Choice, Reading, every, ways
from flexarm_papers.runs import apart, changed, discord, simulate, slopes, tip_deflection
from flexarm_papers.verdicts import HISTORY, claim, general, measured, search

LENGTH, MASS, EI, EA = 7.11, 314.88, 3.8e6, 2.84e7  # [m], [kg], [N m^2], [N] of a boom
POLAR = 15.41  # [kg m^2], of a boom about its axis
TEXT = "text of Fig. 2"
START, STRETCH, LASTING = "start", "stretch", "time shown"
UNDEFORMED = "undeformed"
# The rotation is uniform.  The state in which the link begins is open.
STARTS = Choice(START, {
    UNDEFORMED: {},
    "tip bent by 0.05 m": {"links.1.start": {"y1": 0.05}},
    "tip struck with 1 m/s": {"links.1.start_speed": {"y1": 1.0}},
})  # fmt: skip
SHAPES = Choice(STRETCH, {"3 shapes": {"links.1.shapes.stretch": 3}, "none": {}})
SLOW = {f"{x:g} s": x for x in (2.0, 0.5, 1.0, 4.0)}  # at 10 rad/s
FAST = {f"{x:g} s": x for x in (0.25, 0.5, 2.0)}  # at 80 rad/s
GRID = every(STARTS, SHAPES)
T_END, DT = 4.0, 0.005  # [s]
GONE = 50.0  # [m] of an amplitude beyond which a link of 7 m has diverged
DIVERGES = claim("largest deflection in the second half over that in the first half", low=2.0,
                 unit="times")  # fmt: skip
CONVERGES = claim("largest deflection, of the length of the link", high=10.0, unit="%")


@cache
def rotation(rate: float, reading: Reading, *, stiffening: bool) -> tuple[Array, Array]:
    """Return time and chordwise tip deflection by the paper's equations, without a guard.

    A run of flexarm ends where slopes leave its range of validity. There the same equations are
    integrated on by SciPy; the deflection is infinite from the time at which the link has diverged.
    """
    times = np.arange(T_END + 2).tolist()
    motion = {"kind": "table", "times": times, "values": [rate * t for t in times],
              "interpolation": "cubic"}  # fmt: skip
    arm = changed("chen-rotating-link", {
        "stiffening": stiffening, "links.1.shapes.normalise": "tip",
        "links.1.joint.motion": motion, **GRID.changes(reading),
    })  # fmt: skip
    run = simulate(arm, formulation="recursive-lagrange", t_end=T_END, dt=DT, paper=True)
    t = np.asarray(DT * np.arange(round(T_END / DT) + 1), dtype=float)
    if run.status == "finished":
        return t, tip_deflection(run)
    return t, _continued(run, t)


def _continued(run: Run, t: Array) -> Array:
    """Integrate the paper's equations on from where a run has ended; return tip deflections."""
    model, joint = run.model, run.model.arm.links[0].joint
    assert isinstance(joint, Revolute)
    assert joint.motion is not None  # the rotation is prescribed
    profile = joint.motion
    equation, n = formulation("recursive-lagrange", model, paper=True), model.size
    bent = [k - 1 for k, name in enumerate(model.names) if ".y" in name]

    def rates(at: float, y: Array) -> Array:
        angle, speed, acceleration = evaluate(profile, at)[:3]
        q, v = np.append(angle, y[: n - 1]), np.append(speed, y[n - 1 :])
        M = equation.mass_matrix(q)
        load = equation.bias(q, v)[1:] + M[1:, 0] * acceleration
        return np.concatenate([v[1:], np.linalg.solve(M[1:, 1:], -load)])

    def gone(at: float, y: Array) -> float:
        return GONE - float(np.abs(y[: n - 1]).max())

    gone.terminal = True  # type: ignore[attr-defined]
    known = int(np.sum(t <= run.t[-1] + DT / 2))
    state = np.concatenate([run.q[known - 1, 1:], run.v[known - 1, 1:]])
    found = solve_ivp(rates, (t[known - 1], t[-1]), state, "DOP853", t[known - 1 :], rtol=1e-7,
                      atol=1e-9, events=gone)  # fmt: skip
    y = np.full(len(t), np.inf)
    y[:known] = tip_deflection(run)[:known]
    y[known - 1 : known - 1 + found.y.shape[1]] = found.y[bent].sum(axis=0)
    return y


def _moving(lasting: dict[str, float]) -> list[Reading]:
    """Return the readings in which the link moves: one that cannot stretch needs a disturbance."""
    readings = every(*GRID.choices, ways(LASTING, *lasting)).readings()
    return [x for x in readings if (x[START], x[STRETCH]) != (UNDEFORMED, "none")]


def _seen(rate: float, reading: Reading, lasting: dict[str, float], *, stiffening: bool) -> Array:
    """Return the tip deflection in the time that a figure shows."""
    t, y = rotation(rate, reading.without(LASTING), stiffening=stiffening)
    return y[t <= lasting[reading[LASTING]] + DT / 2]


def low_speed() -> Found:
    """Compare the chordwise deformation at 10 rad/s with and without stiffening."""
    readings = _moving(SLOW)

    def pair(reading: Reading) -> tuple[Array, Array]:
        one, other = (_seen(10.0, reading, SLOW, stiffening=x) for x in (False, True))
        return one, other

    def range_(reading: Reading) -> float:
        one, other = pair(reading)
        return 100 * float(np.ptp(one) / np.ptp(other) - 1)

    without, with_ = pair(readings[0].taking({LASTING: "4 s"}))
    rates = [lowest(10.0, stiffening=x) for x in (False, True)]
    return Found(
        (
            search("at 10 rad/s the chordwise deformations are almost the same with and without "
                   "stiffening", TEXT, HISTORY, readings, lambda x: 100 * discord(*pair(x)),
                   beside={"difference of the ranges [%]": range_,
                           "rms difference over the range [%]": lambda x: 100 * apart(*pair(x))}),
        ),
        figures=_figures("Fig. 2(a): 10 rad/s", 10.0,
                         (readings[0], readings[0].taking({START: list(STARTS.ways)[-1]}))),
        text=f"The vibration of the link without stiffening is {range_(readings[0]):.0f} % larger "
        f"({np.ptp(without):.4f} and {np.ptp(with_):.4f} m) and slower ({rates[0]:.2f} and "
        f"{rates[1]:.2f} rad/s), so that both curves are soon out of phase.",
    )  # fmt: skip


def high_speed() -> Found:
    """Compare the chordwise deformation at 80 rad/s with and without stiffening."""
    readings = _moving(FAST)

    def growth(reading: Reading) -> float:
        y = np.abs(_seen(80.0, reading, FAST, stiffening=False))
        half = len(y) // 2
        if not math.isfinite(y[:half].max()):
            return math.inf
        return float(y[half:].max() / y[:half].max())

    def bent(reading: Reading) -> float:
        return 100 * float(np.abs(_seen(80.0, reading, FAST, stiffening=True)).max()) / LENGTH

    first = readings[0].without(LASTING)
    (t, on), (_, off) = (rotation(80.0, first, stiffening=x) for x in (True, False))
    ends = [float(x[np.isfinite(y)][-1]) for x, y in ((t, on), (t, off))]
    speed = float(brentq(lambda x: least(x, stiffening=False), 10.0, 79.0, xtol=1e-9))
    own = float(beam_roots(CLAMPED_FREE, 1)[0]) ** 2 * math.sqrt(EI * LENGTH / MASS) / LENGTH**2
    return Found(
        (
            search("at 80 rad/s the result without stiffening is divergent", TEXT, DIVERGES,
                   readings, growth),
            search("with stiffening it is still convergent", TEXT, CONVERGES, readings, bent),
            measured("without stiffening the link is stable at 10 and unstable at 80 rad/s", TEXT,
                     claim("critical speed", 10.0, 80.0, "rad/s"), speed),
        ),
        figures=_figures("Fig. 2(b): 80 rad/s", 80.0,
                         (first, first.taking({START: list(STARTS.ways)[1], STRETCH: "none"}))),
        text=f"Without stiffening the link diverges above its first frequency, {own:.4f} rad/s. "
        "With it a link that cannot stretch is stable; one that stretches and begins undeformed "
        f"bends by {np.abs(on[t <= 0.25]).max():.2f} m within 0.25 s and has diverged by "
        f"{ends[0]:.2f} s ({ends[1]:.2f} s without stiffening). The printed EA strains it by "
        f"{mean_strain(80.0):.0f} % at 80 rad/s.",
    )  # fmt: skip


def _figures(title: str, rate: float, readings: tuple[Reading, ...]) -> tuple[Figure, ...]:
    """Draw the tip's deflection with and without stiffening, as far as it is finite."""
    figures = []
    for reading in readings:
        key, curves = reading.without(LASTING), []
        for name, on in (("without stiffening", False), ("with stiffening", True)):
            t, y = rotation(rate, key, stiffening=on)
            good = np.abs(y) < LENGTH
            end = int(np.argmin(good)) if not good.all() else len(y)
            curves.append(curve(name, t[:end], y[:end]))
        shown = f"{title}, start: {reading[START]}, stretch: {reading[STRETCH]}"
        figures.append(Figure(shown, "time [s]", "chordwise tip deflection [m]", tuple(curves),
                              reading=str(key)))  # fmt: skip
    return tuple(figures)


@cache
def _eigenvalues(rate: float, *, stiffening: bool) -> tuple[complex, ...]:
    model = build(changed("chen-rotating-link"), stiffening=stiffening)
    found = modes(model, joints="locked", speeds={"joint1": rate}, straight=True)
    return tuple(complex(mode.eigenvalue) for mode in found.modes)


def least(rate: float, *, stiffening: bool) -> float:
    """Return the least squared frequency of the rotating link that cannot stretch [1/s^2]."""
    return -float(np.square(_eigenvalues(rate, stiffening=stiffening)).real.max())


def lowest(rate: float, *, stiffening: bool) -> float:
    """Return the lowest frequency of the rotating link that cannot stretch [rad/s]."""
    return min(abs(value) for value in _eigenvalues(rate, stiffening=stiffening))


def mean_strain(rate: float, stiffness: float = EA) -> float:
    """Return the mean strain of an elastic bar that rotates steadily [%].

    EA u'' = -mu rate^2 (x + u) has the tip at L tan(k)/k, k^2 = mu rate^2 L^2/EA.
    """
    k = rate * math.sqrt(MASS * LENGTH / stiffness)
    return 100 * (math.tan(k) / k - 1)


def stiffening() -> Found:
    """Compare the stiffening in the paper's equations with the whole, of one link and of two."""
    included, together = {}, {}
    for name, links in (("a link alone", 1), ("link 1 of two", 2)):
        right, turned, printed, without = chordwise_squares(links, 80.0)
        included[name] = 100 * (printed - without) / (right - turned)
        together[name] = 100 * (printed - without) / (right - without)
    rates = np.linspace(0.0, 80.0, 17)
    curves = tuple(
        curve(f"{name}, {what}", rates, [chordwise_squares(links, x)[k] for x in rates])
        for links, name in ((1, "alone"), (2, "link 1 of two"))
        for k, what in ((0, "all terms"), (2, "the paper's equations"))
    )
    return Found(
        (
            general("dynamic stiffening effects of multi-link arms are captured",
                    "abstract, conclusion",
                    claim("stiffening by shortening in the paper's equations, of the whole",
                          low=90.0, unit="%"), included),
        ),
        figures=(Figure("Stiffening of the straight arm", "speed [rad/s]",
                        "first squared frequency of link 1 [1/s^2]", curves),),
        tables=(Table("Stiffening that is included, 80 rad/s",
                      ("", "by shortening [%]", "by shortening and rotation of the tip [%]"),
                      tuple((name, f"{x:.2f}", f"{together[name]:.2f}")
                            for name, x in included.items())),),
        finding="Eqs. 2 and 3 do not draw the tip of a bent link inward. The paper's equations "
        f"contain {included['a link alone']:.0f} % of the stiffening by shortening of a single "
        f"link, and {included['link 1 of two']:.1f} % of that of a link that carries another "
        "(chordwise, one mode, second link straight). Eqs. 2 and 3 also lose the stiffening by the "
        f"exact rotation of the tip; of both together {together['link 1 of two']:.2f} % remain.",
    )  # fmt: skip


def chordwise_squares(links: int, rate: float) -> list[float]:
    """Return the first squared frequency of link 1 [1/s^2] in one mode at a speed [rad/s].

    With all terms, with exact tip rotations but no shortening, by the paper's equations with
    stiffening, and by them without. A second link is held straight.
    """
    found = []
    for equation in _one_mode_each(links):
        names = equation.model.names
        q, v = np.zeros((2, len(names)))
        v[names.index("joint1")] = rate
        k = names.index("link1.y1")
        found.append(float(slopes(equation, q, v)[k, k] / equation.mass_matrix(q)[k, k]))
    return found


@cache
def _one_mode_each(links: int) -> list[Equation]:
    """Return the equations of one link or two in one mode that `chordwise_squares` compares."""
    name = "chen-rotating-link" if links == 1 else "chen-two-link-rigid-joints"
    values: dict[str, object] = {"gravity": [0.0] * 3, "links.1.joint": {"kind": "revolute"}}
    for k in range(1, links + 1):
        values[f"links.{k}.shapes"] = {"kind": "clamped-free", "bending_y": 1}
    return [
        formulation(kind, build(changed(name, values), stiffening=on), paper=paper)
        for kind, paper, on in (("composite", False, True), ("composite", False, False),
                                ("recursive-lagrange", True, True),
                                ("recursive-lagrange", True, False))
    ]  # fmt: skip
