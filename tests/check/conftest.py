"""What tests of `check` share."""

import pytest


@pytest.fixture(autouse=True)
def _costs_are_left_out(request: pytest.FixtureRequest) -> None:
    """Leave out the cost of a run, but where it is the subject."""
    if request.module.__name__.rpartition(".")[2] != "test_cost":
        request.getfixturevalue("without_costs")
