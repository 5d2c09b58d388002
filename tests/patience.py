"""How long a test waits for something that may never come: no test may depend on speed."""

# [s], of CPU or of waiting.  Only what hangs takes so long, on a busy machine too: a bound on how
# fast something is would fail there.
HANGS = 1800.0
