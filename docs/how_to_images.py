"""The pictures of the start page and of the how-to pages, drawn from the arms on those pages."""

from collections.abc import Callable, Mapping
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from docs.image_look import COLOURS, single, tidy
from flexarm import build, change_arm, formulation, modes, plan, shape_inputs, simulate, study
from flexarm.arm import Arm
from flexarm.control import Timing, decoupling_law, joint_move, lqr, pd_law, start_at
from flexarm.io.model_file import loads
from tests.docs_blocks import blocks, write_files

DOCS = Path(__file__).parent
LENGTHS = (0.4, 1.6)


def arm_of(page: str) -> Arm:
    """Load the arm that a page shows."""
    (arm,) = (block for block in blocks(DOCS / page, "yaml") if block.kind == "arm")
    return loads(arm.content)


def draw_start() -> Figure:
    """Draw the run of the start page, as `flexarm simulate --plot` does."""
    return simulate(arm_of("start.md"), t_end=3).plot()


def draw_telescoping() -> Figure:
    """Draw the tip of a boom that slides out, between the envelopes that adiabatic theory has."""
    arm = arm_of("how-to/telescoping-links.md")
    run = simulate(arm, t_end=2.5, dt=1e-3, rtol=1e-6)
    tip = run.dataset.deflection.sel(link="link1", station=1, axis="y").values
    model, lengths = build(arm), np.geomspace(*LENGTHS, 9)
    hertz = [modes(model, at={"slide": x}).modes[0].frequency_hz for x in lengths.tolist()]
    figure = Figure(figsize=(10, 3.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.plot(run.t, 1e3 * tip, color=COLOURS[0], lw=0.8)
    for sign in (-1, 1):
        left.plot(run.t, sign * 2 * np.sqrt(run.q[:, 0] / LENGTHS[0]), "k--", lw=1)
    left.set_title("tip deflection; dashed: square root of the length", fontsize=10)
    left.set_xlabel("t [s]")
    left.set_ylabel("[mm]")
    right.loglog(lengths, hertz, color=COLOURS[1], label="flexarm")
    right.loglog(LENGTHS, 3.957 / np.square(LENGTHS), "k.", ms=9, label="3.957 Hz m² / length²")
    ticks = [0.4, 0.6, 0.8, 1.2, 1.6]
    right.set_xticks(ticks, [f"{x:g}" for x in ticks])
    right.set_xticks([], minor=True)
    right.set_yticks([2, 5, 10, 20], ["2", "5", "10", "20"])
    right.set_yticks([], minor=True)
    right.set_title("first frequency", fontsize=10)
    right.set_xlabel("exposed length [m]")
    right.set_ylabel("[Hz]")
    right.legend(frameon=False)
    tidy([left, right])
    return figure


def draw_riding() -> Figure:
    """Draw the way of a trolley, the hook that swings on it, and the tip of the beam below."""
    run = simulate(arm_of("how-to/riding-links.md"), t_end=3, rtol=1e-6)
    tip = run.dataset.deflection.sel(link="beam", station=1, axis="z").values
    way, hook = (run.q[:, run.model.names.index(name)] for name in ("way", "joint3"))
    figure = Figure(figsize=(10, 3.0), layout="constrained")
    axes = figure.subplots(1, 3)
    angle = np.degrees(hook) - 90
    drawn = ((way, "station", "[m]"), (angle, "hook", "[deg]"), (1e3 * tip, "beam's tip", "[mm]"))
    for k, (axis, (values, title, unit)) in enumerate(zip(axes, drawn, strict=True)):
        axis.plot(run.t, values, color=COLOURS[k], lw=1)
        axis.set_title(title, fontsize=10)
        axis.set_xlabel("t [s]")
        axis.set_ylabel(unit)
    tidy([*axes])
    return figure


def draw_free_base() -> Figure:
    """Draw how a satellite recoils from its arm."""
    run = simulate(arm_of("how-to/free-base.md"), t_end=6, rtol=1e-6)
    angles = np.degrees(run.dataset.q.sel(coordinate=["joint1", "base.rz"]).values)
    tip = run.dataset.deflection.sel(link="link1", station=1, axis="y").values
    figure = Figure(figsize=(10, 3.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    for k, label in enumerate(("joint", "base")):
        left.plot(run.t, angles[:, k], color=COLOURS[k], label=label)
    left.set_title("angles", fontsize=10)
    left.set_ylabel("[deg]")
    left.legend(frameon=False)
    right.plot(run.t, 1e3 * tip, color=COLOURS[0])
    right.set_title("tip deflection of the boom", fontsize=10)
    right.set_ylabel("[mm]")
    for panel in (left, right):
        panel.set_xlabel("t [s]")
    tidy([left, right])
    return figure


def draw_controllers() -> Figure:
    """Draw the tip's error under three laws."""
    arm = arm_of("how-to/design-a-controller.md")
    model = build(arm)
    motion = joint_move(model, {"joint1": np.radians(60)}, Timing("cycloid", 0.6))
    start = start_at(arm, model, motion.path.at(0.0))
    laws = {
        "PD": pd_law(motion, kp=40, kd=8),
        "decoupling": decoupling_law(motion, kp=400, kd=40),
        "decoupling, then LQR": decoupling_law(
            motion, kp=400, kd=40, regulator=lqr(motion, bandwidth=15)
        ),
    }
    figure, panel = single("Distance of the tip from where it should be; the motion ends at 0.6 s")
    for colour, (name, law) in zip(COLOURS, laws.items(), strict=False):
        run = simulate(start, t_end=2, control=law)
        wanted = np.array([motion.tip(t)[0] for t in run.t.tolist()])
        off = 1e3 * np.linalg.norm(run.tip - wanted, axis=1)
        panel.plot(run.t, off, color=colour, label=name)
    panel.set_xlabel("t [s]")
    panel.set_ylabel("[mm]")
    panel.legend(frameon=False)
    return figure


def draw_mission() -> Figure:
    """Draw a run in which something is caught, as `flexarm simulate --plot` does."""
    return simulate(arm_of("how-to/mission.md"), t_end=42).plot()


def draw_mission_steps() -> Figure:
    """Draw the arm of a mission from above at its four stages, with the canister."""
    arm = arm_of("how-to/mission.md")
    run = simulate(arm, t_end=42)
    drifts, caught = arm.bodies[0], run.event_records[1].t
    begin, rate = (np.array(each, dtype=float) for each in (drifts.position, drifts.velocity))
    figure = Figure(figsize=(10, 3.0), layout="constrained")
    panels = figure.subplots(1, 4, sharey=True)
    stages = {"start": 0.0, "slewed and braked": 16.0, "caught": caught, "carried away": 42.0}
    for panel, (title, t) in zip(panels, stages.items(), strict=True):
        k = int(np.searchsorted(run.t, t - 1e-9))
        equation = formulation("articulated", run.model).with_reference(run.reference_attitudes[k])
        placed = equation.link_frames(run.q[k])
        x, y = np.vstack([placed.root_position[:1], placed.tip_position])[:, :2].T
        panel.plot([run.q[k, 0], x[0]], [run.q[k, 1], y[0]], color="0.6", lw=6)
        panel.plot(x, y, "o-", color=COLOURS[0], lw=2, ms=4)
        fixture = begin + rate * t if t < caught else run.tip[k]
        panel.plot(*fixture[:2], "s", color=COLOURS[1], ms=9)
        panel.set_title(f"{title}, {t:.3g} s", fontsize=10)
        panel.set_xlabel("x [m]")
        panel.set(xlim=(-0.4, 5.4), ylim=(-0.6, 3.6), aspect="equal")
    panels[0].set_ylabel("y [m]")
    tidy([*panels])
    return figure


def draw_contact() -> Figure:
    """Draw how an arm bumps into a wall: distance, force, and where the energy goes."""
    run = simulate(arm_of("how-to/touch-things.md"), t_end=2, dt=1e-4)
    wall = run.contacts().sel(contact="wall")
    figure = Figure(figsize=(10, 5), layout="constrained")
    (whole, near), (force, energy) = figure.subplots(2, 2)
    whole.plot(run.t, wall.distance, color=COLOURS[0])
    whole.set_title("distance of the tip from the wall [m]", fontsize=10)
    bounce = (run.t > 0.66) & (run.t < 0.9)
    near.plot(run.t[bounce], 1e3 * wall.distance[bounce], color=COLOURS[0])
    near.axhline(0, color="k", lw=0.8)
    near.set_title("the same about the first bumps [mm]", fontsize=10)
    force.semilogy(run.t, np.maximum(wall.normal_force, 0.1), color=COLOURS[1])
    force.set_title("normal force [N]", fontsize=10)
    for colour, name in zip(COLOURS, ("kinetic", "elastic", "dissipated"), strict=False):
        energy.plot(run.t, run.dataset[name], color=colour, label=name)
    energy.set_title("energy [J]", fontsize=10)
    energy.legend(frameon=False)
    for panel in (whole, near, force, energy):
        panel.set_xlabel("t [s]")
    tidy([whole, near, force, energy])
    return figure


def draw_study() -> Figure:
    """Draw the main effects of the study on its page."""
    with TemporaryDirectory() as folder:
        write_files(DOCS / "study.md", Path(folder))
        return study(Path(folder) / "push.yaml", out=Path(folder) / "push", workers=1).plot()


def draw_shapers() -> Figure:
    """Draw what vibration shapers leave, over the frequency that a mode really has."""
    return shape_inputs(arm_of("how-to/shape-inputs.md"), kind="zvd").plot()


def draw_measured_motion() -> Figure:
    """Draw the tip of an arm after torques that were planned with wrong and with right numbers."""
    wrong = arm_of("how-to/from-measurement-to-motion.md")
    right = change_arm(wrong, {"payload.mass": 0.38, "links.1.section.EIz": 5.2})
    figure, axis = single("the same arm after torques planned with the numbers of")
    for k, (arm, name) in enumerate(((wrong, "catalogue"), (right, "fitted"))):
        moved = plan(arm, {"joint1": 1.0}, duration=0.6).arm.links[0].joint.input  # type: ignore[union-attr]
        told = change_arm(right, {"links.1.joint.input": moved})
        run = simulate(told, t_end=1.5, dt=0.002, rtol=1e-6)
        axis.plot(run.t, 1e3 * (run.tip[:, 1] - run.tip[-1, 1]), color=COLOURS[k], label=name)
    axis.set(xlabel="t [s]", ylabel="tip from its end [mm]", xlim=(0.4, 1.5), ylim=(-30, 30))
    axis.legend(frameon=False)
    return figure


def draw_plan() -> Figure:
    """Draw a plan's inputs, and its tip beside that of the unshaped motion."""
    return plan(
        arm_of("how-to/plan-a-motion.md"), {"shoulder": 0.8, "elbow": 0.6}, duration=1.0
    ).plot()


def draw_fit() -> Figure:
    """Draw the fit of the how-to page: its own program, run where its arm is."""
    page = DOCS / "how-to/fit-a-model.md"
    program, *_ = blocks(page, "python")
    names: dict[str, Any] = {}
    with TemporaryDirectory() as folder, chdir(folder):
        write_files(page, Path(folder))
        exec(program.content, names)
    figure: Figure = names["fit"].plot()
    return figure


HOW_TO: Mapping[str, Callable[[], Figure]] = {
    "start": draw_start,
    "telescoping": draw_telescoping,
    "riding": draw_riding,
    "free-base": draw_free_base,
    "contact": draw_contact,
    "shapers": draw_shapers,
    "plan": draw_plan,
    "measured-motion": draw_measured_motion,
    "controllers": draw_controllers,
    "mission": draw_mission,
    "mission-steps": draw_mission_steps,
    "study": draw_study,
    "fit": draw_fit,
}
