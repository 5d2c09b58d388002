"""Constrained optimisation of the parameters of an arm: `flexarm.optimise`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from flexarm.arguments import digits, require_function
from flexarm.arm import Arm
from flexarm.arm.summary import Summarised, Summary
from flexarm.errors import FlexarmError, ModelError
from flexarm.io.model_file import change_arm, save
from flexarm.spatial import Array
from flexarm.studies.constants import (
    CHUNK,
    NEAR,
    NOTED,
    PENALTY,
    SEARCH_ACCURACY,
    SEARCH_DESIGNS,
    SEARCHES,
)
from flexarm.studies.design.evaluate import FINISHED, Columns, Evaluator, Rows
from flexarm.studies.design.plan import shares
from flexarm.studies.design.read import START, Study, read_study
from flexarm.threads import one_blas_thread


@dataclass(frozen=True, repr=False)
class Optimum(Summarised):
    """The best design found by `optimise`, with its parameters, quantities and active limits.

    Attributes
    ----------
    name
        Name of the study.
    values
        Optimal values of the parameters, in SI units, keyed by name.
    quantities
        Quantities of the optimal design, in SI units, keyed by name.
    first
        Parameter values and quantities of the initial design of the search, keyed by name.
    limits, ends
        Names of quantities that are at their limit, and of parameters that are at an end of their
        range.
    kept
        Whether the design satisfies all limits.
    refuted
        Relative improvement of the objective by a better design nearby; 0 if no nearby design is
        better.
    designs
        Number of designs that were computed in the search.
    arm
        The arm with the optimal parameter values, or None if the study has no arm.
    """

    name: str
    values: dict[str, float]
    quantities: dict[str, float]
    first: dict[str, float]
    limits: tuple[str, ...]
    ends: tuple[str, ...]
    kept: bool
    refuted: float
    designs: int
    arm: Arm | None

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write the arm with the optimal parameters to a model file, atomically."""
        if self.arm is None:
            raise FlexarmError("the study is not of an arm that could be written to a file")
        save(self.arm, path, force=force)

    def to_dict(self) -> dict[str, Any]:
        """Return all attributes except the arm, keyed by name."""
        names = [field.name for field in fields(self) if field.name != "arm"]
        return {name: getattr(self, name) for name in names}

    def _summary(self) -> Summary:
        rows = [
            (name, f"{self.first[name]:.6g}", f"{value:.6g}")
            for name, value in (self.values | self.quantities).items()
        ]
        return Summary(f"Optimum {self.name}", tuple(self._said()), ("", "first", "best"), rows)

    def _said(self) -> list[str]:
        lines = [f"{self.designs} designs were computed"]
        if not self.kept:
            lines.append("no design that keeps all limits was found. Widen ranges or limits.")
        elif self.refuted:
            lines.append(
                f"no optimum was found. After {SEARCHES} searches a nearby design is better by "
                f"{digits(100 * self.refuted)} %. Use a smaller rtol, or narrow the ranges."
            )
        else:
            lines.append(f"no design within {100 * NEAR:g} % of the ranges around it is better")
        if self.limits:
            lines.append(f"at its limit: {', '.join(self.limits)}")
        if self.ends:
            lines.append(f"at the end of its range: {', '.join(self.ends)}. Widen it to search on.")
        return lines


