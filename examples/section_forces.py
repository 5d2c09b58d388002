"""Bending moment along a loaded cantilever, against statics.

The payload and the part of the beam outboard of x exert the moment
(m (L - x)/2 + M) g (L - x). The arm starts in its equilibrium, and stays there.
"""

import flexarm
from flexarm.control import start_at
from flexarm.io.model_file import loads

arm = loads("""
flexarm: 1
name: crane
gravity: [0, -9.81, 0]
stiffening: false
links:
  - joint: {kind: fixed}
    length: 2
    section: {mass_per_length: 3, EIz: 5000}
    shapes: {kind: polynomials, bending_y: 3}
payload: {mass: 4}
""")
model = flexarm.build(arm)
held = start_at(arm, model, flexarm.equilibrium(arm).q)
run = flexarm.simulate(held, t_end=0.1)
along = run.section_forces([0.0, 0.5]).moment.sel(link="link1", axis="z").isel(time=-1)
for x, moment in zip((0.0, 1.0), along.values, strict=True):
    exact = -(3 * (2 - x) / 2 + 4) * 9.81 * (2 - x)
    assert abs(moment / exact - 1) < 1e-6
    print(f"moment at {x} m: {moment:.3f} N m, statics {exact:.3f} N m")
