"""Optimise a motion: simulate it, linearise along the simulation, solve a quadratic program.

Every iterate is a motion that was simulated, so that none is good that is not: the program only
proposes the next one.  See `sensitivity` for why its intervals may be longer than periods.
"""

from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from flexarm.errors import FlexarmError
from flexarm.links.base import Array
from flexarm.planning.inputs import Inputs
from flexarm.planning.limits import Limit
from flexarm.planning.problem import MotionProblem
from flexarm.planning.sensitivity import sensitivity
from flexarm.runs.run import Run

TOLERANCE = 1e-6  # of the simulations on the way
ITERATIONS, ARRIVALS = 15, 8
WIDEST, NARROWEST = 2.0, 1e-4  # changes of inputs per iteration, over their spread
SETTLED = 2e-3  # relative change of the cost that ends the search
HIT, NEAR_HIT = 1e-4, 1e-3  # of the ranges of coordinates and rates: no miss, and one to be judged
# Of squared misses beside the cost: at the begin, by iteration, until it settles, at the end.
FIRST_WEIGHT, STRICTER, LONG_WEIGHT, LAST_WEIGHT = 10.0, 10.0, 1e3, 1e5
QUIET = {"print_header": False, "print_info": False, "print_iter": False}
# The next where one gives up; the last near a goal alone: it is slow, but does not mind weights of
# misses that are far above all else.
SOLVERS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("daqp", {}), ("proxqp", {}), ("ipqp", {**QUIET, "linear_solver": "qr", "max_iter": 50}),
)  # fmt: skip
STALLED = 0.9  # of a miss: what an iteration leaves that is not worth another one
LEAST_RANGE = 0.03  # of the largest one of its kind: what a coordinate's miss is compared with
NEAR = 1e-6  # weight of the change of inputs
ALONE = 1e8  # weight of squared misses beside the change of inputs, where they alone count
PER_MISS = 100.0  # what inputs may change at first, over what a motion misses
NEARBY, LESS = 0.3, 0.8  # of a limit: what is watched; what of an excess may stay per iteration


@dataclass(frozen=True)
class Iterate:
    """A motion on the way to the best one.

    Attributes
    ----------
    values, duration
        The inputs' values at their knots, (count, k), and how long it takes [s].
    run
        Its simulation.
    miss
        Distance from rest at the goal over the way's size: 0 of a motion that arrives.
    """

    values: Array
    duration: float
    run: Run
    miss: float


