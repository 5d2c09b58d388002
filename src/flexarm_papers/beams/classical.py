"""Exact eigenvalues and shapes of uniform Euler-Bernoulli beams.

Everything is dimensionless: xi = x / L, the beam obeys w'''' = lam^4 w and vibrates with
omega = lam^2 sqrt(EI / (rhoA L^4)).

Boundary conditions, with M, J, D the tip body and R the dynamic stiffness of the root:

- tip: w''' = -lam^4 (M w + D w'), w'' = lam^4 (J w' + D w), or w = 0 where it is pinned;
- root: w'' = R w', R = kap - lam^4 Jh for a hub on a spring to ground; a rotor jm behind the
  spring moves the spring's foot, R = -kap jm lam^4 / (kap - jm lam^4) - lam^4 Jh;
- root: w = 0, or w''' = 0 where it may translate.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
import numpy.typing as npt

from flexarm.errors import ShapeError
from flexarm.links.base import gauss_points
from flexarm_papers.beams.frequency import SERIES_BELOW, Array, beam_products, inertia_determinant
from flexarm_papers.beams.roots import bracketed_root

LARGEST_RATIO = 1e12  # of a tip's mass or inertia to the beam's
ROOT_TOLERANCE = 1e-8  # least singular value at a root, relative to the largest one
HEAVY_WEIGHT = 10.0


def clamped_mass(mass: float, inertia: float = 0.0, offset: float = 0.0) -> "BeamEnds":
    """Clamp the root and put a body M, J, D at the tip."""
    return hub_mass(math.inf, mass, inertia, offset)


def hub_mass(
    hub: float, mass: float = 0.0, inertia: float = 0.0, offset: float = 0.0
) -> "BeamEnds":
    """Let the root turn with a hub Jh and put a body M, J, D at the tip."""
    return BeamEnds(hub=hub, tip_mass=mass, tip_inertia=inertia, tip_offset=offset)


def beam_roots(ends: "BeamEnds", count: int) -> Array:
    """Find the first elastic eigenvalues of a uniform beam, none missed.

    Parameters
    ----------
    ends
        What holds and loads the two ends.
    count
        How many; rigid-body motions (lam = 0) do not count.

    Returns
    -------
    Array
        lam, increasing (count,) [1].

    Notes
    -----
    Intervals are halved until the count of eigenvalues below their ends (``count_below``) leaves
    one in each; the scaled boundary determinant then changes sign there once.
    """
    if count < 1:
        raise ShapeError(f"count: expected at least 1 eigenvalue, got {count}")
    rigid = ends.rigid_modes
    # Eigenvalue k of any ends is at most that of the clamped-clamped beam, which is < (k+1) pi.
    # The extra 0.1 keeps the halving off multiples of pi, where pinned beams have theirs.
    high = (rigid + count + 1) * math.pi + 0.1
    low = 1.0
    while count_below(ends, low) > rigid:
        low /= 2
    roots: list[float] = []
    intervals = [(low, rigid, high, count_below(ends, high))]
    while intervals and len(roots) < count:
        a, below_a, b, below_b = intervals.pop()
        if below_b - below_a == 1:
            roots.append(bracketed_root(lambda lam: _boundary_value(ends, lam), a, b))
        elif b - a <= 4 * np.spacing(b):  # equal to rounding: no interval can part them
            roots.extend([b] * (below_b - below_a))
        elif below_b > below_a:
            middle = (a + b) / 2
            below = count_below(ends, middle)
            intervals += [(middle, below, b, below_b), (a, below_a, middle, below)]
    return np.array(roots[:count])


def count_below(ends: "BeamEnds", lam: float) -> int:
    """Count the eigenvalues below lam, rigid-body motions included.

    Notes
    -----
    Wittrick & Williams 1971, without their stiffness matrix and its poles: the clamped-clamped
    beam has one eigenvalue in each (k pi, (k+1) pi), k >= 1.  Every freedom let go adds one or none
    below lam (interlacing), and the sign of the boundary determinant says which, being negative
    when the count is odd.
    """
    count = max(math.floor(lam / math.pi) - 1, 0)
    for value in _released_values(ends, lam):
        count += (value < 0) != (count % 2 == 1)
    return count


def beam_shape(ends: "BeamEnds", lam: float) -> "BeamShape":
    """Build the shape that belongs to an eigenvalue, with unit mass and a positive tip.

    Parameters
    ----------
    ends
        What holds and loads the two ends.
    lam
        One of their eigenvalues, from ``beam_roots``.

    Notes
    -----
    Unit mass: int psi^2 + M psi^2 + 2 D psi psi' + J psi'^2 at the tip + Jh psi'^2 at the root
    + jm phi^2 of the rotor is 1.  A pinned tip gets a positive slope instead.
    """
    if not lam > 0:
        raise ShapeError(f"lam: expected an elastic eigenvalue > 0, got {lam:g}")
    rows = _boundary_rows(ends, lam)
    largest = np.abs(rows).max(axis=1, keepdims=True)
    # lam is rounded, so the conditions hold only nearly.  Those of heavy bodies get more weight, as
    # their errors count with the body's inertia; much more would cost the other rows their digits.
    _, sigma, right = np.linalg.svd(rows / largest * np.clip(largest, 1, HEAVY_WEIGHT))
    if sigma[-1] > ROOT_TOLERANCE * sigma[0]:
        raise ShapeError(f"lam: {lam:.15g} is no eigenvalue of {ends}; take it from beam_roots")
    turn = max(lam, 1.0) * float(right[-1, 4]) if ends.rotor_moves else 0.0
    raw = BeamShape(lam, right[-1, :4], turn)
    scale = 1 / math.sqrt(_modal_mass(ends, raw))
    scale = math.copysign(scale, float(raw.evaluate(1.0, 1 if ends.tip_pinned else 0)))
    return BeamShape(lam, scale * raw.coefficients, scale * turn)


def _boundary_value(ends: "BeamEnds", lam: float) -> float:
    """Evaluate the scaled boundary determinant of the ends as they are."""
    *_, value = _released_values(ends, lam)
    # An exact zero counts as positive, as in count_below, or a root could be found twice.
    return value or math.ulp(0.0)


def _released_values(ends: "BeamEnds", lam: float) -> Iterator[float]:
    """Yield the boundary determinant of the clamped-clamped beam, then as freedoms are let go.

    Order: tip rotation, tip translation, root rotation, rotor, root translation.  Each is scaled
    by a positive factor and negative where the count of eigenvalues below lam is odd.
    """
    z = lam**4
    held, free = _minors(lam, translation=False)
    yield from _tip_values(ends, z, held)
    for moment, slope in _root_ratios(ends, z)[1:]:
        yield _tip_values(ends, z, moment * held + slope * free)[-1]
    if ends.translation:
        held, free = _minors(lam, translation=True)
        moment, slope = _root_ratios(ends, z)[-1]
        yield _tip_values(ends, z, moment * held + slope * free)[-1]


def _tip_values(ends: "BeamEnds", z: float, minors: Array) -> list[float]:
    """Apply the tip's conditions to the two solutions left by the root: clamped, pinned, loaded."""
    m01, m02, m03, m13, m23 = minors.tolist()
    pinned = m02 - z * ends.tip_inertia * m01
    if ends.tip_pinned:
        return [m01, pinned]
    loaded = m23 - z * (ends.tip_inertia * m13 + 2 * ends.tip_offset * m03 + ends.tip_mass * m02)
    return [m01, pinned, loaded + z * z * ends.tip_determinant * m01]


