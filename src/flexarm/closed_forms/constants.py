"""Limits and tolerances of printed equations, each with its unit and reason."""

# Coordinates of an arm at most, since equations of larger ones fill hundreds of pages; terms of a
# product above which its factors get names, in long equations.
MOST_COORDINATES, LONGEST_PRODUCT = 12, 40

# Rounding
# Coefficient relative to the largest beside it below which it is rounding of one product; relative
# coefficient below which a term is not counted, since it is rounding on any processor.
PRODUCT_ROUNDING, COUNTED_TERM = 4e-15, 1e-10
# Coefficient relative to the last printed digit below which it is left out; relative change of
# numbers before they are printed, so that those half-way between two digits are rounded up.
PRINTED_TERM, HALF_WAY = 1e-4, 1e-12

# Text
PRINTED_DIGITS = 6  # significant digits of printed numbers
# Characters of a line of text; letters in a line of LaTeX, where digits of indices count as 0.7.
TEXT_WIDTH, LATEX_WIDTH = 100, 50
