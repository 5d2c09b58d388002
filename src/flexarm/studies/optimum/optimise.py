"""Find the best design of a study: `flexarm.optimise`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from flexarm.arguments import require_function
from flexarm.arm import Arm
from flexarm.arm.summary import Summarised, Summary
from flexarm.errors import FlexarmError, ModelError
from flexarm.io.model_file import save
from flexarm.io.overrides import change_arm
from flexarm.links.base import Array
from flexarm.studies.design.evaluate import FINISHED, Columns, Evaluator, Rows
from flexarm.studies.design.read import START, Study, read_study
from flexarm.studies.design.sampling import shares

FIRST = 64  # designs that are tried first, at most: a few seconds to minutes of runs
PATIENCE = 40  # steps of one search at most
AGAIN = 3  # searches, each from the design that refuted the last
# Relative to a parameter's range: distance from an end that counts as at it; step of the finite
# differences, well above the runs' errors; distance of the designs tried around an optimum.
EDGE, STEP, NEAR = 1e-3, 2e-3, 0.05
# Relative to the aim: change that ends a search; gain of a nearby design that refutes an optimum.
SETTLED, BETTER = 1e-7, 1e-3
KEPT = 1e-6  # relative to a limit: violation that is rounding of the search
OUTWEIGHS = 100.0  # weight of relative violations of limits beside the relative aim
Tell = Callable[[int, float], None]


@dataclass(frozen=True, repr=False)
class Optimum(Summarised):
    """The best design that was found.

    Attributes
    ----------
    name
        Name of the study.
    values
        Values of the parameters, in SI.
    quantities
        Quantities of the design, in SI, from its own run.
    first
        Values and quantities of the design that the search began with.
    limits, ends
        Names of quantities at a limit, and of parameters at an end of their range.
    kept
        Whether all limits are kept.
    refuted
        Relative gain of the aim by a better design nearby; 0 if none of those tried is better.
    designs
        Number of designs that were computed.
    arm
        The arm with these values.
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
        """Write the arm to a model file, whole or not at all."""
        if self.arm is None:
            raise FlexarmError("the study has no arm that could be written")
        save(self.arm, path, force=force)

    def to_dict(self) -> dict[str, Any]:
        """Return all fields but the arm."""
        names = [each.name for each in fields(self) if each.name != "arm"]
        return {name: getattr(self, name) for name in names}

    def _summary(self) -> Summary:
        rows = [
            (name, f"{self.first[name]:.6g}", f"{value:.6g}")
            for name, value in (self.values | self.quantities).items()
        ]
        return Summary(f"Optimum {self.name}", tuple(self._said()), ("", "first", "best"), rows)

    def _said(self) -> list[str]:
        said = [f"{self.designs} designs were computed"]
        if not self.kept:
            said.append("no design that keeps all limits was found: widen ranges or limits")
        elif self.refuted:
            said.append(
                f"no optimum: after {AGAIN} searches a design near it is still better by "
                f"{100 * self.refuted:.2g} %: take a smaller rtol, or narrow the ranges"
            )
        else:
            said.append(f"none of those within {100 * NEAR:g} % of the ranges around it is better")
        if self.limits:
            said.append(f"at its limit: {', '.join(self.limits)}")
        if self.ends:
            said.append(f"at the end of its range: {', '.join(self.ends)}: widen it to go on")
        return said


