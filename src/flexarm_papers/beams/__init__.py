"""Uniform beams by their frequency equation, as the papers have them; references for tests."""
