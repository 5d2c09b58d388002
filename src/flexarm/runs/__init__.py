"""What a simulation leaves: samples, files, tables, section forces, figures."""
