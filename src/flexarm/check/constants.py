"""Thresholds and plausible ranges of `flexarm check`, each with its unit and reason."""

# Plausible descriptions: outside these ranges a unit is likely wrong
WAVE_SPEED = 100.0, 2e4  # [m/s] speed of sound; rubber 50 to 300, steel 5100, beryllium 12900
# [kg/m] a solid steel bar of 4 m diameter; EIy over EIz of a section, or the inverse: a strip 1000
# times wider than thick.
MASS_PER_LENGTH, STIFFNESS_RATIO = 1e5, 1e6
LENGTH, FREQUENCY = (1e-3, 1e3), (1e-3, 1e6)  # [m] of a link; [Hz] of its modes
GRAVITY = 0.1, 30.0  # [m/s^2] the Moon 1.6, Jupiter 25
# [rad/s] largest rate of an orbit, low about the Earth 1.24e-3; distance from an orbit over its
# radius, where gravity's gradient is off by 1.5 times that.
ORBIT_RATE, ORBIT_DISTANCE = 2e-3, 1e-2
CURVE_ERROR = 0.01  # of a start curve relative to its largest deflection that can be seen

# Damping
HIGH_DAMPING = 0.3  # damping ratio above which one is doubted; structures have 0.002 to 0.05
# Ratio of the arm's to a link's damping ratio below which there is a notice; squared frequency
# relative to the highest one below which a mode is rigid.
LESS_DAMPING, RIGID_MODE = 0.5, 1e-12

# Modes of links
# Frequency error by shear above which a link is stubby: of its highest mode; of its first one,
# which matters to most motions.
SHEAR_ERROR, FIRST_SHEAR_ERROR = 0.05, 0.01
# Ratio of rates above which damping or stretch makes steps needlessly small; frequencies that are
# listed per direction, or as many as the link has coordinates in it.
RATE_RATIO, LISTED_MODES = 3.0, 3

# Amplitudes that nothing excites
# Amplitudes of a stiffened link above which unexcited ones are not searched, since it takes long;
# relative force, scaled by roots of inertia, above which an amplitude is excited.
SEARCHED_AMPLITUDES, EXCITING_FORCE = 16, 1e-8
RANDOM_STATES = 3  # so that a force that is 0 at one by chance is not at all
# Largest deflection of random states relative to a link's length, and rotation [rad]: as in arms.
RANDOM_DEFLECTION = 0.02

# Joints over time
# Samples between two events: within half a turn they miss a torque's peak by 0.1 %.
TORQUE_SAMPLES = 33
# [s] after the last change of the inputs that are checked: longer than most runs; times at which
# inputs are evaluated, 20 per second of that.
CHECKED_DURATION, INPUT_SAMPLES = 60.0, 1200
