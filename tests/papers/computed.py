"""Items of the papers, each computed once for all the tests that use it."""

from functools import cache

from flexarm_papers import choose_items
from flexarm_papers.base import Found
from flexarm_papers.verdicts import Statement


@cache
def compute(paper: str, name: str) -> Found:
    """Compute an item of a paper."""
    (item,) = choose_items(paper, [name])
    return item.compute()


def statement(found: Found, words: str) -> Statement:
    """Return the statement with some words."""
    (one,) = [each for each in found.statements if words in each.says]
    return one


def number(found: Found, words: str) -> float:
    """Return the only number of the statement with some words."""
    (trial,) = statement(found, words).trials
    return trial.value


def cases(found: Found, words: str) -> dict[str, float]:
    """Return the numbers of a general claim by case, or of readings by all that is read."""
    trials = statement(found, words).trials
    return {", ".join(way for _, way in each.reading.taken): each.value for each in trials}
