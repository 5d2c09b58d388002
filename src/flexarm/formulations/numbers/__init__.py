"""Numbers of an arm as inputs: one trace for many arms, other values, derivatives."""
