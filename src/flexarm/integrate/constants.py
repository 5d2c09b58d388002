"""Limits, tolerances and defaults of simulations, each with its unit and reason.

Coefficients of the methods stand with the methods; limits of samples are in ``runs/constants.py``.
"""

# Options
# Error of the deflections over their range: the tightest tolerance, the loosest and the default.
TIGHTEST_RTOL, LOOSEST_RTOL, RTOL = 1e-12, 0.1, 1e-3
SHORTEST_RUN, LONGEST_RUN = 1e-12, 1e9  # durations [s]
# Fixed steps that a user may ask for; sampling periods of a law's delay, while which measurements
# are stored.
MOST_STEPS, LONGEST_DELAY = 10**10, 100_000
# Least number of intervals between the samples of a run without dt; parts of such an interval where
# vibrations are fast, at most: 4000 samples of a run.
DEFAULT_INTERVALS, MOST_INTERVAL_PARTS = 500, 8

# Tolerance per step
CALIBRATED_VIBRATIONS = 50.0  # in the runs by which the tolerances of methods were measured
# Least tolerance, near the rounding of double precision: everywhere; where a carriage passes a node
# of its rail.
LEAST_STEP_TOLERANCE, LEAST_RAIL_TOLERANCE = 1e-14, 1e-10
# Share of a mode in a deflection, or its rate, that is too small to count: over the tolerance where
# periods are counted, and where damping ratios are compared.
NEGLECTED_SHARE, CARRIED_SHARE = 0.05, 1e-3
DECAYING_RATIO = 0.005  # damping ratio above which errors of vibrations decay
# Impacts that return most of the energy, which need smaller tolerances: damping of a contact [s/m]
# below which one at 1 m/s does; restitution of a stop above which it does.
BOUNCY_DAMPING, BOUNCY_RESTITUTION = 1.0, 0.8
# Largest eigenvalue over the frequency of the fastest mode: above STRONG_DAMPERS dampers act beside
# the modes; above COUPLING_DAMPERS they couple modes, also relative to swings of a deflection.
STRONG_DAMPERS, COUPLING_DAMPERS = 1.5, 3.0
# Damping ratio below which an arm is taken to vibrate as if it had none; coordinates up to which
# all eigenvalues of a damped arm are found, since their work grows with the third power.
UNDAMPED_RATIO, EIGENVALUE_COORDINATES = 1e-3, 80

# Least ranges of states of actuators, by which integration errors are scaled
# Joint motion by an integral [rad], [m]; deflection of bristles over that of sliding; current over
# the limit, or over the stall current at 1 V.
SERVO_STATE_FLOOR, PRESLIDING_FLOOR, CURRENT_FLOOR = 1e-2, 1e-3, 1e-3

# Digits of double precision
# Rounding error over the allowed error that is neglected: of a position, over the tolerance of the
# run; of deflections and their rates in a step, over the tolerance per step.
NEGLIGIBLE_ROUNDING = 1e-3
POSITION_RTOL = 1e-7  # least tolerance of a run that bounds its positions
# Two times t are one instant if they differ by less than INSTANT_ROUNDING * max(|t|, INSTANT_SCALE
# [s]).
INSTANT_ROUNDING, INSTANT_SCALE = 1e-12, 1e-9
LEAST_STRIBECK_RATIO = 1e-100  # rate over the Stribeck speed, for derivatives of powers of 0

# Validity of a run
# [rad] largest slope of the tip of a link that is no exact beam; middle attitude angle of a free
# base, which is singular at pi/2.
STEEPEST_SERIES, MOST_MIDDLE_ANGLE = 1.0, 1.0

# Control of the step
# Largest and smallest ratio of consecutive steps; factor of a step that would just meet the
# tolerance.
STEP_GROWTH, STEP_SHRINKAGE, STEP_SAFETY = 2.0, 0.2, 0.9
# Bound of every other step over the largest step: steps of one length do not see a vibration that
# is in the same phase after each.
UNEVEN_STEP = 0.8
# Smallest step over the duration of a run, which stops if errors ask for smaller ones; least number
# of steps.
SMALLEST_STEP, FEWEST_STEPS = 1e-12, 50
# Largest turn of a body in a step whose distance is an event function [rad]: a cubic through the
# ends of the step misses a sine by x^4/384, 2e-4 of its amplitude.
STEP_TURN = 0.5

# Contacts within a step
# Over the time to the deepest possible penetration: time between two evaluations at an approach;
# time in contact of a repeated step; largest time in contact of a step.
CONTACT_LOOK, CONTACT_REPEATED, CONTACT_DEEPEST = 0.2, 0.4, 0.6
CONTACT_LEAST_LOOK = 1.0 / 64.0  # least time between two evaluations, over the step
LEAST_SPEED = 1e-30  # [m/s] divisor in place of a speed of 0

# Events
# Bisections of a step to locate an event: the 52 bits of its time, with a margin; steps towards it,
# each a fifth as long as the one before; distance to either side of it that they end at, over the
# way to it.
EVENT_BISECTIONS, EVENT_APPROACHES, EVENT_MARGIN = 60, 12, 0.1
JUMP_DISTANCE = 1e-13  # relative distance from the station of a jump, to either side
MOST_SLIP_CHANGES = 200  # between stick and slip at one instant beyond which a run stops

