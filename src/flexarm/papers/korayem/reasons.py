"""Why the counted operations of Korayem & Shafei (2009) differ from their Table 1."""

from collections.abc import Iterable, Mapping
from itertools import pairwise

from flexarm.papers.korayem.counts import TABLE_1
from flexarm.papers.korayem.ledger import DEFLECTIONS, JOINTS, MIXED, Cost, ledger_9, ledger_10


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


def printed_step(step: int, n: int, m: int) -> Cost:
    """Add up all that the paper prints beside the lines of a step (n_f = n)."""
    pairs = (n - 1) * (n - 2) / 2
    short = {
        1: [(n - 1, 15, 6)],
        2: [(n - 1, 9, 10), (n - 1, 18, 18), (n - 1, 33, 27)],
        3: [(n - 1, 27, 21), (n, 39, 33)],
        4: [(n - 1, 9, 9), (n - 1, 15, 15)],
        5: [(n * m, 21, 17)],
        6: [(n, 0, 1), (m, 0, 1), ((n - 1) * m, 15, 13)],
        7: [(pairs, 27, 18)],
        8: [(pairs, 9, 6), (pairs, 0, 3)],
    }
    if step in short:
        return added([(x * M, x * A) for x, M, A in short[step]])
    lines = printed_lines(n, m)
    lines["sigma or xi"] = added([lines["sigma or xi"]] * 2)
    last = (JOINTS, MIXED, DEFLECTIONS)
    return added([cost for name, cost in lines.items() if (name in last) == (step == 10)])


def differences(n: int, flexible: int, m: int) -> dict[int, dict[str, Cost]]:
    """Say what takes Table 1 to what is counted: per step, reasons with products and sums."""
    rigid, others = n - flexible, n - 1  # of links 2 to n
    nine, ten = (book(n, flexible, m).costs() for book in (ledger_9, ledger_10))
    joints = [("joint in joint", n), (MIXED, flexible), (DEFLECTIONS, flexible)]
    lines = added([printed_lines(size, m)[line] for line, size in joints])
    first_v = (27.0 * others, 18.0 * others)
    return {
        1: {
            "1 + theta~ times a matrix takes 18 M, 18 A": (3 * others, 12 * others),
            "E of a rigid link is 1": (-18 * rigid, -18 * rigid),
        },
        2: {
            "omega x theta', left out of the paper": (6 * others, 6 * others),
            "doubling of omega x r'": (0, 3 * others),
            "omega + theta' is formed once": (0, -6 * others),
            "omega_1 has one component": (-22, -28),
            "theta' and r' of a rigid link 1 are zero": (-18 * rigid, -18 * rigid),
            "gravity turned into link 1": (9, 6),
        },
        3: {
            "doubling of B2 omega and B8 omega": (0, 3 * (others + flexible)),
            "B8 of a rigid link is zero": (-9 * rigid, -9 * rigid),
        },
        4: {"phi_n is zero": (0, -3)},
        5: {"doubling": (0, flexible * m)},
        6: {
            "R chi once for all modes of a link": (
                -9 * (m - 1) * (flexible - 1), -6 * (m - 1) * (flexible - 1)
            )
        },
        7: {},
        8: {},
        9: {
            "Table 1 is less than its lines": less(
                less(_over(nine, "stands"), first_v), TABLE_1[9](n, flexible, m)),
            "rotation in V's first line, not printed": first_v,
            **_reasons(nine),
        },
        10: {
            "Table 1 is less than its lines": less(lines, TABLE_1[10](n, flexible, m)),
            "joint equations of rigid links": less(_over(ten, "stands"), lines),
            **_reasons(ten),
        },
    }  # fmt: skip


def _reasons(costs: Mapping[str, Mapping[str, Cost]]) -> dict[str, Cost]:
    """Take lines from how they stand to what is counted, reason by reason."""
    return {
        why: less(_over(costs, kind), _over(costs, before))
        for (before, _), (kind, why) in pairwise(KINDS.items())
    }


# Costs of the ledger in order, each with what takes the one before to it.
KINDS = {
    "stands": "as printed",
    "once": "per mode or link, not per pair",
    "known": "zeros and ones",
    "used": "entries that nothing uses",
    "formed": "formed before",
}


def _over(costs: Mapping[str, Mapping[str, Cost]], kind: str) -> Cost:
    return added([line[kind] for line in costs.values()])


def added(costs: Iterable[Cost]) -> Cost:
    """Add costs up."""
    both = list(costs)
    return sum(x for x, _ in both), sum(x for _, x in both)


def less(a: Cost, b: Cost) -> Cost:
    """Take one cost from another."""
    return a[0] - b[0], a[1] - b[1]
