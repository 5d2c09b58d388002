"""Random missions: arms of every kind with servos, brakes, stops and events of every kind.

``python -m tests.integrate.missions 0 100`` flies missions 0 to 99 by two formulations, with an
energy audit, and prints how each went and the worst of all.
"""

import argparse
import re
import time
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

import flexarm
from flexarm.arm import Arm
from flexarm.errors import FlexarmError
from flexarm.integrate.mission.event_functions import quantities
from flexarm.io.model_file import change_arm
from flexarm.model import Axis, Model, build
from flexarm.runs.run import Run
from flexarm.spatial import Array
from tests.integrate.promise import thrown
from tests.patience import HANGS
from tests.physics.random_arms import random_arm

T_END = 0.5
BALANCE = 1e-8
KEPT = 1e-8  # of the momentum exchanged
APART = 1e-5  # of the range of a coordinate


@dataclass(frozen=True)
class Outcome:
    """How a mission went."""

    number: int
    ending: str
    fault: str = ""
    balance: float = 0.0
    gone: float = 0.0
    apart: float = 0.0


def mission(number: int) -> Arm:
    """Give the mission of a number."""
    random = np.random.default_rng([number, 77])
    arm = thrown(random_arm(number).arm, number) if number % 2 else random_arm(number).arm
    model = build(arm)
    driven = [axis for axis in model.axes if axis.driven]
    changes: dict[str, Any] = {}
    servoed, braked = [], []
    for axis in driven:
        key = _key(axis)
        if random.random() < 0.6:
            changes[f"{key}.servo"] = _servo(random)
            servoed.append(axis.name)
        if random.random() < 0.6 and _can_brake(model, axis):
            changes[f"{key}.brake"] = _brake(random)
            braked.append(axis.name)
        if random.random() < 0.5:
            changes |= _drive_train(random, model, axis)
    changes["bodies"] = [_body(random)]
    arm = change_arm(arm, changes)
    return change_arm(arm, {"events": _events(random, build(arm), servoed, braked)})


def _key(axis: Axis) -> str:
    return ".".join(filter(None, (f"links.{axis.link + 1}.joint", axis.label)))


def _can_brake(model: Model, axis: Axis) -> bool:
    return axis.motor is not None or not np.any(model.links[axis.link].body.root_turn)


def _servo(random: np.random.Generator) -> dict[str, Any]:
    servo: dict[str, Any] = {"stiffness": float(random.uniform(5, 60))}
    if random.random() < 0.8:
        servo["damping"] = float(random.uniform(0.5, 6))
        if random.random() < 0.3:
            servo["speed"] = float(random.uniform(0.1, 1))
    if random.random() < 0.3:
        servo["integral_time"] = float(random.uniform(0.1, 1))
    if random.random() < 0.4:
        servo["effort"] = float(random.uniform(0.5, 10))
    if random.random() < 0.2:
        servo |= {"period": 0.02, "delay": float(random.choice([0.0, 0.013]))}
    if random.random() < 0.3:
        servo["target"] = {"kind": "sine", "amplitude": 0.2, "frequency": 2.0}
    return servo


def _friction(random: np.random.Generator, kinds: list[str]) -> dict[str, Any]:
    friction: dict[str, Any] = {"kind": str(random.choice(kinds))}
    friction |= {"viscous": float(random.uniform(0, 0.2)), "coulomb": float(random.uniform(0.1, 2))}
    if friction["kind"] != "smooth" and random.random() < 0.6:
        friction["static"] = friction["coulomb"] * float(random.uniform(1, 2))
        friction["stribeck_speed"] = float(random.uniform(0.02, 0.5))
    if friction["kind"] == "lugre":
        friction["bristle_stiffness"] = float(random.uniform(20, 400))
        friction["bristle_damping"] = float(random.uniform(0, 2))
    return friction


