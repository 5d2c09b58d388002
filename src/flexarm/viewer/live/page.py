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
from flexarm.mechanics.loads import gear_gain
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
from flexarm.viewer.live.module import (
    LiveModule,
    Prepared,
    Tuning,
    hold_jacobians,
    live_module,
    live_state_limits,
    prepare_live,
)
from flexarm.viewer.outlook import mode_outlook, shown_scale
from flexarm.viewer.page import save_page
from flexarm.viewer.scene import rigidity, scene, shows_strain, states

ROOT = np.zeros(1)
BROKEN = "its motion grew without bound"


def live(
    arm: Arm | Model, path: str | Path, *, all_shapes: bool = False, force: bool = False
) -> str:
    """Write an HTML page that simulates an arm in the browser, in one file without network.

    Parameters
    ----------
    arm
        The arm, or its model.
    path
        Path of the HTML page.
    all_shapes
        Whether to include shapes that vibrate so fast that the simulation may be slower than real
        time; the page shows when it is.
    force
        Whether to overwrite an existing file.

    Returns
    -------
    str
        Text that names parts of the arm or of its model file that the page leaves out; '' if none.

    Raises
    ------
    FlexarmError
        If the file exists and `force` is false, if the arm cannot move, or if the installed
        llvmlite cannot write WebAssembly.

    Notes
    -----
    The page integrates the equations of `flexarm.simulate` with ``rk4``, compiled to WebAssembly.
    The shape functions of the arm do not change with the sliders.
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
    """Return the HTML text of a page that simulates an arm."""
    arm, task, tuning = prepared.arm, prepared.task, prepared.tuned
    model = arm.model
    module = live_module(arm, task, tuning.step)
    arrays = Arrays()
    drawn = scene(model, arrays)
    payload = model.arm.payload
    drawn["payload"] = {
        "mass": float(arm.settings[1]),
        "com": [0.0] * 3 if payload is None else list(payload.com),
    }
    pluck_modes, equilibrium_ = _modes(arm, hold_jacobians(arm, task)), _static_equilibrium(arm)
    rest_coordinates = task.start.q if equilibrium_ is None else equilibrium_.point.q
    document = {
        "kind": "live",
        "title": model.arm.name,
        "facts": " · ".join(
            filter(None, (prepared.left_out or f"{model.size} coordinates", arm.programme.left_out))
        ),
        "notes": model.arm.notes,
        "warning": "",
        "live": "",
        "arms": [drawn],
        "rest": None
        if equilibrium_ is None
        else states(model, equilibrium_.point.q[None], model.start_references[None])[0].tolist(),
        "limits": _limits(model),
        "simulation": _simulation(
            arm, module, tuning, [watch.what for watch in live_state_limits(task)]
        ),
        "settings": _settings(arm, tuning),
        "joints": _joints(arm, tuning, _holding(arm, equilibrium_)),
        "holds": [list(point) for point in arm.holds],
        "curves": _curves(model),
        "modes": pluck_modes,
        "lasts": module.lasts,
        "view": {
            "towards": mode_outlook(
                model, task.start.q, model.start_references, np.eye(model.size)
            ).towards.tolist(),
            "scale": min(
                shown_scale([(model, _scale_states(rest_coordinates, pluck_modes))]), MOST_ENLARGED
            ),
        },
    }
    data = to_json(document | {"arrays": arrays.encode()})
    return fill_page(f"{model.arm.name} (flexarm)", data, runs=True)


def _simulation(
    arm: LiveArm, module: LiveModule, tuning: Tuning, quantities: list[str]
) -> dict[str, Any]:
    """Return page data on the WebAssembly module: code, memory, addresses and steps."""
    compiled = module.program
    return {
        "code": _packed(compiled.code),
        "image": _packed(module.memory.image()[compiled.reserved :]),
        "size": module.memory.size,
        "top": compiled.reserved,
        "entries": compiled.entries,
        "arrays": module.arrays,
        "sizes": module.sizes,
        "calls": module.calls,
        "record": module.record,
        "slots": module.slots,
        "n": arm.model.size,
        "grip": list(tuning.grip),
        "payload": float(arm.settings[1]),
        "laden": asdict(tuning.laden),
        "unladen": asdict(tuning.unladen),
        "reach": STEP_SHARE * STABLE,
        "longest": LONGEST_STEP,
        "state_limits": [
            f"{quantity} reached its limit" if quantity else "" for quantity in quantities
        ],
        "broken": BROKEN,
        "codes": {"finished": FINISHED, "running": RUNNING, "limit_reached": LIMIT_REACHED},
        "ends": module.ends if np.isfinite(module.ends) else None,
    }


def _packed(data: bytes) -> str:
    return b64encode(zlib.compress(data, 9)).decode()


def _settings(arm: LiveArm, tuning: Tuning) -> list[dict[str, Any]]:
    """Return page data on the settings: values and ranges of the sliders."""
    gravity, payload = arm.settings[:2].tolist()
    flexible = any(part.flexible for part in arm.model.links)
    heaviest = max(3 * payload, float(f"{0.3 * arm.mass:.1g}"))
    sliders: tuple[dict[str, Any], ...] = (
        {"low": 0.0, "high": 2 * gravity or 9.81, "unit": "m/s²", "useful": True},
        {"low": tuning.lightest, "high": heaviest, "unit": "kg", "useful": heaviest > 0},
        {"low": LEAST_STIFFNESS, "high": 5.0, "unit": "×", "useful": flexible, "log": True},
        {"low": 0.0, "high": MOST_DAMPING, "unit": "", "useful": flexible},
    )
    return [
        {"key": key, "name": key, "value": value} | slider
        for key, value, slider in zip(SETTINGS, arm.settings.tolist(), sliders, strict=True)
    ]


def _joints(arm: LiveArm, tuning: Tuning, holding: list[float]) -> list[dict[str, Any]]:
    """Return page data on the driven joints: servo gains, ranges and holding efforts."""
    servo_inputs, joints = [servo.column for servo in arm.programme.servos], []
    for k, axis in enumerate(arm.driven):
        start, stiffness, damping = tuning.servo[k].tolist()
        low, high = _range(axis, start, arm.model.links[axis.link].length)
        largest_effort = max(
            1.5 * abs(holding[k]), 0.3 * stiffness * (1.0 if axis.turns else high - low)
        )
        joints.append(
            {
                "name": axis.name,
                "unit": axis.unit,
                "effort": axis.effort_unit,
                "start": start,
                "low": low,
                "high": high,
                "most": float(f"{largest_effort:.1g}"),
                "row": arm.rows[k].tolist(),
                "gains": [stiffness, damping],
                "integral": float(tuning.integral[k]),
                "limit": 20 * largest_effort,
                "hold": holding[k],
                "played": servo_inputs.index(k) if k in servo_inputs else None,
            }
        )
    return joints


def _range(axis: Axis, start: float, length: float) -> tuple[float, float]:
    """Return the lower and upper bound of a servo's target slider [rad or m]."""
    limits, half_range = axis.acts.limits, SERVO_TURN if axis.turns else max(0.5 * length, 0.05)
    low = start - half_range if limits is None or limits.lower is None else float(limits.lower)
    high = start + half_range if limits is None or limits.upper is None else float(limits.upper)
    margin = 0.02 * (high - low)
    return min(low + margin, start), max(high - margin, start)


