"""The best design of a study: its aim as good as its limits allow."""
