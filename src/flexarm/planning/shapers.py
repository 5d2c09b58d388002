"""Input shapers: impulse sequences that, convolved with a command, suppress vibration modes.

Sources: Singer & Seering 1990 (ZV, ZVD, ZVDD and the residual vibration), Singhose, Seering &
Singer 1994 (EI), Hyde & Seering 1991 (several modes by convolution).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from flexarm.arguments import require_array, require_kind, require_number, require_word
from flexarm.arm.summary import Summarised, Summary
from flexarm.constants import NEGLIGIBLE
from flexarm.errors import FlexarmError
from flexarm.figures import COLOURS, drawable, panels
from flexarm.planning.constants import CURVE_POINTS, CURVE_RANGE, EI_VIBRATION
from flexarm.spatial import Array

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
        """Return the vibration left in a mode, relative to that caused by a single impulse.

        Parameters
        ----------
        frequency, damping
            Natural frequency [rad/s] and damping ratio of the mode, numbers or arrays.

        Notes
        -----
        Singer & Seering 1990, eq. 10: ``exp(-z w t_k) sqrt(C^2 + S^2)`` of the impulses'
        ``A exp(z w t) cos(w_d t)`` and ``sin``.
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
        ``zv`` leaves no vibration at the frequency; with ``zvd`` the first derivative of the
        residual vibration by frequency is 0 there too, with ``zvdd`` also the second; ``ei`` leaves
        ``vibration`` there, and less in a band.
    frequency, damping
        Natural frequency [rad/s] and damping ratio of the mode.
    vibration
        Residual vibration of an ``ei`` shaper, relative to the unshaped one.
    """
    require_word("kind", kind, KINDS)
    w = require_number("frequency", frequency, unit="rad/s")
    z = require_number("damping", damping, least=0.0)
    if not w > 0:
        raise FlexarmError(f"frequency: must be > 0 [rad/s], got {w:g}")
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
    """Return an extra-insensitive shaper: vibration v at the frequency, 0 at both sides of it.

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
        Natural frequency [rad/s] for which the shapers are designed, and damping ratio of the mode.
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
