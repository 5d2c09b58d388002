"""Results of simulations: samples, files, tables, section forces and figures."""
