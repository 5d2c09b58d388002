"""Input shapers, and the motions of a model file shaped for the arm's natural vibrations.

A shaper is a sequence of impulses that, convolved with a command, suppresses vibration modes.
Sources: Singer & Seering 1990 (ZV, ZVD, ZVDD and the residual vibration), Singhose, Seering &
Singer 1994 (EI), Hyde & Seering 1991 (several modes by convolution).
"""

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from flexarm.arguments import (
    require_array,
    require_count,
    require_flag,
    require_kind,
    require_number,
    require_positive,
    require_word,
)
from flexarm.arm import Arm
from flexarm.arm.summary import Summarised, Summary
from flexarm.check.report import axis_place
from flexarm.constants import CURVE_POINTS, NEGLIGIBLE
from flexarm.errors import FlexarmError
from flexarm.figures import COLOURS, drawable, panels
from flexarm.integrate.simulate import simulate_whole
from flexarm.io.model_file import change_arm, validated
from flexarm.linear.tangent import Tangent
from flexarm.model import Model, build
from flexarm.model.profiles import (
    AnyProfile,
    breakpoints,
    evaluate,
    evaluate_at,
    last_time,
    pieces,
)
from flexarm.planning.constants import (
    CURVE_RANGE,
    DOUBTED_SHARE,
    EI_VIBRATION,
    POSTURES,
    PRINTED_VIBRATIONS,
    REST_SHARE,
    SEPARABLE_MOTION,
    TABLE_POINTS,
    WORTHWHILE_RATIO,
)
from flexarm.planning.vibrations import Vibrations, line_up, vibrations
from flexarm.runs.run import Run
from flexarm.spatial import Array
from flexarm.threads import one_blas_thread

if TYPE_CHECKING:
    from matplotlib.figure import Figure


ShaperKind = Literal["zv", "zvd", "zvdd", "ei"]
KINDS: tuple[ShaperKind, ...] = get_args(ShaperKind)


@dataclass(frozen=True, repr=False)
class Shaper(Summarised):
    """An input shaper: a sequence of impulses whose amplitudes add up to 1.

    Attributes
    ----------
    times, amplitudes
        Times of the impulses [s], from 0 on, and their amplitudes, (k,) each.
    label
        Kind of the shaper, or kinds joined by ``*``.
    """

    times: Array
    amplitudes: Array
    label: str

    def _summary(self) -> Summary:
        pairs = zip(self.times.tolist(), self.amplitudes.tolist(), strict=True)
        return Summary(
            f"shaper {self.label}: {len(self.times)} impulses in {self.duration:.6g} s", (),
            ("time [s]", "amplitude"), [(f"{t:.6g}", f"{a:.6g}") for t, a in pairs],
        )  # fmt: skip

    @property
    def duration(self) -> float:
        """Time by which the shaper lengthens a motion [s]."""
        return float(self.times[-1])

    def then(self, other: "Shaper") -> "Shaper":
        """Return the convolution with another shaper, which suppresses the modes of both."""
        times = np.add.outer(self.times, other.times).ravel()
        sizes = np.multiply.outer(self.amplitudes, other.amplitudes).ravel()
        order = np.argsort(times, kind="stable")
        times, sizes = times[order], sizes[order]
        apart = np.diff(times, prepend=-1.0) > NEGLIGIBLE * max(times[-1], 1e-300)
        joined = np.add.reduceat(sizes, np.flatnonzero(apart))
        return Shaper(times[apart], joined, f"{self.label} * {other.label}")

    def residual(self, frequency: ArrayLike, damping: ArrayLike = 0.0) -> Array:
        """Return the residual vibration of a mode, relative to that after a single impulse.

        Parameters
        ----------
        frequency, damping
            Natural frequency [rad/s] and damping ratio of the mode, numbers or arrays.

        Notes
        -----
        Singer & Seering 1990, eq. 10: the residual is ``exp(-z w t_k) sqrt(C^2 + S^2)``. C and S
        are the sums of ``A exp(z w t) cos(w_d t)`` and ``A exp(z w t) sin(w_d t)`` over the
        impulses of time t and amplitude A, the last at t_k. The mode has frequency w, damping ratio
        z and damped frequency w_d.
        """
        w, z = (require_array(name, value)[..., None] for name, value in
                (("frequency", frequency), ("damping", damping)))  # fmt: skip
        grown = self.amplitudes * np.exp(z * w * (self.times - self.times[-1]))
        phase = w * np.sqrt(1 - z**2) * self.times
        sums = (grown * np.cos(phase)).sum(-1), (grown * np.sin(phase)).sum(-1)
        return np.asarray(np.hypot(*sums))