def _drive_train(random: np.random.Generator, model: Model, axis: Axis) -> dict[str, Any]:
    """Give an axis friction and, where it can have one, a motor and a worse transmission."""
    key, kinds = _key(axis), ["lugre", *["dry"] * _can_brake(model, axis)]
    found: dict[str, Any] = {}
    if axis.motor is None:
        found[f"{key}.friction"] = _friction(random, kinds)
    if axis.label:
        return found
    drive: dict[str, Any] = {"friction": _friction(random, ["smooth", *kinds])}
    if random.random() < 0.5:
        motor: dict[str, Any] = {
            "torque_constant": float(random.uniform(0.05, 1)),
            "resistance": 0.8,
        }
        if random.random() < 0.5:
            motor |= {"input": "voltage", "inductance": float(random.uniform(1e-3, 0.1))}
        if random.random() < 0.5:
            motor["current_limit"] = float(random.uniform(0.1, 3))
        drive |= {"motor_torque": False, "motor": motor}
    if axis.motor is not None:
        drive |= {"backlash": 0.01, "hysteresis": {"effort": 0.5, "stiffness": 50.0}}
        drive["kinematic_error"] = {"amplitude": 1e-3, "phase": float(random.uniform(0, 6))}
        drive["efficiency"] = float(random.choice([1.0, 0.9]))
    if axis.acts.drive is None:
        return found | {f"{key}.drive": drive}
    return found | {f"{key}.drive.{name}": value for name, value in drive.items()}


def _brake(random: np.random.Generator) -> dict[str, Any]:
    brake: dict[str, Any] = {"closed": bool(random.random() < 0.5)}
    if random.random() < 0.6:
        brake["effort"] = float(random.uniform(0.5, 20))
    return brake


def _body(random: np.random.Generator) -> dict[str, Any]:
    return {
        "name": "ball",
        "body": {
            "mass": float(random.uniform(0.1, 2)),
            "com": random.uniform(-0.2, 0.2, 3).tolist(),
            "inertia": random.uniform(0.01, 0.02, 3).tolist(),
        },
        "position": random.uniform(-1, 1, 3).tolist(),
        "velocity": random.uniform(-1, 1, 3).tolist(),
        "spin": (random.uniform(-2, 2, 3) * (random.random() < 0.5)).tolist(),
        "reach": 100.0,
    }


def _events(
    random: np.random.Generator, model: Model, servoed: list[str], braked: list[str]
) -> list[dict[str, Any]]:
    kinds = ["capture", "let_go", "attach", "end", *["brake", "release"] * bool(braked)]
    kinds += ["servo"] * bool(servoed)
    q = flexarm.model.start_state(model)[0]
    events: list[dict[str, Any]] = []
    for kind in random.permutation(kinds)[: random.integers(1, 5)].tolist():
        event: dict[str, Any] = {"at": float(random.choice([0.1, 0.2, random.uniform(0, T_END)]))}
        if random.random() < 0.4:
            event = {"when": _when(random, model, q), "after": float(random.uniform(0, 0.2))}
        if kind in ("brake", "release"):
            event[kind] = [str(random.choice(braked))]
        elif kind == "servo":
            target = {"kind": "constant", "value": float(random.uniform(-0.3, 0.3))}
            event["servo"] = {str(random.choice(servoed)): {"target": target}}
        elif kind == "attach":
            damping = float(random.uniform(0, 5))
            event[kind] = {"name": "rope", "stiffness": 40.0, "damping": damping}
            if random.random() < 0.5:
                sway = {"kind": "sine", "amplitude": 0.3, "frequency": 1.0}
                event[kind]["path"] = [sway, {"kind": "constant", "value": 0.5}, sway]
        elif kind == "end":
            event = {"at": 0.9 * T_END, "end": True}
        else:
            event[kind] = "ball" if kind == "capture" else str(random.choice(["ball", "payload"]))
        events.append(event)
    return events


