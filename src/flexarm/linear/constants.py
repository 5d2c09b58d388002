"""Limits and thresholds of linear models, equilibria and natural modes."""

# Equilibria: Newton steps, and steps downhill where they do not converge
NEWTON_STEPS = 50  # of Newton's method at most; one that converges needs about five
# Numbers of stages of the load, tried until Newton's method converges: 1 to 64.
LOAD_STAGES = tuple(4**k for k in range(4))
CONVERGED = 1e-13  # last step over deflection, both as square roots of their strain energy
HELD = 1e-11  # last step with a constraint, relative to the reach
LONGEST_STEP = 0.5  # longest step with a constraint [rad], and relative to the reach
UNBALANCED = 1e-10  # force relative to the largest one that is rounding
DESCENT_STEPS = 100  # steps downhill at most
STRIDE = 0.3  # largest change of a coordinate by one mode in a step downhill [rad], [m]
BALANCED = 1e-8  # distance of an equilibrium [rad], [m]; of free modes [rad/s^2], [m/s^2]

# Steady motions
STEADY = 1e-6  # largest relative change of forces per [rad] or [m] of a steady motion

# Linearised dry friction
SECANT_SPEED = 0.1  # default amplitude of a joint's speed [rad/s], [m/s]: that of slow motions

# Compiled tangents
LONG_CODE = 30_000  # instructions above which compiling takes longer than interpreting a few points

# Modes and their figures
SHOWN_MODES = 12  # modes in a figure: more lines cannot be told apart
TAKES_PART = 0.02  # least participation of a coordinate that is drawn
EQUAL = 1e-6  # relative difference of equal frequencies, whose mode shapes are not unique

# Names of modes
SWING = 0.5  # share of the energy: a mode with less strain and more motion of joints is a swing
SHARED = 0.4  # energy of a second link relative to the first from which on both are named

# Comparison with a refined arm
SAME_MODE = 0.5  # share of a mode's inertia in refined modes from which on they are the same
CLOSE = 0.01  # relative difference of frequencies whose modes may mix

# Modes over a range of a parameter
ALIKE = 0.8  # assurance criterion of two shapes below which an interval is halved
HALVINGS = 8  # of an interval at most: modes that change within a 256th of it are not tracked

# Figures of ranges
MAPS = 6  # maps in a figure
SAID = 3  # notes in a summary
ORDERS = 4  # excitation orders drawn in a Campbell diagram
SMOOTH = 200  # points of such a line, which is curved on a logarithmic axis
WIDE = 20  # ratio of frequencies from which on their axis is logarithmic