def shaper(
    kind: ShaperKind, frequency: float, damping: float = 0.0, *, vibration: float = EI_VIBRATION
) -> Shaper:
    """Return the input shaper of the given kind for one vibration mode.

    Parameters
    ----------
    kind
        ``zv`` leaves no vibration at ``frequency``. With ``zvd``, the first derivative of the
        residual vibration with respect to frequency is 0 as well, with ``zvdd`` also the second.
        ``ei`` leaves the residual ``vibration`` at ``frequency``, and less in a band around it.
    frequency, damping
        Natural frequency [rad/s] and damping ratio of the mode.
    vibration
        Residual vibration of an ``ei`` shaper at ``frequency``, relative to unshaped vibration.
    """
    require_word("kind", kind, KINDS)
    w = require_positive("frequency", frequency, unit="rad/s")
    z = require_number("damping", damping, least=0.0)
    if not z < 1:
        raise FlexarmError(
            f"damping: must be below 1, since an overdamped mode does not ring, got {z:g}"
        )
    half = math.pi / (w * math.sqrt(1 - z**2))
    if kind == "ei":
        v = require_number("vibration", vibration, least=0.0, largest=0.5)
        return _ei(half, z, v)
    decay = math.exp(-math.pi * z / math.sqrt(1 - z**2))
    order = KINDS.index(kind) + 1
    sizes = np.array([math.comb(order, k) * decay**k for k in range(order + 1)])
    return Shaper(half * np.arange(order + 1.0), sizes / sizes.sum(), kind.upper())


def _ei(half: float, damping: float, v: float) -> Shaper:
    """Return an EI shaper, with vibration v at the mode's frequency and 0 at both sides of it.

    Half a damped period is ``half`` [s]. Without damping the amplitudes of the three impulses are
    (1 + v)/4, (1 - v)/2 and (1 + v)/4; with damping the equations are solved by continuation in the
    damping ratio.
    """
    from scipy.optimize import root

    def made(x: Array) -> Shaper:
        times = np.array([0.0, x[2], 2.0]) * half
        return Shaper(times, np.array([x[0], 1 - x[0] - x[1], x[1]]), "EI")

    def left(x: Array, z: float) -> Array:
        solution, w = made(x), math.pi / (half * math.sqrt(1 - z**2))
        poles = w * x[3:] * complex(z, math.sqrt(1 - z**2))
        sums = np.exp(np.outer(poles, solution.times - 2 * half)) @ solution.amplitudes
        return np.array([float(solution.residual(w, z)) - v, *sums.real, *sums.imag])

    side = math.acos((1 - v) / (1 + v)) / math.pi
    guess = np.array([(1 + v) / 4, (1 + v) / 4, 1.0, 1 - side, 1 + side])
    for z in np.linspace(0.0, damping, 2 + int(50 * damping))[1:] if damping else ():
        solution = root(left, guess, args=(float(z),), tol=1e-13)
        if np.abs(left(solution.x, float(z))).max() > NEGLIGIBLE:
            raise FlexarmError(
                f"damping: no EI shaper was found for a damping ratio of {damping:g}. Use zvd."
            )
        guess = solution.x
    return made(guess)


def shaper_of_modes(
    kind: ShaperKind,
    modes: Sequence[tuple[float, float]],
    *,
    vibration: float = EI_VIBRATION,
) -> Shaper:
    """Return the shaper of several modes, given as natural frequency [rad/s] and damping ratio."""
    if not modes:
        raise FlexarmError("modes: must be at least one mode, got none")
    mode_shapers = [shaper(kind, w, z, vibration=vibration) for w, z in modes]
    return reduce(Shaper.then, mode_shapers)


