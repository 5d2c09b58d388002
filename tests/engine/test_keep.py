"""Values that registers do not hold come back from where they were put."""

from dataclasses import replace

import numpy as np
import pytest

from flexarm.engine.constants import MOST_TABLED, NEAR_BLOCK, SPARE_NEAR
from flexarm.engine.emit import keep
from flexarm.engine.emit.keep import ThreadMemory, is_short, moves, near_places_left
from flexarm.engine.gpu.cuda import near_places
from flexarm.engine.stream import Port, Store, Stream
from tests.engine.test_chains import sums


def constants(seed: int) -> Stream:
    """Let inputs be constants of many digits; of three operations, one uses one, one any value."""
    stream, random = sums(seed, 400), np.random.default_rng(seed)
    operations = list(stream.operations)
    for k in range(0, 399, 3):
        operations[k] = operations[k]._replace(a=int(random.integers(0, 4)))
        operations[k + 1] = operations[k + 1]._replace(a=int(random.integers(4, 7 + k)))
    used = {value for each in operations for value in each.operands}
    left = [k for k in range(6, 406) if k not in used]
    return replace(
        stream, constants=(0.1, 0.2, 0.3, 0.4), loads=stream.loads[2:],
        operations=tuple(operations), outputs=(Port("y", len(left), 1),),
        stores=tuple(Store(0, k, value) for k, value in enumerate(left)),
    )  # fmt: skip


@pytest.mark.few(10)
@pytest.mark.parametrize("tabled", [False, True])
@pytest.mark.parametrize("seed", range(10))
def test_what_is_loaded_is_what_was_stored(seed: int, *, tabled: bool) -> None:
    stream = constants(seed)
    registers = 6
    kept = moves(stream, ThreadMemory(3, registers, 2, tabled=tabled))
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
    kept = moves(constants(1), ThreadMemory(3, 6, 2, tabled=True))
    loads = [move for listed in kept.loads.values() for move in listed if move.memory == "table"]
    assert len(kept.table) % 2 == 0
    assert len(loads) > 0.75 * len(kept.table)  # few are alone
    for listed in kept.loads.values():
        places = [move.place for move in listed if move.memory == "table"]
        assert all(place % 2 == 0 or place - 1 in places for place in places)


@pytest.mark.parametrize("most", [0, 6, 20])
def test_constants_that_a_table_has_no_room_for_are_left_to_the_code(
    monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(keep, "MOST_TABLED", most)
    stream = constants(1)
    kept = moves(stream, ThreadMemory(3, 6, 2, tabled=True))
    assert len(kept.table) == most
    loads = [move for listed in kept.loads.values() for move in listed if move.memory == "table"]
    assert all(kept.table[move.place] == stream.constants[move.value] for move in loads)


@pytest.mark.few(12)
@pytest.mark.parametrize("near", [1, 80, 100])
@pytest.mark.parametrize("seed", range(10))
def test_values_wait_in_what_a_table_leaves(
    monkeypatch: pytest.MonkeyPatch, seed: int, near: int
) -> None:
    monkeypatch.setattr(keep, "SPARE_NEAR", 8)
    monkeypatch.setattr(keep, "NEAR_BLOCK", 2)
    kept = moves(constants(seed), ThreadMemory(near, 10, 25, tabled=True))
    stores = [move for listed in kept.stores.values() for move in listed if move.memory == "near"]
    assert kept.near == max((move.place + 1 for move in stores), default=0)
    assert kept.near <= near_places_left(near, len(kept.table))


def test_a_table_takes_the_place_of_values() -> None:
    assert near_places_left(100, SPARE_NEAR) == 100
    assert (
        near_places_left(100, SPARE_NEAR + 1)
        == near_places_left(100, SPARE_NEAR + NEAR_BLOCK)
        == 99
    )
    assert near_places_left(1, SPARE_NEAR + 10 * NEAR_BLOCK) == 0


def test_constants_of_few_digits_are_parts_of_instructions() -> None:
    assert [is_short(x) for x in (0.0, -1.5, 2.0**-30, 0.1, 1 / 3)] == [True] * 3 + [False] * 2


@pytest.mark.parametrize(
    ("processor", "block"),  # memory for blocks, and for one block [bytes], by compute capability
    [(98304, 98304), (65536, 65536), (167936, 166912), (102400, 101376), (233472, 232448)],
    ids=["7.0", "7.5", "8.0", "8.6", "9.0"],
)
def test_near_places_and_a_table_fit_in_the_memory_of_a_block(processor: int, block: int) -> None:
    near = near_places(processor)
    for table in range(0, MOST_TABLED + 1, 2):
        assert 8 * (NEAR_BLOCK * near_places_left(near, table) + table) <= block
