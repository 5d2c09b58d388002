"""Arms of the papers with some values changed, histories of their runs, and operations."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import casadi as ca
import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from flexarm.arm import Arm
from flexarm.formulations.equation import Equation
from flexarm.integrate.simulate import simulate_whole
from flexarm.io.model_file import change_arm, load
from flexarm.runs.run import Run
from flexarm.samples import sample_path
from flexarm.spatial import Array

K = TypeVar("K")
V = TypeVar("V")


def changed(name: str, values: Mapping[str, Any] | None = None) -> Arm:
    """Load a sample with values changed by their keys, such as ``links.1.section.EIz``."""
    return change_arm(load(sample_path(name)), values or {})


def plain_link(
    shapes: Mapping[str, Any], length: float, density: float, stiffness: float, **more: Any
) -> Arm:
    """Make a hinged link that bends in a plane, of given shapes; more keys by their first."""
    values = {
        "links.1.joint": {"kind": "revolute"},
        "links.1.length": length,
        "links.1.section": {"mass_per_length": density, "EIz": stiffness},
        "links.1.shapes": shapes,
    }
    return change_arm(changed("chen-rotating-link"), values | more)


simulate = simulate_whole  # a run that was stopped decides nothing


def completed(
    known: dict[K, V], keys: Iterable[K], compute: Callable[[list[K]], Iterable[V]]
) -> dict[K, V]:
    """Compute together what of some keys is not known yet, and give all that is."""
    missing = [key for key in dict.fromkeys(keys) if key not in known]
    if missing:
        known.update(zip(missing, compute(missing), strict=True))
    return known


def column(run: Run, name: str) -> Array:
    """Pick a coordinate's history by its name, (T,)."""
    return run.q[:, run.model.names.index(name)]


def tip_deflection(run: Run, link: int = 0, axis: str = "y") -> Array:
    """Pick the history of a link's tip deflection along an axis [m], (T,)."""
    return np.asarray(run.along([1.0])["deflection"].values[:, link, 0, "xyz".index(axis)])


def rms(values: Array) -> float:
    """Give the root of the mean square."""
    return float(np.sqrt(np.mean(np.square(values))))


def apart(one: Array, other: Array) -> float:
    """Measure how far two histories are apart: rms of the difference over the other's range."""
    return rms(one - other) / float(np.ptp(other))


def discord(one: Array, other: Array) -> float:
    """Measure how far two histories are apart: rms of the difference over the other's spread.

    A flat line at the mean has 1, the other at half its size 0.5, a sine that is late by a small
    angle this angle; spreads differ by no more than it.
    """
    return rms(one - other) / float(np.std(other))


def difference(one: Array, other: Array) -> float:
    """Measure how far two arrays are apart: largest difference over the other's largest entry."""
    return float(np.abs(one - other).max() / np.abs(other).max())


def farthest(one: Array, other: Array) -> float:
    """Measure how far two histories are apart at most, over half the other's range."""
    return 2 * float(np.abs(one - other).max() / np.ptp(other))


def bounds(y: Array, width: int) -> Array:
    """Take the largest and the least within a moving window, but for the edges, (2, T)."""
    windows = sliding_window_view(y, width)
    return np.stack([windows.max(axis=1), windows.min(axis=1)])


def main_frequency(t: Array, y: Array, above: float = 0.0) -> float:
    """Find the strongest frequency [Hz] above some of evenly sampled values, less their trend.

    Notes
    -----
    Hann window; a parabola through the highest three of the logarithmic spectrum.
    """
    line = np.polynomial.Polynomial.fit(t, y, 1)
    windowed = (y - line(t)) * np.hanning(len(t))
    size = np.abs(np.fft.rfft(windowed, 4 * len(t)))
    first = 1 + int(above * 4 * len(t) * (t[1] - t[0]))
    peak = (size[1:-1] > size[:-2]) & (size[1:-1] >= size[2:])  # no flank of what is below
    k = int(np.argmax(np.where(peak, size[1:-1], 0.0)[first - 1 :])) + first
    low, mid, high = np.log(size[k - 1 : k + 2])
    shift = 0.5 * (low - high) / (low - 2 * mid + high)
    return float((k + shift) / (4 * len(t) * (t[1] - t[0])))


def slopes(
    equation: Equation, q: Array, v: Array | None = None, part: str = "", step: float = 1e-4
) -> Array:
    """Differentiate what holds an arm by its coordinates, or a part such as "elastic", (n, n)."""

    def force(at: Array) -> Array:
        still = np.zeros(len(q)) if v is None else v
        return equation.parts(at, still)[part] if part else equation.bias(at, still)

    moved = [(force(q + step * e) - force(q - step * e)) / (2 * step) for e in np.eye(len(q))]
    return np.array(moved).T


def by_columns(equation: Equation, q: Array) -> Array:
    """Give M by columns of inverse dynamics, (n, n)."""
    still = 0 * q
    columns = [equation.inverse_dynamics(q, still, e) for e in np.eye(len(q))]
    return np.asarray((np.array(columns) - equation.inverse_dynamics(q, still, still)).T)


def asymmetry(equation: Equation, q: Array) -> float:
    """Compare both triangles of M, by columns of inverse dynamics, over the largest entry."""
    M = by_columns(equation, q)
    return difference(M.T, M)


def operations(symbols: list[ca.SX], expression: Any) -> int:
    """Count the operations of an expression as it is traced."""
    function = ca.Function("counted", symbols, [expression])
    given = (ca.OP_INPUT, ca.OP_OUTPUT, ca.OP_CONST)
    kinds = [function.instruction_id(k) for k in range(function.n_instructions())]
    return sum(kind not in given for kind in kinds)
