"""View of a simulation: viewing direction, and factor by which deflections are enlarged."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from flexarm.mechanics.deformed import along, flexible_links
from flexarm.model import Model
from flexarm.runs.data import RunData
from flexarm.runs.plot import arm_outline, outline
from flexarm.spatial import Array
from flexarm.viewer.constants import (
    MODE_AMPLITUDE,
    MODE_STEP,
    PLANE_SPREAD,
    SCALES,
    SPATIAL_SHARE,
    STEEPEST_DRAWN,
    VIEW_ABOVE,
    VIEW_POINTS,
    VIEW_SAMPLES,
    VIEW_SIDE,
    VIEW_TILT,
    VISIBLE_DEFLECTION,
)


@dataclass(frozen=True)
class Outlook:
    """Viewing direction, upward direction and enlargement of deflections for a drawing."""

    towards: Array  # unit vector from the arm to the eye, in the world, (3,)
    up: Array  # unit vector against gravity, or z without gravity, (3,)
    scale: float  # factor by which deformation is enlarged

    @property
    def axes(self) -> Array:
        """Unit vectors to the right and to the top of the picture, in world axes, (2, 3)."""
        right = np.cross(self.up, self.towards)
        right /= np.linalg.norm(right)
        return np.stack([right, np.cross(self.towards, right)])


def outlook(runs: Sequence[RunData]) -> Outlook:
    """Return a view normal to the plane of motion, or an oblique view of a spatial motion."""
    scale, up = drawn_scale(runs), upward(runs[0].model)
    pairs = [_outlines(run, scale) for run in runs]
    points = np.concatenate([bent.reshape(-1, 3) for bent, _ in pairs])
    shifts = np.concatenate([(bent - rigid).reshape(-1, 3) for bent, rigid in pairs])
    return Outlook(view_direction(points, shifts, up), up, scale)


def mode_outlook(model: Model, q: Array, reference_attitude: Array, vectors: Array) -> Outlook:
    """Return a view normal to the plane in which the mode shapes, (n, k), move the arm."""
    up, steps = upward(model), MODE_STEP * vectors.T / np.abs(vectors).max(axis=0)[:, None]
    states = np.vstack([q, q + steps])
    outlines = outline(model, states, np.stack([reference_attitude] * len(states)), VIEW_POINTS)
    displacements = outlines[1:] - outlines[0]
    largest = np.linalg.norm(displacements, axis=2).max(axis=1)
    size = MODE_AMPLITUDE * np.ptp(outlines[0], axis=0).max()
    shifts = size * displacements / np.maximum(largest, 1e-300)[:, None, None]
    points = np.concatenate([outlines[0] + shifts, outlines[0] - shifts]).reshape(-1, 3)
    return Outlook(view_direction(points, shifts.reshape(-1, 3), up), up, 1.0)


def upward(model: Model) -> Array:
    """Return the unit vector against gravity, (3,); the z axis without gravity."""
    size = float(np.linalg.norm(model.gravity))
    return np.asarray(-model.gravity / size) if size else np.array([0.0, 0.0, 1.0])


def drawn_scale(runs: Sequence[RunData]) -> float:
    """Return a round factor that makes the largest deflection visible, at least 1."""
    return shown_scale([(run.model, run.q[_view_rows(run)]) for run in runs])


def shown_scale(states: Sequence[tuple[Model, Array]]) -> float:
    """Return the factor that makes deflections visible at coordinates (T, n) of models."""
    sizes = [_largest_deflection(model, q) for model, q in states]
    deflection, slope = max(b for b, _ in sizes), max(s for _, s in sizes)
    sufficient = [f for f in SCALES if f * deflection >= VISIBLE_DEFLECTION]
    return (
        sufficient[0]
        if sufficient and (sufficient[0] == 1 or sufficient[0] * slope <= STEEPEST_DRAWN)
        else 1.0
    )


def _largest_deflection(model: Model, q: Array) -> tuple[float, float]:
    """Return the largest deflection per length of any link, and the largest slope."""
    stations = np.linspace(0.0, 1.0, VIEW_POINTS)
    deflection = slope = 0.0
    for part in flexible_links(model):
        deformed = along(model, part, q, stations)
        deflections = np.linalg.norm(deformed.deflection, axis=2)
        deflection = max(deflection, float(np.nan_to_num(deflections).max()) / part.length)
        slope = max(slope, float(np.nan_to_num(np.abs(deformed.slope)).max()))
    return deflection, slope


def scaled(run: RunData, scale: float) -> RunData:
    """Return a run with its elastic amplitudes multiplied by a factor; 0 makes it rigid."""
    q = run.q.copy()
    for part in flexible_links(run.model):
        q[:, part.modes] *= scale
    return replace(run, q=q)


def view_direction(points: Array, shifts: Array, up: Array) -> Array:
    """Return the unit vector from the arm towards the eye, (3,).

    Parameters
    ----------
    points
        Positions of cross sections of the arm in the world [m], (N, 3).
    shifts
        Displacements of these cross sections by deformation [m], (N, 3).
    up
        Unit vector of the upward direction, (3,).
    """
    _, spread, axes = np.linalg.svd(points - points.mean(axis=0), full_matrices=False)
    normal = axes[2]
    displacement = np.linalg.norm(shifts)
    out_of_plane = np.linalg.norm(shifts @ normal)
    is_line = spread[1] <= 1e-6 * spread[0]
    is_plane = (
        not is_line
        and spread[2] <= PLANE_SPREAD * spread[1]
        and out_of_plane <= SPATIAL_SHARE * displacement
    )
    towards = (
        _square(normal, up)
        if is_plane
        else _corner(np.cross(axes[0], up) if is_line else normal, up)
    )
    return np.asarray(towards / np.linalg.norm(towards))


def _view_rows(run: RunData) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    return np.unique(np.linspace(0, len(run.t) - 1, VIEW_SAMPLES).astype(np.intp))


def _outlines(run: RunData, scale: float) -> tuple[Array, Array]:
    """Return outlines of the deformed and of the rigid arm, (samples, points, 3) [m]."""
    rows = _view_rows(run)
    bent, rigid = (scaled(run, factor) for factor in (scale, 0.0))
    both_runs = replace(
        run,
        q=np.concatenate([bent.q[rows], rigid.q[rows]]),
        reference_attitudes=np.concatenate([run.reference_attitudes[rows]] * 2),
    )
    outlines = np.nan_to_num(arm_outline(both_runs, np.arange(2 * len(rows)), VIEW_POINTS))
    return outlines[: len(rows)], outlines[len(rows) :]


def _square(normal: Array, up: Array) -> Array:
    """Return a viewing direction almost along a normal; from above for horizontal planes."""
    towards = _front(normal, up)
    north = _level_axes(up)[1]
    return towards + VIEW_TILT * (-north if abs(normal @ up) > 1 - VIEW_TILT else up)


def _corner(normal: Array, up: Array) -> Array:
    """Return a viewing direction turned sideways and upwards from a normal."""
    towards = _front(normal, up)
    side = np.cross(up, towards)
    if np.linalg.norm(side) < VIEW_TILT:
        side = -_level_axes(up)[1]
    side = side / np.linalg.norm(side)
    return towards + VIEW_SIDE * side + max(0.0, VIEW_ABOVE - float(towards @ up)) * up


def _front(normal: Array, up: Array) -> Array:
    """Return the unit normal of a plane, towards the side from which the plane is viewed.

    The normal of a horizontal plane points upwards. The normal of any other plane is such that the
    x axis, or else the y axis, points to the right in the picture.
    """
    size = np.linalg.norm(normal)
    normal = normal / size if size > 1e-9 else _level_axes(up)[1]
    if abs(normal @ up) > 0.5:
        return np.asarray(normal * np.sign(normal @ up))
    right = np.cross(up, normal)
    along_axes = np.stack(_level_axes(up)) @ right
    return np.asarray(normal * np.sign(along_axes[np.abs(along_axes).argmax()]))


def _level_axes(up: Array) -> tuple[Array, Array]:
    """Return two horizontal unit vectors, (3,) each: x and y if gravity is along -z."""
    first = np.eye(3)[np.abs(up).argmin()]
    first = first - (first @ up) * up
    first = first / np.linalg.norm(first)
    return first, np.cross(up, first)
