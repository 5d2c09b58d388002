"""Operations come in an order in which few values wait, each after what it uses."""

from collections import Counter

import casadi
import pytest
from hypothesis import given

import flexarm
from flexarm.engine.emit.plan import belong_together, by_liveness
from flexarm.engine.lower import lower
from flexarm.engine.stream import Stream, counts
from tests.engine.expressions import BOUNDED, graphs


def waiting(stream: Stream) -> int:
    """Count the values that wait for a use, when they are most."""
    last = {v: k for k, operation in enumerate(stream.operations) for v in operation.operands}
    ends = Counter(k for value, k in last.items() if value >= stream.first_operation)
    alive = most = 0
    for k in range(len(stream.operations)):
        alive += (stream.first_operation + k in last) - ends[k]
        most = max(most, alive)
    return most


@given(graphs(BOUNDED))
def test_the_operations_are_the_same_and_each_comes_after_what_it_uses(
    function: casadi.Function,
) -> None:
    stream = lower(function)
    ordered = by_liveness(stream)
    assert counts(ordered) == counts(stream)
    assert (ordered.constants, ordered.loads) == (stream.constants, stream.loads)
    for k, operation in enumerate(ordered.operations):
        assert max(operation.operands) < ordered.first_operation + k
    places = [(store.port, store.element) for store in stream.stores]
    assert [(store.port, store.element) for store in ordered.stores] == places


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "sample", ["count-6-6-3", "canadarm-free-base", "graves-rms", "chen-two-link"]
)
def test_few_values_wait_in_the_dynamics_of_an_arm(sample: str) -> None:
    arm = flexarm.change_arm(flexarm.example_arm(sample), {"contacts": [], "events": []})
    equation = flexarm.formulation("articulated", flexarm.build(arm))
    stream = lower(equation.function("forward_dynamics"))
    assert waiting(by_liveness(stream)) < waiting(stream)


def test_a_product_stays_with_its_sum_and_a_sine_with_its_cosine() -> None:
    x = casadi.SX.sym("x", 6)
    turns = [casadi.sin(x[k]) for k in range(6)] + [casadi.cos(x[k]) for k in range(6)]
    products = [turns[k] * turns[11 - k] for k in range(6)]
    sums = [product + turn for product, turn in zip(products, turns[3:9], strict=True)]
    ordered = by_liveness(lower(casadi.Function("f", [x], [casadi.vertcat(*sums)])))
    together = [belong_together(ordered, k) for k in range(1, len(ordered.operations))]
    assert len(ordered.operations) == 24
    assert sum(together) == 12
