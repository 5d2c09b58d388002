"""Limits, tolerances and defaults of fits to measured runs, each with its unit and reason."""

# Samples
# Samples of a run, or of a piece of one, so that a fit has more readings than numbers.
FEWEST_SAMPLES = 10
RATE_NEIGHBOURS = 5  # samples on either side that a cubic for a rate is fitted to

# State at the beginning of a piece, estimated from its readings: weight of wind-ups beside motions
# of the joints, so small that joints explain what both could; Newton iterations, for sensors that
# are nonlinear in the state.
WIND_UP_WEIGHT, STATE_ITERATIONS = 1e-3, 4

# Search
OUTLIER = 1.5  # residual in standard deviations above which a robust loss counts less
FREE_FACTOR = 1e3  # on a number's value, and its inverse, that bound a number without bounds
PASSES, NOISE_CHANGE = 4, 0.05  # searches; relative change of the noise that ends them
# Distance from the minimum in standard errors below which a number has converged; derivative over
# the noise above which a run diverges.
CONVERGED, DIVERGED = 0.1, 1e100

# Errors of the runs of a search by their steps, in standard errors of the numbers
# Error above which steps get shorter, and the parts into which they are cut at most.
SHORTER_STEPS, MOST_STEP_PARTS = 0.1, 16
HALVING_ERROR = 16 / 15  # error of rk4 over the difference from a run with halved steps: order 4
NOTED_SHIFT = 0.2  # shift of a number from which on it is reported

# Frequency responses: response relative to the largest below which its error does not get smaller.
# With less, readings near an antiresonance, where noise is large, would outweigh the others.
RESPONSE_FLOOR = 1e-2

# Trials of excitations: frequencies per joint, from two periods in a run to ten samples per period;
# samples, which bound the time of a trial.
TONES, TRIAL_SAMPLES = 6, 2000

# Statistics of a fit
# Probability of confidence intervals; that white noise is taken for correlated residuals.
CONFIDENCE, FALSE_ALARM = 0.95, 0.01
CORRELATION_LAGS = 20  # lags in samples over which residuals are tested for correlation
# Relative standard error from which on a combination of numbers is undetermined.
UNDETERMINED = 0.3
