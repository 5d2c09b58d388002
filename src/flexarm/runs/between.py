"""More or fewer samples of a run."""

from dataclasses import replace

import casadi as ca
import numpy as np
import numpy.typing as npt

from flexarm.links.base import Array
from flexarm.mechanics.kinematics import end_frame
from flexarm.model import Model
from flexarm.runs.curves import LINES, curves_of, hermite, split
from flexarm.runs.data import RunData

ARRAYS = ("t", "q", "v", "u", "tip", "tip_rotation", "energy", "works", "anchors")
DRAWN = 8000  # samples that a figure or a page shows at most: more than a screen has pixels


def fill_in(run: RunData) -> RunData:
    """Interpolate a run so that straight lines through its samples show the motion.

    Coordinates and rates are cubic Hermite interpolants and the tip follows from them; inputs,
    energies and works are interpolated linearly; losses by name are left out.  A run whose samples
    miss vibrations is returned as it is.
    """
    curves = curves_of(run.model, run.q[0])
    values, bends = run.q @ curves.rows.T, np.abs(np.diff(run.v @ curves.rows.T, axis=0))
    off = np.diff(run.t)[:, None] * bends / 8 / curves.scales(values)
    most = max(DRAWN // len(run.t), 1)
    parts = min(int(np.ceil(np.sqrt(off.max(initial=0.0) / LINES))), most)
    if parts < 2 or run.missed:
        return run
    t = split(run.t, parts)
    before = np.minimum(np.arange(len(t)) // parts, len(run.t) - 2)
    q, v = _between(run, t, before)
    q[::parts], v[::parts] = run.q, run.v
    anchors = run.anchors[np.arange(len(t)) // parts]
    tip_rotation, tip = _tips(run.model, q, anchors)

    def on_lines(values: Array) -> Array:
        share = ((t - run.t[before]) / (run.t[before + 1] - run.t[before]))[:, None]
        return np.asarray((1 - share) * values[before] + share * values[before + 1])

    legs = tuple(replace(leg, first=parts * leg.first) for leg in run.legs)
    return replace(run, legs=legs, losses={}, drives=None, t=t, q=q, v=v, anchors=anchors, tip=tip,
                   tip_rotation=tip_rotation, u=on_lines(run.u), energy=on_lines(run.energy),
                   works=on_lines(run.works))  # fmt: skip


def _between(run: RunData, t: Array, before: npt.NDArray[np.int_]) -> tuple[Array, Array]:
    """Interpolate coordinates and rates at times t in the intervals after given samples."""
    pairs = np.stack([before, before + 1])
    q, v = run.q[pairs], run.v[pairs]
    t0, t1 = run.t[pairs]
    # Where a reference attitude changes, the angles at the interval's end are relative to another.
    k = np.flatnonzero(np.any(run.anchors[before] != run.anchors[before + 1], axis=(1, 2)))
    for first in run.model.attitudes:
        angles = slice(first, first + 3)
        q[1, k, angles] = q[0, k, angles] + (t1 - t0)[k, None] * v[0, k, angles]
        v[1, k, angles] = v[0, k, angles]
    return hermite(t0, t1, t, q, v)


def _tips(model: Model, q: Array, anchors: Array) -> tuple[Array, Array]:
    """Compute rotation (T, 3, 3) and position (T, 3) [m] of the tip."""
    states, anchor = ca.SX.sym("q", model.size), ca.SX.sym("anchor", *model.start_anchors.shape)
    placed = model.anchored(anchor) if model.attitudes else model
    rotation, position = end_frame(placed, states)
    pose = ca.vertcat(ca.vec(ca.SX(rotation).T), ca.SX(position))
    evaluate = ca.Function("tips", [states, anchor], [pose])
    poses = np.array(evaluate(q.T, np.concatenate(anchors, axis=1))).T
    return poses[:, :9].reshape(-1, 3, 3), poses[:, 9:]


def pick(run: RunData, rows: npt.NDArray[np.int_]) -> RunData:
    """Return a run with some of its samples."""
    arrays = {name: getattr(run, name)[rows] for name in ARRAYS}
    firsts = {int(np.searchsorted(rows, leg.first)): leg for leg in run.legs}
    legs = tuple(replace(leg, first=k) for k, leg in firsts.items() if k < len(rows))
    losses = {name: values[rows] for name, values in run.losses.items()}
    drives = None if run.drives is None else run.drives.at(rows)
    return replace(run, legs=legs, losses=losses, drives=drives, **arrays)