@dataclass(frozen=True)
class NonlinearProgram:
    """What is optimised."""

    # problem, inputs, limits: the motion, how its inputs are made, and what it must not exceed.
    problem: MotionProblem
    inputs: Inputs
    limits: tuple[Limit, ...]
    most: Array  # largest inputs, infinite where there are none, (k,)
    scale: Array  # size of each input, (k,)
    spread: Array  # size of its changes over that, (k,)

    def simulate(self, values: Array, duration: float) -> Iterate:
        """Simulate a motion, and see how far it is from its goal."""
        run = self.problem.simulate(self.inputs, values, duration, rtol=TOLERANCE)
        if run.status != "finished":
            return Iterate(values, duration, run, np.inf)
        return Iterate(values, duration, run, self.miss(run))

    def miss(self, run: Run, row: int = -1) -> float:
        """Tell how far a sample of a run is from rest at its goal, of the ranges."""
        return float((np.abs(self.problem.miss(run, row)) / self._sizes(run)).max())

    def _sizes(self, run: Run) -> Array:
        """Give what misses are compared with: the range of coordinates and rates, by kind."""
        kept = self.problem.kept
        ranges = []
        for rows in (run.q[:, kept], run.v[:, kept]):
            spread = np.abs(rows - rows[0]).max(axis=0)
            ranges.append(np.maximum(spread, LEAST_RANGE * max(spread.max(), 1e-12)))
        return np.concatenate(ranges)

    def solve(self, first: Iterate) -> tuple[Iterate, int]:
        """Improve a motion until it is the best that can be reached, then until it arrives.

        Returns
        -------
        iterate, count
            The motion, and how many were linearised about.

        Raises
        ------
        FlexarmError
            If none is found that arrives.
        """
        now, reach, weight, last, count = first, WIDEST, FIRST_WEIGHT, np.inf, 0
        while count < ITERATIONS:
            count += 1
            now, reach = self._step(now, weight, reach)
            cost = self._cost(now)
            settled = abs(last - cost) <= SETTLED * abs(cost)
            if weight >= LAST_WEIGHT or reach < NARROWEST:
                break
            if weight < LONG_WEIGHT or settled:
                weight *= STRICTER
            last = cost
        return self._arrive(now, count)

    def _arrive(self, now: Iterate, count: int) -> tuple[Iterate, int]:
        """Make a motion arrive to all digits, at its duration, by the least change of inputs."""
        reach, before = min(WIDEST, PER_MISS * now.miss), np.inf
        for _ in range(ARRIVALS):
            if now.miss <= HIT or reach < NARROWEST or now.miss > STALLED * before:
                break
            before, count = now.miss, count + 1
            now, reach = self._step(now, None, reach)
        if now.miss <= NEAR_HIT:
            return now, count
        raise FlexarmError(
            f"no motion found: the best one, simulated, misses its goal by {now.miss:.1e} of its "
            f"way after {count} iterations.{self.problem.friction} Take a longer duration, more "
            "intervals or wider limits."
        )

    def _cost(self, now: Iterate) -> float:
        scaled = now.values / self.scale
        return float(np.einsum("ik,ij,jk->", scaled, self.inputs.gram, scaled))

    def _step(self, now: Iterate, weight: float | None, reach: float) -> tuple[Iterate, float]:
        """Propose the next motion and simulate it, nearer by if it is worse; and how far to go.

        Without a weight of misses beside the cost, misses alone count.
        """
        slopes = sensitivity(self.problem, self.inputs, now.duration, now.run)
        rows, off = self._arrival(now, slopes)
        limits, eased = self._bounds(now, slopes, LESS), False
        old = self._merit(now, weight, self._sizes(now.run))
        while True:
            try:
                change = self._quadratic(now, (rows, off), limits, weight, reach * self.spread)
            except FlexarmError:
                if eased:
                    return now, 0.0  # rounding hides what else could be changed
                limits, eased = self._bounds(now, slopes, 1.0), True  # nearby they cannot be kept
                continue
            found = self.simulate(now.values + change, now.duration)
            if self._merit(found, weight, self._sizes(now.run)) < old:
                return found, min(2 * reach, WIDEST)
            reach /= 3
            if reach < NARROWEST:
                return now, reach

    def _merit(self, found: Iterate, weight: float | None, sizes: Array) -> float:
        if not np.isfinite(found.miss):
            return np.inf
        miss = float(((self.problem.miss(found.run) / sizes) ** 2).sum())
        return miss if weight is None else self._cost(found) + weight * miss

    def _quadratic(
        self,
        now: Iterate,
        arrival: tuple[Array, Array],
        limits: tuple[Array, Array, Array],
        weight: float | None,
        reach: Array,
    ) -> Array:
        """Find the best change of the inputs' values, (count, k)."""
        k, count = len(self.scale), now.values.size
        rows, off = arrival
        H, g = np.eye(count), np.zeros(count)
        if weight is not None:
            H = 2 * np.kron(self.inputs.gram, np.eye(k)) + NEAR * np.eye(count)
            g = H @ (now.values / self.scale).ravel()
        here, top = now.values / self.scale, self.most / self.scale
        low = np.maximum(-top - here, -reach).ravel()
        high = np.minimum(top - here, reach).ravel()
        for ends, held in zip(self.inputs.fixed, self.problem.holds, strict=True):
            for end in ends:
                fixed = slice(end * k, (end + 1) * k)
                low[fixed] = high[fixed] = held / self.scale - here[end]
        # Unknowns are as large as inputs change, and the cost as large as they are.
        size = np.tile(self.spread, self.inputs.count)
        H, g = H * np.outer(size, size), g * size
        heavy = float(np.abs(np.diag(H)).max())
        found = _solve_quadratic(
            H / heavy, g / heavy, (rows * size, off), weight / heavy if weight else ALONE,
            (limits[0] * size, *limits[1:]), (low / size, high / size),
            near=now.miss <= 10 * NEAR_HIT,
        )  # fmt: skip
        return (found * size).reshape(now.values.shape) * self.scale

    def _arrival(self, now: Iterate, slopes: Array) -> tuple[Array, Array]:
        """Say that the motion arrives: rows by the unknowns, and what they should be."""
        kept = self.problem.kept
        places = [*kept, *(self.problem.model.size + i for i in kept)]
        sizes = self._sizes(now.run)
        rows = slopes[-1][places] * np.tile(self.scale, self.inputs.count) / sizes[:, None]
        return rows, -self.problem.miss(now.run) / sizes

    def _bounds(self, now: Iterate, slopes: Array, less: float) -> tuple[Array, Array, Array]:
        """Say that limits are kept at the ends of all parts: rows, least and largest values.

        Of what is beyond them a share may stay.
        """
        found: list[tuple[Array, Array, Array]] = []
        units = np.tile(self.scale, self.inputs.count)
        ends = slice(2, None, 2)
        run = now.run
        for limit in self.limits:
            value, by_q, by_v, by_u = limit.linear(run.q[ends], run.v[ends], run.u[ends])
            n = run.q.shape[1]
            rows = np.einsum("trn,tnz->trz", by_q, slopes[1:, :n])
            rows += np.einsum("trn,tnz->trz", by_v, slopes[1:, n:])
            rows += np.einsum("tru,tc->trcu", by_u, self.inputs.at_ends).reshape(rows.shape)
            whole = (rows * units / limit.allowed).reshape(-1, len(units))
            flat = value.ravel() / limit.allowed
            near = np.abs(flat) > NEARBY
            over = np.maximum(np.abs(flat[near]), limit.share) * less  # what is beyond comes back
            allowed = np.maximum(over, limit.share)
            found.append((whole[near], -allowed - flat[near], allowed - flat[near]))
        if not found:
            return np.zeros((0, len(units))), np.zeros(0), np.zeros(0)
        rows, least, top = (np.concatenate(each) for each in zip(*found, strict=True))
        return rows, least, top


