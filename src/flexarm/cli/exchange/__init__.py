"""Commands that take robots from other programs and hand arms to them."""