def impulses(
    kind: ShaperKind, modes: Sequence[tuple[float, float]], *, vibration: float = EI_VIBRATION
) -> Shaper:
    """Return the convolved shaper of several modes, with impulses neither sorted nor merged.

    The order of impulses does not depend on the frequencies, so that shapers of different postures
    can be interpolated.
    """
    mode_shapers = [shaper(kind, w, z, vibration=vibration) for w, z in modes]
    times = reduce(np.add.outer, [mode_shaper.times for mode_shaper in mode_shapers])
    sizes = reduce(np.multiply.outer, [mode_shaper.amplitudes for mode_shaper in mode_shapers])
    return Shaper(
        np.ravel(times),
        np.ravel(sizes),
        " * ".join(mode_shaper.label for mode_shaper in mode_shapers),
    )


def plot_robustness(
    shapers: Mapping[str, Shaper],
    frequency: float,
    damping: float = 0.0,
    *,
    band: tuple[float, float] = CURVE_RANGE,
) -> "Figure":
    """Draw the residual vibration of shapers over the actual frequency of a mode.

    Parameters
    ----------
    shapers
        Shapers by label.
    frequency, damping
        Design frequency [rad/s] of the shapers, and damping ratio of the mode.
    band
        Range of the actual frequency, relative to ``frequency``.
    """
    shares = np.linspace(*band, CURVE_POINTS)
    figure, ((panel,),) = panels((7, 4))
    for k, (name, shaper) in enumerate(shapers.items()):
        require_kind("shapers", shaper, Shaper, "Shapers by name")
        left = 100 * shaper.residual(shares * frequency, damping)
        panel.plot(shares, left, color=COLOURS[k % len(COLOURS)], label=drawable(name))
    panel.axhline(5, color="#6d7884", linewidth=0.8, linestyle=":")
    panel.set(
        xlabel="frequency of the mode over that of the shaper",
        ylabel="vibration left [% of unshaped]",
        xlim=band, ylim=(0, None),
    )  # fmt: skip
    panel.legend(frameon=False)
    return figure


BEYOND = "motion beyond the linear model"
NOTHING = Shaper(np.zeros(1), np.ones(1), "none")


