"""Figures of a run, with interpolation or selection of its samples for drawing."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from textwrap import fill
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np
import numpy.typing as npt

from flexarm.figures import COLOURS, curve_look, drawable, legend_below, panels
from flexarm.mechanics.bodies import body_of
from flexarm.mechanics.deformed import flexible_wholes, tip_deflection
from flexarm.mechanics.kinematics import end_frame, frames
from flexarm.model import Model
from flexarm.runs.constants import (
    DRAWN_SAMPLES,
    FLAT_CURVE,
    LINE_ERROR,
    NEAREST_SAMPLE,
    NOTE_WIDTH,
    SNAPSHOTS,
    STATIONS,
)
from flexarm.runs.curves import curves_of, hermite, split
from flexarm.runs.data import RunData
from flexarm.spatial import Array, Expr

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


# Arrays of a run with a row per sample, besides losses and drives.
ARRAYS = (
    "t", "q", "v", "u", "tip", "tip_rotation", "energy", "work_integrals", "reference_attitudes"
)  # fmt: skip


def fill_in(run: RunData) -> RunData:
    """Return a run with samples added by interpolation, so that straight lines draw it.

    Coordinates and rates are cubic Hermite interpolants, from which the tip is computed; inputs,
    energies and work integrals are interpolated linearly; the losses of single drive-train elements
    are left out. A run whose samples do not resolve its vibrations is returned unchanged.
    """
    curves = curves_of(run.model, run.q[0])
    values, curvatures = run.q @ curves.rows.T, np.abs(np.diff(run.v @ curves.rows.T, axis=0))
    errors = np.diff(run.t)[:, None] * curvatures / 8 / curves.scales(values)
    most_parts = max(DRAWN_SAMPLES // len(run.t), 1)
    parts = min(int(np.ceil(np.sqrt(errors.max(initial=0.0) / LINE_ERROR))), most_parts)
    if parts < 2 or run.missed:
        return run
    t = split(run.t, parts)
    start = np.minimum(np.arange(len(t)) // parts, len(run.t) - 2)
    q, v = _between(run, t, start)
    q[::parts], v[::parts] = run.q, run.v
    reference_attitudes = run.reference_attitudes[np.arange(len(t)) // parts]
    tip_rotation, tip = at_samples(run.model, reference_attitudes, end_frame, q)

    def on_lines(values: Array) -> Array:
        fraction = ((t - run.t[start]) / (run.t[start + 1] - run.t[start]))[:, None]
        return np.asarray((1 - fraction) * values[start] + fraction * values[start + 1])

    phases = tuple(replace(phase, first=parts * phase.first) for phase in run.phases)
    return replace(
        run, phases=phases, losses={}, drives=None, t=t, q=q, v=v, tip=tip[..., 0],
        tip_rotation=tip_rotation, reference_attitudes=reference_attitudes, u=on_lines(run.u),
        energy=on_lines(run.energy), work_integrals=on_lines(run.work_integrals),
    )  # fmt: skip


def _between(run: RunData, t: Array, start: npt.NDArray[np.int_]) -> tuple[Array, Array]:
    """Return coordinates and rates, (T, n) each, at times t by cubic Hermite interpolation.

    ``start`` has the index of the sample at the beginning of each time's interval.
    """
    pairs = np.stack([start, start + 1])
    q, v = run.q[pairs], run.v[pairs]
    t0, t1 = run.t[pairs]
    # Where a reference attitude changes, the angles at the two ends of the interval are relative to
    # different attitudes.
    k = np.flatnonzero(
        np.any(run.reference_attitudes[start] != run.reference_attitudes[start + 1], axis=(1, 2))
    )
    for first in run.model.attitudes:
        angles = slice(first, first + 3)
        q[1, k, angles] = q[0, k, angles] + (t1 - t0)[k, None] * v[0, k, angles]
        v[1, k, angles] = v[0, k, angles]
    return hermite(t0, t1, t, q, v)


def at_samples(
    model: Model,
    reference_attitudes: Array,
    trace: Callable[..., Sequence[Expr]],
    *states: Array,
) -> list[Array]:
    """Evaluate expressions of a model and its state at T samples: arrays (T, rows, columns).

    ``trace`` maps the model and symbols of ``states``, (T, n) each, to the expressions.
    """
    count, (_, *shape) = len(reference_attitudes), reference_attitudes.shape
    symbols = [ca.SX.sym("x", state.shape[1]) for state in states]
    attitude = ca.SX.sym("reference_attitude", *shape)
    placed = model.with_reference(attitude) if model.attitudes else model
    expressions = [ca.densify(ca.SX(x)) for x in trace(placed, *symbols)]
    function = ca.Function("samples", [*symbols, attitude], expressions)
    arguments = [*(state.T for state in states), np.concatenate(reference_attitudes, axis=1)]
    return [
        np.array(values).reshape(x.shape[0], count, -1).swapaxes(0, 1)
        for x, values in zip(expressions, function.map(count).call(arguments), strict=True)
    ]


def pick(run: RunData, rows: npt.NDArray[np.int_]) -> RunData:
    """Return a run reduced to selected samples."""
    arrays = {name: getattr(run, name)[rows] for name in ARRAYS}
    firsts = {int(np.searchsorted(rows, phase.first)): phase for phase in run.phases}
    phases = tuple(replace(phase, first=k) for k, phase in firsts.items() if k < len(rows))
    losses = {name: values[rows] for name, values in run.losses.items()}
    drives = None if run.drives is None else run.drives.at(rows)
    return replace(run, phases=phases, losses=losses, drives=drives, **arrays)


LENGTHS = ((1.0, "m"), (1e3, "mm"), (1e6, "µm"))  # units of deflections, per metre


def deflection_unit(largest: float) -> tuple[float, str]:
    """Return a unit for deflections up to ``largest`` [m], as conversion factor and name."""
    return next(((f, u) for f, u in LENGTHS if f * largest >= 0.5), LENGTHS[-1])


def plot_run(run: RunData) -> "Figure":
    """Return a figure of joints, tip deflections and distances, arm, and energies over time.

    Distances are relative to the tip's position at the end of the run.
    """
    figure, axes = panels((10, 11), 3, 2)
    joints, deflections, distance = axes[:, 0]
    arm, empty, energy = axes[:, 1]
    empty.remove()
    arm.set_subplotspec(arm.get_gridspec()[:2, 1])  # spans both rows
    ending = "" if run.status == "finished" else f" ({run.status} at t = {run.t[-1]:.4g} s)"
    figure.suptitle(drawable(run.model.arm.name) + ending)
    if run.missed:
        figure.supxlabel(fill(drawable(run.missed), NOTE_WIDTH), fontsize="small", color=COLOURS[1])
    smooth = fill_in(run)
    _joints(smooth, joints)
    _deflections(smooth, deflections)
    _distance(smooth, distance)
    _snapshots(smooth, arm)
    _energy(run, energy)
    time_panels = (joints, deflections, distance, energy)
    for panel in time_panels:
        for t in sorted({event.t for event in run.event_records}):
            panel.axvline(t, color="0.6", linewidth=0.8, linestyle=":", zorder=0)
    for panel in (*time_panels, arm):
        panel.grid(color="0.92")
        panel.set_axisbelow(True)
    return figure


def arm_outline(run: RunData, samples: npt.NDArray[np.int_], points: int = STATIONS) -> Array:
    """Return points of the deformed axis of all links [m], (samples, points, 3), in the world."""
    return outline(run.model, run.q[samples], run.reference_attitudes[samples], points)


def outline(model: Model, states: Array, reference_attitudes: Array, points: int) -> Array:
    """Return points of the deformed axis of all links [m], (T, points, 3), at T states."""

    def trace(model: Model, q: Expr) -> list[Expr]:
        rows = list[Expr]()
        for before, (part, frame) in enumerate(zip(model.links, frames(model, q), strict=True), -1):
            if part.parent != before:  # a branch begins at its parent's section
                rows.append(frame.p_WF.T)
            body = body_of(model, part)
            for x in np.linspace(0.0, 1.0, points if part.flexible else 2):
                local = body.at_fraction(q, float(x))
                rows.append((frame.p_WL + frame.R_WL @ local.position).T)
        return [ca.vertcat(*rows, end_frame(model, q)[1].T)]

    return at_samples(model, reference_attitudes, trace, states)[0]


def branch_rows(model: Model, points: int = STATIONS) -> list[int]:
    """Return the indices of the points of `outline` at which branches begin."""
    rows, count = list[int](), 0
    for before, part in enumerate(model.links, -1):
        if part.parent != before:
            rows.append(count)
            count += 1
        count += points if part.flexible else 2
    return rows


def _joints(run: RunData, panel: "Axes") -> None:
    """Draw joint coordinates over time: revolute joints in degrees, prismatic joints in metres."""
    panel.set(title="joints", xlabel="time [s]")
    drawn_axes = run.model.drawn_axes
    revolute = [axis for axis in drawn_axes if axis.turns]
    panel.set_ylabel("[deg]" if revolute else "[m]")
    metres = panel.twinx() if 0 < len(revolute) < len(drawn_axes) else panel
    if metres is not panel:
        metres.set_ylabel("[m], dashed")
        metres.spines["top"].set_visible(False)
    lines = []
    for k, axis in enumerate(drawn_axes):
        values = run.q[:, axis.index]
        style = curve_look(k, dashed=not axis.turns and metres is not panel)
        if axis.turns:
            lines += panel.plot(run.t, np.degrees(values), label=axis.name, **style)
        else:
            lines += metres.plot(run.t, values, label=axis.name, **style)
    legend_below(panel, lines)


def _deflections(run: RunData, panel: "Axes") -> None:
    """Draw the tip displacements of flexible links from their undeformed position over time."""
    deflections = {
        part.name: tip_deflection(run.model, part, run.q) for part in flexible_wholes(run.model)
    }
    largest = max(
        (float(np.abs(deflection).max()) for deflection in deflections.values()), default=0.0
    )
    factor, unit = deflection_unit(largest)
    for k, (name, deflection) in enumerate(deflections.items()):
        for axis, letter in ((1, "y"), (2, "z")):
            if np.abs(deflection[:, axis]).max() > FLAT_CURVE * largest:
                style = curve_look(k, dashed=letter == "z")
                panel.plot(run.t, factor * deflection[:, axis], label=f"{name} {letter}", **style)
    title = "tip deflection of each link" if deflections else "no link is flexible"
    panel.set(title=title, xlabel="time [s]", ylabel=f"[{unit}]")
    legend_below(panel, panel.lines)


def _distance(run: RunData, panel: "Axes") -> None:
    """Draw the distance of the tip from its final position over time, on a logarithmic axis."""
    distance = np.linalg.norm(run.tip - run.tip[-1], axis=1)
    drawn = distance > NEAREST_SAMPLE * distance.max()
    panel.plot(run.t[drawn], 1e3 * distance[drawn], color=COLOURS[0], label="tip")
    panel.set(title="distance of the tip from its final place", xlabel="time [s]", ylabel="[mm]")
    panel.set_yscale("log" if np.any(drawn) else "linear")
    legend_below(panel, panel.lines)


def _snapshots(run: RunData, panel: "Axes") -> None:
    """Draw the arm at several instants, in the coordinate plane with the largest motion."""
    lines = arm_outline(
        run, np.unique(np.linspace(0, len(run.t) - 1, SNAPSHOTS).round().astype(int))
    )
    spread = np.ptp(lines.reshape(-1, 3), axis=0)
    first, second = sorted(np.argsort(spread)[-2:])
    for i, line in enumerate(lines):
        shade = 0.15 + 0.85 * (i + 1) / len(lines)
        for branch in np.split(line, branch_rows(run.model)):
            panel.plot(branch[:, first], branch[:, second], color=COLOURS[0], alpha=shade, lw=2)
    panel.lines[-1].set_label("arm, last darkest")
    panel.plot(run.tip[:, first], run.tip[:, second], color=COLOURS[1], lw=1, label="path of tip")
    names = "xyz"
    panel.set(
        title=f"the arm at {len(lines)} instants",
        xlabel=f"{names[first]} [m]",
        ylabel=f"{names[second]} [m]",
    )
    panel.set_aspect("equal", adjustable="datalim")
    legend_below(panel, panel.lines[-2:])


def _energy(run: RunData, panel: "Axes") -> None:
    for k, name in enumerate(("kinetic", "elastic", "gravitational")):
        values = run.energy[:, k] - (run.energy[0, k] if k == 2 else 0.0)
        if np.any(values):
            panel.plot(run.t, values, color=COLOURS[k], label=name)
    if np.any(run.work):
        panel.plot(run.t, run.work, "--", color=COLOURS[3], label="work less losses")
    panel.plot(run.t, run.balance, color="0.2", lw=1, label="error of the balance")
    panel.set(
        title=f"energy (balance closed to {run.energy_balance:.0e})",
        xlabel="time [s]",
        ylabel="[J]",
    )
    legend_below(panel, panel.lines)
