"""Exact eigenvalues and shapes of clamped uniform rods in torsion or stretch, a body at the tip.

Dimensionless: xi = x / L, w'' = -b^2 w, tip w' = mu b^2 w.  The rod vibrates with omega = b c / L,
c = sqrt(EA / rhoA) in stretch and sqrt(GJ / J_x) in torsion.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from flexarm.errors import ShapeError
from flexarm.links.beams.roots import bracketed_root

Array = npt.NDArray[np.float64]
ROOT_TOLERANCE = 1e-6  # residual of the frequency equation at a root, relative to its terms


def rod_roots(count: int, *, tip_ratio: float = 0.0) -> Array:
    """Find the first eigenvalues of a uniform rod, mu b tan b = 1.

    Parameters
    ----------
    count
        How many.
    tip_ratio
        mu = tip inertia / inertia of the rod: m / (rhoA L), or J / (J_x L) in torsion [1].

    Returns
    -------
    Array
        b, increasing (count,) [1].
    """
    if count < 1:
        raise ShapeError(f"count: expected at least 1 eigenvalue, got {count}")
    _check_ratio(tip_ratio)
    roots = []
    for n in range(count):
        # cot e = mu (start + e) has one solution on each branch
        start, end = n * math.pi, math.pi / 2

        def value(e: float, start: float = start) -> float:
            return math.cos(e) - tip_ratio * (start + e) * math.sin(e)

        e = bracketed_root(value, 0.0, end) if value(end) < 0 else end
        roots.append(start + e)
    return np.array(roots)


def rod_shape(b: float, *, tip_ratio: float = 0.0) -> "RodShape":
    """Build the shape that belongs to an eigenvalue, with unit mass and a positive tip.

    Parameters
    ----------
    b
        One of the rod's eigenvalues, from ``rod_roots``.
    tip_ratio
        As in ``rod_roots``.

    Notes
    -----
    Unit mass: int psi^2 + mu psi(1)^2 is 1.
    """
    _check_ratio(tip_ratio)
    if abs(math.cos(b) - tip_ratio * b * math.sin(b)) > ROOT_TOLERANCE * (1 + tip_ratio * b):
        raise ShapeError(
            f"b: {b:.15g} is no eigenvalue of the rod with tip_ratio {tip_ratio!r}; "
            "take it from rod_roots"
        )
    tip = math.sin(b)
    square = 0.5 - math.sin(2 * b) / (4 * b)
    return RodShape(b, math.copysign(1 / math.sqrt(square + tip_ratio * tip**2), tip))


def _check_ratio(tip_ratio: float) -> None:
    """Refuse an inertia that is negative or no number."""
    if not 0 <= tip_ratio < math.inf:
        raise ShapeError(f"tip_ratio: expected a finite number >= 0, got {tip_ratio!r}")


@dataclass(frozen=True)
class RodShape:
    """A twist or stretch shape: amplitude times sin(b xi)."""

    b: float
    amplitude: float

    def evaluate(self, xi: npt.ArrayLike, derivative: int = 0) -> Array:
        """Evaluate the shape or a derivative with respect to xi, of the same shape as xi."""
        if derivative not in (0, 1, 2, 3):
            raise ShapeError(f"derivative: expected 0, 1, 2 or 3, got {derivative!r}")
        angle = self.b * np.asarray(xi, dtype=float)
        wave = np.cos(angle) if derivative % 2 else np.sin(angle)
        sign = -1.0 if derivative >= 2 else 1.0
        return np.asarray(sign * self.amplitude * self.b**derivative * wave)
