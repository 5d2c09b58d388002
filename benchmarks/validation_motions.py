"""Validation of motions: spin-up, a boom that slides out, falls and torques."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import fields
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.polynomial import Polynomial
from scipy.integrate import simpson
from scipy.optimize import least_squares, root

import validation_data as data
from flexarm import build, example_arm, formulation, modes, simulate
from flexarm.arm import Arm
from flexarm.integrate.methods import METHODS
from flexarm.integrate.problem import StateLimit
from flexarm.integrate.results import run_of
from flexarm.integrate.solve import new_state, solve
from flexarm.integrate.task import InitialValueProblem, prepare, sample_times
from flexarm.io.model_file import change_arm, loads
from flexarm.model import Model
from flexarm.runs.run import Run
from validation_data import Printed, Row

Array = npt.NDArray[np.float64]
BOOM = 6  # shapes of the boom
SIZE = 1e-4  # of the boom's deflection: the problem is linear
SHEAR_WHY = "the reference includes shear, flexarm's links do not"
STRETCH_WHY = "4 modes of stretch have an error of 0.1 %"
ORDER_WHY = (
    "second-order theory truncates the energies, exact links do not; the difference of 0.6 mm is "
    "0.1 % of the range, and large relative to the small deflection at 15 s"
)
EXACT_WHY = "8 shapes give the same: the last digit of the reference is not certain"
CUT_WHY = "flexarm's links are exact beams, which is another model"
FRAME_WHY = (
    "errors of the tip are at most 0.06 % of its largest displacement, 8.44 m; with 8, 8, 6 and 2 "
    "shapes they are at most 0.03 %"
)
SERIES_WHY = "these numbers are with 6 shapes; the row above has the power series"
BEND_WHY = "the root's curvature converges more slowly with the shapes than the deflection"
EARLY_WHY = "the reference is for second-order links, with few digits"
LAST_WHY = "the last digits of the reference are not certain"


def changed(name: str, **values: Any) -> Arm:
    """Load a sample with other values; two underscores stand for a dot."""
    return change_arm(example_arm(name), {key.replace("__", "."): v for key, v in values.items()})


def tip(run: Run, axis: str) -> Array:
    """Give the deflection of the first link's tip along an axis of its root [m], (T,)."""
    return np.asarray(run.dataset.deflection.sel(link="link1", station=1, axis=axis).values)


def at(run: Run, values: Array, times: Sequence[float]) -> tuple[float, ...]:
    """Pick values at times that were kept."""
    return tuple(float(values[int(np.argmin(np.abs(run.t - t)))]) for t in times)


def spin_up() -> Iterator[Row]:
    """Compare the beam of Simo & Vu-Quoc."""
    cases = data.SPIN_UP
    names = list(cases)
    shapes = {"kind": "loaded", "bending_y": 5, "stretch": 4}
    how = "5 loaded modes, 4 of stretch"
    rest = changed("spin-up-beam", links__1__shapes=shapes)
    thin = {"mass_per_length": 1.2, "EIz": 1.4e4, "EA": 2.8e7}
    first = modes(change_arm(rest, {"links.1.section": thin}), joints="locked").modes[0]
    yield Row(names[0], cases[names[0]], (first.frequency_rad_s,), f"{how}, no rotary inertia")
    run = simulate(rest, t_end=20, dt=1e-3, rtol=1e-7)
    across, along = tip(run, "y"), tip(run, "x")
    lowest = int(np.argmin(across))
    steady = float(np.mean(along[run.t > 15]))
    found = (across[lowest], run.t[lowest], along[lowest], steady)
    for name, value in zip(names[1:5], found, strict=True):
        why = STRETCH_WHY if name.startswith("steady") else SHEAR_WHY
        yield Row(name, cases[name], (float(value),), how, why)
    largest = (float(across[lowest]), float(run.t[lowest]))
    yield Row(names[5], cases[names[5]], largest, how, ORDER_WHY)
    yield Row(names[6], cases[names[6]], at(run, across, (5, 10, 15)), how, ORDER_WHY)
    soft = changed("spin-up-beam", links__1__shapes=shapes | {"stretch": 0}, stiffening=False)
    run = _march(build(soft), 10.0, 0.5, 1e-9)
    yield Row(names[7], cases[names[7]], at(run, tip(run, "y"), (5, 7.5, 10)),
              "5 loaded modes, not stopped as `simulate` would",
              "the reference is truncated at 1.4645, not rounded")  # fmt: skip


