"""Random arms and motions that no error estimate was made on, and their true errors.

``python -m tests.accuracy.blind 0 60 --out FILE`` measures cases 0 to 59: the true errors, by
polynomials of high degree with every stiffness, shear and rotary inertia at a small tolerance, and
what the runs, equilibria and modes say of their own.  It prints a line for each.
"""

import argparse
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import flexarm
from flexarm.accuracy.integration import common_samples, relative_differences
from flexarm.arm import Arm
from flexarm.arm.shapes import Counted
from flexarm.engine.compile import EFFORT
from flexarm.errors import FlexarmError
from flexarm.io.model_file import loads
from flexarm.linear.equilibrium import equilibrium
from flexarm.mechanics.deformed import flexible_links, tip_deflection
from flexarm.model import Model
from flexarm.runs.run import Run
from flexarm.spatial import Array
from tests.accuracy.motions import converged

KINDS = (
    "falls", "driven", "in space", "at rest", "modes", "rigid", "free base", "stubby", "contact",
    "servo",
)  # fmt: skip
FAMILIES = ("arm-modes", "loaded", "clamped-free", "polynomials", "clamped-mass")
LAST = 300
# Of the truth: its tolerance; shapes beyond the arm's, in motions and about states of rest.
TRUE_RTOL, MORE, MORE_AT_REST, RODS, RODS_AT_REST = 1e-6, 7, 8, 2, 5


@dataclass(frozen=True)
class Case:
    """A random arm, how long it moves [s], and what is asked of it."""

    seed: int
    kind: str
    arm: Arm
    t_end: float

    def run(self, arm: Arm, rtol: float = 1e-3, errors: Any = "off") -> Run:
        """Run the arm, or the same on other shapes."""
        return flexarm.simulate(arm, t_end=self.t_end, dt=self.t_end / 400, rtol=rtol,
                                errors=errors, allow_long=True)  # fmt: skip


def case(seed: int) -> Case:
    """Make a case: the kind goes round, all else is drawn."""
    draw, kind = np.random.default_rng([2026, 49, seed]), KINDS[seed % len(KINDS)]
    space = kind == "in space" or (kind in ("at rest", "modes", "stubby") and draw.random() < 0.4)
    space = space or kind == "free base"
    count = 1 if space or kind == "contact" else int(draw.integers(1, 3))
    lengths, weights = draw.uniform(0.4, 1.5, count), draw.uniform(0.3, 2.5, count)
    payload = float(draw.choice([0.0, 0.5])) * float(weights[-1] * lengths[-1])
    links = [
        _link(draw, kind, k, lengths, weights, payload, space=space) for k in range(count)
    ]  # fmt: skip
    arm: dict[str, Any] = {"flexarm": 1, "name": f"blind {seed}", "links": links}
    arm["gravity"] = _gravity(draw, kind, space=space)
    if payload:
        arm["payload"] = {"mass": payload}
    if kind == "at rest":
        arm["start"] = "equilibrium"
    if kind == "free base":
        mass = float(draw.uniform(2, 20))
        size = mass * float(draw.uniform(0.02, 0.2))
        arm["base"] = {"kind": "free", "body": {"mass": mass, "inertia": [size, 1.3 * size, size]}}
    if kind == "contact":
        floor = {"kind": "plane", "point": [0, -float(draw.uniform(0.05, 0.3)), 0],
                 "normal": [0, 1, 0]}  # fmt: skip
        arm["contacts"] = [{"name": "floor", "stiffness": 1e4, "damping": 2.0, "obstacle": floor}]
    t_end = {"at rest": 0.01, "rigid": float(draw.uniform(5, 60)), "contact": 0.6}
    return Case(seed, kind, loads(json.dumps(arm)), t_end.get(kind, float(draw.uniform(0.3, 1.0))))


def _gravity(draw: np.random.Generator, kind: str, *, space: bool) -> list[float]:
    if kind == "free base" or (kind in ("driven", "stubby") and draw.random() < 0.5):
        return [0.0, 0.0, 0.0]
    return [0.0, -6.9, -6.9] if space else [0.0, -9.81, 0.0]


def _link(
    draw: np.random.Generator, kind: str, k: int, lengths: Array, weights: Array, payload: float,
    *, space: bool,
) -> dict[str, Any]:  # fmt: skip
    length, weight = float(lengths[k]), float(weights[k])
    mass, reach = float(weights[k:] @ lengths[k:]) + payload, float(lengths[k:].sum())
    moment = mass * 9.81 * reach / 2
    link: dict[str, Any] = {"length": length, "joint": _joint(draw, kind, k, moment, space=space)}
    if kind == "rigid":
        inertia = weight * length**3 / 12
        body = {"mass": weight * length, "com": [length / 2, 0, 0], "inertia": [inertia] * 3}
        return link | {"body": body}
    slope = float(np.exp(draw.uniform(*np.log([0.01, 0.8]))))
    stiffness = moment * length / (2 * slope)
    link["section"] = _section(draw, kind, weight, stiffness, length, space=space)
    link["damping"] = float(draw.choice([0.0, 0.005, 0.03]))
    shapes: dict[str, Any] = {"kind": str(draw.choice(FAMILIES))}
    shapes["bending_y"] = int(draw.integers(1, 4))
    if space:
        shapes |= {"bending_z": int(draw.integers(1, 3)), "torsion": int(draw.integers(0, 2))}
    if not space:
        shapes |= {"bending_z": 0, "torsion": 0}
    link["shapes"] = shapes
    if kind in ("at rest", "modes") and draw.random() < 0.5:
        link["wrenches"] = [{"at": "tip", "force": [0, float(draw.normal()) * moment / reach, 0]}]
    return link


