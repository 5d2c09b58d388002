"""Are runs on a GPU those of the processor? Random arms, each thrown, by each method.

``python benchmarks/gpu_agreement.py 0 100`` on a machine with an NVIDIA GPU takes arms 0 to 99 and
prints those whose runs differ by more than their tolerance.  Needs the tests beside it.
"""

import sys
import time
from pathlib import Path

import numpy as np

import flexarm
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


def main() -> None:
    """Compare."""
    first, last = map(int, sys.argv[1:3])
    began = time.perf_counter()
    worst, count, refused = dict.fromkeys(METHODS, 0.0), 0, 0
    for number in range(first, last):
        for name in [key for key, method in METHODS.items() if method.on_gpu]:
            options = {"t_end": T_END, "dt": T_END / 4, "method": name, "rtol": [RTOL] * RUNS}
            try:
                arm = random_arm(number).arm
                here = flexarm.simulate_many(arm, allow_long=True, **options)  # type: ignore[arg-type]
                there = flexarm.simulate_many(arm, device="gpu", allow_long=True, **options)  # type: ignore[arg-type]
            except FlexarmError as error:
                refused += 1
                print(f"{number} {name}: {str(error)[:100]}", flush=True)
                continue
            apart = max(difference(*pair) for pair in zip(there, here, strict=True))
            worst[name] = max(worst[name], apart)
            count += 1
            if not apart <= RTOL:
                said = f"{there[0].status} {there[0].reason[:50]} / {here[0].status}"
                print(f"{number} {name}: {apart:.2g} {said}", flush=True)
    spent = time.perf_counter() - began
    print(f"{count} compared, {refused} refused, worst {worst}, {spent:.0f} s")


if __name__ == "__main__":
    main()
