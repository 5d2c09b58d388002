"""Contents of a study file (arm, parameters, quantities), and sampling of its designs."""

import json
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import lru_cache
from math import prod
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    StrictInt,
    model_validator,
)

from flexarm.arguments import is_number
from flexarm.arm import Arm
from flexarm.arm.part import Flag, Number, Part, fault
from flexarm.errors import SimulationError
from flexarm.integrate.batch.many import Device
from flexarm.integrate.options import RunOptions
from flexarm.runs.constants import SETTLING_BAND
from flexarm.runs.curves import REDUCTIONS
from flexarm.spatial import Array
from flexarm.studies.constants import MOST_DESIGNS, SEED_DESIGNS, TAIL
from flexarm.units import Ratio, Time

# Options of `flexarm.simulate` that runs of a study have.
RUN_KEYS = ("t_end", "dt", "method", "rtol", "formulation", "allow_long")


def _value(value: Any) -> Any:
    if not isinstance(value, str) and not is_number(value):
        raise fault("must be a number, or text with a unit such as '10 mm'")
    return value


def _range(value: Any) -> Any:
    """Convert a pair ``[low, high]`` to the mapping of a range; return other values as is."""
    if isinstance(value, list | tuple) and len(value) == 2:
        return {"low": value[0], "high": value[1]}
    return value


def _reduced(value: Any) -> Any:
    """Convert ``"joint1: peak"``, ``"mass"`` or a function to the keys of a quantity of a study.

    Other values are returned unchanged.
    """
    if value == "mass":
        return {"mass": True}
    if isinstance(value, str) and ":" in value:
        of, _, reduce = value.rpartition(":")
        return {"of": of.strip(), "reduce": reduce.strip()}
    return {"function": value} if callable(value) else value


def _reduction(value: str) -> str:
    if value not in REDUCTIONS:
        raise fault(f"must be one of {', '.join(REDUCTIONS)}")
    return value


def _function(value: Any) -> Any:
    if callable(value) or (isinstance(value, str) and value.rpartition(":")[0]):
        return value
    raise fault("a function must be named as FILE.py:NAME or MODULE:NAME")


def _run(value: Any) -> RunOptions | None:
    """Return the validated run options of a study, or None if the study has no run."""
    if value is None or isinstance(value, RunOptions):
        return value
    if not isinstance(value, dict) or "t_end" not in value:
        raise fault("a run must have its duration, such as 'run: {t_end: 1 s}'")
    for key in value:
        if key not in RUN_KEYS:
            close = get_close_matches(str(key), RUN_KEYS, 1)
            hint = f"did you mean '{close[0]}'?" if close else f"there are {', '.join(RUN_KEYS)}"
            raise fault(f"the key is unknown. {hint}", key)
    try:
        return RunOptions.of(**value)
    except SimulationError as error:
        name, _, text = str(error).partition(": ")
        # the error message quotes the value
        raise fault(text.partition(", got ")[0], name) from None


Value = Annotated[Any, AfterValidator(_value)]
Positive = Annotated[StrictInt, Field(ge=1, le=MOST_DESIGNS)]


class Parameter(Part):
    """A varied parameter of a study: a range, a normal distribution, or a list of values.

    ``keys`` are the keys of the model file that get the parameter's value; the default is the
    parameter's name. The keys ``start.NAME`` and ``start.NAME.rate`` set a coordinate and its rate
    at the start. ``levels`` is the number of values that a grid takes from a range.
    """

    low: Value | None = None
    high: Value | None = None
    scale: Literal["linear", "log"] = "linear"
    levels: Annotated[StrictInt, Field(ge=2, le=MOST_DESIGNS)] | None = None
    mean: Value | None = None
    deviation: Value | None = None
    values: Annotated[list[Any], Field(min_length=1)] | None = None
    keys: Annotated[list[str], Field(min_length=1)] | None = None

    @model_validator(mode="after")
    def _is_one_kind(self) -> Self:
        pairs = ((self.low, self.high), (self.mean, self.deviation), (self.values, self.values))
        stated_kinds = [any(value is not None for value in pair) for pair in pairs]
        whole = [all(value is not None for value in pair) for pair in pairs]
        if stated_kinds.count(True) != 1 or stated_kinds != whole:
            raise fault(
                "a parameter must have either low and high, or mean and deviation, or values"
            )
        if self.low is None and (self.levels is not None or self.scale != "linear"):
            raise fault(
                "a parameter's levels and scale are used only with low and high. Leave them out."
            )
        return self


