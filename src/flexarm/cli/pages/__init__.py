"""Commands that write a page: the animation of a run, or a live simulation of an arm."""
