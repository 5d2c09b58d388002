"""Thresholds and plausible ranges of `flexarm check`, each with its unit and reason."""

# Plausible values, outside of which a unit is likely wrong
WAVE_SPEED = 100.0, 2e4  # [m/s] speed of sound; rubber 50 to 300, steel 5100, beryllium 12900
# Largest mass per length [kg/m], that of a solid steel bar of 4 m diameter; largest ratio of EIy
# and EIz of a section, that of a strip 1000 times wider than thick.
MASS_PER_LENGTH, STIFFNESS_RATIO = 1e5, 1e6
LENGTH, FREQUENCY = (1e-3, 1e3), (1e-3, 1e6)  # length [m] of a link; frequency [Hz] of its modes
GRAVITY = 0.1, 30.0  # [m/s^2] the Moon 1.6, Jupiter 25
# Largest angular rate of an orbit [rad/s]; it is 1.24e-3 in low Earth orbit. Largest distance from
# the orbit relative to the orbit's radius, at which the gravity gradient has an error of 1.5 %.
ORBIT_RATE, ORBIT_DISTANCE = 2e-3, 1e-2
# error above which there is a notice of an initial curve, relative to its largest deflection
CURVE_ERROR = 0.01

# Damping
HIGH_DAMPING = 0.3  # damping ratio above which there is a notice; structures have 0.002 to 0.05
# Ratio of the damping ratios of arm and link below which there is a notice.
LESS_DAMPING = 0.5

# Modes of links
# Frequency errors caused by shear deformation above which a link counts as stubby: for its highest
# mode, and for its first mode, which matters in most motions.
SHEAR_ERROR, FIRST_SHEAR_ERROR = 0.05, 0.01
# Ratio of rates above which steps are needlessly small: of the fastest damped motion to the fastest
# mode, or of the fastest stretch mode to the fastest other mode. Largest number of frequencies
# listed per direction.
RATE_RATIO, LISTED_MODES = 3.0, 3

# Amplitudes that nothing excites
# Largest number of amplitudes of a stiffened link whose excitation is examined, since the
# examination takes long. Force, scaled by square roots of inertia, above which an amplitude counts
# as excited.
SEARCHED_AMPLITUDES, EXCITING_FORCE = 16, 1e-8
RANDOM_STATES = 3  # number of random states; a force may be 0 at one of them by chance
# Tip deflection of random states, relative to a link's length.
RANDOM_DEFLECTION = 0.02

# Joints over time
# Number of samples between two events: in half a turn, the samples miss a torque's peak by 0.1 %.
TORQUE_SAMPLES = 33
# Time [s] after the last change of the inputs for which joints are checked. Number of times at
# which inputs are evaluated, 20 per second.
CHECKED_DURATION, INPUT_SAMPLES = 60.0, 1200
