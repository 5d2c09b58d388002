"""HTML page of a live arm: pulled by mouse or touch, held by servos, changed by sliders."""

import zlib
from base64 import b64encode
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from flexarm.arguments import require_flag, require_kind
from flexarm.arm import Arm
from flexarm.errors import FlexarmError
from flexarm.integrate.loop import FINISHED, LIMIT_REACHED, RUNNING
from flexarm.integrate.methods.rk4 import STABLE
from flexarm.io.whole_file import require_writable
from flexarm.linear.equilibrium import Equilibrium, equilibrium
from flexarm.linear.modes import modes
from flexarm.mechanics.deformed import deformed, flexible_links
from flexarm.mechanics.drives import gear_gain
from flexarm.model import Axis, Model, build
from flexarm.spatial import Array
from flexarm.viewer.bundle import Arrays, fill_page, to_json
from flexarm.viewer.constants import (
    COLOUR_DEFLECTION,
    LEAST_STIFFNESS,
    LONGEST_STEP,
    MOST_DAMPING,
    MOST_ENLARGED,
    PLUCKED_MODES,
    PLUCKED_MOTION,
    SERVO_TURN,
    STEP_SHARE,
)
from flexarm.viewer.live.equations import SETTINGS, LiveArm
from flexarm.viewer.live.module import LiveModule, live_module, live_state_limits
from flexarm.viewer.live.tuning import Prepared, Tuning, hold_jacobians, prepare_live
from flexarm.viewer.outlook import mode_outlook, shown_scale
from flexarm.viewer.page import save_page
from flexarm.viewer.scene import rigidity, scene, shows_strain, states

ROOT = np.zeros(1)
BROKEN = "its motion grew without bound"


def live(
    arm: Arm | Model, path: str | Path, *, all_shapes: bool = False, force: bool = False
) -> str:
    """Write a page that simulates an arm in the browser: one file, which needs no network.

    Parameters
    ----------
    arm
        The arm, or its model.
    path
        The page.
    all_shapes
        Whether to include shapes whose vibration is so fast that the arm may not run in real time;
        the page indicates when it does not.
    force
        Whether to overwrite an existing file.

    Returns
    -------
    str
        Text on parts of the arm and its file that were left out; empty if none.

    Raises
    ------
    FlexarmError
        If the file exists and `force` is false, the arm cannot move, or the installed llvmlite
        cannot write WebAssembly.

    Notes
    -----
    Equations and classical Runge-Kutta steps are those of `flexarm.simulate` with ``rk4``,
    compiled to WebAssembly. Shapes stay those of the given arm for all positions of the sliders.
    """
    require_flag("all_shapes", all_shapes)
    if not isinstance(arm, Model):
        require_kind(
            "arm", arm, Arm, "an arm, such as flexarm.example_arm('driven-link'), or its model"
        )
    require_writable(path, force=force)
    model = arm if isinstance(arm, Model) else build(arm)
    prepared = prepare_live(model, all_shapes=all_shapes)
    save_page(live_page(prepared), path, force=force)
    hint = f"{prepared.left_out} (all_shapes keeps them)" if prepared.left_out else ""
    return "; ".join(filter(None, (hint, prepared.arm.programme.left_out)))


