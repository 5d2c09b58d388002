"""Ways to write the entries of a closed-form inertia matrix, which Theodore & Ghosal do not say."""

from collections.abc import Iterable, Sequence

from flexarm.studies.equations import Equations
from flexarm.studies.polynomials import Monomial, Polynomial

Count = tuple[int, int]  # multiplications, additions


def readings(equations: Equations, joints: Iterable[str]) -> dict[str, Count]:
    """Count the upper triangle of M in three ways.

    Multiplied out with like terms joined; the same to first order in the deflections; and each
    entry factored by its most frequent factor, and so on inside.
    """
    entries = [row[j] for i, row in enumerate(equations.M) for j in range(i, len(row))]
    known = set(joints)
    small = {k for k, name in enumerate(equations.names) if name not in known}
    angles = []
    for k, generator in enumerate(equations.generators):
        if generator.kind == "sum":
            angles.append(generator.of)
            if any(g in small for powers in generator.of for g, _ in powers):
                small.add(k)

    def degree(powers: Monomial) -> int:
        return sum(power for g, power in powers if g in small)

    first = [{p: x for p, x in entry.items() if degree(p) <= 1} for entry in entries]
    factored = [nested(entry) for entry in [*angles, *entries]]
    return {
        "multiplied out": written_out([*angles, *entries]),
        "to first order": written_out([*angles, *first]),
        "factored": (sum(m for m, _ in factored), sum(a for _, a in factored)),
    }


def written_out(entries: Sequence[Polynomial]) -> Count:
    """Count polynomials term by term; a negative power is a division, which counts as one."""
    multiplications = additions = 0
    for entry in entries:
        additions += max(len(entry) - 1, 0)
        for powers, x in entry.items():
            factors = sum(abs(power) for _, power in powers)
            if factors:
                multiplications += factors - 1 + (abs(x) != 1.0)
    return multiplications, additions


def nested(entry: Polynomial) -> Count:
    """Count a polynomial factored by its most frequent generator, and so on in what is left."""
    often: dict[tuple[int, int], int] = {}
    for powers in entry:
        for generator, power in powers:
            key = (generator, 1 if power > 0 else -1)
            often[key] = often.get(key, 0) + 1
    if not often or max(often.values()) == 1:
        return written_out([entry])
    generator, sign = max(often, key=lambda key: (often[key], key))
    inside: Polynomial = {}
    rest: Polynomial = {}
    for powers, x in entry.items():
        own = dict(powers)
        if sign * own.get(generator, 0) > 0:
            own[generator] -= sign
            inside[tuple(sorted((g, p) for g, p in own.items() if p))] = x
        else:
            rest[powers] = x
    a, b = nested(inside), nested(rest)
    return a[0] + b[0] + 1, a[1] + b[1] + bool(rest)
