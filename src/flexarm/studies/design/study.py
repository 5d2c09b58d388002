"""Studies: many designs of an arm, computed wherever there is room, kept as they come."""

import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flexarm.arguments import refused, require_count, require_function, require_path
from flexarm.errors import FlexarmError
from flexarm.studies.design.evaluate import Evaluator
from flexarm.studies.design.read import Study, read_study
from flexarm.studies.design.result import StudyResult
from flexarm.studies.design.table import StudyTable
from flexarm.studies.design.workers import (
    Made,
    compute_here,
    compute_in_processes,
    compute_on_dask,
    pack,
)


@dataclass(frozen=True)
class Progress:
    """How far a study is.

    Attributes
    ----------
    done, total
        Designs.
    rate
        Designs per second, since this call began; 0 before the first.
    remaining
        Time that the rest takes at that rate [s]; infinite before the first.
    """

    done: int
    total: int
    rate: float
    remaining: float


def study(
    plan: str | Path | Mapping[str, Any] | Study,
    *,
    out: str | Path,
    workers: int | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> StudyResult:
    """Compute many designs of an arm, and keep what is wanted of each in a folder.

    Parameters
    ----------
    plan
        A study file, or a mapping of its contents: ``arm``, ``parameters``, ``sampling``, ``run``,
        ``quantities`` and where it is computed; or what `read_study` made of one.
    out
        The folder of the results.  A study that is there is gone on with; nothing else is touched.
    workers
        Processes, in place of the plan's; one per core if neither says.
    progress
        Called with a `Progress` whenever a chunk is kept.

    Returns
    -------
    StudyResult
        All rows; they are read from the folder when they are asked for.

    Raises
    ------
    ModelError
        If the plan is not valid.
    FlexarmError
        If the folder holds something else, or cannot be written to.  A design that cannot be
        computed is a row with the reason.
    """
    folder = require_path("out", out)
    if workers is not None:
        require_count("workers", workers, 1)
    require_function("progress", progress, "of a Progress")
    if not isinstance(plan, str | os.PathLike | Mapping | Study):
        raise refused("plan", plan, "a study file, or a mapping of its contents")
    read = read_study(plan)
    table = StudyTable.of(folder, read)
    read = read.as_begun(int(table.about["chunk"]), table.about["parts"])
    done = table.done
    missing = sorted(set(range(table.chunks)) - set(done))
    kept = sum(map(table.size, done))
    began, fresh = time.perf_counter(), 0
    made = _made(read, missing, str(table.about["kind"]), workers)
    table.begin()
    for number, data in made:
        table.write(number, data)
        fresh += table.size(number)
        if progress is not None:
            rate = fresh / max(time.perf_counter() - began, 1e-9)
            rest = table.count - kept - fresh
            progress(Progress(kept + fresh, table.count, rate, rest / rate))
    return StudyResult(table)


def _made(read: Study, missing: list[int], kind: str, workers: int | None) -> Iterator[Made]:
    """Compute chunks where the plan says, or refuse to before the first."""
    if not missing:
        return iter(())
    plan = read.plan
    packed = pack(read)
    if plan.dask is not None:
        if packed is None:
            raise FlexarmError(
                "quantities: a cluster does not find this function: put it into a module, and name "
                "it MODULE:NAME"
            )
        return compute_on_dask(packed, missing, kind, plan.dask, workers or plan.workers)
    count = min(workers or plan.workers or os.cpu_count() or 1, len(missing))
    if plan.device == "gpu" or count == 1 or packed is None:
        evaluator = Evaluator(read)
        evaluator.require_device()
        return compute_here(evaluator, missing, kind)
    return compute_in_processes(packed, missing, kind, count)