# Modes of the exponential method
# Step attempts, rejected ones included, between renewals of the modes: on a GPU all arms renew at
# the same attempt.
MODES_RENEWAL = 24
RESPONSE_TERMS = 18  # of the power series of responses; the last term is below 1e-19
# Relative difference of squared frequencies that count as equal; sweeps of rotations at most, which
# make the damping of such modes diagonal and converge quadratically.
EQUAL_SQUARES, JACOBI_SWEEPS = 1e-9, 20

# Exact tangents of the implicit method
# Coordinates up to which a tangent in every step is cheap; operations of a motion above which its
# tangent takes minutes to compile.
TANGENT_COORDINATES, TANGENT_OPERATIONS = 16, 15_000

# Choice of a method
# Ratio of the fastest to the slowest frequency at which etd4 and dop853 take the same work.
EVEN_SPREAD = 6.0
QUIET_DURATION = 2.0  # of a run, over that of vibrations, above which most of it is quiet
# Steps of dop853 above which trial runs pay; periods of the slowest mode in a trial run; operations
# after which a part of it ends: some 3 s by CasADi.
TRIED_STEPS, TRIAL_PERIODS, TRIAL_OPERATIONS = 5000, 2, 5e8
# Fractions of a trial run, and largest work over the least work to go on after each.
TRIAL_STAGES = ((0.1, 4.0), (0.25, 2.5), (0.5, 1.5), (1.0, 1.0))
STIFF_TRIAL_STAGES = ((0.25, 6.0), (1.0, 1.0))  # with an implicit method
# A method gives up that has taken GIVE_UP_WORK of the work of the one ahead, and would take
# GIVE_UP_RATIO times the work of that for the whole motion.
GIVE_UP_WORK, GIVE_UP_RATIO = 0.2, 6.0
# Largest work over that of an implicit method that is ahead at first, where it is slow.
SLOW_START_RATIO = 1.5

# Fixed steps that are halved until their solutions agree
# Refinements at most, each at least a halving; safety factor of an error estimate.
MOST_REFINEMENTS, ERROR_MARGIN = 8, 2.0

# Repetition at another tolerance
# Tolerance over that of the solution by which it is judged; orders that a method loses at most
# where parts are stiff (order reduction).
CLOSER_FACTOR, ORDER_LOSS = 30, 2
AUDIT_BALANCE = 1e-8  # energy balance of an audit, over the energy exchanged

# Cost of a run
# CPU time [s] of a run that is announced; CPU time and memory [bytes] of one that is refused.
NOTED_CPU_TIME, MOST_CPU_TIME, MOST_MEMORY = 60.0, 3600.0, 4e9
# [s] of CPU: of an operation of compiled equations; of each of a model's, traced and compiled; of
# building a link's integrals, over the 2.65th power of its shapes; of a call of a law.
OPERATION_TIME, TRACING_TIME, BUILDING_TIME, LAW_CALL_TIME = 8e-10, 2.8e-4, 1.4e-5, 2e-5
LAW_CALL_MEMORY = 300.0  # [bytes] that are stored of a call of a law
# Estimated time [s] of all runs above which the first part of one is run as a trial, and of one run
# above which the trial decides; time [s] of the trial at most, by its operations.
PROBED_TIME, PROBE_TIME = 3.0, 0.3
FORECAST_OPERATIONS = 1e8  # of the trial by `flexarm check`: CasADi evaluates them in some 0.6 s

# Calls of compiled kernels, between which a run can be interrupted
KERNEL_CALL_TIME = 0.05  # [s] intended duration of a call
# [s] longest duration of a step before one was timed: constant part, and part per operation.
LONGEST_STEP_TIME, LONGEST_OPERATION_TIME = 2e-6, 16e-9
RECOMPILED_AFTER = 50_000  # step attempts after which equations are compiled at full optimisation

# Many runs at once
ESTIMATED_RUNS = 32  # runs, at even distances, of which the CPU time is estimated
# Runs that are computed together before energies and tips are computed of their states: jobs for
# the threads of a processor, and enough runs to fill a GPU.
PORTION_RUNS = {"cpu": 1024, "gpu": 65_536}
JOB_GROUPS = 256  # groups of SIMD lanes that a thread takes at once: a job takes 0.2 ms of Python
# Samples of which energies and tips are computed together, some 10 MB; initial states that are
# checked together, about a megabyte.
SAMPLES_AT_ONCE, STATES_AT_ONCE = 100_000, 10_000
# Approximate operations of a GPU thread in one kernel launch; share of the free GPU memory that a
# portion of runs uses; runs whose different numbers are written to the GPU at once: 512 warps, some
# 50 MB.
LAUNCH_OPERATIONS, GPU_MEMORY_SHARE, UPLOADED_RUNS = 40_000_000, 0.4, 16_384
LEAST_SUBSTEPS = 4  # Runge-Kutta steps in a step of a batch

# Missions
INSTANT_RUN = 1e-3  # [s] duration of a run of which only the first instant is used
# Tolerance of a free body's attitude and spin, that of the most accurate run; samples per period: a
# predictable motion has no harmonic beyond half of them.
SPIN_TOLERANCE, SPIN_SAMPLES = TIGHTEST_RTOL, 512
# Corrections of joints until servos measure their targets, at most; distance from a target that
# remains [rad], [m], absolute or relative.
TARGET_CORRECTIONS, TARGET_ERROR = 30, 1e-11