def live_page(prepared: Prepared) -> str:
    """Return the HTML of the page of a live arm."""
    made, task, tuned = prepared.arm, prepared.task, prepared.tuned
    model = made.model
    module = live_module(made, task, tuned.step)
    arrays = Arrays()
    drawn = scene(model, arrays)
    payload = model.arm.payload
    drawn["payload"] = {
        "mass": float(made.settings[1]),
        "com": [0.0] * 3 if payload is None else list(payload.com),
    }
    plucked, still = _modes(made, hold_jacobians(made, task)), _still(made)
    rest = task.start.q if still is None else still.point.q
    document = {
        "kind": "live",
        "title": model.arm.name,
        "facts": " · ".join(
            filter(
                None, (prepared.left_out or f"{model.size} coordinates", made.programme.left_out)
            )
        ),
        "notes": model.arm.notes,
        "warning": "",
        "live": "",
        "arms": [drawn],
        "rest": None if still is None else _rest(model, still.point.q),
        "limits": _limits(model),
        "simulation": _simulation(
            made, module, tuned, [each.what for each in live_state_limits(task)]
        ),
        "settings": _settings(made, tuned),
        "joints": _joints(made, tuned, _holding(made, still)),
        "holds": [list(each) for each in made.holds],
        "curves": _curves(model),
        "modes": plucked,
        "lasts": module.lasts,
        "view": {
            "towards": mode_outlook(
                model, task.start.q, model.start_references, np.eye(model.size)
            ).towards.tolist(),
            "scale": min(shown_scale([(model, _shown(rest, plucked))]), MOST_ENLARGED),
        },
    }
    data = to_json(document | {"arrays": arrays.encode()})
    return fill_page(f"{model.arm.name} (flexarm)", data, runs=True)


def _simulation(
    arm: LiveArm, module: LiveModule, tuned: Tuning, state_limits: list[str]
) -> dict[str, Any]:
    """Return JSON data for the page on the WebAssembly module: code, memory, addresses, steps."""
    made = module.program
    return {
        "code": _packed(made.code),
        "image": _packed(module.memory.image()[made.reserved :]),
        "size": module.memory.size,
        "top": made.reserved,
        "entries": made.entries,
        "arrays": module.arrays,
        "sizes": module.sizes,
        "calls": module.calls,
        "record": module.record,
        "slots": module.slots,
        "n": arm.model.size,
        "grip": list(tuned.grip),
        "payload": float(arm.settings[1]),
        "laden": asdict(tuned.laden),
        "unladen": asdict(tuned.unladen),
        "reach": STEP_SHARE * STABLE,
        "longest": LONGEST_STEP,
        "state_limits": [f"{what} has come to its bound" if what else "" for what in state_limits],
        "broken": BROKEN,
        "codes": {"finished": FINISHED, "running": RUNNING, "limit_reached": LIMIT_REACHED},
        "ends": module.ends if np.isfinite(module.ends) else None,
    }


def _packed(data: bytes) -> str:
    return b64encode(zlib.compress(data, 9)).decode()


def _settings(arm: LiveArm, tuned: Tuning) -> list[dict[str, Any]]:
    """Return JSON data for the page on the settings: values and slider ranges."""
    gravity, payload = arm.settings[:2].tolist()
    flexible = any(part.flexible for part in arm.model.links)
    heaviest = max(3 * payload, float(f"{0.3 * arm.mass:.1g}"))
    sliders: tuple[dict[str, Any], ...] = (
        {"low": 0.0, "high": 2 * gravity or 9.81, "unit": "m/s²", "useful": True},
        {"low": tuned.lightest, "high": heaviest, "unit": "kg", "useful": heaviest > 0},
        {"low": LEAST_STIFFNESS, "high": 5.0, "unit": "×", "useful": flexible, "log": True},
        {"low": 0.0, "high": MOST_DAMPING, "unit": "", "useful": flexible},
    )
    return [
        {"key": key, "name": key, "value": value} | slider
        for key, value, slider in zip(SETTINGS, arm.settings.tolist(), sliders, strict=True)
    ]


def _joints(arm: LiveArm, tuned: Tuning, holding: list[float]) -> list[dict[str, Any]]:
    """Return JSON data for the page on the driven joints: servo gains, ranges, holding efforts."""
    played, found = [each.column for each in arm.programme.servos], []
    for k, axis in enumerate(arm.driven):
        start, stiffness, damping = tuned.servo[k].tolist()
        low, high = _range(axis, start, arm.model.links[axis.link].length)
        most = max(1.5 * abs(holding[k]), 0.3 * stiffness * (1.0 if axis.turns else high - low))
        found.append(
            {
                "name": axis.name,
                "unit": axis.unit,
                "effort": axis.effort_unit,
                "start": start,
                "low": low,
                "high": high,
                "most": float(f"{most:.1g}"),
                "row": arm.rows[k].tolist(),
                "gains": [stiffness, damping],
                "integral": float(tuned.integral[k]),
                "limit": 20 * most,
                "hold": holding[k],
                "played": played.index(k) if k in played else None,
            }
        )
    return found


