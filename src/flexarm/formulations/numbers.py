"""Compiled functions with an arm's numbers among the inputs, so that similar arms share code."""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import final
from weakref import WeakValueDictionary

import casadi as ca
import numpy as np

from flexarm.arguments import refused, require_array, require_names
from flexarm.arm import Arm
from flexarm.engine.compile import Compiled, Level
from flexarm.engine.functions import compile_recipe, keep_note, noted
from flexarm.engine.lower import lower
from flexarm.engine.numbers import Pattern
from flexarm.engine.once import once
from flexarm.engine.operators import direct_operators
from flexarm.engine.split import split
from flexarm.engine.stream import Stream
from flexarm.errors import FlexarmError, ModelError
from flexarm.formulations.base import Formulation
from flexarm.formulations.constants import NUMBER_STEP, OTHER_FACTOR
from flexarm.formulations.quantities import trace
from flexarm.io.model_file import change_arm, find_place, read_value
from flexarm.loops.rows import call_rows
from flexarm.model import Model, build
from flexarm.model.numbers import NUMBERS, Path, common_pattern, digest_at, numbers_of, opened
from flexarm.spatial import Array

Make = Callable[[Formulation], ca.Function]
# Functions in use in this process; keys are the texts that determine the functions.
_STRUCTURES = WeakValueDictionary[str, "Structure"]()
# Paths of the model parts that are constants in a function; keys are the texts that determine the
# function.
_PATHS_READ: dict[str, tuple[Path, ...]] = {}


class _MoreReadError(Exception):
    """Error: building a function read more parts of the model as constants than were declared."""

    def __init__(self, read: tuple[Path, ...], streams: tuple[Stream, Stream]) -> None:
        super().__init__()
        self.read, self.streams = read, streams


@final
class BoundKernel(Compiled):
    """Compiled function of one arm: machine code shared by similar arms, and own constants."""

    def __init__(self, shared: Compiled, constants: Array, structure: "Structure") -> None:
        super().__init__(shared.machine_code, (constants,))
        self.structure = structure


@dataclass(eq=False)
class Structure:
    """Function with an arm's numbers as symbols, valid for all arms of equal structure.

    Attributes
    ----------
    recipe
        Text that identifies the function.
    read
        Paths of model parts that the function contains as constants.
    """

    recipe: str
    read: tuple[Path, ...]
    pattern: Pattern
    level: Level
    # Function that returns the CasADi function, with the model's numbers as last input, and the
    # paths of the parts read as constants.
    make: Callable[[], tuple[ca.Function, frozenset[Path]]] = field(repr=False)
    _compiled: dict[int, Compiled] = field(default_factory=dict, repr=False)

    @cached_property
    def streams(self) -> tuple[Stream, Stream]:
        """Operations that depend on the arm's numbers alone, and all other operations."""
        with direct_operators():
            function, read = self.make()
            streams = split(lower(function), NUMBERS)
        if not read <= set(self.read):
            raise _MoreReadError(tuple(sorted(read | set(self.read), key=str)), streams)
        return streams

    @property
    def body(self) -> Stream:
        """Operations evaluated at each call; their last input is the constants of the arm."""
        return self.streams[1]

    @cached_property
    def prologue(self) -> Compiled:
        """Compiled operations that depend on the arm's numbers alone; they run once per arm."""
        recipe = f"{self.recipe}, prologue"
        return compile_recipe(recipe, lambda: self.streams[0], level="quick")

    def constants(self, numbers: Array) -> Array:
        """Compute the constants of N arms, (N, constants), from their numbers, (k, N)."""
        return call_rows(self.prologue, numbers.shape[1], [numbers.T])[0]

    def compiled(self, width: int = 1) -> Compiled:
        """Compile the function for ``width`` arms that are evaluated in parallel lanes."""
        if width not in self._compiled:
            compiled = compile_recipe(
                self.recipe, lambda: self.streams[1], level=self.level, width=width
            )
            self._compiled.setdefault(width, compiled)  # two threads both use the first result
        return self._compiled[width]


def kernel(
    name: str,
    formulation: Formulation,
    make: Make,
    pattern: Pattern | None = None,
    *,
    level: Level = "fast",
) -> BoundKernel:
    """Return a compiled function of an arm; arms of equal structure share its machine code.

    Parameters
    ----------
    name
        Name that identifies the function, together with formulation and options.
    formulation
        Formulation, with the arm.
    make
        Function that returns the CasADi function for a formulation.
    pattern
        Pattern that states which numbers of an arm are constants in the machine code, and which
        are equal or opposite to others. If ``pattern`` is None or does not fit, the pattern of
        this arm is used.
    level
        Optimisation level of the machine code.
    """
    numbers = numbers_of(formulation.model)
    values, fits = (pattern or numbers.pattern).values(numbers.values)
    if pattern is None or not fits[0]:
        pattern = numbers.pattern
        values, _ = pattern.values(numbers.values)
    structure = _structure(name, formulation, make, pattern, level)
    constants = structure.prologue.call(values[:, 0])[0]
    return BoundKernel(structure.compiled(), constants, structure)