def _minors(lam: float, *, translation: bool) -> tuple[Array, Array]:
    """Evaluate the 2x2 minors (01, 02, 03, 13, 23) of (w, w', w'', w''') at the tip.

    Minors of two solutions each, over cosh(lam) / 2: a unit root moment, then a unit root slope,
    both with a unit root force, or a unit root displacement where the root may translate.  The
    minor 12 equals 03.  Products of growing functions have cancelled by hand here, which is why
    the determinant stays accurate at large lam.
    """
    p = beam_products(lam)
    z = lam**4
    if translation:
        diff, cross, total = -lam * p.diff, -(lam**2) * p.cross, -(lam**3) * p.total
        moment = [p.total / lam, 2 * p.cos, diff, 2 * cross, total]
        slope = [p.plus, diff, cross, total, z * p.minus]
    else:
        moment = [p.minus / z, p.diff / lam**3, p.cross / lam**2, p.total / lam, p.plus]
        slope = [p.diff / lam**3, 2 * p.cross / lam**2, p.total / lam, 2 * p.cos, -lam * p.diff]
    return np.array(moment), np.array(slope)


def _root_ratios(ends: "BeamEnds", z: float) -> list[tuple[float, float]]:
    """List (w'', w') at the root, up to a factor, as its rotation and then its rotor are let go."""
    ratios = [(1.0, 0.0)]
    if ends.root_turns:
        ratios.append((ends.spring - z * ends.hub, 1.0))
    if ends.rotor_moves:
        slope = ends.spring - z * ends.rotor
        ratios.append((-z * (ends.hub * slope + ends.spring * ends.rotor), slope))
    return ratios


