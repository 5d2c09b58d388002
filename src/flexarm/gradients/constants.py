"""Tolerances and step sizes for derivatives of simulations, each with unit and reason."""

# State-dependent events
# Relative overshoot of an event's quantity, below which the quantity counts as touching its
# threshold only; change of the event time, relative to the last step, at which Newton's method has
# converged; attempts to order an event and a nearby sample in time.
LEAST_OVERSHOOT, EVENT_TIME_ERROR, EVENT_ORDERINGS = 1e-9, 1e-9, 3

COMPLEX_STEP = 1e-20  # imaginary step by which derivatives are computed; its square is negligible

RECORDED_STEPS = 100  # step attempts per call of the kernel that records a run
