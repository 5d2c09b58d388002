"""From where a run is looked at, and how much larger its deformation is drawn, so that it shows."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from flexarm.links.base import Array
from flexarm.mechanics.deformed import along, flexible_links
from flexarm.model import Model
from flexarm.runs.data import RunData
from flexarm.runs.plot import arm_outline, outline

SEEN = 60  # samples that are looked at
SECTIONS = 5  # along a flexible link
SCALES = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0)
SHOWS = 0.05  # of a link's length: a deflection that is seen
STEEPEST = 0.9  # slope that a link may be drawn with
FLAT = 0.2  # of the second largest spread: what is thinner is a plane
ACROSS = 0.5  # of the deformation: what leaves the plane so much is no plane's
STEP = 1e-6  # of coordinates, by which a mode's motion is found
SWING = 0.2  # of an arm's extent, by which modes are taken to swing
TILT = 0.14  # off the square look, so that the ground is no line
SIDE, ABOVE = 0.42, 0.36  # of the view from the front, where motion is spatial


@dataclass(frozen=True)
class Outlook:
    """How runs are looked at."""

    towards: Array  # unit vector from what moves to the eye, in the world
    up: Array  # unit vector: against gravity, or z
    scale: float  # how many times as large as it is deformation is drawn

    @property
    def axes(self) -> Array:
        """Unit vectors to the right and to the top of the picture, (2, 3)."""
        right = np.cross(self.up, self.towards)
        right /= np.linalg.norm(right)
        return np.stack([right, np.cross(self.towards, right)])


def outlook(runs: Sequence[RunData]) -> Outlook:
    """Look square at the plane of the motion; from a corner where there is none."""
    scale, up = drawn_scale(runs), upward(runs[0].model)
    pairs = [_outlines(run, scale) for run in runs]
    points = np.concatenate([bent.reshape(-1, 3) for bent, _ in pairs])
    shifts = np.concatenate([(bent - rigid).reshape(-1, 3) for bent, rigid in pairs])
    return Outlook(look_from(points, shifts, up), up, scale)


def mode_outlook(model: Model, q: Array, anchor: Array, vectors: Array) -> Outlook:
    """Look square at the plane in which modes swing, given how coordinates move in them, (n, k)."""
    up, steps = upward(model), STEP * vectors.T / np.abs(vectors).max(axis=0)[:, None]
    states = np.vstack([q, q + steps])
    traced = outline(model, states, np.stack([anchor] * len(states)), SECTIONS)
    moved = traced[1:] - traced[0]
    largest = np.linalg.norm(moved, axis=2).max(axis=1)
    size = SWING * np.ptp(traced[0], axis=0).max()
    shifts = size * moved / np.maximum(largest, 1e-300)[:, None, None]
    points = np.concatenate([traced[0] + shifts, traced[0] - shifts]).reshape(-1, 3)
    return Outlook(look_from(points, shifts.reshape(-1, 3), up), up, 1.0)


def upward(model: Model) -> Array:
    """Give the way up of an arm: against gravity, or z where there is none."""
    size = float(np.linalg.norm(model.gravity))
    return np.asarray(-model.gravity / size) if size else np.array([0.0, 0.0, 1.0])


def drawn_scale(runs: Sequence[RunData]) -> float:
    """Choose a round factor by which the deflection of some link is seen; 1 if none would do."""
    return shown_scale([(run.model, run.q[_few(run)]) for run in runs])


def shown_scale(shown: Sequence[tuple[Model, Array]]) -> float:
    """Choose the factor for coordinates of models, (T, n) each."""
    bows = [_bow(model, q) for model, q in shown]
    bow, slope = max(b for b, _ in bows), max(s for _, s in bows)
    enough = [f for f in SCALES if f * bow >= SHOWS]
    return enough[0] if enough and (enough[0] == 1 or enough[0] * slope <= STEEPEST) else 1.0


def _bow(model: Model, q: Array) -> tuple[float, float]:
    """Find the largest deflection of a link over its length, and the steepest slope."""
    stations = np.linspace(0.0, 1.0, SECTIONS)
    bow = slope = 0.0
    for part in flexible_links(model):
        found = along(model, part, q, stations)
        moved = np.linalg.norm(found.deflection, axis=2)
        bow = max(bow, float(np.nan_to_num(moved).max()) / part.length)
        slope = max(slope, float(np.nan_to_num(np.abs(found.slope)).max()))
    return bow, slope


def scaled(run: RunData, scale: float) -> RunData:
    """Multiply the amplitudes of all shapes by a factor: 0 is the rigid arm."""
    q = run.q.copy()
    for part in flexible_links(run.model):
        q[:, part.modes] *= scale
    return replace(run, q=q)


def look_from(points: Array, shifts: Array, up: Array) -> Array:
    """Find the unit vector towards the eye.

    Parameters
    ----------
    points
        Where sections are in the world [m], (N, 3).
    shifts
        How far deformation has moved them [m], (N, 3).
    up
        The way up.
    """
    _, spread, axes = np.linalg.svd(points - points.mean(axis=0), full_matrices=False)
    normal = axes[2]
    moved = np.linalg.norm(shifts)
    out = np.linalg.norm(shifts @ normal)
    line = spread[1] <= 1e-6 * spread[0]
    flat = not line and spread[2] <= FLAT * spread[1] and out <= ACROSS * moved
    towards = (
        _square(normal, up) if flat else _corner(np.cross(axes[0], up) if line else normal, up)
    )
    return np.asarray(towards / np.linalg.norm(towards))


def _few(run: RunData) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    return np.unique(np.linspace(0, len(run.t) - 1, SEEN).astype(np.intp))


def _outlines(run: RunData, scale: float) -> tuple[Array, Array]:
    """Trace an arm at some samples, as it is drawn and as if it were rigid."""
    few = _few(run)
    bent, rigid = (scaled(run, factor) for factor in (scale, 0.0))
    both = replace(run, q=np.concatenate([bent.q[few], rigid.q[few]]),
                   anchors=np.concatenate([run.anchors[few]] * 2))  # fmt: skip
    found = np.nan_to_num(arm_outline(both, np.arange(2 * len(few)), SECTIONS))
    return found[: len(few)], found[len(few) :]


def _square(normal: Array, up: Array) -> Array:
    """Look along a normal, a little tilted: down on a level plane, else from the front."""
    towards = _front(normal, up)
    north = _level_axes(up)[1]
    return towards + TILT * (-north if abs(normal @ up) > 1 - TILT else up)


def _corner(normal: Array, up: Array) -> Array:
    """Look along a normal, from the side and from above."""
    towards = _front(normal, up)
    side = np.cross(up, towards)
    if np.linalg.norm(side) < TILT:
        side = -_level_axes(up)[1]
    side = side / np.linalg.norm(side)
    return towards + SIDE * side + max(0.0, ABOVE - float(towards @ up)) * up


def _front(normal: Array, up: Array) -> Array:
    """Turn a normal to the side from which x, or else y, goes to the right; or up."""
    size = np.linalg.norm(normal)
    normal = normal / size if size > 1e-9 else _level_axes(up)[1]
    if abs(normal @ up) > 0.5:
        return np.asarray(normal * np.sign(normal @ up))
    right = np.cross(up, normal)
    along_axes = np.stack(_level_axes(up)) @ right
    return np.asarray(normal * np.sign(along_axes[np.abs(along_axes).argmax()]))


def _level_axes(up: Array) -> tuple[Array, Array]:
    """Give two level axes: x and y where z is up."""
    first = np.eye(3)[np.abs(up).argmin()]
    first = first - (first @ up) * up
    first = first / np.linalg.norm(first)
    return first, np.cross(up, first)
