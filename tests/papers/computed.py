"""Items of the papers, each computed once for all the tests that look at it."""

from functools import cache

from flexarm.papers import choose_items
from flexarm.papers.base import Found


@cache
def compute(paper: str, name: str) -> Found:
    """Compute an item of a paper."""
    (item,) = choose_items(paper, [name])
    return item.compute()
