"""A pendulum whose numbers are fitted, and what was measured of it."""

from typing import Any

import numpy as np

ARM = """
flexarm: 1
name: pendulum
links:
  - joint:
      name: shoulder
      kind: revolute
      before: {rotation: [90 deg, 0, 0]}
      friction: {viscous: 0.3}
      spring: {stiffness: 2.0, damping: 0.2}
    length: 0.5
    body: {mass: 1.0, com: [0.25, 0, 0], inertia: [0, 0.02, 0.02]}
"""
TRUTH = {"links.1.body.mass": 1.3, "links.1.joint.friction.viscous": 0.2}
NOISE = 0.01  # [rad]
OFFSET = 0.05  # [rad]


def noisy(exact: dict[str, Any], seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    noise = np.degrees(NOISE) * rng.normal(size=len(exact["time_s"]))
    return exact | {"angle_deg": exact["angle_deg"] + noise}
