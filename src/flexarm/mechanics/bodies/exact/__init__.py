"""Links whose sections turn by the sum of their slope shapes: geometrically exact beams."""
