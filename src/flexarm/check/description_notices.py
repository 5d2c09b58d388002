"""Notices of likely mistakes in an arm's description, found without computing modes or motion."""

import math
from collections.abc import Iterator

import casadi as ca
import numpy as np

from flexarm.arm import Arm, Body, FreeBase, Link
from flexarm.check.constants import (
    CURVE_ERROR,
    FREQUENCY,
    GRAVITY,
    HIGH_DAMPING,
    LENGTH,
    MASS_PER_LENGTH,
    ORBIT_DISTANCE,
    ORBIT_RATE,
    STIFFNESS_RATIO,
    WAVE_SPEED,
)
from flexarm.check.report import LinkReport, Notice, axis_place
from flexarm.links.base import Span
from flexarm.links.end_loads import central_inertia
from flexarm.mechanics.kinematics import frames
from flexarm.mechanics.point_forces import touches
from flexarm.model import Axis, LinkModel, Model, WholeLink
from flexarm.model.curve import start_curve
from flexarm.spatial import Array

UNITS = "plain numbers are SI. Write the unit out, as in 70 GPa, 3 mm, 12 N m^2"


def gravity_notices(arm: Arm) -> Iterator[Notice]:
    """Yield a notice if gravity is weaker or stronger than on any planet or large moon."""
    size = math.hypot(*arm.gravity)
    if size > 0 and not GRAVITY[0] <= size <= GRAVITY[1]:
        yield Notice(
            "warning",
            "odd-gravity",
            "gravity",
            f"gravity is {size:.4g} m/s^2, outside the usual {GRAVITY[0]:g} to {GRAVITY[1]:g} "
            "m/s^2",
            "give gravity in m/s^2, such as [0, 0, -9.81], or [0, 0, 0] for none",
        )


def orbit_notices(arm: Arm) -> Iterator[Notice]:
    """Yield notices of an orbit faster than at any planet, and of a base far from its orbit."""
    if not isinstance(arm.base, FreeBase) or arm.base.orbit is None:
        return
    orbit, away = arm.base.orbit, math.hypot(*arm.base.position)
    if orbit.mean_motion > ORBIT_RATE:
        yield Notice(
            "warning",
            "odd-orbit",
            "base.orbit.rate",
            f"the orbit takes {2 * math.pi / orbit.mean_motion:.4g} s, less than any orbit "
            "about a planet or moon",
            "give the rate in rad/s, or the altitude above the Earth",
        )
    elif away > ORBIT_DISTANCE * orbit.radius:
        yield Notice(
            "warning",
            "far-from-orbit",
            "base.position",
            f"the base starts {away:.4g} m from the orbit, where the linearised gravity "
            f"gradient is {1.5 * away / orbit.radius:.1%} off",
            "let the orbit go through the base, or near it",
        )


def contact_notices(model: Model, pose: Array) -> Iterator[Notice]:
    """Yield a notice for each contact point that starts inside its obstacle."""
    q = ca.DM(pose)
    for k, touch in enumerate(touches(model, q, frames(model, q)) if model.points.contacts else ()):
        depth, force = float(touch.depth), float(touch.elastic)
        if depth > 0:
            name = model.arm.contact_names[k]
            yield Notice(
                "note",
                "start-in-contact",
                f"contacts[{k + 1}]",
                f"{name} starts {depth:.4g} m inside its obstacle, which pushes by {force:.4g} N",
                "move the start or the obstacle, unless the arm is to lean on it; check that "
                "the normal points out of the obstacle",
            )


def section_notices(index: int, link: Link, facts: LinkReport) -> Iterator[Notice]:
    """Yield notices of link lengths, sections and frequencies that suggest wrong units."""
    place = f"links[{index + 1}]"
    if link.length > 0 and not LENGTH[0] <= link.length <= LENGTH[1]:
        yield _units(f"{place}.length", f"{facts.name} is {link.length:.4g} m long")
    if link.section is None:
        return
    span = Span.of(link.section, link.span)
    place = f"{place}.section"
    if (heaviest := float(span.table["mass_per_length"].max())) > MASS_PER_LENGTH:
        yield _units(place, f"{facts.name} weighs {heaviest:.4g} kg/m")
    yield from _stiffness_notices(place, facts.name, span)
    if facts.flexible is None:
        return
    for direction in facts.flexible.directions:
        used = direction.clamped[: max(1, len(direction.coordinates))]
        odd = [f.hz for f in used if not FREQUENCY[0] <= f.hz <= FREQUENCY[1]]
        if odd:
            yield _units(
                place,
                f"{facts.name} has a frequency of {odd[0]:.4g} Hz in {direction.direction}, "
                f"outside {FREQUENCY[0]:g} to {FREQUENCY[1]:g} Hz",
            )


def _stiffness_notices(place: str, name: str, span: Span) -> Iterator[Notice]:
    table, mass = span.table, span.table["mass_per_length"]
    if span.has("EA"):
        speeds = np.sqrt(table["EA"] / mass)
        for speed in (float(speeds.min()), float(speeds.max())):
            if not WAVE_SPEED[0] <= speed <= WAVE_SPEED[1]:
                yield _units(
                    place,
                    f"sound runs along {name} at sqrt(EA/mass_per_length) = {speed:.4g} m/s, "
                    f"outside {WAVE_SPEED[0]:g} to {WAVE_SPEED[1]:g} m/s of known materials",
                )
                break
        for key in ("EIy", "EIz"):
            if span.has(key):
                radius = math.sqrt(float(np.max(table[key] / table["EA"])))
                if radius > span.length:
                    yield _units(
                        place,
                        f"the radius of gyration of {name}, sqrt({key}/EA) = {radius:.4g} m, is "
                        f"larger than its flexible span of {span.length:.4g} m",
                    )
    if span.has("EIy") and span.has("EIz"):
        ratio = float(np.max(np.abs(np.log10(table["EIz"] / table["EIy"]))))
        if ratio > math.log10(STIFFNESS_RATIO):
            yield _units(place, f"EIy and EIz of {name} differ by a factor of {10**ratio:.3g}")


