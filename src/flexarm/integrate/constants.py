"""Limits, tolerances and defaults of simulations, each with its unit and reason.

Coefficients of the integration methods are in ``methods/``, limits on the number of samples in
``runs/constants.py``.
"""

# Options
# Relative tolerance (error of the deflections over their range): smallest, largest and default.
TIGHTEST_RTOL, LOOSEST_RTOL, RTOL = 1e-12, 0.1, 1e-3
SHORTEST_RUN, LONGEST_RUN = 1e-12, 1e9  # least and greatest duration of a run [s]
# Largest number of fixed steps that a user may request; largest delay of a law in sampling periods,
# since measurements are stored during the delay.
MOST_STEPS, LONGEST_DELAY = 10**10, 100_000
# Without dt: least number of sampling intervals of a run; largest number of parts of such an
# interval if vibrations are fast: 500 intervals of 8 parts are 4000 samples.
DEFAULT_INTERVALS, MOST_INTERVAL_PARTS = 500, 8

# Tolerance per step
# Number of vibration periods in the undamped runs in which the methods' steps per second were
# counted.
CALIBRATED_VIBRATIONS = 50.0
# Least tolerance per step. Below NEAR_ROUNDING, rounding errors would reject steps, so a step may
# take ROUNDING_SHARE of the run's tolerance there; few steps come near this limit.
LEAST_STEP_TOLERANCE, NEAR_ROUNDING, ROUNDING_SHARE = 1e-14, 2e-11, 6e-3
# Share of a mode in a deflection or its rate, below which the mode is neglected: relative to the
# tolerance to count vibration periods; absolute to compare damping ratios.
NEGLECTED_SHARE, CARRIED_SHARE = 0.05, 1e-3
DECAYING_RATIO = 0.005  # damping ratio above which errors of vibrations decay
# Largest tolerance at which methods that solve vibrations exactly resolve the rates of fast modes.
RESOLVED_RTOL = 1e-3
# Factor of the tolerance with contacts or joint stops: an impact magnifies earlier errors up to a
# hundred times, since rates jump at a slightly wrong time.
IMPACT_SHARE = 0.01
# Ratio of the largest eigenvalue to the frequency of the fastest mode, above which dampers dominate
# the motion.
COUPLING_DAMPERS = 3.0
# Damping ratio below which an arm counts as undamped; largest number of coordinates for which all
# eigenvalues of a damped arm are computed, since the cost grows with its third power.
UNDAMPED_RATIO, EIGENVALUE_COORDINATES = 1e-3, 80

# Least ranges of actuator states. Integration errors are relative to the range of a state. Joint
# motion [rad], [m] that a servo's integral term causes; bristle deflection relative to its
# deflection in sliding; motor current relative to its limit, or to the stall current at 1 V.
SERVO_STATE_FLOOR, PRESLIDING_FLOOR, CURRENT_FLOOR = 1e-2, 1e-3, 1e-3

# Digits of double precision
# Ratio of rounding error to allowed error below which rounding is neglected. The allowed error is
# the tolerance of the run for positions, and the tolerance per step for deflections and rates.
NEGLIGIBLE_ROUNDING = 1e-3
POSITION_RTOL = 1e-7  # least tolerance for which the size of positions is limited
# Two times t are one instant if they differ by less than INSTANT_ROUNDING * max(|t|, INSTANT_SCALE
# [s]).
INSTANT_ROUNDING, INSTANT_SCALE = 1e-12, 1e-9
LEAST_STRIBECK_RATIO = 1e-100  # least rate over Stribeck speed, where powers have derivatives

# Validity of a run
# Largest slope [rad] at the tip of a linear or second-order link; largest middle attitude angle
# [rad] of a free base, whose angles are singular at pi/2.
STEEPEST_SERIES, MOST_MIDDLE_ANGLE = 1.0, 1.0

