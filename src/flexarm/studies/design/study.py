"""Parametric studies: many designs of an arm, computed in parallel and stored in chunks."""

import os
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from flexarm.arguments import refused, require_count, require_function, require_path
from flexarm.errors import FlexarmError
from flexarm.studies.design.evaluate import Evaluator
from flexarm.studies.design.read import Study, read_study
from flexarm.studies.design.result import StudyResult
from flexarm.studies.design.table import Progress, StudyTable
from flexarm.studies.design.workers import (
    Made,
    compute_here,
    compute_in_processes,
    compute_on_dask,
    pack,
)
from flexarm.threads import one_blas_thread


@one_blas_thread
def study(
    plan: str | Path | Mapping[str, Any] | Study,
    *,
    out: str | Path,
    workers: int | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> StudyResult:
    """Compute quantities of many designs of an arm and store the results in a folder.

    Parameters
    ----------
    plan
        A study file, or a mapping of its contents: ``arm``, ``parameters``, ``sampling``, ``run``,
        ``quantities`` and where to compute the study; or the result of `read_study`.
    out
        Folder of the results. If the folder contains this study unfinished, the study is continued;
        other files are not changed.
    workers
        Number of processes; if None, the number in the plan, or one per core.
    progress
        Function that is called with a `Progress` whenever a chunk is stored.

    Returns
    -------
    StudyResult
        Results of all designs, read from the folder on access.

    Raises
    ------
    ModelError
        If the plan is not valid.
    FlexarmError
        If the folder contains other data or cannot be written to. A design that cannot be computed
        raises no error; the row of the design states the reason.
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
    chunks = table.done
    missing = sorted(set(range(table.chunks)) - set(chunks))
    stored = sum(map(table.size, chunks))
    began, fresh = time.perf_counter(), 0
    results = _made(read, missing, str(table.about["kind"]), workers)
    table.begin()
    for number, data in results:
        table.write(number, data)
        fresh += table.size(number)
        if progress is not None:
            seconds = max(time.perf_counter() - began, 1e-9)
            progress(Progress.of(stored + fresh, table.count, fresh, seconds))
    return StudyResult(table)


def load_study(folder: str | Path) -> StudyResult:
    """Return the results in a folder, of a finished study or of a study in progress.

    Parameters
    ----------
    folder
        Folder of the results.

    Raises
    ------
    FlexarmError
        If the folder contains no study.
    """
    return StudyResult(StudyTable.open(require_path("folder", folder)))


def _made(read: Study, missing: list[int], kind: str, workers: int | None) -> Iterator[Made]:
    """Return an iterator that computes result files and yields them with their chunk numbers.

    Mistakes in the plan raise an error before the first chunk is computed.
    """
    if not missing:
        return iter(())
    plan = read.plan
    packed = pack(read)
    if plan.dask is not None:
        if packed is None:
            raise FlexarmError(
                "quantities: the workers of a cluster cannot find this function. Put it into a "
                "module, and name it MODULE:NAME."
            )
        return compute_on_dask(packed, missing, kind, plan.dask, workers or plan.workers)
    count = min(workers or plan.workers or os.cpu_count() or 1, len(missing))
    if plan.device == "gpu" or count == 1 or packed is None:
        evaluator = Evaluator(read)
        evaluator.require_device()
        return compute_here(evaluator, missing, kind)
    return compute_in_processes(packed, missing, kind, count)
