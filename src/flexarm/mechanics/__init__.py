"""What every formulation rests on: kinematics, loads, geometry of bent links."""
