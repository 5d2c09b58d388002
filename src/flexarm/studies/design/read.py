"""Reading and validation of a study from a file or a mapping, with the line of each mistake."""

import hashlib
import inspect
import json
import pickle
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from secrets import token_hex
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexarm.arguments import is_number, refused, require_known, require_path
from flexarm.arm import Arm
from flexarm.arm.side_files import SideFiles
from flexarm.errors import FlexarmError, ModelError
from flexarm.integrate.batch.runs import curve_units
from flexarm.integrate.batch.variations import coordinate_units, refuse_alone
from flexarm.integrate.choice.choose import consider, preparation
from flexarm.integrate.constants import DEFAULT_INTERVALS
from flexarm.integrate.methods import METHODS
from flexarm.integrate.task import equation_of, prepare
from flexarm.io.model_file import (
    arm_path,
    change_arm,
    dumps,
    files_beside,
    find_place,
    from_data,
    load,
    overlap,
    parse,
    read_content,
    read_value,
    unit_of,
    validated,
)
from flexarm.io.source import Diagnostic, read, report, show_path
from flexarm.io.source import Path as Place
from flexarm.linear.tangent import moves
from flexarm.model import Model, build
from flexarm.runs.write import files_kept_with
from flexarm.studies.constants import CHUNK, LEAST_CHUNKS, MOST_DESIGNS, MOST_FILES, MOST_HYPERCUBE
from flexarm.studies.design.plan import (
    CELLS,
    DesignQuantity,
    Parameter,
    ParameterValues,
    StudyFile,
    design_count,
    shares,
)
from flexarm.units import quantity

START = "start."  # prefix of keys that set initial coordinates
ALLOWED = "write 'allow_long: true' in the study's run"


