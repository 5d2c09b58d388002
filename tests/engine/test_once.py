"""What functions of one arm have in common is traced once, and nothing else is taken for it."""

from functools import partial

import casadi as ca
import numpy as np

import flexarm
from flexarm.engine.constants import EXPRESSION_OWNERS
from flexarm.engine.once import once
from flexarm.formulations import formulation
from flexarm.formulations.base import Formulation
from flexarm.model import build


class Owner:
    """Something that is traced."""


def test_equal_symbols_get_what_was_traced_and_others_do_not() -> None:
    owner, x, y = Owner(), ca.SX.sym("x", 2), ca.SX.sym("x", 2)
    first = once(owner, "sum", (x,), lambda: ca.sum1(x))
    again = once(owner, "sum", (ca.vertcat(x[0], x[1]),), lambda: ca.SX(0))
    assert again is first
    for other, what, symbols in (
        (Owner(), "sum", (x,)),
        (owner, "product", (x,)),
        (owner, "sum", (y,)),
        (owner, "sum", (x.T,)),
        (owner, "sum", (x, y)),
    ):
        assert once(other, what, symbols, lambda: "new") == "new"


def test_numbers_and_all_but_the_last_owners_are_forgotten() -> None:
    owners, x = [Owner() for _ in range(EXPRESSION_OWNERS + 1)], ca.SX.sym("x")
    for k, owner in enumerate(owners):
        once(owner, "k", (x,), partial(int, k))
    assert [once(owner, "k", (x,), lambda: -1) for owner in owners[1:]] == [1, 2, 3, 4]
    assert once(owners[0], "k", (x,), lambda: -1) == -1
    assert once(owners[0], "n", (np.zeros(2),), lambda: 1) == 1
    assert once(owners[0], "n", (np.zeros(2),), lambda: 2) == 2


def test_a_formulation_made_of_another_does_not_get_its_mass_matrix() -> None:
    model = build(flexarm.example_arm("driven-link"))
    sound = formulation("kinematic-influence", model).formulation

    class Heavy(type(sound)):  # type: ignore[misc]
        """Twice as heavy."""

        def mass_expression(self, q: ca.SX) -> ca.SX:
            return ca.SX(2 * super().mass_expression(q))

    q = ca.SX.sym("q", model.size)

    def mass(of: Formulation) -> float:
        kinetic = of.energy_expression(q, ca.SX(np.ones(model.size)))[0]
        return float(ca.Function("T", [q], [kinetic])(np.zeros(model.size)))

    assert [mass(sound), mass(Heavy(model)) / 2] == [mass(sound)] * 2
