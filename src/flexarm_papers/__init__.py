"""The five papers: their examples, tables and figures, computed beside what they print."""

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from flexarm.errors import FlexarmError, LongRun

if TYPE_CHECKING:
    from flexarm_papers.base import Found, Item, Result
    from flexarm_papers.readings import Scope

PAPERS = {
    "korayem-2009": "flexarm_papers.korayem.items",
    "graves-1989": "flexarm_papers.graves.items",
    "theodore-1995": "flexarm_papers.theodore.items",
    "chu": "flexarm_papers.chu.items",
    "chen-2012": "flexarm_papers.chen.items",
}
# What items were called before, by paper and name.
FORMER = {("chen-2012", "fig-2b"): ("axial-stiffness",)}
SLOWEST_FIRST = ("theodore-1995", "chen-2012", "chu", "korayem-2009", "graves-1989")


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
    """List the items of one paper or of all, or those of the given names; old ones are known.

    Raises
    ------
    FlexarmError
        If there is no such paper or item.
    """
    items = [item for each in ([paper] if paper else PAPERS) for item in paper_items(each)]
    if names is None:
        return items
    called = [{item.name, *FORMER.get((item.paper, item.name), ())} for item in items]
    for name in names:
        if not any(name in own for own in called):
            known = [item.name for item in items]
            where = f"'{paper}'" if paper else "any paper"
            raise FlexarmError(f"no item '{name}' in {where}: there are {', '.join(known)}")
    return [item for item, own in zip(items, called, strict=True) if not own.isdisjoint(names)]


def reproduce(
    items: "Sequence[Item]",
    *,
    full: bool = False,
    readings: Mapping[str, str] | None = None,
    progress: Callable[[str], None] | None = None,
    workers: int = 1,
) -> "list[Result]":
    """Compute items, those of one paper one after the other.

    Parameters
    ----------
    items
        What to compute.
    full
        Whether to try all combinations of readings, which takes hours, and not a sample of them.
    readings
        How something that a paper leaves open is to be read, such as ``{"damping of the links":
        "1 %"}``; the rest is varied.
    progress
        Called with the name of each item before it is computed, or of each paper once it is.
    workers
        Processes; with more than one, a script that calls this must guard its main part.

    Raises
    ------
    FlexarmError
        If there is no such reading in any item.
    KeyboardInterrupt
        If it was stopped: half a motion decides nothing.
    """
    from concurrent.futures import ProcessPoolExecutor, as_completed
    from multiprocessing import active_children, get_context

    from flexarm_papers.base import Result

    scope = _scope(items, full, readings or {})
    names = dict.fromkeys(item.paper for item in items)
    papers = {paper: [item for item in items if item.paper == paper] for paper in names}
    if workers == 1 or len(papers) == 1:
        return [
            _compute(item, scope, f"{k} of {len(items)}", progress)
            for k, item in enumerate(items, 1)
        ]
    found: dict[tuple[str, str], Result] = {}
    others = active_children()
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        waiting = {
            pool.submit(_compute_paper, paper, scope, [item.name for item in papers[paper]]): paper
            for paper in sorted(papers, key=SLOWEST_FIRST.index)
        }
        try:
            for k, done in enumerate(as_completed(waiting), 1):
                computed = zip(papers[waiting[done]], done.result(), strict=True)
                for item, (each, seconds) in computed:
                    found[item.paper, item.name] = Result(item, each, seconds)
                if progress is not None:
                    progress(f"{k} of {len(papers)} papers: {waiting[done]} done")
        except BaseException:  # Ctrl-C, or a paper that failed: end at once
            pool.shutdown(wait=False, cancel_futures=True)
            for process in set(active_children()) - set(others):
                process.terminate()
                process.join()
            raise
    return [found[item.paper, item.name] for item in items]


def _scope(items: "Sequence[Item]", full: bool, taken: Mapping[str, str]) -> "Scope":
    """Check the readings that are asked for."""
    from flexarm_papers.readings import Scope

    choices = [each for item in items for each in item.grid.choices]
    for name, way in taken.items():
        ways = {label for each in choices if each.name == name for label in each.ways}
        if not ways:
            known = "; ".join(dict.fromkeys(each.name for each in choices)) or "nothing"
            raise FlexarmError(f"nothing called '{name}' is open in these items: {known} is")
        if way not in ways:
            raise FlexarmError(f"no reading '{way}' of '{name}': there are {'; '.join(ways)}")
    return Scope(full, tuple(taken.items()))


def _compute(
    item: "Item", scope: "Scope", where: str, progress: Callable[[str], None] | None
) -> "Result":
    from flexarm_papers.base import Result

    if progress is not None:
        progress(f"{where}: {item.paper} {item.name}")
    begun = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LongRun)  # what takes long here is known to end
        found = item.compute(scope)
    return Result(item, found, time.perf_counter() - begun)


def _compute_paper(paper: str, scope: "Scope", names: list[str]) -> "list[tuple[Found, float]]":
    results = [_compute(item, scope, "", None) for item in choose_items(paper, names)]
    return [(result.found, result.seconds) for result in results]
