"""The numbers of a model: which arms share equations, and what equations take as it is."""

from dataclasses import replace

import numpy as np
import pytest

import flexarm
from flexarm.formulations.equation import Equation
from flexarm.formulations.numbers import BoundKernel
from flexarm.io.model_file import change_arm
from flexarm.model import build
from flexarm.model.numbers import common_pattern, numbers_of

SAMPLE = "korayem-two-link"


def equation(**changes: object) -> Equation:
    """Make the equation of the sample with changes, dots as two underscores."""
    keys = {key.replace("__", "."): value for key, value in changes.items()}
    return flexarm.formulation("articulated", build(change_arm(flexarm.example_arm(SAMPLE), keys)))


def structure(given: Equation, name: str = "mass_matrix") -> object:
    """Return the structure of a function."""
    found = given.compiled(name)
    assert isinstance(found, BoundKernel)
    return found.structure


def test_arms_that_differ_in_numbers_share_equations() -> None:
    same = [
        equation(links__1__length=length, payload__mass=mass)
        for length, mass in ((1.07, 0.7), (1.13, 0.31))
    ]
    assert structure(same[0]) is structure(same[1])
    q = np.linspace(0.1, 0.4, same[0].model.size)
    for each in same:
        plain = np.array(each.function("mass_matrix")(q))
        np.testing.assert_allclose(each.mass_matrix(q), plain, rtol=1e-13)


def test_numbers_that_become_0_make_another_structure() -> None:
    assert structure(equation(payload__mass=0.31)) is not structure(equation(payload__mass=0))


def test_what_equations_take_as_it_is_is_part_of_their_structure() -> None:
    """Shapes along a link, where a wrench acts between its ends."""
    wrench = [{"at": 0.4, "force": [0, 3, 1]}]
    pushed = [equation(links__1__wrenches=wrench, links__1__length=x) for x in (1.07, 1.13)]
    first, second = (structure(each, "inverse_dynamics") for each in pushed)
    assert first is not second
    assert ("links", 0, "body", "shapes") in first.read  # type: ignore[attr-defined]
    q = np.linspace(0.1, 0.2, pushed[0].model.size)
    for each in pushed:
        found = each.inverse_dynamics(q, q, q)
        plain = each.function("inverse_dynamics")(q, q, q, np.ones(1))
        np.testing.assert_allclose(found, np.ravel(plain), rtol=1e-12, atol=1e-14)


def test_a_pattern_is_of_models_that_differ_in_numbers_alone() -> None:
    one, other = (equation(payload__mass=mass).model for mass in (0.31, 0.0))
    assert common_pattern([one, other]) is not None
    assert common_pattern([one, replace(one, names=("x", *one.names[1:]))]) is None


@pytest.mark.parametrize("key", ["links.1.length", "links.1.section.EIz", "payload.mass"])
def test_numbers_of_a_model_keep_their_pattern(key: str) -> None:
    arm = flexarm.example_arm("chen-two-link")
    models = [build(change_arm(arm, {key: value})) for value in (1.07, 1.13, 1.21)]
    assert len({numbers_of(model).pattern.key for model in models}) == 1


def test_which_field_a_number_stands_in_is_part_of_the_structure() -> None:
    """One servo with a limit of its effort, the other of its speed."""
    servo = {"stiffness": 8.0, "damping": 2.0}
    ends = [{**servo, "effort": 0.3}, {**servo, "speed": 0.3}]
    models = [equation(links__1__joint__servo=each).model for each in ends]
    assert numbers_of(models[0]).values.tolist() == numbers_of(models[1]).values.tolist()
    assert numbers_of(models[0]).rest != numbers_of(models[1]).rest
