"""A small arm, a study of it, and functions that studies ask."""

import math
import os
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flexarm.arm import Arm
from flexarm.io.model_file import loads
from flexarm.runs.run import Run

ARM = """
flexarm: 1
name: link
gravity: [0, 0, 0]
stiffening: false
links:
  - joint: {kind: revolute, limits: {upper: 0.5}, hub: {outboard: {inertia: [0, 0, 0.1]}}}
    length: 1
    section: {mass_per_length: 1.3, EIz: 50}
    shapes: {kind: clamped-free, bending_y: 2}
    wrenches: [{force: [0, 0.7, 0], factor: {kind: sine, amplitude: 1, frequency: 2}}]
"""
EIZ = "links.1.section.EIz"


def link() -> Arm:
    """Give the arm."""
    return loads(ARM)


def plan(**other: Any) -> dict[str, Any]:
    """Describe a study of the arm."""
    return {
        "arm": link(),
        "parameters": {EIZ: [40, 60], "start.joint1.rate": ["-1 rad/s", "0.5 rad/s"]},
        "sampling": {"kind": "latin-hypercube", "count": 6, "seed": 3},
        "run": {"t_end": "0.2 s", "dt": 0.02, "method": "dop853"},
        "quantities": {"peak": "link1 tip deflection y: peak", "last": "joint1: last"},
        "workers": 1,
        **other,
    }


def tip_work(run: Run) -> float:
    """Tell the largest height of the tip."""
    return float(run.tip[:, 1].max())


def ishigami(design: Mapping[str, float]) -> float:
    """Give the function of Ishigami and Homma."""
    x, y, z = design["x"], design["y"], design["z"]
    return math.sin(x) + 7 * math.sin(y) ** 2 + 0.1 * z**4 * math.sin(x)


def logged(design: Mapping[str, float]) -> float:
    """Note the call, and take a moment, or wait to be killed if STUDY_STICKS is set."""
    handle = os.open(os.environ["STUDY_LOG"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(handle, f"{design['x']!r}\n".encode())
    os.close(handle)
    if os.environ.get("STUDY_STICKS"):
        signal.pause()
    time.sleep(0.001)
    return 2 * design["x"]


def deadly(design: Mapping[str, float]) -> float:
    """End the process at a design, once."""
    once = Path(os.environ["STUDY_LOG"])
    if design["x"] > 0.5 and not once.exists():
        once.touch()
        os.kill(os.getpid(), 9)
    return design["x"]


def picky(design: Mapping[str, float]) -> float:
    """Have no number for some."""
    if design["x"] > 0.5:
        raise ValueError("too large")
    return design["x"]
