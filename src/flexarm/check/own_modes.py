"""Frequencies of a single link, by direction and for its chosen shapes."""

import math

import numpy as np

from flexarm.arm import Arm
from flexarm.arm.shapes import Counted
from flexarm.check.constants import LISTED_MODES
from flexarm.check.report import DirectionReport, FlexibleReport, Frequency, ShapeMode
from flexarm.check.shape_rule import why_count
from flexarm.constants import DIGITS, NEGLIGIBLE
from flexarm.linear_model import LinearModel, undamped
from flexarm.links.base import DIRECTIONS, Counts, Ends
from flexarm.links.basis import MOTIONS, BeamDirection
from flexarm.links.beams.finite import Conditions, modes
from flexarm.links.body_data import StraightBody
from flexarm.links.end_loads import clamped_ends, loaded_ends, with_tip_body
from flexarm.links.joint_boundary import hold
from flexarm.links.shape_counts import counts
from flexarm.links.span import Span
from flexarm.mechanics.bodies import LinkBody, body_of
from flexarm.mechanics.bodies.base import shape_sizes
from flexarm.model import LinkModel, Model
from flexarm.spatial import Array


def flexible_report(model: Model, index: int, linear: LinearModel, pose: Array) -> FlexibleReport:
    """Return the report on a flexible link: boundary conditions, shapes and modes of its span.

    Parameters
    ----------
    model, index
        The arm, and the index of the link.
    linear
        Matrices of the arm at the start.
    pose
        Coordinates at the start, (n,), sliding links within the range of their shapes.
    """
    arm, part = model.arm, model.links[index]
    body, ends, root = body_of(model, part), loaded_ends(arm, index), hold(arm, index)
    kind, summary = body.described()
    span = part.span_length(pose)
    return FlexibleReport(
        span=span,
        shapes=kind,
        summary=summary,
        root=root.state,
        why_root=f"{root.state}: {root.reason}",
        tip_mass=ends.tip_mass,
        tip_inertia=ends.tip_inertia,
        directions=_directions(arm, index, body, ends, pose),
        modes=_own_modes(part, part.body.straight(span), linear.damping[part.modes, part.modes]),
        modal_data=tuple(body.file_report()),
    )


def frequency(omega: float) -> Frequency:
    """Return a `Frequency` (in Hz and rad/s) of an angular frequency [rad/s]."""
    return Frequency(hz=omega / (2 * math.pi), rad_s=omega)


def _own_modes(part: LinkModel, body: StraightBody, damping: Array) -> tuple[ShapeMode, ...]:
    """Return the modes of a link with its joint at rest and the body at its tip attached.

    ``damping`` is the damping matrix of the link's amplitudes, (m, m).
    """
    integrals = body.integrals
    mass = with_tip_body(integrals.modal_mass, body.tip_shape, body.tip_angle, part.tip_body)
    vectors = _mode_shapes(integrals.stiffness, mass, measured=part.body.measured)
    weights = np.einsum("im,ij,jm->m", vectors, mass, vectors)
    shares = vectors * (integrals.stiffness @ vectors)
    omegas = np.sqrt(np.maximum(shares.sum(axis=0), 0.0) / weights)
    lost = np.einsum("im,ij,jm->m", vectors, damping, vectors) / weights
    ratios = lost / (2 * np.maximum(omegas, 1e-300))
    return tuple(
        ShapeMode(
            frequency=frequency(float(omega)),
            damping=float(ratio),
            coordinate=f"{part.name}.{part.body.names[int(np.argmax(share))]}",
        )
        for omega, ratio, share in zip(omegas, ratios, shares.T, strict=True)
    )


def _mode_shapes(stiffness: Array, mass: Array, *, measured: bool) -> Array:
    """Return the mode shapes of a link in its amplitudes, (m, k), one per column, slowest first."""
    if measured:  # shapes have mass, and may have no stiffness
        return undamped(mass, stiffness)[1]
    # A twist that rotates only bodies on other links has no mass here and is no mode of this link.
    flexibility, vectors = undamped(stiffness, mass)
    significant = flexibility > DIGITS * flexibility.max()
    return vectors[:, significant][:, ::-1]


def span_frequencies(
    span: Span, motion: BeamDirection, ends: Ends, count: int
) -> tuple[Frequency, ...]:
    """Compute the lowest ``count`` natural frequencies of a span, or all if it has fewer."""
    conditions = Conditions.of(ends, motion)
    if not np.any(span.table[motion.inertia] > 0):
        clamped = conditions.support == "clamped-free" or conditions.hub > 0
        count = min(count, int(clamped and conditions.tip_mass > 0))
    if count == 0:
        return ()
    frequencies = modes(span, motion, conditions, count).frequencies
    return tuple(frequency(float(omega)) for omega in frequencies)


def _directions(
    arm: Arm, index: int, body: LinkBody, ends: Ends, pose: Array
) -> tuple[DirectionReport, ...]:
    choice, part = arm.links[index].shapes, body.part
    span, shapes = body.span_at(pose), body.shapes_at(pose)
    if span is None or shapes is None:
        return ()
    number = counts(arm, index, choice) if isinstance(choice, Counted) else Counts(0, 0, 0, 0)
    sizes, result = shape_sizes(shapes, span), []
    for direction in DIRECTIONS:
        motion = MOTIONS[direction]
        if not span.has(motion.stiffness):
            continue
        moved = sizes[DIRECTIONS.index(direction)] > NEGLIGIBLE * sizes.max(axis=0)
        mine = tuple(f"{part.name}.{shapes.names[k]}" for k in np.flatnonzero(moved))
        listed = max(LISTED_MODES, len(mine))
        count = number.of(direction) if isinstance(choice, Counted) else len(mine)
        result.append(
            DirectionReport(
                direction=motion.key,
                stiffness=motion.stiffness,
                count=count,
                coordinates=mine,
                why=why_count(arm, index, motion),
                clamped=span_frequencies(span, motion, clamped_ends(part.tip_body), listed),
                loaded=span_frequencies(span, motion, ends, listed),
            )
        )
    return tuple(result)
