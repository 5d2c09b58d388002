"""Describe, check and simulate a two-link arm, show it, and let it run: what `make demo` does."""

import argparse
import sys
import time
from pathlib import Path

import numpy as np
from rich.progress import Progress

import flexarm
from flexarm.check.check import check
from flexarm.engine.lower import lower
from flexarm.engine.stream import counts
from flexarm.mechanics.deformed import tip_deflection

SAMPLE = "chen-two-link"
DURATION = 2.0  # [s]


def main(argv: list[str] | None = None) -> None:
    """Run the demo and tell where the figure is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/demo.png"))
    args = parser.parse_args(argv)
    args.out.parent.mkdir(parents=True, exist_ok=True)

    arm = flexarm.example_arm(SAMPLE)
    print(f"{arm.name} (flexarm arms {SAMPLE} prints its model file)")
    report = check(arm)
    print(f"  {report.mass:.6g} kg, {len(report.coordinates)} coordinates, ", end="")
    modes = report.modes_free or ()
    print(f"modes from {modes[0].frequency.hz:.4g} to {modes[-1].frequency.hz:.4g} Hz")

    model = flexarm.build(arm)
    equation = flexarm.formulation("articulated", model)
    cost = counts(lower(equation.function("forward_dynamics")))
    print(
        f"  equations of motion: {cost.multiplications} multiplications, "
        f"{cost.additions} additions, {cost.divisions} divisions"
    )

    begun = time.process_time()
    with Progress(transient=True, disable=not sys.stderr.isatty()) as progress:
        task = progress.add_task("simulating", total=DURATION)
        run = flexarm.simulate(
            arm, t_end=DURATION, progress=lambda t: progress.update(task, completed=t)
        )
    spent = time.process_time() - begun
    print(f"  {DURATION:g} s simulated by {run.method} in {spent:.1f} s of CPU, compiling included")
    for part in run.model.links:
        largest = 1e3 * np.abs(tip_deflection(run.model, part, run.q)).max()
        print(f"  {part.name}: tip deflects by up to {largest:.1f} mm")
    print(f"  energy balance closed to {run.energy_balance:.0e} of the energy exchanged")
    run.plot(args.out)
    print(f"  figure: {args.out}")
    page = args.out.with_suffix(".html")
    run.to_html(page, force=True)
    print(f"  open this page to see it move: {page.resolve().as_uri()}")
    running = page.with_name(f"{page.stem}-live.html")
    flexarm.live(arm, running, force=True)
    print(f"  and this one to pull it: {running.resolve().as_uri()}")


if __name__ == "__main__":
    main()
