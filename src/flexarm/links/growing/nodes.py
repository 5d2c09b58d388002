"""Collocation nodes along the exposed part of a sliding link, with xi = x/l, l the exposed length.

Sections turn by ``sum_k chi_k'(xi) e_k`` with the parent curves chi and ``e = a(l) d/l``, so with
tangents P at nodes a section is at ``r = l sum_g I_g(xi) P_g``.  A material section moves by
``d xi/dt = (1 - xi) l'/l`` and so with the velocity (primes: time derivatives)

    ``sum_g I_g (l P_g)' + l' (1 - xi) sum_g l_g P_g``,

and at constant l' has the acceleration

    ``sum_g I_g (l P_g)'' + 2 l' (1 - xi) sum_g l_g P_g' + (l'^2/l) (1 - xi)^2 sum_g dl_g/dxi P_g``.

Interpolated tangents may jump between panels; integrating the last term by parts includes the
momentum that sections gain as they pass a jump.  A linear section is ``c_0 + c_1 (1 - xi) l``; its
integrals are sums of those with the weights ``(1 - xi)^k``.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from flexarm.links.collocation import Cardinals, Collocation, collocate
from flexarm.links.curves import SpanCurves
from flexarm.links.fields import AXES, Axis, Basis, Functions
from flexarm.links.growing.fields import integrated
from flexarm.links.growing.shapes import SlidingShapes
from flexarm.links.node_spaces import Fine
from flexarm.spatial import Array, settled


@dataclass(frozen=True)
class GrowingNodes(Collocation):
    """Collocation data of a sliding link's parent curves over xi, for unit length.

    The mass per xi is ``w = (1 - xi)^power``; stiffness and rotary inertia are those of the section
    of this power in `Span.tapers`.
    """

    passing: Array  # ``int w I^a (1 - xi) l^b`` for two of the axes x, y, z, (3, 3, G, G)
    passed: Array  # ``int w (1 - xi)^2 l^a l^b``, (3, 3, G, G)
    gain: Array  # ``int w (1 - xi) l^a``, (3, G)
    cards: Array  # Legendre series of ``l^a`` on each panel, (3, panels, order, G)
    power: int
    further: tuple["GrowingNodes", ...] = ()  # the same nodes for the higher powers

    # Sums over nodes are of `gram`, the mass of the amplitudes of its factor.
    basis: ClassVar[None] = None  # own coordinates are not combined
    even: ClassVar[bool] = True
    uses_roots: ClassVar[bool] = True

    @classmethod
    def of(cls, shapes: SlidingShapes, excess: int, power: int = 0) -> "GrowingNodes":
        """Select nodes, ``excess`` beyond the number of shapes, at least one beyond the parents.

        The data are those for a power, followed by those for the higher ones.
        """
        further = max(
            len(curves) - int(np.any(shapes.factors[direction], axis=(0, 1)).sum())
            for direction, curves in shapes.parents.items()
        )
        asked, excess = max(excess, 1 + further), max(excess - further, 1)
        taper, *others = shapes.span.tapers[power:]
        weightless = dict.fromkeys(("Jx", "Jy", "Jz"), np.zeros(2))
        mass = {"mass_per_length": np.array([1.0, 0.0**power])}
        span = replace(taper, table=taper.table | weightless | mass)
        parents = shapes.parent_shapes()
        fine = Fine.of(span, parents, excess)
        found = Cardinals.of(fine, excess)
        cards = found.cards
        reach = np.stack([fine.running @ card for card in cards])
        past = np.stack(cards) * (1 - fine.x)[:, None]
        heavy = past * (fine.weights * (1 - fine.x) ** power)[:, None]
        nodes = collocate(span, parents, excess)
        weights = np.pad(found.weights, (0, nodes.count - len(found.weights)))
        inertia = [taper.table[name][0] for name in ("Jx", "Jy", "Jz")]
        rotary = np.outer(inertia, weights * (1 - nodes.x) ** power) * bool(np.any(nodes.bend))
        return cls(
            **vars(replace(nodes, excess=asked, rotary=rotary)),
            passing=settled(np.einsum("apg,bph->abgh", reach, heavy)),
            passed=settled(np.einsum("apg,bph->abgh", past, heavy)),
            gain=settled(heavy.sum(axis=1)),
            cards=np.stack([fine.series(card) for card in cards]),
            power=power,
            further=tuple(cls.of(shapes, asked, power + k) for k in range(1, 1 + len(others))),
        )

    @property
    def powers(self) -> "tuple[GrowingNodes, ...]":
        """The same nodes for each section of `Span.tapers`."""
        return (self, *self.further)

    def functions(self, xi: Array) -> Functions:
        """Evaluate ``I, (1 - xi) l, (1 - xi)^2 dl/dxi`` at xi, shape (3 G, len(xi)) per axis.

        l are the cardinal functions of the G nodes, I their integrals from 0 to xi.
        """
        left, edges, functions = 1 - xi, np.asarray(self.edges), dict[Axis, Array]()
        for axis, reach, series in zip(AXES, self.reach(xi), np.asarray(self.cards), strict=True):
            card = SpanCurves.from_values(edges, series)
            functions[axis] = np.vstack([reach.T, left * card(xi).T, left**2 * card(xi, 1).T])
        return functions

    def integrals(self) -> Basis:
        """Compute the integrals over xi of the `functions` and of their products."""
        return integrated(self.edges, self.functions, self.power, {})
