"""Are runs on a GPU those of the processor? Random arms, each thrown, by each method.

``python benchmarks/gpu_agreement.py 0 100 --minutes 9`` on a machine with an NVIDIA GPU takes arms
0 to 99, or as many as it gets to in that time, prints those whose runs differ by more than their
tolerance, and a line that sums up and says where to go on.  Needs the tests beside it.
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np

import flexarm
from flexarm.engine.gpu.cuda import gpu
from flexarm.errors import FlexarmError
from flexarm.integrate.methods import METHODS
from flexarm.runs.run import Run

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.physics.random_arms import random_arm

T_END, RTOL, RUNS = 0.2, 1e-4, 3


def difference(one: Run, other: Run) -> float:
    """Give the largest difference of a coordinate or rate over its range, or what is of others."""
    if one.status != other.status or len(one.t) != len(other.t):
        return np.inf
    apart = 0.0
    for here, there in ((one.q, other.q), (one.v, other.v)):
        scale = np.maximum(np.abs(there).max(axis=0), 1e-3 * np.abs(there).max() + 1e-300)
        apart = max(apart, float((np.abs(here - there) / scale).max()))
    return apart


def compared(number: int, name: str) -> float | None:
    """Run an arm by a method on both; give how far they are apart, None if one refuses it."""
    options = {"t_end": T_END, "dt": T_END / 4, "method": name, "rtol": [RTOL] * RUNS}
    try:
        arm = random_arm(number).arm
        here = flexarm.simulate_many(arm, allow_long=True, **options)  # type: ignore[arg-type]
        there = flexarm.simulate_many(arm, device="gpu", allow_long=True, **options)  # type: ignore[arg-type]
    except FlexarmError as error:
        print(f"{number} {name}: refused: {str(error)[:100]}", flush=True)
        return None
    apart = max(difference(*pair) for pair in zip(there, here, strict=True))
    if not apart <= RTOL:
        said = f"{there[0].status} {there[0].reason[:50]} / {here[0].status}"
        print(f"{number} {name}: {apart:.2g} {said}", flush=True)
    return apart


def main() -> None:
    """Compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("first", type=int)
    parser.add_argument("last", type=int)
    parser.add_argument("--minutes", type=float, default=np.inf, help="after which to stop")
    options = parser.parse_args()
    able = [key for key, method in METHODS.items() if method.on_gpu]
    gpu().enter()  # says so where there is none
    began, number = time.perf_counter(), options.first
    found: dict[str, list[float | None]] = {name: [] for name in able}
    while number < options.last and time.perf_counter() - began < 60 * options.minutes:
        for name in able:
            found[name].append(compared(number, name))
        number += 1
    apart = {name: [each for each in row if each is not None] for name, row in found.items()}
    count = sum(map(len, apart.values()))
    refused = len(able) * (number - options.first) - count
    beyond = sum(not each <= RTOL for row in apart.values() for each in row)
    worst = ", ".join(f"{name} {max(row, default=0.0):.2g}" for name, row in apart.items())
    print(
        f"arms {options.first} to {number - 1} of {options.last - 1}: {count} compared, {refused} "
        f"refused, {beyond} beyond {RTOL:g}; worst {worst}; {time.perf_counter() - began:.0f} s; "
        f"go on with {number}"
    )


if __name__ == "__main__":
    main()