class Sampling(Part):
    """Sampling plan of a study: kind of sampling, number of designs, and seed.

    Sampling by ``saltelli`` is for Sobol indices, with ``count`` times (parameters + 2) designs.
    Sampling by ``path`` changes all parameters together, from the first to the last value of each
    parameter.
    """

    kind: Literal["grid", "path", "random", "latin-hypercube", "sobol", "saltelli"] = (
        "latin-hypercube"
    )
    count: Positive | None = None
    seed: Annotated[StrictInt, Field(ge=0)] = 0

    @model_validator(mode="after")
    def _is_counted(self) -> Self:
        if self.count is None and self.kind != "grid":
            raise fault("the sampling must have a count of designs, such as 'count: 100'")
        if self.count is not None and self.kind == "grid":
            raise fault(
                "a grid has no count of designs, but levels of its parameters, such as "
                "'{low: 1, high: 2, levels: 5}'. Leave 'count' out.", "count",
            )  # fmt: skip
        if self.kind in ("sobol", "saltelli") and (self.count or 0).bit_count() != 1:
            raise fault(
                f"the count of designs must be a power of 2 for sampling of kind '{self.kind}', "
                f"got {self.count}", "count",
            )  # fmt: skip
        return self


class DesignQuantity(Part):
    """A scalar result to compute for each design.

    There are four kinds of quantities. A time history ``of`` the run, such as ``joint1``, is
    reduced to a number by ``reduce``, over the whole run or ``after`` a time [s]. The natural
    ``frequency`` number k of the arm [Hz] has ``joints`` locked or free. The total ``mass`` [kg]
    includes base and payload. A Python ``function``, ``FILE.py:NAME`` or ``MODULE:NAME``, has the
    run as argument or, with ``takes: design``, the parameter values by name.
    """

    of: str | None = None
    reduce: Annotated[str, AfterValidator(_reduction)] | None = None
    band: Annotated[Ratio, Field(gt=0, lt=1)] = SETTLING_BAND
    after: Annotated[Time, Field(ge=0)] = 0.0
    mass: Flag = False
    frequency: Annotated[StrictInt, Field(ge=1, le=1000)] | None = None
    joints: Literal["locked", "free"] = "locked"
    function: Annotated[Any, AfterValidator(_function)] | None = None
    takes: Literal["run", "design"] = "run"

    @model_validator(mode="after")
    def _is_one_kind(self) -> Self:
        kinds = [self.of is not None or self.reduce is not None, self.frequency is not None,
                 self.function is not None, self.mass]  # fmt: skip
        if kinds.count(True) != 1 or (self.of is None) is not (self.reduce is None):
            raise fault(
                "a quantity must have either 'of' and 'reduce', 'frequency', 'mass' or 'function'"
            )
        if self.after and self.of is None:
            raise fault(
                "'after' is used only for a curve of a run ('of' and 'reduce'). Leave it out.",
                "after",
            )
        return self

    @property
    def needs_run(self) -> bool:
        """Whether computing the quantity requires a simulation of the design."""
        return self.of is not None or (self.function is not None and self.takes == "run")

    @property
    def needs_arm(self) -> bool:
        """Whether the quantity is a mass or frequency of the arm, computed without a run."""
        return self.frequency is not None or self.mass


class Aim(Part):
    """The objective of `flexarm.optimise`: a quantity to minimise or maximise."""

    minimise: str | None = None
    maximise: str | None = None

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if (self.minimise is None) is (self.maximise is None):
            raise fault("the aim must have either 'minimise' or 'maximise'")
        return self

    @property
    def quantity(self) -> str:
        """Name of the quantity to optimise."""
        return self.minimise or self.maximise or ""

    @property
    def sign(self) -> float:
        """Sign of the quantity in the minimised objective: 1 to minimise, -1 to maximise."""
        return 1.0 if self.maximise is None else -1.0


