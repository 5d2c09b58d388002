"""Runs and steps per second on a GPU, beside one core of the processor.

Prints runs and steps per second as in docs/gpu.md; needs a machine with an NVIDIA GPU.
"""

import argparse
import time
from typing import Literal

import numpy as np

import flexarm
from flexarm.engine.gpu.cuda import gpu

STEPS = 20_000  # in a step of a batch
LARGE, TIMES = 16, 4  # coordinates of arms that need so many times as many runs to fill a GPU
ARMS = {  # sample: duration [s] and tolerance of an adaptive run, method
    "korayem-two-link": (2.0, "dop853"),
    "deluca-siciliano": (2.0, "dop853"),
    "chen-two-link": (1.0, "etd4"),
    "count-6-6-3": (0.2, "etd4"),
}


def measured(name: str, *, stiffening: bool, count: int) -> str:
    """Measure a sample, and give a row of the table."""
    t_end, method = ARMS[name]
    arm = flexarm.change_arm(flexarm.example_arm(name), {"stiffening": stiffening})
    names = flexarm.build(arm).names
    count *= TIMES if len(names) >= LARGE else 1
    # A motor turns with its joint: their spring is relaxed.
    first = [name for name in names if name in ("joint1", "joint1.motor")]
    angles = np.linspace(0.0, 0.3, count)

    def run(device: Literal["cpu", "gpu"], some: int) -> tuple[float, float]:
        runs = flexarm.simulate_many(
            arm, t_end=t_end, method=method, starts=dict.fromkeys(first, angles[:some]),
            keep="last", device=device, workers=1, allow_long=True,
        )  # fmt: skip
        taken = {name: float(np.sum(x, dtype=float)) for name, x in runs.statistics.items()}
        solver = taken["cpu_seconds"]
        return some / solver, (taken["steps"] + taken["rejections"]) / solver

    run("gpu", 64)  # compiled
    there, steps = run("gpu", count)
    here, _ = run("cpu", 16)
    links = "exact" if stiffening else "linear"
    return f"| {name}, {links} | {method}, {t_end:g} s | {there:.2g} | {steps:.2g} | {here:.2g} |"


def stepped(name: str, *, stiffening: bool, count: int) -> str:
    """Measure Runge-Kutta steps of a batch, and give a row of the table."""
    arm = flexarm.change_arm(flexarm.example_arm(name), {"stiffening": stiffening, "events": []})
    short = flexarm.batch(arm, 1, dt=1e-3)
    dt = STEPS * short.dt / short.substeps

    def run(device: Literal["cpu", "gpu"], some: int) -> float:
        arms = flexarm.batch(arm, some, dt=dt, device=device)
        u = np.zeros(len(arms.input_names))
        arms.advance(u)
        began = time.perf_counter()
        arms.advance(u)
        return some * arms.substeps / (time.perf_counter() - began)

    links = "exact" if stiffening else "linear"
    return f"| {name}, {links} | {run('gpu', count):.2g} | {run('cpu', 4):.2g} |"


def main() -> None:
    """Write the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=16384, help="runs of a small arm")
    parser.add_argument("--arms", nargs="*", default=list(ARMS))
    parser.add_argument("--steps-only", action="store_true", help="leave whole runs out")
    options = parser.parse_args()
    print(f"{gpu().name}, {options.count} runs, {TIMES} times as many of large arms\n")
    print("| arm, links | run | runs/s | steps/s | runs/s of one core |")
    print("|---|---|---|---|---|")
    for name in [] if options.steps_only else options.arms:
        for stiffening in (False, True):
            print(measured(name, stiffening=stiffening, count=options.count), flush=True)
    print("\n| batch of arms, links | Runge-Kutta steps/s | of one core |\n|---|---|---|")
    for name in options.arms:
        for stiffening in (False, True):
            print(stepped(name, stiffening=stiffening, count=TIMES * options.count), flush=True)


if __name__ == "__main__":
    main()
