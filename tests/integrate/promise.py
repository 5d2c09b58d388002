"""What a tolerance promises, measured: random motions by every method, against two references.

``python -m tests.integrate.promise 0 100 --out FILE`` measures arms 0 to 99, prints the worst ratio
of each method at each tolerance and every motion that missed, and keeps all ratios as JSON lines.
"""

import argparse
import json
import os
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

import flexarm
from flexarm.arm import Arm
from flexarm.engine.compile import EFFORT
from flexarm.integrate.methods import METHODS
from flexarm.integrate.mission.discrete import Locks
from flexarm.integrate.task import prepare
from flexarm.io.model_file import change_arm
from flexarm.mechanics.loads import input_names
from flexarm.model import Model, build, start_state
from flexarm.runs.run import Run
from flexarm.spatial import Array
from tests.physics.random_arms import random_arm

PLAIN = 500  # arms as they are drawn; after them the same with more
HARD, FLOORS, LAST = 1000, 1250, 1280  # the first on hard servos, links that bounce, the end
RIDDEN = 8  # coordinates of an arm that carries another link, at most: its equations are long
LARGEST, WHOLE = 12, 10  # coordinates of arms that are measured; of larger ones every tenth
RTOLS = (1e-2, 1e-4, 1e-6)
T_END, SAMPLES = 0.5, 100
# Two methods that have nothing in common, and how far apart they may be to be believed.
REFERENCES = (("dop853", 1e-10), ("etd4", 1e-8))
APART = 0.1 * min(RTOLS)


@dataclass(frozen=True)
class Motion:
    """A random arm on its way: thrown, locked for a while, or under a law."""

    number: int
    arm: Arm
    locks: Locks
    law: ca.Function | None
    t_end: float = T_END

    def run(self, method: str, rtol: float, limit: float = np.inf) -> Run:
        """Simulate it; a run that takes longer than a limit [s] of CPU is interrupted."""
        begun: list[float] = []

        def stop(t: float) -> None:
            begun.append(time.process_time())
            if begun[-1] - begun[0] > limit:
                raise KeyboardInterrupt("the limit of CPU")

        return flexarm.simulate(
            self.arm, t_end=self.t_end, dt=T_END / SAMPLES, method=method, rtol=rtol,
            locks=self.locks, control=self.law, progress=stop, allow_long=True,
        )  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    """What a method made of a motion: errors over the tolerance by quantity, and its work."""

    number: int
    method: str
    chosen: str
    rtol: float
    errors: dict[str, float]
    evaluations: int
    seconds: float
    status: str

    @property
    def worst(self) -> float:
        """The largest error over the tolerance."""
        return max(self.errors.values(), default=0.0)


def motion(number: int) -> Motion:
    """Give the motion of a number: every third is thrown, every fifth has a law, others a lock.

    From 500 on they are the same arms with servos, stops, dry friction, a wall or a carriage, from
    1000 on with hard servos, from 1250 on a damped link that falls on a hard floor.
    """
    if number >= FLOORS:
        return Motion(number, bouncing(number), {}, None, 2 * T_END)
    if number >= HARD:
        damping, pace = 10 ** np.random.default_rng(number).uniform((1, -1), (4, 3))
        arm = held_hard(
            random_arm(number - HARD).arm, damping, pace * damping, at_once=number % 2 > 0
        )
        return Motion(number, arm, {}, None)
    if number >= PLAIN:
        arm = furnished(random_arm(number - PLAIN).arm, number)
        return Motion(number, arm, {}, None)
    arm = random_arm(number).arm
    if number % 3 == 0:
        arm = thrown(arm, number)
    model = build(arm)
    law = held(model) if number % 5 == 2 and input_names(model) else None
    return Motion(number, arm, {} if law else locked_half_way(model, number), law)


def is_measured(number: int, largest: int = LARGEST) -> bool:
    """Whether the campaign takes an arm: most time goes to tangents of the largest ones."""
    if number >= FLOORS:
        return True
    arm = random_arm(number % PLAIN).arm
    free = number < HARD or torqued(arm)
    return bool(free) and (number % WHOLE == 0 or build(arm).size <= largest)


