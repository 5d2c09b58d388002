"""Loaded and clamped-mass shapes of many designs: modes between what hangs on the ends of each.

A design's modes are those over the span of the first with tip body, hub and inertia of slopes as
heavy as they are beside the mass of the design's own span.
"""

import numpy as np

from flexarm.arm.shapes import ClampedMass, ShapeChoice
from flexarm.links.base import Counts, Direction, Ends
from flexarm.links.basis import BeamDirection, family, join, wanted
from flexarm.links.beams.finite import REFINEMENTS, TAIL, Conditions, SpanEigenproblem
from flexarm.links.beams.mesh import mesh_for
from flexarm.links.span import Span
from flexarm.model.designs.arm_modes import LinkCurves
from flexarm.model.designs.draw import DesignShapes
from flexarm.model.designs.spans import NotTogether, Sizes
from flexarm.varied import Array, agreed, by_design


def loaded_designs(
    choice: ShapeChoice, first: Span, sizes: Sizes, ends: Ends, counts: Counts
) -> DesignShapes:
    """Find the shapes of a link between the ends of all designs, over the span of the first."""
    columns, parts = dict[Direction, Array](), []
    for motion, count in wanted(first, counts):
        if not first.table[motion.inertia][0]:
            raise NotTogether
        tip, hub = _bodies(ends, motion, sizes)
        slopes = np.zeros_like(sizes.length)
        if motion.rotary is not None and not isinstance(choice, ClampedMass):
            slopes = sizes.of(motion.rotary) / (sizes.of(motion.inertia) * sizes.length**2)
        for refine in REFINEMENTS:
            mesh = mesh_for(first, motion, count + 1, refine=refine)
            problem = SpanEigenproblem(
                mesh, Conditions("clamped-free" if hub is None else "pinned-free")
            )
            columns[motion.direction] = z = _modes(problem, tip, hub, slopes, count)
            if np.abs(z[:, -2:]).max() < TAIL:
                break
        curves = mesh.curves(np.eye(mesh.size), np.zeros((motion.order, mesh.size)))
        parts.append(family(motion.direction, curves, np.ones(mesh.size), first.edges))
    return LinkCurves.on(first, join(parts, first), sizes).scaled(columns, choice)


def _bodies(ends: Ends, motion: BeamDirection, sizes: Sizes) -> tuple[Array, Array | None]:
    """Give roots of the tip body's inertia, (N, order, order), and of the hub's, None if held."""
    count, length = len(sizes.length), sizes.length
    own = sizes.of(motion.inertia) * length
    turned = own if motion.order == 1 else own * length**2
    mass, inertia, hub = by_design(ends.tip_mass, count) / own, np.zeros(count), None
    if motion.axis is not None:
        root = by_design(ends.root_inertia[motion.axis], count)
        hub = None if agreed(np.isinf(root)) else np.sqrt(root / turned)
        inertia = by_design(ends.tip_inertia[motion.axis], count) / turned
    if motion.order == 1:
        return np.sqrt(mass if motion.axis is None else inertia)[:, None, None], hub
    offset = by_design(ends.tip_offset, count) / length
    centre = inertia - mass * offset**2
    if np.any(centre < -1e-9 * mass * offset**2):
        raise NotTogether  # of which each is told by itself
    tip = np.zeros((count, 2, 2))
    tip[:, 0, 0], tip[:, 0, 1] = np.sqrt(mass), np.sqrt(mass) * offset
    tip[:, 1, 1] = np.sqrt(np.maximum(centre, 0.0))
    return tip, hub


def _modes(
    problem: SpanEigenproblem, tip: Array, hub: Array | None, slopes: Array, count: int
) -> Array:
    """Find the first elastic modes, in strains of unit stiffness, (N, strains, count)."""
    mesh, order = problem.mesh, problem.mesh.motion.order
    rows, rigid = (
        np.tile(each, (len(tip), 1, 1))
        for each in (problem.loaded(np.eye(mesh.size)), problem.rigid)
    )
    begin, end = problem.roots[0].size, rows.shape[1] - order - 1
    moved = np.array([[mesh.span.length ** (order - 1)], [1.0]])[:order, : rigid.shape[2]]
    for each, ends in ((rows, mesh.tip), (rigid, moved)):
        each[:, begin:end] *= np.sqrt(slopes)[:, None, None]
        each[:, end:-1] = tip @ ends
    if hub is not None:
        rigid[:, -1] = hub[:, None]
    free = np.linalg.qr(rigid)[0]
    rows -= free @ (free.swapaxes(1, 2) @ rows)
    found = np.linalg.svd(rows, full_matrices=False)[2][:, :count]
    return np.asarray(found.swapaxes(1, 2))