@dataclass(frozen=True, repr=False)
class ShapedInputs(Summarised):
    """An arm whose motions are convolved with input shapers.

    Printing an instance simulates the arm with and without shaping, and reports the residual
    vibrations.

    Attributes
    ----------
    arm
        The arm with shaped motions, which `flexarm.save` writes.
    unshaped
        The arm without shaping.
    end
        End of the shaped motions [s].
    shapers
        Shapers at postures along the motion, or a single shaper for the final posture.
    vibrations
        Vibrations of the arm at these postures, with modes in the order of the last posture.
    kind
        Kind of the shapers.
    """

    arm: Arm
    unshaped: Arm
    end: float
    shapers: tuple[Shaper, ...]
    vibrations: tuple[Vibrations, ...]
    kind: ShaperKind

    def _summary(self) -> Summary:
        at_end, shaper = self.vibrations[-1], self.shapers[-1]
        left = 100 * shaper.residual(at_end.frequency, at_end.damping)
        swings = np.where(
            at_end.swing > NEGLIGIBLE * at_end.swing.max(),
            1e3 * at_end.swing,
            0.0,
        )
        left[left < 100 * NEGLIGIBLE] = 0.0
        rows = [
            (name, f"{w / (2 * np.pi):.5g}", f"{z:.4g}", f"{swing:.3g}",
             "yes" if k in at_end.order[: self.modes] else "", f"{share:.3g}")
            for k, (name, w, z, swing, share) in enumerate(zip(
                at_end.names, at_end.frequency, at_end.damping, swings, left, strict=True))
        ]  # fmt: skip
        named = ", ".join(f"{name} ({hertz} Hz)" for name, hertz, *_, yes, _ in rows if yes)
        # The modes for which the shapers are designed, and those with the largest residuals, come
        # first.
        worst = np.argsort(-swings * left, kind="stable")
        first = list(dict.fromkeys([*at_end.order[: self.modes], *worst]))[:PRINTED_VIBRATIONS]
        rest = set(range(len(rows))) - set(first)
        rows = [rows[k] for k in (*sorted(first), *sorted(rest))]
        simulated = self.__dict__.get("residuals")
        lines = [f"for {named}", f"{shaper.duration:.4g} s longer: over at {self.end:.4g} s"]
        if simulated:
            lines.append(
                f"tip vibration after {self.end:.4g} s: {1e3 * simulated[1]:.4g} mm, unshaped "
                f"{1e3 * simulated[0]:.4g} mm"
            )
        postures = f" at {len(self.shapers)} postures" if len(self.shapers) > 1 else ""
        return Summary(
            f"{self.arm.name}, motions shaped by {shaper.label}{postures}",
            tuple(lines),
            ("vibration", "[Hz]", "damping ratio", "tip by a step [mm]", "shaped for", "left [%]"),
            rows, PRINTED_VIBRATIONS,
        )  # fmt: skip

    def __str__(self) -> str:
        """Return a summary with the residual tip vibration, which is found by simulation."""
        self.residuals  # noqa: B018  simulates
        return repr(self)

    @property
    def modes(self) -> int:
        """Number of vibration modes for which the shapers are designed."""
        return self.shapers[-1].label.count("*") + 1

    @cached_property
    def runs(self) -> tuple[Run, Run]:
        """Simulations of the arm without and with shaped motions.

        The simulations continue for two periods of the slowest vibration after the end of the
        shaped motion.
        """
        slowest = 2 * np.pi / self.vibrations[-1].first(1)[0][0]
        t_end = self.end + 2 * float(slowest)
        dt = float(slowest) / 100
        first, second = (
            simulate_whole(arm, t_end=t_end, rtol=1e-6, dt=dt)
            for arm in (_held(self.unshaped), self.arm)
        )
        return first, second

    @cached_property
    def residuals(self) -> tuple[float, float]:
        """Residual vibration amplitude of the tip [m], without and with shaping.

        The amplitude is evaluated after the end of the shaped motion. A warning is issued if
        shaping increases the amplitude.
        """
        first, second = (run.settling(self.end).swing for run in self.runs)
        if second > first:
            warnings.warn(
                f"shaped, the tip swings by {second:.3g} m after {self.end:.4g} s, unshaped by "
                f"{first:.3g} m: {self.cause}",
                stacklevel=3,
            )
        return first, second

    @cached_property
    def cause(self) -> str:
        """A sentence on the dominant part of the residual tip motion, with a remedy."""
        at_end, name = (
            self.vibrations[-1],
            max(self.left, key=lambda part: self.left[part]),
        )
        head = f"most of it is {name}"
        axes = self.runs[1].model.axes
        no_servo = [axis.name for axis in axes if axis.acts.servo is None and not axis.prescribed]
        if no_servo and self.left[BEYOND] > DOUBTED_SHARE * self.left[name]:
            return (
                f"much of it is {BEYOND}, which holds {', '.join(no_servo)} for want of a servo: "
                f"give {'it' if len(no_servo) == 1 else 'each'} one, or take a slower motion"
            )
        if name in at_end.lags:
            lasts = -1 / at_end.lags[name].real
            return (
                f"{head}, which comes to rest without ringing, with a time constant of "
                f"{lasts:.3g} s: no shaper shortens that. Raise the servo's stiffness or "
                "lower its damping."
            )
        if name not in at_end.names:
            return f"{head}: take a slower motion"
        k = at_end.names.index(name)
        hertz = f"{at_end.frequency[k] / (2 * np.pi):.4g} Hz"
        rank = at_end.order.tolist().index(k) + 1
        if rank > self.modes:
            hardly = "" if k in at_end.excited else ", which the targets alone hardly excite"
            return f"{head} ({hertz}){hardly}, not shaped for: take modes={rank} (--modes {rank})"
        helps = [] if self.kind == "zvdd" else ["'zvdd'"]
        helps += [] if len(self.shapers) > 1 else ["follow_posture (--follow-posture)"]
        return (
            f"{head} ({hertz}), for which it is shaped: try "
            f"{', or '.join(helps) or 'a slower motion'}"
        )

    @cached_property
    def left(self) -> dict[str, float]:
        """Amplitude [m] of each oscillating or decaying mode in the residual tip motion.

        Notes
        -----
        The tip's position over time t is fitted, by least squares, by a constant and by
        ``exp(s t)`` for the arm's eigenvalues s; the remainder is listed separately.
        """
        run, at_end = self.runs[1], self.vibrations[-1]
        t, tip = (x[run.t >= self.end - 1e-9] for x in (run.t, run.tip))
        rings = at_end.frequency * (-at_end.damping + 1j * np.sqrt(1 - at_end.damping**2))
        every = dict(zip(at_end.names, rings.tolist(), strict=True)) | at_end.lags
        step = float(t[1] - t[0])
        responses = {name: np.exp(s * (t - t[0])) for name, s in every.items() if abs(s) * step < 1}
        columns = np.array([part for x in responses.values() for part in (x.real, x.imag)])
        columns = np.vstack([np.ones(len(t)), columns]).T
        sizes = np.linalg.lstsq(columns, tip, rcond=SEPARABLE_MOTION)[0]
        moved = {
            name: columns[:, [k, k + 1]] @ sizes[[k, k + 1]]
            for name, k in zip(responses, range(1, len(sizes), 2), strict=True)
        }
        moved[BEYOND] = tip - columns @ sizes
        return {name: float(np.ptp(x, axis=0).max() / 2) for name, x in moved.items()}

    def plot(self) -> "Figure":
        """Draw the shapers' residual vibration over the frequency of the slowest shaped mode."""
        w, z = self.vibrations[0].first(1)[0]
        listed = {kind.upper(): shaper_of_modes(kind, [(w, z)]) for kind in KINDS}
        if self.shapers[0].label not in listed:
            listed[self.shapers[0].label] = self.shapers[0]
        return plot_robustness(listed, w, z)