def torqued(arm: Arm) -> list[str]:
    """List the joints that can have a servo, as changes name them."""
    return [
        f"links.{k}.joint"
        for k, link in enumerate(arm.links, 1)
        if link.joint.kind in ("revolute", "prismatic") and link.joint.actuation == "torque"
    ]


def held_hard(arm: Arm, damping: float, stiffness: float, *, at_once: bool = False) -> Arm:
    """Put a servo on every joint that can have one, which moves it on, or at once."""
    target = {"kind": "cycloid", "start": 0.0, "end": 0.3, "duration": 0.3}
    target = {"kind": "constant", "value": 0.05} if at_once else target
    servo = {"stiffness": stiffness, "damping": damping, "target": target}
    return change_arm(arm, {f"{each}.servo": servo for each in torqued(arm)})


def bouncing(number: int) -> Arm:
    """Let a damped link fall on a hard floor; every third gives all back."""
    random = np.random.default_rng(number)
    plane = {"kind": "plane", "point": [0, 0, 0], "normal": [0, 1, 0]}
    hard, damping = float(10 ** random.uniform(3.5, 5.5)), (0.0, 0.1, 0.4)[number % 3]
    floor = {"name": "floor", "obstacle": plane, "stiffness": hard, "damping": damping}
    start = {"links.1.joint.start.position": float(random.uniform(0.1, 0.6)),
             "links.1.damping": float(random.choice([0.008, 0.02, 0.05]))}  # fmt: skip
    link = flexarm.example_arm("driven-link-payload")
    return change_arm(link, start | {"gravity": [0, -9.81, 0], "contacts": [floor]})


def furnished(arm: Arm, number: int) -> Arm:
    """Put on an arm the first of what it can have, in an order that begins with its number."""
    joints = torqued(arm)
    target = {"kind": "cycloid", "start": 0.0, "end": 0.3, "duration": 0.3}
    servo = {"stiffness": 60.0, "damping": 6.0, "target": target}
    rubs = {"kind": "dry", "coulomb": 0.5, "static": 0.8, "viscous": 0.1}
    wall = {"stiffness": 1e4, "damping": 0.3, "friction": {"coefficient": 0.2}}
    ends = {"limits": {"lower": -0.05, "upper": 0.05},
            "stops": {"stiffness": 500.0, "restitution": 0.7, "speed": 1.0}}  # fmt: skip
    rides = {"joint": {"kind": "carriage", "actuation": "free",
                       "start": {"position": 0.05, "speed": 0.4}},
             "body": {"mass": 0.2}}  # fmt: skip
    choices: list[dict[str, Any]] = [
        *({f"{each}.servo": servo for each in some} for some in (joints[:1], joints)),
        {f"{each}.servo": servo | {"effort": 2.0} for each in joints},
        {f"{each}.{key}": value for each in joints[:1] for key, value in ends.items()},
        {f"{each}.friction": rubs for each in joints[:1]},
        {"wall": wall},
        {"riding": rides},
    ]
    for k in range(len(choices)):
        changes = choices[(number + k) % len(choices)]
        try:
            found = changed(arm, changes)
            if changes and ("riding" not in changes or build(found).size <= RIDDEN):
                return found
        except (flexarm.FlexarmError, ValidationError):
            continue
    return arm


def changed(arm: Arm, changes: dict[str, Any]) -> Arm:
    """Change values of an arm, put a wall under its tip, or let a link ride on its last one."""
    if "wall" in changes:
        model = build(arm)
        tip = flexarm.formulation("articulated", model).tip_pose(start_state(model)[0])[1]
        plane = {"kind": "plane", "point": (tip - [0, 0, 0.01]).tolist(), "normal": [0, 0, 1]}
        return change_arm(arm, {"contacts": [changes["wall"] | {"obstacle": plane}]})
    if "riding" not in changes:
        return change_arm(arm, changes)
    given = arm.model_dump(exclude_unset=True)
    return Arm.model_validate(given | {"links": [*given["links"], changes["riding"]]})


