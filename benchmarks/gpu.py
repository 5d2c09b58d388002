"""Runs and steps per second by whole calls on a GPU, beside one core of the processor.

Prints the table of docs/gpu.md; needs a machine with an NVIDIA GPU.
"""

import argparse
import time
from typing import Any, Literal

import numpy as np

import flexarm
from flexarm.engine.gpu.cuda import gpu

STEPS = 20_000  # in a step of a batch
SHARE = 1000  # of the runs are computed on one core
ARMS: dict[str, tuple[float, float, str, int]] = {
    # sample: duration [s], interval of samples [s], method, runs
    "korayem-two-link": (2.0, 0.1, "dop853", 1_000_000),
    "deluca-siciliano": (2.0, 0.1, "dop853", 1_000_000),
    "chen-two-link": (1.0, 0.05, "etd4", 200_000),
    "count-6-6-3": (0.2, 0.01, "etd4", 100_000),
}
Device = Literal["cpu", "gpu"]


def runs_per_second(arm: flexarm.Arm, name: str, keep: Any, device: Device) -> float:
    """Return the rate of a whole call of `simulate_many`, after a small one that compiles."""
    t_end, dt, method, count = ARMS[name]
    # A motor turns with its joint: their spring is relaxed.
    first = [x for x in flexarm.build(arm).names if x in ("joint1", "joint1.motor")]

    def call(some: int) -> float:
        angles = np.linspace(0.0, 0.3, some)
        began = time.perf_counter()
        flexarm.simulate_many(
            arm, t_end=t_end, dt=dt, method=method, starts=dict.fromkeys(first, angles), keep=keep,
            device=device, workers=1, allow_long=True,
        )  # fmt: skip
        return some / (time.perf_counter() - began)

    call(64)
    return call(count if device == "gpu" else count // SHARE)


def steps_per_second(arm: flexarm.Arm, arms_at_once: int, device: Device) -> float:
    """Return the rate of Runge-Kutta steps of a batch of arms."""
    arm = flexarm.change_arm(arm, {"events": []})
    short = flexarm.batch(arm, 1, dt=1e-3)
    arms = flexarm.batch(arm, arms_at_once, dt=STEPS * short.dt / short.substeps, device=device)
    u = np.zeros(len(arms.input_names))
    arms.advance(u)
    began = time.perf_counter()
    arms.advance(u)
    return arms_at_once * arms.substeps / (time.perf_counter() - began)


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--arms", nargs="*", default=list(ARMS))
    options = parser.parse_args()
    print(f"{gpu().name}\n")
    columns = "last states", "21 samples", "core", "steps", "core"
    print(f"| arm | {' | '.join(columns)} |")
    print("|---" * (1 + len(columns)) + "|")
    for name in options.arms:
        for stiffening, links in ((False, "linear"), (True, "exact")):
            arm = flexarm.change_arm(flexarm.example_arm(name), {"stiffening": stiffening})
            rates = (
                runs_per_second(arm, name, "last", "gpu"),
                runs_per_second(arm, name, "samples", "gpu"),
                runs_per_second(arm, name, "last", "cpu"),
                steps_per_second(arm, 65_536, "gpu"),
                steps_per_second(arm, 4, "cpu"),
            )
            shown = " | ".join(f"{rate:.2g}" for rate in rates)
            print(f"| {name}, {links} | {shown} |", flush=True)


if __name__ == "__main__":
    main()
