"""Pictures that explain ideas: end conditions of modes, stiffening by rotation, errors of a run."""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure

import flexarm
from docs.image_look import COLOURS, single
from flexarm.model import Model
from flexarm.runs.plot import outline

Array = npt.NDArray[np.float64]
TOLERANCES = (1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 1e-5)


def draw_stiffening() -> Figure:
    """Draw the first bending frequency of a turning link over its speed, by both theories."""
    figure, panel = single("A turning link: first bending frequency in the plane of rotation")
    arm = flexarm.example_arm("spin-up-beam")
    rest = flexarm.modes(arm, joints="locked").modes[0].frequency_rad_s
    speeds = np.linspace(0, 2 * rest, 41)
    for title, stiffening in (("exact beam", True), ("linear beam", False)):
        model = flexarm.build(arm, stiffening=stiffening)
        squares = [_lowest_square(model, float(speed)) for speed in speeds]
        stable = np.array(squares) > 0
        panel.plot(
            (speeds / rest)[stable],
            np.sqrt(np.array(squares)[stable]) / rest,
            label=title,
            color=COLOURS[0 if stiffening else 1],
        )
    panel.axvline(1, color="0.7", linestyle=":")
    panel.annotate("linear beam diverges", (1.03, 0.1), fontsize=9, color=COLOURS[1])
    panel.set_xlabel("speed / frequency at rest")
    panel.set_ylabel("frequency / frequency at rest")
    panel.legend(frameon=False)
    return figure


def _lowest_square(model: Model, speed: float) -> float:
    """Return the square of the slowest eigenvalue's frequency; negative where it diverges."""
    found = flexarm.modes(model, joints="locked", speeds={"joint1": speed}, straight=True)
    values = np.array([mode.eigenvalue for mode in found.modes])
    return float(np.min(-np.real(values**2)))


def draw_end_conditions() -> Figure:
    """Draw the first mode of a link whose joint is locked, and free with hubs of two sizes."""
    figure, panel = single("First mode of the same link: what its joint does to it")
    arm = flexarm.example_arm("driven-link")
    cases: dict[str, tuple[dict[str, Any], Literal["locked", "free"]]] = {}
    cases["joint locked"] = ({}, "locked")
    for inertia in (0.5, 0.02):
        hub = {"outboard": {"inertia": [0, 0, inertia]}}
        cases[f"free, hub of {inertia} kg m²"] = ({"links.1.joint.hub": hub}, "free")
    x = np.linspace(0, 1, 60)
    for colour, (title, (change, joints)) in zip(COLOURS, cases.items(), strict=False):
        model = flexarm.build(flexarm.change_arm(arm, change))
        mode = flexarm.modes(model, joints=joints).elastic()[0]
        elastic = model.links[0].beam
        assert elastic is not None
        q = np.real(mode.shape)
        y = elastic.shapes.values("y", x) @ q[1:] + q[0] * x
        y = y / y[np.argmax(np.abs(y))]
        y = y * np.sign(y[-1])
        panel.plot(x, y, color=colour, label=f"{title}: {mode.frequency_hz:.2f} Hz")
    panel.set_xlabel("distance from the joint [m]")
    panel.set_ylabel("deflection, largest 1")
    panel.legend(frameon=False, fontsize=9)
    return figure


def draw_tolerance() -> Figure:
    """Draw the true error of a run over its tolerance, for several numbers of shapes."""
    figure, panel = single("A driven link: the tolerance bounds the integration, not the shapes")
    exact = _tip(9, 1e-8)
    for colour, shapes in zip(COLOURS, (1, 2, 3), strict=False):
        errors = [np.abs(_tip(shapes, rtol) - exact).max() / np.ptp(exact) for rtol in TOLERANCES]
        panel.loglog(TOLERANCES, errors, "o-", color=colour, label=f"shapes: {shapes}")
    panel.loglog(TOLERANCES, TOLERANCES, color="0.6", linestyle=":", label="the tolerance")
    panel.invert_xaxis()
    panel.set_xlabel("tolerance rtol")
    panel.set_ylabel("error / range of deflection")
    panel.legend(frameon=False, fontsize=9)
    return figure


