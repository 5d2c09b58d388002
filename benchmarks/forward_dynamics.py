"""How long does forward dynamics take, and how does that compare with rigid-body libraries?

Times flexarm's flexible and rigid chains against pinocchio's and MuJoCo's rigid ones of the same
length, all in this process and in turns; then how long it takes until an arm can be used.
`pip install 'flexarm[bench]'` brings the peers; `--quick` is a small run without them.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import peers
from chains import contender, flexible_chain, rigid_chain, state
from flexarm.engine.cache import VARIABLE
from flexarm.model import build
from report import table, write
from timing import Contender, Times, machine, measure

LINKS = (2, 6, 10, 12, 30, 100)
ELEMENTS = (5, 10, 20)  # per link, two coordinates each
GROWTH = (10, 100)  # links whose times are compared
LOADED = "flexarm flexible, payload"
STEPS = ("imports", "model", "first_result", "fast_code")  # of first_use.py
FLEXIBLE, STIFFENED, RIGID = "flexarm flexible", "flexarm flexible, stiffening", "flexarm rigid"
MUJOCO_FORWARD, MUJOCO_NEEDED = "mujoco mj_forward", "mujoco needed stages"


def main() -> None:
    """Measure, print the tables, and write them where that was asked for."""
    parser = argparse.ArgumentParser(description="Time forward dynamics against its peers.")
    parser.add_argument("--quick", action="store_true", help="two links, no peers, few rounds")
    parser.add_argument("--rounds", type=int, default=31, help="measurements of each (default 31)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the numbers as JSON")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the page")
    args = parser.parse_args()

    rounds, seconds = (3, 2e-3) if args.quick else (args.rounds, 2e-2)
    links = LINKS[:1] if args.quick else LINKS
    about = machine() | ({} if args.quick else peers.versions())
    chains = [each for n in links for each in _chain_contenders(n, with_peers=not args.quick)]
    wide = _element_contenders((1,) if args.quick else ELEMENTS)
    times = measure([*chains, *wide], rounds=rounds, seconds=seconds)
    if args.quick:
        use = _first_use(2, stiffening=False, repeats=0)
    else:
        use = [
            run
            for stiffening in (False, True)
            for run in _first_use(6, stiffening=stiffening, repeats=5)
        ]
    found = Found(
        about,
        {(each.name, each.links): times[each] for each in chains},
        [Wide.of(each, times[each]) for each in wide],
        use,
    )
    page = _page(found)
    print(page)
    if args.out is not None:
        write(args.out, json.dumps(found.to_json(), indent=2) + "\n")
    if args.markdown is not None:
        write(args.markdown, page)


def _chain_contenders(links: int, *, with_peers: bool) -> list[Contender]:
    """Return all that is timed on chains of so many links."""
    print(f"preparing {links} links", file=sys.stderr)
    found = [
        contender(FLEXIBLE, flexible_chain(links), stiffening=False)[0],
        contender(STIFFENED, flexible_chain(links), stiffening=True)[0],
    ]
    if links in GROWTH:
        loaded = flexible_chain(links, payload=True)
        found.append(contender(LOADED, loaded, stiffening=False)[0])
    arm = rigid_chain(links)
    rigid, accelerations = contender(RIGID, arm, stiffening=False)
    found.append(rigid)
    if with_peers:
        found += peers.contenders(*state(build(arm)), accelerations)
    return found


def _element_contenders(elements: tuple[int, ...]) -> list[Contender]:
    """Return arms of two links with many coordinates each."""
    print("preparing links of many coordinates", file=sys.stderr)
    return [
        contender(
            f"{2 * count} coordinates{', stiffening' if stiffening else ''}",
            flexible_chain(2, shapes={"kind": "elements", "bending_y": count, "bending_z": 0}),
            stiffening=stiffening,
        )[0]
        for stiffening in (False, True)
        for count in elements
    ]


def _first_use(links: int, *, stiffening: bool, repeats: int) -> list[dict[str, Any]]:
    """Measure the steps to a first result, without and with what an earlier process compiled."""
    print(f"first use of {links} links", file=sys.stderr)
    script = Path(__file__).with_name("first_use.py")
    command = [sys.executable, str(script), "--links", str(links)]
    command += ["--stiffening"] if stiffening else []
    # Python's own byte code is there when a user starts a program again.
    plain = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    runs: list[list[dict[str, Any]]] = [[], []]
    with tempfile.TemporaryDirectory() as top:
        if repeats:
            plain["PYTHONPYCACHEPREFIX"] = str(Path(top) / "byte-code")
        for repeat in range(-1, repeats):
            for kept in runs:
                env = plain | {VARIABLE: str(Path(top) / f"cache{repeat}")}
                result = subprocess.run(
                    command, env=env, stdout=subprocess.PIPE, text=True, check=True
                )
                kept.append(json.loads(result.stdout))
    return [
        {"links": links, "stiffening": stiffening, "cache": cache}
        | {step: statistics.median(run[step] for run in kept[1:] or kept) for step in STEPS}
        for cache, kept in zip(("empty", "filled"), runs, strict=True)
    ]


def _page(found: "Found") -> str:
    parts = [
        "# Benchmarks",
        "Made by `python benchmarks/forward_dynamics.py --markdown docs/benchmarks.md`; do not "
        "edit. All numbers are of one run, in which every contender was timed in turns on one "
        "core; `--out` keeps them as JSON.",
        ", ".join(f"{name} {value}" for name, value in found.machine.items()) + ".",
        "## Forward dynamics of chains",
        _CHAINS,
        _chain_table(found),
        *_verdicts(found),
        "## Links of many coordinates",
        "The table is for two links of finite elements that bend in one plane. An exponent p means "
        "that operations "
        "or time grow like the number of coordinates per link to the power p. With 40 coordinates "
        "the compiled code is larger than the processor's first cache, with stiffening about as "
        "large as its second, which increases the times.",
        _element_table(found),
        "## Until an arm can be used",
        "The table has CPU times in a fresh process [s], the median of five. *First result* is the "
        "time from the built model to the first accelerations: the equations are traced, compiled "
        "quickly and called, or found in a filled cache and called. *Fast code* is the further "
        "time until the optimised code of long runs is ready.",
        _use_table(found),
    ]
    return "\n\n".join(parts) + "\n"


_CHAINS = """The table has microseconds per evaluation: the median, and in brackets the middle half
of the rounds. Links have 0.4 m and 2 kg, with joint axes turned by 0 and 90 degrees alternately,
and gravity across the first axis. Flexible links have three clamped-free modes each, two along y
and one along z. The chains of the other libraries are rigid, with as many joints. First a check
ensures that all libraries compute the same accelerations in a random state.

