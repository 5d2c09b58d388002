"""Two flexible links fall from the horizontal: where the energy goes, and that none is lost.

Gravitational energy becomes kinetic and elastic energy. An audited run takes such small steps that
the energy balance closes to 1e-8 of the exchanged energy.
"""

import flexarm

fall = {"stiffening": True, "links.1.joint.start.position": 0.0}
fall |= {f"links.{k}.section.EIz": 100.0 for k in (1, 2)}  # softer than in the paper
arm = flexarm.change_arm(flexarm.example_arm("korayem-two-link"), fall)
run = flexarm.simulate(arm, t_end=0.5, dt=0.01, energy_audit=True)

kinetic, elastic, gravitational = run.energy[-1] - run.energy[0]
tip = run.dataset.tip_position.isel(time=-1).values
print(f"after {run.t[-1]} s the tip is at x = {tip[0]:.3f} m, y = {tip[1]:.3f} m")
print(f"weight gives {-gravitational:.3f} J: motion {kinetic:.3f} J, bending {elastic:.3f} J")

assert run.energy_balance < 1e-8
print("energy balance closes to 1e-8")
