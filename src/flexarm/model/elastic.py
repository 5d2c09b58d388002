"""Elastic parts of links, of constant length or sliding: shapes, mass integrals and damping."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.polynomial import chebyshev

from flexarm.arm import Arm
from flexarm.arm.shapes import ClampedMass, Counted, Elements
from flexarm.errors import ModelError, ShapeError
from flexarm.linear_model import undamped
from flexarm.links import discretisation
from flexarm.links.base import DIRECTIONS, LABELS, Counts, Direction, Ends, Shapes, Span
from flexarm.links.basis import normalisation
from flexarm.links.beams.finite import sheared
from flexarm.links.collocation import collocate
from flexarm.links.end_loads import clamped_mass_ends, loaded_ends, tip_inertia, with_tip_body
from flexarm.links.families.spans import add_static
from flexarm.links.growing.fields import GrowingNodes
from flexarm.links.growing.shapes import SlidingShapes, fixed_shapes, follow_length
from flexarm.links.imported.body import ReducedBody
from flexarm.links.imported.file import read_body
from flexarm.links.integrals import integrate, rotary_error, settled_pairs
from flexarm.links.remembered import remembered
from flexarm.links.shape_counts import counts
from flexarm.model.constants import DAMPING_NODES
from flexarm.model.nodes import chosen_nodes, enough_nodes
from flexarm.model.parts import Flexible, SlidingBeam
from flexarm.model.spans import item
from flexarm.spatial import Array


def link_damping(arm: Arm, index: int, part: Flexible) -> Array:
    """Return the damping matrix (m, m) of a link's amplitudes, as measured or else computed."""
    link, shapes = arm.links[index], part.shapes
    if shapes.damping is None:
        parts, tip = stiffnesses(shapes, part.integrals.stiffness), (part.tip_shape, part.tip_angle)
        return damping_matrix(arm, index, parts, part.integrals.modal_mass, tip)
    if link.model_fields_set & {"damping", "material_damping"}:
        raise ModelError(
            f"{item(arm, index)}.damping: the file of the shapes of {link.name or 'the link'} "
            "gives the damping too. Leave one of the two out."
        )
    return shapes.damping


def damping_matrix(
    arm: Arm,
    index: int,
    parts: Mapping[Direction, Array],
    modal: Array,
    tip: tuple[Array, Array],
    names: Sequence[str] | None = None,
) -> Array:
    """Compute the damping matrix (m, m) of a link from modal damping ratios and material damping.

    Damping ratios refer to modes of the link clamped at its root, with its tip body. ``parts``
    contains the stiffness matrix of each direction. A material's loss factor adds half its value to
    the damping ratio of a mode, weighted by the share of the mode's strain energy in each
    direction. Without ``names``, modes are named by their main directions.
    """
    link, stiffness = arm.links[index], np.asarray(sum(parts.values()))
    result = np.zeros_like(modal)
    if not link.damped or not modal.size:
        return result
    losses = {} if link.material_damping is None else {
        d: link.material_damping.along(d) for d in parts
    }  # fmt: skip
    for direction, loss in losses.items():
        result += (loss.time or 0.0) * parts[direction]
    if not any(link.damping_ratios) and not any(loss.loss_factor for loss in losses.values()):
        return result
    mass = with_tip_body(modal, *tip, tip_inertia(arm, index))
    try:
        squares, modes = undamped(mass, stiffness)
    except np.linalg.LinAlgError as error:
        raise ModelError(
            "damping: an amplitude of the link moves no mass, so that it has no frequency at "
            "which a damping ratio is defined. Give the section's rotary inertia (Jx for "
            "twist), or leave the amplitude out."
        ) from error
    strains = {d: np.sum(modes * (part @ modes), axis=0) for d, part in parts.items()}
    ratios = _damping_ratios(arm, index, names, strains)
    total = np.maximum(sum(strains.values()), 1e-300)
    for direction, loss in losses.items():
        ratios = ratios + (loss.loss_factor or 0.0) / 2 * strains[direction] / total
    weighted = mass @ modes
    scaled = weighted * (2 * ratios * np.sqrt(np.abs(squares)))
    return settled_pairs(result + scaled @ weighted.T)


