"""Operations are counted as a reader with a pencil would count them."""

import casadi

from flexarm.engine.lower import lower
from flexarm.engine.stream import OperationCounts, counts


def test_the_counts_of_a_pendulum_are_those_found_by_hand() -> None:
    q, v, u = casadi.SX.sym("q"), casadi.SX.sym("v"), casadi.SX.sym("u")
    x, y = 0.7 * casadi.cos(q), 0.7 * casadi.sin(q)  # 2 mul, 1 cos, 1 sin
    inertia = 2 + x**2 + 2 * u  # 1 mul (square), 1 add (twice), 2 add
    torque = u - 0.1 * v - x * y  # 2 mul, 2 add (differences)
    energy = casadi.sqrt(inertia) / v  # 1 sqrt, 1 div
    outputs = [torque / inertia, -v / inertia, energy]  # 1 div and 2 mul for the two
    stopped = casadi.if_else(v > 0, u, 0)  # 1 comparison, 1 choice
    function = casadi.Function("f", [q, v, u], [*outputs, stopped])
    assert counts(lower(function)) == OperationCounts(
        multiplications=7,
        additions=5,
        divisions=2,
        functions={"cos": 1, "sin": 1, "sqrt": 1},
        selections=2,
    )


def test_a_product_of_matrices_takes_n_cubed_multiplications() -> None:
    a, b = casadi.SX.sym("a", 5, 5), casadi.SX.sym("b", 5, 5)
    found = counts(lower(casadi.Function("f", [a, b], [a @ b])))
    assert (found.multiplications, found.additions) == (125, 100)
    assert found.divisions == 0
    assert found.functions == {}