@one_blas_thread
def shape_inputs(
    arm: Arm,
    *,
    kind: ShaperKind = "zvd",
    modes: int = 1,
    vibration: float = EI_VIBRATION,
    follow_posture: bool = False,
) -> ShapedInputs:
    """Shape the servo targets and prescribed motions of an arm for its natural vibrations.

    Parameters
    ----------
    arm
        The arm. At least one joint must have a servo target or a prescribed motion that comes to
        rest.
    kind
        Kind of shaper: ``zv``, ``zvd``, ``zvdd`` or ``ei``, see `shaper`.
    modes
        Number of vibration modes to suppress: first the modes that the motion excites anywhere
        along its path, from the slowest, then all other modes.
    vibration
        Residual vibration of ``ei`` at a mode's frequency, relative to unshaped vibration.
    follow_posture
        Whether impulses are adapted to the frequencies along the motion; if false, they are
        designed for the frequencies at its end.

    Returns
    -------
    ShapedInputs
        The arm with shaped motions, and its simulations.

    Raises
    ------
    FlexarmError
        If nothing moves, if a motion does not end, or if the arm has fewer than ``modes``
        vibrations. Also if damping alone ends the vibrations almost as well as an EI shaper.
    """
    require_count("modes", modes, 1)
    require_flag("follow_posture", follow_posture)
    arm = validated(arm)
    model = build(arm)
    named = motions(model)
    end = max(breakpoints(profile)[-1] for _, profile in named.values())
    times = np.unique(np.linspace(0.0, end, POSTURES))
    at_postures = _along(model, named, times, every=follow_posture)
    if not follow_posture:
        times, at_postures = times[-1:], at_postures[-1:]
    followed = [at_posture.first(modes) for at_posture in at_postures]
    posture_shapers = [
        shaper_of_modes(kind, at_posture, vibration=vibration) for at_posture in followed
    ]
    if kind == "ei":
        _require_ringing([mode for at_posture in followed for mode in at_posture], vibration)
    single = (
        posture_shapers
        if len(posture_shapers) == 1
        else [impulses(kind, x, vibration=vibration) for x in followed]
    )
    later = float(times[-1]) + max(at_posture.duration for at_posture in posture_shapers)
    along = times * (later / end if end else 1.0)  # the shaped arm passes the postures later
    changes = {key: _shaped(profile, along, single, later) for key, profile in named.values()}
    return ShapedInputs(
        change_arm(arm, changes), arm, later, tuple(posture_shapers), tuple(at_postures), kind
    )


