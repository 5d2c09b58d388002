"""Results of simulations: samples, files, tables, section forces, figures."""