def _boundary_rows(ends: "BeamEnds", lam: float) -> Array:
    """Assemble the boundary conditions on the coefficients of the basis (4, 4).

    A rotor adds its angle as an unknown and its equation of motion (5, 5): eliminated, it would
    leave nothing to tell a shape in which it resonates from the next one.  The nu-th derivative,
    and the rotor's angle as the first, count in units of max(lam, 1)^nu.
    """
    unit = max(lam, 1.0)
    root, tip = ([_basis(lam, np.array(x), nu) / unit**nu for nu in range(4)] for x in (0.0, 1.0))
    spring, inertia = ends.spring / unit, lam**4 / unit
    rows = np.zeros((5, 5))
    rows[0, :4] = root[3 if ends.translation else 0]
    rows[1:3, :4] = _tip_rows(ends, lam, tip)
    if not ends.root_turns:
        rows[3, :4] = root[1]
    elif not ends.rotor_moves:
        rows[3, :4] = root[2] + (inertia * ends.hub - spring) * root[1]
    else:
        # The moments on hub and rotor together: a stiff spring must not swamp the others.
        rows[3] = [*(root[2] + inertia * ends.hub * root[1]), inertia * ends.rotor]
        rows[4] = [*(-spring * root[1]), spring - inertia * ends.rotor]
        return rows
    return rows[:4, :4]


def _tip_rows(ends: "BeamEnds", lam: float, tip: list[Array]) -> list[Array]:
    """Write the tip's two conditions, in units of max(lam, 1).

    A heavy body would make them nearly parallel.  Taken about its centre of mass, or of
    percussion where it is its rotation that is heavy, they stay apart.
    """
    unit = max(lam, 1.0)
    mass, inertia = lam**4 / unit**3 * ends.tip_mass, lam**4 / unit * ends.tip_inertia
    if ends.tip_pinned:
        return [tip[0], tip[2] - inertia * tip[1]]
    offset, det = lam**4 / unit**2 * ends.tip_offset, lam**8 / unit**4 * ends.tip_determinant
    force = tip[3] + mass * tip[0] + offset * tip[1]
    moment = tip[2] - inertia * tip[1] - offset * tip[0]
    if mass > inertia:
        return [force, tip[2] + offset / mass * tip[3] - det / mass * tip[1]]
    if inertia > 0:
        return [tip[3] + offset / inertia * tip[2] + det / inertia * tip[0], moment]
    return [force, moment]


def _basis(lam: float, xi: Array, nu: int) -> Array:
    """Evaluate the nu-th derivative of four solutions of w'''' = lam^4 w (..., 4).

    cos, sin and one exponential decaying from each end: nothing grows and nothing cancels.  As lam
    tends to 0 these become dependent, so below ``SERIES_BELOW`` the basis is the four power series
    that start with 1, xi, xi^2 / 2, xi^3 / 6.
    """
    if lam < SERIES_BELOW:
        first, powers, factors = _series(nu)
        fourth, total = ((lam * xi) ** 4)[..., None], factors[-1]
        for row in factors[-2::-1]:
            total = total * fourth + row
        return np.asarray(lam**first * xi[..., None] ** powers * total)
    c, s = np.cos(lam * xi), np.sin(lam * xi)
    circular = [(c, s), (-s, c), (-c, -s), (s, -c)][nu]
    decays = [(-1.0) ** nu * np.exp(-lam * xi), np.exp(-lam * (1 - xi))]
    return lam**nu * np.stack([*circular, *decays], axis=-1)


@cache
def _series(nu: int) -> tuple[Array, Array, Array]:
    """Give the powers of lam and of xi that four series begin with, and their factors, (9, 4).

    Those of the nu-th derivative, after that by powers of (lam xi)^4.
    """
    first = np.array([4.0 if i < nu else 0.0 for i in range(4)])
    powers = np.arange(4.0) - nu + first
    factors = [[1 / math.factorial(4 * k + int(n)) for n in powers] for k in range(9)]
    return first, powers, np.array(factors)


def _modal_mass(ends: "BeamEnds", shape: "BeamShape") -> float:
    """Evaluate the mass of a shape with all that its ends carry."""
    nodes, weights = gauss_points(16)
    # Panels of less than two radians: sixteen points then integrate to rounding.
    panels = math.ceil(shape.lam / 2) + 1
    xi = (np.arange(panels)[:, None] + (nodes + 1) / 2) / panels
    mass = float(np.sum(shape.evaluate(xi) ** 2 @ weights) / (2 * panels))
    tip, slope = (float(shape.evaluate(1.0, nu)) for nu in (0, 1))
    if ends.tip_mass > 0:
        # About the centre of mass: a far one makes the three terms cancel.
        centre = tip + ends.tip_offset / ends.tip_mass * slope
        mass += ends.tip_mass * centre**2 + ends.tip_determinant / ends.tip_mass * slope**2
    else:
        mass += ends.tip_inertia * slope**2
    if ends.root_turns:
        mass += ends.hub * float(shape.evaluate(0.0, 1)) ** 2
    if ends.rotor_moves:
        mass += ends.rotor * shape.rotor_angle**2
    return mass


