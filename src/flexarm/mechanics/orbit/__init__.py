"""Arms in orbit: the frame that goes round with them."""
