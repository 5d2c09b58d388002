"""Arms and motions whose stated errors are compared with the true ones."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

import flexarm
from flexarm.arm import Arm
from flexarm.arm.shapes import Polynomials
from flexarm.io.model_file import change_arm, loads
from flexarm.links.base import Span
from flexarm.model import build
from flexarm.runs.run import Run

SEEDS = (*range(44), 69, 75)  # of random motions; the errors of the last two were understated once
# Shapes of the truth: of bending beyond those of the arm, one fewer in space, at most; of rods, and
# of twist one more than the arm has.
MORE, MOST, RODS = 5, 12, 2


@dataclass(frozen=True)
class Case:
    """An arm, how long it moves [s], and into how many samples that is split."""

    name: str
    make: Callable[[], Arm]
    t_end: float
    samples: int = 500

    def run(self, arm: Arm, rtol: float = 1e-3) -> Run:
        """Run the arm, or the same on other shapes."""
        return flexarm.simulate(arm, t_end=self.t_end, dt=self.t_end / self.samples, rtol=rtol,
                                errors="computed")  # fmt: skip


def random_motion(seed: int) -> Arm:
    """Make one to three links, stiff or soft, in a plane or in space, that fall or are driven."""
    draw = np.random.default_rng([7, seed])
    flat, soft = seed % 3 != 0, seed % 4 == 1
    count = int(draw.integers(1, 4 if flat else 3))
    lengths = draw.uniform(0.4, 1.2, count)
    weights = draw.uniform(0.2, 3.0, count)  # per length
    payload = float(draw.choice([0.0, 0.3])) * float(weights[-1] * lengths[-1])
    falls = bool(draw.random() < 0.5)
    links = []
    for i in range(count):
        mass = float(weights[i:] @ lengths[i:]) + payload
        reach = float(lengths[i:].sum())
        slope = float(np.exp(draw.uniform(*np.log([0.1, 0.6] if soft else [0.002, 0.05]))))
        stiffness = mass * 9.81 * reach * float(lengths[i]) / (4 * slope)
        joint = _joint(draw, flat=flat, first=i == 0, falls=falls, moment=mass * 9.81 * reach / 4)
        section = _section(draw, float(weights[i]), stiffness, float(lengths[i]), flat=flat)
        links.append(
            {"joint": joint, "length": float(lengths[i]), "section": section,
             "damping": float(draw.choice([0.0, 0.01]))}
        )  # fmt: skip
    gravity = [0, -9.81, 0] if flat else [0, 0, -9.81]
    arm: dict[str, Any] = {"flexarm": 1, "name": f"random {seed}", "links": links}
    arm["gravity"] = gravity if falls else [0, 0, 0]
    if payload:
        arm["payload"] = {"mass": payload}
    return loads(json.dumps(arm))


def _joint(
    draw: np.random.Generator, *, flat: bool, first: bool, falls: bool, moment: float
) -> dict[str, Any]:
    axis = [0, 0, 1] if flat else [[0, 1, 0], [0, 0.6, 0.8], [0.4, 0.8, 0.2]][draw.integers(3)]
    joint: dict[str, Any] = {"kind": "revolute", "axis": axis}
    how = draw.random()
    if how < 0.3:
        turn = float(draw.uniform(-1.0, 1.0))
        motion = {"kind": "cycloid", "start": 0, "end": turn, "duration": 0.4}
        return {**joint, "actuation": "prescribed", "motion": motion}
    if falls and not first and how < 0.6:
        return {**joint, "start": {"position": float(draw.uniform(-1, 1))}}
    inertia = float(moment * draw.uniform(0.002, 0.05))
    joint["hub"] = {"outboard": {"inertia": [inertia] * 3}}
    if not falls or how > 0.8:
        size = float(moment * draw.uniform(0.1, 0.5))
        if draw.random() < 0.5:
            joint["input"] = {"kind": "bang-bang", "amplitude": size, "times": [0, 0.2, 0.4]}
        else:
            joint["input"] = {"kind": "sine", "amplitude": size, "frequency": 2.0}
    return joint


def _section(
    draw: np.random.Generator, weight: float, stiffness: float, length: float, *, flat: bool
) -> dict[str, Any]:
    if flat and draw.random() < 0.5:
        return {"mass_per_length": weight, "EIz": stiffness}
    size = length / float(draw.uniform(20, 60))
    if draw.random() < 0.5:
        area, second = np.pi * size**2 / 4, np.pi * size**4 / 64
        shape = {"kind": "tube", "diameter": size}
    else:
        area, second = 2 * size**2, 2 * size**4 / 12  # bends most along its height of `size`
        shape = {"kind": "rectangle", "width": size, "height": 2 * size}
    material = {"E": stiffness / second, "density": weight / area, "nu": 0.3}
    return {"material": material, "shape": shape}


def _sample(name: str, **changes: Any) -> Callable[[], Arm]:
    return lambda: change_arm(
        flexarm.example_arm(name), {key.replace("__", "."): value for key, value in changes.items()}
    )


DOWN = [0, -9.81, 0]
SAMPLES = (
    Case("driven-link", _sample("driven-link"), 0.5),
    Case("driven-link-payload", _sample("driven-link-payload"), 0.5),
    Case("korayem-two-link", _sample("korayem-two-link"), 0.5),
    Case("spin-up-beam", _sample("spin-up-beam"), 1.0),
    Case("deluca falls", _sample("deluca-siciliano", gravity=DOWN, stiffening=True), 0.2),
    Case("tg-rr falls", _sample("tg-rr", gravity=DOWN, stiffening=True), 0.3),
    Case("tg-rr-payload falls", _sample("tg-rr-payload", gravity=DOWN, stiffening=True), 0.3),
    Case("tg-rr-elements falls", _sample("tg-rr-elements", gravity=DOWN, stiffening=True), 0.3),
    Case("count-2-2-2 falls", _sample("count-2-2-2", gravity=DOWN), 0.3),
    Case("chen-two-link-rigid-joints", _sample("chen-two-link-rigid-joints"), 0.5),
    Case("chen-rotating-link", _sample("chen-rotating-link"), 0.5),
    Case("crossed-joints", _sample("crossed-joints"), 0.3),
)


def held(joints: tuple[str, str], *, shapes: str = "", more: str = "") -> Callable[[], Arm]:
    """Make two links whose joints are held by something, and fall or follow it."""
    lengths, weights, stiffnesses = (0.8, 0.6), (1.5, 0.8), (300, 60)
    links = "".join(
        f"  - {{joint: {{kind: revolute, {joint}}}, length: {length}, damping: 0.005{shapes},"
        f" section: {{mass_per_length: {weight}, EIz: {stiffness}}}}}\n"
        for joint, length, weight, stiffness in zip(
            joints, lengths, weights, stiffnesses, strict=True
        )
    )
    return lambda: loads(f"flexarm: 1\nname: held\ngravity: {DOWN}\nlinks:\n{links}{more}\n")


def servos(stiffness: float, rest: str = "") -> tuple[str, str]:
    """Write servos that swing the first joint and hold the second."""
    target = "target: {kind: cycloid, start: 0, end: 1, duration: 0.3}"
    pairs = ((stiffness, stiffness / 30), (stiffness / 3, stiffness / 100))
    gains = [f"stiffness: {k}, damping: {d}{rest}" for k, d in pairs]
    return f"servo: {{{gains[0]}, {target}}}", f"servo: {{{gains[1]}}}"


CLAMPED = ", shapes: {kind: clamped-free, bending_y: 2}"
STOPPED = "events: [{at: 0.2, brake: [joint1]}]"
HELD = (
    Case("servos", held(servos(300)), 0.5),
    Case("servos, clamped-free", held(servos(3000), shapes=CLAMPED), 0.5),
    Case("servos, stiff", held(servos(30000)), 0.5),
    Case("servos, cut", held(servos(3000, ", effort: 20"), shapes=CLAMPED), 0.5),
    Case("servos, limits far away", held(servos(3000, ", effort: 2000"), shapes=CLAMPED), 0.5),
    Case("brake closes", held(("brake: {closed: false}", "actuation: free"), more=STOPPED), 0.5,
         2500),
    Case("brake opens", held(("brake: {closed: true}", "actuation: free"),
                             more="events: [{at: 0.2, release: [joint1]}]"), 0.5),
)  # fmt: skip


@cache
def cases() -> dict[str, Case]:
    """List all cases by name."""
    made = [Case(f"random {k}", lambda k=k: random_motion(k), 0.5) for k in SEEDS]  # type: ignore[misc]
    return {case.name: case for case in (*SAMPLES, *HELD, *made)}


def converged(arm: Arm, more: int = MORE, rods: int = RODS) -> Arm:
    """Put an arm on more shapes in every direction that its sections give a stiffness to."""
    links = []
    for link, part in zip(arm.links, build(arm, stiffening=False).links, strict=True):
        if link.flexible and link.section is not None:
            span = Span.of(link.section, link.span)
            own = part.beam.shapes if part.body.one_length else None
            y, z, twist = (len(own.moving(d)) if own else 0 for d in ("y", "z", "twist"))
            most = max(y, z)
            bending = min(most + more - (span.has("EIy") and span.has("EIz")), MOST)
            shapes = Polynomials(
                kind="polynomials", bending_y=bending * span.has("EIz"),
                bending_z=bending * span.has("EIy"), torsion=max(rods, twist + 1) * span.has("GJ"),
                stretch=rods * span.has("EA"),
            )  # fmt: skip
            link = link.model_copy(update={"shapes": shapes})
        links.append(link)
    return arm.model_copy(update={"links": type(arm.links)(links)})
