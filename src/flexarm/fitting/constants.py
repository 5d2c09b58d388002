"""Limits, tolerances and defaults of fits to measured runs, each with its unit and reason."""

# Samples
# Least number of samples of a run or a piece of a run, so that there are more readings than
# fitted values.
FEWEST_SAMPLES = 10
RATE_NEIGHBOURS = 5  # samples on each side to which a cubic is fitted, to estimate a rate

# Step of differences of runs by the delay of an input, in sampling intervals: truncation and
# rounding change the derivative by less than 1e-6.
DELAY_STEP = 1e-4

# Estimation of the state at the start of a piece: weight of wind-ups relative to joint motions,
# so that joint motions explain readings first; Newton iterations for nonlinear sensors.
WIND_UP_WEIGHT, STATE_ITERATIONS = 1e-3, 4

# Search
OUTLIER = 1.5  # residual in standard deviations above which a robust loss grows more slowly
FREE_FACTOR = 1e3  # factor by which a value without bounds may grow or shrink
# Largest number of searches; relative change of the noise estimates below which they end.
PASSES, NOISE_CHANGE = 4, 0.05
# Distance from the minimum, in standard errors, below which a value counts as converged; derivative
# over the noise above which a run counts as divergent.
CONVERGED, DIVERGED = 0.1, 1e100

# What is known before a fit
# Standard deviation of the logarithm of a number of the model file, that of a factor of two:
# catalogues, drawings and estimates are mostly right within it.
PRIOR_DEVIATION = 0.7
# Deviation of a number that is kept, relative to its value or to 1.
KEPT_DEVIATION = 1e-6
# Seed of further starts, so that fits can be repeated; misfit by which two ends differ, relative.
START_SEED, SAME_VALLEY = 1, 0.01
# Evaluations of the search without a window, which starts at the result.
WINDOW_EVALUATIONS = 20

# Faults of recordings
# Distance of two samples over the median distance, above which samples are missing; factor
# between readings and model above which a unit is doubted.
LONGEST_GAP, UNIT_FACTOR = 10.0, 300.0

# Discretisation errors of the runs in a search, in standard errors of the fitted values
# Error above which steps are divided; largest number of parts of a step.
SHORTER_STEPS, MOST_STEP_PARTS = 0.1, 16
HALVING_ERROR = 16 / 15  # error of rk4 over the difference from a run with halved steps (order 4)
NOTED_SHIFT = 0.2  # reported shift of a fitted value

# Frequency responses: magnitude relative to the largest below which the assumed error stays
# constant.  Otherwise noisy readings near an antiresonance would outweigh all others.
RESPONSE_FLOOR = 1e-2

# Trial excitations: number of frequencies per joint, from two periods per run to ten samples per
# period; largest number of samples, which limits the time of a trial.
TONES, TRIAL_SAMPLES = 6, 2000

# Statistics of a fit
# Probability of confidence intervals; probability that white noise is taken for correlated.
CONFIDENCE, FALSE_ALARM = 0.95, 0.01
CORRELATION_LAGS = 20  # lags in samples over which residuals are tested for correlation
# Relative standard error above which a combination of parameters counts as undetermined.
UNDETERMINED = 0.3
