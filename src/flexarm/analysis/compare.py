"""All formulations on one arm: how far apart they are and what each costs.

What is compared is inertia and gravity, which every formulation obtains in its own way.  Springs,
damping and friction are left out: they are one code for all, and at a bent state elastic forces may
be a million times larger, so that they would hide what differs.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import casadi as ca
import numpy as np

from flexarm.analysis.operations import COUNTED, operation_counts
from flexarm.arguments import require_count, require_flag, require_function
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
    mass_matrix_error
        Largest difference of the mass matrix over all states, of its largest entry, with
        coordinates scaled by the square roots of its diagonal, as for the other two.
    bias_error
        The same of Coriolis and gravity forces together, of the larger one's largest entry.
    acceleration_error
        The same of the accelerations of coordinates that are not prescribed, under these forces
        alone; those that are prescribed accelerate by 1.
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
    require_count("seed", seed, 0)
    require_flag("paper", paper)
    require_function("progress", progress, "of the formulation under way")
    model = build(arm)
    reference = _traced(formulation(REFERENCE, model))
    passed = _run_states(arm)  # refuses what has no accelerations
    drawn = [_paced(reference, q, v) for q, v in _random_states(model, seed)]
    states = [*drawn, *passed]
    expected = [_values(reference, q, v) for q, v in states]
    conditions = [np.linalg.cond(each.mass / np.outer(each.root, each.root)) for each in expected]
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


class _Values(NamedTuple):
    """One equation at a state: the mass matrix, and what inertia and gravity alone give."""

    mass: Array
    coriolis: Array
    gravity: Array
    a: Array

    @property
    def root(self) -> Array:
        """Scale of the coordinates, (n,)."""
        return np.asarray(np.sqrt(np.diag(self.mass)))


def _compared(
    eq: Formulation, states: list[tuple[Array, Array]], expected: list[_Values]
) -> Compared:
    errors, traced = np.zeros(3), _traced(eq)
    free = [i for i in range(eq.model.size) if i not in eq.model.prescribed]
    for (q, v), wanted in zip(states, expected, strict=True):
        got, root = _values(traced, q, v), wanted.root
        force = got.coriolis + got.gravity - wanted.coriolis - wanted.gravity
        found = (
            _relative((got.mass - wanted.mass) / np.outer(root, root), np.ones(1)),
            _relative(force / root, wanted.coriolis / root, wanted.gravity / root),
            _relative(((got.a - wanted.a) * root)[free], (wanted.a * root)[free]),
        )
        errors = np.maximum(errors, found)
    counted = {name: operation_counts(eq, name) for name in COUNTED}
    mass, bias, acceleration = errors.tolist()
    return Compared(None, mass, bias, acceleration, counted, _microseconds(eq, *states[0]))


def _traced(eq: Formulation) -> ca.Function:
    """Trace the mass matrix, Coriolis and gravity forces, and accelerations under them alone."""
    model = eq.model
    q, v = ca.SX.sym("q", model.size), ca.SX.sym("v", model.size)
    still, given = ca.SX(model.size, 1), ca.SX.ones(len(model.prescribed), 1)
    coriolis = eq.inertial_expression(q, v, None, gravity=False)
    gravity = eq.inertial_expression(q, still, None, gravity=True)
    a, _ = eq.forward_expression(q, v, given, still)
    return ca.Function("compared", [q, v], [eq.mass_expression(q), coriolis, gravity, a])


def _values(traced: ca.Function, q: Array, v: Array) -> _Values:
    mass, *vectors = (np.array(ca.densify(value)) for value in traced(q, v))
    return _Values(mass, *(vector.ravel() for vector in vectors))


def _relative(difference: Array, *wholes: Array) -> float:
    size = max(float(np.abs(whole).max(initial=0.0)) for whole in wholes)
    return float(np.abs(difference).max(initial=0.0)) / max(size, float(np.finfo(float).tiny))


def _paced(traced: ca.Function, q: Array, v: Array) -> tuple[Array, Array]:
    """Scale rates so that Coriolis forces are as large as gravity, which else may hide them."""
    found = _values(traced, q, v)
    coriolis, gravity = (
        float(np.abs(part / found.root).max()) for part in (found.coriolis, found.gravity)
    )
    rounding = 1e-6 * gravity  # what an arm without Coriolis forces has
    return q, v * np.sqrt(gravity / coriolis) if gravity > 0 and coriolis > rounding else v


def _random_states(model: Model, seed: int, count: int = 2) -> list[tuple[Array, Array]]:
    """Draw states: any joint angle, deflections of a few hundredths of the length."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        q, v = start_state(model)
        for part in model.links:
            turns = part.motion.turns
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
