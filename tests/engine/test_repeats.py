"""Along a chain of alike links, one function does every link, and the results are the same."""

import casadi
import numpy as np
import pytest

from flexarm.engine.compile import native_width
from flexarm.engine.emit import plan as planning
from flexarm.engine.emit.llvm import ANY, ProcessorFit, emit_llvm
from flexarm.engine.emit.plan import plan
from flexarm.engine.emit.repeats import cuts
from flexarm.engine.emit.rows import rows
from flexarm.engine.lower import lower
from flexarm.engine.stream import Stream
from tests.engine.expressions import compiled

LINKS = 24


@pytest.fixture(autouse=True)
def _search_every_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "WRITTEN_OUT", 0)


def chain(links: int, *, numbers: str = "own", different: int | None = None) -> casadi.Function:
    """Go out along a chain and back in, as a recursion over links does."""
    q = casadi.SX.sym("q", links)
    u = casadi.SX.sym("u", links)
    random = np.random.default_rng(3)
    shared = random.normal(size=(6, 6))
    state = casadi.SX(np.ones(6))
    kept, outputs = [], []
    for k in range(links):
        matrix = shared * (random.uniform(0.7, 1.3, size=(6, 6)) if numbers == "own" else 1.0)
        turned = casadi.mtimes(casadi.SX(matrix), state)
        bent = casadi.cos(q[k]) * turned if k == different else casadi.sin(q[k]) * turned
        state = bent / (1.0 + casadi.dot(turned, turned))
        kept.append(state)
    force = casadi.SX(6, 1)
    for k in reversed(range(links)):
        force = 0.5 * force + kept[k] * u[k] + casadi.cross(force[:3], kept[k][3:]).T[0] * kept[k]
        outputs.append(casadi.dot(force, kept[k]))
    return casadi.Function("chain", [q, u], [casadi.vertcat(*outputs)])


def distinct(stream: Stream, chunk: int = 100) -> int:
    """Count the operations that are written out."""
    planned = plan(stream, chunk=chunk)
    return sum(len(planned.pieces[members[0]]) for members in planned.alike)


@pytest.mark.few(2)
@pytest.mark.parametrize("width", sorted({1, 2, native_width()}))
@pytest.mark.parametrize("numbers", ["own", "equal"])
@pytest.mark.parametrize(
    ("fit", "chunk"),
    [(ANY, 40), (ANY, 500), (ProcessorFit(range(-4, 4), slot=1024), 100)],
    ids=["any-40", "any-500", "fitted-100"],
)
def test_results_are_those_of_casadi(
    fit: ProcessorFit, numbers: str, chunk: int, width: int
) -> None:
    function = chain(LINKS, numbers=numbers, different=LINKS // 2)
    stream = lower(function)
    assert distinct(stream, chunk) < 0.4 * len(stream.operations)
    code = compiled(function, width=width, chunk=chunk, fit=fit)
    given = np.random.default_rng(5).normal(size=(2, LINKS, width))
    (got,) = code.call(*(given[:, :, 0] if width == 1 else given))
    for lane in range(width):
        expected = np.array(function(given[0, :, lane], given[1, :, lane])).ravel()
        found = got if width == 1 else got[:, lane]
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-13 * np.abs(expected).max())


def test_code_does_not_grow_with_the_number_of_links() -> None:
    streams = [lower(chain(links)) for links in (LINKS, 4 * LINKS)]
    assert len(streams[1].operations) > 3.8 * len(streams[0].operations)
    assert distinct(streams[1]) <= 1.1 * distinct(streams[0])
    bodies = [emit_llvm(stream).text.count("fadd") for stream in streams]
    assert bodies[1] <= 1.1 * bodies[0]


def test_numbers_that_all_links_share_stay_in_the_code() -> None:
    stream = lower(chain(LINKS, numbers="equal"))
    planned = plan(stream, chunk=100)
    assert not any(rows(stream, planned, members).constants for members in planned.alike)


def test_a_piece_has_few_offsets_and_not_one_for_each_value() -> None:
    stream = lower(chain(LINKS))
    planned = plan(stream, chunk=100)
    for members in planned.alike:
        if len(members) > LINKS // 2:
            own = rows(stream, planned, members)
            assert 0 < len(own.offsets[0]) <= 12
            assert len(own.moved) > len(own.offsets[0])


def test_a_stream_without_repetition_is_not_cut_for_one() -> None:
    x = casadi.SX.sym("x", 3)
    values = casadi.vertsplit(x)
    random = np.random.default_rng(0)
    for k in range(3000):
        one, other = values[-1] * values[-2], values[k // 2]
        values.append(one + other if random.random() < 0.5 else one - other)
    stream = lower(casadi.Function("f", [x], [values[-1]]))
    assert cuts(stream, chunk=100) == []
