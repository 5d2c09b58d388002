"""Figures of a run."""

from typing import TYPE_CHECKING

import casadi as ca
import numpy as np
import numpy.typing as npt

from flexarm.integrate.run import Run
from flexarm.kinematics import end_frame, frames, span_section, tip_section
from flexarm.links.base import Array
from flexarm.model import LinkModel

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#0b6e99", "#d1495b", "#66a182", "#edae49", "#5f4b8b", "#8d99ae")


def plot_run(run: Run) -> "Figure":
    """Draw joints, tip deflections, the arm in motion and the energy balance of a run."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 7), layout="constrained")
    axes = figure.subplots(2, 2)
    figure.suptitle(run.model.arm.name)
    _joints(run, axes[0, 0])
    _deflections(run, axes[1, 0])
    _snapshots(run, axes[0, 1])
    _energy(run, axes[1, 1])
    for panel in axes.ravel():
        panel.spines[["top", "right"]].set_visible(False)
        panel.grid(color="0.92")
        panel.set_axisbelow(True)
    return figure


def arm_outline(run: Run, samples: npt.NDArray[np.int_], points: int = 25) -> Array:
    """Trace the deformed axis of all links at samples, in the world [m], (samples, points, 3)."""
    q = ca.SX.sym("q", run.model.size)
    rows = []
    for part, frame in zip(run.model.links, frames(run.model, q), strict=True):
        bends = part.elastic is not None or part.sliding is not None
        for x in np.linspace(0.0, 1.0, points if bends else 2):
            local = span_section(run.model, part, q, float(x))
            rows.append((frame.p_WL + frame.R_WL @ local.position).T)
    rows.append(end_frame(run.model, q)[1].T)
    trace = ca.Function("outline", [q], [ca.vertcat(*rows)])
    return np.array([np.array(trace(run.q[i])) for i in samples])


def tip_deflection(run: Run, part: LinkModel) -> Array:
    """Give the tip's displacement from the undeformed link in its root frame [m], (T, 3)."""
    q = ca.SX.sym("q", run.model.size)
    length = part.length if part.sliding is None or part.joint is None else q[part.joint]
    place = tip_section(run.model, part, q).position - ca.vertcat(length, 0, 0)
    trace = ca.Function("tip", [q], [place])
    return np.array(trace(run.q.T)).T


def _joints(run: Run, panel: "Axes") -> None:
    for k, part in enumerate(run.model.links):
        if part.joint is not None:
            turns = part.kind == "revolute"
            values = np.degrees(run.q[:, part.joint]) if turns else run.q[:, part.joint]
            unit = "deg" if turns else "m"
            panel.plot(run.t, values, color=COLOURS[k % 6], label=f"{part.joint_name} [{unit}]")
    panel.set(title="joints", xlabel="time [s]")
    panel.legend(frameon=False, fontsize="small")


def _deflections(run: Run, panel: "Axes") -> None:
    styles = ((1, "y", "-"), (2, "z", "--"))
    for k, part in enumerate(run.model.links):
        if part.elastic is None and part.sliding is None:
            continue
        moved = 1e3 * tip_deflection(run, part)
        for axis, name, style in styles:
            if np.abs(moved[:, axis]).max() > 1e-9:
                panel.plot(
                    run.t, moved[:, axis], style, color=COLOURS[k % 6], label=f"{part.name} {name}"
                )
    panel.set(title="tip deflection of each link", xlabel="time [s]", ylabel="[mm]")
    panel.legend(frameon=False, fontsize="small")


def _snapshots(run: Run, panel: "Axes") -> None:
    """Draw the arm at a few instants in the plane in which its tip moves most."""
    lines = arm_outline(run, np.linspace(0, len(run.t) - 1, 9).round().astype(int))
    spread = np.ptp(lines.reshape(-1, 3), axis=0)
    first, second = sorted(np.argsort(spread)[-2:])
    for i, line in enumerate(lines):
        shade = 0.15 + 0.85 * i / (len(lines) - 1)
        panel.plot(line[:, first], line[:, second], color=COLOURS[0], alpha=shade, lw=2)
    panel.plot(run.tip[:, first], run.tip[:, second], color=COLOURS[1], lw=1, label="tip")
    names = "xyz"
    panel.set(
        title="the arm at nine instants",
        xlabel=f"{names[first]} [m]",
        ylabel=f"{names[second]} [m]",
    )
    panel.set_aspect("equal", adjustable="datalim")
    panel.legend(frameon=False, fontsize="small")


def _energy(run: Run, panel: "Axes") -> None:
    for k, name in enumerate(("kinetic", "elastic", "gravitational")):
        values = run.energy[:, k] - (run.energy[0, k] if k == 2 else 0.0)
        panel.plot(run.t, values, color=COLOURS[k], label=name)
    total = run.energy.sum(axis=1) - run.energy[0].sum() - (run.work - run.work[0])
    panel.plot(run.t, total, color="0.2", lw=1, label="balance")
    panel.set(
        title=f"energy (balance closed to {run.energy_balance:.0e})",
        xlabel="time [s]",
        ylabel="[J]",
    )
    panel.legend(frameon=False, fontsize="small")