def _structure(
    name: str, formulation: Formulation, make: Make, pattern: Pattern, level: Level
) -> Structure:
    model = formulation.model
    own_recipe = f"{formulation.name} {formulation.options()} {name} {level}"
    recipe = f"{own_recipe} {numbers_of(model).rest} {pattern.key}"

    def make_traced() -> tuple[ca.Function, frozenset[Path]]:
        # Functions of one arm share the expressions of its links, and thereby the parts read as
        # constants.
        symbolic, paths_read = once(
            model, f"opened {pattern.key}", (), lambda: opened(model, pattern)
        )
        function = make(formulation.of(symbolic))
        return function, frozenset(paths_read)

    if recipe not in _PATHS_READ:
        _PATHS_READ[recipe] = tuple(tuple(path) for path in json.loads(noted(recipe) or "[]"))
    paths_read, streams = _PATHS_READ[recipe], None
    while True:
        full_recipe = (
            f"{recipe} {' '.join(f'{path} {digest_at(model, path)}' for path in paths_read)}"
        )
        structure = _STRUCTURES.get(full_recipe)
        if structure is None:
            structure = Structure(full_recipe, paths_read, pattern, level, make_traced)
            if streams is not None:
                structure.__dict__["streams"] = streams
        try:
            structure.compiled()
        except _MoreReadError as error:
            paths_read, streams = error.read, error.streams
            _PATHS_READ[recipe] = paths_read
            keep_note(recipe, json.dumps(paths_read))
        else:
            return _STRUCTURES.setdefault(full_recipe, structure)


def abreast(members: Sequence[BoundKernel]) -> BoundKernel | None:
    """Return a function that evaluates several arms in SIMD lanes; None if their code differs."""
    structure = members[0].structure
    if any(member.structure is not structure for member in members):
        return None
    lanes = np.ascontiguousarray(
        np.stack([one_member.constants[0] for one_member in members], axis=1)
    )
    return BoundKernel(structure.compiled(len(members)), lanes, structure)


# Steps of central differences, and of one-sided differences at a limit of a parameter's range.
CENTRAL, FORWARD = (-2.0, -1.0, 1.0, 2.0), (0.0, 1.0, 2.0, 3.0, 4.0)


def parameter_keys(arm: Arm, parameters: object) -> tuple[str, ...]:
    """Return validated keys of numbers of an arm; raise an error for unknown or repeated keys."""
    description = "keys of the model file, such as ['payload.mass']"
    texts = tuple(require_names("parameters", parameters, description))
    if not texts:
        raise refused("parameters", parameters, f"a list of {description}")
    parameter_values(arm, texts)
    places = [find_place(arm, key) for key in texts]
    if len(set(places)) < len(places):
        raise FlexarmError(
            f"parameters: must name each number of the arm once, got {', '.join(texts)}"
        )
    return texts


def parameter_values(arm: Arm, keys: Sequence[str]) -> Array:
    """Return the values of numbers of an arm, (k,), by their k keys."""
    values = []
    for key in keys:
        value = read_value(arm, key)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise FlexarmError(f"parameter '{key}': must be a number of the arm, got {value!r}")
        values.append(float(value))
    return np.array(values)


def changed_model(model: Model, keys: Sequence[str], values: Sequence[float] | Array) -> Model:
    """Build a model with changed numbers of the model file and unchanged build options.

    Raises
    ------
    FlexarmError
        If a key or value is invalid, or the values change the arm's
        coordinates.
    """
    names = ", ".join(keys)
    if not keys:
        raise FlexarmError(
            "values: no number of the arm is an input of these equations. Name "
            "numbers by formulation(parameters=)."
        )
    numbers = require_array(f"values ({names})", values)
    if numbers.shape != (len(keys),):
        raise FlexarmError(
            f"values: must be of shape ({len(keys)},) ({names}), got shape {numbers.shape}"
        )
    result = build(
        change_arm(model.arm, dict(zip(keys, numbers.tolist(), strict=True))),
        stiffening=model.stiffening,
        tip_rotation=model.tip_rotation,
        nodes=model.nodes,
        series=model.series,
    )
    if result.names != model.names:
        raise FlexarmError(
            f"{names}: these values would change which coordinates the arm has. "
            "Build another model."
        )
    return result


def pattern_elsewhere(model: Model, keys: Sequence[str]) -> Pattern | None:
    """Return a pattern of constants and symbols that stays valid if the given parameters change.

    Return None if the changed values are not valid in a model file.
    """
    values = parameter_values(model.arm, keys)
    factors = OTHER_FACTOR ** np.arange(1, len(keys) + 1)
    try:
        variant = changed_model(
            model, keys, np.where(values == 0.0, factors - 1.0, values * factors)
        )
    except FlexarmError:
        return None
    return common_pattern([model, variant])


