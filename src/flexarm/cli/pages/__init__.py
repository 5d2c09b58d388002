"""Commands that write a page: the animation of a run, or an arm that runs in the browser."""
