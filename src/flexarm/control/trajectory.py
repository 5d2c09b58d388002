"""Reference motions for control laws: paths of postures, and timing laws."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import casadi as ca
import numpy as np
from numpy.polynomial import chebyshev

from flexarm.arguments import (
    WithUnit,
    is_word,
    refused,
    renamed,
    require_array,
    require_kind,
    require_mapping,
    require_number,
    require_numbers,
    shown,
)
from flexarm.arm.summary import Summarised, Summary
from flexarm.constants import NEGLIGIBLE
from flexarm.control.constants import PATH_ERROR, PATH_NODES
from flexarm.control.floating import Floating, base_along
from flexarm.control.statics import Statics, remaining, require_axes, require_point, untouched
from flexarm.errors import FlexarmError
from flexarm.formulations import DEFAULT, formulation
from flexarm.integrate.constants import LONGEST_RUN
from flexarm.linear.equilibrium import Equilibrium
from flexarm.linear.state_space import StateSpace
from flexarm.links.growing.fields import chebyshev_series
from flexarm.model import Model, trace_prescribed
from flexarm.spatial import Array, Expr

Kind = Literal["cycloid", "quintic", "septic", "trapezoid"]
KINDS: tuple[Kind, ...] = ("cycloid", "quintic", "septic", "trapezoid")


@dataclass(frozen=True)
class Timing:
    """A timing law: progress from 0 to 1 as a function of time.

    Attributes
    ----------
    kind
        ``cycloid`` (sinusoidal acceleration, Theodore & Ghosal 1995), ``quintic`` and ``septic``
        (polynomials with zero rate and acceleration at both ends; ``septic`` has zero jerk too) or
        ``trapezoid`` (constant acceleration, constant rate, constant deceleration).
    duration, begin
        Duration of the motion, and time of its beginning [s].
    ramp
        Fraction of the duration in which a trapezoid accelerates; deceleration takes the same time.
    """

    kind: Kind
    duration: float
    begin: float = 0.0
    ramp: float = 0.25

    def __post_init__(self) -> None:
        """Raise an error for an invalid kind, duration, beginning or ramp."""
        if not is_word(self.kind, KINDS):
            raise FlexarmError(f"timing: must be one of {', '.join(KINDS)}, got {shown(self.kind)}")
        bounds = {"duration": (NEGLIGIBLE, LONGEST_RUN), "begin": (0.0, LONGEST_RUN),
                  "ramp": (NEGLIGIBLE, 0.5)}  # fmt: skip
        for name, (least, largest) in bounds.items():
            unit = "1" if name == "ramp" else "s"
            value = getattr(self, name)
            number = require_number(
                f"timing: {name}", value, least=least, largest=largest, unit=unit
            )
            object.__setattr__(self, name, number)

    @property
    def end(self) -> float:
        """Time at which the motion ends [s]."""
        return self.begin + self.duration

    def trace(self, t: Expr) -> tuple[Expr, Expr, Expr]:
        """Return symbolic progress, rate [1/s] and acceleration [1/s^2] at a time [s]."""
        x = (t - self.begin) / self.duration
        shape = {"cycloid": _cycloid, "quintic": _quintic, "septic": _septic}.get(self.kind)
        s, rate, bend = shape(x) if shape else _trapezoid(x, self.ramp)
        inside = ca.logic_and(x >= 0, x < 1)  # at a jump, the value after the jump
        return (
            ca.if_else(x < 0, 0, ca.if_else(x >= 1, 1, s)),
            ca.if_else(inside, rate / self.duration, 0),
            ca.if_else(inside, bend / self.duration**2, 0),
        )


def _cycloid(x: Expr) -> tuple[Expr, Expr, Expr]:
    angle = 2 * math.pi * x
    return (
        x - ca.sin(angle) / (2 * math.pi),
        1 - ca.cos(angle),
        2 * math.pi * ca.sin(angle),
    )


def _quintic(x: Expr) -> tuple[Expr, Expr, Expr]:
    return (
        x**3 * (10 + x * (6 * x - 15)),
        30 * x**2 * (1 - x) ** 2,
        60 * x * (1 - x) * (1 - 2 * x),
    )


def _septic(x: Expr) -> tuple[Expr, Expr, Expr]:
    return (
        x**4 * (35 + x * (-84 + x * (70 - 20 * x))),
        140 * x**3 * (1 - x) ** 3,
        420 * x**2 * (1 - x) ** 2 * (1 - 2 * x),
    )


def _trapezoid(x: Expr, ramp: float) -> tuple[Expr, Expr, Expr]:
    top = 1 / (1 - ramp)  # the rate between the ramps
    up, down = x < ramp, x > 1 - ramp
    left = 1 - x
    s = ca.if_else(
        up,
        top * x**2 / (2 * ramp),
        ca.if_else(down, 1 - top * left**2 / (2 * ramp), top * (x - ramp / 2)),
    )
    rate = ca.if_else(up, top * x / ramp, ca.if_else(down, top * left / ramp, top))
    return s, rate, ca.if_else(up, top / ramp, ca.if_else(down, -top / ramp, 0))


@dataclass(frozen=True)
class Path:
    """Postures of an arm as a polynomial function of progress from 0 to 1."""

    series: Array  # Chebyshev coefficients over [0, 1] of the coordinates, (R, n)

    def trace(self, s: Expr) -> Expr:
        """Return the symbolic coordinates at a given progress, shape (n,)."""
        return chebyshev_series(self.series[:, :, None], (0.0, 1.0), s)

    def at(self, s: float | Array) -> Array:
        """Return the coordinates at given progress, shape (n,) or (T, n)."""
        values = chebyshev.chebval(2 * _line("s", s) - 1, self.series)
        return np.asarray(values.T)


@dataclass(frozen=True, repr=False)
class Trajectory(Summarised):
    """A reference motion: every coordinate of the arm as a function of time.

    Joints follow their path. Modal amplitudes and the motors of elastic joints have their
    equilibrium values; unless gravity deflects the arm, amplitudes are 0 and motors have their
    joints' positions. A free base moves from rest by the conservation of momentum, a moving base as
    prescribed.

    Attributes
    ----------
    model
        The arm.
    path
        Postures as a function of progress.
    timing
        Progress along the path as a function of time.
    motion
        Function of time [s] that returns coordinates, rates and accelerations, (n,) each.
    """

    model: Model
    path: Path
    timing: Timing
    motion: ca.Function

    def _summary(self) -> Summary:
        first, last = self.path.at(np.array([0.0, 1.0]))
        rows = [
            (axis.name, f"{first[axis.index]:.5g}", f"{last[axis.index]:.5g}", axis.unit)
            for axis in self.model.axes
        ]
        title = f"Trajectory of {self.model.arm.name}: {self.timing.kind}"
        lines = (f"from {self.timing.begin:g} to {self.end:g} s",)
        return Summary(title, lines, ("joint", "from", "to", "unit"), rows)

    @property
    def end(self) -> float:
        """Time at which the motion ends [s]."""
        return self.timing.end

    def at(self, times: Array | float) -> tuple[Array, Array, Array]:
        """Return coordinates, rates and accelerations at times [s], shape (T, n) each."""
        row = np.atleast_1d(_line("times", times))[None, :]
        q, v, a = (np.array(column).T for column in self.motion(row))
        return q, v, a

    def tip(self, times: Array | float) -> Array:
        """Return tip positions [m] of the reference motion at times [s], shape (T, 3)."""
        equation = formulation(DEFAULT, self.model)
        return equation.tip_pose(self.at(times)[0])[1]


def _line(name: str, value: object) -> Array:
    """Return a number or a sequence of numbers as a one-dimensional array."""
    numbers = require_array(name, value)
    if numbers.ndim > 1:
        raise refused(name, value, "one number, or a list of numbers")
    return numbers


def joint_move(
    model: Model,
    to: Mapping[str, WithUnit],
    timing: Timing,
    *,
    start: Mapping[str, WithUnit] | None = None,
    sag: bool = True,
) -> Trajectory:
    """Return a trajectory that moves driven joints along straight lines in joint space.

    Parameters
    ----------
    model
        The arm.
    to
        Final positions [rad], [m] by joint name; joints without a value do not move.
    timing
        Timing of the motion.
    start
        Initial positions by name; if None, the arm's start.
    sag
        Whether postures are static equilibria with bent links; if false, links are undeformed.

    Returns
    -------
    Trajectory
        Reference motion for laws.
    """
    require_mapping("to", to, "positions by joint", optional=False)
    model = untouched(model)
    statics = Statics(model, sag=sag)
    first = statics.at_joints(_positions("start", start, model))
    names = statics.drives.names
    begin = dict(zip(names, (statics.drives.hubs @ first).tolist(), strict=True))
    last = statics.at_joints(_positions("to", to, model), first)
    end = dict(zip(names, (statics.drives.hubs @ last).tolist(), strict=True))

    def posture(s: float, guess: Array) -> Array:
        joints = {name: (1 - s) * begin[name] + s * end[name] for name in names}
        return statics.at_joints(joints, guess)

    if not statics.loaded:
        path = Path(np.array([(first + last) / 2, (last - first) / 2]))
    else:
        path = fit_path(posture, first)
    return follow(model, _floated(model, path), timing)


def _floated(model: Model, path: Path) -> Path:
    """Return a path with the motion of a free base added; without a free base, the path itself."""
    if not model.floats:
        return path
    slope = chebyshev.chebder(path.series) * 2.0
    carried = base_along(
        Floating(model), path.at, lambda s: np.asarray(chebyshev.chebval(2 * s - 1, slope))
    )
    return fit_path(lambda s, _: carried(s), carried(0.0))


def _positions(name: str, value: object, model: Model) -> dict[str, float]:
    return require_numbers(name, value, "positions by joint", units=model.axis_units)


@renamed(at="about")
def hold(about: StateSpace | Equilibrium) -> Trajectory:
    """Return a trajectory at rest at the operating point of a linear model or an equilibrium.

    Returns
    -------
    Trajectory
        Reference motion for laws.
    """
    require_kind("about", about, (StateSpace, Equilibrium), "a StateSpace or an Equilibrium")
    model, point = about.model, about.point
    if np.any(point.v[remaining(model)]):
        raise FlexarmError(
            "about: must be a state at rest, got a state that moves. Linearise about another state."
        )
    still = Path(np.array([point.q, np.zeros(model.size)]))
    return follow(model, still, Timing("cycloid", 1.0))


def require_trajectory(value: object) -> None:
    """Raise an error unless the value is a `Trajectory`."""
    require_kind("trajectory", value, Trajectory, "a Trajectory, as joint_move returns")


def tip_move(
    model: Model,
    to: Array | tuple[float, ...] | Callable[[float], Array],
    timing: Timing,
    *,
    axes: str = "xyz",
    start: Mapping[str, WithUnit] | None = None,
    sag: bool = True,
) -> Trajectory:
    """Return a trajectory whose tip follows a straight line or a curve, by inverse kinematics.

    Parameters
    ----------
    model
        The arm.
    to
        Final position of the tip [m], one number per axis; or a smooth function that maps progress
        from 0 to 1 to a position of the tip.
    timing
        Timing of the motion.
    axes
        Axes of the positions among x, y, z: two axes for an arm that moves in a plane.
    start
        Initial positions of driven joints by name; if None, those of the arm's initial state.
    sag
        Whether positions refer to the tip of the arm bent in static equilibrium, which compensates
        sag; if false, to the tip of the undeformed arm.

    Returns
    -------
    Trajectory
        Reference motion for laws.

    Notes
    -----
    On a free base at rest, joint rates follow from the generalised Jacobian (Umetani & Yoshida
    1989), so that the tip follows the path in world axes. On a moving base, the path is given in
    world axes at time 0 and then moves with the base.
    """
    model = untouched(model)
    statics = Statics(model, sag=sag)
    require_axes(axes)
    goal = to if callable(to) else require_point("to", to, axes)
    first = statics.at_joints(_positions("start", start, model))
    chosen = ["xyz".index(axis) for axis in axes]
    begin = formulation(DEFAULT, model).tip_pose(first)[1][chosen]

    def point(s: float) -> Array:
        return np.asarray(goal(s) if callable(goal) else (1 - s) * begin + s * goal)

    def posture(s: float, guess: Array) -> Array:
        return statics.at_tip(point(s), axes, guess)

    if model.floats:
        carried = Floating(model).tip_along(statics, point, posture(0.0, first), chosen)
        return follow(model, fit_path(lambda s, _: carried(s), carried(0.0)), timing)
    return follow(model, fit_path(posture, posture(0.0, first)), timing)


def reaction_free_move(
    model: Model,
    to: Mapping[str, WithUnit],
    timing: Timing,
    *,
    start: Mapping[str, WithUnit] | None = None,
    sag: bool = True,
) -> Trajectory:
    """Return a trajectory of driven joints that preserves the attitude of a free base.

    Parameters
    ----------
    model
        The arm, at rest at the start.
    to
        Joint positions [rad], [m] by name that determine the direction of motion; joints without a
        value keep their position in that direction. The straight line to ``to`` is projected on
        motions that do not turn the base, so that the trajectory ends in another posture.
    timing
        Timing of the motion.
    start, sag
        As for `joint_move`.

    Returns
    -------
    Trajectory
        Reference motion for laws.

    Raises
    ------
    FlexarmError
        If every motion towards ``to`` turns the base.

    Notes
    -----
    Joint rates are in the null space of the coupling inertia between the base's rotation and the
    joints, from which the base's translation is eliminated (Nenchev, Umetani & Yoshida 1992). An
    arm of k driven joints has k - 3 independent reaction-free motions, or k - 1 in a plane.
    """
    require_mapping("to", to, "positions by joint", optional=False)
    model = untouched(model)
    statics, floating = Statics(model, sag=sag), Floating(model)
    first = statics.at_joints(_positions("start", start, model))
    hubs = statics.drives.hubs
    direction = hubs @ (statics.at_joints(_positions("to", to, model), first) - first)
    if not np.any(direction):
        raise FlexarmError("to: must move a driven joint, got the position that the arm is at")
    carried = floating.still_along(statics, direction, first)
    return follow(model, fit_path(lambda s, _: carried(s), carried(0.0)), timing)


def follow(model: Model, path: Path, timing: Timing) -> Trajectory:
    """Return the trajectory along a path with a given timing law."""
    require_kind("timing", timing, Timing, "a Timing, such as Timing('quintic', 1.0)")
    t, s = ca.SX.sym("t"), ca.SX.sym("s")
    q = path.trace(s)
    slope = ca.jacobian(q, s)
    bend = ca.jacobian(slope, s)
    shape = ca.Function("path", [s], [ca.densify(derivative) for derivative in (q, slope, bend)])
    progress, rate, change = timing.trace(t)
    posture, along, curved = shape.call([progress], True, False)
    results = [posture, along * rate, curved * rate**2 + along * change]
    for result, prescribed in zip(results, trace_prescribed(model, t), strict=True):
        result[list(model.prescribed)] = prescribed
    return Trajectory(
        model, path, timing, ca.Function("motion", [t], results, ["t"], ["q", "v", "a"])
    )


def fit_path(posture: Callable[[float, Array], Array], first: Array) -> Path:
    """Return a path through postures, as a Chebyshev series of sufficient degree.

    Parameters
    ----------
    posture
        Function of progress and of an initial guess, a posture nearby, that returns the coordinates
        (n,).
    first
        Coordinates at progress 0.
    """
    error = np.inf
    for count in PATH_NODES:
        nodes = np.sort((chebyshev.chebpts1(count) + 1) / 2)
        rows, guess = [], first
        for s in nodes:
            guess = posture(float(s), guess)
            rows.append(guess)
        series = chebyshev.chebfit(2 * nodes - 1, np.array(rows), count - 1)
        size = max(float(np.abs(rows).max()), 1e-9)
        error = float(np.abs(series[-2:]).max()) / size
        if error <= PATH_ERROR:
            degree = 1 + max(
                (k for k in range(count) if np.abs(series[k]).max() > PATH_ERROR * size / 100),
                default=0,
            )
            return Path(np.asarray(series[: max(degree, 2)], dtype=float))
    raise FlexarmError(
        f"the postures along the path are not smooth enough: {error:.1e} of their size is left "
        f"after {PATH_NODES[-1]} nodes. The path may pass close to a singular posture. Choose "
        "another path, or split it."
    )
