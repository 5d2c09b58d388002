"""Files: arms, modal data, runs."""