def right_angle() -> Iterator[Row]:
    """Compare the right-angle cantilever of Simo & Vu-Quoc."""
    link = {
        "length": 10,
        "section": {"mass_per_length": 1, "EIy": 1e3, "EIz": 1e3, "GJ": 1e3, "EA": 1e6,
                    "Jx": 20, "Jy": 10, "Jz": 10},
        "shapes": {"kind": "loaded", "bending_y": 6, "bending_z": 6, "torsion": 4, "stretch": 2},
    }  # fmt: skip
    factor = {"kind": "table", "times": [0, 1, 2, 10], "values": [0, 1, 0, 0]}
    load = {"at": "tip", "force": [0, 0, 50], "factor": factor}
    elbow = {"kind": "fixed", "before": {"rotation": [0, 0, "90 deg"]}}
    frame = Arm.model_validate({
        "flexarm": 1, "name": "right-angle cantilever", "gravity": [0, 0, 0],
        "links": [link | {"joint": {"kind": "fixed"}, "wrenches": [load]}, link | {"joint": elbow}],
    })  # fmt: skip
    run = simulate(frame, t_end=10, dt=1.0, rtol=1e-5)
    for time, numbers in data.RIGHT_ANGLE.items():
        where = run.dataset.tip_position.sel(time=time).values
        yield Row(f"tip at {time} s [m]", Printed(data.FRAME, numbers), tuple(where.tolist()),
                  "6 loaded modes each way, 4 of torsion, 2 of stretch", FRAME_WHY)  # fmt: skip


def similar(K: float, *, axial: bool = True) -> tuple[complex, Polynomial]:
    """Find exponent s and shape f of w = L^s f(xi/L) by power series.

    K f'''' + e^2 f'' + (3 - 2s) e f' + s (s - 2) f - (e f'' + f') = 0, free at e = 0 and clamped at
    1; the last bracket is the axial inertia force.
    """
    force = 1.0 if axial else 0.0

    def series(s: complex, slope: complex) -> npt.NDArray[np.complex128]:
        a = np.zeros(84, dtype=complex)
        a[:2] = 1.0, slope
        for k in range(80):
            low = (k * (k - 1) + (3 - 2 * s) * k + s * (s - 2)) * a[k]
            low -= force * (k + 1) ** 2 * a[k + 1]
            a[k + 4] = -low / (K * (k + 4) * (k + 3) * (k + 2) * (k + 1))
        return a

    def residual(x: Array) -> list[float]:
        a = series(complex(x[0], x[1]), complex(x[2], x[3]))
        value, slope = a.sum(), a @ np.arange(len(a))
        return [value.real, value.imag, slope.real, slope.imag]

    x = root(residual, [0.5, 3.516 * math.sqrt(K), -1.376, 0.0], tol=1e-14).x
    return complex(x[0], x[1]), Polynomial(series(complex(x[0], x[1]), complex(x[2], x[3])))


def telescope(K: float, lengths: Array, times: Array, *, stiffening: bool = True) -> Arm:
    """Make the telescope with another law of length, with which it begins straight."""
    motion = {"kind": "table", "interpolation": "cubic", "times": times.tolist(),
              "values": lengths.tolist()}  # fmt: skip
    return changed("telescope", links__1__section={"mass_per_length": 1, "EIz": K},
                   links__1__shapes={"kind": "loaded", "bending_y": BOOM},
                   links__1__joint__motion=motion, stiffening=stiffening,
                   links__1__start={})  # fmt: skip


class Shapes:
    """The telescope's shapes at points along its length, stretched with it."""

    def __init__(self, arm: Arm) -> None:
        sliding = build(arm).links[0].sliding_beam.shapes
        assert sliding is not None
        node, weight = np.polynomial.legendre.leggauss(40)
        self.e, self.weight = (node + 1) / 2, weight / 2  # e from the tip
        short = sliding.at(1.0)
        self.value, self.slope, self.bend = (short.values("y", 1 - self.e, k) for k in (0, 1, 2))
        self.root_bend = short.values("y", np.zeros(1), 2)[0]

    def project(self, values: Array) -> Array:
        """Find the amplitudes of a curve."""
        scale = np.sqrt(self.weight)
        found = np.linalg.lstsq(self.value * scale[:, None], values * scale, rcond=None)[0]
        return np.asarray(found, dtype=float)

    def drift(self, d: Array) -> Array:
        """Find how fast material points move across at unit length and speed and amplitudes d."""
        return np.asarray((self.slope @ d) * self.e)

    def energy(self, q: Array, v: Array) -> float:
        """Sum transverse motion and bending, with unit mass per length and stiffness [J]."""
        length, d = q[0], q[1:]
        moved = self.value @ v[1:] + self.drift(d) * v[0] / length
        return float(length * self.weight @ (moved**2 + (self.bend @ d / length**2) ** 2) / 2)


