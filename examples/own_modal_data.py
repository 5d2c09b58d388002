"""Modes from elsewhere: shapes of a clamped beam, written as modal data, tell of it on a hinge.

The shapes are from a textbook; they could be measured, or come from another program. Four modes of
the clamped beam represent the first mode of a hinged one, of 3.9266^2 sqrt(EI/(m L^4)) rad/s.
"""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import flexarm
from flexarm.io.model_file import loads

ARM = """
flexarm: 1
name: beam with modes from elsewhere
links:
  - joint: {kind: revolute}
    length: 1
    section: {mass_per_length: 1, EIz: 10}
    shapes: {kind: table, file: modes.json}
"""
x, roots = np.linspace(0, 1, 41), np.array([1.8751041, 4.6940911, 7.8547574, 10.9955407])
data = {"modal_data": 1, "name": "beam", "units": {"length": "m", "mass": "kg", "time": "s"}}
data |= {"stations": x.tolist(), "frequencies": (roots**2 * 10**0.5 / (2 * np.pi)).tolist()}
data["modes"] = modes = []
for b in roots:
    k, z = (np.cosh(b) + np.cos(b)) / (np.sinh(b) + np.sin(b)), b * x
    moved = np.outer(np.cosh(z) - np.cos(z) - k * (np.sinh(z) - np.sin(z)), [0, 1, 0])
    turned = np.outer(b * (np.sinh(z) + np.sin(z) - k * (np.cosh(z) - np.cos(z))), [0, 0, 1])
    modes.append({"displacement": moved.tolist(), "rotation": turned.tolist()})
with TemporaryDirectory() as folder:
    Path(folder, "modes.json").write_text(json.dumps(data), encoding="utf-8")
    arm = loads(ARM, folder=folder)
found = flexarm.modes(arm, joints="free").elastic()[0].frequency_hz
exact = 3.9266023**2 * 10**0.5 / (2 * np.pi)
assert abs(found / exact - 1) < 1e-4
print(f"first frequency on a hinge {found:.3f} Hz, exact {exact:.3f} Hz")
