"""An arm that bumps into a wall, rigid and flexible, against the law of the contact.

By m x'' = -k x^n (1 + c x') the quantity c v - ln(1 + c v) is the same before the bounce, at
the speed v of the tip, and after it at -e v. A flexible link keeps part of the energy as vibration.
"""

import math

import flexarm
from flexarm.io.model_file import loads

arm = loads("""
flexarm: 1
name: bumper
gravity: [0, 0, 0]
links:
  - joint: {kind: revolute, actuation: free, start: {position: -30 deg, speed: 2}}
    length: 1
    section: {mass_per_length: 1, EIz: 400}
    rigid: true
contacts:
  - {name: wall, obstacle: {kind: plane, normal: [0, -1, 0]}, stiffness: 1.0e8, damping: 0.3}
""")
rigid = flexarm.simulate(arm, t_end=0.5, rtol=1e-6)
e = -rigid.v[-1, 0] / 2
exact = 1.0
for _ in range(20):  # Newton's method
    x = 0.6 * exact
    exact += (0.6 - math.log1p(0.6) + x + math.log1p(-x)) * (1 - x) / x / 0.6
assert abs(e / exact - 1) < 1e-5
bends = flexarm.change_arm(arm, {"links.1.rigid": False})
run = flexarm.simulate(bends, t_end=0.5, dt=2e-5, rtol=1e-6)
assert run.energy_balance < 1e-5
touched = run.contacts().sel(contact="wall")
milliseconds = 1e3 * 2e-5 * int((touched.penetration > 0).sum())
print(
    f"flexible: {milliseconds:.2f} ms in contact, {float(touched.normal_force.max()):.0f} N at most"
)
print(f"rigid: the tip keeps {e:.5f} of its speed, by the law {exact:.5f}")
