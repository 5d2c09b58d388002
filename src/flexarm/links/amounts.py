"""Variables that the section angles of a beam are linear in."""

from dataclasses import dataclass

from flexarm.spatial import Expr


@dataclass(frozen=True)
class Amounts:
    """Variables (K,) that section angles are linear in, as functions of k own coordinates.

    They are the amplitudes of a beam of constant length.  Of a sliding beam, whose first own
    coordinate is the exposed length, they are the amplitudes of its parent curves over that length.
    """

    # value, rate: the variables and their rates, (K,) each.
    value: Expr
    rate: Expr
    bias: Expr  # second rate at zero accelerations, (K,)
    k: int  # number of own coordinates
    # Rate per rate of own coordinate, (K, k); None of a beam of constant length, whose own
    # coordinates they are.
    columns: Expr | None
    # length, out: exposed length, which scales positions, and its rate; 1 and 0 if constant.
    length: Expr
    out: Expr

    @classmethod
    def fixed(cls, d: Expr, rates: Expr) -> "Amounts":
        """Return the amplitudes of a beam of constant length with their rates, (m,) each."""
        new, m = type(d), d.shape[0]
        return cls(d, rates, new(m, 1), m, None, new(1), new(1, 1))
