"""The arm's equation near its start pose: mass, stiffness, damping, and the modes they have."""

from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt

from flexarm.engine.operators import direct_operators
from flexarm.formulations import formulation
from flexarm.formulations.base import inertial_force, mass_of
from flexarm.formulations.quantities import symbol
from flexarm.links.base import Array
from flexarm.mechanics.drives import hub_row
from flexarm.mechanics.loads import dissipative_force, elastic_force, elastic_stiffness
from flexarm.model import Model, undeformed

SINGULAR = 1e-12
TINY = 1e-300  # instead of a sum that is 0
RK4_REACH = 2.5  # of 2.83 on the imaginary and 2.79 on the real axis


@dataclass(frozen=True)
class Linear:
    """Matrices of small motions about a pose, (n, n) each, and the coordinates' names."""

    mass: Array
    stiffness: Array
    damping: Array
    names: tuple[str, ...]

    def keep(self, indices: list[int], moves: Array | None = None) -> "Linear":
        """Let only these coordinates move, and with them all that ``moves`` (n, k) says."""
        names = tuple(self.names[i] for i in indices)
        columns = np.eye(len(self.names))[:, indices] if moves is None else moves
        mass, stiffness, damping = (
            columns.T @ matrix @ columns for matrix in (self.mass, self.stiffness, self.damping)
        )
        return Linear(mass, stiffness, damping, names)


@dataclass(frozen=True)
class ElasticModes:
    """Modes of a pair of matrices."""

    # Angular frequencies of the modes that strain something, slowest first [rad/s], (k,).
    frequencies: Array
    shares: Array  # each coordinate's share in a mode's strain energy, 0 to 1, (n, k)
    # rigid, unstable: number of motions that strain nothing, and of those that elasticity drives
    # away.
    rigid: int
    unstable: int


@direct_operators()
def trace(model: Model) -> ca.Function:
    """Trace an arm once, as a function of q and v.

    Its outputs: mass matrix (n, n), inertial force with gravity at zero acceleration (n,), elastic
    force (n,), elastic stiffness without preload (n, n), and the damping force's derivative by v
    (n, n).
    """
    q, v = symbol(model, "q"), symbol(model, "v")
    equation = formulation("composite", model).formulation
    outputs = [
        mass_of(equation, q),
        inertial_force(equation, q, v),
        elastic_force(model, q),
        elastic_stiffness(model, q),
        ca.jacobian(dissipative_force(model, q, v), v),
    ]
    return ca.Function("arm", [q, v], [ca.densify(ca.SX(output)) for output in outputs])


def linearise_elastic(model: Model, traced: ca.Function, pose: Array) -> Linear:
    """Evaluate mass, elastic stiffness and damping at a pose, at rest, links undeformed.

    Notes
    -----
    Gravity's stiffness and the geometric one of loads and preloaded springs are left out: they need
    an equilibrium.
    """
    values = [np.array(m) for m in traced(undeformed(model, pose), np.zeros(model.size))]
    mass, stiffness, damping = ((m + m.T) / 2 for m in (values[0], values[3], values[4]))
    return Linear(mass, stiffness, damping, model.names)


def lock_drives(model: Model, linear: Linear) -> Linear:
    """Hold prescribed coordinates and driven hubs (of elastic joints: motors) where they are."""
    return linear.keep(*moves(model, {axis.name for axis in model.axes if axis.driven}))


def moves(model: Model, locked: Set[str]) -> tuple[list[int], Array]:
    """Find what is left to move when some joints are locked and nothing prescribed moves.

    Parameters
    ----------
    model
        The arm.
    locked
        Joints whose hub is held, by name; of an elastic joint its motor is.

    Returns
    -------
    kept, columns
        Indices of the coordinates that are free, and how all coordinates move with each of them,
        (n, kept): where shapes turn the hub, the joint's coordinate moves against them.
    """
    held = set(model.prescribed)
    follow: list[tuple[int, Array]] = []
    for axis in model.axes:
        if axis.name in locked and axis.index not in model.prescribed:
            held.add(axis.index if axis.motor is None else axis.motor)
            if axis.motor is None:
                follow.append((axis.index, hub_row(model, axis)))
    kept = [i for i in range(model.size) if i not in held]
    columns = np.eye(model.size)[:, kept]
    for index, row in follow:
        columns[index] = -row[kept]
    return kept, columns


