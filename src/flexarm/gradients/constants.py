"""Tolerances and step sizes of derivatives of runs, each with its unit and reason."""

# State-dependent events
# Least relative overshoot of an event's quantity beyond its threshold, below which it only touches
# the threshold; change of the event time, over the last step, at which Newton's method has
# converged; attempts to order an event and a nearby sample in time.
LEAST_OVERSHOOT, EVENT_TIME_ERROR, EVENT_ORDERINGS = 1e-9, 1e-9, 3

# Steps by which derivatives are computed
# Complex step, whose square is negligible; step of central differences by the pose of a captured
# body, which are exact for any step, since the equations are quadratic in the pose.
COMPLEX_STEP, CARRIED_STEP = 1e-20, 1e-2

RECORDED_STEPS = 100  # step attempts per call of the kernel that records a run

# Start in equilibrium
# Steps of central differences: of the inputs relative to their size or to 1 N m, whose forces are
# linear within servo limits; of the coordinates along a motion [rad], [m], by which the inputs of
# servos change almost linearly.
INPUT_STEP, DIRECTION_STEP = 1e-3, 1e-4
