"""Elastic part of a link: shape functions, integrals, tip displacements and nodes."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TypeVar

from flexarm.arm import Arm, Link
from flexarm.arm.shapes import ClampedMass, Counted
from flexarm.errors import ModelError, ShapeError
from flexarm.links import discretisation
from flexarm.links.base import DIRECTIONS, Counts, Direction, Ends, Shapes
from flexarm.links.basis import normalisation
from flexarm.links.beams.shear import sheared
from flexarm.links.collocation import collocate
from flexarm.links.end_loads import clamped_mass_ends, loaded_ends
from flexarm.links.families.static import add_static
from flexarm.links.imported.body import ReducedBody
from flexarm.links.imported.file import read_body
from flexarm.links.remembered import Same, remembered
from flexarm.links.rotary import rotary_error
from flexarm.links.shape_counts import counts
from flexarm.links.span import Span
from flexarm.model.elastic.damping import damping_matrix, link_damping
from flexarm.model.nodes import chosen_nodes, enough_nodes
from flexarm.model.parts import Flexible
from flexarm.spatial import Array

UNLOADED = Ends((math.inf, math.inf, math.inf), 0.0, (0.0, 0.0, 0.0))
T = TypeVar("T")


def link_shapes(arm: Arm, index: int, span: Span) -> Shapes:
    """Build the shape functions of a link over a span, the exposed part of a sliding link."""
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
        if not isinstance(choice, Counted):  # it may read files
            return make()
        return remembered((family, choice.model_dump_json(), span.contents, ends, number), make)


@contextmanager
def naming_link(arm: Arm, index: int) -> Iterator[None]:
    """Convert a shape error raised in the context to a model error that names the link."""
    try:
        yield
    except ShapeError as error:
        raise ModelError(f"links[{index + 1}].shapes: {arm.link_names[index]}: {error}") from error


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
                f"links[{index + 1}].{key}: there is no amplitude '{name}'. "
                f"{arm.link_names[index]} has {', '.join(labels) or 'none'}."
            )


@dataclass(frozen=True)
class Theory:
    """Beam theory of flexible links: linear, geometrically exact, or a series in the amplitudes."""

    stiffening: bool
    exact: bool
    nodes: int | None

    def bends(self, link: Link) -> bool:
        """Return whether a link is modelled as a geometrically exact beam."""
        return self.stiffening and self.exact and not link.quadratic_shapes


def flexible_part(
    arm: Arm, index: int, theory: Theory, shapes_of: Callable[[int, Span], Shapes]
) -> Flexible:
    """Build the elastic part of a link of constant length on the shapes from ``shapes_of``."""
    link = arm.links[index]
    assert link.section is not None
    span = Span.of(link.section, link.span)
    shapes = shapes_of(index, span)
    if span.has("GAy") or span.has("GAz"):
        shapes = _sheared(arm, index, theory, span, shapes)
    check_amplitudes(arm, index, shapes.names)
    excess = theory.nodes or chosen_nodes(arm, index, span, shapes) if theory.bends(link) else 0
    # Cached shapes are the same object, which the key refers to.
    key = ("part", Same(shapes), span.contents, theory.stiffening, str(link.quadratic_shapes))

    def undamped(count: int) -> Flexible:
        return remembered((*key, count), lambda: _undamped(link, theory, span, shapes, count))

    with naming_link(arm, index):
        if theory.nodes or not theory.bends(link):
            part = undamped(excess)
        else:
            part = enough_nodes(
                undamped,
                lambda part_made: (
                    rotary_error(part_made.integrals, part_made.nodes) if part_made.nodes else 0.0
                ),
                excess,
            )
    if link.damped or shapes.damping is not None:
        part = replace(part, damping=link_damping(arm, index, part))
    return part


def _undamped(link: Link, theory: Theory, span: Span, shapes: Shapes, excess: int) -> Flexible:
    """Return the elastic part of a link without damping.

    The number of nodes of an exact beam exceeds the number of its shape functions by ``excess``.
    """
    exact = theory.bends(link)
    nodes = collocate(span, shapes, excess) if exact else None
    shortens = theory.stiffening and not exact  # series in the amplitudes
    return Flexible.of(span, shapes, stiffening=shortens, extra=link.quadratic_shapes, nodes=nodes)


def _sheared(arm: Arm, index: int, theory: Theory, span: Span, shapes: Shapes) -> Shapes:
    """Return a link's shape functions with their shear deflection added."""
    if theory.stiffening and not theory.bends(arm.links[index]):
        raise ModelError(
            f"links[{index + 1}].section: {arm.link_names[index]} shears, which is possible "
            "only for exact and for linear beams. Write 'stiffening: false', or leave out the "
            "shear stiffness, quadratic_shapes and series."
        )
    normalising = normalisation(arm.links[index].shapes)
    with naming_link(arm, index):
        key = ("sheared", Same(shapes), span.contents, normalising)
        return remembered(key, lambda: sheared(shapes, span, normalising))


def reduced_part(arm: Arm, index: int) -> ReducedBody:
    """Read the reduced body of a link from its file.

    If the file has no damping matrix, the matrix is computed from the link's damping.
    """
    link = arm.links[index]
    assert link.modal is not None
    try:
        body = read_body(link.modal.side_file)
    except ModelError as error:
        raise ModelError(f"links[{index + 1}].body: {error}") from error
    check_amplitudes(arm, index, body.names)
    if body.damping is not None:
        if link.model_fields_set & {"damping", "material_damping"}:
            raise ModelError(
                f"links[{index + 1}].damping: the file of the body of {link.name or 'the link'} "
                "gives the damping too. Leave one of the two out."
            )
        return body
    material = link.material_damping
    if material is not None and any(material.along(d) is not material for d in DIRECTIONS):
        raise ModelError(
            f"links[{index + 1}].material_damping: a body with modes cannot have damping by "
            "direction. Give one time or one loss factor for the whole body."
        )
    parts: dict[Direction, Array] = {"x": body.integrals.stiffness}
    ends = body.tip_shape, body.tip_angle
    modal = body.integrals.modal_mass
    return replace(body, damping=damping_matrix(arm, index, parts, modal, ends, body.names))
