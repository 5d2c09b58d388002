"""Limits, defaults and drawn sizes of pages, movies and live arms, with units and reasons."""

from math import pi, radians

# Samples and points that are shown
# Largest number of samples in a page, which contains only every second, third, ... sample of a
# longer run; number of samples from which the view is chosen; number of times at which a free
# body's position is computed.
PAGE_SAMPLES, VIEW_SAMPLES, BODY_TIMES = 4000, 60, 400
# Number of points along a flexible link that a film draws; number used to choose the view.
FILM_POINTS, VIEW_POINTS = 15, 5
# Length of a label [characters] above which no further value is added; length of the longest value
# in a label.
LABEL_LENGTH = 24
EVENT_ROUNDING = 1e-6  # energy loss of an event, over the energy exchanged, that is rounding

# Enlargement of deflections: possible factors; least visible deflection over a link's length;
# largest slope with which a link is drawn.
SCALES = [f * 10.0**n for n in range(3) for f in (1, 2, 5)]
VISIBLE_DEFLECTION, STEEPEST_DRAWN = 0.05, 0.9

# View
# Ratio of the smallest to the second largest spread of a motion's points below which the motion is
# plane; out-of-plane fraction of the deformation above which the motion is spatial.
PLANE_SPREAD, SPATIAL_SHARE = 0.2, 0.5
# Step of finite differences along a mode; drawn amplitude of modes over the arm's extent.
MODE_STEP, MODE_AMPLITUDE = 1e-6, 0.2
# Tilt of a view normal to a plane, so that the ground is not seen edge-on; offsets to the side and
# upwards of the view of a spatial motion.
VIEW_TILT, VIEW_SIDE, VIEW_ABOVE = 0.14, 0.42, 0.36

# Films
PICTURE_RATE, MOST_PICTURES = 20, 2400  # pictures per second; largest number: two minutes
# [s] Shortest and longest run whose film lasts as long as the run, and duration of other films.
FILM_DURATIONS = 3.0, 30.0, 8.0
FILM_SIZE, FILM_DPI = (6.4, 4.8), 100  # [in], [1/in]: 640 x 480 pixels

# Plucked modes of a live arm: number of modes; motion by the first mode relative to the arm's reach
# (the other modes have the same speed); largest initial enlargement.
PLUCKED_MODES, PLUCKED_MOTION, MOST_ENLARGED = 12, 0.06, 50.0
# Deflection over the length of the longest flexible link up to which the colour scale is constant.
COLOUR_DEFLECTION = 0.02
HELD_PLACES = (0.0, 0.25, 0.5, 0.75, 1.0)  # fractions of a flexible link where it can be pulled

# Servos of a live arm
FASTEST_SERVO, SLOWEST_SERVO = 25.0, 1.5  # largest and least bandwidth of servos [rad/s]
# Bandwidth of servos over the frequency of the arm's first vibration, so that links deflect more
# than joints; damping ratio of servos.
SERVO_FACTOR, SERVO_DAMPING = 1.5, 0.8
SERVO_TURN = radians(150.0)  # range to either side of a joint without limits
# Integral action: largest rate over the servo's bandwidth; share of the largest stable gain at the
# start, since inertias change with the posture; growth rate [1/s] that still counts as stable,
# since rounding makes free motions grow slowly.
INTEGRAL_RATE, INTEGRAL_SHARE, STABLE_GROWTH = 0.15, 0.5, 1e-3

# Pulls: stiffness over the arm's stiffness; approximate damping ratio; least frequency [rad/s] at
# which a pull moves the whole arm.
PULL_STIFFNESS, PULL_DAMPING, PULL_RATE = 2.0, 0.35, 3.0

# Steps of a live arm
# Step relative to the largest stable Runge-Kutta step, below 1 since inertias change with the
# posture; longest step [s]; largest phase of the slowest vibration per step [rad], with a numerical
# damping ratio of 2e-4.
STEP_SHARE, LONGEST_STEP, STEP_PHASE = 0.7, 1 / 240, 0.5
# Least stiffness factor and largest damping ratio on the sliders; frequency [rad/s] above which
# damping does not increase further, since more damping would need smaller steps.
LEAST_STIFFNESS, MOST_DAMPING, DAMPED_FREQUENCY = 0.2, 0.2, 2 * pi * 25.0
# A motion counts as massless without the payload if less than the first share of its inertia
# remains; least share of the payload that the slider keeps for such a motion.
MASSLESS, LEAST_PAYLOAD = 1e-6, 0.01
IMPACT_SPEED = 3.0  # [m/s] assumed speed of impacts
# Cost: approximate time [s] of an operation in a browser; approximate number of operations per
# coordinate; largest share of a processor core, beside the drawing.
OPERATION_TIME, COORDINATE_OPERATIONS, MOST_CORE_SHARE = 0.6e-9, 700, 0.25
# Frequency [Hz] above which vibrations are too fast to see; least number of shapes per direction.
FAST_VIBRATION, LEAST_SHAPES = 240.0, 2
