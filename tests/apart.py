"""Work in a process of its own, so that a crash, endless work or too much memory is an outcome."""

import os
import resource
import traceback
from collections.abc import Callable


def outcome_apart(work: Callable[[], str], *, cpu: int, memory: int) -> str:
    """Return the outcome of work within limits of CPU time [s] and memory [bytes].

    Of work that raises an error it is the traceback, of a process that died the signal.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu))
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        try:
            said = work()
        except BaseException:
            said = traceback.format_exc()
        os.write(writer, said.encode()[-2000:])
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        said = pipe.read().decode()
    _, status = os.waitpid(child, 0)
    return said or f"ended by signal {status}"
