"""Operations of the steps of Korayem & Shafei (2009): by their formulas, and beside their lines."""

from collections.abc import Callable, Iterable

Pair = tuple[float, float]
Formula = Callable[[int, int, int], Pair]

JOINTS, MIXED, DEFLECTIONS = "joint in joint", "deflection in joint", "deflection in deflection"

# Table 1: products and sums of each step, over links n, flexible links f and modes m.
TABLE_1: dict[int, Formula] = {
    1: lambda n, f, m: (15 * n - 15, 6 * n - 6),
    2: lambda n, f, m: (60 * n - 60, 55 * n - 55),
    3: lambda n, f, m: (66 * n - 27, 54 * n - 21),
    4: lambda n, f, m: (24 * n - 24, 24 * n - 24),
    5: lambda n, f, m: (21 * f * m, 17 * f * m),
    6: lambda n, f, m: (15 * m * f - 15 * m, n - 12 * m + 13 * m * f),
    7: lambda n, f, m: (13.5 * n**2 - 40.5 * n + 27, 9 * n**2 - 27 * n + 18),
    8: lambda n, f, m: (4.5 * n**2 - 13.5 * n + 9, 4.5 * n**2 - 13.5 * n + 9),
    9: lambda n, f, m: (390 - 901.5 * n + 457.5 * n**2, 276 - 652.5 * n + 328.5 * n**2),
    10: lambda n, f, m: (
        30 * m * f**2 - 30 * m * f - 60 * m**2 * f + 18 * m**2 + 42 * m**2 * f**2,
        9 * n**2 - 9 + 52.5 * m * f**2 - 79.5 * m * f + 18 * m - 89.5 * m**2 * f + 18 * m**2
        + 53.5 * m**2 * f**2,
    ),
}  # fmt: skip


def korayem_shafei(n: int, nf: int, m: int, *, printed: bool = False) -> tuple[float, float]:
    """Evaluate the formulas of Korayem & Shafei for multiplications and additions (Table 2).

    The printed ones have a factor m too many in two terms each (erratum); without it they give the
    numbers printed beside them.
    """
    both, x = 18 * m**2, m if printed else 1
    multiplications = (
        both - 15 * m - 790.5 * n + 6 * m * nf * x + 475.5 * n**2 + 42 * m**2 * nf**2
        + 30 * m * nf**2 - 60 * m**2 * nf * x + 300
    )  # fmt: skip
    additions = (
        both + 6 * m - 553 * n - 49.5 * m * nf * x + 351 * n**2 + 53.5 * m**2 * nf**2
        + 52.5 * m * nf**2 - 89.5 * m**2 * nf * x + 188
    )  # fmt: skip
    return multiplications, additions


def book(n: int, nf: int, m: int, *, printed: bool = False) -> tuple[float, float]:
    """Evaluate Book's formulas for multiplications and additions, as Korayem & Shafei give them.

    The printed ones have a factor m too many in two terms each (erratum).
    """
    x = m if printed else 1
    multiplications = (
        279 * n + 118 * m * nf**2 + 17.5 * m**2 * nf + 137.5 * nf * m * x + 84 * n**2
        + 74 * n * nf * m + 6 * m**2 * nf**2 - 57 + 86 * n * nf * x + 126 * nf
    )  # fmt: skip
    additions = (
        329 * n + 115.5 * m * nf**2 + 19 * m**2 * nf + 123 * nf * m * x + 85 * n**2
        + 68 * n * nf * m + 6.5 * m**2 * nf**2 - 91 + 80 * n * nf * x + 111 * nf
    )  # fmt: skip
    return multiplications, additions


