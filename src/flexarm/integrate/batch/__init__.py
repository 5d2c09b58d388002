"""Many runs at once, on CPU cores or on a GPU."""
