"""Links of variable exposed length, which slide out of their hub."""
