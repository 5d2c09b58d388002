"""Products of two amplitudes, each once: how symmetric quadratic forms are written cheaply."""

from dataclasses import dataclass

import casadi as ca
import numpy as np
import numpy.typing as npt

from flexarm.spatial import Array, Expr


@dataclass(frozen=True)
class Pairs:
    """Pairs (k, l), k <= l, of ``size`` amplitudes whose products a symmetric form uses."""

    rows: npt.NDArray[np.intp]
    columns: npt.NDArray[np.intp]
    size: int

    @classmethod
    def of_form(cls, used: npt.NDArray[np.bool_]) -> "Pairs":
        """Keep the pairs at which a form (size, size) has entries."""
        rows, columns = np.nonzero(np.triu(used | used.T))
        return cls(rows, columns, len(used))

    @classmethod
    def full(cls, size: int) -> "Pairs":
        """Keep every pair."""
        return cls.of_form(np.ones((size, size), dtype=bool))

    @property
    def count(self) -> int:
        """Number of pairs."""
        return len(self.rows)

    def products(self, d: Expr, e: Expr) -> Expr:
        """Return ``d_k e_l + d_l e_k``, or ``d_k e_k`` on the diagonal, (count,)."""
        values = [
            d[k] * e[l] + d[l] * e[k] if k != l else d[k] * e[k]
            for k, l in zip(self.rows.tolist(), self.columns.tolist(), strict=True)
        ]
        return ca.vertcat(*values) if values else type(d)(0, 1)

    def of(self, form: Array) -> Array:
        """Pick the entries of symmetric forms (..., size, size) that multiply the products."""
        return np.asarray(form[..., self.rows, self.columns])

    def matrix(self, entries: Expr) -> Expr:
        """Spread one entry per pair over a symmetric matrix, (size, size)."""
        result = type(entries)(self.size, self.size)
        for i, (k, l) in enumerate(zip(self.rows.tolist(), self.columns.tolist(), strict=True)):
            result[k, l] = entries[i]
            result[l, k] = entries[i]
        return result
