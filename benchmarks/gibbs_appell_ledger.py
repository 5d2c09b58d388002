"""Why steps 9 and 10 of Korayem & Shafei (2009) take fewer operations than are printed: a ledger.

Every matrix product and sum of the two steps is taken down under the line of the paper that it
belongs to, with its cost as the line stands, with what is known to be zero or one, without
entries that nothing uses, and with everything formed before at hand.  The last cost, added up, is
what is counted when the whole step is compiled.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

import casadi as ca

from flexarm.formulations.gibbs_appell.chain import ChainLink, tilde
from flexarm.spatial import Expr, Scalar
from flexarm_papers.korayem.counts import (
    DEFLECTIONS,
    JOINTS,
    MIXED,
    TABLE_1,
    Pair,
    added,
    printed_lines,
)
from gibbs_appell_steps import generic_chain, generic_tables, operations, symbols

Cost = Pair  # products, sums
MATRICES, MODES, TURNED, MOMENTS, VECTORS, PAIRS = (
    f"{DEFLECTIONS}: {name}"
    for name in (
        "sums of matrices", "matrix times r or theta", "jR_k alpha, jR_k epsilon",
        "r~ and jR_j+1 of these", "sums of vectors", "theta^T and r^T of the sums",
    )
)  # fmt: skip
# Of the lines in this order each is counted with all before it at hand.
ORDER = (
    "sigma", "xi", "psi", "lambda", "gamma", "k+ of xi", "U", "V", "k+ of sigma, psi, U",
    "j+ of these and gamma", JOINTS, MIXED, MATRICES, MODES, TURNED, MOMENTS, VECTORS, PAIRS,
)  # fmt: skip


class Value(NamedTuple):
    """A matrix: in symbols of its own, and as it comes from the symbols of the step."""

    own: Expr
    full: Expr

    @property
    def T(self) -> "Value":
        """Give the transpose."""
        return Value(self.own.T, self.full.T)

    def __neg__(self) -> "Value":
        """Change all signs."""
        return Value(-self.own, -self.full)


class Row(NamedTuple):
    """One product or sum: its line, how often the paper counts it, and its results."""

    line: str
    times: float
    dense: Cost
    made: Expr
    own: Expr
    full: Expr


@dataclass
class Ledger:
    """Products and sums in the order in which they are formed, and what is wanted in the end."""

    rows: list[Row] = field(default_factory=list)
    wanted: list[Expr] = field(default_factory=list)

    def product(
        self, line: str, a: Value, b: Value, times: float = 1, *, skew: bool = False
    ) -> Value:
        """Multiply; the paper counts a skew factor's two entries per row only."""
        (p, inner), r = a.own.shape, b.own.shape[1]
        inner = inner - 1 if skew else inner
        dense = (p * inner * r, p * (inner - 1) * r)
        return self._enter(line, times, dense, a.own @ b.own, a.full @ b.full)

    def total(
        self, line: str, a: Value, b: Value, times: float = 1, *, diagonal: bool = False
    ) -> Value:
        """Add; of diagonal matrices the paper counts the diagonal only."""
        rows, columns = a.own.shape
        dense = (0, rows if diagonal else rows * columns)
        return self._enter(line, times, dense, a.own + b.own, a.full + b.full)

    def scaled(self, line: str, factor: Scalar, matrix: Value) -> Value:
        """Multiply every entry that is not zero."""
        own, full = factor * matrix.own, factor * matrix.full
        return self._enter(line, 1, (matrix.own.nnz(), 0), own, full)

    def want(self, value: Value) -> None:
        """Say that all entries of a result are wanted."""
        self.wanted.append(value.own)

    def _enter(self, line: str, times: float, dense: Cost, made: Expr, full: Expr) -> Value:
        made, full = ca.sparsify(made), ca.sparsify(full)
        own = ca.SX(made.sparsity(), ca.vertcat(*[_named(x) for x in _entries(made)]))
        self.rows.append(Row(line, times, dense, made, own, full))
        return Value(own, full)

    def costs(self) -> dict[str, dict[str, Cost]]:
        """Add up every line: as it stands, once per mode, known zeros, used entries, formed once.

        Keys are "stands", "once", "known", "used" and "formed".
        """
        used = set[int]().union(*[_symbols(x) for x in self.wanted])
        kept: list[list[int]] = []
        for row in reversed(self.rows):
            made, own = _entries(row.made), _entries(row.own)
            keep = [
                k for k, x in enumerate(own) if any(y.element_hash() in used for y in ca.symvar(x))
            ]
            kept.insert(0, keep)
            used |= {y.element_hash() for k in keep for y in ca.symvar(made[k])}
        found = {
            line: self._cost(line, kept) for line in dict.fromkeys(row.line for row in self.rows)
        }
        before: Cost = (0, 0)
        pool: list[Expr] = []
        for line in sorted(found, key=ORDER.index):
            for row, keep in zip(self.rows, kept, strict=True):
                if row.line == line and keep:
                    pool.append(ca.vertcat(*[_entries(row.full)[k] for k in keep]))
            now = operations(pool)
            found[line]["formed"] = (now[0] - before[0], now[1] - before[1])
            before = now
        return found

    def _cost(self, line: str, kept: list[list[int]]) -> dict[str, Cost]:
        """Add up a line's products and sums, each by itself."""
        found: dict[str, Cost] = dict.fromkeys(("stands", "once", "known", "used"), (0, 0))
        for row, keep in zip(self.rows, kept, strict=True):
            if row.line != line:
                continue
            made = _entries(row.made)
            known = _cost(made)
            costs = {
                "stands": (row.times * row.dense[0], row.times * row.dense[1]),
                "once": row.dense,
                "known": known,
                "used": known if len(keep) == len(made) else _cost([made[k] for k in keep]),
            }
            for kind, cost in costs.items():
                found[kind] = (found[kind][0] + cost[0], found[kind][1] + cost[1])
        return found


