"""Build the elastic part of a link: shapes, integrals, tip and damping."""

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast

import numpy as np
from numpy.polynomial import chebyshev

from flexarm.arm import Arm, Link
from flexarm.arm.shapes import ClampedMass, Counted, Elements
from flexarm.engine.varied import agreed, by_designs
from flexarm.errors import ModelError, ShapeError
from flexarm.links import discretisation
from flexarm.links.base import DIRECTIONS, LABELS, Array, Counts, Direction, Ends, Shapes
from flexarm.links.basis import normalisation
from flexarm.links.beams.shear import sheared
from flexarm.links.collocation import collocate
from flexarm.links.ends import clamped_mass_ends, loaded_ends, tip_inertia, with_tip_body
from flexarm.links.families.static import add_static
from flexarm.links.growing.nodes import GrowingNodes
from flexarm.links.growing.shapes import SlidingShapes, fixed_shapes, follow_length
from flexarm.links.integrals import integrate, quadratic_displacement, settled_pairs
from flexarm.links.reduced.body import ReducedBody
from flexarm.links.reduced.file import read_body
from flexarm.links.shape_counts import counts
from flexarm.links.span import Span, union
from flexarm.model.nodes import chosen_nodes
from flexarm.model.parts import Flexible
from flexarm.spatial import Inertia, settled

_NODES = 40
REMEMBERED = 200
UNLOADED = Ends((math.inf, math.inf, math.inf), 0.0, (0.0, 0.0, 0.0))
T = TypeVar("T")


def link_shapes(arm: Arm, index: int, span: Span) -> Shapes:
    """Build the shapes of a link over a span (of a sliding link: over an exposed length)."""
    return shapes_between(arm, index, span, shape_ends(arm, index), shape_counts(arm, index))


def shape_ends(arm: Arm, index: int) -> Ends | None:
    """Give what hangs on a link's ends, None if its shapes do not depend on it."""
    choice = arm.links[index].shapes
    if not discretisation(choice.kind).loaded(choice):
        return None
    if isinstance(choice, ClampedMass):
        return clamped_mass_ends(arm, index, choice)
    return loaded_ends(arm, index)


def shape_counts(arm: Arm, index: int) -> Counts:
    """Choose how many shapes each direction of a link gets; none where the family says it."""
    choice = arm.links[index].shapes
    return counts(arm, index, choice) if isinstance(choice, Counted) else Counts(0, 0, 0, 0)


def shapes_between(arm: Arm, index: int, span: Span, given: Ends | None, number: Counts) -> Shapes:
    """Build so many shapes of a link over a span, between given ends."""
    choice, ends = arm.links[index].shapes, given or UNLOADED
    family = discretisation(choice.kind)

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
    """Say of which link it is that shapes cannot be built."""
    try:
        yield
    except ShapeError as error:
        raise ModelError(
            f"links[{index + 1}] ({arm.link_names[index]}): shapes: {error}"
        ) from error


_known: dict[Any, Any] = {}


def remembered(key: Hashable, make: Callable[[], T]) -> T:
    """Make something, or give what was made of the same: arms mostly share links with others."""
    try:
        found = _known.pop(key)
    except KeyError:
        found = make()
    _known[key] = found  # the last to go
    if len(_known) > REMEMBERED:
        _known.pop(next(iter(_known)), None)
    return cast(T, found)


def _made(key: Hashable, make: Callable[[], T]) -> T:
    """Make something, in the way of `remembered`."""
    return make()


def check_amplitudes(arm: Arm, index: int, labels: tuple[str, ...]) -> None:
    """Refuse what a link says about amplitudes that it does not have."""
    link = arm.links[index]
    used = [("start", n) for n in link.start] + [("start_speed", n) for n in link.start_speed]
    used += [("elastic_energy", n) for t in link.elastic_energy for n in t.powers]
    used += [("elastic_force", t.coordinate) for t in link.elastic_force]
    used += [("quadratic_shapes", n) for t in link.quadratic_shapes for n in t.amplitudes]
    for where, name in used:
        if name not in labels:
            raise ModelError(
                f"links[{index + 1}].{where}: no amplitude '{name}': "
                f"{arm.link_names[index]} has {', '.join(labels) or 'none'}"
            )


class _Same:
    """An object as a key: equal to itself alone."""

    def __init__(self, what: object) -> None:
        self.what = what

    def __eq__(self, other: object) -> bool:
        """Compare."""
        return isinstance(other, _Same) and other.what is self.what

    def __hash__(self) -> int:
        """Hash the identity, which lasts as long as the key."""
        return id(self.what)