@one_blas_thread
def optimise(
    plan: str | Path | Mapping[str, Any], *, progress: Callable[[str], None] | None = None
) -> Optimum:
    """Minimise or maximise a quantity of an arm over its parameters, within limits.

    Parameters
    ----------
    plan
        A study file with ``aim`` and ``limits``, or a mapping of its contents. At most 64 designs
        of the sampling are computed first. The search begins at the best of these designs.
    progress
        Function called with a line of text after each step of the search.

    Returns
    -------
    Optimum
        The best design and its quantities. Nearby designs are computed too; ``refuted`` is nonzero
        if one of them is better.

    Raises
    ------
    ModelError
        If the plan is invalid or has no aim.
    FlexarmError
        If no design can be computed.

    Examples
    --------
    >>> found = optimise({
    ...     "parameters": {"x": [0.1, 1.0], "y": [0.1, 1.0]},
    ...     "sampling": {"kind": "sobol", "count": 4},
    ...     "quantities": {
    ...         "sum": {"function": lambda d: d["x"] + d["y"], "takes": "design"},
    ...         "area": {"function": lambda d: d["x"] * d["y"], "takes": "design"},
    ...     },
    ...     "aim": {"minimise": "sum"},
    ...     "limits": {"area": {"least": 0.25}},
    ... })
    >>> print(f"{found.values['x']:.4f} {found.values['y']:.4f}", found.limits)
    0.5000 0.5000 ('area',)
    """
    require_function("progress", progress, "of a line")
    study = read_study(plan)
    _require(study, f"{plan}:1:1" if isinstance(plan, str | Path) else "plan")
    designs = Designs(study)
    places = _first(study)
    aims, margins = designs.judged(places)
    begin = places[designs.best(aims, margins)]
    aim = study.plan.aim
    assert aim is not None

    steps = count(1)

    def tell(value: float) -> None:
        if progress is not None:
            progress(
                f"step {next(steps)}: {aim.quantity} {aim.sign * value:.6g}, "
                f"{designs.count} designs"
            )

    optimum = search(designs, np.asarray(begin), tell)
    return _result(study, designs, begin, optimum)


def _first(study: Study) -> Array:
    """Return at most 64 initial designs as points of the unit cube, shape (N, parameters).

    The initial designs are the first designs of the sampling or, for a grid, designs at evenly
    spaced indices.
    """
    count, sampling = min(study.count, CHUNK["cpu"]), study.plan.sampling
    if sampling.kind != "grid":
        return shares(sampling, study.axes, 0, count)
    numbers = np.linspace(0, study.count - 1, count).round().astype(int).tolist()
    return np.vstack([shares(sampling, study.axes, k, k + 1) for k in numbers])


def _require(study: Study, where: str) -> None:
    """Raise an error if the study has no aim, or if a parameter has no linear or log range."""
    if study.plan.aim is None:
        raise ModelError(
            f"{where}: an aim is missing. Name the quantity to minimise or maximise, such as "
            f"'aim: {{minimise: weight}}'."
        )
    for axis in study.axes:
        if axis.kind not in ("linear", "log"):
            raise ModelError(
                f"{where}: the parameter {axis.name} must have a range [low, high] to be searched"
            )


