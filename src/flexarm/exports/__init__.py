"""Export of arms to other programs: C source, functional mock-up units (FMI), CasADi."""
