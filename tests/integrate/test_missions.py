"""Random missions: balances close, formulations agree, every ending has time, cause and advice."""

import pytest

from tests.integrate.missions import judge

SAMPLE = (8,)
CAMPAIGN = 500


@pytest.mark.parametrize("number", SAMPLE)
def test_a_random_mission(number: int) -> None:
    assert not judge(number).fault


@pytest.mark.campaign
@pytest.mark.parametrize("number", range(CAMPAIGN))
def test_random_missions(number: int) -> None:
    assert not judge(number).fault