@dataclass
class Designs:
    """Evaluator of a study's designs at arbitrary points of the unit cube of parameters."""

    study: Study  # the study, with aim and limits
    count: int = 0  # designs computed so far
    reason: str = ""  # reason why the last failed design could not be computed
    # Largest magnitudes of quantities in the first designs, to which margins to limits of 0 are
    # relative.
    _sizes: dict[str, float] = field(default_factory=dict)

    @cached_property
    def _evaluator(self) -> Evaluator:
        return Evaluator(self.study)

    def at(self, places: Array) -> Columns:
        """Return the result columns of designs at points of the unit cube, (N, parameters)."""
        axes = self.study.axes
        values = {axis.name: axis.at(places[:, k]) for k, axis in enumerate(axes)}
        columns = self._evaluator.computed(Rows(self.study, 0, values))
        self.count += len(places)
        for reason in columns["reason"][columns["status"] != FINISHED]:
            self.reason = str(reason)
        return columns

    def judged(self, places: Array) -> tuple[Array, Array]:
        """Return the objective, shape (N,), and relative margins to limits, shape (N, limits).

        The objective is to be minimised. A negative margin means that the limit is violated. A
        design that cannot be computed has a NaN objective.
        """
        plan, columns = self.study.plan, self.at(places)
        assert plan.aim is not None
        aims = plan.aim.sign * columns[plan.aim.quantity]
        margins = np.zeros((len(places), len(self.bounds)))
        for k, (name, sign, bound) in enumerate(self.bounds):
            values = columns[name]
            size = np.nanmax(np.abs(values), initial=0.0) or 1.0
            margins[:, k] = (
                sign * (values - bound) / (abs(bound) or self._sizes.setdefault(name, size))
            )
        for name in (plan.aim.quantity, *plan.limits):
            unknown = ~np.isfinite(columns[name])
            aims[unknown] = np.nan
            if np.any(unknown & (columns["status"] == FINISHED)):
                self.reason = f"{name} is no number"
        return aims, margins

    @property
    def bounds(self) -> list[tuple[str, float, float]]:
        """One-sided limits as (quantity, sign, bound), with sign 1 for lower bounds, else -1."""
        limits = self.study.plan.limits.items()
        both = [(name, s, b) for name, x in limits for s, b in ((1.0, x.least), (-1.0, x.most))]
        return [(name, sign, bound) for name, sign, bound in both if bound is not None]

    def merit(self, place: Array, scale: float) -> float:
        """Return the penalised objective at a point of the unit cube, to be minimised.

        The penalised objective is the objective divided by ``scale`` plus weighted relative
        violations of limits. The merit is infinite if the design cannot be computed.
        """
        aims, margins = self.judged(np.clip(place, 0.0, 1.0)[None])
        missed = float(np.maximum(-margins[0], 0.0).sum())
        return float(aims[0]) / scale + PENALTY * missed if np.isfinite(aims[0]) else np.inf

    def best(self, aims: Array, margins: Array) -> int:
        """Return the index of the feasible design with the least objective.

        If no design satisfies all limits, the result is the index of the design with the smallest
        violation.

        Raises
        ------
        FlexarmError
            If no design could be computed.
        """
        missed = np.maximum(-margins - SEARCH_ACCURACY, 0.0).max(axis=1, initial=0.0)
        if not np.any(np.isfinite(aims)):
            raise FlexarmError(f"none of the {len(aims)} designs could be computed: {self.reason}")
        order = np.lexsort((aims, np.where(np.isfinite(aims), missed, np.inf)))
        return int(order[0])


@dataclass(frozen=True)
class Found:
    """Result of a search: point of the unit cube, margins to limits, and possible improvement."""

    place: Array  # point of the unit cube, (parameters,)
    margins: Array  # relative margin to each limit, (limits,)
    refuted: float  # relative improvement by a nearby design; 0 if none is better

    @property
    def kept(self) -> bool:
        """Whether the point satisfies all limits."""
        return bool(np.all(self.margins >= -SEARCH_ACCURACY))


def search(designs: Designs, begin: Array, tell: Callable[[float], None]) -> Found:
    """Search for an optimum from a point of the unit cube, and test the optimum by nearby designs.

    If a nearby design is better, the search restarts from it, up to three searches in total.
    """
    for seed in range(SEARCHES):
        place = _descend(designs, begin, tell)
        around = np.vstack([_around(place, seed), _down_a_simplex(designs, place)])
        aims, margins = designs.judged(np.vstack([place, around]))
        best = designs.best(aims, margins)
        gained = float(aims[0] - aims[best]) / max(abs(float(aims[0])), 1e-300)
        refuted = gained if best and gained > NOTED else 0.0
        result = Found(place, margins[0], refuted)
        if not best or (result.kept and not refuted):
            return result
        begin = around[best - 1]
    return replace(result, place=begin, margins=margins[best])