@dataclass(frozen=True)
class Nearby:
    """Models in which one number has slightly different values, and weights of differences."""

    models: tuple[Model, ...]
    weights: Array

    @classmethod
    def of(cls, model: Model, key: str) -> "Nearby":
        """Build models with small changes of one number, of both signs if that is permitted.

        The model file's limits of the number may permit one sign only.
        """
        value = float(parameter_values(model.arm, [key])[0])
        step = NUMBER_STEP * abs(value) or NUMBER_STEP
        for places in (CENTRAL, FORWARD):
            with suppress(ModelError):
                return cls._at(model, key, value, step, places)
        return cls._at(model, key, value, -step, FORWARD)

    @classmethod
    def _at(
        cls,
        model: Model,
        key: str,
        value: float,
        step: float,
        places: tuple[float, ...],
    ) -> "Nearby":
        models = tuple(changed_model(model, [key], [value + place * step]) for place in places)
        return cls(models, difference_weights(places) / step)


def difference_weights(places: Sequence[float]) -> Array:
    """Return weights of function values at given positions for the derivative at position 0.

    The difference formula is of fourth order.
    """
    unit = np.eye(len(places))[1]
    weights = np.linalg.solve(np.vander(places, increasing=True).T, unit)
    return np.asarray(np.round(12 * weights) / 12)  # exact weights are multiples of 1/12


def nearby(model: Model, keys: Sequence[str]) -> dict[str, Nearby]:
    """Return models with small changes of one number, for each key of a number."""
    return {key: Nearby.of(model, key) for key in keys}


def derivatives(
    formulation: Formulation,
    nearby: Mapping[str, Nearby],
    name: str,
    inputs: Sequence[Array],
) -> dict[str, Array]:
    """Compute the derivatives of a quantity with respect to numbers of the model file.

    Return one array per output name; the last axis of each array counts the numbers.
    """
    keys = list(nearby)
    models = [model for near in nearby.values() for model in near.models]
    pattern = common_pattern([formulation.model, *models])

    def make(opened: Formulation) -> ca.Function:
        return _by_numbers(trace(opened, name), len(keys))

    member = kernel(f"{name} by {len(keys)}", formulation, make, pattern, level="quick")
    directions = directions_of(member.structure.pattern, formulation.model, nearby)
    results = member.call(*inputs, directions if len(keys) > 1 else directions[:, 0])
    return {
        port.name: value.reshape(*shape, len(keys))
        for port, value, shape in zip(
            member.outputs, results, _shapes(formulation, name), strict=True
        )
    }


def directions_of(pattern: Pattern, model: Model, nearby: Mapping[str, Nearby]) -> Array:
    """Compute d numbers / d parameters for all numbers in the equations, (numbers, k).

    Raises
    ------
    FlexarmError
        If the operations change at the value of a parameter.
    """
    current = symbol_values(pattern, model, model)
    assert current is not None
    rows = {
        key: [symbol_values(pattern, near_model, model) for near_model in near.models]
        for key, near in nearby.items()
    }
    misfits = [f"'{key}'" for key, row in rows.items() if any(values is None for values in row)]
    if misfits:
        raise FlexarmError(
            f"{', '.join(misfits)}: the equations have no derivative at this value, where their "
            "operations change. Start from another value that is not 0. Else name the default "
            f"shapes ('shapes: {{kind: loaded, root: held, bending_y: 1}}'), take 'follow' from "
            "shapes that depend on this number, and leave out lengths and sections of sliding "
            "links."
        )
    columns = [near.weights @ (np.array(rows[key]) - current) for key, near in nearby.items()]
    return np.stack(columns, axis=1) if columns else np.zeros((len(current), 0))


def symbol_values(pattern: Pattern, model: Model, like: Model) -> Array | None:
    """Return a model's values for the symbols of a pattern, (k,); None if the pattern misfits.

    The pattern fits if the model differs from ``like`` in numbers only.
    """
    numbers = numbers_of(model)
    values, fits = pattern.values(numbers.values)
    return values[:, 0] if fits[0] and numbers.rest == numbers_of(like).rest else None


def _by_numbers(function: ca.Function, count: int) -> ca.Function:
    """Return a CasADi function of directional derivatives with respect to the arm's numbers.

    The directions, (n, count), are an additional input before the numbers.
    """
    *symbols, numbers = function.sx_in()
    *names, last = function.name_in()
    assert last == NUMBERS
    directions = ca.SX.sym("directions", numbers.shape[0], count)
    results = function.call([*symbols, numbers], True, False)
    rows = [ca.jtimes(ca.vec(ca.densify(result).T), numbers, directions) for result in results]
    return ca.Function(
        function.name(),
        [*symbols, directions, numbers],
        [ca.densify(row) for row in rows],
        [*names, "directions", NUMBERS],
        function.name_out(),
    )


def _shapes(formulation: Formulation, name: str) -> list[tuple[int, ...]]:
    """Return the shapes of a quantity's outputs; a single column counts as a vector."""
    function = trace(formulation, name)
    sizes = [function.size_out(k) for k in range(function.n_out())]
    return [(rows,) if columns == 1 else (rows, columns) for rows, columns in sizes]
