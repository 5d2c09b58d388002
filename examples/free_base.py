"""A boom on a satellite is turned to and fro: momentum stays zero, whatever bends.

No external force acts, so momentum, angular momentum and the centre of mass do not change while
the satellite turns against the boom.
"""

import numpy as np

import flexarm
from flexarm.io.model_file import loads

arm = loads("""
flexarm: 1
name: boom on a satellite
gravity: [0, 0, 0]
base: {kind: free, body: {mass: 200, inertia: [30, 30, 40]}}
links:
  - joint:
      kind: revolute
      before: {position: [0.5, 0, 0]}
      input: {kind: bang-bang, amplitude: 4 N m, times: [0, 2, 4]}
    length: 3
    section: {mass_per_length: 1.5, EIz: 400}
    shapes: {kind: loaded, root: free, bending_y: 2}
payload: {mass: 5}
""")
run = flexarm.simulate(arm, t_end=6, rtol=1e-6)
end = np.degrees(run.dataset.q.sel(coordinate=["joint1", "base.rz"]).isel(time=-1).values)
print(f"the joint turned by {end[0]:.1f} deg, the satellite by {end[1]:.1f} deg")

found = run.momenta()
for name in ("linear_momentum", "angular_momentum"):
    assert float(abs(found[name]).max()) < 1e-6
centre = float(found.centre_of_mass.sel(axis="x").isel(time=-1))
exact = (1.5 * 3 * (0.5 + 1.5) + 5 * 3.5) / (200 + 1.5 * 3 + 5)  # as it was at the start
assert abs(centre - exact) < 1e-6
print(f"momenta 0; centre of mass at x = {centre:.6f} m, at the start {exact:.6f} m")
