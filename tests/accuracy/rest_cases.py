"""Random arms at rest, bent in a plane, beside the same as a chain of elastica."""

import json
from typing import Any

import numpy as np

from flexarm.arm import Arm
from flexarm.io.model_file import loads
from tests.accuracy.elastica import Array, Chain, Rod, rod_tip

FAMILIES = ("arm-modes", "loaded", "clamped-free", "polynomials", "craig-bampton", "elements")


def random_chain(seed: int) -> tuple[Arm, Chain]:
    """Make one or two soft links, bent by weight, a payload or a torque at their tips."""
    draw = np.random.default_rng([44, seed])
    count = int(draw.integers(1, 3))
    lengths, weights = draw.uniform(0.4, 1.5, count), draw.uniform(0.3, 2.0, count)
    payload = float(draw.choice([0.0, 0.5, 3.0]))
    gravity = float(draw.choice([9.81, 9.81, 0.0]))
    rods, links = [], []
    for i in range(count):
        mass = float(weights[i:] @ lengths[i:]) + payload
        moment = mass * 9.81 * float(lengths[i:].sum()) / 2
        slope = float(np.exp(draw.uniform(np.log(0.02), np.log(1.2))))
        stiffness = moment * float(lengths[i]) / (2 * slope)
        angle = float(draw.uniform(-1.2, 1.2))
        loaded = draw.random() < 0.5 or not gravity
        torque = float(draw.uniform(-0.7, 0.7)) * moment if loaded else 0.0
        rods.append(Rod(float(lengths[i]), float(weights[i]), stiffness, angle, torque))
        family, number = str(draw.choice(FAMILIES)), int(draw.integers(1, 4))
        link: dict[str, Any] = {
            "joint": {"kind": "fixed", "before": {"rotation": [0, 0, angle]}},
            "length": float(lengths[i]),
            "section": {"mass_per_length": float(weights[i]), "EIz": stiffness},
            "shapes": {"kind": family, "bending_y": number},
        }
        if torque:
            link["wrenches"] = [{"torque": [0, 0, torque]}]
        links.append(link)
    arm: dict[str, Any] = {
        "flexarm": 1, "name": f"bent {seed}", "gravity": [0, -gravity, 0], "links": links,
        "start": "equilibrium",
    }  # fmt: skip
    if payload:
        arm["payload"] = {"mass": payload}
    return loads(json.dumps(arm)), Chain(tuple(rods), payload, gravity)


def random_rod(seed: int) -> tuple[Arm, Array]:
    """Make a link that weight bends in space, and find where its tip is by shooting [m], (3,)."""
    draw = np.random.default_rng([45, seed])
    length, weight = float(draw.uniform(0.4, 1.5)), float(draw.uniform(0.3, 2.0))
    payload = float(draw.choice([0.0, 0.5, 3.0]))
    moment = (weight * length / 2 + payload) * 9.81 * length
    about_y, about_z, torsion = (
        moment * length / (2 * float(np.exp(draw.uniform(np.log(0.02), np.log(0.8)))))
        for _ in range(3)
    )
    stretched = seed % 3 == 0
    axial = (weight * length + payload) * 9.81 / float(np.exp(draw.uniform(-9, -5)))
    gravity = draw.normal(size=3)
    gravity[0] = abs(gravity[0])  # pulled, not pushed
    gravity *= 9.81 / np.linalg.norm(gravity)
    section = {"mass_per_length": weight, "EIy": about_y, "EIz": about_z, "GJ": torsion,
               "Jx": 1e-6}  # fmt: skip
    section |= {"EA": axial} if stretched else {}
    shapes: dict[str, Any] = {"kind": str(draw.choice(FAMILIES[:-1]))}
    shapes |= {key: int(draw.integers(1, 4)) for key in ("bending_y", "bending_z")}
    shapes["torsion"] = int(draw.integers(0, 3))
    link = {"joint": {"kind": "fixed"}, "length": length, "section": section, "shapes": shapes}
    arm: dict[str, Any] = {
        "flexarm": 1, "name": f"rod {seed}", "gravity": gravity.tolist(), "links": [link],
    }  # fmt: skip
    if payload:
        arm["payload"] = {"mass": payload}
    stiffness = (torsion, about_y, about_z, axial if stretched else np.inf)
    return loads(json.dumps(arm)), rod_tip(length, weight, stiffness, payload, gravity)
