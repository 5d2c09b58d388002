"""A flexible link turns by 60 degrees and stops: LQR on top of decoupling, against PD control.

PD control of the joint damps the link through the joint alone; an optimal regulator knows the
link's amplitudes and lets the joint give way, so that the ringing is gone sooner.
"""

import numpy as np

import flexarm
from flexarm.control import Timing, decoupling_law, joint_move, lqr, pd_law, start_at
from flexarm.io.model_file import loads

arm = loads("""
flexarm: 1
name: link to be controlled
gravity: [0, 0, 0]
links:
  - joint: {kind: revolute, hub: {outboard: {inertia: [0, 0, 0.1]}}}
    length: 1
    section: {mass_per_length: 0.5, EIz: 100}
    shapes: {kind: loaded, root: held, bending_y: 2}
    damping: 0.005
payload: {mass: 0.3}
""")
motion = joint_move(flexarm.build(arm), {"joint1": np.radians(60)}, Timing("cycloid", 0.6))
start = start_at(arm, motion.model, motion.path.at(0.0))
best = decoupling_law(motion, stiffness=400, damping=40, regulator=lqr(motion, bandwidth=15))
left = {}
for name, law in {"PD": pd_law(motion, stiffness=40, damping=8), "LQR": best}.items():
    run = flexarm.simulate(start, t_end=1.2, control=law)
    off = np.linalg.norm(run.tip - motion.tip(run.t[-1])[0], axis=1)
    left[name] = 1e3 * off[run.t > 1].max()
assert left["LQR"] < left["PD"] / 2
print(f"0.4 s after the move: {left['PD']:.0f} mm off with PD, {left['LQR']:.0f} mm with LQR")
