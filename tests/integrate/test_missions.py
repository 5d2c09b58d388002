"""Random missions: balances close, momenta stay, formulations agree, endings are told in words."""

import pytest

from tests.integrate.missions import judge

SAMPLE = (33,)  # on a free base under gravity, with a capture
CAMPAIGN = 500


@pytest.mark.parametrize("number", SAMPLE)
def test_a_random_mission(number: int) -> None:
    assert not judge(number).fault


@pytest.mark.campaign
@pytest.mark.parametrize("number", range(CAMPAIGN))
def test_random_missions(number: int) -> None:
    assert not judge(number).fault
