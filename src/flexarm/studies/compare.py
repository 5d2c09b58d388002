"""Comparison of all formulations of the equations of motion on one arm: accuracy and cost.

Only inertia and gravity forces are compared, which every formulation derives in its own way.
Springs, damping and friction are left out, since their code is common to all formulations. In a
deformed state elastic forces may be a million times larger than inertia forces and mask the
differences.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import casadi as ca
import numpy as np

from flexarm.arguments import refused, require_count, require_flag, require_function
from flexarm.arm import Arm
from flexarm.arm.summary import Summarised, Summary
from flexarm.check.constants import RANDOM_DEFLECTION
from flexarm.engine.lower import lower
from flexarm.engine.stream import OperationCounts, counts
from flexarm.errors import FlexarmError
from flexarm.formulations import FORMULATIONS, formulation
from flexarm.formulations.element_jacobian import ElementJacobian, refuse_points
from flexarm.formulations.equation import Equation
from flexarm.integrate.simulate import simulate_whole
from flexarm.loops.rows import bind_rows
from flexarm.mechanics.deformations import random_deformation
from flexarm.model import Model, build, start_state
from flexarm.spatial import Array
from flexarm.studies.constants import AGREEMENT, DEFLECTION_RATE, MOST_DEFLECTIONS, SHORT_RUN, TIMED
from flexarm.threads import one_blas_thread

REFERENCE = "composite"  # reference formulation of the comparison
COUNTED = ("forward_dynamics", "mass_matrix", "bias")  # functions whose operations are counted


class Errors(NamedTuple):
    """Largest relative differences from the reference formulation; None if undefined.

    Attributes
    ----------
    mass_matrix
        Difference of the mass matrices, relative to the largest entry. For all three attributes,
        coordinates are scaled by the square roots of the mass matrix diagonal.
    bias
        Difference of the sums of Coriolis and gravity forces, relative to the largest entry of
        either force.
    acceleration
        Difference of the accelerations of free coordinates under Coriolis and gravity forces alone,
        with unit accelerations of the prescribed coordinates.
    """

    mass_matrix: float | None
    bias: float | None
    acceleration: float | None


@dataclass(frozen=True)
class Compared:
    """Differences and cost of one formulation relative to the reference formulation.

    Attributes
    ----------
    refusal
        Reason why the formulation does not support the arm, so that there is no comparison; else
        None.
    errors
        Largest errors over all states; the acceleration error is None if a state is singular.
    singular
        Reason why accelerations are undefined at the start or at a compared state; None if they are
        defined.
    curve
        Largest errors at the random states, one entry per deflection.
    exponents
        Exponents p of power laws error ~ deflection^p; None where fewer than two errors exceed
        rounding.
    counts
        Numbers of arithmetic operations, keyed by function.
    microseconds
        Time [us] of one evaluation of forward dynamics, compiled at the quick level.
    """

    refusal: str | None = None
    errors: Errors | None = None
    singular: str | None = None
    curve: tuple[Errors, ...] = ()
    exponents: Errors | None = None
    counts: dict[str, OperationCounts] | None = None
    microseconds: float | None = None


@dataclass(frozen=True, repr=False)
class Comparison(Summarised):
    """Differences and costs of all formulations of the equations of motion on one arm.

    Attributes
    ----------
    arm, coordinates, states
        Name of the arm, number of its coordinates, and number of compared states.
    deflections
        Tip deflections of the random states, relative to each link's length.
    allowed
        Relative difference attributed to rounding: the larger of 1e-10 and 100 eps times the
        largest condition number of the scaled mass matrix.
    formulations
        Results by name of the formulation.
    """

    arm: str
    coordinates: int
    states: int
    deflections: tuple[float, ...]
    allowed: float
    formulations: dict[str, Compared]

    def _summary(self) -> Summary:
        rows = []
        for name, compared in self.formulations.items():
            acceleration_error = compared.errors and compared.errors.acceleration
            error = "" if acceleration_error is None else f"{acceleration_error:.2g}"
            time_ = "" if compared.microseconds is None else f"{compared.microseconds:.3g}"
            rows.append((name, error, time_, compared.refusal or compared.singular or ""))
        title = f"{self.arm}: {self.coordinates} coordinates, {self.states} states compared"
        columns = ("formulation", "error of accelerations", "[us]", "")
        return Summary(title, (f"rounding may make {self.allowed:.1g}",), columns, rows)


@one_blas_thread
def compare(
    arm: Arm,
    *,
    paper: bool = False,
    points: int | None = None,
    deflection: float | Sequence[float] = RANDOM_DEFLECTION,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
) -> Comparison:
    """Compare all formulations on an arm at random states and at states of a short simulation.

    Parameters
    ----------
    arm
        The arm.
    paper
        Whether formulations use the approximations of the papers that introduced them. The
        approximations then appear as errors.
    points
        Number of Gauss points per element of ``element-jacobian``; by default exact quadrature.
    deflection
        Size of the random tip deflections, relative to each link's length; rotations are multiplied
        by the length. A sequence of sizes yields errors as a function of deflection.
    seed
        Seed of the random states.
    progress
        Function called with the name of the formulation that is evaluated next.

    Returns
    -------
    Comparison
        Differences from the reference formulation and evaluation times, by formulation.

    Raises
    ------
    FlexarmError
        If the deflections, the seed or the points are invalid.
    """
    require_flag("paper", paper)
    require_function("progress", progress, "of the formulation under way")
    deflections = _deflections(deflection)
    refuse_options(deflections, seed=seed, points=points)
    model = build(arm)
    reference = _traced(formulation(REFERENCE, model))
    # Raises an error for an arm without defined accelerations.
    run = simulate_whole(arm, t_end=SHORT_RUN, dt=SHORT_RUN / 2)
    drawn = [[_paced(reference, *s) for s in _random_states(model, seed, d)] for d in deflections]
    passed = zip(run.q[1:], run.v[1:], strict=True)
    groups = [
        [_ComparedState(q, v, _values(reference, q, v)) for q, v in g] for g in (*drawn, passed)
    ]
    roots = [state.expected.root for group in groups for state in group]
    masses = [state.expected.mass for group in groups for state in group]
    condition = max(np.linalg.cond(M / np.outer(r, r)) for M, r in zip(masses, roots, strict=True))
    allowed = max(AGREEMENT, 100 * float(np.finfo(float).eps) * float(condition))
    results = {}
    for name in FORMULATIONS:
        if progress is not None:
            progress(name)
        keeps, own = paper and name != REFERENCE, name == ElementJacobian.name
        try:
            eq = formulation(name, model, paper=keeps, points=points if own else None)
            results[name] = _compared(eq, groups, deflections, allowed)
        except FlexarmError as error:
            results[name] = Compared(refusal=str(error))
    return Comparison(arm.name, model.size, len(masses), deflections, allowed, results)


def _deflections(deflection: object) -> tuple[float, ...]:
    """Return the ``deflection`` argument, a number or a sequence of numbers, as a tuple."""
    items = [deflection] if isinstance(deflection, float | int) else deflection
    try:
        values = tuple(float(item) for item in islice(items, MOST_DEFLECTIONS + 1))  # type: ignore[call-overload]
    except Exception:  # text, or an object whose conversion to a number raises any error
        raise refused("deflection", deflection, "a number, or a list of numbers") from None
    if len(values) > MOST_DEFLECTIONS:
        raise refused("deflection", deflection, f"at most {MOST_DEFLECTIONS} numbers")
    return values


def refuse_options(deflections: Sequence[float], *, seed: int, points: int | None) -> None:
    """Raise an error unless deflections are in (0, 1] and seed and Gauss points are valid."""
    if not deflections or not all(0 < share <= 1 for share in deflections):
        raise FlexarmError(
            "deflection: must be fractions of a link's length above 0 and at most 1, got "
            f"{', '.join(f'{share:g}' for share in deflections) or 'none'}"
        )
    require_count("seed", seed, 0)
    refuse_points(points)


class _Values(NamedTuple):
    """Mass matrix, forces and accelerations at one state, due to inertia and gravity alone."""

    mass: Array  # mass matrix, (n, n)
    coriolis: Array  # Coriolis and centrifugal force, (n,)
    gravity: Array  # gravity force, (n,)
    a: Array  # accelerations under these forces, (n,)

    @property
    def root(self) -> Array:
        """Square roots of the mass matrix diagonal, shape (n,), which scale the coordinates."""
        return np.asarray(np.sqrt(np.diag(self.mass)))


class _ComparedState(NamedTuple):
    """A state at which formulations are compared, with the reference formulation's values."""

    q: Array  # coordinates, (n,)
    v: Array  # rates, (n,)
    expected: _Values


