"""Optimise a motion: simulate it, linearise along the simulation, solve a quadratic program.

Every iterate is a motion that was simulated, so that none is good that is not: the program only
proposes the next one.  See `sensitivity` for why its intervals may be longer than periods.
"""

from dataclasses import dataclass, replace

import casadi as ca
import numpy as np

from flexarm.errors import FlexarmError
from flexarm.links.base import Array
from flexarm.planning.inputs import Inputs
from flexarm.planning.limits import Limit
from flexarm.planning.problem import Problem
from flexarm.planning.sensitivity import Sensitivity, sensitivity
from flexarm.runs.run import Run

LOOSE, TIGHT = 1e-6, 1e-8  # tolerances of the simulations on the way, and of the last ones
ITERATIONS = 40
SHORTER, LONGER = 0.15, 0.3  # of the duration, at most per iteration
SETTLED = 2e-3  # relative change of duration or cost that ends the search
HIT = 1e-5  # of the way and of the largest rates: a miss below is none
UNFELT = 1e-9  # of the largest singular value: what inputs do not move
SMOOTH = 1e-4  # weight of the inputs' squares beside the duration
SOLVER = __import__("os").environ.get("QP","daqp")
NEAR = 1e-7  # weight of the change of inputs


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
class Program:
    """What is optimised.

    Attributes
    ----------
    problem, inputs, limits
        The motion, how its inputs are made, and what it must not exceed.
    most
        Largest inputs, infinite where there are none, (k,).
    timed
        Whether the duration is made short; else it stays, and the inputs' squares are made small.
    """

    problem: Problem
    inputs: Inputs
    limits: tuple[Limit, ...]
    most: Array
    timed: bool

    def simulate(self, values: Array, duration: float, rtol: float) -> Iterate:
        """Simulate a motion, and see how far it is from its goal."""
        run = self.problem.simulate(self.inputs, values, duration, rtol=rtol)
        if run.status != "finished":
            return Iterate(values, duration, run, np.inf)
        miss = np.abs(self.problem.miss(run)) / self._sizes(run)
        return Iterate(values, duration, run, float(miss.max()))

    def _sizes(self, run: Run) -> Array:
        """Give what misses are compared with: the range of coordinates and rates, by kind."""
        kept = self.problem.kept
        ranges = []
        for rows in (run.q[:, kept], run.v[:, kept]):
            spread = np.abs(rows - rows[0]).max(axis=0)
            ranges.append(np.maximum(spread, 1e-3 * max(spread.max(), 1e-12)))
        return np.concatenate(ranges)

    def solve(self, first: Iterate) -> tuple[Iterate, int]:
        """Improve a motion until it is the best that can be reached, and arrives.

        Raises
        ------
        FlexarmError
            If no motion is found that keeps the limits, or arrives.
        """
        now, count, last = first, 0, np.inf
        for count in range(1, ITERATIONS + 1):
            found = self._step(now)
            cost = found.duration if self.timed else self._effort(found.values)
            settled = abs(last - cost) <= SETTLED * abs(cost) and found.miss < 100 * HIT
            now, last = found, cost
            if settled:
                break
        now = self.simulate(now.values, now.duration, TIGHT)
        arriving = replace(self, timed=False)
        for _ in range(10):
            if now.miss <= HIT:
                return now, count
            count += 1
            now = arriving._step(now, only_arrive=True, rtol=TIGHT)
        raise FlexarmError(
            f"no motion found that arrives: the best one, simulated, misses its goal by "
            f"{now.miss:.1e} of its way after {count} iterations: take more intervals, a longer "
            "duration or wider limits"
        )

    def _effort(self, values: Array) -> float:
        scaled = values / self._scale(values)
        return float(np.einsum("ik,ij,jk->", scaled, self.inputs.gram, scaled))

    def _scale(self, values: Array) -> Array:
        """Give each input's size, (k,)."""
        known = np.abs(values).max(axis=0)
        return np.where(np.isfinite(self.most), self.most, np.maximum(known, known.max() * 1e-3))

    def _step(self, now: Iterate, *, only_arrive: bool = False, rtol: float = LOOSE) -> Iterate:
        """Propose the next motion and simulate it; a shorter step if it is worse by far."""
        slopes = sensitivity(
            self.problem, self.inputs, now.values, now.duration, now.run, timed=self.timed
        )
        change, longer = self._quadratic(now, slopes, only_arrive=only_arrive)
        for _ in range(6):
            found = self.simulate(now.values + change, now.duration + longer, rtol)
            if found.miss <= max(2 * now.miss, 0.05):
                return found
            change, longer = change / 2, longer / 2
        return found

    def _quadratic(
        self, now: Iterate, slopes: Sensitivity, *, only_arrive: bool
    ) -> tuple[Array, float]:
        """Find the best change of the inputs' values (count, k) and of the duration [s]."""
        scale = self._scale(now.values)
        k, size = len(scale), now.values.size
        units = np.tile(scale, len(now.values))
        cost = np.kron(self.inputs.gram, np.eye(k))
        here = (now.values / scale).ravel()
        H = np.zeros((size + 1, size + 1))
        g = np.zeros(size + 1)
        if only_arrive:
            H[:size, :size] = np.eye(size)
        else:
            weight = SMOOTH if self.timed else 1.0
            H[:size, :size] = weight * cost + NEAR * np.eye(size)
            g[:size] = weight * cost @ here
        H[size, size] = NEAR
        g[size] = 1.0 if self.timed else 0.0
        low = np.append((-self.most / scale - now.values / scale).ravel(), -SHORTER)
        high = np.append((self.most / scale - now.values / scale).ravel(), LONGER)
        if not self.timed:
            low[size] = high[size] = 0.0
        for ends, held in zip(self.inputs.fixed, self.problem.holds, strict=True):
            for end in ends:
                fixed = slice(end * k, (end + 1) * k)
                low[fixed] = high[fixed] = (held - now.values[end]) / scale
        rows, off = self._arrival(now, slopes, units)
        bound, least, top = self._bounds(now, slopes, units)
        found = _solve_quadratic(
            H, g, np.vstack([rows, bound]), np.concatenate([off, least]),
            np.concatenate([off, top]), low, high,
        )  # fmt: skip
        change = (found[:size] * units).reshape(now.values.shape)
        return change, float(found[size] * now.duration)

    def _arrival(self, now: Iterate, slopes: Sensitivity, units: Array) -> tuple[Array, Array]:
        """Say that the motion arrives: rows by the unknowns, and what they must be."""
        kept = self.problem.kept
        places = [*kept, *(self.problem.model.size + i for i in kept)]
        sizes = self._sizes(now.run)
        by_values = slopes.by_values[-1][places] * units
        by_duration = slopes.by_duration[-1][places] * now.duration
        rows = np.column_stack([by_values, by_duration]) / sizes[:, None]
        off = -self.problem.miss(now.run) / sizes
        left, values, _ = np.linalg.svd(rows, full_matrices=False)
        felt = values > UNFELT * values[0]
        turned = left[:, felt].T / values[felt][:, None]
        return turned @ rows, turned @ off

    def _bounds(
        self, now: Iterate, slopes: Sensitivity, units: Array
    ) -> tuple[Array, Array, Array]:
        """Say that limits are kept at the ends of all parts: rows, least and largest values."""
        found: list[tuple[Array, Array, Array]] = []
        ends = slice(2, None, 2)
        run = now.run
        for limit in self.limits:
            value, by_q, by_v, by_u = limit.linear(run.q[ends], run.v[ends], run.u[ends])
            n = run.q.shape[1]
            rows = np.einsum("trn,tnz->trz", by_q, slopes.by_values[1:, :n])
            rows += np.einsum("trn,tnz->trz", by_v, slopes.by_values[1:, n:])
            rows *= units
            late = np.einsum("trn,tn->tr", by_q, slopes.by_duration[1:, :n])
            late += np.einsum("trn,tn->tr", by_v, slopes.by_duration[1:, n:])
            whole = np.concatenate([rows, now.duration * late[..., None]], axis=2)
            whole = whole.reshape(-1, whole.shape[2]) / limit.allowed
            flat = value.ravel() / limit.allowed
            near = np.abs(flat) > 0.3
            found.append((whole[near], -limit.share - flat[near], limit.share - flat[near]))
        if not found:
            return np.zeros((0, len(units) + 1)), np.zeros(0), np.zeros(0)
        rows, least, top = (np.concatenate(each) for each in zip(*found, strict=True))
        return rows, least, top


def _solve_quadratic(
    H: Array, g: Array, A: Array, least: Array, top: Array, low: Array, high: Array
) -> Array:
    """Minimise ``x^T H x / 2 + g^T x`` with bounds on x and on A x."""
    shape = {"h": ca.Sparsity.dense(*H.shape), "a": ca.Sparsity.dense(*A.shape)}
    solver = ca.conic("program", SOLVER, shape, {"error_on_fail": False})
    found = solver(h=H, g=g, a=A, lba=least, uba=top, lbx=low, ubx=high)
    if not solver.stats()["success"]:
        raise FlexarmError(
            "no motion keeps all limits: take a longer duration, more intervals or wider limits"
        )
    return np.array(found["x"]).ravel()