def _down_a_simplex(designs: Designs, place: Array) -> Array:
    """Return the point of least merit by the Nelder-Mead method, shape (parameters,).

    The search starts at ``place`` and, unlike gradient-based methods, tolerates kinks of the merit.
    """
    from scipy.optimize import minimize

    scale = abs(float(designs.judged(place[None])[0][0])) or 1.0
    corners = np.vstack([place, place + np.where(place < 0.5, NEAR, -NEAR) * np.eye(len(place))])
    patience: Any = {"maxfev": 30 * len(place), "initial_simplex": corners, "xatol": 0, "fatol": 0}
    descent = minimize(  # type: ignore[call-overload]
        lambda x: designs.merit(x, scale), place, method="Nelder-Mead", options=patience
    )
    return np.asarray(np.clip(descent.x, 0.0, 1.0))


def _around(place: Array, seed: int) -> Array:
    """Return eight random points per parameter near a point of the unit cube, one row per point."""
    drawn = np.random.default_rng(seed).uniform(-NEAR, NEAR, (8 * len(place), len(place)))
    return np.clip(place + drawn, 0.0, 1.0)


def _descend(designs: Designs, begin: Array, tell: Callable[[float], None]) -> Array:
    """Return the best design that the derivative-free method COBYQA of SciPy has visited.

    The search begins at the point ``begin`` of the unit cube, shape (parameters,), and calls
    ``tell`` with the objective after each iteration.
    """
    from scipy.optimize import Bounds, NonlinearConstraint, minimize

    cache: dict[bytes, tuple[float, Array]] = {}

    def at(place: Array) -> tuple[float, Array]:
        key = np.clip(place, 0.0, 1.0).tobytes()
        if key not in cache:
            aims, margins = designs.judged(np.frombuffer(key)[None])
            cache[key] = float(aims[0]), margins[0]
        return cache[key]

    scale = abs(at(begin)[0]) or 1.0
    limits = NonlinearConstraint(lambda x: at(x)[1], 0.0, np.inf)
    patience: Any = {
        "maxfev": SEARCH_DESIGNS * len(begin), "initial_tr_radius": NEAR,
        "final_tr_radius": SEARCH_ACCURACY, "feasibility_tol": SEARCH_ACCURACY,
    }  # fmt: skip
    end = minimize(  # type: ignore[call-overload]
        lambda x: at(x)[0] / scale, begin, method="COBYQA", options=patience,
        bounds=Bounds(np.zeros_like(begin), np.ones_like(begin)),
        constraints=[limits] if designs.bounds else [], callback=lambda x: tell(at(x)[0]),
    )  # fmt: skip
    # Parameters very close to an end of their range are set to that end.
    at(np.where(np.abs(end.x - np.round(end.x)) < 10 * SEARCH_ACCURACY, np.round(end.x), end.x))
    aims, margins = map(np.array, zip(*cache.values(), strict=True))
    return np.frombuffer(list(cache)[designs.best(aims, margins)])


def _result(study: Study, designs: Designs, begin: Array, result: Found) -> Optimum:
    """Return the `Optimum` of a search, after computing its first and best designs once more."""
    columns = designs.at(np.stack([begin, result.place]))
    names = [axis.name for axis in study.axes]
    numbers = {name: float(columns[name][1]) for name in names}
    keys = {key: numbers[axis.name] for axis in study.axes for key in axis.keys}
    arm = study.arm
    if arm is not None:
        arm = change_arm(arm, {k: v for k, v in keys.items() if not k.startswith(START)})
    first = {name: float(columns[name][0]) for name in (*names, *study.plan.quantities)}
    best = {name: float(columns[name][1]) for name in study.plan.quantities}
    near = np.abs(result.margins) <= NOTED
    active = tuple(
        dict.fromkeys(name for (name, _, _), at in zip(designs.bounds, near, strict=True) if at)
    )
    edge = np.abs(result.place - 0.5) >= 0.5 - NOTED
    ends = tuple(name for name, at in zip(names, edge, strict=True) if at)
    return Optimum(
        study.plan.name, numbers, best, first, active, ends, result.kept, result.refuted,
        designs.count, arm,
    )  # fmt: skip