@dataclass(frozen=True)
class Study:
    """A validated study: its plan, arm and parameters, ready to be computed."""

    plan: StudyFile  # contents of the study file
    folder: Path  # folder of the Python files that the plan refers to
    arm: Arm | None  # the arm, if any
    axes: tuple[ParameterValues, ...]  # the varied parameters
    curves: Mapping[str, str] = field(default_factory=dict)  # units of time histories, by name

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the data to pickle the study, with the arm as model file text and side files."""
        plan = self.plan.model_copy(update={"arm": None})
        arm = self.arm and (dumps(self.arm), files_kept_with(self.arm))
        return _restored, (plan, self.folder, arm, self.axes, self.parts)

    @property
    def count(self) -> int:
        """Number of designs in the study."""
        return design_count(self.plan.sampling, self.axes)

    @property
    def units(self) -> dict[str, str]:
        """SI units of parameters and quantities, by name; empty where unknown."""
        quantities = {name: self._unit(of) for name, of in self.plan.quantities.items()}
        return {axis.name: axis.unit for axis in self.axes} | quantities

    def _unit(self, of: DesignQuantity) -> str:
        if of.of is None:
            return "kg" if of.mass else "Hz" if of.frequency is not None else ""
        unit = self.curves.get(of.of, "")
        changed = {"settling time": "s", "overshoot": "1", "integral": f"{unit} s"}
        return changed.get(of.reduce or "", unit)

    @property
    def chunk(self) -> int:
        """Number of designs that are computed together and stored in one file."""
        most = CHUNK[self.plan.device]
        if self.plan.device == "cpu":
            most = min(most, -(-self.count // LEAST_CHUNKS))
        return self.plan.chunk or max(most, -(-self.count // MOST_FILES))

    def values(self, first: int, last: int) -> dict[str, NDArray[Any]]:
        """Return the values of designs ``first`` to ``last - 1``, keyed by parameter name.

        Each array has shape (last - first,).
        """
        places = shares(self.plan.sampling, self.axes, first, last)
        return {axis.name: axis.at(places[:, k]) for k, axis in enumerate(self.axes)}

    def function(self, of: DesignQuantity) -> Any:
        """Return the function of a user-defined quantity, importing it if it is named."""
        return imported(of.function, self.folder) if isinstance(of.function, str) else of.function

    @cached_property
    def parts(self) -> dict[str, str]:
        """SHA-256 digests, by name, of all inputs that determine the results."""
        plan, arm = self.plan, self.arm
        texts = {
            "version": version("flexarm"),
            "arm": "" if arm is None else repr((dumps(arm), files_kept_with(arm))),
            "parameters": repr(self.axes),
            "sampling": repr(plan.sampling),
            "run": repr(plan.run),
            "quantities": repr({k: self._identity(q) for k, q in plan.quantities.items()}),
            "device": plan.device,
        }
        return {name: hashlib.sha256(text.encode()).hexdigest() for name, text in texts.items()}

    def _identity(self, of: DesignQuantity) -> str:
        if of.function is None:
            return repr(of)
        try:
            return f"{of.takes} {identity(of.function, self.folder)}"
        except ModelError:
            return token_hex()

    @property
    def resume_refusal(self) -> str:
        """Reason why a partly computed study cannot be resumed, or an empty string.

        The reason names a user's function for which no digest can be computed.
        """
        for name, spec in self.plan.quantities.items():
            try:
                if spec.function is not None:
                    identity(spec.function, self.folder)
            except ModelError as error:
                return f"the function of '{name}' cannot be identified: {error}"
        return ""

    @cached_property
    def digest(self) -> str:
        """SHA-256 digest that identifies the study."""
        return hashlib.sha256(json.dumps(self.parts, sort_keys=True).encode()).hexdigest()

    def as_begun(self, chunk: int, parts: dict[str, str]) -> "Study":
        """Return the study with the chunk size and digests that its result folder records."""
        study = replace(self, plan=self.plan.model_copy(update={"chunk": chunk}))
        study.__dict__["parts"] = parts
        return study


def _restored(
    plan: StudyFile,
    folder: Path,
    arm: Any,
    axes: tuple[ParameterValues, ...],
    parts: dict[str, str],
) -> Study:
    """Return the study that was pickled by `Study.__reduce__`."""
    arm_of_study = parse(Arm, arm[0], name="arm", files=SideFiles(kept=arm[1])) if arm else None
    study = Study(plan, folder, arm_of_study, axes)
    return study.as_begun(study.chunk, parts)


def read_study(source_of_study: "str | Path | Mapping[str, Any] | Study") -> Study:
    """Return a validated study, read from a study file or from a mapping of the same contents.

    Raises
    ------
    ModelError
        With a line ``file:line:column: what: why`` for each mistake.
    """
    if isinstance(source_of_study, Study):
        return source_of_study
    if isinstance(source_of_study, Mapping):
        return _of_mapping(source_of_study)
    try:
        path = require_path("plan", source_of_study, ModelError)
    except ModelError:
        raise refused(
            "plan", source_of_study, "a study file, or a mapping of its contents"
        ) from None
    content = read_content(path)
    plan = parse(StudyFile, content, name=str(path), files=files_beside(path.parent))
    study, problems = _resolved(plan, path.parent.resolve())
    if problems:
        source = read(content, str(path))
        listed = [Diagnostic(source.locate(where), where, why) for where, why in problems]
        raise ModelError(report(str(path), listed))
    return study


def _of_mapping(mapping: Mapping[str, Any]) -> Study:
    data = {"study": 1, **mapping}
    try:
        plan = from_data(StudyFile, data)
    except ModelError as error:
        raise ModelError("plan: " + "; ".join(str(error).split("\n"))) from None
    study, problems = _resolved(plan, Path.cwd())
    if problems:
        lines = [f"{show_path(where)}: {messages}" for where, messages in problems]
        raise ModelError("plan: " + "; ".join(lines))
    return study


Problems = list[tuple[Place, str]]


def _resolved(plan: StudyFile, folder: Path) -> tuple[Study, Problems]:
    """Return the study with its arm loaded and ranges in SI units, and a list of mistakes."""
    problems: Problems = []
    try:
        arm = _arm(plan.arm, folder)
        model = None if arm is None else build(arm)
    except FlexarmError as error:
        return Study(plan, folder, None, ()), [(("arm",), str(error))]
    axes = []
    for name, spec in plan.parameters.items():
        try:
            axes.append(_axis(name, spec, arm, model))
        except FlexarmError as error:
            problems.append((("parameters", name), str(error)))
    problems += _twice(axes, arm, model)
    study = Study(plan, folder, arm, tuple(axes))
    if arm is not None and model is not None:
        try:
            study = replace(study, curves=_curves(plan, arm, model))
        except FlexarmError as error:
            problems.append((("run",), str(error)))
    for name, quantity_spec in plan.quantities.items():
        try:
            if quantity_spec.function is not None:
                study.function(quantity_spec)
            of = quantity_spec.of
            if study.curves and of is not None and of not in study.curves:
                raise ModelError(
                    f"no run has the curve '{of}'. The curves are {', '.join(study.curves)}."
                )
            if quantity_spec.frequency is not None and model is not None:
                _require_frequency(quantity_spec, model, axes)
        except FlexarmError as error:
            problems.append((("quantities", name), str(error)))
    if not problems and study.count > MOST_DESIGNS:
        problems.append((("sampling",), f"{study.count:,} designs are too many, the limit is 1e9"))
    whole = plan.sampling.kind == "latin-hypercube" and study.count * len(axes)
    if whole > MOST_HYPERCUBE:
        message = (
            "a Latin hypercube is drawn as a whole and takes at most "
            f"{MOST_HYPERCUBE:.0e} numbers, got {whole:.2g}. Take 'sobol' or 'random'."
        )
        problems.append((("sampling", "count"), message))
    return study, problems


def _twice(axes: Sequence[ParameterValues], arm: Arm | None, model: Model | None) -> Problems:
    """Return a mistake for each parameter that sets the same entry as another parameter.

    A mistake is a path in the study file with a message.
    """
    problems: Problems = []
    keys_in_use: list[tuple[str, Place]] = []
    for axis in axes if arm is not None and model is not None else ():
        for key in axis.keys:
            place = _place(arm, model, key)  # type: ignore[arg-type]
            for other, there in keys_in_use:
                if overlap(place, there):
                    message = f"'{key}' is set by '{other}' already. Vary one of them."
                    problems.append((("parameters", axis.name), message))
            keys_in_use.append((key, place))
    return problems


def _place(arm: Arm, model: Model, key: str) -> Place:
    """Return the path in the model file of the entry that a parameter's key sets."""
    if not key.startswith(START):
        return find_place(arm, key)
    name = key.removeprefix(START)
    plain = name.removesuffix(".rate")
    index, rate = model.names.index(plain), name != plain
    for axis in model.axes:
        if index in (axis.index, axis.motor):
            prefix = ("motor_" if index == axis.motor else "") + ("speed" if rate else "position")
            label = (axis.label,) if axis.label else ()
            return ("links", axis.number - 1, "joint", *label, "start", prefix)
    for k, link in enumerate(model.whole_links):
        if link.modes.start <= index < link.modes.stop:
            own = plain.removeprefix(f"{link.name}.")
            return ("links", k, "start_speed" if rate else "start", own)
    return (START, name)