class QuantityBound(Part):
    """Lower and upper limit of a quantity, in SI units; one of them may be missing."""

    least: Number | None = None
    most: Number | None = None

    @model_validator(mode="after")
    def _is_some(self) -> Self:
        if self.least is None and self.most is None:
            raise fault("a limit must have 'least', 'most' or both, in SI units")
        if self.least is not None and self.most is not None and not self.least < self.most:
            raise fault("the limit 'least' must be below 'most'")
        return self


class StudyFile(Part):
    """The contents of a study file; ``aim`` and ``limits`` are used by `flexarm.optimise` only."""

    study: Literal[1]
    name: str = "study"
    arm: str | Arm | None = None
    parameters: Annotated[
        dict[str, Annotated[Parameter, BeforeValidator(_range)]], Field(min_length=1)
    ]
    sampling: Sampling
    run: Annotated[Any, AfterValidator(_run)] = None
    quantities: Annotated[
        dict[str, Annotated[DesignQuantity, BeforeValidator(_reduced)]], Field(min_length=1)
    ]
    aim: Aim | None = None
    limits: dict[str, QuantityBound] = Field(default_factory=dict)
    device: Device = "cpu"
    workers: Annotated[StrictInt, Field(ge=1, le=4096)] | None = None
    dask: str | None = None
    chunk: Annotated[StrictInt, Field(ge=1, le=10**6)] | None = None

    @model_validator(mode="after")
    def _goes_together(self) -> Self:
        runs = [name for name, parameter in self.quantities.items() if parameter.needs_run]
        modes = [name for name, parameter in self.quantities.items() if parameter.needs_arm]
        if runs and self.run is None:
            raise fault(
                f"the quantity '{runs[0]}' needs a run. Add 'run: {{t_end: 1 s}}'.",
                "run",
            )
        if (runs or modes) and self.arm is None:
            raise fault(f"the quantity '{(runs or modes)[0]}' needs an arm. Give 'arm'.", "arm")
        grid = self.sampling.kind == "grid"
        for name, parameter in self.parameters.items():
            if grid and parameter.values is None and parameter.levels is None:
                raise fault(
                    "a grid needs the levels of each parameter, such as 'levels: 5'",
                    "parameters",
                    name,
                )
        twice = {*self.parameters} & {*self.quantities} or {"index", "key", "status", "reason"} & {
            *self.parameters,
            *self.quantities,
        }
        if twice:
            raise fault(
                f"the name '{min(twice)}' is that of another column of the results. "
                "Choose another name.",
                "quantities",
            )
        required = [("limits", name) for name in self.limits]
        for key, name in required + ([("aim", self.aim.quantity)] if self.aim else []):
            if name not in self.quantities:
                there = ", ".join(self.quantities)
                raise fault(f"there is no quantity '{name}'. The quantities are {there}.", key)
        late = [
            name for name, q in self.quantities.items() if self.run and q.after >= self.run.t_end
        ]
        if late:
            raise fault(
                "the time 'after' must be before the end of the run", "quantities", late[0], "after"
            )
        return self


CELLS = (bool, int, float, str)  # types that a column can hold