def _compared(
    eq: Equation, groups: list[list[_ComparedState]], deflections: Sequence[float], allowed: float
) -> Compared:
    """Return one formulation's errors, operation counts and evaluation time as a `Compared`.

    Each group of states yields one set of errors. There is one group of random states per
    deflection, and a last group from the short run.
    """
    traced = _traced(eq)
    free = [i for i in range(eq.model.size) if i not in eq.model.prescribed]
    rows = np.array([_largest_errors(traced, group, free) for group in groups])
    curve = rows[: len(deflections)]
    exponents = [_exponent(deflections, column, allowed) for column in curve.T]
    q, v, _ = groups[0][0]
    return Compared(
        errors=_errors(rows.max(axis=0)),
        singular=_singular(eq, traced, groups),
        curve=tuple(_errors(row) for row in curve),
        exponents=_errors(exponents),
        counts={name: operation_counts(eq, name) for name in COUNTED},
        microseconds=_microseconds(eq, q, v),
    )


def _errors(values: Array | list[float]) -> Errors:
    """Convert three relative errors to `Errors`; non-finite values become None."""
    return Errors(*(float(value) if np.isfinite(value) else None for value in values))


def _largest_errors(traced: ca.Function, states: list[_ComparedState], free: list[int]) -> Array:
    """Return the largest relative errors of mass matrix, bias and acceleration, shape (3,).

    The largest errors are maxima over ``states``. The acceleration error includes only the
    coordinates with indices ``free``.
    """
    errors = np.zeros(3)
    for q, v, expected in states:
        got, root = _values(traced, q, v), expected.root
        force = (got.coriolis - expected.coriolis) + (got.gravity - expected.gravity)
        differences = (
            _relative((got.mass - expected.mass) / np.outer(root, root), np.ones(1)),
            _relative(force / root, expected.coriolis / root, expected.gravity / root),
            _relative(((got.a - expected.a) * root)[free], (expected.a * root)[free]),
        )
        errors = np.maximum(errors, differences)
    return errors