def _curves(plan: StudyFile, arm: Arm, model: Model) -> Mapping[str, str]:
    """Check the run options, and return the units of the runs' time histories by name.

    The mapping is empty if the study has no run or no quantity refers to a time history.
    """
    run = plan.run
    if run is None:
        return {}
    samples = int(run.t_end / run.dt) + 1 if run.dt else DEFAULT_INTERVALS + 1
    consider([preparation(arm, samples)], allow_long=run.allow_long, remedy=ALLOWED)
    equation = equation_of(model, name=run.formulation)
    if not any(spec.of is not None for spec in plan.quantities.values()):
        return {}
    task = prepare(equation.model, np.array([0.0, 1e-3]), equation=equation)
    return curve_units(task, METHODS["dop853"])


def _require_frequency(of: DesignQuantity, model: Model, axes: Sequence[ParameterValues]) -> None:
    """Raise an error if a quantity is a natural frequency beyond the arm's last mode.

    Studies with listed parameter values are exempt, since a listed value may add modes.
    """
    locked = {axis.name for axis in model.axes} if of.joints == "locked" else set[str]()
    most = len(moves(model, locked)[0])
    listed = any(axis.kind == "values" for axis in axes)
    if of.frequency is not None and of.frequency > most and not listed:
        raise ModelError(
            f"frequency: must be at most {most}, the number of frequencies of the "
            f"arm, got {of.frequency}"
        )


def _arm(arm_in_plan: str | Arm | None, folder: Path) -> Arm | None:
    if not isinstance(arm_in_plan, str):
        return None if arm_in_plan is None else validated(arm_in_plan)
    beside = folder / arm_in_plan
    return load(beside if beside.is_file() else arm_path(arm_in_plan))


def _axis(name: str, parameter: Parameter, arm: Arm | None, model: Model | None) -> ParameterValues:
    """Return a parameter of the study file with its bounds or values converted to SI units."""
    keys = tuple(parameter.keys or (name,))
    unit = _unit(arm, model, keys[0]) if arm is not None and model is not None else ""

    def taken(value: Any) -> Any:
        return value if arm is None or model is None else _common(arm, model, keys, value)

    def number(value: Any) -> float:
        value_in_arm = taken(value)
        if not is_number(value_in_arm):
            raise ModelError(
                "a parameter with a range must have a number in the arm, got "
                f"{value_in_arm!r}. Give numbers, or 'values: [...]'."
            )
        if isinstance(value_in_arm, int) and arm is not None:
            raise ModelError(
                "a parameter that takes whole numbers cannot have a range. Give "
                f"'values: [{value_in_arm}, ...]'."
            )
        return float(value_in_arm)

    if parameter.values is not None:
        values = tuple(map(taken, parameter.values))
        if {*map(type, values)} == {int, float}:
            values = tuple(map(float, values))
        return ParameterValues(name, keys, "values", levels=len(values), values=values, unit=unit)
    if parameter.mean is not None:
        mean = number(parameter.mean)
        deviation = _deviation(parameter.deviation, mean, number)
        if not deviation > 0:
            raise ModelError(f"deviation must be > 0, got {deviation:g}")
        return ParameterValues(name, keys, "normal", mean, deviation, unit=unit)
    low, high = number(parameter.low), number(parameter.high)
    if not low < high:
        raise ModelError(f"the range is empty, since low must be < high, got {low:g} and {high:g}")
    if parameter.scale == "log" and low <= 0:
        raise ModelError(f"low must be > 0 for 'scale: log', got {low:g}")
    return ParameterValues(name, keys, parameter.scale, low, high, parameter.levels or 0, unit=unit)


