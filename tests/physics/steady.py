"""Equilibria and small vibrations about them of any equation of motion, by differences.

The same questions go to the reference and to a formulation of the library.
"""

from collections.abc import Callable
from dataclasses import dataclass

import casadi as ca
import numpy as np
import scipy.linalg

from flexarm.formulations import formulation
from flexarm.model import Model
from tests.physics.placement import Array
from tests.physics.reference import Reference
from tests.physics.states import amplitudes

STEP = 0.02  # of a difference, in units of `states.amplitudes`
CENTRAL = ((-1, -1 / 2), (1, 1 / 2))
FINE = ((-2, 1 / 12), (-1, -8 / 12), (1, 8 / 12), (2, -1 / 12))  # of fourth order


@dataclass(frozen=True)
class Motion:
    """An equation of motion of a model with fixed base and no ball joints.

    Attributes
    ----------
    model
        The model.
    needed
        Generalised force that q, v, a take, less that of the wrenches times given factors, (n,).
    tip
        Rotation and position of the arm's tip at q.
    """

    model: Model
    needed: Callable[[Array, Array, Array, Array], Array]
    tip: Callable[[Array], tuple[Array, Array]]

    @property
    def elastic(self) -> list[int]:
        """Indices of the amplitudes."""
        return [i for part in self.model.links for i in range(*part.modes.indices(10**6))]

    @property
    def scale(self) -> Array:
        """Sizes of the amplitudes that turn no section by more than a few degrees."""
        return np.concatenate([amplitudes(part, None) for part in self.model.links])

    def force(self, q: Array, v: Array, a: Array, factors: Array) -> Array:
        """Take the amplitudes' part of what is needed."""
        return self.needed(q, v, a, factors)[self.elastic]


def of_reference(reference: Reference) -> Motion:
    """Take the reference's equation."""

    def needed(q: Array, v: Array, a: Array, factors: Array) -> Array:
        none = np.zeros(reference.loads[0])
        force = reference.gravity(q) + reference.elastic(q) - reference.applied(q, none, factors)
        if np.any(v):
            force += reference.coriolis(q, v) + reference.dissipative(q, v)
        return force + reference.mass_matrix(q) @ a if np.any(a) else force

    return Motion(reference.model, needed, reference.tip)


def of_library(model: Model, name: str = "composite") -> Motion:
    """Take a formulation of the library."""
    equation = formulation(name, model)
    inverse, pose = (equation.function(name) for name in ("inverse_dynamics", "tip_pose"))

    def needed(q: Array, v: Array, a: Array, factors: Array) -> Array:
        return np.array(inverse.call([ca.DM(x) for x in (q, v, a, factors)])[0]).ravel()

    def tip(q: Array) -> tuple[Array, Array]:
        rotation, position = (np.array(ca.densify(x)) for x in pose.call([ca.DM(q)]))
        return rotation, position.ravel()

    return Motion(model, needed, tip)


def equilibrium(motion: Motion, v: Array, factors: Array, *, steps: int = 3) -> Array:
    """Find the amplitudes in balance at rates v of the joints, load and rates raised in steps.

    Returns q with joints at zero, (n,).
    """
    q = np.zeros(motion.model.size)
    for share in np.linspace(0, 1, steps + 1)[1:]:
        _balance(motion, q, np.sqrt(share) * v, share * factors)
    return q


def _balance(motion: Motion, q: Array, v: Array, factors: Array) -> None:
    """Bring the amplitudes in q into balance by Newton's method."""

    def force(x: Array) -> Array:
        return motion.force(x, v, np.zeros_like(x), factors)

    for _ in range(30):
        change = np.linalg.solve(_by_amplitudes(motion, force, q, CENTRAL), -force(q))
        q[motion.elastic] += change
        if np.abs(change / motion.scale).max() < 1e-10:
            return
    raise AssertionError(f"no equilibrium at rates {v} and wrenches times {factors}")


def frequencies(motion: Motion, q: Array, v: Array, factors: Array) -> Array:
    """Frequencies of small vibrations about steady q, v, joints as given [rad/s], ascending."""
    none, elastic = np.zeros(motion.model.size), motion.elastic
    stiffness = _by_amplitudes(motion, lambda x: motion.force(x, v, none, factors), q)
    damping = _by_amplitudes(motion, lambda x: motion.force(q, x, none, factors), v)
    still = motion.force(q, v, none, factors)
    mass = [motion.force(q, v, unit, factors) - still for unit in np.eye(len(q))[elastic]]
    one, zero = np.eye(len(elastic)), np.zeros((len(elastic), len(elastic)))
    left = np.block([[zero, one], [-stiffness, -damping]])
    right = np.block([[one, zero], [zero, np.stack(mass, axis=1)]])
    rates = np.asarray(scipy.linalg.eigvals(left, right), dtype=complex).imag
    return np.sort(rates[rates > 0])


def _by_amplitudes(
    motion: Motion,
    force: Callable[[Array], Array],
    at: Array,
    stencil: tuple[tuple[int, float], ...] = FINE,
) -> Array:
    """Differentiate by the amplitudes (or their rates), (m, m)."""
    columns = []
    for index, scale in zip(motion.elastic, motion.scale, strict=True):
        step = np.zeros_like(at)
        step[index] = STEP * scale
        columns.append(sum(w * force(at + k * step) for k, w in stencil) / (STEP * scale))
    return np.stack(columns, axis=1)
