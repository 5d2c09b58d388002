"""Links that slide out of their hub."""
