"""An arm that runs in a page: its equations and an integrator as WebAssembly."""