def thrown(arm: Arm, number: int) -> Arm:
    """Start the joints of an arm with random speeds."""
    speeds = np.random.default_rng(number).uniform(-2, 2, len(arm.links))
    keys = {
        f"links.{k + 1}.joint.start.speed": float(speed)
        for k, (link, speed) in enumerate(zip(arm.links, speeds, strict=True))
        if link.joint.kind in ("revolute", "prismatic", "screw")
        and link.joint.actuation != "prescribed"
    }
    return change_arm(arm, keys)


def held(model: Model) -> ca.Function:
    """Make a law that holds every driven joint to a motion, as stiff as its links."""
    t, q, v = ca.SX.sym("t"), ca.SX.sym("q", model.size), ca.SX.sym("v", model.size)
    u = []
    for axis in (axis for axis in model.axes if axis.driven):
        k, drive = axis.index if axis.motor is None else axis.motor, axis.acts.drive
        sign = -1.0 if drive and drive.motor_torque and drive.gear_ratio < 0 else 1.0
        u.append(-sign * (30.0 * (q[k] - 0.2 * ca.sin(5 * t)) + 3.0 * v[k]))
    return ca.Function("law", [t, q, v], [ca.vertcat(*u)])


def locked_half_way(model: Model, number: int) -> Locks:
    """Lock the first joint of every other random arm that has one that can be."""
    names = [
        axis.name
        for axis in model.axes
        if not axis.prescribed and axis.motor is None and model.links[axis.link].motion.lockable
    ]
    return {names[0]: [(0.1, 0.25)]} if names and number % 2 else {}


def errors(run: Run, reference: Run) -> dict[str, float]:
    """Give the largest errors of a run by quantity, each over what its tolerance is of.

    Deflections and wind-ups: their range, link by link.  Joints and base: their range, at least 1
    rad or the length of the link.  Rates: the greatest, of deflections at least that of a vibration
    over their range.  Tip: the length of the arm.  Works: the energy exchanged.  Samples that only
    one of them has, as where dry friction begins to hold, do not count.
    """
    task = prepare(run.model, reference.t)
    measures, modes = task.measures, task.vibration.modes
    mine, others = shared_samples(run, reference)
    alike = np.all(
        run.reference_attitudes[mine] == reference.reference_attitudes[others], axis=(1, 2)
    )
    deflects = np.array(measures.deflects, dtype=bool)

    def over(a: Array, b: Array, scale: Array) -> Array:
        apart = np.abs((a[mine] - b[others]) @ measures.rows.T)
        apart[~alike] = np.where(deflects[measures.group], apart[~alike], 0.0)
        worst = np.zeros(len(measures.floor))
        np.maximum.at(worst, measures.group, apart.max(axis=0, initial=0.0))
        return worst / scale

    scale, top = measures.floor.copy(), measures.rate_floor.copy()
    np.maximum.at(scale, measures.group, np.ptp(reference.q @ measures.rows.T, axis=0))
    np.maximum.at(top, measures.group, np.abs(reference.v @ measures.rows.T).max(axis=0))
    pace = modes.carried(measures.rows, measures.group) @ modes.frequencies
    top = np.maximum(top, np.where(deflects, pace * scale, 0.0))
    places, rates = over(run.q, reference.q, scale), over(run.v, reference.v, top)
    reach = max(sum(part.length for part in run.model.links), 1e-3)
    size = max(reference.exchanged, 1e-12 * float(np.abs(reference.energy).max()), 1e-300)
    work_integrals = (
        np.abs(run.work_integrals[mine, :4] - reference.work_integrals[others, :4]).max(axis=0)
        / size
    )
    return {
        "deflection": float(places[deflects].max(initial=0.0)),
        "joint": float(places[~deflects].max(initial=0.0)),
        "deflection rate": float(rates[deflects].max(initial=0.0)),
        "joint rate": float(rates[~deflects].max(initial=0.0)),
        "tip": float(np.abs(run.tip[mine] - reference.tip[others]).max()) / reach,
        "work": float(work_integrals[:3].max()),
        "loss": float(work_integrals[3]),
    }


def shared_samples(run: Run, reference: Run) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """List the samples of two runs at equal times, but for the ends of those that stopped."""
    here, there = (each.t[: len(each.t) - (each.status != "finished")] for each in (run, reference))
    _, mine, others = np.intersect1d(here, there, return_indices=True)
    return mine, others


