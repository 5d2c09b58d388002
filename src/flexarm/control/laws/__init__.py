"""Control laws, one file each."""
