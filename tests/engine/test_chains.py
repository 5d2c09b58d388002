"""Sums of products become chains of fused operations, and the same sums."""

from collections import Counter

import numpy as np
import pytest

import flexarm
from flexarm.engine.emit.chains import chained
from flexarm.engine.emit.plan import by_liveness
from flexarm.engine.lower import lower
from flexarm.engine.stream import ADDITIONS, Load, Operation, Port, Store, Stream

PRIME = 2**61 - 1  # numbers modulo it have no rounding


def instructions(stream: Stream) -> int:
    """Count sums and products, a product with the one sum that uses it as one."""
    first = stream.first_operation
    uses = Counter(value for each in stream.operations for value in each.operands)
    uses.update(store.value for store in stream.stores)
    count = 0
    for operation in stream.operations:
        fused = any(
            value >= first and uses[value] == 1 and stream.operations[value - first].op == "mul"
            for value in operation.operands
        )
        count += operation.op == "mul" or (operation.op in ADDITIONS and not fused)
    return count


def stored(stream: Stream, x: list[int]) -> list[int]:
    """Compute what is stored, modulo a prime."""
    values = [int(constant) for constant in stream.constants]
    values += [x[load.element] for load in stream.loads]
    for op, a, b in stream.operations:
        found = {
            "add": values[a] + values[b],
            "sub": values[a] - values[b],
            "mul": values[a] * values[b],
            "neg": -values[a],
        }
        values.append(found[op] % PRIME)
    return [values[value] for _, _, value in stream.stores]


def sums(seed: int, size: int = 60) -> Stream:
    """Make a stream of sums, products and negations; what nothing uses is stored."""
    random = np.random.default_rng(seed)
    operations = []
    for first in range(6, 6 + size):
        op = str(random.choice(["add", "sub", "mul", "mul", "neg"]))
        a, b = random.integers(max(0, first - 15), first, 2).tolist()
        operations.append(Operation(op, a, -1 if op == "neg" else b))
    used = {value for each in operations for value in each.operands}
    left = [value for value in range(6, 6 + size) if value not in used]
    return Stream(
        "sums", (Port("x", 4, 1),), (Port("y", len(left), 1),), (3.0, 5.0),
        tuple(Load(0, k) for k in range(4)), tuple(operations),
        tuple(Store(0, k, value) for k, value in enumerate(left)),
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(40))
def test_chains_are_the_same_sums_in_no_more_instructions(seed: int) -> None:
    stream = sums(seed)
    chains = chained(stream)
    x = np.random.default_rng(seed).integers(1, 2**40, 4).tolist()
    assert stored(chains, x) == stored(stream, x)
    assert instructions(chains) <= instructions(stream)
    for k, operation in enumerate(chains.operations):
        assert max(operation.operands) < chains.first_operation + k


def test_a_sum_begins_with_what_is_no_product() -> None:
    operations = [
        Operation("mul", 0, 1), Operation("mul", 1, 2), Operation("add", 4, 5),
        Operation("sub", 3, 6),
    ]  # fmt: skip
    ports = (Port("x", 4, 1),), (Port("y", 1, 1),)
    loads = tuple(Load(0, k) for k in range(4))
    stream = Stream("f", *ports, (), loads, tuple(operations), (Store(0, 0, 7),))
    assert (instructions(stream), instructions(chained(stream))) == (3, 2)


@pytest.mark.few(1)
@pytest.mark.parametrize("sample", ["count-6-6-3", "canadarm-free-base"])
def test_the_dynamics_of_an_arm_take_fewer_instructions(sample: str) -> None:
    arm = flexarm.change_arm(flexarm.example_arm(sample), {"contacts": [], "events": []})
    equation = flexarm.formulation("articulated", flexarm.build(arm))
    stream = by_liveness(lower(equation.function("forward_dynamics")))
    assert instructions(chained(stream)) < 0.95 * instructions(stream)