def _damping_ratios(
    arm: Arm, index: int, names: Sequence[str] | None, strains: Mapping[Direction, Array]
) -> Array:
    """Return the damping ratio of each clamped mode of a link, (m,), lowest frequency first.

    Damping ratios that the model file gives by name are assigned to modes by ``names``, or else by
    the direction that has most of a mode's strain energy.
    """
    ratios, count = arm.links[index].damping, len(next(iter(strains.values())))
    if isinstance(ratios, float):
        return np.full(count, ratios)
    if isinstance(ratios, dict):
        names = names or _mode_names(strains)
        unknown = [name for name in ratios if name not in names]
        if unknown:
            raise ModelError(
                f"{item(arm, index)}.damping: there is no mode '{unknown[0]}'. "
                f"{arm.link_names[index]} has {', '.join(names)}."
            )
        return np.array([ratios.get(name, 0.0) for name in names])
    if len(ratios) > count:
        raise ModelError(
            f"{item(arm, index)}.damping: {len(ratios)} damping ratios are given for {count} "
            "modes. Give one ratio for all modes, or at most one per mode."
        )
    return np.array([*ratios, *[0.0] * (count - len(ratios))])


def stiffnesses(shapes: Shapes, stiffness: Array) -> dict[Direction, Array]:
    """Divide a stiffness matrix (m, m) into one matrix per direction, whose sum it is.

    Each shape function belongs to one direction. Entries that couple shape functions of two
    directions are divided equally between the two matrices.
    """
    result: dict[Direction, Array] = {}
    for direction in DIRECTIONS:
        belongs = np.array(
            [shape_direction == direction for shape_direction in shapes.directions], dtype=float
        )
        # Terms that couple measured shapes in two directions are divided equally.
        result[direction] = stiffness * (belongs[:, None] + belongs[None, :]) / 2
    return result


def _mode_names(strains: Mapping[Direction, Array]) -> list[str]:
    """Return names of modes: the direction with most strain energy, and a number."""
    order, names = list(strains), list[str]()
    for k in np.argmax(np.stack([strains[direction] for direction in order]), axis=0):
        label = LABELS[order[int(k)]]
        names.append(f"{label}{1 + sum(name.startswith(label) for name in names)}")
    return names


UNLOADED = Ends((math.inf, math.inf, math.inf), 0.0, (0.0, 0.0, 0.0))
T = TypeVar("T")


def link_shapes(arm: Arm, index: int, span: Span) -> Shapes:
    """Build the shape functions of a link over a span; of a sliding link, over its exposed part."""
    choice, ends, number = arm.links[index].shapes, UNLOADED, Counts(0, 0, 0, 0)
    family = discretisation(choice.kind)
    if isinstance(choice, ClampedMass):
        ends = clamped_mass_ends(arm, index, choice)
    elif family.loaded(choice):
        ends = loaded_ends(arm, index)
    if isinstance(choice, Counted):
        number = counts(arm, index, choice)

    def make() -> Shapes:
        shapes = family.shapes(choice, span, ends, number)
        if isinstance(choice, Counted) and choice.static:
            return add_static(
                shapes, span, number,
                lambda motion, count: family.rest(span, ends, motion.direction, count),
            )  # fmt: skip
        return shapes

    with naming_link(arm, index):
        if not isinstance(choice, Counted):  # the result depends on files, so it is not cached
            return make()
        return remembered((family, choice.model_dump_json(), span.contents, ends, number), make)


@contextmanager
def naming_link(arm: Arm, index: int) -> Iterator[None]:
    """Convert a shape error raised in the context to a model error that names the link."""
    try:
        yield
    except ShapeError as error:
        raise ModelError(f"{item(arm, index)}.shapes: {arm.link_names[index]}: {error}") from error