def _joint(
    draw: np.random.Generator, kind: str, k: int, moment: float, *, space: bool
) -> dict[str, Any]:
    angle = float(draw.uniform(-1.2, 1.2))
    if kind in ("at rest", "modes"):
        return {"kind": "fixed", "before": {"rotation": [0, 0, angle]}}
    axis = [[0, 0, 1], [0, 1, 0], [0, 0.6, 0.8]][int(draw.integers(3))] if space else [0, 0, 1]
    joint: dict[str, Any] = {"kind": "revolute", "axis": axis}
    if kind == "contact":
        return joint | {"actuation": "free"}
    if kind in ("falls", "rigid"):
        start = {"position": angle, "speed": float(draw.normal())}
        return joint | {"actuation": "free", "start": start}
    if kind == "servo":
        stiffness = moment * float(np.exp(draw.uniform(*np.log([10, 300]))))
        target = {"kind": "cycloid", "start": 0, "end": angle, "duration": 0.3}
        effort = moment * float(np.exp(draw.uniform(*np.log([1.5, 20]))))
        servo = {"stiffness": stiffness, "damping": stiffness / 20, "effort": effort}
        return joint | {"servo": servo | {"target": target}}
    if kind in ("driven", "stubby") and draw.random() < 0.4:
        motion = {"kind": "cycloid", "start": 0, "end": angle, "duration": 0.4}
        return joint | {"actuation": "prescribed", "motion": motion}
    joint["hub"] = {"outboard": {"inertia": [moment * float(draw.uniform(0.005, 0.05))] * 3}}
    size = moment * float(draw.uniform(0.1, 0.5))
    if draw.random() < 0.5:
        return joint | {"input": {"kind": "bang-bang", "amplitude": size, "times": [0, 0.2, 0.4]}}
    return joint | {"input": {"kind": "sine", "amplitude": size, "frequency": 2.0}}


def _section(
    draw: np.random.Generator, kind: str, weight: float, stiffness: float, length: float, *,
    space: bool,
) -> dict[str, Any]:  # fmt: skip
    if kind != "stubby" and draw.random() < 0.5:
        numbers = {"mass_per_length": weight, "EIz": stiffness}
        if space:
            numbers |= {"EIy": stiffness * float(draw.uniform(0.5, 2)), "GJ": stiffness * 0.7,
                        "Jx": weight * length**2 * 1e-3}  # fmt: skip
        if draw.random() < 0.5:
            inertia = weight * length**2 * float(np.exp(draw.uniform(*np.log([1e-4, 0.03]))))
            numbers |= {"Jy": inertia, "Jz": inertia, "Jx": 2 * inertia}
        return numbers
    slenderness = draw.uniform(8, 20) if kind == "stubby" else draw.uniform(25, 60)
    size = length / float(slenderness)
    if draw.random() < 0.5:
        area, second = np.pi * size**2 / 4, np.pi * size**4 / 64
        shape = {"kind": "tube", "diameter": size}
    else:  # bends most along its width
        area, second = 2 * size**2, 2 * size**4 / 12
        shape = {"kind": "rectangle", "width": size, "height": 2 * size}
    material = {"E": stiffness / second, "density": weight / area, "nu": 0.3}
    return {"material": material, "shape": shape}


def truth(arm: Arm, more: int = MORE, rods: int = RODS) -> Arm:
    """Put an arm on many polynomials, with every stiffness, and shear where it has an outline."""
    links = []
    for link, own in zip(converged(arm, more, rods).links, arm.links, strict=True):
        section = link.section
        if link.flexible and section is not None:
            flat = isinstance(own.shapes, Counted) and own.shapes.bending_z == 0
            if flat:
                shapes = link.shapes.model_copy(update={"bending_z": 0, "torsion": 0})
                link = link.model_copy(update={"shapes": shapes})
            if section.shape is not None:
                section = section.model_copy(update={"shear": True})
                link = link.model_copy(update={"section": section})
        links.append(link)
    return arm.model_copy(update={"links": type(arm.links)(links), "stiffening": True})


@dataclass(frozen=True)
class Measured:
    """The true error of a case by quantity, and what is computed and estimated of it."""

    seed: int
    kind: str
    quantity: str
    true: float
    computed: float | None
    estimated: float | None = None
    note: str = ""

    @property
    def ratio(self) -> float:
        """Computed over true error; infinite if there is no error beyond what the truth has."""
        if self.computed is None:
            return float("nan")
        return self.computed / self.true if self.true > 0 else float("inf")