@dataclass(frozen=True)
class Theory:
    """How links bend: stiffened or linearly; if stiffened, as exact beams with how many nodes."""

    stiffening: bool
    exact: bool
    nodes: int | None

    def bends(self, link: Link) -> bool:
        """Tell whether a link bends as an exact beam."""
        return self.stiffening and self.exact and not link.quadratic_shapes


def flexible_part(
    arm: Arm, index: int, theory: Theory, shapes_of: Callable[[int, Span], Shapes]
) -> Flexible:
    """Build the elastic part of a link of constant length, on the shapes that it gets."""
    span = link_span(arm.links[index])
    part = part_on(arm, index, theory, span, shapes_of(index, span))
    return replace(part, damping=link_damping(arm, index, part))


def link_span(link: Link) -> Span:
    """Give the flexible span of a link that has one."""
    assert link.section is not None
    return Span.of(link.section, link.span)


def part_on(arm: Arm, index: int, theory: Theory, span: Span, shapes: Shapes) -> Flexible:
    """Build the elastic part of a link on shapes over its span, without its damping."""
    link = arm.links[index]
    if span.has("GAy") or span.has("GAz"):
        shapes = _sheared(arm, index, theory, span, shapes)
    check_amplitudes(arm, index, shapes.names)
    more = theory.nodes or chosen_nodes(arm, index, span, shapes) if theory.bends(link) else 0
    return undamped_part(link, theory, span, shapes, more)


def undamped_part(
    link: Link, theory: Theory, span: Span, shapes: Shapes, more: int, order: int | None = None
) -> Flexible:
    """Build the elastic part of a link on shapes over a span, with so many nodes beyond them.

    Of shapes of N designs over one span, arrays are (N, ...); those are integrated with so many
    points between edges, and not remembered.
    """
    extra = link.quadratic_shapes
    exact = theory.bends(link)
    drawn, designs = theory.stiffening and not exact, shapes.stiffness.ndim - 2  # by the series
    keep = remembered if order is None else _made
    # Shapes that were remembered are the same object, which a key keeps.
    integrals, points = keep(
        ("integrals", _Same(shapes), span.contents, drawn, str(extra)),
        lambda: integrate(span, shapes, stiffening=drawn, extra=extra, order=order),
    )
    tip = np.array([span.length])
    edges = union(span.edges, shapes.edges)
    quadratic = quadratic_displacement(shapes, tip, edges, stiffening=drawn, extra=extra)[0]
    slopes = quadratic_displacement(
        shapes, tip, edges, stiffening=False, extra=extra, derivative=1
    )[0]
    tip_shape, tip_angle = (
        settled(each(tip)[..., 0, :, :], designs=designs)
        for each in (shapes.displacement, shapes.rotation)
    )
    angle_quadratic = np.stack([0 * slopes[0], -slopes[2], slopes[1]])
    root_angle = shapes.rotation(np.zeros(1))[..., 0, :, :]
    size = np.abs(tip_angle).max(axis=(-2, -1), initial=0.0, keepdims=True)
    root_angle = np.where(np.abs(root_angle) < 1e-12 * size, 0.0, root_angle)
    nodes = None
    if exact:
        nodes = keep(
            ("nodes", _Same(shapes), span.contents, more), lambda: collocate(span, shapes, more)
        )
    return Flexible(
        span, shapes, integrals, points, tip_shape, tip_angle, quadratic, angle_quadratic,
        root_angle, np.zeros_like(shapes.stiffness), nodes,
    )  # fmt: skip


def link_damping(arm: Arm, index: int, part: Flexible, designs: tuple[int, ...] = ()) -> Array:
    """Give the damping matrix of a link's amplitudes, (m, m); of designs, (N,), (N, m, m)."""
    link, shapes = arm.links[index], part.shapes
    if shapes.damping is None:
        parts = _stiffnesses(shapes, by_designs(part.integrals.stiffness, designs))
        modal, shape, angle = (
            by_designs(each, designs)
            for each in (part.integrals.modal_mass, part.tip_shape, part.tip_angle)
        )
        return _damping(arm, index, parts, modal, (shape, angle))
    if link.model_fields_set & {"damping", "material_damping"}:
        raise ModelError(
            f"links[{index + 1}].damping: {link.name or 'the link'} has its damping in the file of "
            "its shapes: leave one of the two out"
        )
    return shapes.damping