def printed_lines(n: int, m: int) -> dict[str, tuple[float, float]]:
    """Add up the operations that the paper prints beside each line of steps 9 and 10 (n_f = n)."""
    pairs, inner = n * (n - 1) / 2, (n - 1) * (n - 2) / 2  # j < k up to n, up to n - 1
    lines: dict[str, list[tuple[float, int, int]]] = {
        "sigma or xi": [(n - 1, 27, 27), (pairs, 27, 18)],
        "psi": [(n - 1, 18, 9), (inner, 63, 45), (pairs, 27, 18)],
        "lambda": [(1, 3, 0), (n - 2, 3, 3), (inner, 27, 18)],
        "gamma": [(n - 1, 18, 9), (inner, 27, 18), (inner, 51, 36)],
        "k+ of xi": [(n * (n - 1), 27, 18)],
        "U": [(n, 18, 18), (n * (n - 2), 45, 45)],
        "V": [(n - 1, 18, 9), ((n - 1) * (n - 3), 45, 36)],
        "k+ of sigma, psi, U": [(3 * n * (n - 1), 27, 18)],
        "j+ of these and gamma": [(5 * (n - 1) ** 2, 27, 18)],
        "joint in joint": [(pairs, 0, 18), (n - 1, 0, 9)],
        "deflection in joint": [
            (pairs * m, 18, 42), ((n - 1) * m, 18, 45), (inner * m, 42, 63), ((n - 1) * m, 24, 18)
        ],
        "deflection in deflection": [
            ((n - 1) * m**2, 42, 72), (inner * m**2, 84, 107), ((n - 1) * m**2, 48, 35)
        ],
    }  # fmt: skip
    return {
        name: (sum(x * M for x, M, _ in parts), sum(x * A for x, _, A in parts))
        for name, parts in lines.items()
    }


def printed_step(step: int, n: int, m: int, *, whole: bool = False) -> Pair:
    """Add up all that the paper prints beside the lines of a step (n_f = n).

    As a whole with the sums over modes of eqs. 102 and 103, which the lines leave out.
    """
    pairs, sums = (n - 1) * (n - 2) / 2, n * m * whole
    short: dict[int, list[tuple[float, int, int]]] = {
        1: [(n - 1, 15, 6)],
        2: [(n - 1, 9, 10), (n - 1, 18, 18), (n - 1, 33, 27)],
        3: [(n - 1, 27, 21), (n, 39, 33)],
        4: [(n - 1, 9, 9), (n - 1, 15, 15)],
        5: [(n * m, 21, 17), (sums, 3 * m, 3 * m - 3)],
        6: [(n, 0, 1), (m, 0, 1), ((n - 1) * m, 15, 13), (sums, m, m - 1)],
        7: [(pairs, 27, 18)],
        8: [(pairs, 9, 6), (pairs, 0, 3)],
    }
    if step in short:
        return added([(x * M, x * A) for x, M, A in short[step]])
    lines = printed_lines(n, m)
    lines["sigma or xi"] = added([lines["sigma or xi"]] * 2)
    last = (JOINTS, MIXED, DEFLECTIONS)
    return added([cost for name, cost in lines.items() if (name in last) == (step == 10)])


def needless(step: int, n: int, m: int) -> Pair:
    """Add up what the lines of a step print beside blocks that are zero, or known (n_f = n).

    Zero are jU_n, jV_n-1, npsi_k and ngamma_k; known in deflection equations, for k = n, are the
    vectors that joint equations have made of alpha and epsilon.
    """
    blocks = {
        # jU_k+, j+U_k+ of k = n - 1, npsi_k+, (n-1)+psi_k+, (n-1)+gamma_k; less what V_n-2 lacks
        9: [(n + 4 * (n - 1) - (n - 1), 27, 18)],
        10: [(m * n, 0, 9), (m * (n - 1), 0, 18), (m**2 * n, 0, 18), (m**2 * (n - 1), 24, 18)],
    }
    return added([(x * M, x * A) for x, M, A in blocks.get(step, ())])


def added(costs: Iterable[Pair]) -> Pair:
    """Add costs up."""
    both = list(costs)
    return sum(x for x, _ in both), sum(x for _, x in both)
