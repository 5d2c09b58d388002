"""Formulations as test cases: those that everything rests on always, the others in campaigns."""

import pytest

from flexarm.formulations import FORMULATIONS

CORE = ("articulated", "composite")
FORMULATION_CASES = [
    name if name in CORE else pytest.param(name, marks=pytest.mark.campaign)
    for name in FORMULATIONS
]
