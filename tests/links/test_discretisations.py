"""The registry: one discretisation for each kind that a model file can name."""

from typing import get_args

import pytest

from flexarm.arm.shapes import ShapeChoice
from flexarm.errors import ShapeError
from flexarm.links import DISCRETISATIONS, discretisation


def test_every_choice_of_a_model_file_has_its_discretisation() -> None:
    union, _ = get_args(ShapeChoice)
    kinds = {get_args(choice.model_fields["kind"].annotation)[0] for choice in get_args(union)}
    assert set(DISCRETISATIONS) == kinds


@pytest.mark.parametrize("kind", DISCRETISATIONS)
def test_every_discretisation_states_its_facts(kind: str) -> None:
    found = discretisation(kind)
    assert found.name == kind
    assert found.summary
    assert found.citation


def test_unknown_kind_is_refused_with_those_there_are() -> None:
    with pytest.raises(ShapeError, match=r"no discretisation 'modal'; there are loaded, "):
        discretisation("modal")
