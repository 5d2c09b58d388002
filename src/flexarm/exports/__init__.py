"""Arms for other programs: C, functional mock-up units, CasADi."""