def deflection_errors(model: Model, q: Array, best: Model, best_q: Array) -> float:
    """Return the largest error of a tip deflection over its range or its size."""
    worst = 0.0
    for part, other in zip(model.links, best.links, strict=True):
        if part.flexible:
            true = tip_deflection(best, other, best_q)
            size = max(float(np.ptp(true, axis=0).max()), float(np.abs(true).max()))
            if size > 1e-9 * part.length:
                apart = float(np.abs(tip_deflection(model, part, q) - true).max())
                worst = max(worst, apart / size)
    return worst


def measure(seed: int) -> list[Measured]:
    """Measure a case."""
    made = case(seed)
    if made.kind == "modes":
        return _of_modes(made)
    if made.kind == "at rest":
        return _at_rest(made)
    run = made.run(made.arm, errors="computed")
    tight = made.run(made.arm, rtol=1e-8)
    rows = common_samples(run.t, tight.t)
    solved = float(
        relative_differences(run.model, run.motion, rows[0], tight.motion, rows[1]).max()
    )
    found = [Measured(seed, made.kind, "integration", solved, run.errors.integration)]
    if flexible_links(run.model):
        best = made.run(truth(made.arm), rtol=TRUE_RTOL)
        mine, theirs = common_samples(run.t, best.t)
        true = deflection_errors(run.model, run.q[mine], best.model, best.q[theirs])
        estimated = made.run(made.arm, errors="estimated").errors
        found.append(
            Measured(seed, made.kind, "deflection", true, _without_strain(run), 
                     _total(estimated), _note(run))
        )  # fmt: skip
        if run.errors.compared is not None:
            apart = float(np.linalg.norm(run.tip[mine] - best.tip[theirs], axis=1).max())
            tip = run.errors.compared.tip
            found.append(Measured(seed, made.kind, "tip [m]", apart, tip, None, _note(run)))
    return found


def _note(run: Run) -> str:
    errors, compared = run.errors, run.errors.compared
    parts = {name: value and float(f"{value:.2g}") for name, value in errors.parts.items()}
    return (
        f"shapes {errors.shapes}, model {errors.model}, {parts}, integration {errors.integration}, "
        f"converged {compared and compared.converged} {errors.why}"
    )


def _without_strain(run: Run) -> float | None:
    total = _total(run.errors)
    return None if total is None else total - (run.errors.parts["strain"] or 0.0)


def _total(errors: Any) -> float | None:
    return None if errors.total is None else float(errors.total)


def _at_rest(made: Case) -> list[Measured]:
    rest, best = equilibrium(made.arm), equilibrium(truth(made.arm, MORE_AT_REST, RODS_AT_REST))
    true = deflection_errors(rest.model, rest.q[None], best.model, best.q[None])
    errors = rest.errors
    stated = None
    if errors.shapes is not None and errors.model is not None:
        stated = errors.shapes + errors.model - (errors.parts["strain"] or 0.0)
    note = f"shapes {errors.shapes}, model {errors.model} {errors.parts} {errors.why}"
    return [Measured(made.seed, made.kind, "deflection", true, stated, None, note)]


def _of_modes(made: Case) -> list[Measured]:
    modes, best = (
        flexarm.modes(arm, joints="locked")
        for arm in (made.arm, truth(made.arm, MORE_AT_REST, RODS_AT_REST))
    )
    true_hz = np.array([mode.frequency_hz for mode in best.modes])
    found = []
    for mode, errors in list(zip(modes.modes, modes.errors, strict=True))[:2]:
        # neighbours may change places: the nearest frequency is the mode's, at least
        near = true_hz[np.argmin(np.abs(true_hz - mode.frequency_hz))]
        true = abs(mode.frequency_hz - near) / near
        stated = None if errors is None else errors.total
        found.append(Measured(made.seed, made.kind, mode.name, float(true), stated, None,
                              str(errors)))  # fmt: skip
    return found


def main() -> None:
    """Measure a range of cases."""
    parser = argparse.ArgumentParser(description="Measure stated errors over true ones.")
    parser.add_argument("first", type=int)
    parser.add_argument("last", type=int)
    parser.add_argument("--out", type=Path, metavar="FILE", help="append all as JSON lines")
    args = parser.parse_args()
    EFFORT["fast"] = EFFORT["quick"]
    for seed in range(args.first, args.last):
        try:
            found = measure(seed)
        except FlexarmError as error:
            print(f"{seed} {KINDS[seed % len(KINDS)]}: {error}", flush=True)
            continue
        for each in found:
            if args.out:
                with args.out.open("a") as file:
                    file.write(json.dumps(asdict(each)) + "\n")
            low = "" if not each.ratio < 1 else "  LOW " + each.note
            print(f"{seed} {each.kind} {each.quantity}: true {each.true:.3g}, computed "
                  f"{each.computed}, estimated {each.estimated}, ratio {each.ratio:.3g}{low}",
                  flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