# Control of the step
# Largest and smallest ratio of consecutive steps; safety factor on the step that would just meet
# the tolerance.
STEP_GROWTH, STEP_SHRINKAGE, STEP_SAFETY = 2.0, 0.2, 0.9
# Every second step is at most this fraction of the largest step. With equal steps, a vibration that
# has the same phase after each step would not be noticed.
UNEVEN_STEP = 0.8
# Smallest step over the duration of a run; a run that requires smaller steps stops. Least number of
# steps of a run.
SMALLEST_STEP, FEWEST_STEPS = 1e-12, 50
# Largest rotation x [rad] of a drifting body in a step while its distance is monitored. A cubic
# through the ends of the step differs from a sine by x^4/384, which is 2e-4 of its amplitude.
STEP_TURN = 0.5

# Contacts within a step
# Times relative to the time in which a contact reaches its deepest possible penetration: between
# two evaluations during an approach; in contact during a repeated step; longest time in contact
# during a step.
CONTACT_LOOK, CONTACT_REPEATED, CONTACT_DEEPEST = 0.2, 0.4, 0.6
CONTACT_LEAST_LOOK = 1.0 / 64.0  # least time between two evaluations, over the step
LEAST_SPEED = 1e-30  # [m/s] divisor in place of a speed of 0

# Events
# Location of an event: number of bisections (the 52 bits of its time, with a margin); number of
# steps towards the event, each a fifth of the previous one, and of evaluations near a peak;
# distance from the event at which such a step ends, relative to the remaining time.
EVENT_BISECTIONS, EVENT_APPROACHES, EVENT_MARGIN = 60, 12, 0.1
# Distance of a peak from the bound, relative to the change of the quantity near the peak, below
# which the search for the peak goes on.
CLOSE_VERTEX = 0.1
JUMP_DISTANCE = 1e-13  # relative distance from the station of a jump, to either side
MOST_SLIP_CHANGES = 200  # largest number of changes between stick and slip at one instant

# Modes of the exponential method
# Step attempts, rejected ones included, between renewals of the modes: on a GPU all arms renew at
# the same attempt.
MODES_RENEWAL = 24
RESPONSE_TERMS = 18  # terms of the power series of oscillator responses; the last is below 1e-19
# Relative difference of squared frequencies that count as equal; largest number of Jacobi sweeps
# that make the damping of modes with equal frequencies diagonal.
EQUAL_SQUARES, JACOBI_SWEEPS = 1e-9, 20

# Exact tangents of the implicit method
# Largest number of coordinates for which a Jacobian in every step is cheap; largest number of
# operations of the equations of motion, above which compiling their Jacobian takes minutes.
TANGENT_COORDINATES, TANGENT_OPERATIONS = 16, 15_000

# Choice of a method
# Ratio of the fastest to the slowest frequency at which the methods etd4 and dop853 need equal
# work.
EVEN_SPREAD = 6.0
QUIET_DURATION = 2.0  # duration over decay time of vibrations above which most of a run is quiet
# Number of dop853 steps above which trial runs are worthwhile; periods of the slowest mode in a
# trial run; largest number of operations of a trial, about 3 s of CasADi's evaluation.
TRIED_STEPS, TRIAL_PERIODS, TRIAL_OPERATIONS = 5000, 2, 5e8
# Halvings of a trial run: methods are compared after each eighth, quarter, half and whole.
TRIAL_HALVINGS = 3
# A method drops out after GIVE_UP_WORK times the work of the cheapest method, if the whole motion
# would take GIVE_UP_RATIO times the work of the cheapest method.
GIVE_UP_WORK, GIVE_UP_RATIO = 0.2, 6.0
# Largest work relative to an implicit method that is the cheapest at first, where explicit methods
# are slow.
SLOW_START_RATIO = 1.5

# Fixed steps that are halved until their solutions agree
# Largest number of refinements, each at least a halving; safety factor of the error estimate.
MOST_REFINEMENTS, ERROR_MARGIN = 8, 2.0

