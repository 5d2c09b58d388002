"""A sample's quadratic program with limits that may be given up, by CasADi's DAQP."""

import casadi as ca
import numpy as np

from flexarm.links.base import Array

PRICE = 1e3  # cost of violating limits, relative to the largest derivative of the cost


class SampleProgram:
    """The program ``x^T H x / 2 + g^T x`` with bounds on x and on rows.

    Rows beyond their bounds at x = 0 may be violated, all by the same slack, at a price.

    Parameters
    ----------
    size, rows
        Numbers of unknowns, and of rows at most.
    """

    def __init__(self, size: int, rows: int) -> None:
        self.size, self.rows = size, rows
        n = size + bool(rows)
        shape = {"h": ca.Sparsity.dense(n, n), "a": ca.Sparsity.dense(rows, n)}
        solver = ca.conic("program", "daqp", shape, {"error_on_fail": False})
        self._given = {name: np.zeros(solver.numel_in(name)) for name in solver.name_in()}
        self._found = np.zeros(n)
        self._buffer, self._run = solver.buffer()  # avoids conversions, which take longer
        for k, each in enumerate(self._given.values()):
            self._buffer.set_arg(k, memoryview(each))  # type: ignore[call-arg, arg-type]
        self._buffer.set_res(solver.index_out("x"), memoryview(self._found))  # type: ignore[call-arg, arg-type]

    def solve(
        self, H: Array, g: Array, limits: tuple[Array, Array, Array], bounds: tuple[Array, Array]
    ) -> Array:
        """Return the unknowns, (n,)."""
        n, given, (A, least, most) = self.size, self._given, limits
        h = given["h"].reshape(len(self._found), -1)
        h[:n, :n], given["g"][:n], given["lbx"][:n], given["ubx"][:n] = H, g, *bounds
        if self.rows:
            price = PRICE * float(np.abs(g).max() + 1e-3 * H[0, 0])
            h[n, n], given["g"][n], given["ubx"][n] = price, price, np.inf
            m, a = len(A), given["a"].reshape(-1, self.rows)  # by columns
            a[:, m:], given["lba"][m:], given["uba"][m:] = 0.0, -1.0, 1.0
            a[:n, :m], a[n, :m] = A.T, (least > 0) - 1.0 * (most < 0)
            given["lba"][:m] = np.where(most < 0, -np.inf, least)
            given["uba"][:m] = np.where(least > 0, np.inf, most)
        self._run()
        return self._found[:n].copy()
