"""Loaded and clamped-mass shapes of many designs: modes between what hangs on the ends of each.

A design's modes are those over the span of the first with bodies, inertia of slopes and hub as
much heavier as they are beside the mass of the design's own span.
"""

import numpy as np

from flexarm.arm.shapes import ClampedMass, ShapeChoice
from flexarm.engine.varied import Array, agreed, by_design
from flexarm.links.base import Counts, Direction, Ends
from flexarm.links.basis import Motion, family, join, wanted
from flexarm.links.beams.finite import REFINEMENTS, TAIL
from flexarm.links.beams.mesh import Mesh, mesh_for
from flexarm.links.span import Span
from flexarm.model.designs.arm_modes import LinkCurves
from flexarm.model.designs.draw import DesignShapes
from flexarm.model.designs.spans import NotTogether, Sizes


def loaded_designs(
    choice: ShapeChoice, first: Span, sizes: Sizes, ends: Ends, counts: Counts
) -> DesignShapes:
    """Find the shapes of a link between the ends of all designs, over the span of the first."""
    columns, parts = dict[Direction, Array](), []
    for motion, count in wanted(first, counts):
        if not first.table[motion.inertia][0]:
            raise NotTogether
        bodies = Bodies.of(ends, motion, sizes)
        for refine in REFINEMENTS:
            mesh = mesh_for(first, motion, count + 1, refine=refine)
            slopes = None if isinstance(choice, ClampedMass) else bodies.slopes
            columns[motion.direction] = z = bodies.modes(mesh, slopes, count)
            if np.abs(z[:, -2:]).max() < TAIL:
                break
        root = np.zeros((motion.order, mesh.size))
        curves, unit = mesh.curves(np.eye(mesh.size), root), np.ones(mesh.size)
        parts.append(family(motion.direction, curves, unit, first.edges))
    return LinkCurves.on(first, join(parts, first), sizes).scaled(columns, choice)


class Bodies:
    """What hangs on the ends of a span in one direction, beside the span's own inertia, (N,) each.

    Attributes
    ----------
    tip
        A root of the tip body's inertia on tip displacement and slope, (N, order, order).
    hub
        Inertia that the root turns; None if it is held.
    slopes
        Inertia of slopes over that of the first design.
    """

    def __init__(self, tip: Array, hub: Array | None, slopes: Array) -> None:
        self.tip, self.hub, self.slopes = tip, hub, slopes

    @classmethod
    def of(cls, ends: Ends, motion: Motion, sizes: Sizes) -> "Bodies":
        """Read what the ends of all designs mean in one direction."""
        count, length = len(sizes.length), sizes.length
        own = sizes.of(motion.inertia) * length
        turned = own if motion.order == 1 else own * length**2
        hub, mass = None, by_design(ends.tip_mass, count) / own
        slopes = np.ones(count)
        if motion.rotary is not None:
            slopes = sizes.of(motion.rotary) / (sizes.of(motion.inertia) * length**2)
        if motion.axis is not None:
            root = by_design(ends.root_inertia[motion.axis], count)
            hub = None if agreed(np.isinf(root)) else root / turned
            inertia = by_design(ends.tip_inertia[motion.axis], count) / turned
        if motion.order == 1:
            return cls(
                np.sqrt(mass if motion.axis is None else inertia)[:, None, None], hub, slopes
            )
        offset = by_design(ends.tip_offset, count) / length
        centre = inertia - mass * offset**2
        if np.any(centre < -1e-9 * mass * offset**2):
            raise NotTogether  # of which each is told by itself
        tip = np.zeros((count, 2, 2))
        tip[:, 0, 0], tip[:, 0, 1] = np.sqrt(mass), np.sqrt(mass) * offset
        tip[:, 1, 1] = np.sqrt(np.maximum(centre, 0.0))
        return cls(tip, hub, slopes)

    def modes(self, mesh: Mesh, slopes: Array | None, count: int) -> Array:
        """Find the first elastic modes, in strains of unit stiffness, (N, strains, count)."""
        span, motion = mesh.span, mesh.motion
        power = motion.order - 1  # of x, by which a root that turns moves the span
        x, every = mesh.x[..., None], np.eye(mesh.size)
        rows, rigid = list[Array](), list[Array]()
        moved = zip((motion.inertia, motion.rotary), mesh.fields(every), strict=False)
        for nu, (name, field) in enumerate(moved):
            if name is None or not span.has(name) or (nu and slopes is None):
                continue
            scale = np.sqrt(slopes) if nu and slopes is not None else np.ones(len(self.tip))
            root = np.sqrt(mesh.weights * span.at(name, mesh.x))[..., None]
            turned = power * np.ones_like(x) if nu else x**power
            for into, values in ((rows, field), (rigid, turned)):
                flat = (root * values).reshape(-1, values.shape[2])
                into.append(scale[:, None, None] * flat)
        rows.append(self.tip @ mesh.tip)
        if self.hub is not None:
            ends = np.array([[span.length**power], [power]])[: motion.order]
            rigid += [self.tip @ ends, np.sqrt(self.hub)[:, None, None]]
            rows.append(np.zeros((len(self.tip), 1, mesh.size)))
            free = np.concatenate(rigid, axis=1)
            free /= np.linalg.norm(free, axis=1, keepdims=True)
        whole = np.concatenate(rows, axis=1)
        if self.hub is not None:
            whole = whole - free @ (free.swapaxes(1, 2) @ whole)
        found = np.linalg.svd(whole, full_matrices=False)[2][:, :count]
        return np.asarray(found.swapaxes(1, 2))