def check_amplitudes(arm: Arm, index: int, labels: tuple[str, ...]) -> None:
    """Raise an error if the model file refers to an amplitude that the link does not have."""
    link = arm.links[index]
    references = [("start", n) for n in link.start] + [("start_speed", n) for n in link.start_speed]
    references += [("elastic_energy", n) for t in link.elastic_energy for n in t.powers]
    references += [("elastic_force", t.coordinate) for t in link.elastic_force]
    references += [("quadratic_shapes", n) for t in link.quadratic_shapes for n in t.amplitudes]
    for key, name in references:
        if name not in labels:
            raise ModelError(
                f"{item(arm, index)}.{key}: there is no amplitude '{name}'. "
                f"{arm.link_names[index]} has {', '.join(labels) or 'none'}."
            )


@dataclass(frozen=True)
class Theory:
    """Beam theory of flexible links: linear, geometrically exact, or a series in the amplitudes."""

    stiffening: bool
    exact: bool
    nodes: int | None


def flexible_part(
    arm: Arm, index: int, theory: Theory, shapes_of: Callable[[int, Span], Shapes]
) -> Flexible:
    """Build the elastic part of a link of constant length.

    ``shapes_of`` is a function that returns the link's shape functions from its index and span.
    """
    link = arm.links[index]
    assert link.section is not None
    span = Span.of(link.section, link.span)
    shapes = shapes_of(index, span)
    exact = theory.stiffening and theory.exact and not link.quadratic_shapes
    shortens = theory.stiffening and not exact  # series in the amplitudes
    if span.has("GAy") or span.has("GAz"):
        shapes = _sheared(arm, index, span, shapes, shortens=shortens)
    check_amplitudes(arm, index, shapes.names)
    excess = theory.nodes or chosen_nodes(arm, index, span, shapes) if exact else 0

    def undamped() -> Flexible:
        part = Flexible.of(span, shapes, stiffening=shortens, extra=link.quadratic_shapes)
        if not exact:
            return part
        nodes = collocate(span, shapes, excess) if theory.nodes else enough_nodes(
            lambda count: collocate(span, shapes, count),
            lambda nodes: rotary_error(part.integrals, nodes),
            excess,
        )  # fmt: skip
        return replace(part, nodes=nodes)

    with naming_link(arm, index):
        # Cached shapes of equal links are one object.
        key = ("part", span.contents, theory, excess, str(link.quadratic_shapes))
        part = remembered(key, undamped, shapes)
    if link.damped or shapes.damping is not None:
        part = replace(part, damping=link_damping(arm, index, part))
    return part


def _sheared(arm: Arm, index: int, span: Span, shapes: Shapes, *, shortens: bool) -> Shapes:
    """Return a link's shape functions plus their shear deflection, if its section shears."""
    if shortens:
        raise ModelError(
            f"{item(arm, index)}.section: {arm.link_names[index]} shears, which is possible "
            "only for exact and for linear beams. Write 'stiffening: false', or leave out the "
            "shear stiffness, quadratic_shapes and series."
        )
    normalising = normalisation(arm.links[index].shapes)
    with naming_link(arm, index):
        key = ("sheared", span.contents, normalising)
        return remembered(key, lambda: sheared(shapes, span, normalising), shapes)


def reduced_part(arm: Arm, index: int) -> ReducedBody:
    """Read the reduced body of a link from its file.

    If the file contains no damping matrix, it is computed from the damping ratios of the link.
    """
    link = arm.links[index]
    assert link.modal is not None
    try:
        body = read_body(link.modal.side_file)
    except ModelError as error:
        raise ModelError(f"{item(arm, index)}.body: {error}") from error
    check_amplitudes(arm, index, body.names)
    if body.damping is not None:
        if link.model_fields_set & {"damping", "material_damping"}:
            raise ModelError(
                f"{item(arm, index)}.damping: the file of the body of {link.name or 'the link'} "
                "gives the damping too. Leave one of the two out."
            )
        return body
    material = link.material_damping
    if material is not None and any(material.along(d) is not material for d in DIRECTIONS):
        raise ModelError(
            f"{item(arm, index)}.material_damping: a body with modes cannot have damping by "
            "direction. Give one time or one loss factor for the whole body."
        )
    parts: dict[Direction, Array] = {"x": body.integrals.stiffness}
    ends = body.tip_shape, body.tip_angle
    modal = body.integrals.modal_mass
    return replace(body, damping=damping_matrix(arm, index, parts, modal, ends, body.names))


