"""Tolerances and step sizes of derivatives of runs, each with its unit and reason."""

# State-dependent events
# Least overshoot of a quantity beyond its value, over its size: with less it only touches the
# value; change of the event time, over the last step, at which Newton's method has converged;
# attempts to order an event and a nearby sample in time.
LEAST_OVERSHOOT, EVENT_TIME_ERROR, EVENT_ORDERINGS = 1e-9, 1e-9, 3

# Steps by which derivatives are computed
# Complex step, of which products are negligible; central step of numbers of a captured body's pose,
# in which equations are quadratic, so that any step is exact.
COMPLEX_STEP, CARRIED_STEP = 1e-20, 1e-2

RECORDED_STEPS = 100  # step attempts per call of the kernel that records a run