def _entries(x: Expr) -> list[Expr]:
    return [x.nz[k] for k in range(x.nnz())]


def _named(x: Expr) -> Expr:
    """Give an entry a symbol of its own, unless it is a number or a symbol, signs apart."""
    plain = -x if x.is_op(ca.OP_NEG) else x
    return x if plain.is_constant() or plain.is_symbolic() else symbols("x", 1)


def _symbols(x: Expr) -> set[int]:
    return {each.element_hash() for each in ca.symvar(ca.veccat(x))}


def _cost(entries: list[Expr]) -> Cost:
    return operations([ca.vertcat(*entries)]) if entries else (0, 0)


def ledger_9(n: int, flexible: int, m: int) -> Ledger:
    """Take down step 9."""
    links = generic_chain(n, flexible, m)
    R_, r_, _ = generic_tables(links, [ca.SX.eye(3), *[symbols("R", 3, 3) for _ in range(n)]])
    book, last = Ledger(), n
    R = [[_given(x) for x in row] for row in R_]
    r = [[_given(tilde(x)) for x in row] for row in r_]
    own = [_given(tilde(link.r)) for link in links]
    sigma = _recursion(book, "sigma", [link.body.B9 for link in links], R, 1)
    xi = _recursion(book, "xi", [link.body.B3 for link in links], R, -1)
    psi, lamda, gamma, U, V = ([[_zero() for _ in links] for _ in links] for _ in range(5))
    for j in range(1, last):
        psi[j][last] = book.product("psi", r[j][last], xi[j][last], skew=True)
        for k in range(last - 1, 0, -1):
            psi[j][k] = book.product("psi", psi[j][k + 1], R[k + 1][k])
            if k > j:
                turned = book.product("psi", R[j][k], _given(links[k].body.B3), skew=True)
                more = book.product("psi", r[j][k], turned, skew=True)
                psi[j][k] = book.total("psi", psi[j][k], more)
    mass = [link.body.M for link in links]
    for k in range(last - 1, 0, -1):
        lamda[k][k] = book.scaled("lambda", mass[k + 1], _given(ca.SX.eye(3)))
        if k < last - 1:
            lamda[k][k] = book.total("lambda", lamda[k][k], lamda[k + 1][k + 1], diagonal=True)
        for j in range(k - 1, 0, -1):
            lamda[j][k] = book.product("lambda", R[j][j + 1], lamda[j + 1][k])
            lamda[k][j] = lamda[j][k].T
    for j in range(1, last):
        gamma[j][last - 1] = book.product("gamma", r[j][last], lamda[j][last - 1], skew=True)
        for k in range(last - 2, 0, -1):
            gamma[j][k] = book.product("gamma", gamma[j][k + 1], R[k + 1][k])
            if k >= j:
                heavy = book.scaled("gamma", mass[k + 1], r[j][k + 1])
                more = book.product("gamma", heavy, R[j][k], skew=True)
                gamma[j][k] = book.total("gamma", gamma[j][k], more)
    xi_k = _moved(book, "k+ of xi", xi, R)
    for j in range(1, last + 1):
        for k in range(last - 1, 0, -1):
            both = book.total("U", gamma[j][k], xi_k[j][k])
            U[j][k] = book.product("U", both, own[k], skew=True)
            if k < last - 1:
                more = book.product("U", U[j][k + 1], R[k + 1][k])
                U[j][k] = book.total("U", U[j][k], more)
    for j in range(1, last):
        for k in range(last - 2, 0, -1):
            V[j][k] = book.product("V", lamda[j][k + 1], own[k + 1], skew=True)
            if k < last - 2:
                V[j][k] = book.total("V", V[j][k], V[j][k + 1])
            V[j][k] = book.product("V", V[j][k], R[k + 1][k])
    line = "k+ of sigma, psi, U"
    moved = [_moved(book, line, X, R) for X in (sigma, psi, U)]
    line = "j+ of these and gamma"
    for X in (moved[0], xi_k, moved[1], moved[2], gamma):
        for j in range(1, last):
            for k in range(1, last):
                book.want(book.product(line, R[j][j + 1], X[j + 1][k]))
    for table in (sigma, xi, psi, lamda, gamma, xi_k, U, V, *moved):
        for row in table[1:]:
            for x in row[1:]:
                book.want(x)
    return book


