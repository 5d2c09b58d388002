"""At equal error, how much CPU time do flexarm and Exudyn take, and which basis is to be chosen?

Both compute two links that fall and a link that a hub drives, in this process and on one thread;
errors are against Exudyn's own converged solution. Settings of both are scanned, and the cheapest
that keeps to an error is timed again, in turns. `pip install 'flexarm[bench]'` brings Exudyn;
`--quick` is a small run without it.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import beam_exudyn as peer
import beam_problems as own
import flexarm
from beam_problems import BASES, COORDINATES, PROBLEMS, TOLERANCES, Choice, Problem
from beam_runs import ANY, Outcome, Tried, keeping
from flexarm.engine.cache import VARIABLE
from report import table, write
from timing import machine

LEVELS = (5.0, 2.0, 1.0, 0.5, 0.3, 0.1, 0.03, 0.01, 0.005)  # percent
FINALISTS = 3  # runs that are timed again, by code, level and rule
TORQUES = (2.0, 4.0, 8.0, 16.0)  # [N m]
HARDER = tuple(
    f"kind: {kind}, bending_y: {count}"
    for kind in ("loaded, root: free", "arm-modes")
    for count in (2, 3, 4, 6)
)
SHOWN = 1e-3  # tolerance at which bases are compared: flexarm's default


def main() -> None:
    """Run both codes, print the tables, and write them where that was asked for."""
    parser = argparse.ArgumentParser(description="Compare flexarm with Exudyn at equal error.")
    parser.add_argument("--quick", action="store_true", help="a short fall, without Exudyn")
    parser.add_argument("--rounds", type=int, default=5, help="timings in turns (default 5)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the numbers as JSON")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the page")
    args = parser.parse_args()

    if args.quick:
        found = Found(machine(), [_quick()], [], [])
    else:
        about = machine() | peer.versions()
        outcomes = [_compare(problem, rounds=args.rounds) for problem in PROBLEMS]
        found = Found(about, outcomes, _first_use(), _torques())
    page = _page(found)
    print(page)
    if args.out is not None:
        write(args.out, json.dumps(found.to_json(), indent=2) + "\n")
    if args.markdown is not None:
        write(args.markdown, page)


def _quick() -> Outcome:
    """Compare bases over a short fall with flexarm's own solution with many shapes."""
    fall = replace(PROBLEMS[0], t_end=0.3)
    reference, _, _ = own.simulate(fall, Choice("loaded", 6, 1e-4), repeats=1)
    tried = _try_flexarm(fall, own.choices((1, 2), (SHOWN,)), reference)
    return Outcome(fall, [], [], [], tried)


def _compare(problem: Problem, *, rounds: int) -> Outcome:
    print(f"{problem.name}: reference", file=sys.stderr)
    settings = peer.reference_settings(problem)
    reference, seconds = peer.simulate(problem, settings[0])
    converged = [Tried(settings[0], 0.0, seconds)]
    converged += [_try_exudyn(problem, setting, reference) for setting in settings[1:]]
    print(f"{problem.name}: settings of Exudyn", file=sys.stderr)
    exudyn, defaults = (
        [_try_exudyn(problem, setting, reference) for setting in settings]
        for settings in (peer.scanned_settings(problem), peer.default_settings(problem))
    )
    print(f"{problem.name}: bases of flexarm", file=sys.stderr)
    ours = _try_flexarm(problem, own.choices(COORDINATES, TOLERANCES), reference)
    print(f"{problem.name}: the cheapest again, in turns", file=sys.stderr)
    return _time_again(Outcome(problem, converged, exudyn, defaults, ours), rounds)


def _try_exudyn(problem: Problem, setting: peer.Setting, reference: own.Array) -> Tried:
    deflections, seconds = peer.simulate(problem, setting)
    return Tried(setting, own.error(deflections, reference), seconds)


def _try_flexarm(problem: Problem, choices: Sequence[Choice], reference: own.Array) -> list[Tried]:
    tried = []
    for choice in choices:
        deflections, seconds, method = own.simulate(problem, choice, repeats=3)
        tried.append(Tried(choice, own.error(deflections, reference), seconds, method))
    return tried


def _time_again(outcome: Outcome, rounds: int) -> Outcome:
    """Time the cheapest runs of each level in turns, and keep medians."""
    finalists = dict.fromkeys(
        run.setting
        for rule in outcome.rules
        for level in LEVELS
        for runs in outcome.keeping(rule, level)
        for run in runs[:FINALISTS]
    )
    times: dict[Choice | peer.Setting, list[float]] = {setting: [] for setting in finalists}
    for _ in range(rounds):
        for setting, values in times.items():
            if isinstance(setting, Choice):
                values.append(own.simulate(outcome.problem, setting, repeats=1)[1])
            else:
                values.append(peer.simulate(outcome.problem, setting)[1])

    def timed(run: Tried) -> Tried:
        if run.setting not in times:
            return run
        return replace(run, seconds=statistics.median(times[run.setting]), in_turns=True)

    return replace(
        outcome,
        exudyn=[timed(run) for run in outcome.exudyn],
        flexarm=[timed(run) for run in outcome.flexarm],
    )


