"""A flexible link turns by 60 degrees and stops: LQR on top of decoupling, against PD control.

PD control damps the link through the joint alone; an optimal regulator uses the link's amplitudes
and lets the joint give way. The vibration then decays at the loop's slowest real eigenvalue.
"""

import numpy as np

import flexarm
from flexarm import control
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
timing = control.Timing("cycloid", 0.6)
motion = control.joint_move(flexarm.build(arm), {"joint1": np.radians(60)}, timing)
start = control.start_at(arm, motion.model, motion.path.at(0.0))
lqr = control.lqr(motion, bandwidth=15)
best = control.decoupling_law(motion, kp=400, kd=40, regulator=lqr)
left = []
for law in (control.pd_law(motion, kp=40, kd=8), best):
    run = flexarm.simulate(start, t_end=1.4, dt=0.2, rtol=1e-6, control=law)
    left.append(1e3 * np.linalg.norm(run.tip - motion.tip(1.4)[0], axis=1)[[-3, -1]])
print(f"0.4 s after the move: {left[0][0]:.0f} mm off with PD, {left[1][0]:.0f} mm with LQR")
found = control.closed_loop_eigenvalues(best, run)[-1]
rate, slowest = np.log(left[1][0] / left[1][1]) / 0.4, -found.real[found.imag == 0].max()
assert left[1][0] < left[0][0] / 2 and abs(rate / slowest - 1) < 0.01
print(f"with LQR it dies out at {rate:.1f} 1/s, eigenvalue {slowest:.1f} 1/s")
