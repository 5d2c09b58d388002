"""Export of arms for other programs: C, functional mock-up units (FMI), CasADi."""
