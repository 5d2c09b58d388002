"""Commands that write a page: a run that moves, an arm that runs."""