def optimise(
    plan: str | Path | Mapping[str, Any], *, progress: Callable[[str], None] | None = None
) -> Optimum:
    """Minimise or maximise a quantity of an arm within limits.

    Parameters
    ----------
    plan
        A study file with ``aim`` and ``limits``, or a mapping of its contents.  The designs that
        its sampling names, 64 at most, are tried first; the search begins at the best of them.
    progress
        Called with a line after each step.

    Returns
    -------
    Optimum
        The best design with the quantities of its own run.  Designs around it are computed too:
        `refuted` says if one of them is better.

    Raises
    ------
    ModelError
        If the plan is wrong, or has no aim.
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

    def tell(step: int, value: float) -> None:
        if progress is not None:
            progress(f"step {step}: {aim.quantity} {value:.6g}, {designs.count} designs")

    found = search(designs, np.asarray(begin), tell)
    return _result(study, designs, begin, found)


def _first(study: Study) -> Array:
    """Return the points of the designs that are tried first, evenly chosen from a large grid."""
    count, sampling = min(study.count, FIRST), study.plan.sampling
    if sampling.kind != "grid":
        return shares(sampling, study.axes, 0, count)
    numbers = np.linspace(0, study.count - 1, count).round().astype(int).tolist()
    return np.vstack([shares(sampling, study.axes, k, k + 1) for k in numbers])


def _require(study: Study, where: str) -> None:
    """Raise an error for a study without an aim or with parameters that are no ranges."""
    if study.plan.aim is None:
        raise ModelError(
            f"{where}: aim: is missing: name the quantity that is to be small or large, such as "
            "'aim: {minimise: weight}'"
        )
    for axis in study.axes:
        if axis.kind not in ("linear", "log"):
            raise ModelError(
                f"{where}: parameters: {axis.name}: must be a range [low, high] to be searched"
            )


@dataclass
class Designs:
    """Designs of a study at any points of the unit cube."""

    study: Study  # with aim and limits
    count: int = 0  # designs computed so far
    reason: str = ""  # why the last failed design failed
    _sizes: dict[str, float] = field(default_factory=dict)  # of quantities in the first designs

    @cached_property
    def _evaluator(self) -> Evaluator:
        return Evaluator(self.study)

    def at(self, places: Array) -> Columns:
        """Compute designs at points of the unit cube, (N, parameters)."""
        axes = self.study.axes
        values = {axis.name: axis.at(places[:, k]) for k, axis in enumerate(axes)}
        columns = self._evaluator.computed(Rows(self.study, 0, values))
        self.count += len(places)
        for reason in columns["reason"][columns["status"] != FINISHED]:
            self.reason = str(reason)
        return columns

    def judged(self, places: Array) -> tuple[Array, Array]:
        """Return the aim, less is better, (N,), and relative margins to the limits, (N, limits).

        Both are NaN where a design could not be computed.
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
        """Limits as name, sign and bound: 1 with a least value, -1 with a greatest."""
        limits = self.study.plan.limits.items()
        both = [(name, s, b) for name, x in limits for s, b in ((1.0, x.least), (-1.0, x.most))]
        return [(name, sign, bound) for name, sign, bound in both if bound is not None]

    def merit(self, place: Array, scale: float) -> float:
        """Return the aim plus weighted violations of limits at a point; less is better."""
        aims, margins = self.judged(np.clip(place, 0.0, 1.0)[None])
        missed = float(np.maximum(-margins[0], 0.0).sum())
        return float(aims[0]) / scale + OUTWEIGHS * missed if np.isfinite(aims[0]) else np.inf

    def best(self, aims: Array, margins: Array) -> int:
        """Return the index of the best design within the limits, or else of the least violation.

        Raises
        ------
        FlexarmError
            If none could be computed.
        """
        missed = np.maximum(-margins - KEPT, 0.0).max(axis=1, initial=0.0)
        if not np.any(np.isfinite(aims)):
            raise FlexarmError(f"none of {len(aims)} designs could be computed: {self.reason}")
        order = np.lexsort((aims, np.where(np.isfinite(aims), missed, np.inf)))
        return int(order[0])


@dataclass(frozen=True)
class Found:
    """Result of a search."""

    place: Array  # point of the unit cube, (parameters,)
    aim: float  # less is better
    margins: Array  # relative margin to each limit, (limits,)
    refuted: float  # relative gain by a design nearby; 0 if none is better
    steps: int  # number of steps

    @property
    def kept(self) -> bool:
        """Whether the limits are kept."""
        return bool(np.all(self.margins >= -KEPT))


def search(designs: Designs, begin: Array, tell: Tell) -> Found:
    """Search from a point, then try designs around the result; repeat from a better one."""
    steps = 0
    for _ in range(AGAIN):
        descent = _Descent(designs, tell)
        place = descent.run(begin)
        steps += descent.steps
        around = np.vstack([_around(place, steps), _down_a_simplex(designs, place)])
        aims, margins = designs.judged(np.vstack([place, around]))
        best = designs.best(aims, margins)
        gained = float(aims[0] - aims[best]) / max(abs(float(aims[0])), 1e-300)
        refuted = gained if best and gained > BETTER else 0.0
        result = Found(place, float(aims[0]), margins[0], refuted, steps)
        if not best or (result.kept and not refuted):
            return result
        begin = around[best - 1]
    return replace(result, place=begin, aim=float(aims[best]), margins=margins[best])


def _down_a_simplex(designs: Designs, place: Array) -> Array:
    """Minimise the merit without derivatives, which kinks do not stop, (1, parameters)."""
    from scipy.optimize import minimize

    scale = abs(float(designs.judged(place[None])[0][0])) or 1.0
    corners = np.vstack([place, place + np.where(place < 0.5, NEAR, -NEAR) * np.eye(len(place))])
    patience: Any = {"maxfev": 30 * len(place), "initial_simplex": corners, "xatol": 0, "fatol": 0}
    descent = minimize(  # type: ignore[call-overload]
        lambda x: designs.merit(x, scale), place, method="Nelder-Mead", options=patience
    )
    return np.asarray(np.clip(descent.x, 0.0, 1.0)[None])