def _solve_quadratic(
    H: Array,
    g: Array,
    wanted: tuple[Array, Array],
    weight: float,
    limits: tuple[Array, Array, Array],
    bounds: tuple[Array, Array],
    *,
    near: bool,
) -> Array:
    """Minimise ``x^T H x / 2 + g^T x + weight |R x - r|^2`` with bounds on x and on A x.

    What is left of ``R x - r`` are unknowns of their own, of unit weight: no number is large.
    """
    (R, r), (A, least, top) = wanted, limits
    n, m = len(g), len(r)
    free, x = bounds[0] < bounds[1], np.array(bounds[0])
    whole = np.block([[H[free][:, free], R[:, free].T], [R[:, free], -np.eye(m) / (2 * weight)]])
    known = np.append(-g[free] - H[free][:, ~free] @ x[~free], r - R[:, ~free] @ x[~free])
    x[free] = np.linalg.solve(whole, known)[: int(free.sum())]
    if np.all((bounds[0] <= x) & (x <= bounds[1])) and np.all((least <= A @ x) & (A @ x <= top)):
        return x
    scale = np.sqrt(2 * weight)
    whole = np.block([[R, -np.eye(m) / scale], [A, np.zeros((len(A), m))]])
    loose = np.full(m, np.inf)
    shape = {"h": ca.Sparsity.dense(n + m, n + m), "a": ca.Sparsity.dense(*whole.shape)}
    given = {
        "h": np.block([[H, np.zeros((n, m))], [np.zeros((m, n)), np.eye(m)]]),
        "g": np.append(g, np.zeros(m)), "a": whole,
        "lba": np.append(r, least), "uba": np.append(r, top),
        "lbx": np.append(bounds[0], -loose), "ubx": np.append(bounds[1], loose),
    }  # fmt: skip
    for name, options in SOLVERS if near else SOLVERS[:-1]:
        solver = ca.conic("program", name, shape, {"error_on_fail": False, **options})
        found = solver(**given)
        if solver.stats()["success"]:
            return np.array(found["x"]).ravel()[:n]
    raise FlexarmError(
        "limits: no motion keeps all of them: take a longer duration, more intervals or wider ones"
    )
