"""Limits and tolerances of printed equations, each with its unit and reason."""

# Largest number of coordinates of an arm; equations of larger arms fill hundreds of pages. Largest
# number of coordinates for which long factors are written out. In longer equations, largest number
# of terms of a product whose factors are written out.
MOST_COORDINATES, WHOLE_COORDINATES, LONGEST_PRODUCT = 20, 12, 40

# Rounding
# Coefficient, relative to the largest of its polynomial, that counts as a rounding error of a
# product; relative coefficient below which a term is not counted.
PRODUCT_ROUNDING, COUNTED_TERM = 4e-15, 1e-10
# Coefficient, relative to the last printed digit, below which a term is omitted; relative increase
# of numbers before printing, so that halves are rounded up.
PRINTED_TERM, ROUNDING_UP = 1e-4, 1e-12

# Text
PRINTED_DIGITS = 6  # significant digits of printed numbers
# Largest number of characters of a line of text; largest width of a line of LaTeX in letters, where
# digits of indices count as 0.7.
TEXT_WIDTH, LATEX_WIDTH = 100, 50
# Limits in LaTeX: number of angles of a sum that is written out within a sine; rows of a matrix
# that fits on a page; width in letters of an entry that is written within the matrix; largest
# denominator of a fraction.
LONGEST_ANGLE, WIDEST_MATRIX, SHORT_ENTRY, DENOMINATOR = 4, 8, 6, 12
