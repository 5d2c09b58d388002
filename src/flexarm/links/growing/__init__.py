"""Links that slide out of their hub, so that their exposed length varies."""
