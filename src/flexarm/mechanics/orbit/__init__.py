"""Arms in orbit: dynamics in the rotating orbital frame."""