def _range(axis: Axis, start: float, length: float) -> tuple[float, float]:
    """Return the lower and upper bound of a servo's target [rad or m]."""
    limits, way = axis.acts.limits, SERVO_TURN if axis.turns else max(0.5 * length, 0.05)
    low = start - way if limits is None or limits.lower is None else float(limits.lower)
    high = start + way if limits is None or limits.upper is None else float(limits.upper)
    margin = 0.02 * (high - low)
    return min(low + margin, start), max(high - margin, start)


def _still(arm: LiveArm) -> Equilibrium | None:
    """Return the arm's static equilibrium at its start with joints held; None if none exists."""
    try:
        return equilibrium(arm.model)
    except FlexarmError:
        return None


def _rest(model: Model, q: Array) -> list[float]:
    """Return the state of the arm at coordinates q as the page draws it."""
    found: list[float] = states(model, q[None], model.start_references[None])[0].tolist()
    return found


def _shown(rest: Array, plucked: list[dict[str, Any]]) -> Array:
    """Return deformed coordinates that fix the drawing scale, (N, n): at rest and after plucks."""
    swings = [np.array(each["kick"]) / (2 * np.pi * each["hz"]) for each in plucked]
    return np.stack([rest, *(rest + swing for swing in swings)])


def _holding(arm: LiveArm, still: Equilibrium | None) -> list[float]:
    """Return the efforts that hold the arm at its start [N m or N], at the joints; else zeros."""
    if still is None:
        return [0.0] * len(arm.driven)
    held = still.point.u.tolist()
    return [u * gear_gain(axis) for u, axis in zip(held, arm.driven, strict=True)]


def _curves(model: Model) -> list[dict[str, Any]]:
    """Return JSON data for the page on the joint curves: name, coordinate index, panel and unit."""
    turning = {"panel": "Joint angles", "unit": "deg", "factor": float(np.rad2deg(1.0))}
    sliding = {"panel": "Joint slides", "unit": "m", "factor": 1.0}
    return [
        {"name": axis.name, "index": axis.index} | (turning if axis.turns else sliding)
        for axis in model.drawn_axes
    ]


def _modes(arm: LiveArm, jacobians: Array) -> list[dict[str, Any]]:
    """Return JSON data for the page on vibration modes, joints held, and rates after a pluck."""
    try:
        every = modes(arm.model, joints="locked").modes
    except FlexarmError:
        return []
    listed = [mode for mode in every if mode.kind == "vibration"][:PLUCKED_MODES]
    reach, found = _reach(arm.model), []
    for mode in listed:
        shape = np.real(mode.shape)
        moved = np.linalg.norm(jacobians @ shape, axis=1).max()
        if not moved > 1e-6 * np.abs(shape).max():
            continue
        kick = shape * PLUCKED_MOTION * reach * listed[0].frequency_rad_s / moved
        found.append(
            {
                "name": mode.name,
                "hz": mode.frequency_hz,
                "damping": mode.damping_ratio,
                "kick": kick.tolist(),
            }
        )
    return found


def _limits(model: Model) -> dict[str, float | None]:
    """Return the initial ranges of the colour scales, which grow during the motion."""
    bending = flexible_links(model)
    if not bending:
        return {"deflection": 0.0, "curvature": 0.0, "moment": 0.0, "strain": None}
    strain = 1e-4 if any(shows_strain(part) for part in bending) else None
    longest = max(part.length for part in bending)
    seen, curved = COLOUR_DEFLECTION * longest, 8 * COLOUR_DEFLECTION / longest
    stiff = [rigidity(deformed(model, part, np.ones((1, model.size))), ROOT).max()
             for part in bending if part.body.sectioned]  # fmt: skip
    moment = curved * min(stiff, default=0.0)
    return {"deflection": seen, "curvature": curved, "moment": moment, "strain": strain}


def _reach(model: Model) -> float:
    return sum(part.length for part in model.links) or 1.0