def _along(
    model: Model, named: dict[str, tuple[str, AnyProfile]], times: Array, *, every: bool
) -> list[Vibrations]:
    """Return the vibrations at postures along a motion, with equal order of modes.

    Unless ``every`` posture is required, postures without an equilibrium are omitted, except the
    last.
    """
    tangent, at_postures = Tangent(model), []
    ways = {name: _way(profile) for name, (_, profile) in named.items()}
    for t in times.tolist():
        try:
            at_postures.append(vibrations(tangent, _places(named, t), ways))
        except FlexarmError:
            if every or t == times[-1]:
                raise
    return line_up(at_postures)


def _require_ringing(modes: Sequence[tuple[float, float]], vibration: float) -> None:
    """Raise an error if damping alone ends the vibrations nearly as well as an EI shaper."""
    z = max(damping for _, damping in modes)
    alone = float(np.exp(-2 * np.pi * z / np.sqrt(1 - z**2)))
    if vibration > WORTHWHILE_RATIO * alone:
        raise FlexarmError(
            f"kind: 'ei' leaves {100 * vibration:.3g} % of a vibration, but damping alone "
            f"leaves {100 * alone:.3g} % by then (damping ratio {z:.3g}). Use 'zv' or 'zvd'."
        )


def _held(arm: Arm) -> Arm:
    """Return the arm with its motion tables extended at their last value."""
    changes = {
        key: _shaped(profile, np.zeros(1), [NOTHING], breakpoints(profile)[-1])
        for key, profile in motions(build(arm)).values()
        if np.isfinite(last_time(profile))
    }
    return change_arm(arm, changes) if changes else arm


def motions(model: Model) -> dict[str, tuple[str, AnyProfile]]:
    """Return model-file key and profile of each motion to shape, by joint name.

    Raises
    ------
    FlexarmError
        If no joint has such a motion, or a motion never ends.
    """
    profiles: dict[str, tuple[str, AnyProfile]] = {}
    for axis in model.axes:
        servo = axis.acts.servo
        profile = axis.acts.motion if servo is None else servo.target
        if profile is None or len(pieces(profile)) < 2:
            continue
        if np.any(pieces(profile)[-1, 3:7]):
            raise FlexarmError(
                f"{axis.name}: the motion never ends, and only a motion that comes to rest can "
                "be shaped. Use a step, a cycloid or a table."
            )
        key = "motion" if servo is None else "servo.target"
        profiles[axis.name] = (f"{axis_place(axis)}.{key}", profile)
    if not profiles:
        raise FlexarmError(
            "arm: no joint has an input that could be shaped. Give a joint a servo with a "
            "target, or a prescribed motion."
        )
    return profiles


def _places(named: dict[str, tuple[str, AnyProfile]], t: float) -> dict[str, float]:
    return {name: evaluate(profile, t)[0] for name, (_, profile) in named.items()}


def _way(profile: AnyProfile) -> float:
    """Return the range of values of a profile, including a jump at the start."""
    times = np.append(-1.0, np.linspace(0.0, breakpoints(profile)[-1], TABLE_POINTS))
    return float(np.ptp(evaluate_at(profile, times)[0]))


def _shaped(
    profile: AnyProfile, times: Array, shapers: Sequence[Shaper], end: float
) -> dict[str, Any]:
    """Return a motion table for the model file: a profile convolved with an input shaper.

    Each shaper belongs to one of the given times; between the times, shapers are interpolated.
    """
    rows = pieces(profile)
    if len(shapers) == 1 and not np.any(rows[:, 3:7]):
        instants = np.unique(np.add.outer(rows[1:, 0], shapers[0].times))
        instants = instants[np.diff(instants, prepend=-1.0) > 0]
        if instants[0] > 0:
            instants = np.insert(instants, 0, 0.0)
        kind = "hold"
    else:
        instants, kind = np.linspace(0.0, end, TABLE_POINTS + 1), "cubic"
        instants = np.append(instants, end + REST_SHARE * end)  # the motion rests from its end on
    delays = np.array([shaper.times for shaper in shapers])
    sizes = np.array([shaper.amplitudes for shaper in shapers])
    values = [
        sum(
            float(np.interp(t, times, sizes[:, k]))
            * evaluate(profile, t - float(np.interp(t, times, delays[:, k])) + 1e-12)[0]
            for k in range(sizes.shape[1])
        )
        for t in instants.tolist()
    ]
    return {"kind": "table", "times": instants.tolist(), "values": values, "interpolation": kind}
