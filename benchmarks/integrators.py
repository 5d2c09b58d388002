"""Which integrator costs least, and does `auto` find it?

Eleven motions from soft and undamped to stiff and damped, each by all four methods at the same
tolerance: CPU time of the solver and the error that came out, of the deflections' range, against a
run of dop853 at 1e-9.  `--quick` takes two of the motions.
"""

import argparse
import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

import flexarm
from flexarm.arm import Arm
from flexarm.integrate.choose import METHODS, choose
from flexarm.integrate.run import Run
from flexarm.integrate.simulate import prepare
from flexarm.io.model_file import loads
from report import table, write
from timing import machine

REPEATS = 3


def main() -> None:
    """Measure, print, and write where that was asked for."""
    parser = argparse.ArgumentParser(description="Compare integrators on eleven motions.")
    parser.add_argument("--quick", action="store_true", help="two motions")
    parser.add_argument("--rtol", type=float, default=1e-3, help="tolerance (default 1e-3)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the numbers as JSON")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the page")
    args = parser.parse_args()

    motions = {k: v for k, v in cases().items() if not args.quick or k in ("fall 2", "hub 2")}
    found = [measure(name, *motion, args.rtol) for name, motion in motions.items()]
    text = page(found, args.rtol)
    print(text)
    if args.out:
        write(args.out, json.dumps([asdict(each) for each in found], indent=1))
    if args.markdown:
        write(args.markdown, text)


@dataclass(frozen=True)
class Found:
    """Times [s] and errors over the tolerance by method, what auto took and how long it thought."""

    name: str
    coordinates: int
    span: tuple[float, float]
    seconds: dict[str, float]
    errors: dict[str, float]
    chosen: str
    thought: float

    @property
    def ratio(self) -> float:
        """What auto takes over the best method that met the tolerance."""
        met = [self.seconds[name] for name in self.seconds if self.errors[name] <= 1]
        return (self.seconds[self.chosen] + self.thought) / min(met)


def measure(name: str, arm: Arm, t_end: float, rtol: float) -> Found:
    """Run a motion by all methods."""
    reference = flexarm.simulate(arm, t_end=t_end, dt=0.05, method="dop853", rtol=1e-9)
    task = prepare(reference.model, reference.t)
    choose(task, rtol, audit=False)
    begun = time.process_time()
    chosen, _ = choose(task, rtol, audit=False)
    thought = time.process_time() - begun
    seconds, errors = {}, {}
    for method in METHODS:
        runs = [
            flexarm.simulate(arm, t_end=t_end, dt=0.05, method=method, rtol=rtol)
            for _ in range(REPEATS)
        ]
        seconds[method] = min(run.statistics.cpu_seconds for run in runs)
        errors[method] = error(runs[0], reference) / rtol
    span = (task.vibration.slowest / (2 * np.pi), task.vibration.fastest / (2 * np.pi))
    return Found(name, task.equation.model.size, span, seconds, errors, chosen.name, thought)


def error(run: Run, reference: Run) -> float:
    """Give the largest error of the tips' deflections over their range."""
    if len(run.t) != len(reference.t):
        return float("inf")
    task = prepare(run.model, run.t)
    rows = task.measures.rows[np.array(task.measures.deflects)[task.measures.group]].T
    span = np.ptp(reference.q @ rows, axis=0).max()
    return float(np.abs((run.q - reference.q) @ rows).max() / span)


def page(found: list[Found], rtol: float) -> str:
    """Write the page."""
    head = ["motion", "n", "modes [Hz]", *METHODS, "auto takes", "over the best"]
    rows = [
        [
            each.name, str(each.coordinates), f"{each.span[0]:.3g} to {each.span[1]:.3g}",
            *(f"{1e3 * each.seconds[m]:.3g} ms ({each.errors[m]:.2g})" for m in METHODS),
            each.chosen, f"{each.ratio:.2f}",
        ]
        for each in found
    ]  # fmt: skip
    ratios = [each.ratio for each in found]
    about = ", ".join(f"{key} {value}" for key, value in machine().items())
    return (
        f"# Integrators\n\nMade by `python benchmarks/integrators.py` ({about}).\n\n"
        f"CPU time of the solver at a tolerance of {rtol:g}; in brackets the error that came out "
        "over the tolerance. Ratios count `auto`'s own thinking.\n\n"
        f"{table(head, rows)}\n\n"
        f"`auto` over the best that met the tolerance: median {np.median(ratios):.2f}, "
        f"largest {max(ratios):.2f}.\n"
    )


def cases() -> dict[str, tuple[Arm, float]]:
    """List the motions: arm and duration [s]."""
    steps = [f"{{kind: bang-bang, amplitude: {size}, times: [0, 1, 2]}}" for size in (20, 5)]
    waves = [f"{{kind: sine, amplitude: {size}, frequency: 0.5}}" for size in (20, 5)]
    found = {f"fall {m}": (two_links(1e3, m), 2.0) for m in (2, 4, 6)}
    found |= {f"hub {m}": (hub(m), 3.0) for m in (2, 6)}
    found["six links"] = (flexarm.sample("count-6-6-3"), 1.0)
    found |= {f"slow {m}": (two_links(1e5, m, inputs=waves, damping=0.01), 2.0) for m in (2, 6)}
    found["stepped"] = (two_links(1e5, 2, inputs=steps, damping=0.01), 3.0)
    found["fall, stretch"] = (two_links(1e3, 2, stretch=True), 2.0)
    found["fall, stretch, damped"] = (two_links(1e3, 4, stretch=True, damping=0.01), 2.0)
    return found


def two_links(
    stiffness: float,
    modes: int,
    *,
    inputs: list[str] | None = None,
    damping: float = 0.0,
    stretch: bool = False,
) -> Arm:
    """Make a planar arm of two links, each 1 m long and of 5 kg; driven ones without gravity."""
    section = f"mass_per_length: 5, EIz: {stiffness}{', EA: 1.2e8' if stretch else ''}"
    lines = [f"flexarm: 1\nname: two links\ngravity: [0, {0 if inputs else -9.81}, 0]\nlinks:"]
    for given in inputs or ["", ""]:
        lines.append(
            f"  - joint: {{kind: revolute{', input: ' + given if given else ''}}}\n    length: 1\n"
            f"    section: {{{section}}}\n"
            f"    damping: {damping}\n"
            f"    shapes: {{kind: loaded, bending_y: {modes}{', stretch: 1' if stretch else ''}}}"
        )
    return loads("\n".join(lines))


def hub(modes: int) -> Arm:
    """Make a link on a hub, driven forth and back."""
    return loads(
        "flexarm: 1\nname: hub\ngravity: [0, 0, 0]\nlinks:\n"
        "  - joint: {kind: revolute, hub: {outboard: {mass: 0.1, inertia: [0, 0, 0.01]}},\n"
        "      input: {kind: bang-bang, amplitude: 0.2, times: [0, 1, 2]}}\n"
        "    length: 1\n    section: {mass_per_length: 0.2, EIz: 1}\n"
        f"    shapes: {{kind: clamped-free, bending_y: {modes}}}\npayload: {{mass: 0.1}}\n"
    )


if __name__ == "__main__":
    main()
