"""The five papers: their examples, tables and figures, computed beside what they print."""

import time
import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from flexarm.errors import FlexarmError, LongRun

if TYPE_CHECKING:
    from flexarm_papers.base import Found, Item, Result

PAPERS = {
    "korayem-2009": "flexarm_papers.korayem.items",
    "graves-1989": "flexarm_papers.graves.items",
    "theodore-1995": "flexarm_papers.theodore.items",
    "chu": "flexarm_papers.chu.items",
    "chen-2012": "flexarm_papers.chen.items",
}


def paper_items(paper: str) -> "tuple[Item, ...]":
    """Return the items of a paper.

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
    """Return the items of one paper or of all, or those with some names.

    Raises
    ------
    FlexarmError
        If there is no such paper or item.
    """
    items = [item for each in ([paper] if paper else PAPERS) for item in paper_items(each)]
    for name in names or ():
        if not any(name == item.name for item in items):
            known = ", ".join(item.name for item in items)
            where = f"'{paper}'" if paper else "any paper"
            raise FlexarmError(f"no item '{name}' in {where}: there are {known}")
    return [item for item in items if names is None or item.name in names]


def reproduce(
    items: "Sequence[Item]",
    *,
    progress: Callable[[str], None] | None = None,
    workers: int = 1,
) -> "list[Result]":
    """Compute items of papers.

    Parameters
    ----------
    items
        Items, as `choose_items` returns them.
    progress
        Called with the name of each item before it is computed, or of each group after it.
    workers
        Processes; with more than one, a script that calls this must guard its main part.

    Raises
    ------
    KeyboardInterrupt
        If the computation was stopped: part of a motion decides nothing.
    """
    from concurrent.futures import ProcessPoolExecutor, as_completed
    from multiprocessing import active_children, get_context

    from flexarm_papers.base import Result

    groups: dict[tuple[str, str], list[Item]] = {}
    for item in items:
        groups.setdefault((item.paper, item.group), []).append(item)
    if workers == 1 or len(groups) == 1:
        return [_compute(item, f"{k} of {len(items)}", progress) for k, item in enumerate(items, 1)]
    found: dict[tuple[str, str], Result] = {}
    others = active_children()
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        waiting = {
            pool.submit(_compute_group, paper, [item.name for item in own]): own
            for (paper, _), own in groups.items()
        }
        try:
            for done in as_completed(waiting):
                for item, (each, seconds) in zip(waiting[done], done.result(), strict=True):
                    found[item.paper, item.name] = Result(item, each, seconds)
                    if progress is not None:
                        progress(f"{len(found)} of {len(items)}: {item.paper} {item.name} done")
        except BaseException:  # Ctrl-C, or an item that failed: end at once
            pool.shutdown(wait=False, cancel_futures=True)
            for process in set(active_children()) - set(others):
                process.terminate()
                process.join()
            raise
    return [found[item.paper, item.name] for item in items]


def _compute(item: "Item", where: str, progress: Callable[[str], None] | None) -> "Result":
    from flexarm_papers.base import Result

    if progress is not None:
        progress(f"{where}: {item.paper} {item.name}")
    begun = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LongRun)  # long runs of the items are known to end
        found = item.compute()
    return Result(item, found, time.perf_counter() - begun)


def _compute_group(paper: str, names: list[str]) -> "list[tuple[Found, float]]":
    results = [_compute(item, "", None) for item in choose_items(paper, names)]
    return [(result.found, result.seconds) for result in results]
