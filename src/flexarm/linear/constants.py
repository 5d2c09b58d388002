"""Limits and thresholds of linear models, equilibria and natural modes."""

# Equilibria: Newton steps, and descent steps where Newton's method diverges
NEWTON_STEPS = 50  # largest number of steps of Newton's method; a converging one needs about five
# Numbers of load increments, tried until Newton's method converges: 1 to 64.
LOAD_STAGES = tuple(4**k for k in range(4))
# Length of the last Newton step, relative to the arm's reach. The remaining error is quadratic in
# this length, thus below rounding.
CONVERGED_STEP = 1e-11
LONGEST_STEP = 0.5  # longest step with a constraint [rad], and relative to the reach
UNBALANCED = 1e-10  # residual force that counts as rounding, relative to the largest force
DESCENT_STEPS = 100  # largest number of descent steps
LONGEST_DESCENT = 0.3  # largest change of a coordinate by one mode in a descent step [rad], [m]
# accepted distance from equilibrium [rad], [m]; acceleration of free modes [rad/s^2], [m/s^2]
BALANCED = 1e-8

# Steady motions
# Largest change of the forces per [rad] or [m] of joint motion that counts as steady, relative to
# the forces themselves.
STEADY_CHANGE = 1e-6

# Linearised dry friction
SECANT_SPEED = 0.1  # default amplitude of a joint's speed [rad/s], [m/s]: that of slow motions

# Compiled tangents
MOST_COMPILED_INSTRUCTIONS = (
    30_000  # instructions above which compiling takes longer than interpreting a few points
)

# Modes and their figures
SHOWN_MODES = 12  # largest number of modes in a figure; more lines cannot be distinguished
SHOWN_PARTICIPATION = 0.02  # smallest participation of a coordinate that is drawn
EQUAL_FREQUENCIES = (
    1e-6  # relative difference of equal frequencies, whose mode shapes are not unique
)

# Names of modes
SWING_SHARE = (
    # share of a mode's energy; with less strain energy and more joint motion, the mode is a swing
    0.5
)
SECOND_LINK_SHARE = (
    0.4  # energy of a second link, relative to the first, above which the name of a mode has both
)

# Comparison with a refined arm
SAME_MODE_SHARE = 0.5  # share of a mode's inertia in refined modes above which the modes match
MIXING_DISTANCE = 0.01  # relative difference of frequencies whose modes may mix

# Modes over a range of a parameter
MATCH_ASSURANCE = 0.8  # modal assurance criterion of two shapes below which an interval is halved
# Largest number of halvings of an interval between sweep points. Modes whose shape changes within a
# 256th of an interval are not tracked.
HALVINGS = 8

# Figures of ranges
MOST_MAPS = 6  # largest number of maps in a figure
SHOWN_NOTES = 3  # notes in a summary
EXCITATION_ORDERS = 4  # excitation orders drawn in a Campbell diagram
LOGARITHMIC_RATIO = 20  # ratio of frequencies above which their axis is logarithmic
