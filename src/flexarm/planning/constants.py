"""Limits, tolerances and defaults of planned motions, each with its unit and reason."""

import numpy as np

# Limits that plans satisfy
# Step of finite differences, relative to a coordinate, rate or input, for which rounding errors
# remain below truncation errors.
DIFFERENCE_STEP = 1e-6
USED_SHARE = 0.998  # share of a limit that plans use, since samples miss peaks
STRAIN_STATIONS = np.linspace(0.0, 1.0, 5)  # fractions of a link at which strain is limited

# Simulations whose results are compared
# Relative tolerance of the simulations in a search. Effects of smaller input changes would be lost
# in the simulation's errors.
COMPARED_RTOL = 1e-6
LONG_PHASE = 3000.0  # phase of the fastest vibration [rad] above which the tolerance is looser
# The looser tolerance is larger by LOOSER_FACTOR, and at least LEAST_LOOSER_RTOL, below which
# rounding shortens steps.
LOOSER_FACTOR, LEAST_LOOSER_RTOL = 100.0, 1e-5
START_DEFLECTION = 1e-3  # accepted relative distance of a start amplitude from its value at rest

# Stages of the search
# Distance from the goal, relative to the ranges of the motion, at which the goal is reached
# (GOAL_MISS), and at which a motion is verified by an accurate simulation (NEAR_MISS).
GOAL_MISS, NEAR_MISS = 1e-4, 1e-3
# For each stage: weight of the squared distances from goal and limits relative to the cost of the
# inputs; relative change of the sum at which the stage ends; largest number of simulations. Weights
# grow from stage to stage, since a large first weight would lead to inputs for which the linearised
# equations do not hold.
STAGES = ((10.0, 1e-2, 4), (1e3, 1e-2, 4), (1e6, 1e-4, 20))
# least scale of a coordinate's error, relative to the largest scale with the same unit
LEAST_RANGE = 0.03

# Segments of intervals in which a motion is linearised
PIECE_PHASE = 0.5  # phase of the fastest mode in a segment [rad], if MOST_PIECES allows it
# Largest number of segments in a part of an interval: for most arms, and for arms with more than
# MANY_COORDINATES coordinates.
MOST_PIECES, FEW_PIECES, MANY_COORDINATES = 16, 4, 16

# Planned motions
INTERVAL_PARTS = 2  # parts of an interval of the inputs; limits are checked at their ends
EFFORT_POINTS = 41  # points along a motion at which efforts are estimated
# share that a first motion uses of the effort beyond the one that holds the arm
FIRST_EFFORT_SHARE = 0.6
HOPELESS_EFFORT = 5.0  # effort over its limit above which no motion of similar duration exists
LEAST_INPUT_SCALE = 0.05  # least scale of an input, relative to the largest input
TOLERATED_VIBRATION = 1e-3  # default tolerance of vibration, relative to the unshaped motion's
# Tip vibration that is always tolerated, relative to the arm's reach: 10 micrometres for an arm of
# 1 m, the repeatability of good robots.
TOLERATED_SHARE = 1e-5
# Factor from one trial duration to the next shorter one; relative accuracy of the shortest
# duration.
SHORTER_FACTOR, DURATION_ACCURACY = 0.8, 0.003
VERIFYING_RTOL = 1e-8  # relative tolerance of the simulation that verifies a plan
VERIFYING_SAMPLES = 4  # samples of the verifying simulation per sample of the search
LIMIT_TIGHTENINGS = 4  # how often limits are tightened because of peaks between samples

# Relative errors of payload and stiffness with which plans are tested
PAYLOAD_ERROR, STIFFNESS_ERROR = 0.2, 0.1

# Model-predictive control
# Upper bounds of the default bandwidth. The first is per sampling period [rad], so that samples
# resolve the motion. The second is relative to the frequency of the slowest vibration, so that
# joints do not excite that vibration.
BANDWIDTH_PER_PERIOD, BANDWIDTH_SHARE = 0.5, 0.5
FIRST_ITERATIONS = 4  # iterations at the first sample, where the initial prediction is rest
COST_DISCOUNT = 0.999  # discount per sample that keeps an infinite terminal cost finite
# Violation of a limit, relative or in [rad], [m], above which the limit counts as relaxed.
LIMIT_VIOLATION = 1e-4

# Vibrations that a motion excites
DAMPED_RATIO = 0.5  # damping ratio from which on a mode needs no shaping
EXCITED_SHARE = 0.01  # least swing of the tip by an excited mode, relative to the largest swing
SAME_SHAPE_COSINE = 0.5  # least cosine between the shapes of one mode at two postures

# Input shapers
EI_VIBRATION = 0.05  # vibration left by an EI shaper at its frequency, relative to the unshaped
CURVE_RANGE = 0.5, 1.5  # frequencies of a robustness curve, relative to the design frequency

# Shaped motions
TABLE_POINTS = 400  # points of the table of a smooth shaped motion
REST_SHARE = 0.01  # share of the motion's duration for which its table stays at rest at the end
POSTURES = 9  # postures along a motion at which vibrations are computed
WORTHWHILE_RATIO = 0.5  # largest vibration after an EI shaper over that after damping alone
SEPARABLE_MOTION = 1e-3  # relative singular value below which motions are not separated
PRINTED_VIBRATIONS = 4  # vibrations in a summary, which then has ten lines
DOUBTED_SHARE = 0.5  # unexplained share of the motion above which the linear model is doubted
