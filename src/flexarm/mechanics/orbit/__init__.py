"""Arms in orbit: the rotating orbital frame."""