def ended_alike(run: Run, reference: Run) -> bool:
    """Tell whether two runs ended in the same way at about the same time."""
    return run.status == reference.status and abs(run.t[-1] - reference.t[-1]) < 1e-3 * T_END


def references(motion: Motion, limit: float = np.inf) -> Run | str:
    """Give the close run of a motion, or why there is none."""
    try:
        close, other = (motion.run(method, rtol, limit) for method, rtol in REFERENCES)
    except flexarm.SimulationError as problem:
        return f"cannot begin: {problem}"
    if "interrupted" in (close.status, other.status):
        return "interrupted"
    found = errors(other, close)
    doubtful = {name: value for name, value in found.items() if value > APART}
    return close if not doubtful else f"references differ: {doubtful}"


def outcome(moved: Motion, close: Run, method: str, rtol: float, limit: float = np.inf) -> Outcome:
    """Measure a motion by a method at a tolerance; one that ends in another way misses it."""
    run = moved.run(method, rtol, limit)
    found = {name: value / rtol for name, value in errors(run, close).items()}
    if not ended_alike(run, close):
        found["end"] = np.inf
    spent = run.statistics
    return Outcome(moved.number, method, run.method, rtol, found, spent.evaluations,
                   spent.cpu_seconds, run.status)  # fmt: skip


def outcomes(number: int, limit: float = np.inf) -> Iterator[Outcome | str]:
    """Measure a motion by all methods at all tolerances, or say why it cannot be."""
    moved = motion(number)
    close = references(moved, limit)
    if isinstance(close, str):
        yield close
        return
    for rtol in RTOLS:
        auto = outcome(moved, close, "auto", rtol, limit)
        yield auto
        for name, method in METHODS.items():
            same = replace(auto, method=name)
            if close.drives is None or method.carries_states:
                yield same if name == auto.chosen else outcome(moved, close, name, rtol, limit)


def table(found: list[Outcome]) -> str:
    """Write the worst ratio of each method at each tolerance, with its motion."""
    lines = []
    for method in (*METHODS, "auto"):
        cells = [f"{method:8}"]
        for rtol in RTOLS:
            each = [o for o in found if (o.method, o.rtol) == (method, rtol)]
            worst = max(each, key=lambda o: o.worst, default=None)
            cells.append("-" if worst is None else f"{worst.worst:.2g} (no. {worst.number})")
        lines.append("  ".join(f"{cell:18}" for cell in cells))
    return "\n".join(lines)


def main() -> None:
    """Measure a range of arms."""
    parser = argparse.ArgumentParser(description="Measure errors over tolerances.")
    parser.add_argument("first", type=int)
    parser.add_argument("last", type=int)
    parser.add_argument("--out", type=Path, metavar="FILE", help="append all ratios")
    parser.add_argument(
        "--largest", type=int, default=LARGEST, help="coordinates of an arm; of larger ones a tenth"
    )
    parser.add_argument("--limit", type=float, default=np.inf, help="CPU of a run [s]")
    args = parser.parse_args()
    EFFORT["fast"] = EFFORT["quick"]
    with TemporaryDirectory() as folder:  # no slow code for others
        os.environ["FLEXARM_CACHE"] = folder
        measure(args)


def measure(args: argparse.Namespace) -> None:
    """Measure arms and print what was found."""
    kept: list[Outcome] = []
    for number in range(args.first, args.last):
        if not is_measured(number, args.largest):
            continue
        for each in outcomes(number, limit=args.limit):
            if isinstance(each, str):
                print(f"{number}: {each}", flush=True)
                continue
            kept.append(each)
            if args.out:
                with args.out.open("a") as file:
                    file.write(json.dumps(asdict(each)) + "\n")
            if each.worst > 1:
                missed = {name: round(value, 2) for name, value in each.errors.items() if value > 1}
                print(f"{number}: {each.method} {each.rtol:g}: {missed} {each.status}", flush=True)
    print(f"{len({o.number for o in kept})} arms\n{table(kept)}")


if __name__ == "__main__":
    main()
