"""Index pairs of amplitudes, so that symmetric quadratic forms evaluate each product once."""

from dataclasses import dataclass

import casadi as ca
import numpy as np
import numpy.typing as npt

from flexarm.spatial import Array, Expr


@dataclass(frozen=True)
class Pairs:
    """Pairs (k, l), k <= l, of ``size`` amplitudes whose products a symmetric form contains."""

    rows: npt.NDArray[np.intp]
    columns: npt.NDArray[np.intp]
    size: int

    @classmethod
    def of_form(cls, nonzero: npt.NDArray[np.bool_]) -> "Pairs":
        """Return the pairs at which a form (size, size) has nonzero entries."""
        rows, columns = np.nonzero(np.triu(nonzero | nonzero.T))
        return cls(rows, columns, len(nonzero))

    @classmethod
    def full(cls, size: int) -> "Pairs":
        """Return all pairs of ``size`` amplitudes."""
        return cls.of_form(np.ones((size, size), dtype=bool))

    @property
    def count(self) -> int:
        """Number of pairs."""
        return len(self.rows)

    def products(self, d: Expr, e: Expr) -> Expr:
        """Return the products ``d_k e_l + d_l e_k``, or ``d_k e_k`` for k = l, shape (count,)."""
        values = [
            d[k] * e[l] + d[l] * e[k] if k != l else d[k] * e[k]
            for k, l in zip(self.rows.tolist(), self.columns.tolist(), strict=True)
        ]
        return ca.vertcat(*values) if values else type(d)(0, 1)

    def of(self, form: Array) -> Array:
        """Return the entries of symmetric forms (..., size, size) at the pairs, (..., count)."""
        return np.asarray(form[..., self.rows, self.columns])

    def matrix(self, entries: Expr) -> Expr:
        """Return the symmetric matrix (size, size) with one given entry per pair, else 0."""
        result = type(entries)(self.size, self.size)
        for i, (k, l) in enumerate(zip(self.rows.tolist(), self.columns.tolist(), strict=True)):
            result[k, l] = entries[i]
            result[l, k] = entries[i]
        return result
