"""Which integrator costs least, and does `auto` find it?

Motions from soft and undamped to stiff and damped, some under control laws, with strong dampers or
dry friction, each by all four methods at the same tolerance: CPU time of the solver and the error
that came out, of the deflections' range by link, against a run of dop853 at 1e-9.  `--quick` takes
two of the motions.
"""

import argparse
import json
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import casadi as ca
import numpy as np

import flexarm
from flexarm.arm import Arm
from flexarm.integrate.choice.choose import choose
from flexarm.integrate.methods import METHODS
from flexarm.integrate.task import prepare
from flexarm.io.model_file import loads
from flexarm.runs.run import Run
from flexarm.spatial import Array
from report import table, write
from timing import machine

REPEATS = 3


def main() -> None:
    """Measure, print, and write where that was asked for."""
    parser = argparse.ArgumentParser(description="Compare integrators on some motions.")
    parser.add_argument("--quick", action="store_true", help="two motions")
    parser.add_argument("--rtol", type=float, default=1e-3, help="tolerance (default 1e-3)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the numbers as JSON")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the page")
    args = parser.parse_args()

    motions = {k: v for k, v in cases().items() if not args.quick or k in ("fall 2", "hub 2")}
    found = [measure(name, motion, args.rtol) for name, motion in motions.items()]
    text = page(found, args.rtol)
    print(text)
    if args.out:
        write(args.out, json.dumps([asdict(each) for each in found], indent=1))
    if args.markdown:
        write(args.markdown, text)


@dataclass(frozen=True)
class Motion:
    """An arm, a duration [s], and the law that drives it, if any."""

    arm: Arm
    t_end: float
    law: ca.Function | flexarm.Sampled | None = None


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


def measure(name: str, motion: Motion, rtol: float) -> Found:
    """Run a motion by all methods; rk4 needs a step under a sampled law, and is left out there."""

    def run(method: str, rtol: float) -> Run:
        return flexarm.simulate(
            motion.arm, t_end=motion.t_end, dt=0.05, method=method, rtol=rtol, control=motion.law
        )

    reference = run("dop853", 1e-9)
    task = prepare(reference.model, reference.t, control=motion.law)
    sampled = isinstance(motion.law, flexarm.Sampled)
    period = motion.law.period if isinstance(motion.law, flexarm.Sampled) else None
    choose(task, rtol, audit=False, period=period)
    begun = time.process_time()
    chosen, _ = choose(task, rtol, audit=False, period=period)
    thought = time.process_time() - begun
    seconds, errors = {}, {}
    for method in METHODS:
        if sampled and method == "rk4":
            continue
        runs = [run(method, rtol)]
        if runs[0].statistics.cpu_seconds < 1:
            runs += [run(method, rtol) for _ in range(REPEATS - 1)]
        seconds[method] = min(run.statistics.cpu_seconds for run in runs)
        errors[method] = error(runs[0], reference) / rtol
    span = (task.vibration.slowest / (2 * np.pi), task.vibration.fastest / (2 * np.pi))
    return Found(name, task.equation.model.size, span, seconds, errors, chosen.name, thought)


def error(run: Run, reference: Run) -> float:
    """Give the largest error of a tip's deflections over their range, link by link."""
    if len(run.t) != len(reference.t):
        return float("inf")
    measures = prepare(run.model, run.t).measures
    values = reference.q @ measures.rows.T
    scale = measures.floor.copy()
    np.maximum.at(scale, measures.group, np.ptp(values, axis=0))
    apart = np.abs(run.q @ measures.rows.T - values).max(axis=0) / scale[measures.group]
    return float(apart[np.array(measures.deflects)[measures.group]].max())


def page(found: list[Found], rtol: float) -> str:
    """Write the page."""
    head = ["motion", "n", "modes [Hz]", *METHODS, "auto takes", "over the best"]
    rows = [
        [
            each.name, str(each.coordinates), f"{each.span[0]:.3g} to {each.span[1]:.3g}",
            *(cell(each, method) for method in METHODS),
            each.chosen, f"{each.ratio:.2f}",
        ]
        for each in found
    ]  # fmt: skip
    ratios = [each.ratio for each in found]
    bare = [replace(each, thought=0.0).ratio for each in found]
    about = ", ".join(f"{key} {value}" for key, value in machine().items())
    return (
        f"# Integrators\n\nMade by `python benchmarks/integrators.py` ({about}).\n\n"
        f"CPU time of the solver at a tolerance of {rtol:g}; in brackets the error that came out "
        "over the tolerance. Ratios count `auto`'s own thinking.\n\n"
        f"{table(head, rows)}\n\n"
        f"`auto` over the best that met the tolerance: median {np.median(ratios):.2f}, "
        f"largest {max(ratios):.2f}; without its thinking {np.median(bare):.2f} and "
        f"{max(bare):.2f}.\n"
    )