def _sheared(arm: Arm, index: int, theory: Theory, span: Span, shapes: Shapes) -> Shapes:
    """Let a link shear."""
    if theory.stiffening and not theory.bends(arm.links[index]):
        raise ModelError(
            f"links[{index + 1}].section: {arm.link_names[index]} shears, which is modelled of "
            "exact and of linear beams: say 'stiffening: false', or leave out its shear stiffness "
            "or what makes it neither (quadratic_shapes, series)"
        )
    how = normalisation(arm.links[index].shapes)
    with naming_link(arm, index):
        known = ("sheared", _Same(shapes), span.contents, how)
        return remembered(known, lambda: sheared(shapes, span, how))


def reduced_part(arm: Arm, index: int) -> ReducedBody:
    """Read the body of a link of any shape; where its file has no damping, the link's counts."""
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
                f"links[{index + 1}].damping: {link.name or 'the link'} has its damping in the "
                "file of its body: leave one of the two out"
            )
        return body
    material = link.material_damping
    if material is not None and any(material.along(d) is not material for d in DIRECTIONS):
        raise ModelError(
            f"links[{index + 1}].material_damping: a body of any shape has no directions: give a "
            "time or a loss factor for all of it"
        )
    parts: dict[Direction, Array] = {"x": body.integrals.stiffness}
    ends = body.tip_shape, body.tip_angle
    modal = body.integrals.modal_mass
    return replace(body, damping=_damping(arm, index, parts, modal, ends, body.names))


def _damping_ratios(
    arm: Arm, index: int, names: Sequence[str] | None, strains: Mapping[Direction, Array]
) -> Array:
    """Spread the damping ratios of a link over its clamped modes, lowest first, or by name.

    Without names they are named by the directions that strains are in.
    """
    given, m = arm.links[index].damping, next(iter(strains.values())).shape[-1]
    if isinstance(given, float):
        return np.full(m, given)
    if isinstance(given, dict):
        names = names or _mode_names(strains)
        unknown = [name for name in given if name not in names]
        if unknown:
            raise ModelError(
                f"links[{index + 1}].damping: no mode '{unknown[0]}': "
                f"{arm.link_names[index]} has {', '.join(names)}"
            )
        return np.array([given.get(name, 0.0) for name in names])
    if len(given) > m:
        raise ModelError(
            f"links[{index + 1}].damping: {len(given)} ratios for {m} modes: "
            "give one for all, or at most one per mode"
        )
    return np.array([*given, *[0.0] * (m - len(given))])


