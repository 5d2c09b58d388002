"""HTML pages, each a single file: animated simulations, mode shapes, live arms."""
