"""The first frequency of a two-link arm over the angle of its elbow, both joints locked.

Stretched out, two equal links are one cantilever of twice the length, so its frequency is known:
1.8751041^2 sqrt(EI/(m l^4)) with l = 2 m. Folded, the arm is shorter and vibrates faster.
"""

import numpy as np

import flexarm

shapes = {"kind": "loaded", "root": "held", "bending_y": 4}
arm = flexarm.change_arm(
    flexarm.example_arm("korayem-two-link"),
    {"gravity": [0, 0, 0], "links.1.shapes": shapes, "links.2.shapes": shapes},
)
elbow = np.radians([0, 45, 90, 135])
tracks = flexarm.sweep(arm, at={"joint2": elbow}, joints="locked").tracks
first = min(tracks, key=lambda track: track.frequency_hz[0])
for angle, hertz in zip(elbow, first.frequency_hz, strict=True):
    print(f"elbow at {np.degrees(angle):3.0f} deg: {hertz:.4f} Hz")

exact = 1.8751041**2 * np.sqrt(1000 / (5 * 2**4)) / (2 * np.pi)
assert abs(first.frequency_hz[0] / exact - 1) < 1e-5
print(f"stretched out {first.frequency_hz[0]:.4f} Hz, exact {exact:.4f} Hz")
