"""An arm by linear theory with additional shapes that the given model lacks."""

from dataclasses import dataclass, replace

import numpy as np

from flexarm.arm import Arm
from flexarm.arm.shapes import Lumped
from flexarm.errors import ModelError
from flexarm.links.base import DIRECTIONS, Array, Direction, Shapes
from flexarm.links.basis import MOTIONS, BeamDirection, join, own_stiffness
from flexarm.links.body_data import BodyData
from flexarm.links.curves import SpanCurves
from flexarm.links.families.arm_modes import moment_curves
from flexarm.model import LinkModel, Model
from flexarm.model.assemble import assemble
from flexarm.model.elastic.damping import link_damping
from flexarm.model.elastic.part import Theory
from flexarm.model.parts import Flexible

# Polynomials of the moment beyond the number of shapes, from which the softest shapes are made.
# From 6 on the estimated errors do not change; with 4 they were a third.
CANDIDATES = 7
MORE = {2: 3, 1: 2}  # shapes added by order of the stiffness: to a beam, to a rod
DEPENDENT = 1e-7  # relative strain energy below which a candidate is one of the link's shapes


@dataclass(frozen=True)
class Richer:
    """Linear-theory model of an arm with added shapes, and the indices of its coordinates."""

    model: Model  # the arm
    kept: tuple[int, ...]  # index of each coordinate of the given arm in the richer arm, (n,)
    more: tuple[int, ...]  # indices of shapes added in directions that have shapes already
    left_out: tuple[int, ...]  # indices of shapes added in elastic directions without shapes
    # Index of each link's uniform stretch, whose load is the axial force; it stays at rest.
    probes: dict[str, int]


def can_grow(part: LinkModel) -> bool:
    """Return whether shapes can be added to a link."""
    return part.flexible and not whats_fixed(part)


def whats_fixed(part: LinkModel) -> str:
    """Return why no shapes can be added to a flexible link; empty if they can be added."""
    if not part.body.sectioned:
        return "its modes come with its body, so reduce the body with more modes"
    if part.body.range is not None:
        return "its length changes, so run flexarm converge, which compares more shapes"
    if part.body.measured:
        return "its modes were measured or computed elsewhere, so take more of them there"
    if isinstance(part.link.shapes, Lumped):
        return "it is lumped, so run flexarm converge, which compares more pieces"
    if part.link.quadratic_shapes:
        return "it has quadratic_shapes, which must be left out"
    return ""


def richer(model: Model) -> Richer:
    """Build an arm with added shapes in every elastic direction of links that can have more."""
    added = {k: _added(part) for k, part in enumerate(model.links) if can_grow(part)}

    def body_of(arm: Arm, index: int, *_: object) -> BodyData:
        part = model.links[index]
        return _grown(arm, index, part, *added[index]) if index in added else part.body.linear()

    theory = Theory(stiffening=False, exact=False, nodes=None)
    rich = assemble(
        model.arm, theory, "cayley", lambda index, _: model.links[index].beam.shapes, body_of
    )
    groups: dict[str, list[int]] = {"more": [], "left out": [], "probe": []}
    for index, (shapes, of_group) in added.items():
        for name, group in zip(shapes.names, of_group, strict=True):
            groups[group].append(rich.names.index(f"{model.links[index].name}.{name}"))
    kept = tuple(map(rich.names.index, model.names))
    probes = dict(zip([model.links[index].name for index in added], groups["probe"], strict=True))
    return Richer(rich, kept, tuple(groups["more"]), tuple(groups["left out"]), probes)


def _added(part: LinkModel) -> tuple[Shapes, list[str]]:
    """Return a link's added shapes and the group of each: ``more``, ``left out`` or ``probe``."""
    elastic = part.beam.linear()
    span, parts, groups = elastic.span, list[Shapes](), list[str]()

    def add(direction: Direction, curves: SpanCurves, names: list[str], group: str) -> None:
        stiffness = np.zeros((curves.count, curves.count))
        parts.append(Shapes(tuple(names), {direction: (curves,)}, span.edges, stiffness))
        groups.extend([group] * curves.count)

    for direction in DIRECTIONS:
        if span.has(MOTIONS[direction].stiffness):
            curves = _softest(elastic, MOTIONS[direction], part.tip_body.mass)
            names = [f"more.{direction}{k}" for k in range(1, curves.count + 1)]
            had = bool(elastic.shapes.moving(direction))
            add(direction, curves, names, "more" if had else "left out")
    half = np.array([[[0.5], [0.5]]])
    add("x", SpanCurves.from_values(np.array([0.0, span.length]), half), ["probe"], "probe")
    return join(parts, span), groups


