"""Are runs on a GPU those of the processor? Random arms by each method that GPUs have.

``python benchmarks/gpu_agreement.py 0 100`` on a machine with an NVIDIA GPU takes arms 0 to 99 and
prints a line per arm: for each method how far the two runs are apart, over the tolerance, in the
measures that tolerances are of.  Both may err by it: up to 2 is within the promise.  With ``hard``
after the numbers, servos hold the arms hard, by etd4.  Needs the tests beside it.
"""

import sys
import time
import traceback
from pathlib import Path

import numpy as np

import flexarm
from flexarm.arm import Arm
from flexarm.errors import FlexarmError
from flexarm.integrate.methods import METHODS

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.integrate.promise import HARD, errors, motion
from tests.physics.random_arms import random_arm

T_END, RTOL, RUNS = 0.2, 1e-4, 3
ON_GPU = [name for name, method in METHODS.items() if method.on_gpu]


def apart(arm: Arm, method: str) -> float:
    """Give the largest difference of a run on a GPU from the same on the processor, over RTOL."""
    options = {"t_end": T_END, "dt": T_END / 4, "method": method, "rtol": [RTOL] * RUNS}
    here = flexarm.simulate_many(arm, allow_long=True, **options)  # type: ignore[arg-type]
    there = flexarm.simulate_many(arm, device="gpu", allow_long=True, **options)  # type: ignore[arg-type]
    pairs = list(zip(there, here, strict=True))
    if any(a.status != b.status or len(a.t) != len(b.t) for a, b in pairs):
        return np.inf
    return max(max(errors(a, b).values()) for a, b in pairs) / RTOL


def words(number: int, method: str, *, hard: bool) -> str:
    """Say how far apart the runs of an arm are, or why there are none."""
    try:
        arm = motion(HARD + number).arm if hard else random_arm(number).arm
        return f"{apart(arm, method):.2g}"
    except FlexarmError as error:
        return f"refused ({str(error)[:60]})"
    except Exception:
        traceback.print_exc()
        return "CRASHED"


def main() -> None:
    """Compare."""
    first, last = map(int, sys.argv[1:3])
    hard = sys.argv[3:] == ["hard"]
    methods = ["etd4"] if hard else ON_GPU
    began = time.perf_counter()
    for number in range(first, last):
        told = ", ".join(f"{method} {words(number, method, hard=hard)}" for method in methods)
        print(f"{number}: {told}; {time.perf_counter() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main()
