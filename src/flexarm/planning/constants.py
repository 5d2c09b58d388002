"""Limits, tolerances and defaults of planned motions, each with its unit and reason."""

import numpy as np

# Limits that plans keep
NUDGE = 1e-6  # step of finite differences relative to a coordinate, rate or input: rounding is less
USED = 0.998  # share of a limit that plans use, since samples miss peaks
STRAIN_PLACES = np.linspace(0.0, 1.0, 5)  # places along a link at which strains are limited

# Simulations that are compared
# Relative tolerance of simulations that are compared; smaller changes of inputs, and vibrations
# relative to the reach, are below their errors.
TOLERANCE = 1e-6
TURNS = 3000.0  # phase of the fastest vibration [rad] above which tolerances are looser
# Factor of the looser tolerance, and its least value, below which rounding shortens steps.
LESS_TIGHT, ROUNDS = 100.0, 1e-5
BENT = 1e-3  # relative distance of a start amplitude from its value at rest that is accepted

# Stages of the search
HIT, NEAR_HIT = 1e-4, 1e-3  # misses over the ranges: the goal is reached; to be judged tightly
# Weight of squared misses and excesses beside the cost of the first inputs, relative change of the
# sum that ends a stage, and simulations at most.  Misses that count too much at once ask for inputs
# beyond all that linear equations hold for.
STAGES = ((10.0, 1e-2, 4), (1e3, 1e-2, 4), (1e6, 1e-4, 20))
LEAST_RANGE = 0.03  # of the largest range of its kind: least scale of a coordinate's miss

# Pieces of linear motions
PIECE_TURN = 0.5  # phase of the fastest mode in a piece [rad], unless there were too many pieces
# Pieces of a part; pieces of one with more than MANY_COORDINATES coordinates.
MOST_PIECES, FEW_PIECES, MANY_COORDINATES = 16, 4, 16

# Planned motions
PARTS = 2  # parts of an interval, at whose ends limits hold
EFFORT_POINTS = 41  # along a motion at which efforts are estimated
EASY = 0.6  # share of the inputs left by holding the arm that a first motion uses
HOPELESS = 5.0  # effort over its limit above which no motion of a similar duration exists
LEAST_SPREAD = 0.05  # least scale of an input relative to the largest of all
LEFT = 1e-3  # vibration relative to the unshaped motion's that is tolerated by default
SHORTER, SHORTEST = 0.8, 0.003  # factor of shorter durations; relative accuracy of the shortest
TIGHT = 1e-8  # tolerance of the simulation that verifies a plan
FINER = 4  # samples of that simulation relative to those of the search
TIGHTER = 4  # times that limits are tightened for peaks between samples

# Errors of a model that plans are tested with
PAYLOAD_ERROR, STIFFNESS_ERROR = 0.2, 0.1  # relative errors of a model that plans are tested with

# Model-predictive control
# Upper bounds of the default bandwidth: [rad] per period, which samples resolve; relative to the
# slowest vibration's frequency, so that joints do not excite it.
PER_PERIOD, BELOW = 0.5, 0.5
FIRST_ROUNDS = 4  # iterations at a first sample, whose initial prediction is the arm at rest
FORGETS = 0.999  # discount per sample of the cost after the horizon, if it is infinite without
BROKEN = 1e-4  # violation of a limit, relative or in [rad], [m], above which it was given up

# Vibrations that a motion excites
RINGS = 0.5  # damping ratio from which on a mode needs no shaping
EXCITED = 0.01  # swing of the tip relative to the largest from which on a vibration is excited
SAME_SHAPE = 0.5  # least cosine between the shapes of one vibration at two postures

# Input shapers
VIBRATION = 0.05  # residual vibration of an EI shaper at its frequency, relative to the unshaped
CURVE_RANGE, CURVE_POINTS = (0.5, 1.5), 401  # of a robustness curve, relative to the frequency

# Shaped motions
TABLE_POINTS = 400  # points of the table of a smooth shaped motion
REST_SHARE = 0.01  # share of its duration for which the table ends at rest
POSTURES = 9  # postures along a motion at which vibrations are computed
WORTH = 0.5  # largest vibration of an EI shaper relative to that by damping alone
SEEN = 1e-3  # relative singular value below which motions of similar rates are not separated
PRINTED = 4  # vibrations that are printed, so that a summary has ten lines
DOUBTED = 0.5  # share of unexplained motion from which on the linear model explains little
