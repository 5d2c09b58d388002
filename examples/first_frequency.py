"""First frequency of a clamped link with a mass at its tip, against the textbook.

A uniform cantilever of mass m that carries M at its tip vibrates where
1 + cos b cosh b + (M/m) b (cos b sinh b - sin b cosh b) = 0, at b^2 sqrt(EI/(m L^3)) rad/s.
"""

import numpy as np
from scipy.optimize import brentq

import flexarm
from flexarm.io.model_file import loads

arm = loads("""
flexarm: 1
name: cantilever with a tip mass
gravity: [0, 0, 0]
links:
  - joint: {kind: fixed}
    length: 2
    section: {mass_per_length: 1.5, EIz: 400}
    shapes: {kind: loaded, bending_y: 2}
payload: {mass: 0.6}
""")


def characteristic(b: float) -> float:
    """Vanish at the roots of the tip-loaded cantilever; M/m is 0.2."""
    cos, sin, cosh, sinh = np.cos(b), np.sin(b), np.cosh(b), np.sinh(b)
    return float(1 + cos * cosh + 0.2 * b * (cos * sinh - sin * cosh))


first = flexarm.modes(arm).modes[0].frequency_hz
exact = brentq(characteristic, 1, 2) ** 2 * np.sqrt(400 / (1.5 * 2**4)) / (2 * np.pi)
assert abs(first / exact - 1) < 1e-9
print(f"first frequency {first:.6f} Hz, exact {exact:.6f} Hz")