def sliding_beam(
    arm: Arm, index: int, theory: Theory, shapes_of: Callable[[int, Span], Shapes]
) -> SlidingBeam:
    """Build the elastic part of a link that slides out of its hub."""
    shapes = sliding_shapes(arm, index, shapes_of)
    damping = sliding_damping(arm, index, shapes)
    return SlidingBeam(shapes, damping, sliding_nodes(arm, index, shapes, theory))


def sliding_shapes(arm: Arm, index: int, shapes_of: Callable[[int, Span], Shapes]) -> SlidingShapes:
    """Build the shape functions of a sliding link over the range of its exposed length."""
    link = arm.links[index]
    section = link.section
    assert section is not None
    (actuation,) = link.joint.axes.values()
    full_span = Span.of(section, link.span)
    limits = actuation.limits
    low = 0.05 * link.span if limits is None or limits.lower is None else limits.lower
    high = link.span if limits is None or limits.upper is None else limits.upper
    low = max(low, 1e-3 * link.span)

    def at(length: float) -> Shapes:
        return shapes_of(index, full_span.outer(length))

    follows_length = isinstance(link.shapes, ClampedMass) and link.shapes.follow
    with naming_link(arm, index):
        if follows_length or isinstance(link.shapes, Elements):
            # Shapes at all lengths depend on the same options, boundary conditions and section.
            key = ("following", full_span.contents, low, high)
            return remembered(key, lambda: follow_length(at, full_span, (low, high)), at(high))
        length = actuation.start.position or (low + high) / 2
        shapes = at(length)
        return remembered(
            ("sliding", full_span.contents, length, low, high),
            lambda: fixed_shapes(shapes, length, full_span, (low, high)),
            shapes,
        )


def sliding_nodes(
    arm: Arm, index: int, sliding: SlidingShapes, theory: Theory
) -> GrowingNodes | None:
    """Build the collocation nodes of an exact sliding link; return None without stiffening."""
    if not theory.stiffening:
        return None

    def make(excess: int) -> GrowingNodes:
        return remembered(("grown", excess), lambda: GrowingNodes.of(sliding, excess), sliding)

    with naming_link(arm, index):
        if theory.nodes is not None:
            return make(theory.nodes)
        length = sliding.range[1]
        outer = sliding.span.outer(length)
        more = chosen_nodes(arm, index, outer, sliding.at(length))
        mass = {"mass_per_length": outer.table["mass_per_length"] * length**2}
        unit = Span(1.0, outer.stations / length, outer.table | mass)
        straight, _ = integrate(unit, sliding.parent_shapes(), stiffening=False)
        return enough_nodes(make, lambda nodes: rotary_error(straight, nodes, length), more)


def sliding_damping(arm: Arm, index: int, sliding: SlidingShapes) -> Array | None:
    """Fit the damping matrix of a sliding link as a function of its exposed length.

    The damping ratios are the same at every length.

    Returns
    -------
    Chebyshev coefficients (R, m, m) over ``sliding.range``, or None without damping.
    """
    if not arm.links[index].damped:
        return None
    (low, high), beam = sliding.range, SlidingBeam(sliding, None, None)
    node = np.cos(np.pi * (np.arange(DAMPING_NODES) + 0.5) / DAMPING_NODES)
    lengths = (low + high) / 2 + (high - low) / 2 * node
    # Integrals depend on the section alone and are shared; damping ratios differ between arms.
    parts = remembered("along", lambda: [beam.at_length(length) for length in lengths], sliding)
    rows = [link_damping(arm, index, part) for part in parts]
    m = len(sliding.names)
    fit = chebyshev.chebfit(node, np.reshape(rows, (DAMPING_NODES, m * m)), DAMPING_NODES - 1)
    fit = np.asarray(fit, dtype=np.float64).reshape(DAMPING_NODES, m, m)
    significant = np.flatnonzero(np.abs(fit).max(axis=(1, 2)) > 1e-13 * np.abs(fit).max())
    return fit[: int(significant.max()) + 1]