flexarm is called in a compiled loop. For pinocchio the table has the fastest of three calls: `aba`
in its two conventions, less the time of as many calls on a model without joints, and
`abaInParallel` on one thread. MuJoCo's times are less those of as many empty calls: `mj_forward`
without contacts and constraints, and only the stages needed for accelerations. pinocchio and MuJoCo
are the builds of their wheels; flexarm compiles for the machine that it runs on.

Rows and columns with stiffening are of [second-order
links](kinematics-and-energies.md#second-order-links). Exact links that bend in two planes take 1.6
to 2.1 times as many [operations](operation-counts.md) as second-order links; exact links of
elements that bend in one plane take 0.6 to 0.9 times as many."""


def _chain_table(found: "Found") -> str:
    head = [
        "links", "flexarm, flexible", "the same, stiffening on", "flexarm, rigid",
        "pinocchio, rigid", "MuJoCo, rigid, needed stages", "MuJoCo, rigid, mj_forward",
        "flexible / pinocchio",
    ]  # fmt: skip
    rows = []
    for n in found.lengths:
        names = (FLEXIBLE, STIFFENED, RIGID, None, MUJOCO_NEEDED, MUJOCO_FORWARD)
        cells = [
            found.pinocchio(n) if name is None else found.chains.get((name, n)) for name in names
        ]
        peer = found.pinocchio(n)
        ratio = "" if peer is None else f"{found.chains[FLEXIBLE, n].median / peer.median:.2f}"
        rows.append([str(n), *("" if cell is None else str(cell) for cell in cells), ratio])
    return table(head, rows)


def _verdicts(found: "Found") -> list[str]:
    """Say how the measurements stand to what was aimed at."""
    said = []
    peer = found.pinocchio(6)
    if peer is not None:
        ratio = found.chains[FLEXIBLE, 6].median / peer.median
        stiff = found.chains[STIFFENED, 6].median / peer.median
        said.append(
            "The aim is that six flexible links take no longer than pinocchio's six rigid "
            f"links. The flexible links take {ratio:.2f} times as long as pinocchio's "
            f"({_met(ratio <= 1)}), with stiffening {stiff:.2f} times."
        )
    few, many = GROWTH
    if (FLEXIBLE, many) in found.chains:
        growth = {
            name: found.chains[name, many].median / found.chains[name, few].median
            for name in (FLEXIBLE, LOADED, STIFFENED)
        }
        said.append(
            f"The aim is that {many} links take at most 11 times as long as {few}. The {many} "
            f"links take {growth[FLEXIBLE]:.1f} times as long as {few} "
            f"({_met(growth[FLEXIBLE] <= 11)}), with a payload that has inertia and an offset "
            f"{growth[LOADED]:.1f} times, with stiffening "
            f"{growth[STIFFENED]:.1f} times. The first and the last link take fewer operations "
            "than the links between, the last link only without a payload: [operation "
            "counts](operation-counts.md) has the numbers."
        )
    return said


def _met(reached: bool) -> str:
    return "reached" if reached else "not reached"


def _element_table(found: "Found") -> str:
    rows, said = [], []
    for stiffening, limit in ((False, 1.3), (True, 2.1)):
        chosen = [each for each in found.wide if each.stiffening == stiffening]
        for before, each in zip([None, *chosen], chosen, strict=False):
            powers = ("", "") if before is None else tuple(f"{p:.2f}" for p in each.powers(before))
            size = [str(each.coordinates), "on" if stiffening else "off"]
            rows.append([*size, f"{each.operations:,}", powers[0], str(each.times), powers[1]])
        if len(chosen) > 1:
            work, spent = chosen[-1].powers(chosen[0])
            said.append(
                f"With stiffening {'on' if stiffening else 'off'}, from {chosen[0].coordinates} to "
                f"{chosen[-1].coordinates} coordinates, the exponent is {work:.2f} in operations "
                f"and {spent:.2f} in time. The aim is exponents less than {limit} "
                f"({_met(max(work, spent) < limit)})."
            )
    head = [
        "coordinates per link", "stiffening", "operations", "exponent", "microseconds", "exponent",
    ]  # fmt: skip
    return "\n\n".join([table(head, rows), *said])


def _use_table(found: "Found") -> str:
    aims = {"empty": 1.0, "filled": 0.1}
    rows = [
        [
            str(run["links"]),
            "on" if run["stiffening"] else "off",
            run["cache"],
            *(f"{run[step]:.3f}" for step in STEPS),
            f"first result under {aims[run['cache']]} s: "
            f"{_met(run['first_result'] < aims[run['cache']])}",
        ]
        for run in found.first_use
    ]
    head = [
        "links", "stiffening", "cache", "imports", "building the model", "first result",
        "fast code", "aim",
    ]  # fmt: skip
    return table(head, rows)


@dataclass(frozen=True)
class Found:
    """What was measured.

    Attributes
    ----------
    machine
        The machine and the versions.
    chains
        Times by contender and number of links.
    wide
        Links of many coordinates.
    first_use
        CPU times of the steps to a first result [s].
    """

    machine: dict[str, str | int]
    chains: dict[tuple[str, int], Times]
    wide: list["Wide"]
    first_use: list[dict[str, Any]]

    @property
    def lengths(self) -> list[int]:
        """Return the numbers of links."""
        return sorted({links for _, links in self.chains})

    def pinocchio(self, links: int) -> Times | None:
        """Return pinocchio's times in the fastest of the ways it was called in."""
        ways = [t for (name, n), t in self.chains.items() if "pinocchio" in name and n == links]
        return min(ways, key=lambda times: times.median, default=None)

    def to_json(self) -> dict[str, Any]:
        """Return everything as one document."""
        return {
            "machine": self.machine,
            "chains": [
                {"contender": name, "links": links, "microseconds": times.to_json()}
                for (name, links), times in self.chains.items()
            ],
            "many_coordinates": [each.to_json() for each in self.wide],
            "first_use": self.first_use,
        }


@dataclass(frozen=True)
class Wide:
    """An arm of two links of many coordinates each: what it takes."""

    coordinates: int
    stiffening: bool
    operations: int
    times: Times

    @classmethod
    def of(cls, contender: Contender, times: Times) -> "Wide":
        """Read what a contender is from its name."""
        count, _, rest = contender.name.partition(" ")
        return cls(int(count), "stiffening" in rest, contender.operations, times)

    def powers(self, before: "Wide") -> tuple[float, float]:
        """Return the exponents of operations and of time since a smaller one."""
        wider = math.log(self.coordinates / before.coordinates)
        work = self.operations / before.operations
        spent = self.times.median / before.times.median
        return math.log(work) / wider, math.log(spent) / wider

    def to_json(self) -> dict[str, Any]:
        """Return what is kept of it."""
        return {
            "coordinates": self.coordinates,
            "stiffening": self.stiffening,
            "operations": self.operations,
            "microseconds": self.times.to_json(),
        }


if __name__ == "__main__":
    main()