def _static_equilibrium(arm: LiveArm) -> Equilibrium | None:
    """Return the static equilibrium with joints held at their start; None if none exists."""
    try:
        return equilibrium(arm.model)
    except FlexarmError:
        return None


def _scale_states(rest_position: Array, plucked: list[dict[str, Any]]) -> Array:
    """Return deformed coordinates from which the drawing scale is chosen, (N, n)."""
    swings = [np.array(mode["kick"]) / (2 * np.pi * mode["hz"]) for mode in plucked]
    return np.stack([rest_position, *(rest_position + swing for swing in swings)])


def _holding(arm: LiveArm, equilibrium_: Equilibrium | None) -> list[float]:
    """Return the joint efforts [N m or N] that hold the arm at its start; 0 if unknown."""
    if equilibrium_ is None:
        return [0.0] * len(arm.driven)
    inputs = equilibrium_.point.u.tolist()
    return [u * gear_gain(axis) for u, axis in zip(inputs, arm.driven, strict=True)]


def _curves(model: Model) -> list[dict[str, Any]]:
    """Return page data on the curves of the joints: name, coordinate index, panel and unit."""
    turning = {"panel": "Joint angles", "unit": "deg", "factor": float(np.rad2deg(1.0))}
    sliding = {"panel": "Joint slides", "unit": "m", "factor": 1.0}
    return [
        {"name": axis.name, "index": axis.index} | (turning if axis.turns else sliding)
        for axis in model.drawn_axes
    ]


def _modes(arm: LiveArm, jacobians: Array) -> list[dict[str, Any]]:
    """Return page data on vibration modes with joints held, and rates after a pluck."""
    try:
        all_modes = modes(arm.model, joints="locked").modes
    except FlexarmError:
        return []
    plucked = [mode for mode in all_modes if mode.kind == "vibration"][:PLUCKED_MODES]
    reach, data = _reach(arm.model), []
    for mode in plucked:
        shape = np.real(mode.shape)
        largest_motion = np.linalg.norm(jacobians @ shape, axis=1).max()
        if not largest_motion > 1e-6 * np.abs(shape).max():
            continue
        kick = shape * PLUCKED_MOTION * reach * plucked[0].frequency_rad_s / largest_motion
        data.append(
            {
                "name": mode.name,
                "hz": mode.frequency_hz,
                "damping": mode.damping_ratio,
                "kick": kick.tolist(),
            }
        )
    return data


def _limits(model: Model) -> dict[str, float | None]:
    """Return initial ranges of the colour scales, which the page extends during the motion."""
    flexible = flexible_links(model)
    if not flexible:
        return {"deflection": 0.0, "curvature": 0.0, "moment": 0.0, "strain": None}
    strain = 1e-4 if any(shows_strain(part) for part in flexible) else None
    longest = max(part.length for part in flexible)
    deflection, curvature = COLOUR_DEFLECTION * longest, 8 * COLOUR_DEFLECTION / longest
    rigidities = [rigidity(deformed(model, part, np.ones((1, model.size))), ROOT).max()
             for part in flexible if part.body.sectioned]  # fmt: skip
    moment = curvature * min(rigidities, default=0.0)
    return {"deflection": deflection, "curvature": curvature, "moment": moment, "strain": strain}


def _reach(model: Model) -> float:
    return sum(part.length for part in model.links) or 1.0
