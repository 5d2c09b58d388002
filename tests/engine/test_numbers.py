"""What is computed of an object's numbers as symbols holds for others, or a book says that not."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, cast

import casadi as ca
import numpy as np
import pytest

from flexarm.engine.functions import compile_function, compile_stream
from flexarm.engine.lower import lower
from flexarm.engine.numbers import Book, Number, book_of
from flexarm.engine.split import split

X = ca.SX.sym("x", 3)
POINT = np.array([0.7, -1.3, 0.4])


@dataclass(frozen=True)
class Part:
    """A part with numbers."""

    mass: float
    matrix: np.ndarray
    name: str = "one"
    table: dict[str, float] = field(default_factory=dict)

    @property
    def doubled(self) -> Any:
        """Be traced."""
        return 2 * self.mass

    @cached_property
    def inverse(self) -> np.ndarray:
        """Be computed as numbers."""
        return np.linalg.inv(self.matrix)

    def heavier(self, more: float) -> "Part":
        """Make another."""
        return replace(self, mass=self.mass + more)


@dataclass(frozen=True)
class Whole:
    """Some parts."""

    parts: tuple[Part, ...]


def part(mass: float = 2.5, off: float = 0.3, **more: Any) -> Part:
    """Make a part whose matrix has a 0, a 1 and a symmetric entry."""
    return Part(mass, np.array([[1.0, off, 0.0], [off, 4.0, 0.5], [0.0, 0.5, 3.0]]), **more)


def computed(whole: Whole) -> ca.SX:
    """Compute something of every kind."""
    total = ca.SX(3, 1)
    for each in whole.parts:
        matrix = ca.SX(3, 3)
        for place, number in np.ndenumerate(each.inverse + each.doubled * each.matrix):
            matrix[place] = number
        total += matrix @ ca.sin(X) * each.heavier(0.5).mass / each.table.get("k", 1.0)
    return total


def traced(book: Book) -> ca.Function:
    """Trace what is computed, with the numbers as the last input."""
    result = computed(book.opened)
    return ca.Function("f", [X, book.symbols], [result], ["x", "numbers"], ["y"])


def plain(whole: Whole) -> np.ndarray:
    """Compute it of numbers."""
    return np.array(ca.Function("f", [X], [computed(whole)])(POINT)).ravel()


def test_one_trace_holds_for_other_numbers() -> None:
    book = Book(Whole((part(), part(0.7, -0.2, table={"k": 2.2}))))
    prologue, body = split(lower(traced(book)), "numbers")
    first, second = compile_stream(prologue, level="quick"), compile_stream(body, level="quick")
    closed = book.close()
    same = Whole((part(), part(0.7, -0.2, table={"k": 2.2})))
    for whole in (same, Whole((part(9.1, 0.4), part(0.1, 7.0, table={"k": -0.4})))):
        numbers = closed.numbers(whole)
        assert numbers is not None
        (constants,) = first.call(numbers)
        np.testing.assert_allclose(second.call(POINT, constants)[0], plain(whole), rtol=1e-13)


def test_the_body_has_no_operation_that_the_numbers_decide() -> None:
    book = Book(Whole((part(),)))
    stream = lower(traced(book))
    prologue, body = split(stream, "numbers")
    assert len(prologue.operations) + len(body.operations) == len(stream.operations)
    alone = lower(ca.Function("f", [X], [computed(Whole((part(),)))]))
    assert len(body.operations) == len(alone.operations)


def test_numbers_that_are_equal_by_symmetry_are_one_symbol() -> None:
    book = Book(part())
    assert book.opened.matrix[0, 1].expr.is_valid_input()
    assert book.symbols.shape[0] == 4  # 0.3, 4, 0.5, 3
    assert book.opened.matrix[0, 2] == 0.0
    assert isinstance(book.opened.matrix[0, 2], float)


@pytest.mark.parametrize(
    "other",
    [
        part(0.0),
        part(name="two"),
        part(table={"k": 2.0}),
        part(off=0.0),
        replace(part(), matrix=np.array([[1.0, 0.3, 0.0], [0.31, 4.0, 0.5], [0.0, 0.5, 3.0]])),
        replace(part(), matrix=part().matrix + np.diag([0.1, 0.0, 0.0])),
        replace(part(), matrix=np.eye(4)),
        replace(part(), mass=cast(float, "heavy")),
    ],
    ids=str,
)
def test_what_leads_to_other_operations_is_told(other: Part) -> None:
    book = Book(part())
    seen = book.opened
    assert [seen.mass, seen.matrix[0, 1], seen.name, seen.table][2] == "one"
    assert book.close().numbers(other) is None


def test_what_was_not_read_does_not_matter() -> None:
    book = Book(part())
    assert book.opened.mass.value == 2.5
    assert book.close().numbers(part(7.0, 0.0, name="two")) == pytest.approx([7.0])


def test_others_may_have_numbers_of_python_or_of_numpy() -> None:
    """Sums of arrays are NumPy's, numbers of designs that were built together Python's."""
    for one, other in ((np.float64(2.5), 7.0), (2.5, np.float64(7.0))):
        book = Book(part(one), [part(other)])
        assert book.opened.mass.value == 2.5
        assert book.close().numbers(part(other)) == pytest.approx([7.0])


def test_others_make_symbols_of_what_is_0_or_equal_in_one_alone() -> None:
    book = Book(part(0.0, 4.0), [part(2.0, 0.3)])
    seen = book.opened
    assert isinstance(seen.mass, Number)
    assert seen.matrix[0, 1].expr.element_hash() != seen.matrix[1, 1].expr.element_hash()
    numbers = book.close().numbers(part(0.0, 1.0))
    assert numbers is not None
    assert numbers == pytest.approx([0.0, 1.0, 4.0, 0.5, 3.0])


def test_a_decision_by_a_value_holds_for_values_that_decide_alike() -> None:
    book = Book(part(2.5))
    assert book.opened.mass > 1.5
    closed = book.close()
    assert closed.numbers(part(1.6)) is not None
    assert closed.numbers(part(1.4)) is None


def test_none_becomes_a_plain_number_unnoticed() -> None:
    mass = Book(part()).opened.mass
    with pytest.raises(TypeError, match="kept as a symbol"):
        float(mass)
    with pytest.raises(TypeError, match="kept as a symbol"):
        np.zeros(3)[0] = mass
    with pytest.raises(TypeError):
        hash(mass)


def test_arithmetic_is_that_of_numbers() -> None:
    seen = Book(part(2.5)).opened.mass
    values = {
        "sum": (seen + 1, 3.5),
        "difference": (1 - seen, -1.5),
        "product": (np.float64(2.0) * seen, 5.0),
        "quotient": (5 / seen, 2.0),
        "power": (seen**2, 6.25),
        "minus": (-seen, -2.5),
        "size": (abs(-seen), 2.5),
        "root": (np.sqrt(np.array([seen], dtype=object))[0], 2.5**0.5),
    }
    for what, (found, expected) in values.items():
        assert found.value == pytest.approx(expected), what
        symbols = ca.symvar(found.expr)
        function = ca.Function("f", symbols, [found.expr])
        assert float(function(2.5)) == pytest.approx(expected), what
    assert seen - seen == 0.0
    assert book_of(seen) is None


def test_machine_code_of_a_part_without_constants() -> None:
    book = Book(part())
    function = ca.Function(
        "f", [X, book.symbols], [ca.cos(X)], ["x", "numbers"], ["y"], {"allow_free": False}
    )
    prologue, body = split(lower(function), "numbers")
    (constants,) = compile_stream(prologue, level="quick").call(np.zeros(0))
    found = compile_stream(body, level="quick").call(POINT, constants)[0]
    alone = ca.Function("f", [X], [ca.cos(X)], ["x"], ["y"])
    expected = compile_function(alone, level="quick").call(POINT)[0]
    np.testing.assert_array_equal(found, expected)


def test_what_rounding_decides_does_not_shut_an_object_out_of_its_own_book() -> None:
    # y is taken for x, so what is computed again is not quite what was compared.
    def bodies(x: float, y: float, z: float) -> Any:
        return {"links": [{"x": x, "y": y, "z": z}]}

    value = bodies(0.7, 0.7 * (1 + 1e-12), 0.3)
    book = Book(value)
    seen = book.opened["links"][0]
    assert not (seen["y"] * seen["z"] + seen["z"] <= seen["x"] * seen["z"] + seen["z"])
    assert not (seen["x"] <= seen["z"])
    closed = book.close()
    assert closed.numbers(value) is not None
    assert closed.numbers(bodies(0.4, 0.4, 0.3)) is not None
    assert closed.numbers(bodies(0.2, 0.2, 0.3)) is None
