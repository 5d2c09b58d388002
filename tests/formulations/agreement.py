"""How far the equations that two formulations give for one arm are apart."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from flexarm.formulations.base import Formulation
from flexarm.mechanics.loads import dissipative_force, elastic_force
from tests.physics.states import Array, State, Verdict, compare, random_state


@dataclass(frozen=True)
class Traced:
    """A formulation's equation, traced when asked for and evaluated with numbers."""

    equation: Formulation

    def M(self, q: Array) -> Array:
        """Mass matrix."""
        return np.array(ca.densify(self._mass(q)))

    def inertial(self, q: Array, v: Array, a: Array) -> Array:
        """What inertia and gravity need."""
        return np.array(ca.densify(self._inertial(q, v, a))).ravel()

    def gravity(self, q: Array) -> Array:
        return self.inertial(q, 0 * q, 0 * q)

    def coriolis(self, q: Array, v: Array) -> Array:
        return self.inertial(q, v, 0 * q) - self.gravity(q)

    def springs(self, q: Array, v: Array) -> Array:
        """What springs, damping and friction need."""
        return np.array(ca.densify(self._springs(q, v))).ravel()

    def state(self, seed: int) -> State:
        return random_state(self.equation.model, seed, inputs=0, wrenches=0)

    @cached_property
    def _mass(self) -> Any:
        q = ca.SX.sym("q", self.equation.model.size)
        return ca.Function("M", [q], [self.equation.mass_expression(q)])

    @cached_property
    def _inertial(self) -> Any:
        q, v, a = (ca.SX.sym(name, self.equation.model.size) for name in "qva")
        force = self.equation.inertial_expression(q, v, a, gravity=True)
        return ca.Function("inertial", [q, v, a], [force])

    @cached_property
    def _springs(self) -> Any:
        model = self.equation.model
        q, v = (ca.SX.sym(name, model.size) for name in "qv")
        force = elastic_force(model, q) + dissipative_force(model, q, v)
        return ca.Function("springs", [q, v], [force])


def verdicts(one: Traced, other: Traced, seed: int) -> dict[str, Verdict]:
    """Compare mass matrices, forces and accelerations at a random state."""
    s = other.state(seed)
    M, expected = one.M(s.q), other.M(s.q)
    scale = np.sqrt(np.diag(expected))
    size = np.outer(scale, scale)
    free = [i for i in range(len(scale)) if i not in other.equation.model.prescribed]
    result = {"mass matrix": compare(M / size, expected / size)}
    for name, motion in (
        ("gravity", (s.q, 0 * s.v, 0 * s.a)),
        ("bias", (s.q, s.v, 0 * s.a)),
        ("inverse dynamics", (s.q, s.v, s.a)),
    ):
        result[name] = compare(one.inertial(*motion) / scale, other.inertial(*motion) / scale)
    if free:
        scaled = [(m / size)[np.ix_(free, free)] for m in (M, expected)]
        forces = [
            (arm.inertial(s.q, s.v, 0 * s.a) + arm.springs(s.q, s.v)) / scale
            for arm in (one, other)
        ]
        accelerations = [
            np.linalg.solve(m, -force[free]) for m, force in zip(scaled, forces, strict=True)
        ]
        condition = float(np.linalg.cond(scaled[1]))
        result["accelerations"] = compare(*accelerations, condition=condition)
    return result


def exponent(large: float, small: float, ratio: float) -> float:
    """Give the power of the amplitude that a difference goes with, from two amplitudes' ratio."""
    return float(np.log(large / small) / np.log(ratio))


def differences(paper: Traced, exact: Traced, size: float, *, still: bool) -> dict[str, float]:
    """Largest differences of a paper's equation from the exact one, in scaled coordinates.

    Parameters
    ----------
    paper, exact
        Both equations.
    size
        Factor on the deflections of a random state.
    still
        Whether the deflections do not change.
    """
    s = exact.state(1)
    links = exact.equation.model.links
    f = [i for part in links for i in range(part.modes.start, part.modes.stop)]
    q, v = s.q.copy(), s.v.copy()
    q[f] *= size
    v[f] *= 0.0 if still else 1.0
    M = exact.M(q)
    scale = np.sqrt(np.diag(M))
    changes = {
        "mass matrix": (paper.M(q) - M) / np.outer(scale, scale),
        "coriolis": (paper.coriolis(q, v) - exact.coriolis(q, v)) / scale,
        "gravity": (paper.gravity(q) - exact.gravity(q)) / scale,
        "elastic": (paper.springs(q, 0 * v) - exact.springs(q, 0 * v)) / scale,
    }
    return {name: float(np.abs(change).max()) for name, change in changes.items()}
