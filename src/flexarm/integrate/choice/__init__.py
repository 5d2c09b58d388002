"""Choice of integrator and step for a run, and estimates of the run's cost."""
