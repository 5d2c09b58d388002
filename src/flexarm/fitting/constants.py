"""Limits, tolerances and defaults of fits to measured runs, each with its unit and reason."""

# Samples
# Least number of samples of a run or of a segment of a run, so that there are more readings than
# fitted values.
FEWEST_SAMPLES = 10
RATE_NEIGHBOURS = 5  # samples on each side to which a cubic is fitted, to estimate a rate

# Finite-difference step of an input's delay, in sampling intervals. Truncation and rounding change
# the derivative by less than 1e-6.
DELAY_STEP = 1e-4

# Estimation of the state at the start of a segment of a run. Transmission wind-ups have a low
# weight relative to joint motions, so that joint motions explain the readings first. The second
# constant is the number of Newton iterations for nonlinear sensors.
WIND_UP_WEIGHT, STATE_ITERATIONS = 1e-3, 4

# Search
OUTLIER = 1.5  # residual in standard deviations above which a robust loss grows more slowly
FREE_FACTOR = 1e3  # factor by which a value without bounds may grow or shrink
# Largest number of searches, each with new noise estimates; relative change of the noise estimates
# below which the searches end.
PASSES, NOISE_CHANGE = 4, 0.05
# Distance from the minimum, in standard errors, below which a fitted value counts as converged.
# Derivative of a reading, divided by the noise, above which a run counts as divergent.
CONVERGED, DIVERGED = 0.1, 1e100

# Priors of the fitted values: standard deviation of the logarithm of a number of the model file: a
# factor of two, within which most values from catalogues, drawings and estimates are right.
PRIOR_DEVIATION = 0.7
# Prior standard deviation of a number that is held at its initial value, relative to that value or
# to 1.
KEPT_DEVIATION = 1e-6
# Seed of the random initial guesses, fixed so that fits are reproducible. Relative difference of
# the misfits above which the results of two searches differ.
START_SEED, SAME_VALLEY = 1, 0.01
# Largest number of evaluations of a cross-validation search, which starts at the result of the fit.
WINDOW_EVALUATIONS = 20

# Faults of recordings
# Time between two samples, relative to the median, above which samples count as missing. Ratio of
# readings to model above which a wrong unit is suspected.
LONGEST_GAP, UNIT_FACTOR = 10.0, 300.0

# Discretisation errors of the runs in a search, in standard errors of the fitted values
# Error above which steps are divided; largest number of substeps per step.
SHORTER_STEPS, MOST_STEP_PARTS = 0.1, 16
HALVING_ERROR = 16 / 15  # error of rk4 over the difference from a run with halved steps (order 4)
NOTED_SHIFT = 0.2  # reported shift of a fitted value

# Frequency responses: magnitude, relative to the largest magnitude, below which the assumed error
# stays constant. With an error proportional to the magnitude, noisy readings near an antiresonance
# would outweigh all others.
RESPONSE_FLOOR = 1e-2

# Trial excitations: number of frequencies per joint, which range from two periods per run to ten
# samples per period. The largest number of samples limits the CPU time of a trial.
TONES, TRIAL_SAMPLES = 6, 2000

# Statistics of a fit
# Probability of confidence intervals; probability that a test takes white noise for correlated.
CONFIDENCE, FALSE_ALARM = 0.95, 0.01
CORRELATION_LAGS = 20  # lags in samples over which residuals are tested for correlation
# Relative standard error above which a combination of parameters counts as undetermined.
UNDETERMINED = 0.3