def begin(arm: Arm, d: Array, rates: Array) -> Arm:
    """Let a telescope begin with amplitudes and their rates."""
    names = [f"y{k}" for k in range(1, len(d) + 1)]
    return change_arm(arm, {
        "links.1.start": dict(zip(names, d.tolist(), strict=True)),
        "links.1.start_speed": dict(zip(names, rates.tolist(), strict=True)),
    })  # fmt: skip


def deploying() -> Iterator[Row]:
    """Compare the boom with its similarity solution, and its energy at constant speed."""
    names = list(data.DEPLOYED)
    times = np.linspace(0, 2, 401)
    for K, axial, cases in ((1.0, True, names[:2]), (100.0, True, names[2:3]),
                            (1.0, False, names[3:4])):  # fmt: skip
        s, f = similar(K, axial=axial)
        arm = telescope(K, np.sqrt(1 + 2 * times), times, stiffening=axial)
        shapes = Shapes(arm)
        e = shapes.e
        d = shapes.project(f(e).real * SIZE)
        moved = (s * f(e) - e * f.deriv()(e)).real * SIZE
        arm = begin(arm, d, shapes.project(moved - shapes.drift(d)))
        run = simulate(arm, t_end=1.5, dt=1.5 / 600, method="dop853", rtol=1e-9)
        how = f"{BOOM} loaded modes, stretched" + ("" if axial else ", stiffening off")
        for name in cases:
            known = (2**s).real if name.startswith("tip") else s.imag
            printed = Printed(data.DEPLOYING, data.DEPLOYED[name])
            yield Row(name, printed, (known,), "power series of the solution, 80 terms", LAST_WHY)
            ours = tip(run, "y")[-1] / SIZE if name.startswith("tip") else _fitted(run, s).imag
            yield Row(name, printed, (float(ours),), how, SERIES_WHY)
        if cases == names[:2]:
            printed = Printed(data.DEPLOYING, data.DEPLOYED[names[5]])
            yield Row(names[5], printed, (_fitted(run, s).real,), how, SERIES_WHY)
    yield _energy_law(names[4])


def _fitted(run: Run, guess: complex) -> complex:
    """Fit s to the motion of the tip."""
    length, moved = run.q[:, 0], tip(run, "y") / SIZE

    def misfit(s: Array) -> Array:
        return np.asarray(length ** s[0] * np.cos(s[1] * np.log(length)) - moved)

    start = [guess.real, guess.imag]
    return complex(*least_squares(misfit, start, xtol=1e-14, ftol=1e-14, gtol=1e-14).x)


def _energy_law(name: str) -> Row:
    """Compare what bending loses at constant speed with what beam theory says."""
    speed, times = 0.5, np.linspace(0, 1.1, 12)
    arm = telescope(1.0, 1 + speed * times, times)
    shapes = Shapes(arm)
    run = simulate(begin(arm, 1e-3 * np.eye(BOOM)[0], np.zeros(BOOM)), t_end=1, dt=1e-3,
                   method="dop853", rtol=1e-9)  # fmt: skip
    lost = shapes.energy(run.q[0], run.v[0]) - shapes.energy(run.q[-1], run.v[-1])
    bend = run.q[:, 1:] @ shapes.root_bend / run.q[:, 0] ** 2
    law = float(simpson(speed * bend**2 / 2, x=run.t))
    printed = Printed("beam theory", data.DEPLOYED[name])
    return Row(name, printed, (lost / law,), f"{BOOM} loaded modes, stretched", BEND_WHY)


def trajectories() -> Iterator[Row]:
    """Compare the double pendulum, a fall, a driven link and the Puma."""
    yield from pendulum()
    yield from _fall()
    yield from _driven()
    yield from puma()


def pendulum() -> Iterator[Row]:
    """Compare the double pendulum."""
    rod = "  - {joint: {kind: revolute}, length: 1, section: {mass_per_length: 1}, rigid: true}\n"
    arm = loads(f"flexarm: 1\nname: pendulum\ngravity: [0, -9.81, 0]\nlinks:\n{2 * rod}")
    run = simulate(arm, t_end=1, dt=0.5, method="dop853", rtol=1e-12)
    for t, numbers in data.PENDULUM.items():
        k = int(np.argmin(np.abs(run.t - t)))
        (q1, q2), (v1, v2) = run.q[k], run.v[k]
        ours = (q1 + math.pi / 2, q1 + q2 + math.pi / 2, v1, v1 + v2)
        printed = Printed("explicit equations, 30 digits", numbers)
        yield Row(f"double pendulum, {t} s", printed, tuple(map(float, ours)), "dop853, rtol 1e-12")
    found = modes(arm, at={"joint1": -math.pi / 2}, joints="free").modes
    yield Row("its small swings [rad/s]", Printed("by hand", data.SMALL_SWINGS),
              tuple(mode.frequency_rad_s for mode in found), "`flexarm.modes`")  # fmt: skip