# Repetition at another tolerance
# Tolerance of a solution over the tolerance of the solution that it is compared with; largest
# order reduction of a method on stiff equations.
CLOSER_FACTOR, ORDER_LOSS = 30, 2
# A run is compared with its repetition if the error of its energy balance times the radians that
# joints turn exceeds DOUBTFUL_PHASE times rtol: a relative error e of a swing's energy shifts its
# phase by about e/2 per radian, and unstable motion magnifies the shift. A repetition is assumed to
# have 1/CLOSER_FACTOR of the measured error, with DOUBTFUL_RATIO as a margin for methods of low
# order.
DOUBTFUL_PHASE, DOUBTFUL_RATIO = 0.1, 2.0
AUDIT_BALANCE = 1e-8  # error of the energy balance in an audited run, over the energy exchanged

# Cost of a run
# CPU time [s] above which a run warns; CPU time and memory [bytes] above which it is refused.
NOTED_CPU_TIME, MOST_CPU_TIME, MOST_MEMORY = 60.0, 3600.0, 4e9
# CPU time [s]: to evaluate one operation of compiled equations; to trace and compile one operation;
# to build a link's integrals, over the 2.65th power of the number of shapes; to call a law once.
OPERATION_TIME, TRACING_TIME, BUILDING_TIME, LAW_CALL_TIME = 8e-10, 2.8e-4, 1.4e-5, 2e-5
LAW_CALL_MEMORY = 300.0  # memory [bytes] stored per call of a law
# Estimated time [s] above which a trial of the first part of a run improves the estimate; longest
# time [s] of this trial, from its operation count.
PROBED_TIME, PROBE_TIME = 3.0, 0.3
FORECAST_OPERATIONS = 1e8  # operations of the trial by `flexarm check`: about 0.6 s by CasADi

# Calls of compiled kernels, between which a run can be interrupted
KERNEL_CALL_TIME = 0.05  # [s] intended duration of a call
RECOMPILED_AFTER = 50_000  # step attempts after which equations are compiled at full optimisation

# Many runs at once
ESTIMATED_RUNS = 32  # number of runs, evenly spaced, whose CPU time is estimated
# Number of runs whose states are computed before their energies and tips: enough for the threads
# of a processor, and enough to fill a GPU.
PORTION_RUNS = {"cpu": 1024, "gpu": 65_536}
# Largest memory [bytes] of the states of a portion of runs if the results take less than ten times
# as much: a fourth of what a call may take without `allow_long`. Number of runs, in full warps, of
# which portions are multiples.
PORTION_MEMORY, SMALL_PORTION = 1e9, 64
JOB_GROUPS = 256  # groups of SIMD lanes per job of a thread; a job takes 0.2 ms of Python
# Number of samples whose energies and tips are computed together (some 10 MB); number of initial
# states that are checked together (about 1 MB).
SAMPLES_AT_ONCE, STATES_AT_ONCE = 100_000, 10_000
# Approximate operations of a GPU thread per kernel launch; share of the free GPU memory that a
# portion of runs may use; number of runs written to the GPU at once: 512 warps, some 50 MB.
LAUNCH_OPERATIONS, GPU_MEMORY_SHARE, UPLOADED_RUNS = 40_000_000, 0.4, 16_384
LEAST_SUBSTEPS = 4  # least number of Runge-Kutta steps in a step of a batch

# Missions
INSTANT_RUN = 1e-3  # [s] duration of a run of which only the first instant is used
# Relative tolerance of a free body's attitude and spin; samples per tumbling period, which resolve
# half as many harmonics.
SPIN_TOLERANCE, SPIN_SAMPLES = TIGHTEST_RTOL, 512
# Largest number of corrections of the joints until servos measure their targets; distance from a
# target [rad], [m], absolute or relative, at which the corrections end.
TARGET_CORRECTIONS, TARGET_ERROR = 30, 1e-11
