"""Collocation nodes along the exposed part of a sliding link, with xi = x/l, l the exposed length.

Sections turn by ``sum_k chi_k'(xi) e_k`` with the parent curves chi and ``e = a(l) d/l``, so with
tangents P at nodes a section is at ``r = l sum_g I_g(xi) P_g``.  A material section moves by
``d xi/dt = (1 - xi) l'/l`` and so with the velocity (primes: time derivatives)

    ``sum_g I_g (l P_g)' + l' (1 - xi) sum_g l_g P_g``,

and at constant l' has the acceleration

    ``sum_g I_g (l P_g)'' + 2 l' (1 - xi) sum_g l_g P_g' + (l'^2/l) (1 - xi)^2 sum_g dl_g/dxi P_g``.

Interpolated tangents may jump between panels; integrating the last term by parts includes the
momentum that sections gain as they pass a jump.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.polynomial import legendre

from flexarm.links.collocation import Cardinals, Collocation, collocate
from flexarm.links.fields import AXES, Axis, Basis, Functions
from flexarm.links.growing.shapes import SlidingShapes
from flexarm.links.node_spaces import Fine
from flexarm.spatial import Array, settled


@dataclass(frozen=True)
class GrowingNodes(Collocation):
    """Collocation data of a sliding link's parent curves over xi, for unit length and unit mass."""

    passing: Array  # ``int I^a (1 - xi) l^b`` for two of the axes x, y, z, (3, 3, G, G)
    passed: Array  # ``int (1 - xi)^2 l^a l^b``, (3, 3, G, G)
    gain: Array  # ``int (1 - xi) l^a``, (3, G)
    cards: Array  # Legendre series of ``l^a`` on each panel, (3, panels, order, G)

    # Sums over nodes are of `gram`, the mass of the amplitudes of its factor.
    basis: ClassVar[None] = None  # own coordinates are not combined
    even: ClassVar[bool] = True
    few: ClassVar[bool] = True

    @classmethod
    def of(cls, shapes: SlidingShapes, more: int) -> "GrowingNodes":
        """Select nodes, ``more`` beyond the number of shapes, at least one beyond the parents."""
        further = max(
            len(curves) - int(np.any(shapes.factors[direction], axis=(0, 1)).sum())
            for direction, curves in shapes.parents.items()
        )
        asked, more = max(more, 1 + further), max(more - further, 1)
        span = shapes.uniform(mass_per_length=1.0, Jx=0.0, Jy=0.0, Jz=0.0)
        parents = shapes.parent_shapes()
        fine = Fine.of(span, parents, more)
        found = Cardinals.of(fine, more)
        cards = found.cards
        reach = np.stack([fine.running @ card for card in cards])
        past = np.stack(cards) * (1 - fine.x)[:, None]
        heavy = past * fine.weights[:, None]
        nodes = collocate(span, parents, more)
        weights = np.pad(found.weights, (0, nodes.count - len(found.weights)))
        rotary = np.outer(shapes.rotary, weights) * bool(np.any(nodes.bend))
        return cls(
            **vars(replace(nodes, more=asked, rotary=rotary)),
            passing=settled(np.einsum("apg,bph->abgh", reach, heavy)),
            passed=settled(np.einsum("apg,bph->abgh", past, heavy)),
            gain=settled(heavy.sum(axis=1)),
            cards=np.stack([fine.series(card) for card in cards]),
        )

    def functions(self, xi: Array) -> Functions:
        """Evaluate ``I, (1 - xi) l, (1 - xi)^2 dl/dxi`` at xi, shape (3 G, len(xi)) per axis.

        l are the cardinal functions of the G nodes, I their integrals from 0 to xi.
        """
        left, edges = 1 - xi, self.edges
        panel = np.clip(np.searchsorted(edges, xi, side="right") - 1, 0, len(edges) - 2)
        low, high = edges[panel], edges[panel + 1]
        t, found = (2 * xi - low - high) / (high - low), [self.reach(xi)]
        for nu in (0, 1):
            series = legendre.legder(self.cards, nu, axis=2)
            values = np.einsum(
                "sk,askg->asg", legendre.legvander(t, series.shape[2] - 1), series[:, panel]
            )
            found.append(values * (left * (2 * left / (high - low)) ** nu)[:, None])
        return {axis: np.concatenate([f[a].T for f in found]) for a, axis in enumerate(AXES)}

    def integrals(self) -> Basis:
        """Compute the integrals over xi of the `functions` and of their products.

        Products of the second and third functions are symmetrised, which is exact in quadratic
        forms; products of two third functions are not computed and are 0.
        """
        at_mouth = [self.functions(np.zeros(1))[axis][self.count : 2 * self.count, 0]
                    for axis in AXES]  # fmt: skip
        gram: dict[tuple[Axis, Axis], Array] = {}
        for a, p in enumerate(AXES):
            for b, q in enumerate(AXES):
                A, B, D = self.gram[a, b], self.passing[a, b], self.passed[a, b]
                back = self.passing[b, a].T
                squares = (3 * D - np.outer(at_mouth[a], at_mouth[b])) / 2
                gram[p, q] = np.block(
                    [[A, B, 2 * B - D], [back, D, squares], [2 * back - D, squares, 0 * D]]
                )
        mean = {
            axis: np.concatenate([self.mean[a], self.gain[a], 2 * self.gain[a] - at_mouth[a]])
            for a, axis in enumerate(AXES)
        }
        return Basis(gram, mean, 1.0)
