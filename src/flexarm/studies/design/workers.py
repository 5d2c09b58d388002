"""Computation of a study's chunks in this process, in several processes, or on Dask."""

import os
import pickle
import queue
import subprocess
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from functools import lru_cache
from typing import IO

from flexarm.errors import FlexarmError
from flexarm.studies.constants import CHUNK_ATTEMPTS
from flexarm.studies.design.evaluate import Evaluator
from flexarm.studies.design.read import Study
from flexarm.studies.design.table import to_bytes

Made = tuple[int, bytes]


@lru_cache(maxsize=2)
def _evaluator(packed: bytes) -> Evaluator:
    return Evaluator(pickle.loads(packed))


def compute(packed: bytes, number: int, kind: str) -> bytes:
    """Compute a chunk of a pickled study and return the chunk's encoded result file."""
    return to_bytes(_evaluator(packed).chunk(number), kind)


def compute_here(evaluator: Evaluator, numbers: Iterable[int], kind: str) -> Iterator[Made]:
    """Compute chunks in this process; yield each chunk number with its encoded result file."""
    for number in numbers:
        yield number, to_bytes(evaluator.chunk(number), kind)


def pack(study: Study) -> bytes | None:
    """Return the pickled study, or None if other processes could not import its functions."""
    functions = [quantity.function for quantity in study.plan.quantities.values()]
    if any(getattr(quantity, "__module__", "") == "__main__" for quantity in functions):
        return None
    try:
        pickle.dumps(functions)
    except Exception:  # nested functions and foreign objects raise any error
        return None
    return pickle.dumps(study)


def compute_in_processes(
    packed: bytes, numbers: Iterable[int], kind: str, workers: int
) -> Iterator[Made]:
    """Compute chunks in worker processes; yield each number with its encoded result file.

    A chunk whose worker process dies is computed again, up to three times.
    """
    lines = [_Line(packed, kind) for _ in range(workers)]
    idle: queue.SimpleQueue[_Line] = queue.SimpleQueue()
    for line in lines:
        idle.put(line)

    def made(number: int) -> Made:
        line = idle.get()
        try:
            return number, line.compute(number)
        finally:
            idle.put(line)

    with ThreadPoolExecutor(workers) as pool:
        try:
            for future in as_completed([pool.submit(made, number) for number in numbers]):
                yield future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            for line in lines:
                line.stopped = True
                line.end()


class _Line:
    """A handle of one worker process that computes a study's chunks one at a time."""

    def __init__(self, packed: bytes, kind: str) -> None:
        self._task = packed, kind
        self._process: subprocess.Popen[bytes] | None = None
        self.stopped = False  # whether no new process may start

    def compute(self, number: int) -> bytes:
        """Return the encoded result file of a chunk, restarting the worker process if it died."""
        for _ in range(CHUNK_ATTEMPTS):
            with suppress(OSError, EOFError, pickle.UnpicklingError):
                process = self._process or self._begin()
                assert process.stdin is not None
                assert process.stdout is not None
                _send(process.stdin, number)
                result = pickle.load(process.stdout)
                if isinstance(result, BaseException):
                    raise result
                return bytes(result)
            self.end()
            if self.stopped:
                raise KeyboardInterrupt
        raise FlexarmError(
            f"chunk {number}: the process that computes it died {CHUNK_ATTEMPTS} times, perhaps "
            "for lack of memory. Take fewer workers, or smaller chunks."
        )

    def _begin(self) -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-m", "flexarm.studies.design.workers"]
        paths = os.pathsep.join(path for path in sys.path if path)
        pipe, environment = subprocess.PIPE, {**os.environ, "PYTHONPATH": paths}
        begun = subprocess.Popen(command, stdin=pipe, stdout=pipe, env=environment)
        self._process = begun
        assert begun.stdin is not None
        _send(begun.stdin, self._task)
        return begun

    def end(self) -> None:
        """Kill the worker process if it is running."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()


def _send(to: IO[bytes], message: object) -> None:
    pickle.dump(message, to)
    to.flush()


def _serve() -> None:
    """Compute chunks on request from standard input until the parent process closes the pipe."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # output of users' functions goes to stderr
    with suppress(EOFError, KeyboardInterrupt, BrokenPipeError):
        packed, kind = pickle.load(sys.stdin.buffer)
        while True:
            number = pickle.load(sys.stdin.buffer)
            try:
                result: object = compute(packed, number, kind)
            except Exception as error:
                result = error if isinstance(error, FlexarmError) else FlexarmError(repr(error))
            _send(answers, result)


def compute_on_dask(
    packed: bytes, numbers: Iterable[int], kind: str, address: str, workers: int | None
) -> Iterator[Made]:
    """Compute chunks on a Dask cluster, given by its scheduler's address or ``local``.

    Raises
    ------
    FlexarmError
        If Dask is not installed, or there is no such scheduler.
    """
    try:
        from distributed import Client, LocalCluster, as_completed
    except ImportError:
        raise FlexarmError(
            "the package dask is not installed. Run pip install 'flexarm[dask]'."
        ) from None
    local = address == "local"
    cluster = LocalCluster(n_workers=workers, threads_per_worker=1) if local else None
    try:
        client = Client(cluster or address, timeout=10, set_as_default=False)
    except (OSError, ValueError) as error:
        raise FlexarmError(f"dask: there is no scheduler at '{address}': {error}") from None
    with client:
        study = client.scatter(packed, broadcast=True, hash=False)
        chunks = {
            client.submit(compute, study, number, kind, pure=False, retries=CHUNK_ATTEMPTS): number
            for number in numbers
        }
        for future in as_completed(chunks, loop=client.loop):
            yield chunks.pop(future), future.result()
    if cluster is not None:
        cluster.close()


if __name__ == "__main__":
    _serve()