def cell(found: Found, method: str) -> str:
    """Write what a method took and how far it erred."""
    if method not in found.seconds:
        return "-"
    return f"{1e3 * found.seconds[method]:.3g} ms ({found.errors[method]:.2g})"


def cases() -> dict[str, Motion]:
    """List the motions."""
    steps = [f"{{kind: bang-bang, amplitude: {size}, times: [0, 1, 2]}}" for size in (20, 5)]
    waves = [f"{{kind: sine, amplitude: {size}, frequency: 0.5}}" for size in (20, 5)]
    found = {f"fall {m}": Motion(two_links(1e3, m), 2.0) for m in (2, 4, 6)}
    found |= {f"hub {m}": Motion(hub(m), 3.0) for m in (2, 6)}
    found["six links"] = Motion(flexarm.example_arm("count-6-6-3"), 1.0)
    slow = {m: two_links(1e5, m, inputs=waves, damping=0.01) for m in (2, 6)}
    found |= {f"slow {m}": Motion(arm, 2.0) for m, arm in slow.items()}
    found["stepped"] = Motion(two_links(1e5, 2, inputs=steps, damping=0.01), 3.0)
    found["fall, stretch"] = Motion(two_links(1e3, 2, stretch=True), 2.0)
    found["fall, stretch, damped"] = Motion(two_links(1e3, 4, stretch=True, damping=0.01), 2.0)
    return found | driven_cases()


def driven_cases() -> dict[str, Motion]:
    """List the motions in which stiffness sits outside the links, or a law cuts the steps."""
    arm, damped = two_links(1e3, 2), two_links(1e3, 4, damping=0.01)
    hold = 300.0, 30.0
    rubbing = {f"links.{k}.joint.friction": {"coulomb": 5.0 / k, "smoothing": 0.01} for k in (1, 2)}
    held = {f"links.{k}.joint.spring": {"stiffness": 100.0, "damping": 2000.0} for k in (1, 2)}
    return {
        "law": Motion(arm, 10.0, law(arm, *hold)),
        "law, damped": Motion(damped, 10.0, law(damped, *hold)),
        "law, high gain": Motion(damped, 0.5, law(damped, 1e5, 3e3)),
        "sampled law": Motion(arm, 10.0, sampled_law(30.0, 1.0, 1e-3)),
        "sampled law, damped": Motion(damped, 10.0, sampled_law(30.0, 1.0, 5e-3)),
        "dry friction": Motion(flexarm.change_arm(arm, rubbing), 1.0),
        "strong dampers": Motion(flexarm.change_arm(damped, held), 0.2),
    }


def goal(t: float | ca.SX) -> ca.SX | float:
    """Give the angle that laws hold both joints to [rad]."""
    return 0.3 * ca.sin(2 * t)


def law(arm: Arm, stiffness: float, damping: float) -> ca.Function:
    """Make a law that holds both joints to their goal, compiled into the equations."""
    names = flexarm.build(arm).names
    t, q, v = ca.SX.sym("t"), ca.SX.sym("q", len(names)), ca.SX.sym("v", len(names))
    at = [names.index(name) for name in ("joint1", "joint2")]
    u = [stiffness * (goal(t) - q[k]) - damping * v[k] for k in at]
    return ca.Function("law", [t, q, v], [ca.vertcat(*u)])


def sampled_law(stiffness: float, damping: float, period: float) -> flexarm.Sampled:
    """Make the same law in Python, asked at a rate; the second joint comes after the modes."""

    def answer(t: float, q: Array, v: Array) -> list[float]:
        at = (0, len(q) // 2)
        return [stiffness * (float(goal(t)) - q[k]) - damping * v[k] for k in at]

    return flexarm.Sampled(answer, period)


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