def _check_ratio(name: str, value: float, remedy: str) -> None:
    """Refuse a ratio that is negative, not a number or beyond any link."""
    if not 0 <= value <= LARGEST_RATIO:
        raise ShapeError(f"{name}: expected 0 to {LARGEST_RATIO:g}, got {value!r}; {remedy}")


@dataclass(frozen=True)
class BeamEnds:
    """What holds and loads the two ends of a uniform beam; the default is pinned-free."""

    hub: float = 0.0  # Jh = J_hub / (rhoA L^3), turning with the root; ``math.inf`` clamps it [1]
    # kap = k L / EI, a rotational spring between the hub and what is behind it [1].
    spring: float = 0.0
    # jm = J_rotor / (rhoA L^3) behind the spring; ``math.inf`` is the ground [1].
    rotor: float = math.inf
    translation: bool = False  # whether the root may move sideways (free-free)
    # tip_mass, tip_inertia, tip_offset: M = m / (rhoA L), J = J_tip / (rhoA L^3) about the tip, D =
    # m c / (rhoA L^2) with c the distance of the body's centre beyond the tip, D^2 <= M J [1].
    tip_mass: float = 0.0
    tip_inertia: float = 0.0
    tip_offset: float = 0.0
    tip_pinned: bool = False  # whether the tip is held sideways; mass and offset then do nothing

    def __post_init__(self) -> None:
        """Refuse what is no passive end."""
        if self.hub != math.inf:
            _check_ratio("hub", self.hub, "a root that cannot turn has hub=math.inf")
        if self.rotor != math.inf:
            _check_ratio("rotor", self.rotor, "a spring to ground has rotor=math.inf")
        _check_ratio("spring", self.spring, "a rigid joint has its rotor in the hub")
        _check_ratio("tip_mass", self.tip_mass, "a tip that cannot move has tip_pinned=True")
        _check_ratio("tip_inertia", self.tip_inertia, "it is about the tip, over rhoA L^3")
        bound = math.sqrt(self.tip_mass * self.tip_inertia)
        if not abs(self.tip_offset) <= bound * (1 + 1e-9):
            raise ShapeError(
                f"tip_offset: expected |D| <= sqrt(M J) = {bound:g}, got {self.tip_offset!r}; "
                "tip_inertia is about the tip, so it holds m c^2 besides the body's own"
            )

    @property
    def root_turns(self) -> bool:
        """Whether the root can turn."""
        return self.hub < math.inf

    @property
    def rotor_moves(self) -> bool:
        """Whether the spring leads to a rotor."""
        return self.root_turns and self.spring > 0 and self.rotor < math.inf

    @property
    def rigid_modes(self) -> int:
        """How many motions a + b xi cost no energy (0 to 2)."""
        turns = self.root_turns and (self.spring == 0 or self.rotor_moves)
        return max(int(self.translation) + int(turns) - int(self.tip_pinned), 0)

    @cached_property
    def tip_determinant(self) -> float:
        """M J - D^2 of the tip body."""
        return inertia_determinant(self.tip_mass, self.tip_inertia, self.tip_offset)


@dataclass(frozen=True, eq=False)
class BeamShape:
    """A bending shape psi(xi) of a uniform beam."""

    lam: float  # eigenvalue [1]
    coefficients: Array  # of the four solutions of w'''' = lam^4 w that stay bounded (4,)
    rotor_angle: float = 0.0  # angle of the rotor behind the root's spring in this shape [1]

    def evaluate(self, xi: npt.ArrayLike, derivative: int = 0) -> Array:
        """Evaluate the shape or a derivative with respect to xi, of the same shape as xi."""
        if derivative not in (0, 1, 2, 3):
            raise ShapeError(f"derivative: expected 0, 1, 2 or 3, got {derivative!r}")
        basis = _basis(self.lam, np.asarray(xi, dtype=float), derivative)
        return np.asarray(basis @ self.coefficients)


CLAMPED_FREE = BeamEnds(hub=math.inf)
PINNED_FREE = BeamEnds()
PINNED_PINNED = BeamEnds(tip_pinned=True)
FREE_FREE = BeamEnds(translation=True)