@dataclass(frozen=True)
class ParameterValues:
    """A varied parameter with its distribution or list of values in SI units."""

    name: str  # name of the parameter and of the result column
    keys: tuple[str, ...]  # keys of the model file or of the initial state that are set
    kind: str  # ``linear``, ``log``, ``normal`` or ``values``
    low: float = 0.0  # lower bound; mean of a normal distribution
    high: float = 0.0  # upper bound; standard deviation of a normal distribution
    levels: int = 0  # number of values in a grid
    values: tuple[Any, ...] = ()  # listed values of kind ``values``
    unit: str = ""  # SI unit of the values

    def at(self, share: Array) -> NDArray[Any]:
        """Return the parameter values at cumulative probabilities between 0 and 1."""
        if self.kind == "values":
            places = np.minimum((share * len(self.values)).astype(int), len(self.values) - 1)
            return np.asarray(self._cells[places])
        if self.kind == "normal":
            from scipy.special import ndtri

            return np.asarray(self.low + self.high * ndtri(np.clip(share, TAIL, 1 - TAIL)))
        if self.kind == "log":
            return np.asarray(self.low * (self.high / self.low) ** share)
        return np.asarray(self.low + (self.high - self.low) * share)

    @property
    def _cells(self) -> NDArray[Any]:
        """Return listed values as an array of one type, or as JSON texts if their types differ."""
        plain = len({*map(type, self.values)}) == 1 and isinstance(self.values[0], CELLS)
        return np.array(self.values if plain else [json.dumps(v, default=str) for v in self.values])

    def value(self, cell: Any) -> Any:
        """Return the parameter value of a cell of a result column; the cell may be JSON text."""
        if self.kind != "values":
            return cell
        return self.values[self._cells.tolist().index(cell)]


def design_count(sampling: Sampling, axes: Sequence[ParameterValues]) -> int:
    """Return the number of designs of a study."""
    if sampling.kind == "grid":
        return prod(axis.levels for axis in axes)
    return (sampling.count or 0) * (len(axes) + 2 if sampling.kind == "saltelli" else 1)


def shares(sampling: Sampling, axes: Sequence[ParameterValues], first: int, last: int) -> Array:
    """Return designs ``first`` to ``last - 1`` as points of the unit cube.

    The array of points has shape (last - first, parameters), with one row per design.
    """
    numbers, size = np.arange(first, last), len(axes)
    if sampling.kind == "grid":
        places = np.unravel_index(numbers, [axis.levels for axis in axes])
        return np.stack([_level(axis, k) for axis, k in zip(axes, places, strict=True)], axis=1)
    if sampling.kind == "path":
        steps = [_level(replace(axis, levels=sampling.count or 0), numbers) for axis in axes]
        return np.stack(steps, axis=1)
    if sampling.kind == "random":
        blocks = range(first // SEED_DESIGNS, -(-last // SEED_DESIGNS))
        drawn = [
            np.random.default_rng([sampling.seed, k]).random((SEED_DESIGNS, size)) for k in blocks
        ]
        begin = first - blocks[0] * SEED_DESIGNS
        return np.concatenate(drawn)[begin : begin + last - first]
    if sampling.kind == "latin-hypercube":
        return _hypercube(size, sampling.count or 0, sampling.seed)[first:last]
    if sampling.kind == "sobol":
        return _sobol(size, sampling.seed, first, last)
    return _saltelli(sampling, size, first, last)


def _level(axis: ParameterValues, k: NDArray[np.intp]) -> Array:
    return np.asarray((k + 0.5) / axis.levels if axis.values else k / max(axis.levels - 1, 1))


@lru_cache(maxsize=2)
def _hypercube(size: int, count: int, seed: int) -> Array:
    from scipy.stats import qmc

    return np.asarray(qmc.LatinHypercube(size, seed=np.random.default_rng(seed)).random(count))


def _sobol(size: int, seed: int, first: int, last: int) -> Array:
    from scipy.stats import qmc

    points = qmc.Sobol(size, seed=np.random.default_rng(seed))
    with warnings.catch_warnings():  # lengths of parts need not be powers of 2
        warnings.simplefilter("ignore", UserWarning)
        if first:  # SciPy raises an error on skipping 0 points
            points.fast_forward(first)
        return np.asarray(points.random(last - first))


def _saltelli(sampling: Sampling, size: int, first: int, last: int) -> Array:
    """Return points ``first`` to ``last - 1`` of Saltelli's design, one row per point.

    The blocks are matrices A and B, then the matrices A with one column replaced by that column of
    B.
    """
    count, blocks = sampling.count or 0, []
    while first < last:
        block, begin = divmod(first, count)
        end = min(last - block * count, count)
        both = _sobol(2 * size, sampling.seed, begin, end)
        part = both[:, size:].copy() if block == 1 else both[:, :size].copy()
        if block > 1:
            part[:, block - 2] = both[:, size + block - 2]
        blocks.append(part)
        first = block * count + end
    return np.concatenate(blocks)