def _first_use() -> list[dict[str, Any]]:
    """Measure what comes before the steps, each in a fresh process."""
    found = []
    with tempfile.TemporaryDirectory() as cache:
        for code, note in (("flexarm", "empty cache"), ("flexarm", "filled cache"), ("exudyn", "")):
            script = Path(__file__).with_name("beam_first_use.py")
            result = subprocess.run(
                [sys.executable, str(script), code],
                env=os.environ | {VARIABLE: cache},
                stdout=subprocess.PIPE,
                text=True,
                check=True,
            )
            said = json.loads(result.stdout.splitlines()[-1])
            found.append({"code": code, "note": note} | said)
    return found


def _torques() -> list[list[str]]:
    """Compare errors, in percent, where the hub drives the link harder and harder."""
    rows = []
    for torque in TORQUES:
        problem = replace(PROBLEMS[1], torque=torque)
        fine, coarse = (peer.simulate(problem, s)[0] for s in peer.reference_settings(problem)[:2])
        row = [f"{torque:g}", f"{own.error(coarse, fine):.4f}"]
        for shapes in HARDER:
            arm = problem.arm(f"{shapes}, stretch: 0")
            run = flexarm.simulate(arm, t_end=problem.t_end, dt=problem.sample, rtol=1e-5)
            row.append(f"{own.error(own.tip_deflections(run), fine):.4f}")
        rows.append(row)
    return rows


def _harder(rows: list[list[str]]) -> list[str]:
    """Write what `_torques` found."""
    head = ["torque [N m]", "Exudyn, twice the step"]
    head += [shapes.removeprefix("kind: ").replace(", bending_y:", "") for shapes in HARDER]
    return [_HARDER, table(head, rows)]


def _page(found: "Found") -> str:
    parts = [
        "# Against Exudyn",
        "Made by `python benchmarks/against_exudyn.py --markdown docs/against-exudyn.md`; do not "
        "edit. All numbers are of one run on one thread; `--out` keeps them as JSON.",
        ", ".join(f"{name} {value}" for name, value in found.machine.items()) + ".",
        _ABOUT,
    ]
    for outcome in found.outcomes:
        problem = outcome.problem
        lasts = (
            f" The motion lasts {problem.t_end:g} s, and is compared every "
            f"{1e3 * problem.sample:g} ms."
        )
        parts += [f"## {problem.title}", _STORIES[problem.name] + lasts]
        if outcome.exudyn:
            parts += [_convergence(outcome), *_defaults(outcome), *_levels(outcome)]
        else:
            parts.append("Without Exudyn: errors are against 6 loaded shapes per link.")
        parts += [_bases(outcome)]
    if found.torques:
        parts += ["## A hub drives a link, harder and harder", *_harder(found.torques)]
    if found.first_use:
        parts += [
            "## Besides the steps",
            "The table has the CPU time [s] of the fall in a fresh process, without the steps: "
            "imports, and preparation.",
            table(
                ["code", "imports", "preparing"],
                [
                    [
                        f"{run['code']} {run['note']}".strip(),
                        f"{run['imports']:.2f}",
                        f"{run['preparing']:.2f}",
                    ]
                    for run in found.first_use
                ],
            ),
        ]
    return "\n\n".join(parts) + "\n"


_ABOUT = """An error is the largest difference of a link's tip deflection, measured from the
tangent at its root, from the reference, in percent of the deflection's range; of two links
the worse one counts. The reference is Exudyn's motion with 32 planar ANCF cable elements per link.
Times are CPU times of the solvers' steps alone; imports, compiling, assembling and output
are outside.

*Exudyn's default settings*: only the number of elements and the step are changed. The table shows
Exudyn's runs for which no cheaper run has a smaller error, beside flexarm's cheapest run of no
larger error whose finer runs (more coordinates, smaller tolerance) are no less accurate.

*Any run*: Exudyn runs with the fastest settings found: its build without range checks, constraints
on single coordinates in place of joints, masses on nodes in place of bodies, modified Newton
iterations. The search covers elements, steps, generalized-alpha, trapezoidal rule, velocity Verlet
and RK4, full and reduced integration, three tolerances of Newton's iteration (printed beside the
solver), and for the driven link a hundredth of the stretching stiffness. flexarm runs with `method:
auto`, all bases, coordinates per link and tolerances. Coarse runs that are accurate by chance are
included.

flexarm's links do not stretch unless they have a stretch shape; cable elements
need a stretching stiffness, EA, which is that of steel for the same mass (E = 2e11 Pa, 7850
kg/m^3). Neither model has rotary inertia of sections."""