def _damping(
    arm: Arm,
    index: int,
    parts: Mapping[Direction, Array],
    modal: Array,
    tip: tuple[Array, Array],
    names: Sequence[str] | None = None,
) -> Array:
    """Damping matrix: ratios of the modes of the link clamped with its tip body, and its material.

    A loss factor is twice a ratio, shared by the strain energies of the directions, of each of
    which ``parts`` has the stiffness.  Without names, modes are named by their directions.
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
    body = tip_inertia(arm, index)
    weight: list[Any] = [
        by_designs(each, modal.shape[:-2]) for each in (body.mass, body.first, body.second)
    ]
    inertia = Inertia(*weight)
    mass = with_tip_body(modal, *tip, inertia)
    try:
        lower = np.linalg.cholesky(mass)
    except np.linalg.LinAlgError as error:
        raise ModelError(
            "damping: an amplitude of the link moves no mass, so it has no frequency to be damped "
            "at: give the section's rotary inertia (Jx for twist) or leave the amplitude out"
        ) from error
    back = np.linalg.inv(lower)
    squares, turn = np.linalg.eigh(back @ stiffness @ back.swapaxes(-1, -2))
    modes = back.swapaxes(-1, -2) @ turn
    strains = {d: np.sum(modes * (each @ modes), axis=-2) for d, each in parts.items()}
    ratios = _damping_ratios(arm, index, names, strains)
    total = np.maximum(sum(strains.values()), 1e-300)
    for direction, loss in losses.items():
        ratios = ratios + (loss.loss_factor or 0.0) / 2 * strains[direction] / total
    weighted = mass @ modes
    scaled = weighted * (2 * ratios * np.sqrt(np.abs(squares)))[..., None, :]
    return settled_pairs(result + scaled @ weighted.swapaxes(-1, -2))


def _stiffnesses(shapes: Shapes, stiffness: Array) -> dict[Direction, Array]:
    """Stiffness of each direction, (m, m); a shape counts in the first that it has."""
    first = [next(d for d in DIRECTIONS if d in shape.curves) for shape in shapes.shapes]
    found: dict[Direction, Array] = {}
    for direction in DIRECTIONS:
        chosen = np.array([each == direction for each in first], dtype=float)
        # Where measured shapes of two directions are coupled, each has half of that.
        found[direction] = stiffness * (chosen[:, None] + chosen[None, :]) / 2
    return found


def _mode_names(strains: Mapping[Direction, Array]) -> list[str]:
    """Name modes by the direction that has most of their strain energy, and count them there."""
    order, names = list(strains), list[str]()
    most = np.argmax(np.stack([strains[each] for each in order]), axis=0)
    rows = most.reshape(-1, most.shape[-1])
    agreed(np.all(rows == rows[0], axis=1))
    for k in rows[0]:
        label = LABELS[order[int(k)]]
        names.append(f"{label}{1 + sum(name.startswith(label) for name in names)}")
    return names


def sliding_shapes(arm: Arm, index: int, shapes_of: Callable[[int, Span], Shapes]) -> SlidingShapes:
    """Build the shapes of a sliding link, over the range of its exposed length."""
    link = arm.links[index]
    section = link.section
    assert section is not None
    (acts,) = link.joint.axes.values()
    whole = Span.of(section, link.span)
    limits = acts.limits
    low = 0.05 * link.span if limits is None or limits.lower is None else limits.lower
    high = link.span if limits is None or limits.upper is None else limits.upper
    low = max(low, 1e-3 * link.span)

    def at(length: float) -> Shapes:
        return shapes_of(index, Span.of(section, length))

    if isinstance(link.shapes, Elements) or (
        isinstance(link.shapes, ClampedMass) and link.shapes.follow
    ):
        try:
            # Those at another length come of the same choice, ends and section.
            known = ("following", _Same(at(high)), whole.contents, low, high)
            return remembered(known, lambda: follow_length(at, whole, (low, high)))
        except ShapeError as error:
            raise ModelError(f"links[{index + 1}].shapes: {error}") from error
    length = acts.start.position or (low + high) / 2
    shapes = at(length)
    return remembered(
        ("sliding", _Same(shapes), whole.contents, length, low, high),
        lambda: fixed_shapes(shapes, length, whole, (low, high)),
    )


def sliding_nodes(
    arm: Arm, index: int, sliding: SlidingShapes, theory: Theory
) -> GrowingNodes | None:
    """Choose the nodes of a sliding link that bends as an exact beam; None by linear theory."""
    if not theory.stiffening:
        return None
    more = theory.nodes
    if more is None:
        section, length = arm.links[index].section, sliding.range[1]
        assert section is not None
        more = chosen_nodes(arm, index, Span.of(section, length), sliding.at(length))
    return remembered(("grown", _Same(sliding), more), lambda: GrowingNodes.of(sliding, more))


def sliding_damping(arm: Arm, index: int, sliding: SlidingShapes) -> Array | None:
    """Fit the damping matrix of a sliding link, which keeps its ratios, over its length.

    Returns
    -------
    Chebyshev coefficients (R, m, m) over ``sliding.range``, or None without damping.
    """
    if not arm.links[index].damped:
        return None
    section, (low, high) = arm.links[index].section, sliding.range
    assert section is not None
    node = np.cos(np.pi * (np.arange(_NODES) + 0.5) / _NODES)

    def at(length: float) -> tuple[Mapping[Direction, Array], Array, tuple[Array, Array]]:
        shapes, tip = sliding.at(length), np.array([length])
        integrals, _ = integrate(Span.of(section, length), shapes, stiffening=False)
        ends = shapes.displacement(tip)[0], shapes.rotation(tip)[0]
        return _stiffnesses(shapes, integrals.stiffness), integrals.modal_mass, ends

    lengths = (low + high) / 2 + (high - low) / 2 * node
    # They come of the link's section; ratios differ from arm to arm.
    along = remembered(("along", _Same(sliding)), lambda: [at(length) for length in lengths])
    rows = [_damping(arm, index, *each) for each in along]
    m = len(sliding.names)
    fit = chebyshev.chebfit(node, np.reshape(rows, (_NODES, m * m)), _NODES - 1)
    fit = np.asarray(fit, dtype=np.float64).reshape(_NODES, m, m)
    kept = np.flatnonzero(np.abs(fit).max(axis=(1, 2)) > 1e-13 * np.abs(fit).max())
    return fit[: int(kept.max()) + 1]
