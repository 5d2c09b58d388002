"""Numbers of an arm as inputs of compiled functions: shared traces, other values, derivatives."""