def _when(random: np.random.Generator, model: Model, q: Any) -> dict[str, Any]:
    known = [name for name in quantities(model) if not name.startswith("distance")]
    name = str(random.choice(known))
    near = float(q[model.names.index(name)]) if name in model.names else 0.0
    side = "above" if random.random() < 0.5 else "below"
    return {"quantity": name, side: near + float(random.uniform(-0.1, 0.1))}


def fly(arm: Arm, formulation: str) -> Run:
    """Fly a mission with an energy audit; one that hangs is interrupted."""
    begun = time.process_time()

    def stop(t: float) -> None:
        if time.process_time() - begun > HANGS:
            raise KeyboardInterrupt("it hangs")

    return flexarm.simulate(
        arm, t_end=T_END, dt=T_END / 50, energy_audit=True, formulation=formulation,
        progress=stop, allow_long=True,
    )  # fmt: skip


def judge(number: int) -> Outcome:
    """Fly a mission by two formulations, and say what is wrong with it."""
    arm = mission(number)
    try:
        one, other = (fly(arm, name) for name in ("articulated", "composite"))
    except FlexarmError as error:
        return Outcome(number, f"refused: {error}")
    ending = one.status if one.status == "finished" else f"{one.status}: {one.reason}"
    places, others = _places(one), _places(other)
    scale = np.maximum(np.ptp(places, axis=0), 1e-3 * np.ptp(places, axis=0).max() + 1e-12)
    both = np.intersect1d(one.t, other.t, return_indices=True)[1:]  # brakes keep their own instants
    apart = float((np.abs(places[both[0]] - others[both[1]]) / scale).max(initial=0.0))
    balance, gone = float(one.energy_balance), one.momentum_balance or 0.0
    faults = {
        f"did not end: {one.reason}": one.status not in ("finished", "stopped"),
        f"ended without time, cause and advice: {one.reason!r}": one.status == "stopped"
        and not re.search(r"\bat t = \S+ s\b.*[.:] [A-Z].+", one.reason),
        f"balance {balance:.1e}": not balance <= BALANCE,
        f"momentum changes by {gone:.1e}": not gone <= KEPT,
        "formulations differ in what happened": _events_of(one) != _events_of(other),
        f"formulations differ by {apart:.1e}": not apart <= APART,
    }
    fault = next((what for what, wrong in faults.items() if wrong), "")
    return Outcome(number, ending, fault, balance, gone, apart)


def _places(run: Run) -> Array:
    """Give coordinates, and attitudes by their matrices: angles count from where a step ended."""
    turned = [k + i for k in run.model.attitudes for i in range(3)]
    found = [np.delete(run.q, turned, axis=1)]
    for place, k in enumerate(run.model.attitudes):
        reference_attitude = run.reference_attitudes[:, 3 * place : 3 * place + 3]
        attitude = reference_attitude @ Rotation.from_euler("XYZ", run.q[:, k : k + 3]).as_matrix()
        found.append(attitude.reshape(len(run.t), 9))
    return np.hstack(found)


def _events_of(run: Run) -> list[str]:
    """List events; what holds may slip again at one instant, which rounding decides."""
    held = ("brake of", "friction of")
    return [each.what for each in run.event_records if not each.what.startswith(held)]


def main() -> None:
    """Fly missions, and print how each went."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("first", type=int)
    parser.add_argument("last", type=int)
    arguments = parser.parse_args()
    endings: Counter[str] = Counter()
    worst = {"balance": 0.0, "gone": 0.0, "apart": 0.0}
    for number in range(arguments.first, arguments.last):
        begun = time.process_time()
        found = judge(number)
        endings[found.ending.partition(":")[0]] += 1
        worst = {name: max(value, getattr(found, name)) for name, value in worst.items()}
        spent = time.process_time() - begun
        print(f"{number} {spent:.1f} s {found}", flush=True)
    print(dict(endings), worst)


if __name__ == "__main__":
    main()
