"""Search for elastic amplitudes that no force, input or motion of the arm can excite."""

from collections.abc import Iterator
from dataclasses import dataclass

import casadi as ca
import numpy as np

from flexarm.arm.profile import Constant
from flexarm.check.constants import EXCITING_FORCE, RANDOM_DEFLECTION, RANDOM_STATES
from flexarm.linear_model import LinearModel
from flexarm.mechanics.deformations import random_deformation
from flexarm.mechanics.loads import input_matrix, wrench_force, wrench_list
from flexarm.model import LinkModel, Model, prescribed_profiles, start_state
from flexarm.spatial import Array


@dataclass(frozen=True)
class _RandomState:
    """Random coordinates, rates and accelerations of an arm."""

    q: Array  # coordinates, (n,)
    v: Array  # rates, (n,)
    a: Array  # accelerations, (n,)


def unexcited(
    model: Model, traced: ca.Function, linear: LinearModel, pose: Array
) -> tuple[int, ...]:
    """Return the elastic amplitudes that stay at rest in every motion of the arm.

    Parameters
    ----------
    model, traced
        The arm, and its forces as `trace` returns them.
    linear
        Matrices of the arm at the start, which provide scales of the forces.
    pose
        Coordinates at the start, (n,).

    Returns
    -------
    tuple[int, ...]
        Indices of the amplitudes on which inertia, gravity, inputs, wrenches and elasticity exert
        no force. Forces are evaluated at random states in which these amplitudes rest at 0 and all
        other coordinates that can move have random values.

    Notes
    -----
    All joints and a free base are assumed to move. Forces that a symmetry excludes are zero up to
    rounding at random states; all other forces are far from zero.
    """
    still = _candidates(model)
    if not still:
        return ()
    generator = np.random.default_rng(0)
    while still:
        felt = np.zeros(model.size)
        for _ in range(RANDOM_STATES):
            state = _random_state(model, pose, still, generator)
            for force, scale in _forces(model, traced, linear, state, generator):
                weighed = np.abs(force) / scale
                total = float(np.linalg.norm(weighed))
                if total > 0:
                    felt = np.maximum(felt, weighed / total)
        moved = [i for i in still if felt[i] > EXCITING_FORCE]
        if not moved:
            break
        still = [i for i in still if i not in moved]
    return tuple(still)


def _candidates(model: Model) -> list[int]:
    """Return the indices of elastic amplitudes whose initial value and rate are 0."""
    q, v = start_state(model)
    amplitudes = [i for part in model.links for i in range(part.modes.start, part.modes.stop)]
    return [i for i in amplitudes if q[i] == 0 and v[i] == 0]


def _random_state(
    model: Model, pose: Array, still: list[int], generator: np.random.Generator
) -> _RandomState:
    """Return a random state with the ``still`` amplitudes at 0 and fixed joints at their start."""
    fixed = set(still) | _fixed(model)
    q, v, a = pose.copy(), *(generator.standard_normal(model.size) for _ in range(2))
    for part in model.links:
        for axis in part.axes:
            q[axis.index] = _random_joint(part, float(pose[axis.index]), generator)
            if axis.motor is not None:
                q[axis.motor] = q[axis.index] + 0.01 * generator.standard_normal()
        for values in (q, v, a):
            deformation = random_deformation(model, part, q, generator)
            values[part.modes] = RANDOM_DEFLECTION * deformation
    if model.base_moves:
        q[:6] = pose[:6] + generator.standard_normal(6)
    for i in fixed:
        q[i], v[i], a[i] = (0.0 if i in still else pose[i]), 0.0, 0.0
    return _RandomState(q, v, a)


def _random_joint(part: LinkModel, start: float, generator: np.random.Generator) -> float:
    if part.range is not None:
        return float(generator.uniform(*part.range))
    return start + float(generator.uniform(-2.0, 2.0))


def _fixed(model: Model) -> set[int]:
    """Return the indices of prescribed coordinates whose motion is constant."""
    return {
        index
        for index, motion in zip(model.prescribed, prescribed_profiles(model), strict=True)
        if motion is None or isinstance(motion, Constant)
    }


def _forces(
    model: Model,
    traced: ca.Function,
    linear: LinearModel,
    state: _RandomState,
    generator: np.random.Generator,
) -> Iterator[tuple[Array, Array]]:
    """Yield a cause (text), its generalised forces (n,) and their scales (n,) at a random state.

    The causes are inertia, velocity, gravity, elasticity, inputs and wrenches. Division by the
    scales makes the entries of a force comparable.
    """
    mass, moving, elastic = (np.array(value) for value in traced(state.q, state.v)[:3])
    resting = np.array(traced(state.q, np.zeros(model.size))[1])
    size, stiff = _roots(mass), _roots(linear.stiffness)
    yield mass @ state.a, size
    yield (moving - resting).ravel(), size
    yield resting.ravel(), size
    yield elastic.ravel(), stiff
    inputs = input_matrix(model)
    if inputs.shape[1]:
        yield inputs @ generator.standard_normal(inputs.shape[1]), size
    factors = ca.DM(1 + generator.random(len(wrench_list(model))))
    yield np.array(wrench_force(model, ca.DM(state.q), factors)).ravel(), size


def _roots(matrix: Array) -> Array:
    """Return the square roots of the diagonal entries of a matrix, (n,); 1 where an entry is 0."""
    size = np.sqrt(np.abs(np.diag(matrix)))
    return np.where(size > 0, size, 1.0)