def elastic_modes(linear: Linear) -> ElasticModes:
    """Find the modes of small motions without damping; M must be positive definite."""
    mass, stiffness = linear.mass, linear.stiffness
    if not len(mass):
        return ElasticModes(np.zeros(0), np.zeros((0, 0)), 0, 0)
    squares, vectors = undamped(mass, stiffness)
    rigid, unstable = _signs(stiffness)
    squares, vectors = np.maximum(squares, 0.0)[rigid + unstable :], vectors[:, rigid + unstable :]
    strain = np.einsum("im,ij,jm->m", vectors, stiffness, vectors)
    shares = energy_shares([stiffness], strain[None], vectors)
    return ElasticModes(np.sqrt(squares), shares, rigid, unstable)


def energy_shares(matrices: Sequence[Array], energies: Array, shapes: npt.NDArray[Any]) -> Array:
    """Share out energies (places, k) among coordinates, none negative, together 1, (n, k).

    Notes
    -----
    The energy of each place goes to its coordinates in proportion to what each would have alone
    with its matrix, so that coupled ones, as the nodes of elements, take nothing from each other.
    """
    shares = np.zeros(shapes.shape)
    for matrix, energy in zip(matrices, energies, strict=True):
        alone = np.maximum(np.diag(matrix), 0.0)[:, None] * np.abs(shapes) ** 2
        shares += alone * np.maximum(energy, 0.0) / np.maximum(alone.sum(axis=0), TINY)
    return np.asarray(shares / np.maximum(shares.sum(axis=0), TINY))


def undamped(mass: Array, stiffness: Array) -> tuple[Array, Array]:
    """Solve the undamped problem: squares of the frequencies, and shapes of unit mass."""
    import scipy.linalg  # a quarter of a second, which not all need

    size = np.sqrt(np.diag(mass))
    scale = np.outer(size, size)
    _, scaled = scipy.linalg.eigh(stiffness / scale, mass / scale)
    vectors = scaled / size[:, None]
    # Rayleigh's quotient gives slow modes the digits that fast ones cost the eigenvalues.
    weights = np.einsum("im,ij,jm->m", vectors, mass, vectors)
    squares = np.einsum("im,ij,jm->m", vectors, stiffness, vectors) / weights
    order = np.argsort(squares)
    return squares[order], (vectors / np.sqrt(weights))[:, order]


def fastest_rate(linear: Linear, highest: float) -> tuple[float, int | None]:
    """Find the largest |eigenvalue| of the damped arm [rad/s], and who has it if damping does.

    Parameters
    ----------
    linear
        The matrices.
    highest
        The highest undamped frequency [rad/s].

    Returns
    -------
    rate, index
        ``index`` of the coordinate that moves most, None if the highest mode sets the rate.
    """
    if not np.any(linear.damping):
        return highest, None
    size = np.sqrt(np.diag(linear.mass))
    mass, stiffness, damping = (
        matrix / np.outer(size, size) for matrix in (linear.mass, linear.stiffness, linear.damping)
    )
    n, unit = len(size), max(highest, 1.0)
    solved = np.linalg.solve(mass, np.hstack([-stiffness / unit, -damping]))
    system = np.vstack([np.hstack([np.zeros((n, n)), unit * np.eye(n)]), solved])
    values, vectors = np.linalg.eig(system)
    fastest = int(np.argmax(np.abs(values)))
    rate = float(np.abs(values[fastest]))
    if rate <= 1.05 * highest:
        return max(rate, highest), None
    return rate, int(np.argmax(np.abs(vectors[n:, fastest])))


def _signs(stiffness: Array) -> tuple[int, int]:
    """Count the zero and the negative eigenvalues of a stiffness matrix."""
    size = np.sqrt(np.abs(np.diag(stiffness)))
    size[size == 0] = 1.0
    values = np.linalg.eigvalsh(stiffness / np.outer(size, size))
    unstable = int(np.sum(values < -SINGULAR))
    return int(np.sum(np.abs(values) <= SINGULAR)), unstable