_HARDER = """The table has errors [%] of one driven link at a tolerance of 1e-5: the tip's tangent
turns by up to 0.31, 0.63, 1.2 and 2.0 rad. Links bend without stretching; `arm-modes` are the
default shapes."""

_STORIES = {
    "fall": """Two links (1 m, EI = 1000 N m^2, 5 kg/m) on free joints fall, both horizontal at
rest at first.""",
    "driven": """The sample `driven-link-payload`: 1 m, EI = 10 N m^2, 1 kg/m, on a hub of
0.1 kg m^2, with 0.25 kg at the tip; +2 N m for 0.5 s, -2 N m for 0.5 s, then none. The tip bends
by a fifth of the length: with more shapes and tighter tolerances a difference of the models
remains.""",
    "gentle": """The sample `driven-link-payload` moves by a tenth of its torque.""",
}


def _convergence(outcome: Outcome) -> str:
    rows = [
        [str(run.setting), "reference" if not k else f"{run.error:.4f}", f"{run.seconds:.2f}"]
        for k, run in enumerate(outcome.converged)
    ]
    return table(["Exudyn's reference and others", "differs by [%]", "CPU [s]"], rows)


HEAD = ["Exudyn", "ms", "its error", "flexarm", "ms", "its error", "ratio"]


def _defaults(outcome: Outcome) -> list[str]:
    """Set against each run of Exudyn with its defaults flexarm's cheapest of no larger error."""
    rows = []
    for run in outcome.defaults:
        if any(o.seconds < run.seconds and o.error < run.error for o in outcome.defaults):
            continue  # another one is cheaper and better
        ours = keeping(outcome.flexarm, run.error, dependable=True)
        if run.error < outcome.least or run.error > LEVELS[0]:
            continue
        ratio = f"{run.seconds / ours[0].seconds:.0f}" if ours else ""
        rows.append([*_cells([run]), *_cells(ours), ratio])
    return ["**Exudyn's default settings**", table(HEAD, rows)]


def _levels(outcome: Outcome) -> list[str]:
    """Set the cheapest runs of both codes beside each other: any, which favours Exudyn."""
    rows: list[list[str]] = []
    for level in LEVELS:
        theirs, ours = outcome.keeping(ANY, level)
        ratio = f"{theirs[0].seconds / ours[0].seconds:.0f}" if theirs and ours else ""
        cells = [*_cells(theirs), *_cells(ours), ratio]
        if rows and rows[-1][1:] == cells:  # the same runs keep to both
            rows[-1][0] += f", {level:g}"
        elif theirs or ours:
            rows.append([f"{level:g}", *cells])
    return [f"**{ANY}**", table(["error [%]", *HEAD], rows)]


def _cells(runs: Sequence[Tried]) -> tuple[str, str, str]:
    if not runs:
        return "not reached", "", ""
    return str(runs[0].setting), f"{1e3 * runs[0].seconds:.3g}", f"{runs[0].error:.2g}"


def _bases(outcome: Outcome) -> str:
    """Show error and cost of each basis over its coordinates per link."""
    runs = {
        (run.setting.basis, run.setting.coordinates): run
        for run in outcome.flexarm
        if isinstance(run.setting, Choice) and run.setting.rtol == SHOWN
    }
    counts = sorted({m for _, m in runs})
    rows = [
        [
            basis,
            *(
                f"{runs[basis, m].error:.3g} % / {1e3 * runs[basis, m].seconds:.3g}"
                if (basis, m) in runs
                else ""
                for m in counts
            ),
        ]
        for basis in BASES
    ]
    return (
        f"Error and CPU time [ms] over coordinates per link, at a tolerance of {SHOWN:g}:\n\n"
        + (table(["basis", *map(str, counts)], rows))
    )


@dataclass(frozen=True)
class Found:
    """What was measured: machine, versions, motions, what comes before the steps, torques."""

    machine: dict[str, str | int]
    outcomes: list[Outcome]
    first_use: list[dict[str, Any]]
    torques: list[list[str]]

    def to_json(self) -> dict[str, Any]:
        """Return everything as one document."""
        return {
            "machine": self.machine,
            "motions": [outcome.to_json() for outcome in self.outcomes],
            "first_use": self.first_use,
            "torques": self.torques,
        }


if __name__ == "__main__":
    main()
