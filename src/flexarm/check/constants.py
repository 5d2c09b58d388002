"""Thresholds and plausible ranges of `flexarm check`, each with its unit and reason."""

# Plausible descriptions: outside these ranges a unit is likely wrong
WAVE_SPEED = 100.0, 2e4  # [m/s] speed of sound; rubber 50 to 300, steel 5100, beryllium 12900
# Largest mass per length [kg/m], that of a solid steel bar of 4 m diameter; largest ratio of EIy
# and EIz of a section, that of a strip 1000 times wider than thick.
MASS_PER_LENGTH, STIFFNESS_RATIO = 1e5, 1e6
LENGTH, FREQUENCY = (1e-3, 1e3), (1e-3, 1e6)  # length [m] of a link; frequency [Hz] of its modes
GRAVITY = 0.1, 30.0  # [m/s^2] the Moon 1.6, Jupiter 25
# Largest angular rate of an orbit [rad/s], which is 1.24e-3 in low Earth orbit; largest distance
# from the orbit over its radius, at which the gravity gradient has an error of 1.5 %.
ORBIT_RATE, ORBIT_DISTANCE = 2e-3, 1e-2
CURVE_ERROR = 0.01  # noticed error of a start curve, relative to its largest deflection

# Damping
HIGH_DAMPING = 0.3  # damping ratio above which there is a notice; structures have 0.002 to 0.05
# Damping ratio of the arm over a link's damping ratio below which there is a notice.
LESS_DAMPING = 0.5

# Modes of links
# Frequency error by shear above which a link counts as stubby: error of its highest mode, and error
# of its first mode, which matters in most motions.
SHEAR_ERROR, FIRST_SHEAR_ERROR = 0.05, 0.01
# Ratio of rates above which damping or stretch makes steps needlessly small; largest number of
# frequencies listed per direction.
RATE_RATIO, LISTED_MODES = 3.0, 3

# Amplitudes that nothing excites
# Largest number of amplitudes of a stiffened link whose excitation is examined, since it takes
# long; force, scaled by roots of inertia, above which an amplitude counts as excited.
SEARCHED_AMPLITUDES, EXCITING_FORCE = 16, 1e-8
RANDOM_STATES = 3  # number of random states; a force may be 0 at one of them by chance
# Tip deflection of random states, relative to a link's length.
RANDOM_DEFLECTION = 0.02

# Joints over time
# Samples between two events: within half a turn they miss a torque's peak by 0.1 %.
TORQUE_SAMPLES = 33
# Time [s] after the last change of the inputs up to which joints are checked; number of times at
# which inputs are evaluated, 20 per second.
CHECKED_DURATION, INPUT_SAMPLES = 60.0, 1200
