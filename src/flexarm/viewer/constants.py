"""Limits, defaults and drawn sizes of pages, films and live arms, each with its unit and reason."""

from math import pi, radians

# Samples and points that are shown
# Samples in a page: of a longer run every second, third, ... is shown; samples from which the view
# is chosen; times at which the motion of a free body is computed, linear in between.
PAGE_SAMPLES, VIEW_SAMPLES, BODY_TIMES = 4000, 60, 400
# Points drawn along a flexible link: of a film; in the choice of the view.
FILM_POINTS, VIEW_POINTS = 15, 5
# Characters after which a label gets no further values, and of the longest value in a label.
LABEL_LENGTH = 24
EVENT_ROUNDING = 1e-6  # energy lost at an event, relative to the energy exchanged: less is rounding

# Enlargement of deflections: its factors; deflection over a link's length that can be seen; largest
# slope that a link is drawn with.
SCALES = [f * 10.0**n for n in range(3) for f in (1, 2, 5)]
VISIBLE_DEFLECTION, STEEPEST_DRAWN = 0.05, 0.9

# View
# Smallest over second largest spread below which a motion is plane; out-of-plane fraction of the
# deformation above which it is spatial.
PLANE_SPREAD, SPATIAL_SHARE = 0.2, 0.5
# Step of coordinates for the derivative of a motion; amplitude of modes over the arm's
# extent.
MODE_STEP, MODE_AMPLITUDE = 1e-6, 0.2
# Tilt of a view normal to a plane, so that the ground is no line; offsets of the view of a spatial
# motion to the side and upwards.
VIEW_TILT, VIEW_SIDE, VIEW_ABOVE = 0.14, 0.42, 0.36

# Films
PICTURE_RATE, MOST_PICTURES = 20, 2400  # per second; of a film, which is then two minutes long
# [s] Shortest and longest run whose film lasts as long as the run, and duration of other films.
FILM_DURATIONS = 3.0, 30.0, 8.0
FILM_SIZE, FILM_DPI = (6.4, 4.8), 100  # [in], [1/in]: 640 x 480 pixels

# Plucked modes of a live arm: modes; motion by the first over the reach, while the others move as
# fast; factor of enlargement at first, since hands bend an arm more than a pluck does.
PLUCKED_MODES, PLUCKED_MOTION, MOST_ENLARGED = 12, 0.06, 50.0
# Deflection over the longest link that bends, beyond which the scale of colours grows.
COLOUR_DEFLECTION = 0.02
HELD_PLACES = (0.0, 0.25, 0.5, 0.75, 1.0)  # of a bending link where it can be held

# Servos of a live arm
FASTEST_SERVO, SLOWEST_SERVO = 25.0, 1.5  # [rad/s]
# Rate over that of the arm's first vibration, so that links bend more than joints give way; damping
# ratio.
SERVO_FACTOR, SERVO_DAMPING = 1.5, 0.8
SERVO_TURN = radians(150.0)  # range of a joint without limits to either side
# Integral action: its largest rate over the servo's; share of the gain that is stable at the start,
# since inertias change with the posture; growth rate [1/s] of a stable motion, since rounding makes
# free motions grow by less.
INTEGRAL_RATE, INTEGRAL_SHARE, STABLE_GROWTH = 0.15, 0.5, 1e-3

# Pulls: stiffness over the arm's; damping ratio, about; least rate [rad/s] at which a pull moves
# the arm as a whole.
PULL_STIFFNESS, PULL_DAMPING, PULL_RATE = 2.0, 0.35, 3.0

# Steps of a live arm
# Share of the step at which Runge-Kutta is unstable, since inertias change with the posture;
# longest step [s]; phase of the slowest vibration in a step [rad], which damps it by 2e-4 of the
# critical.
STEP_SHARE, LONGEST_STEP, STEP_PHASE = 0.7, 1 / 240, 0.5
# Settings of stiffness and damping at their sliders' ends; frequency [rad/s] above which damping
# does not grow, since it would need smaller steps.
LEAST_STIFFNESS, MOST_DAMPING, DAMPED_FREQUENCY = 0.2, 0.2, 2 * pi * 25.0
# Share of the mass of some motion below which the payload is all of it; least share of such a
# payload, which stays.
MASSLESS, LEAST_PAYLOAD = 1e-6, 0.01
IMPACT_SPEED = 3.0  # [m/s] with which contacts are closed
# Cost: time [s] of one operation in a browser, about; operations per coordinate in the equations,
# about; share of a core that is too much beside the drawing.
OPERATION_TIME, COORDINATE_OPERATIONS, MOST_CORE_SHARE = 0.6e-9, 700, 0.25
# [Hz] above which a vibration is too fast for the eye; shapes that a direction of bending keeps.
FAST_VIBRATION, LEAST_SHAPES = 240.0, 2