def _singular(eq: Equation, traced: ca.Function, groups: list[list[_ComparedState]]) -> str | None:
    """Return why accelerations are undefined at a compared state; None if they are defined."""
    start = start_state(eq.model)
    for q, v in (start, *((state.q, state.v) for group in groups for state in group)):
        if eq.guarded and not np.all(np.isfinite(_values(traced, q, v).a)):
            return f"{'start' if q is start[0] else 'a state'}: {eq.singularity(q)}"
    return None


def _exponent(deflections: Sequence[float], errors: Array, allowed: float) -> float:
    """Return the exponent p of a power law error ~ deflection^p.

    Only errors above ``allowed`` are fitted. Return NaN if fewer than two deflections have such
    errors.
    """
    above = np.isfinite(errors) & (errors > allowed)
    x, y = np.log(np.asarray(deflections)[above]), np.log(errors[above])
    return float(np.polyfit(x, y, 1)[0]) if len(set(x)) > 1 else np.nan


def _traced(eq: Equation) -> ca.Function:
    """Return a CasADi function (q, v) -> mass matrix, Coriolis force, gravity force, acceleration.

    The accelerations follow from inertia and gravity forces alone, with unit accelerations of the
    prescribed coordinates.
    """
    model, form = eq.model, eq.formulation
    q, v = ca.SX.sym("q", model.size), ca.SX.sym("v", model.size)
    still, accelerations = ca.SX(model.size, 1), ca.SX.ones(len(model.prescribed), 1)
    coriolis = form.inertial_expression(q, v, None, gravity=False)
    gravity = form.inertial_expression(q, still, None, gravity=True)
    a, _ = form.forward_expression(q, v, accelerations, still)
    return ca.Function("compared", [q, v], [form.mass_expression(q), coriolis, gravity, a])


