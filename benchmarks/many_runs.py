"""Many runs by whole calls of `simulate_many`: runs per second, time of Python, and memory.

Prints a table with a row per target (the processor and, if there is one, the first NVIDIA GPU).
``python benchmarks/many_runs.py --sample chen-two-link --count 100000 --keep last --target gpu``
measures one call, after a small one that compiles. Some runs are compared with `simulate`.
"""

import argparse
import resource
import time
from typing import Any, Literal

import numpy as np

import flexarm
from flexarm.engine.gpu.cuda import gpu
from flexarm.errors import DeviceError
from flexarm.integrate.batch.runs import Runs
from flexarm.integrate.constants import PORTION_RUNS

CHECKED = 3  # runs that are compared with `simulate`
CLOSER = 1e-8  # tolerance of these
HEADER = (
    "| target | runs | keep | call, s | runs/s | kernel, s | us of Python a run | MB | peak MB "
    "| finished | error |"
)


def targets() -> list[Literal["cpu", "gpu"]]:
    """List what there is."""
    try:
        gpu()
    except DeviceError:
        return ["cpu"]
    return ["cpu", "gpu"]


def starts(arm: flexarm.Arm, count: int) -> dict[str, Any]:
    """Turn the first joint, with its motor, whose spring is relaxed then."""
    names = [name for name in flexarm.build(arm).names if name in ("joint1", "joint1.motor")]
    return {name: np.linspace(0.0, 0.3, count) for name in names}


def error(arm: flexarm.Arm, runs: Runs, given: dict[str, Any], options: Any) -> float:
    """Compare final coordinates of some runs with closer ones; relative to their motion."""
    worst = 0.0
    for k in np.linspace(0, len(runs) - 1, CHECKED).astype(int).tolist():
        at = {place(name): float(values[k]) for name, values in given.items()}
        alone = flexarm.simulate(
            flexarm.change_arm(arm, at), t_end=options.t_end, dt=options.t_end, rtol=CLOSER,
            allow_long=True,
        )  # fmt: skip
        if runs.results.samples.shape[2] >= 2 * alone.q.shape[1]:
            found, wanted = runs.q[k, -1], alone.q[-1]
        else:
            found, wanted = runs.curve("tip x")[k, -1], alone.tip[-1, 0]
        motion = np.abs(alone.q[-1] - alone.q[0]).max()
        worst = max(worst, float(np.abs(found - wanted).max() / motion))
    return worst


def place(name: str) -> str:
    """Name the key of the model file for an initial coordinate."""
    return f"links.1.joint.start.{'motor_position' if name.endswith('motor') else 'position'}"


def measured(arm: flexarm.Arm, target: Literal["cpu", "gpu"], options: Any) -> str:
    """Measure a call, and give a row of the table."""
    keep = options.keep if options.keep in ("samples", "last") else options.keep.split(",")

    def call(count: int) -> tuple[Runs, float, dict[str, Any]]:
        given = starts(arm, count)
        began = time.perf_counter()
        runs = flexarm.simulate_many(
            arm, t_end=options.t_end, dt=options.dt, method=options.method, starts=given,
            keep=keep, device=target, workers=options.workers, allow_long=True,
        )  # fmt: skip
        return runs, time.perf_counter() - began, given

    call(64)  # compiled
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    runs, whole, given = call(options.count)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    solver = float(np.sum(runs.results.seconds, dtype=float))
    threads = 1 if target == "gpu" else options.workers
    python = (whole - solver / threads) / options.count
    size = Runs.memory(runs.variations, keep, PORTION_RUNS[target]) / 1e6
    return (
        f"| {target} | {options.count} | {options.keep} | {whole:.3g} | "
        f"{options.count / whole:.3g} | {solver / threads:.3g} | {1e6 * python:.3g} | {size:.3g} | "
        f"{peak / 1e3:.3g} | {int(runs.finished.sum())} | {error(arm, runs, given, options):.1e} |"
    )


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", default="korayem-two-link")
    parser.add_argument("--exact", action="store_true", help="exact links in place of linear ones")
    parser.add_argument("--count", type=int, default=20_000, help="runs")
    parser.add_argument("--t-end", type=float, default=2.0, help="duration of a run [s]")
    parser.add_argument("--dt", type=float, default=0.1, help="interval of samples [s]")
    parser.add_argument("--method", default="dop853")
    parser.add_argument("--keep", default="samples", help="samples, last, or NAME,NAME,...")
    parser.add_argument("--target", choices=["cpu", "gpu"], help="all that there are if not given")
    parser.add_argument("--workers", type=int, default=1, help="threads of the processor")
    options = parser.parse_args()
    arm = flexarm.change_arm(flexarm.example_arm(options.sample), {"stiffening": options.exact})
    print(f"{options.sample}, {options.method}, {options.t_end:g} s\n\n{HEADER}")
    print("|---" * (HEADER.count("|") - 1) + "|")
    for target in [options.target] if options.target else targets():
        print(measured(arm, target, options), flush=True)


if __name__ == "__main__":
    main()
