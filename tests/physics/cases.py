"""Formulations as test cases: those that everything rests on always, others in campaigns.

Formulations that refuse some arms, or give no joint wrenches, have tests of their own.
"""

import pytest

CORE = ("articulated", "composite")
UNRESTRICTED = ("gibbs-appell", "kinematic-influence")
FORMULATION_CASES = [
    *CORE,
    *(pytest.param(name, marks=pytest.mark.campaign) for name in UNRESTRICTED),
]
