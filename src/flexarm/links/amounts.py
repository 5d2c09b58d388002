"""Variables on which the section angles of a beam depend linearly."""

from dataclasses import dataclass

from flexarm.spatial import Expr


@dataclass(frozen=True)
class Amounts:
    """Variables (K,) whose linear combinations are the section angles of a beam.

    They are the amplitudes of a beam of constant length.  Of a sliding beam, whose first own
    coordinate is the exposed length, they are the amplitudes of its parent curves over that length.
    """

    value: Expr  # the variables, (K,)
    rate: Expr  # their rates, (K,)
    bias: Expr  # their second rates at zero accelerations, (K,)
    k: int  # number of own coordinates
    # Rate per rate of own coordinate, (K, k); None for a beam of constant length, whose own
    # coordinates are the variables.
    columns: Expr | None
    length: Expr  # exposed length [m], which scales positions; 1 for constant length
    out: Expr  # rate of the exposed length [m/s]; 0 for constant length

    @classmethod
    def fixed(cls, d: Expr, rates: Expr) -> "Amounts":
        """Return the amplitudes of a beam of constant length with their rates, (m,) each."""
        matrix_type, count = type(d), d.shape[0]
        return cls(d, rates, matrix_type(count, 1), count, None, matrix_type(1), matrix_type(1, 1))
