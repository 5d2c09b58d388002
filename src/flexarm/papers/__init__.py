"""The five papers: their examples, tables and figures, computed beside what they print."""

import time
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from flexarm.errors import FlexarmError

if TYPE_CHECKING:
    from flexarm.papers.base import Item, Result

PAPERS = {
    "korayem-2009": "flexarm.papers.korayem",
    "graves-1989": "flexarm.papers.graves",
    "theodore-1995": "flexarm.papers.theodore",
    "chu": "flexarm.papers.chu",
    "chen-2012": "flexarm.papers.chen",
}


def paper_items(paper: str) -> "tuple[Item, ...]":
    """List the items of a paper.

    Raises
    ------
    FlexarmError
        If there is no such paper.
    """
    if paper not in PAPERS:
        raise FlexarmError(f"no paper '{paper}': there are {', '.join(PAPERS)}")
    items: tuple[Item, ...] = import_module(PAPERS[paper]).ITEMS
    return items


def choose_items(paper: str | None, names: Sequence[str] | None) -> "list[Item]":
    """List the items of one paper or of all, or those of the given names.

    Raises
    ------
    FlexarmError
        If there is no such paper or item.
    """
    items = [item for each in ([paper] if paper else PAPERS) for item in paper_items(each)]
    if names is None:
        return items
    known = [item.name for item in items]
    for name in names:
        if name not in known:
            where = f"'{paper}'" if paper else "any paper"
            raise FlexarmError(f"no item '{name}' in {where}: there are {', '.join(known)}")
    return [item for item in items if item.name in names]


def reproduce(
    items: "Sequence[Item]", *, progress: Callable[[str], None] | None = None
) -> "list[Result]":
    """Compute items one after the other.

    Parameters
    ----------
    items
        What to compute.
    progress
        Called with the name of each item before it is computed.
    """
    from flexarm.papers.base import Result

    results = []
    for k, item in enumerate(items, 1):
        if progress is not None:
            progress(f"{k} of {len(items)}: {item.paper} {item.name}")
        begun = time.perf_counter()
        found = item.compute()
        results.append(Result(item, found, time.perf_counter() - begun))
    return results