def _fall() -> Iterator[Row]:
    arm = example_arm("korayem-two-link")
    runs = {
        "exact rotation": _march(build(arm, stiffening=False), 1.0, 0.25, 1e-10),
        "series": _march(build(arm, stiffening=True, series=True), 1.0, 0.25, 1e-10),
        "exact links": _march(build(arm, stiffening=True), 1.0, 0.25, 1e-10),
        "first-order rotation": _march(
            build(arm, stiffening=False, tip_rotation="first-order"), 1.0, 0.25, 1e-10
        ),
    }
    for (kind, t), numbers in data.FALL.items():
        run = runs[kind]
        th1, w1, th2, w2 = run.q[int(np.argmin(np.abs(run.t - t)))].tolist()
        ours = (th1 + math.pi / 2, th2, w1, w2)
        how = "1 clamped-free mode, " + ("series" if kind == "series" else "dop853, rtol 1e-10")
        yield Row(f"fall, {kind}, {t} s", Printed(data.LAGRANGE, numbers), ours, how,
                  EARLY_WHY)  # fmt: skip


class _Unwatched(InitialValueProblem):
    """A motion that nothing ends before its time."""

    @cached_property
    def state_limits(self) -> tuple[StateLimit, ...]:
        """No bounds."""
        return ()


def _march(model: Model, t_end: float, dt: float, rtol: float) -> Run:
    """Simulate a model as it was built, and do not stop at large deflections."""
    kind = "lagrange" if model.tip_rotation == "first-order" else "articulated"
    task = prepare(model, sample_times(t_end, dt), equation=formulation(kind, model))
    method = METHODS["dop853"]
    unwatched = _Unwatched(**{each.name: getattr(task, each.name) for each in fields(task)})
    return run_of(task, method, solve(new_state(unwatched, method, rtol)), rtol, "")


def _driven() -> Iterator[Row]:
    shapes = {"kind": "clamped-free", "bending_y": 5}
    how = "5 clamped-free modes"
    run = _driven_run("driven-link", shapes)
    angle, bent, energy = run.q[:, 0], tip(run, "y"), run.energy.sum(axis=1)
    cut = _march(build(run.model.arm, series=True), 1.0, 0.25, 1e-9)
    soft = _driven_run("driven-link", shapes, stiffening=False)
    loaded = _driven_run("driven-link-payload", {"kind": "loaded", "root": "free", "bending_y": 5})
    ours = (
        *(at(cut, cut.q[:, 0], (t,)) + at(cut, tip(cut, "y"), (t,)) for t in (0.25, 0.5, 1.0)),
        at(cut, cut.energy.sum(axis=1), (1.0,)),
        at(soft, soft.q[:, 0], (0.5,)) + at(soft, tip(soft, "y"), (0.5,)),
        at(run, bent, (0.5,)), at(run, angle, (1.0,)), at(run, energy, (1.0,)),
        at(loaded, tip(loaded, "y"), (0.25,)),
        *(at(run, angle, (t,)) + at(run, bent, (t,)) for t in (0.25, 0.5)),
    )  # fmt: skip
    reasons = {data.EXACT_BEAM: EXACT_WHY, data.SECOND_ORDER: CUT_WHY}
    for (name, printed), values in zip(data.DRIVEN.items(), ours, strict=True):
        why = reasons.get(printed.source, LAST_WHY)
        with_ = "5 loaded modes, root free" if name.startswith("payload") else how
        with_ += ", series" if printed.source == data.LAGRANGE and "without" not in name else ""
        yield Row(f"driven link, {name}", printed, values, with_, why)


def _driven_run(name: str, shapes: dict[str, Any], *, stiffening: bool = True) -> Run:
    arm = changed(name, links__1__shapes=shapes, stiffening=stiffening)
    return simulate(arm, t_end=1, dt=0.25, method="dop853", rtol=1e-9)


def puma() -> Iterator[Row]:
    """Compare the Puma."""
    model = build(example_arm("puma-560"))
    equation = formulation("composite", model)
    q = np.radians([0, 45, 180, 0, 45, 0])
    M, gravity = equation.mass_matrix(q), equation.gravity(q)
    picked = (gravity[[1, 2, 4]], M[0, :3], M[[1, 1, 2], [1, 2, 2]], M[[3, 4, 5], [3, 4, 5]])
    for (name, numbers), values in zip(data.PUMA.items(), picked, strict=True):
        ours = tuple(values.tolist())
        yield Row(f"Puma 560, {name}", Printed(data.CORKE, numbers), ours, "rigid, `composite`")