def _around(place: Array, seed: int) -> Array:
    """Return random points around one, eight for each parameter."""
    drawn = np.random.default_rng(seed).uniform(-NEAR, NEAR, (8 * len(place), len(place)))
    return np.clip(place + drawn, 0.0, 1.0)


class _Descent:
    """One run of SciPy's SLSQP, with a cache since it asks for values and derivatives apart."""

    def __init__(self, designs: Designs, tell: Tell) -> None:
        self.designs, self.tell, self.steps = designs, tell, 0
        self._known: dict[bytes, tuple[float, Array, Array, Array]] = {}
        self._scale = 1.0

    def run(self, begin: Array) -> Array:
        """Minimise from a point; return the best point that was met."""
        from scipy.optimize import Bounds, minimize

        aim, margins, _, _ = self._at(begin)
        self._scale = abs(aim) or 1.0
        limits: Any = {
            "type": "ineq",
            "fun": lambda x: self._at(x)[1],
            "jac": lambda x: self._at(x)[3],
        }
        patience: Any = {"maxiter": PATIENCE, "ftol": SETTLED}
        minimize(  # type: ignore[call-overload]
            lambda x: self._at(x)[0] / self._scale,
            begin,
            jac=lambda x: self._at(x)[2] / self._scale,
            method="SLSQP",
            bounds=Bounds(np.zeros_like(begin), np.ones_like(begin)),
            constraints=[limits] if len(margins) else [],
            options=patience,
            callback=self._step,
        )
        places = np.array([np.frombuffer(key) for key in self._known])
        seen = list(self._known.values())
        aims, every = np.array([each[0] for each in seen]), np.array([each[1] for each in seen])
        return np.asarray(places[self.designs.best(aims, every)])

    def _step(self, place: Array) -> None:
        self.steps += 1
        self.tell(self.steps, self.designs.study.plan.aim.sign * self._at(place)[0])  # type: ignore[union-attr]

    def _at(self, place: Array) -> tuple[float, Array, Array, Array]:
        """Return aim, margins and their derivatives by the parameters at a point."""
        place = np.clip(place, 0.0, 1.0)
        key = place.tobytes()
        if key not in self._known:
            self._known[key] = self._asked(place)
        return self._known[key]

    def _asked(self, place: Array) -> tuple[float, Array, Array, Array]:
        """Compute a design with neighbours for differences, one-sided at the ends of a range.

        A design that cannot be computed gets a bad aim and bad margins, so that the search
        turns back.
        """
        unit = STEP * np.eye(len(place))
        above, below = np.minimum(place + unit, 1.0), np.maximum(place - unit, 0.0)
        aims, margins = self.designs.judged(np.vstack([place, above, below]))
        if not np.isfinite(aims[0]):
            bad = max(each[0] for each in self._known.values()) + self._scale
            count = margins.shape[1]
            return bad, np.full(count, -1.0), np.zeros(len(place)), np.zeros((count, len(place)))
        n = len(place)
        ups, downs = slice(1, n + 1), slice(n + 1, None)
        high = np.where(np.isfinite(aims[ups]), np.diag(above), place)
        low = np.where(np.isfinite(aims[downs]), np.diag(below), place)
        apart = np.where(high > low, high - low, 1.0)

        def slope(values: Array) -> Array:
            up = np.where(np.isfinite(values[ups]), values[ups], values[0])
            down = np.where(np.isfinite(values[downs]), values[downs], values[0])
            return np.asarray((up - down) / apart)

        by = [slope(column) for column in margins.T]
        jacobian = np.array(by).reshape(margins.shape[1], n)
        return float(aims[0]), margins[0], slope(aims), jacobian


def _result(study: Study, designs: Designs, begin: Array, result: Found) -> Optimum:
    """Compute the first and the best design once more, and change the arm to the best."""
    columns = designs.at(np.stack([begin, result.place]))
    names = [axis.name for axis in study.axes]
    numbers = {name: float(columns[name][1]) for name in names}
    keys = {key: numbers[axis.name] for axis in study.axes for key in axis.keys}
    arm = study.arm
    if arm is not None:
        arm = change_arm(arm, {k: v for k, v in keys.items() if not k.startswith(START)})
    first = {name: float(columns[name][0]) for name in (*names, *study.plan.quantities)}
    best = {name: float(columns[name][1]) for name in study.plan.quantities}
    near = np.abs(result.margins) <= 1e-3
    active = tuple(
        dict.fromkeys(name for (name, _, _), at in zip(designs.bounds, near, strict=True) if at)
    )
    edge = np.abs(result.place - 0.5) >= 0.5 - EDGE
    ends = tuple(name for name, at in zip(names, edge, strict=True) if at)
    return Optimum(
        study.plan.name, numbers, best, first, active, ends, result.kept, result.refuted,
        designs.count, arm,
    )  # fmt: skip
