"""Pictures that explain ideas: end conditions of modes, stiffening by rotation, errors of a run."""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure

import flexarm
from docs.image_look import COLOURS, single
from flexarm.model import Model

Array = npt.NDArray[np.float64]
TOLERANCES = (1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 1e-5)


def draw_stiffening() -> Figure:
    """Draw the first bending frequency of a turning link over its speed, by both theories."""
    figure, panel = single("A turning link: first bending frequency in the plane of rotation")
    arm = flexarm.sample("spin-up-beam")
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
    arm = flexarm.sample("driven-link")
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
    arm = flexarm.change_arm(flexarm.sample("driven-link"), {"links.1.shapes.bending_y": shapes})
    run = flexarm.simulate(arm, t_end=1.0, dt=0.01, rtol=rtol)
    tip = run.dataset.deflection.sel(link="link1", station=1, axis="y")
    return np.asarray(tip.values, dtype=np.float64)


TEACHING: dict[str, Callable[[], Figure]] = {
    "end-conditions": draw_end_conditions,
    "stiffening": draw_stiffening,
    "tolerance": draw_tolerance,
}