def _tip(shapes: int, rtol: float) -> Array:
    """Return the tip deflection of the driven link at the samples [m]."""
    arm = flexarm.change_arm(
        flexarm.example_arm("driven-link"), {"links.1.shapes.bending_y": shapes}
    )
    run = flexarm.simulate(arm, t_end=1.0, dt=0.01, rtol=rtol)
    tip = run.dataset.deflection.sel(link="link1", station=1, axis="y")
    return np.asarray(tip.values, dtype=np.float64)


def draw_floating_frame() -> Figure:
    """Draw a bent two-link arm with the frame at the root of each link, and the rigid arm."""
    figure, panel = single(
        "The floating frame: deflections are measured from each link's own frame"
    )
    model = flexarm.build(flexarm.example_arm("korayem-two-link"))
    straight, q = np.zeros(model.size), np.zeros(model.size)
    for part, turned, bent in zip(model.links, (0.7, -0.9), (0.2, -0.15), strict=True):
        straight[model.names.index(part.joint_name)] = q[part.modes.start - 1] = turned
        q[part.modes.start] = bent
    for pose, look, title in ((q, "-", "the arm"), (straight, ":", "amplitudes 0")):
        points = outline(model, pose[None], np.zeros((1, *model.start_references.shape)), 30)[0]
        panel.plot(points[:, 0], points[:, 1], look, color=COLOURS[0], label=title)
    frames = flexarm.formulation("articulated", model).link_frames(q)
    for k, root in enumerate(frames.root_position):
        x, y = frames.root_rotation[k][:2, :2].T
        for axis, name in ((x, "x"), (y, "y")):
            end = root[:2] + 0.3 * axis
            panel.plot(*end, alpha=0)  # so that the axes include it
            panel.annotate("", end, root[:2], arrowprops={"arrowstyle": "->", "color": COLOURS[1]})
            panel.annotate(f"{name} of link {k + 1}", end, fontsize=9, color=COLOURS[1])
        length = model.links[k].length
        panel.plot(*np.array([root[:2], root[:2] + length * x]).T, color="0.75", linewidth=1)
    panel.set_aspect("equal")
    panel.set_xlabel("x [m]")
    panel.set_ylabel("y [m]")
    panel.legend(frameon=False, fontsize=9)
    return figure


def draw_converge() -> Figure:
    """Draw what `converge` states for one to four shapes, beside the true error."""
    figure, panel = single("A driven link: error stated by converge, and the true one")
    exact, counts = _tip(9, 1e-8), range(1, 5)
    stated, true = [], []
    for count in counts:
        arm = flexarm.change_arm(
            flexarm.example_arm("driven-link"), {"links.1.shapes.bending_y": count}
        )
        stated.append(flexarm.converge(arm, t_end=1.0, others=False).estimate)
        true.append(np.abs(_tip(count, 1e-8) - exact).max() / np.ptp(exact))
    panel.semilogy(counts, stated, "o", color=COLOURS[0], label="stated by converge")
    panel.semilogy(counts, true, "x", color=COLOURS[1], label="true error")
    panel.axhline(0.01, color="0.6", linestyle=":", label="1 %, the default wish")
    panel.set_xticks(list(counts))
    panel.set_xlabel("number of shapes")
    panel.set_ylabel("error / range of deflection")
    panel.legend(frameon=False, fontsize=9)
    return figure


TEACHING: dict[str, Callable[[], Figure]] = {
    "converge": draw_converge,
    "end-conditions": draw_end_conditions,
    "floating-frame": draw_floating_frame,
    "stiffening": draw_stiffening,
    "tolerance": draw_tolerance,
}
