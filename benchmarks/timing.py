"""Time functions that take microseconds: in compiled loops, in turns, without their callers."""

import ctypes
import functools
import os
import platform
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import llvmlite.binding as llvm

from flexarm.engine.compile import host

Repeat = Callable[[int], None]


def machine() -> dict[str, str | int]:
    """Describe the machine and the versions that a measurement depends on."""
    packages = {name: version(name) for name in ("flexarm", "casadi", "llvmlite", "numpy")}
    return {
        "processor": _processor(),
        "target": host().cpu,
        "cores": os.cpu_count() or 1,
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        **packages,
    }


def _processor() -> str:
    path = Path("/proc/cpuinfo")
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def repeat_address(address: int, pointers: Sequence[int]) -> Repeat:
    """Return a function that calls compiled code so many times, in a loop that is compiled too.

    Parameters
    ----------
    address
        Of a C function that takes the pointers and returns nothing.
    pointers
        Its arguments, which must outlive what is returned.
    """
    loop = _loop(len(pointers))
    return lambda times: loop(times, address, *pointers)


@functools.cache
def _loop(count: int) -> Callable[..., None]:
    arguments = ", ".join(f"ptr %a{k}" for k in range(count))
    code = f"""
define void @repeat(i64 %times, ptr %function, {arguments}) {{
start:
  br label %body
body:
  %k = phi i64 [0, %start], [%next, %body]
  call void %function({arguments})
  %next = add i64 %k, 1
  %more = icmp slt i64 %next, %times
  br i1 %more, label %body, label %end
end:
  ret void
}}"""
    host()  # makes LLVM ready for this machine
    machine = llvm.Target.from_default_triple().create_target_machine(opt=2)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(code), machine)
    engine.finalize_object()
    kinds = [ctypes.c_int64, *[ctypes.c_void_p] * (count + 1)]
    function = ctypes.CFUNCTYPE(None, *kinds)(engine.get_function_address("repeat"))

    def call(*arguments: int, _engine: llvm.ExecutionEngine = engine) -> None:
        function(*arguments)  # the default keeps the machine code alive

    return call


def measure(
    contenders: Sequence["Contender"], *, rounds: int, seconds: float
) -> dict["Contender", "Times"]:
    """Time contenders in turns, so that a slow moment of the machine hits all of them.

    Parameters
    ----------
    contenders
        What to time.
    rounds
        Number of measurements of each.
    seconds
        Duration of one measurement [s].
    """
    often = {contender: _calibrate(contender.run, seconds) for contender in contenders}
    found: dict[Contender, list[float]] = {contender: [] for contender in contenders}
    for _ in range(rounds):
        for contender, values in found.items():
            times = often[contender]
            spent = _clock(contender.run, times)
            if contender.empty is not None:
                # At once, so that both meet the machine at the same speed.
                spent -= _clock(contender.empty, times)
            values.append(1e6 * spent / (times * contender.batch))
    return {contender: Times(tuple(values)) for contender, values in found.items()}


def _clock(run: Repeat, times: int) -> float:
    # CPU time of this thread: what other processes take does not count.
    begun = time.thread_time()
    run(times)
    return time.thread_time() - begun


def _calibrate(run: Repeat, seconds: float) -> int:
    run(1)
    times = 1
    while (spent := _clock(run, times)) < seconds / 4:
        times *= 4
    return max(1, round(times * seconds / spent))


@dataclass(frozen=True)
class Contender:
    """Something to be timed.

    Attributes
    ----------
    name, links
        What it is and on how many links.
    run
        Makes so many calls.
    empty
        Makes as many calls that do nothing, if what they cost is to be taken off.
    batch
        Number of evaluations in a call.
    operations
        Arithmetic operations of an evaluation, if they are known.
    """

    name: str
    links: int
    run: Repeat
    empty: Repeat | None = None
    batch: int = 1
    operations: int = 0


@dataclass(frozen=True)
class Times:
    """Measured times of one evaluation [microseconds]."""

    values: tuple[float, ...]

    @property
    def median(self) -> float:
        """Return the median."""
        return statistics.median(self.values)

    @property
    def quartiles(self) -> tuple[float, float]:
        """Return the values between which the middle half lies."""
        if len(self.values) < 2:
            return self.values[0], self.values[0]
        low, _, high = statistics.quantiles(self.values, n=4)
        return low, high

    def __str__(self) -> str:
        """Write the median and the middle half."""
        low, high = self.quartiles
        return f"{self.median:.3g} ({low:.3g}-{high:.3g})"

    def to_json(self) -> dict[str, float]:
        """Return what is kept of a measurement."""
        low, high = self.quartiles
        return {
            "median": self.median,
            "lower_quartile": low,
            "upper_quartile": high,
            "rounds": len(self.values),
        }