def _softest(elastic: Flexible, motion: BeamDirection, tip_mass: float) -> SpanCurves:
    """Return the most flexible shapes in a direction that a link's own shapes do not span.

    The bending moments (axial forces of rods) of these shapes are polynomials, like the moments of
    tip loads and distributed loads on any beam. The shapes have the lowest frequencies with the
    tip's mass, once the link's own shapes are projected out.
    """
    span, direction = elastic.span, motion.direction
    own = elastic.shapes.moving(direction)
    curves = moment_curves(span, motion, len(own) + CANDIDATES)
    x, weight = span.quadrature(12 + 2 * curves.count, elastic.shapes.edges)
    x, weight = np.append(x, span.length), np.append(weight, 0.0)
    stiff = weight * span.at(motion.stiffness, x)
    old, there = (elastic.shapes.values(direction, x, nu)[:, own] for nu in (motion.order, 0))
    new = curves(x, motion.order)
    taken = np.linalg.lstsq(old.T @ (stiff[:, None] * old), old.T @ (stiff[:, None] * new))[0]
    strain = new - old @ taken
    moved = curves(x) - there @ taken
    heavy = weight * span.at(motion.inertia, x)
    heavy = np.where(np.any(heavy), heavy, weight)  # a twist without inertia
    heavy[-1] = 0.0 if direction == "twist" else tip_mass
    size = 1 / np.sqrt(np.einsum("g,gi,gi->i", stiff, new, new))
    values, vectors = np.linalg.eigh((size * strain).T @ (stiff[:, None] * size * strain))
    apart = values > DEPENDENT
    free = size[:, None] * vectors[:, apart] / np.sqrt(values[apart])
    _, turn = np.linalg.eigh((moved @ free).T @ (heavy[:, None] * (moved @ free)))
    columns = free @ turn[:, ::-1][:, : MORE[motion.order]]
    columns /= np.abs(moved @ columns).max(axis=0)
    return curves.times(columns)


def _losses(part: LinkModel, added: Shapes, stiffness: Array, mass: Array) -> Array:
    """Return the damping coefficients of added shapes, (shapes,).

    They consist of the link's last damping ratio and the material damping.
    """
    link = part.link
    ratio = 0.0 if isinstance(link.damping, dict) else (*link.damping_ratios, 0.0)[-2:][0]
    losses = 2 * ratio * np.sqrt(stiffness * mass)
    for k, direction in enumerate(added.directions if link.material_damping is not None else ()):
        assert link.material_damping is not None
        loss = link.material_damping.along(direction)
        losses[k] += (loss.time or 0.0) * stiffness[k]
        losses[k] += (loss.loss_factor or 0.0) * np.sqrt(stiffness[k] * mass[k])
    return np.asarray(losses)


def _damped(arm: Arm, index: int, grown: Flexible, m: int, more: list[int]) -> Flexible:
    """Return a beam whose shapes beyond the first m are damped like the link's own modes.

    Only added shapes listed in ``more`` get this damping. The beam is returned unchanged if the
    damping cannot be computed.
    """
    kept = [*range(m), *more]
    pair = np.ix_(kept, kept)
    shapes, integrals = grown.shapes, grown.integrals
    some = replace(
        grown,
        shapes=shapes.some(kept),
        integrals=replace(
            integrals, stiffness=integrals.stiffness[pair], modal_mass=integrals.modal_mass[pair]
        ),
        tip_shape=grown.tip_shape[:, kept],
        tip_angle=grown.tip_angle[:, kept],
    )
    damping = grown.damping.copy()
    try:
        damping[pair] = link_damping(arm, index, some)
    except ModelError:
        return grown
    damping[:m, :m] = grown.damping[:m, :m]
    return replace(grown, damping=damping)


def _grown(arm: Arm, index: int, part: LinkModel, added: Shapes, groups: list[str]) -> Flexible:
    """Return a link's beam with added shapes, by linear theory."""
    elastic = part.beam.linear()
    span, old = elastic.span, elastic.shapes
    m, shapes = old.count, join([old, added], span)
    total = shapes.count
    shapes.stiffness[:] = own_stiffness(shapes, span)
    shapes.stiffness[:m, :m] = old.stiffness
    grown = Flexible.of(span, shapes)
    integrals = grown.integrals
    # Added shapes stay at rest, so that terms linear in their amplitudes need not be traced.
    products = integrals.shape_shape.copy()
    products[m:] = 0.0
    integrals = replace(integrals, shape_shape=products)
    stiffness, mass = (np.diag(each)[m:] for each in (integrals.stiffness, integrals.modal_mass))
    damping = np.zeros((total, total))
    damping[:m, :m] = elastic.damping
    if part.link.damped:
        damping[m:, m:] = np.diag(_losses(part, added, stiffness, mass))
    root = np.hstack([elastic.root_angle, np.zeros((3, added.count))])
    grown = replace(grown, integrals=integrals, root_angle=root, damping=damping)
    more = [m + k for k, group in enumerate(groups) if group == "more"]
    return _damped(arm, index, grown, m, more) if part.link.damped else grown
