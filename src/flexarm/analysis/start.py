"""Where an arm starts, prescribed joints and bases included."""

import csv
import math

import numpy as np

from flexarm.arm import MovedBase, Moving
from flexarm.arm.profile import (
    BangBang,
    Constant,
    Csv,
    Cycloid,
    Interpolation,
    Sine,
    SpinUp,
    Step,
    Table,
)
from flexarm.errors import ModelError
from flexarm.links.base import Array
from flexarm.model import BASE_COORDINATES, Model, start_state


def starting_pose(model: Model) -> Array:
    """Find the coordinates at t = 0, (n,): the file's own, and those of prescribed motions."""
    q, _ = start_state(model)
    given = motions(model)
    for index, motion in given.items():
        q[index] = value_at_start(motion)
    for part in model.links:
        joint = part.link.joint
        relaxed = isinstance(joint, Moving) and joint.start.motor_position is None
        if part.joint in given and part.motor is not None and relaxed:
            q[part.motor] = q[part.joint]
    return q


def motions(model: Model) -> dict[int, object]:
    """Collect the profiles of prescribed coordinates by index; a base's axis at rest has none."""
    found: dict[int, object] = {}
    base = model.arm.base
    if isinstance(base, MovedBase):
        for index, name in enumerate(BASE_COORDINATES):
            motion = getattr(base.motion, name)
            if motion is not None:
                found[index] = motion
    for part in model.links:
        joint = part.link.joint
        if isinstance(joint, Moving) and joint.motion is not None and part.joint is not None:
            found[part.joint] = joint.motion
    return found


def value_at_start(profile: object) -> float:
    """Evaluate a profile at t = 0, in SI units."""
    if isinstance(profile, Constant):
        return float(profile.value)
    if isinstance(profile, Step):
        return float(profile.value if profile.time <= 0 else profile.before or 0.0)
    if isinstance(profile, BangBang):
        passed = sum(time <= 0 for time in profile.times)
        running = 0 < passed < len(profile.times)
        return float(profile.amplitude) * (-1) ** (passed - 1) if running else 0.0
    if isinstance(profile, Sine):
        return float(profile.offset or 0.0) + float(profile.amplitude) * math.sin(profile.phase)
    if isinstance(profile, Cycloid):
        t = min(max(-profile.begin / profile.duration, 0.0), 1.0)
        path = t - math.sin(2 * math.pi * t) / (2 * math.pi)
        return float(profile.start) + (float(profile.end) - float(profile.start)) * path
    if isinstance(profile, Table):
        values = [float(value) for value in profile.values]
        return _interpolate(list(profile.times), values, profile.interpolation)
    if isinstance(profile, Csv):
        return _interpolate(*_columns(profile), profile.interpolation)
    assert isinstance(profile, SpinUp)
    return 0.0


def _interpolate(times: list[float], values: list[float], how: Interpolation) -> float:
    if how == "hold":
        passed = sum(time <= 0 for time in times)
        return values[max(passed - 1, 0)]
    if how == "cubic" and times[0] < 0 < times[-1] and len(times) > 2:
        from scipy.interpolate import CubicSpline

        return float(CubicSpline(times, values)(0.0))
    return float(np.interp(0.0, times, values))


def _columns(profile: "Csv[float]") -> tuple[list[float], list[float]]:
    """Read the times and values of a CSV profile."""
    times, values = [], []
    try:
        with profile.path.open(encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file)
            for name in (profile.time, profile.value):
                if name not in (reader.fieldnames or ()):
                    listed = ", ".join(reader.fieldnames or ()) or "nothing"
                    raise ModelError(f"{profile.path}:1: no column '{name}': it has {listed}")
            for row in reader:
                try:
                    times.append(float(row[profile.time]))
                    values.append(float(row[profile.value]))
                except (TypeError, ValueError):
                    place = f"{profile.path}:{reader.line_num}"
                    raise ModelError(f"{place}: expected a number in both columns") from None
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ModelError(f"{profile.path}: the file cannot be read: {error}") from None
    if not times:
        raise ModelError(f"{profile.path}: there are no values below the header line")
    return times, values
