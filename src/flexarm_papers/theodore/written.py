"""Operations of the entries of a closed-form inertia matrix, written out and factored."""

from collections.abc import Sequence

from flexarm.closed_forms.polynomials import Polynomial

Count = tuple[int, int]  # multiplications, additions


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