def _deviation(deviation_in_plan: Any, mean: float, number: Callable[[Any], float]) -> float:
    """Return a standard deviation in SI units, which may be given in % of the mean."""
    if not isinstance(deviation_in_plan, str):
        return quantity(deviation_in_plan, "1")
    relative = deviation_in_plan.rstrip().endswith("%")
    return abs(mean) * quantity(deviation_in_plan, "1") if relative else number(deviation_in_plan)


def _common(arm: Arm, model: Model, keys: Sequence[str], value: Any) -> Any:
    """Return a parameter value in SI units; raise an error if units of its keys differ.

    Lists and mappings are returned unchanged.
    """
    in_si = {key: _taken(arm, model, key, value) for key in keys}
    for key, other_value in in_si.items():
        if not isinstance(other_value, CELLS):
            return value
        if other_value != in_si[keys[0]]:
            raise ModelError(
                f"the value {value!r} is {in_si[keys[0]]!r} in the unit of '{keys[0]}' and "
                f"{other_value!r} in the unit of '{key}'. Give each a parameter of its own."
            )
    return min(
        in_si.values(), key=lambda other_value: isinstance(other_value, float)
    )  # 1 and 1.0 count as equal


def _taken(arm: Arm, model: Model, key: str, value: Any) -> Any:
    """Return a parameter value in SI units, converted like the model-file entry that it sets.

    Raise an error if the key or the value is invalid.
    """
    if not key.startswith(START):
        return read_value(change_arm(arm, {key: value}), key)
    plain = key.removeprefix(START).removesuffix(".rate")
    require_known(plain, model.names, "coordinate", error=ModelError)
    refuse_alone(model)
    return quantity(value, _unit(arm, model, key))


def _unit(arm: Arm, model: Model, key: str) -> str:
    """Return the SI unit of the entry that a parameter sets; empty if it has none."""
    if not key.startswith(START):
        return unit_of(arm, key)
    return coordinate_units(model).get(key.removeprefix(START), "")


def imported(name: str, folder: Path) -> Any:
    """Return the function named ``FILE.py:NAME``, relative to a folder, or ``MODULE:NAME``."""
    place, _, attribute = name.rpartition(":")
    try:
        if place.endswith(".py"):
            path = folder / place
            scope: dict[str, Any] = {"__name__": path.stem, "__file__": str(path)}
            exec(compile(path.read_bytes(), str(path), "exec"), scope)
            function = scope[attribute]
        else:
            function = getattr(import_module(place), attribute)
    except Exception as error:  # user files may raise any error
        raise ModelError(f"'{name}' cannot be imported: {type(error).__name__}: {error}") from None
    if not callable(function):
        raise ModelError(f"'{name}' is not a function")
    return function


def identity(function: Any, folder: Path) -> str:
    """Return a text that identifies a user's function; a study is only resumed with the same one.

    The text contains the source of the function's file. For a function of a script or notebook, it
    contains the function's own source, captured values and defaults. Changes of other functions or
    modules that the function uses remain unnoticed.

    Parameters
    ----------
    function
        ``FILE.py:NAME`` or ``MODULE:NAME``, or the function itself.
    folder
        Folder to which ``FILE.py`` is relative.

    Raises
    ------
    ModelError
        If the function's source is unavailable, or a captured value cannot be stored, such as an
        open file.
    """
    if isinstance(function, str):
        place, _, attribute = function.rpartition(":")
        if place.endswith(".py"):
            return f"{attribute} {(folder / place).read_text(encoding='utf-8')}"
        function = imported(function, folder)
    bare = getattr(function, "func", function)  # function inside a `functools.partial`
    try:
        captured = [cell.cell_contents for cell in bare.__closure__ or ()]
        values = [captured, bare.__defaults__, bare.__kwdefaults__]
        values += [getattr(function, name, None) for name in ("args", "keywords")]
        module = inspect.getmodule(bare)
        whole = module if module is not None and module.__name__ != "__main__" else bare
        return f"{bare.__qualname__} {pickle.dumps(values)!r} {inspect.getsource(whole)}"
    except Exception as error:  # foreign objects may raise any error
        raise ModelError(f"{type(error).__name__}: {error}") from None