def ledger_10(n: int, flexible: int, m: int) -> Ledger:
    """Take down step 10."""
    links = generic_chain(n, flexible, m)
    tables = generic_tables(links, [ca.SX.eye(3), *[symbols("R", 3, 3) for _ in range(n)]])
    R = [[_given(x) for x in row] for row in tables[0]]
    r = [[_given(tilde(x)) for x in row] for row in tables[1]]
    s = {name: [[_given(x) for x in row] for row in getattr(tables[2], name)] for name in SUMS}
    book = Ledger()
    for j in range(1, n + 1):
        for k in range(j, n + 1):
            turned = book.total(JOINTS, s["sigma"][j][k], -s["psi"][j][k]) if k > j or k < n else (
                s["sigma"][j][k])  # fmt: skip
            turned = book.total(JOINTS, turned, -s["U"][j][k]) if k < n else turned
            book.want(_entry(turned, [2], [2]))
    _joint_rows(book, links, R, r, s)
    _deflection_rows(book, links, R, r, s)
    return book


SUMS = ("sigma", "sigma_k", "sigma_jk", "xi_k", "xi_jk", "psi", "psi_k", "psi_jk", "U", "U_k",
        "U_jk", "gamma", "gamma_j", "lamda", "V")  # fmt: skip
Tables = dict[str, list[list[Value]]]


def _joint_rows(
    book: Ledger, links: list[ChainLink], R: list[list[Value]], r: list[list[Value]], s: Tables
) -> None:
    n = len(links) - 1
    for j in range(1, n + 1):
        for k in range(1, n + 1):
            m, other = len(links[k].variables), links[k]
            if not m:
                continue
            parts = []
            if k < n:
                bent = book.total(MIXED, s["sigma_k"][j][k], -s["psi_k"][j][k], m)
                bent = book.total(MIXED, bent, -s["U_k"][j][k], m)
                parts.append(book.product(MIXED, bent, _given(other.theta_f)))
                push = book.total(MIXED, s["xi_k"][j][k], s["gamma"][j][k], m)
                parts.append(book.product(MIXED, push, _given(other.r_f)))
            if k == j:
                parts.append(_given(other.body.alpha))
            if k > j:
                alpha = book.product(MIXED, R[j][k], _given(other.body.alpha))
                eps = book.product(MIXED, R[j][k], _given(other.body.eps))
                eps = book.product(MIXED, r[j][k], eps, skew=True)
                parts.append(book.total(MIXED, alpha, eps))
            book.want(_entry(_summed(book, MIXED, parts), [2], list(range(m))))


