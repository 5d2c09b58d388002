"""Commands that import robots from other programs and export arms to them."""