def _units(place: str, message: str) -> Notice:
    return Notice("warning", "odd-units", place, message, UNITS)


def joint_notices(part: LinkModel, axis: Axis, start: float, speed: float) -> Iterator[Notice]:
    """Yield notices of joints that start out of range, and of gear ratios below 1."""
    joint, name, place = axis.acts, axis.name, axis_place(axis)
    if joint.limits is not None:
        low, high, fastest = joint.limits.lower, joint.limits.upper, joint.limits.speed
        low, high = (-math.inf if low is None else low), (math.inf if high is None else high)
        unit = axis.unit
        where = f"{place}.{'start' if joint.motion is None else 'motion'}"
        if not low <= start <= high:
            values = f"{start:.6g} {unit}, outside its limits {low:.6g} to {high:.6g} {unit}"
            yield _outside(where, name, values)
        if fastest is not None and abs(speed) > fastest:
            values = f"{speed:.6g} {unit}/s, above its limit of {fastest:.6g} {unit}/s"
            yield _outside(where, name, values)
    if part.range is not None:
        low, high = part.range
        if not low <= start <= high:
            yield Notice(
                "warning",
                "start-outside-shapes",
                f"{place}.limits",
                f"{name} starts at an exposed length of {start:.6g} m, outside the range "
                f"{low:.6g} to {high:.6g} m of its shapes; modes are computed at the nearer end",
                "widen limits.lower and limits.upper, or move the start",
            )
    if joint.drive is not None and axis.turns and abs(joint.drive.gear_ratio) < 1:
        yield Notice(
            "note",
            "gear-speeds-up",
            f"{place}.drive.gear_ratio",
            f"the rotor of {name} turns {abs(joint.drive.gear_ratio):.4g} times per "
            "turn of the joint, slower than the joint itself",
            "gear_ratio is the number of rotor turns per turn of the joint, so a reduction of "
            "100 is 'gear_ratio: 100'",
        )


def _outside(place: str, name: str, values: str) -> Notice:
    message = f"{name} starts at {values}"
    return Notice(
        "warning",
        "start-outside-limits",
        place,
        message,
        "move the joint's start or widen its limits",
    )


def damping_notices(index: int, part: LinkModel) -> Iterator[Notice]:
    """Yield notices of large damping ratios, and of links with fewer ratios than modes."""
    place, damping = f"links[{index + 1}].damping", part.link.damping
    largest = max(part.link.damping_ratios, default=0.0)
    modes = part.modes.stop - part.modes.start
    if largest > HIGH_DAMPING:
        yield Notice(
            "warning",
            "large-damping",
            place,
            f"a damping ratio of {largest:.4g} in {part.name} is above {HIGH_DAMPING:g}",
            "damping ratios of structures are 0.002 to 0.05; a ratio of 2 % is 0.02",
        )
    if isinstance(damping, tuple) and len(damping) < modes:
        yield Notice(
            "warning",
            "missing-damping",
            place,
            f"{len(damping)} damping ratios are given for the {modes} modes of {part.name}, so "
            f"that the {modes - len(damping)} highest modes are undamped",
            f"give {modes} damping ratios, or one number for all modes",
        )


def curve_notices(index: int, part: WholeLink) -> Iterator[Notice]:
    """Yield a notice if the shapes of a link cannot represent its given initial curve."""
    if part.spans[0].link.start_curve is None:
        return
    left = start_curve(part)[1]
    if left > CURVE_ERROR:
        yield Notice(
            "warning",
            "start-curve",
            f"links[{index + 1}].start_curve",
            f"the shapes of {part.name} cannot represent {left:.1%} of the curve that it starts in",
            "give the link more shapes, or a start curve that its joint and section can have",
        )


def inertia_notices(arm: Arm) -> Iterator[Notice]:
    """Yield a notice for each body whose principal moments of inertia are physically impossible.

    A single nonzero moment, as in [0, 0, J] of a planar arm, is accepted.
    """
    for place, body in _bodies(arm):
        if sum(value != 0 for value in body.inertia[:3]) <= 1:
            continue
        low, middle, high = np.linalg.eigvalsh(central_inertia(body))
        if high > (low + middle) * (1 + 1e-3):
            yield Notice(
                "warning",
                "impossible-inertia",
                f"{place}.inertia",
                f"the largest principal moment {high:.6g} kg m^2 is more than the sum of the "
                f"other two, {low + middle:.6g} kg m^2, which is impossible for a body",
                "check the numbers, which are [xx, yy, zz, xy, xz, yz] about the centre of mass",
            )


def _bodies(arm: Arm) -> Iterator[tuple[str, Body]]:
    if isinstance(arm.base, FreeBase):
        yield "base.body", arm.base.body
    for index, link in enumerate(arm.links):
        place, hub = f"links[{index + 1}]", link.joint.hub
        pieces = [(n, getattr(link, n)) for n in ("root_piece", "tip_piece")]
        bodies = [
            (f"{place}.joint.hub.inboard", hub.inboard),
            (f"{place}.joint.hub.outboard", hub.outboard),
            (f"{place}.body", link.rigid_body),
            *((f"{place}.{n}.body", piece.body) for n, piece in pieces if piece is not None),
        ]
        yield from ((where, body) for where, body in bodies if body is not None)
    if arm.payload is not None:
        yield "payload", arm.payload
