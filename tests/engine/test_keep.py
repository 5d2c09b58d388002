"""Values that registers do not hold come back from where they were put."""

import pytest

from flexarm.engine.emit.keep import BLOCK, SPARE, Room, beside, is_short, moves
from flexarm.engine.stream import Stream
from tests.engine.test_chains import sums


def constants(stream: Stream) -> Stream:
    """Let the last loads be constants, none of them short."""
    return Stream(
        stream.name, stream.inputs, stream.outputs, (0.1, 0.2, 0.3, 0.4), stream.loads[2:],
        stream.operations, stream.stores,
    )  # fmt: skip


@pytest.mark.parametrize("tabled", [False, True])
@pytest.mark.parametrize("seed", range(10))
def test_what_is_loaded_is_what_was_stored(seed: int, *, tabled: bool) -> None:
    stream = constants(sums(seed, 400))
    registers = 6
    kept = moves(stream, Room(3, registers, 2, tabled=tabled))
    places = {("input", value): value for value in range(4, 6)}
    at_hand: set[int] = set() if tabled else set(range(4))
    for k, operation in enumerate(stream.operations):
        for move in kept.loads[k]:
            if move.memory == "table":
                assert kept.table[move.place] == stream.constants[move.value]
            else:
                assert places[move.memory, move.place] == move.value
            at_hand.add(move.value)
        assert at_hand >= set(operation.operands)
        at_hand.add(stream.first_operation + k)
        for move in kept.stores[k]:
            assert move.value in at_hand
            assert move.place < (3 if move.memory == "near" else kept.far)
            places[move.memory, move.place] = move.value
    assert {memory for memory, _ in places} == {"input", "near", "far"}
    assert bool(kept.table) == tabled


def test_constants_are_loaded_two_at_a_time() -> None:
    kept = moves(constants(sums(1, 400)), Room(3, 6, 2, tabled=True))
    loads = [move for listed in kept.loads.values() for move in listed if move.memory == "table"]
    assert len(kept.table) % 2 == 0
    assert len(loads) > 0.75 * len(kept.table)  # few are alone
    for listed in kept.loads.values():
        places = [move.place for move in listed if move.memory == "table"]
        assert all(place % 2 == 0 or place - 1 in places for place in places)


def test_a_table_takes_the_place_of_values() -> None:
    assert beside(100, SPARE) == 100
    assert beside(100, SPARE + 1) == beside(100, SPARE + BLOCK) == 99
    assert beside(1, SPARE + 10 * BLOCK) == 0


def test_constants_of_few_digits_are_parts_of_instructions() -> None:
    assert [is_short(x) for x in (0.0, -1.5, 2.0**-30, 0.1, 1 / 3)] == [True] * 3 + [False] * 2
