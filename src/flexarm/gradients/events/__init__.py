"""Events through which a run is differentiated."""