def _values(traced: ca.Function, q: Array, v: Array) -> _Values:
    mass, *vectors = (np.array(ca.densify(value)) for value in traced(q, v))
    return _Values(mass, *(vector.ravel() for vector in vectors))


def _relative(difference: Array, *wholes: Array) -> float:
    size = max(float(np.abs(whole).max(initial=0.0)) for whole in wholes)
    return float(np.abs(difference).max(initial=0.0)) / max(size, float(np.finfo(float).tiny))


def _paced(traced: ca.Function, q: Array, v: Array) -> tuple[Array, Array]:
    """Return the state with rates scaled so that Coriolis forces are as large as gravity.

    Without this scaling gravity could mask errors of the Coriolis forces. If gravity or Coriolis
    forces vanish, rates are unchanged.
    """
    values = _values(traced, q, v)
    coriolis, gravity = (
        float(np.abs(force / values.root).max()) for force in (values.coriolis, values.gravity)
    )
    rounding = 1e-6 * gravity  # smaller Coriolis forces count as rounding
    return q, v * np.sqrt(gravity / coriolis) if gravity > 0 and coriolis > rounding else v


def _random_states(model: Model, seed: int, deflection: float) -> list[tuple[Array, Array]]:
    """Return two random states (q, v), with tips deflected by a fraction of the link length.

    Joint angles are uniformly distributed; rates of deflection are proportional to the deflection,
    as in a vibration.
    """
    rng = np.random.default_rng(seed)
    states = []
    for _ in range(2):
        q, v = start_state(model)
        for part in model.links:
            for axis in part.axes:
                for index in (axis.index, axis.motor):
                    if index is not None and index not in model.prescribed:
                        q[index] += rng.uniform(-np.pi, np.pi) if axis.turns else 0.0
                        v[index] += rng.normal()
            q[part.modes] = deflection * random_deformation(model, part, q, rng)
            v[part.modes] = DEFLECTION_RATE * deflection * random_deformation(model, part, q, rng)
        states.append((q, v))
    return states


def _microseconds(eq: Equation, q: Array, v: Array) -> float:
    compiled = eq.compiled("forward_dynamics")
    inputs = {"q": q, "v": v, "reference_attitude": np.array(eq.reference_attitude, dtype=float)}
    ports = compiled.inputs[: len(compiled.inputs) - len(compiled.constants)]
    arrays = [inputs.get(port.name, np.zeros(port.shape)) for port in ports]
    times, spent = 1, 0.0
    while spent < TIMED:
        times *= 4
        _, evaluate = bind_rows(compiled, times, arrays)
        evaluate(1)  # compiles the loop
        begun = time.perf_counter()
        evaluate(times)
        spent = time.perf_counter() - begun
    return 1e6 * spent / times


def operation_counts(eq: Equation, name: str) -> OperationCounts:
    """Count the arithmetic operations in the compiled code of one function of a formulation.

    Parameters
    ----------
    eq
        The equation of an arm.
    name
        One of `COUNTED`, or another name that `Equation.function` knows.

    Returns
    -------
    OperationCounts
        Numbers of operations. For the symmetric mass matrix only the upper triangle is counted,
        since the lower triangle is a copy.
    """
    function = eq.function(name)
    if name == "mass_matrix":
        symbols = function.sx_in()
        (mass,) = function.call(symbols, True, False)
        function = ca.Function(name, symbols, [ca.triu(mass)], function.name_in(), ["M"])
    return counts(lower(function))
