"""All formulations on one arm: how far apart they are and what each costs."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from flexarm.analysis.operations import COUNTED, operation_counts
from flexarm.arm import Arm
from flexarm.engine.kernels import Ints, kernel, run_equations
from flexarm.engine.stream import Counts
from flexarm.errors import FlexarmError
from flexarm.formulations import FORMULATIONS, formulation
from flexarm.formulations.base import Formulation
from flexarm.integrate.problem import table_of, tip_rows
from flexarm.integrate.simulate import simulate
from flexarm.links.base import Array
from flexarm.model import Model, build, start_state

REFERENCE = "composite"
BOUND = 1e-10
BENT = 0.02  # deflection of random states, of a link's length
RUN = 0.1  # [s] of the short run
SECONDS = 0.01  # of timing


@dataclass(frozen=True)
class Compared:
    """One formulation beside the reference.

    Attributes
    ----------
    refusal
        Why it does not treat the arm; then everything else is None.
    mass_matrix_error, bias_error, acceleration_error
        Largest difference over all states, of the largest entry, with coordinates scaled by the
        square roots of the mass matrix's diagonal.
    counts
        Operations by function.
    microseconds
        Of one forward dynamics, compiled quickly.
    """

    refusal: str | None = None
    mass_matrix_error: float | None = None
    bias_error: float | None = None
    acceleration_error: float | None = None
    counts: dict[str, Counts] | None = None
    microseconds: float | None = None


@dataclass(frozen=True)
class Comparison:
    """What `compare` found.

    Attributes
    ----------
    arm, coordinates, states
        The arm's name, the number of its coordinates and of the states that were compared.
    allowed
        The difference that rounding may make: 1e-10, or 100 eps times the largest condition number
        of the scaled mass matrix where that is larger.
    formulations
        The result by formulation.
    """

    arm: str
    coordinates: int
    states: int
    allowed: float
    formulations: dict[str, Compared]


def compare(
    arm: Arm,
    *,
    paper: bool = False,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
) -> Comparison:
    """Put an arm under every formulation, at random states and at those of a short run.

    Parameters
    ----------
    arm
        The arm.
    paper
        Let formulations keep their papers' approximations: their errors then show.
    seed
        Of the random states.
    progress
        Called with the name of the formulation under way.
    """
    model = build(arm)
    states = [*_random_states(model, seed), *_run_states(arm)]
    reference = formulation(REFERENCE, model)
    expected = [_values(reference, q, v) for q, v in states]
    conditions = [np.linalg.cond(_scaled(each[0], each[0])) for each in expected]
    found = {}
    for name in FORMULATIONS:
        if progress is not None:
            progress(name)
        keeps = paper and name != REFERENCE
        try:
            found[name] = _compared(formulation(name, model, paper=keeps), states, expected)
        except FlexarmError as error:
            found[name] = Compared(refusal=str(error))
    allowed = max(BOUND, 100 * float(np.finfo(float).eps) * float(max(conditions)))
    return Comparison(arm.name, model.size, len(states), allowed, found)


def _compared(
    eq: Formulation, states: list[tuple[Array, Array]], expected: list[tuple[Array, Array, Array]]
) -> Compared:
    errors = np.zeros(3)
    for (q, v), wanted in zip(states, expected, strict=True):
        root = np.sqrt(np.diag(wanted[0]))
        got = _values(eq, q, v)
        pairs = (
            (_scaled(got[0], wanted[0]), _scaled(wanted[0], wanted[0])),
            (got[1] / root, wanted[1] / root),
            (got[2] * root, wanted[2] * root),
        )
        errors = np.maximum(errors, [_apart(mine, other) for mine, other in pairs])
    counted = {name: operation_counts(eq, name) for name in COUNTED}
    mass, bias, acceleration = errors.tolist()
    return Compared(None, mass, bias, acceleration, counted, _microseconds(eq, *states[0]))


def _values(eq: Formulation, q: Array, v: Array) -> tuple[Array, Array, Array]:
    u = np.zeros(len(eq.input_names))
    return eq.mass_matrix(q), eq.bias(q, v), eq.forward_dynamics(q, v, u)


def _scaled(matrix: Array, by: Array) -> Array:
    root = np.sqrt(np.diag(by))
    return np.asarray(matrix / np.outer(root, root))


def _apart(mine: Array, other: Array) -> float:
    return float(np.abs(mine - other).max() / max(float(np.abs(other).max()), 1e-300))


def _random_states(model: Model, seed: int, count: int = 2) -> list[tuple[Array, Array]]:
    """Draw states: any joint angle, deflections of a few hundredths of the length."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        q, v = start_state(model)
        for part in model.links:
            turns = part.kind == "revolute"
            for index in (part.joint, part.motor):
                if index is not None and index not in model.prescribed:
                    q[index] += rng.uniform(-np.pi, np.pi) if turns else 0.0
                    v[index] += rng.normal()
            modes = slice(part.modes.start, part.modes.stop)
            reach = np.abs(tip_rows(model, part.name, q)[:, modes]).max(axis=0, initial=1e-9)
            size = BENT * part.length / (np.maximum(reach, 1e-3 * reach.max(initial=1e-9)))
            q[modes] += size / max(len(size), 1) * rng.normal(size=len(size))
            v[modes] += 10 * size / max(len(size), 1) * rng.normal(size=len(size))
        found.append((q, v))
    return found


def _run_states(arm: Arm) -> list[tuple[Array, Array]]:
    run = simulate(arm, t_end=RUN, dt=RUN / 2)
    return list(zip(run.q[1:], run.v[1:], strict=True))


@kernel
def _repeat(address: int, table: Ints, times: int) -> None:
    """Evaluate compiled equations many times."""
    for _ in range(times):
        run_equations(address, table)


def _microseconds(eq: Formulation, q: Array, v: Array) -> float:
    compiled = eq.compiled("forward_dynamics")
    given = {"q": q, "v": v, "anchor": np.array(eq.anchor, dtype=float)}
    buffers = {
        port.name: np.ascontiguousarray(given.get(port.name, np.zeros(port.shape)), dtype=float)
        for port in (*compiled.inputs, *compiled.outputs)
    }
    table, kept = table_of(compiled, buffers)
    _repeat(compiled.table_address, table, 1)
    times, spent = 1, 0.0
    while spent < SECONDS:
        times *= 4
        begun = time.perf_counter()
        _repeat(compiled.table_address, table, times)
        spent = time.perf_counter() - begun
    del kept
    return 1e6 * spent / times
