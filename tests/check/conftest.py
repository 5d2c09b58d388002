"""What tests of `check` share."""

import pytest


@pytest.fixture(autouse=True)
def _without_costs(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the cost of a run, which takes most of the time, but where it is the subject."""
    if request.module.__name__.rpartition(".")[2] != "test_cost":
        monkeypatch.setattr("flexarm.check.check.costs", lambda model, linear: ())
