"""Search for the best design: sequential quadratic programming on differences of whole designs.

A step asks for the aim, the limits and their derivatives by all parameters.  The designs of the
differences go side by side through one trace; what a design is, only its own run says.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from flexarm.errors import FlexarmError
from flexarm.links.base import Array
from flexarm.studies.design.evaluate import FINISHED, Columns, Evaluator, Rows
from flexarm.studies.design.read import Study

STEP = 2e-3  # of a parameter's range, for differences
PATIENCE = 40  # steps of one search
SETTLED = 1e-7  # of the aim
KEPT = 1e-6  # of a limit: rounding of the search
OUTWEIGHS = 100.0  # a limit that is broken by its own size, of the aim's
NEAR = 0.05  # of the ranges: where designs are tried around an optimum
BETTER = 1e-3  # of the aim: what a design near an optimum must gain to refute it
AGAIN = 3  # searches, each from what refuted the last
Tell = Callable[[int, float], None]


@dataclass
class Designs:
    """Designs of a study at any place, with what they came to."""

    study: Study  # with aim and limits
    count: int = 0  # how many were computed
    reason: str = ""  # why the last one that could not be computed could not
    _sizes: dict[str, float] = field(default_factory=dict)  # of quantities, in the first designs

    @cached_property
    def _evaluator(self) -> Evaluator:
        return Evaluator(self.study)

    def at(self, places: Array) -> Columns:
        """Compute designs at places of the unit cube, (N, parameters)."""
        axes = self.study.axes
        values = {axis.name: axis.at(places[:, k]) for k, axis in enumerate(axes)}
        columns = self._evaluator.computed(Rows(self.study, 0, values))
        self.count += len(places)
        for reason in columns["reason"][columns["status"] != FINISHED]:
            self.reason = str(reason)
        return columns

    def judged(self, places: Array) -> tuple[Array, Array]:
        """Give the aim, less is better, (N,), and what is left to each limit, (N, limits).

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
        """Limits by name: 1 and the least value, -1 and the most."""
        limits = self.study.plan.limits.items()
        both = [(name, s, b) for name, x in limits for s, b in ((1.0, x.least), (-1.0, x.most))]
        return [(name, sign, bound) for name, sign, bound in both if bound is not None]

    def merit(self, place: Array, scale: float) -> float:
        """Judge a place by one number, less is better: limits that are broken outweigh the aim."""
        aims, margins = self.judged(np.clip(place, 0.0, 1.0)[None])
        missed = float(np.maximum(-margins[0], 0.0).sum())
        return float(aims[0]) / scale + OUTWEIGHS * missed if np.isfinite(aims[0]) else np.inf

    def best(self, aims: Array, margins: Array) -> int:
        """Find the best design that keeps the limits, or else the one that misses them least.

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
    """Where a search ended."""

    place: Array  # in the unit cube, (parameters,)
    # aim, margins: of the design there; less is better, and what is left to each limit, of its
    # size.
    aim: float
    margins: Array
    refuted: float  # what a design near it gains, of the aim; 0 if none is better
    steps: int  # that were taken

    @property
    def kept(self) -> bool:
        """Whether the limits are kept."""
        return bool(np.all(self.margins >= -KEPT))


def search(designs: Designs, begin: Array, tell: Tell) -> Found:
    """Search from a place, and try designs around what is found; go on from one that is better."""
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
        found = Found(place, float(aims[0]), margins[0], refuted, steps)
        if not best or (found.kept and not refuted):
            return found
        begin = around[best - 1]
    return replace(found, place=begin, aim=float(aims[best]), margins=margins[best])


def _down_a_simplex(designs: Designs, place: Array) -> Array:
    """Go down without derivatives for a while, (1, parameters): kinks do not stop this way."""
    from scipy.optimize import minimize

    scale = abs(float(designs.judged(place[None])[0][0])) or 1.0
    corners = np.vstack([place, place + np.where(place < 0.5, NEAR, -NEAR) * np.eye(len(place))])
    patience: Any = {"maxfev": 30 * len(place), "initial_simplex": corners, "xatol": 0, "fatol": 0}
    found = minimize(  # type: ignore[call-overload]
        lambda x: designs.merit(x, scale), place, method="Nelder-Mead", options=patience
    )
    return np.asarray(np.clip(found.x, 0.0, 1.0)[None])


def _around(place: Array, seed: int) -> Array:
    """Place designs around one, 8 for each parameter."""
    drawn = np.random.default_rng(seed).uniform(-NEAR, NEAR, (8 * len(place), len(place)))
    return np.clip(place + drawn, 0.0, 1.0)


class _Descent:
    """One run of SciPy's SLSQP; it asks for values and derivatives one by one."""

    def __init__(self, designs: Designs, tell: Tell) -> None:
        self.designs, self.tell, self.steps = designs, tell, 0
        self._known: dict[bytes, tuple[float, Array, Array, Array]] = {}
        self._scale = 1.0

    def run(self, begin: Array) -> Array:
        """Go down from a place, and give the best place that was seen."""
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
        """Give aim, margins and their derivatives by the parameters; a place is asked once."""
        place = np.clip(place, 0.0, 1.0)
        key = place.tobytes()
        if key not in self._known:
            self._known[key] = self._asked(place)
        return self._known[key]

    def _asked(self, place: Array) -> tuple[float, Array, Array, Array]:
        """Compute a design with its neighbours, on one side where the other is out of reach.

        A design that cannot be computed is bad in every way, so that the search turns back.
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
