"""Functions that CasADi evaluates for compiled loops."""

import casadi as ca
import numpy as np

from flexarm.engine.compile import Interpreted
from flexarm.loops.language import run_equations


def test_matrices_go_in_and_come_out_row_by_row() -> None:
    a, x = ca.SX.sym("a", 2, 3), ca.SX.sym("x", 3)
    sparse = ca.vertcat(x[0], 0, x[2] ** 2)
    function = ca.Function("f", [a, x], [2 * a, a @ x, sparse], ["a", "x"], ["b", "y", "z"])
    found = Interpreted(function)
    assert [port.name for port in (*found.inputs, *found.outputs)] == ["a", "x", "b", "y", "z"]
    given = [np.arange(6.0).reshape(2, 3), np.array([1.0, -2.0, 3.0])]
    results = [np.zeros((2, 3)), np.zeros(2), np.full(3, 7.0)]
    table = np.array([each.ctypes.data for each in (*given, *results)], dtype=np.int64)
    for scale in (1.0, 10.0):  # the arrays' numbers of now
        given[0][:] = scale * np.arange(6.0).reshape(2, 3)
        run_equations(found.table_address, table)
        expected = (2 * given[0], given[0] @ given[1], [1.0, 0.0, 9.0])
        for one, other in zip(results, expected, strict=True):
            np.testing.assert_array_equal(one, other)
