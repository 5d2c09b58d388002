"""How a discretised exact link comes nearer to the continuum with its number of nodes.

make = lambda nodes: build(arm_with(nodes))
print(report(convergence(make, Reference(make(4), exact=True), (4, 6, 8, 12))))
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from flexarm.mechanics.bodies import body_of
from flexarm.mechanics.deformations import random_deformation
from flexarm.model import LinkModel, Model
from tests.physics.placement import Array
from tests.physics.reference import Reference
from tests.physics.states import random_state
from tests.physics.traced import Traced

SLOPES = (0.1, 0.5)
RATE = 3.0  # [1/s] at which deformations change, of their size


@dataclass(frozen=True)
class Difference:
    """Largest difference from the reference over some states, of its largest entry.

    Coordinates are scaled by sqrt(diag M).

    Attributes
    ----------
    nodes, slope
        Number of nodes, and the angle [rad] that no section's axis is turned beyond.
    mass, coriolis, elastic, acceleration
        Of M, of its rates' forces, of the elastic forces, and of the accelerations under weight.
    """

    nodes: int
    slope: float
    mass: float
    coriolis: float
    elastic: float
    acceleration: float


def convergence(
    make: Callable[[int], Model],
    reference: Reference,
    nodes: Sequence[int],
    *,
    slopes: Sequence[float] = SLOPES,
    states: int = 3,
    name: str = "composite",
) -> list[Difference]:
    """Compare the library with the reference at smooth random deformations.

    Parameters
    ----------
    make
        Builds the model with a number of nodes; its coordinates are the reference's.
    reference
        The continuum.
    nodes, slopes
        Numbers of nodes, and how far links are bent [rad].
    states
        How many states to take for each.
    name
        The formulation.
    """
    model = reference.model
    drawn = {s: [bent_state(model, s, k) for k in range(states)] for s in slopes}
    found = []
    for count in nodes:
        library = Traced(name, make(count), {})
        for slope, samples in drawn.items():
            rows = [differences(library, reference, q, v) for q, v in samples]
            found.append(Difference(count, slope, *np.max(rows, axis=0)))
    return found


def report(found: Sequence[Difference]) -> str:
    """Write differences as a table."""
    lines = ["nodes slope      M        c    elastic  accelerations"]
    lines += [
        f"{d.nodes:5d} {d.slope:5.2f} {d.mass:8.1e} {d.coriolis:8.1e} {d.elastic:8.1e}"
        f" {d.acceleration:8.1e}"
        for d in found
    ]
    return "\n".join(lines)


def bent_state(model: Model, slope: float, seed: int) -> tuple[Array, Array]:
    """Draw coordinates and rates; links are deformed smoothly until an axis turns by ``slope``."""
    state, random = random_state(model, seed, inputs=0, wrenches=0), np.random.default_rng(seed)
    q, v = state.q, state.v
    for part in model.links:
        for target, rate in ((q, 1.0), (v, RATE)):
            shape = random_deformation(model, part, q, random)
            target[part.modes] = rate * slope / (_turn(model, part, q, shape) or 1.0) * shape
    return q, v


def differences(
    library: Traced, reference: Reference, q: Array, v: Array
) -> tuple[float, float, float, float]:
    """Compare M, forces of rates, elastic forces and accelerations at a state."""
    mass = reference.mass_matrix(q)
    size = np.sqrt(np.diag(mass))
    coriolis, _, elastic, _ = library("parts", q, v)
    inputs, wrenches = reference.loads
    loads = np.zeros(inputs), np.ones(wrenches)
    given = np.zeros(len(reference.model.prescribed))
    a, effort = library("forward_dynamics", q, v, *loads, given)
    load = reference.applied(q, *loads) - reference.bias(q, v) + effort
    expected = np.asarray(np.linalg.solve(mass, load) * size)
    both = np.outer(size, size)
    return (
        _relative(library("mass_matrix", q)[0] / both, mass / both),
        _relative(coriolis / size, reference.coriolis(q, v) / size),
        _relative(elastic / size, reference.elastic(q) / size),
        _relative(a * size, expected),
    )


def _turn(model: Model, part: LinkModel, q: Array, amplitudes: Array) -> float:
    """Largest slope [rad] of a deformation; where it bends nothing, of its other angles."""
    body = body_of(model, part)
    shapes, span = body.shapes_at(q), body.span_at(q)
    if shapes is None or span is None:
        return 0.0
    turned = shapes.rotation(np.linspace(0.0, span.length, 81)) @ amplitudes
    return float(np.linalg.norm(turned[:, 1:], axis=1).max() or np.abs(turned).max())


def _relative(got: Array, expected: Array) -> float:
    return float(np.abs(got - expected).max() / np.abs(expected).max())
