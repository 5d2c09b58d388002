"""Energies and the tip's pose at every sample of a run, in a compiled loop."""

from dataclasses import dataclass

import numpy as np

from flexarm.formulations.base import Formulation
from flexarm.integrate.problem import table_of
from flexarm.loops.kernel import kernel
from flexarm.loops.language import Array, Ints, Record, run_equations

SEEN = 15  # three energies, the rotation by rows, the position


@dataclass
class _Observer(Record):
    """Compiled equations beside the states that they are evaluated at."""

    n: int
    count: int
    equations: int
    table: Ints
    q: Array
    v: Array
    anchor: Array
    seen: Array
    states: Array
    width: int
    anchors: Array
    results: Array


@kernel
def _observe(o: _Observer) -> None:
    """Evaluate every row."""
    for row in range(o.count):
        for i in range(o.n):
            o.q[i] = o.states[row * o.width + i]
            o.v[i] = o.states[row * o.width + o.n + i]
        for i in range(9):
            o.anchor[i] = o.anchors[row * 9 + i]
        run_equations(o.equations, o.table)
        for i in range(SEEN):
            o.results[row * SEEN + i] = o.seen[i]


def observe(equation: Formulation, states: Array, anchors: Array) -> tuple[Array, Array, Array]:
    """Evaluate a run's states.

    Parameters
    ----------
    equation
        The formulation.
    states
        Coordinates and rates, and what else a state has, (T, at least 2n).
    anchors
        Attitude that a free base's angles are relative to, (T, 3, 3).

    Returns
    -------
    energies, rotations, positions
        Kinetic, elastic and gravitational energy [J], (T, 3); the tip's rotation (T, 3, 3) and
        position [m], (T, 3), in the world.
    """
    n, count = equation.model.size, len(states)
    compiled = equation.compiled("observation")
    buffers = {"q": np.zeros(n), "v": np.zeros(n), "anchor": np.zeros(9), "seen": np.zeros(SEEN)}
    table, kept = table_of(compiled, buffers)
    observer = _Observer(
        n=n,
        count=count,
        equations=compiled.table_address,
        table=table,
        **buffers,
        states=np.ascontiguousarray(states, dtype=float).ravel(),
        width=states.shape[1],
        anchors=np.ascontiguousarray(anchors, dtype=float).ravel(),
        results=np.zeros(max(count, 1) * SEEN),
    )
    _observe(observer)
    del kept
    results = observer.results.reshape(-1, SEEN)[:count]
    return results[:, :3], results[:, 3:12].reshape(-1, 3, 3), results[:, 12:]
