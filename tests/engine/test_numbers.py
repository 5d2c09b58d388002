"""Numbers as symbols: which of them are constants, which are equal, and arithmetic on them."""

import casadi as ca
import numpy as np
import pytest

from flexarm.engine.numbers import Number, Pattern

VALUES = np.array([[2.5], [1.0], [0.3], [0.0], [-0.3], [4.0], [0.3], [np.inf], [-1.0 - 1e-16]])
GROUPS = np.array([0, 0, 0, 0, 0, 0, 1, 1, 1])


def number() -> Number:
    """Make a number of a value of 2.5."""
    return Number(ca.SX.sym("n"))


def test_numbers_that_are_equal_or_opposite_are_one_symbol_of_a_group() -> None:
    pattern = Pattern.of(VALUES, GROUPS)
    assert pattern.symbol.tolist() == [0, -1, 1, -1, 1, 2, 3, -1, -1]
    assert pattern.sign.tolist() == [1, 1, 1, 1, -1, 1, 1, 1, 1]
    found = pattern.opened(ca.SX.sym("n", 4))
    assert [each for each in found if isinstance(each, float)] == [1.0, 0.0, np.inf, -1.0]
    assert found[2] == -found[4]
    values, fits = pattern.values(VALUES)
    assert values.ravel().tolist() == [2.5, 0.3, 4.0, 0.3]
    assert fits.tolist() == [True]


@pytest.mark.parametrize(
    ("place", "value", "fits"),
    [
        (0, 7.0, True),
        (0, 0.0, False),  # no symbol is 0
        (1, 1.5, False),  # 1 is a constant
        (1, 1 + 1e-16, True),
        (3, 1e-30, False),
        (4, 0.31, False),  # opposite no more
        (4, -0.3 * (1 + 1e-12), True),
        (0, 4.0, True),  # numbers may become equal
        (7, 1.0, False),
    ],
)
def test_other_numbers_fit_if_they_lead_to_the_same_operations(
    place: int, value: float, fits: bool
) -> None:
    other = VALUES.copy()
    other[place] = value
    both = np.concatenate([VALUES, other], axis=1)
    found, answers = Pattern.of(VALUES, GROUPS).values(both)
    assert answers.tolist() == [True, fits]
    assert found.shape == (4, 2)


def test_a_pattern_of_several_objects_holds_for_all_of_them() -> None:
    other = np.array([[0.0], [1.0], [0.3], [2.0], [-0.3], [5.0], [0.4], [np.inf], [-1.0]])
    pattern = Pattern.of(np.concatenate([VALUES, other], axis=1), GROUPS)
    assert pattern.symbol.tolist() == [0, -1, 1, 2, 1, 3, 4, -1, -1]
    assert pattern.zero.tolist() == [True, False, False, True, *[False] * 5]
    for each in (VALUES, other):
        assert pattern.values(each)[1].tolist() == [True]
    assert pattern.key != Pattern.of(VALUES, GROUPS).key


def test_values_do_not_tell_patterns_apart() -> None:
    assert Pattern.of(VALUES, GROUPS).key == Pattern.of(np.where(
        np.isin(np.abs(VALUES), (0.0, 1.0, np.inf)) | (VALUES < -1), VALUES, 1.1 * VALUES), GROUPS
    ).key  # fmt: skip


def test_none_becomes_a_plain_number_or_is_compared_unnoticed() -> None:
    with pytest.raises(TypeError, match="a symbolic number"):
        float(number())
    with pytest.raises(TypeError, match="a symbolic number"):
        np.zeros(3)[0] = number()
    with pytest.raises(TypeError):
        hash(number())
    with pytest.raises(TypeError):
        assert number() > 1.0


def test_arithmetic_is_that_of_numbers() -> None:
    seen = number()
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
        function = ca.Function("f", [seen.expr], [found.expr])
        assert float(function(2.5)) == pytest.approx(expected), what
    assert seen - seen == 0.0
    assert isinstance(seen * ca.SX.sym("x"), ca.SX)