def _deflection_rows(
    book: Ledger, links: list[ChainLink], R: list[list[Value]], r: list[list[Value]], s: Tables
) -> None:
    n = len(links) - 1
    for j in range(1, n + 1):
        for k in range(j, n + 1):
            link, other = links[j], links[k]
            m = len(other.variables)
            if not m or not link.variables:
                continue
            turns, pushes = [], []
            if k < n:
                bent = book.total(MATRICES, s["sigma_jk"][j][k], -s["psi_jk"][j][k], m * m)
                bent = book.total(MATRICES, bent, -s["U_jk"][j][k], m * m)
                both = book.total(MATRICES, s["gamma_j"][j][k], s["xi_jk"][j][k], m * m)
                turns.append(book.product(MODES, both, _given(other.r_f), m))
                turns.append(book.product(MODES, bent, _given(other.theta_f), m))
                pushes.append(book.product(MODES, s["lamda"][j][k], _given(other.r_f), m))
                both = book.total(MATRICES, s["V"][j][k], s["xi_jk"][j][k], m * m)
                pushes.append(-book.product(MODES, both, _given(other.theta_f), m))
            if k > j:
                # jR_j+1 (R alpha + r~ R eps), where the paper has jR_k alpha + jR_j+1 r~ R eps
                alpha = book.product(TURNED, R[j + 1][k], _given(other.body.alpha), m)
                eps = book.product(TURNED, R[j + 1][k], _given(other.body.eps), m)
                eps = book.product(MOMENTS, r[j + 1][k], eps, m, skew=True)
                own = book.total(VECTORS, alpha, eps, m)
                turns.append(book.product(MOMENTS, R[j][j + 1], own, m))
                pushes.append(book.product(TURNED, R[j][k], _given(other.body.eps), m))
            block = _given(other.body.sc)
            if turns:
                turn, push = (_summed(book, VECTORS, x, m) for x in (turns, pushes))
                first = book.product(PAIRS, _given(link.theta_f).T, turn)
                second = book.product(PAIRS, _given(link.r_f).T, push)
                block = book.total(PAIRS, first, second)
            if j == k and turns:
                block = book.total(PAIRS, block, _given(other.body.sc))
            _want_block(book, block, upper=j == k)


def _want_block(book: Ledger, block: Value, *, upper: bool) -> None:
    size = block.own.shape[0]
    for f in range(size):
        columns = list(range(f if upper else 0, block.own.shape[1]))
        book.want(_entry(block, [f], columns))


def _entry(value: Value, rows: list[int], columns: list[int]) -> Value:
    return Value(value.own[rows, columns], value.full[rows, columns])


def _summed(book: Ledger, line: str, parts: list[Value], times: float = 1) -> Value:
    result = parts[0]
    for part in parts[1:]:
        result = book.total(line, result, part, times)
    return result


def _recursion(
    book: Ledger, line: str, B: list[Expr], R: list[list[Value]], sign: int
) -> list[list[Value]]:
    n = len(B)
    X = [[_zero() for _ in range(n)] for _ in range(n)]
    for k in range(n - 1, 0, -1):
        X[k][k] = _given(B[k])
        if k < n - 1:
            more = book.product(line, X[k][k + 1], R[k + 1][k])
            X[k][k] = book.total(line, X[k][k], more)
        for j in range(k - 1, 0, -1):
            X[j][k] = book.product(line, R[j][j + 1], X[j + 1][k])
            X[k][j] = X[j][k].T if sign > 0 else -X[j][k].T
    return X


def _moved(
    book: Ledger, line: str, X: list[list[Value]], R: list[list[Value]]
) -> list[list[Value]]:
    """Give jX_k+."""
    n = len(X) - 1
    return [
        [_zero(), *[book.product(line, X[j][k + 1], R[k + 1][k]) for k in range(1, n)], _zero()]
        if j
        else []
        for j in range(n + 1)
    ]


def _given(x: Expr) -> Value:
    return Value(x, x)


def _zero() -> Value:
    return _given(ca.SX(3, 3))


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


def less(a: Cost, b: Cost) -> Cost:
    """Take one cost from another."""
    return a[0] - b[0], a[1] - b[1]
