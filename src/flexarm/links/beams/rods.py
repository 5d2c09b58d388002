"""Exact eigenvalues and shapes of uniform rods in torsion or stretch, with an inertia at the tip.

Dimensionless: xi = x / L, w'' = -b^2 w, tip w' = mu b^2 w.  The rod vibrates with omega = b c / L,
c = sqrt(EA / rhoA) in stretch and sqrt(GJ / J_x) in torsion.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from flexarm.errors import ShapeError
from flexarm.links.beams.roots import bracketed_root

Array = npt.NDArray[np.float64]
RodRoot = Literal["clamped", "free"]
BRANCH: dict[RodRoot, float] = {"clamped": 0.0, "free": math.pi / 2}
ROOT_TOLERANCE = 1e-6


def rod_roots(count: int, *, tip_ratio: float = 0.0, root: RodRoot = "clamped") -> Array:
    """Find the first elastic eigenvalues of a uniform rod.

    Parameters
    ----------
    count
        How many; the rigid-body motion of a free rod does not count.
    tip_ratio
        mu = tip inertia / inertia of the rod: m / (rhoA L), or J / (J_x L) in torsion [1].
    root
        Clamped: mu b tan b = 1.  Free: tan b = -mu b.

    Returns
    -------
    Array
        b, increasing (count,) [1].
    """
    if count < 1:
        raise ShapeError(f"count: expected at least 1 eigenvalue, got {count}")
    _check_rod(tip_ratio, root)
    roots = []
    for n in range(count):
        # cot e = mu (start + e) has one solution on each branch, for either kind of root.
        start, end = BRANCH[root] + n * math.pi, math.pi / 2

        def value(e: float, start: float = start) -> float:
            return math.cos(e) - tip_ratio * (start + e) * math.sin(e)

        e = bracketed_root(value, 0.0, end) if value(end) < 0 else end
        roots.append(start + e)
    return np.array(roots)


def rod_shape(b: float, *, tip_ratio: float = 0.0, root: RodRoot = "clamped") -> "RodShape":
    """Build the shape that belongs to an eigenvalue, with unit mass and a positive tip.

    Parameters
    ----------
    b
        One of the rod's eigenvalues, from ``rod_roots``.
    tip_ratio, root
        As in ``rod_roots``.

    Notes
    -----
    Unit mass: int psi^2 + mu psi(1)^2 is 1.
    """
    _check_rod(tip_ratio, root)
    e = b - BRANCH[root]
    if abs(math.cos(e) - tip_ratio * b * math.sin(e)) > ROOT_TOLERANCE * (1 + tip_ratio * b):
        raise ShapeError(
            f"b: {b:.15g} is no eigenvalue of the {root} rod with tip_ratio {tip_ratio!r}; "
            "take it from rod_roots"
        )
    tip = float(RodShape(b, 1.0, root).evaluate(1.0))
    swing = math.sin(2 * b) / (4 * b)
    square = 0.5 - swing if root == "clamped" else 0.5 + swing
    return RodShape(b, math.copysign(1 / math.sqrt(square + tip_ratio * tip**2), tip), root)


def _check_rod(tip_ratio: float, root: str) -> None:
    """Refuse an inertia that is negative or no number, and an unknown root."""
    if not 0 <= tip_ratio < math.inf:
        raise ShapeError(f"tip_ratio: expected a finite number >= 0, got {tip_ratio!r}")
    if root not in BRANCH:
        raise ShapeError(f"root: expected 'clamped' or 'free', got {root!r}")


@dataclass(frozen=True)
class RodShape:
    """A twist or stretch shape: amplitude times sin(b xi) if clamped, cos(b xi) if free."""

    b: float
    amplitude: float
    root: RodRoot

    def evaluate(self, xi: npt.ArrayLike, derivative: int = 0) -> Array:
        """Evaluate the shape or a derivative with respect to xi, of the same shape as xi."""
        if derivative not in (0, 1, 2, 3):
            raise ShapeError(f"derivative: expected 0, 1, 2 or 3, got {derivative!r}")
        angle = self.b * np.asarray(xi, dtype=float)
        quarter = derivative + (0 if self.root == "clamped" else 1)
        wave = np.cos(angle) if quarter % 2 else np.sin(angle)
        sign = -1.0 if quarter % 4 >= 2 else 1.0
        return np.asarray(sign * self.amplitude * self.b**derivative * wave)
