"""A ball on a rod, held by a spherical joint, goes round in a circle: the conical pendulum.

At an angle A from the vertical, one turn takes 2 pi sqrt(l cos(A)/g) at constant height. The
joint's three angles are counted from a reference attitude, which moves before they become
singular, so that the pendulum may turn any number of times.
"""

import numpy as np

import flexarm

GRAVITY, ANGLE = 9.81, np.radians(40)  # [m/s^2], from the vertical
rate = np.sqrt(GRAVITY / np.cos(ANGLE))  # about the vertical, of a rod of 1 m [rad/s]
arm = flexarm.Arm.model_validate(
    {
        "flexarm": 1,
        "name": "conical pendulum",
        "gravity": [0, 0, -GRAVITY],
        "links": [
            {
                "joint": {
                    "kind": "spherical",
                    "start": {  # the rod is the link's x axis
                        "rotation": [0, np.pi / 2 - ANGLE, 0],
                        "spin": [-rate * np.cos(ANGLE), 0, rate * np.sin(ANGLE)],
                    },
                },
                "length": 1,
                "body": {"mass": 2, "com": [1, 0, 0], "inertia": [5e-3, 5e-3, 5e-3]},
            }
        ],
    }
)
run = flexarm.simulate(arm, t_end=10, rtol=1e-9)
turned = np.unwrap(np.arctan2(run.tip[:, 1], run.tip[:, 0]))
period, exact = 2 * np.pi * run.t[-1] / turned[-1], 2 * np.pi / rate
assert abs(period / exact - 1) < 1e-6
assert np.ptp(run.tip[:, 2]) < 1e-6
print(f"one turn takes {period:.5f} s, exact {exact:.5f} s")
