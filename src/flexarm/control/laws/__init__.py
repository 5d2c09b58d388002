"""Control laws, with one module per law."""
