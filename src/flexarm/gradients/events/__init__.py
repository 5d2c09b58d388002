"""Events that a run is differentiated through."""
