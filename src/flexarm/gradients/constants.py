"""Tolerances and step sizes for derivatives of simulations, each with unit and reason."""

# State-dependent events
# Relative overshoot of an event's quantity, below which the quantity counts as touching its
# threshold only; change of the event time, relative to the last step, at which Newton's method has
# converged; attempts to order an event and a nearby sample in time.
LEAST_OVERSHOOT, EVENT_TIME_ERROR, EVENT_ORDERINGS = 1e-9, 1e-9, 3

# Steps by which derivatives are computed Complex step, whose square is negligible; step of central
# differences over the pose of a captured body, which are exact for any step because the equations
# are quadratic in the pose.
COMPLEX_STEP, CARRIED_STEP = 1e-20, 1e-2

RECORDED_STEPS = 100  # step attempts per call of the kernel that records a run

# Start in equilibrium
# Steps of central differences. For inputs, relative to their size or to 1 N m: forces are linear in
# the inputs within servo limits. For coordinates along a motion [rad], [m]: the inputs of servos
# change almost linearly over this step.
INPUT_STEP, DIRECTION_STEP = 1e-3, 1e-4
