"""Values that cross from piece to piece wait in places that nobody else uses meanwhile."""

import casadi
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexarm.engine.emit.plan import plan
from flexarm.engine.lower import lower
from flexarm.engine.stream import Stream
from tests.engine.expressions import BOUNDED, graphs


def last_use(stream: Stream, value: int) -> int:
    """Find the last operation that uses a value."""
    uses = [
        stream.first_operation + k
        for k, operation in enumerate(stream.operations)
        if value in operation.operands
    ]
    return max(uses, default=value)


@given(graphs(BOUNDED), st.integers(1, 9))
def test_a_place_keeps_its_value_until_the_last_use(function: casadi.Function, chunk: int) -> None:
    planned = plan(lower(function), chunk=chunk)
    stream = planned.stream
    assert [v for piece in planned.pieces for v in piece] == [
        stream.first_operation + k for k in range(len(stream.operations))
    ]
    assert max(map(len, planned.pieces), default=0) <= chunk
    piece_of = {v: k for k, piece in enumerate(planned.pieces) for v in piece}
    for value, piece in piece_of.items():
        crosses = piece_of[last_use(stream, value)] > piece
        assert (value in planned.places) == crosses
    for value, place in planned.places.items():
        assert place < planned.work_size
        for other, same in planned.places.items():
            if same == place and piece_of[other] >= piece_of[value] and other != value:
                assert piece_of[other] > piece_of[last_use(stream, value)]


@pytest.mark.parametrize("length", [1000, 4000])
def test_places_are_used_again(length: int) -> None:
    x = casadi.SX.sym("x", 2)
    values = casadi.vertsplit(x)
    for _ in range(length):
        values.append(values[-1] * values[-2])
    # Only the last two values are alive at any time.
    assert plan(lower(casadi.Function("f", [x], [values[-1]])), chunk=10).work_size <= 4
