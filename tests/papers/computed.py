"""Items of the papers, each computed once for all the tests that look at it."""

from functools import cache

from flexarm_papers import choose_items
from flexarm_papers.base import Found
from flexarm_papers.readings import Scope
from flexarm_papers.statements import Check, Statement


@cache
def compute(paper: str, name: str) -> Found:
    """Compute an item of a paper for the sample of readings."""
    (item,) = choose_items(paper, [name])
    return item.compute(Scope())


def statement(found: Found, words: str) -> Statement:
    """Pick the statement with some words."""
    (one,) = [each for each in found.statements if words in each.says]
    return one


def check(found: Found, words: str) -> Check:
    """Pick our own check with some words."""
    (one,) = [each for each in found.checks if words in each.says]
    return one
