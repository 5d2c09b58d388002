"""Static shapes beside the modes of a uniform beam with a body at its tip, to thirty digits.

Strains are Legendre polynomials, whose integrals are known in closed form; nothing is shared with
the elements that flexarm takes.
"""

from collections.abc import Sequence

import mpmath as mp  # type: ignore[import-untyped]

DIGITS = 40
SIZE = 24  # polynomials


def integrated(series: Sequence[mp.mpf]) -> list[mp.mpf]:
    """Integrate a Legendre series from -1."""
    found = [mp.mpf(0)] * (len(series) + 1)
    for k, value in enumerate(series):
        found[k + 1] += value / (2 * k + 1)
        found[max(k - 1, 0)] += value if k == 0 else -value / (2 * k + 1)
    return found


def static_shapes(
    *, mass_per_length: float, EI: float, tip: tuple[float, float, float], modes: int
) -> list[tuple[float, float, float]]:
    """Give stiffness, mass and tip slope of modes, then of static shapes, of a beam of 1 m.

    All are scaled to 1 m at the tip.  The tip's body is its mass, its first moment and its inertia.
    """
    with mp.workdps(DIGITS):
        half, flexible = mp.mpf(1) / 2, []
        for k in range(SIZE):
            strain = [mp.mpf(0)] * k + [mp.sqrt((2 * k + 1) / mp.mpf(EI))]  # of unit stiffness
            slope = [half * value for value in integrated(strain)]
            flexible.append((slope, [half * value for value in integrated(slope)]))
        ends = mp.matrix([[mp.fsum(each[n]) for each in flexible] for n in (1, 0)])
        own = mp.matrix(SIZE, SIZE)
        for i, (_, a) in enumerate(flexible):
            for j, (_, b) in enumerate(flexible):
                shared = zip(a, b, strict=False)
                own[i, j] = mp.fsum(p * q / (2 * k + 1) for k, (p, q) in enumerate(shared))
        own *= mp.mpf(mass_per_length)
        weight, first, second = tip
        body = mp.matrix([[weight, first], [first, second]])
        squares, vectors = mp.eigsy(own + ends.T * body * ends)
        slow = sorted(range(SIZE), key=lambda k: -squares[k])[:modes]
        shapes = [vectors[:, k] for k in slow]
        rest = ends.T
        for shape in shapes:
            rest -= shape * (shape.T * rest)
        rest = rest * (mp.cholesky(rest.T * rest) ** -1).T
        _, turn = mp.eigsy(rest.T * own * rest)
        shapes += [rest * turn[:, k] for k in (1, 0)]
        found = []
        for shape in shapes:
            moved, turned = ends * shape
            mass = (shape.T * own * shape)[0]
            found.append((float(1 / moved**2), float(mass / moved**2), float(turned / moved)))
        return found
