"""Polynomial shape functions, which converge fast where loads change the modes of the link."""

import numpy as np

from flexarm.arm.shapes import ShapeChoice
from flexarm.links.base import Counts, Discretisation, Ends, Shapes
from flexarm.links.basis import (
    diagonalise,
    family,
    join,
    normalisation,
    normalise,
    requested_directions,
    strain_matrix,
)
from flexarm.links.curves import integrate_strain
from flexarm.links.span import Span


class PolynomialShapes(Discretisation):
    """Polynomials up to a given degree, clamped at the root, combined into modes.

    n shapes span x^2 to x^(n + 1) for beams, x to x^n for rods; ``y1`` is the slowest mode in the
    span of the polynomials with a free tip.  Convergence is fastest where rotation or loads change
    the modes of a uniform or smoothly tapered span; at a step of the section the curvature jumps,
    which polynomials do not represent.
    """

    name = "polynomials"
    summary = "polynomials up to a degree, clamped at the root"
    citation = "Ritz 1909"

    def shapes(self, choice: ShapeChoice, span: Span, ends: Ends, counts: Counts) -> Shapes:
        """Build the polynomial shapes of a span, diagonalised in each direction."""
        edges = np.array([0.0, span.length])
        parts = []
        for motion, count in requested_directions(span, counts):
            # Strains are Legendre polynomials: from degree ten on, powers of x would be linearly
            # dependent.
            root = np.zeros((motion.order, count))
            curves = integrate_strain(edges, np.eye(count)[None], root)
            # Exact for properties that are linear along the span.
            stiffness = strain_matrix(curves, span, motion, edges, points=count + 1)
            part = family(motion.direction, curves, stiffness, edges)
            parts.append(diagonalise(part, span))
        return normalise(join(parts, span), normalisation(choice), span)
