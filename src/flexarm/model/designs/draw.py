"""Draw one design out of an object that holds many."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from types import MappingProxyType
from typing import Any, cast

import numpy as np
from pydantic import BaseModel

from flexarm.links.base import Array, Curve, Direction, Shape, Shapes
from flexarm.links.beams.shear import Sheared
from flexarm.links.curves import Combination
from flexarm.varied import LATER, LazyDesign, Varied, by_design

Draw = Callable[[int], Any]


@dataclass(frozen=True)
class Stretched:
    """A curve over a span of another length: its places times a ratio."""

    curve: Curve
    ratio: float

    def __call__(self, x: Array, nu: int = 0) -> Array:
        """Return the ``nu``-th derivative (0 to 3) at every x."""
        return self.ratio**nu * self.curve(x * self.ratio, nu)


@dataclass(frozen=True, eq=False)
class DesignShapes:
    """Shapes of a link by design: curves over the first design's span, combined and stretched.

    Values are over that span: those of a design's own are at ``x ratio``.
    """

    first: Shapes  # of the first design
    curves: Shapes  # which they are combined of, over the first design's span
    ratios: Array  # length of the first design's span over that of each, (N,)
    columns: Array  # by design, one combination per shape, (N, curves, m)
    stiffness: Array  # by design, (N, m, m)
    # Of directions in which sections shear: bending over shear stiffness by design [m^2], (N,),
    # over the first design's span.
    shear: Mapping[Direction, Array] = field(default_factory=dict)
    mass: None = None
    damping: None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the coordinates."""
        return self.first.names

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """Give those of the first design."""
        return self.first.shapes

    @property
    def edges(self) -> Array:
        """Give the panels of the first design."""
        return self.first.edges

    def values(self, direction: Direction, x: Array, nu: int = 0) -> Array:
        """Evaluate all shapes in one direction at places, the same or by design, (N, len(x), m)."""
        if nu or direction not in self.shear:
            return self._curves(direction, x, nu) @ self.columns
        bent, root = (self._curves(direction, each, 2) for each in (x, np.zeros(1)))
        ratio = self.shear[direction][:, None, None]
        return self._curves(direction, x) @ self.columns - ratio * ((bent - root) @ self.columns)

    def _curves(self, direction: Direction, x: Array, nu: int = 0) -> Array:
        found = self.curves.values(direction, x.ravel(), nu)
        return found.reshape(*x.shape, found.shape[1])

    def leans(self, direction: Direction, x: Array) -> Array:
        """Give what the axis leans against its sections per amplitude, (N, len(x), m)."""
        ratio = self.shear.get(direction, np.zeros(len(self.ratios)))[:, None, None]
        return -ratio * (self.curves.values(direction, x, 3) @ self.columns)

    def displacement(self, x: Array, nu: int = 0) -> Array:
        """Displacement columns, (N, len(x), 3, m), or their x-derivative."""
        return Shapes.displacement(cast(Shapes, self), x, nu)

    def rotation(self, x: Array) -> Array:
        """First-order section angles per amplitude, (N, len(x), 3, m)."""
        return Shapes.rotation(cast(Shapes, self), x)

    def motion(self, x: Array) -> Array:
        """Angles over displacements per amplitude at a place of each design's own, (N, 6, m)."""
        found = Shapes.motion(cast(Shapes, self), (x * self.ratios)[:, None])[:, 0]
        found[:, 1:3] *= self.ratios[:, None, None]  # slopes
        return found

    def at(self, k: int) -> Shapes:
        """Give those of a design."""
        ratio, shapes = float(self.ratios[k]), []
        for shape, column in zip(self.shapes, self.columns[k].T.tolist(), strict=True):
            weighed = [(c.curves, w) for c, w in zip(self.curves.shapes, column, strict=True) if w]
            curves: dict[Direction, Curve] = {}
            for d in shape.curves:
                used = [(each[d], w) for each, w in weighed if d in each]
                mixed = Combination(tuple(c for c, _ in used), tuple(w for _, w in used))
                curves[d] = bent = Stretched(mixed, ratio)
                if d in self.shear:
                    root = float(bent(np.zeros(1), 2)[0])
                    curves[d] = Sheared(bent, float(self.shear[d][k]) / ratio**2, root)
            shapes.append(Shape(shape.name, curves))
        return Shapes(tuple(shapes), self.edges / ratio, self.stiffness[k])


class Drawer:
    """Draws designs out of an object; what they share is the same object in all."""

    def __init__(self, value: Any, count: int) -> None:
        self._count = count
        self._known: dict[int, tuple[Any, Draw | None]] = {}
        self._whole = value
        self._draw = self._plan(value)

    def __call__(self, k: int) -> Any:
        """Draw a design."""
        return self._whole if self._draw is None else self._draw(k)

    @property
    def differ(self) -> bool:
        """Whether designs differ in the object."""
        return self._draw is not None

    def _plan(self, value: Any) -> Draw | None:
        """Find how to draw a value; None if designs share it."""
        if id(value) not in self._known:
            found, light = self._of(value), isinstance(value, Varied | np.ndarray)
            self._known[id(value)] = (value, found if found is None or light else _once(found))
        return self._known[id(value)][1]

    def _of(self, value: Any) -> Draw | None:
        if isinstance(value, Varied):
            return value.values.tolist().__getitem__  # type: ignore[no-any-return]
        if isinstance(value, np.ndarray):
            return self._array(value)
        if isinstance(value, DesignShapes):
            return value.at
        if isinstance(value, tuple | list):
            plans, kind = [self._plan(each) for each in value], type(value)
            if not any(plans):
                return None
            pairs = list(zip(value, plans, strict=True))
            return lambda k: kind([each if plan is None else plan(k) for each, plan in pairs])
        if isinstance(value, dict | MappingProxyType):
            items = self._plans(dict(value))
            return (lambda k: {**value, **_drawn(items, k)}) if items else None
        if isinstance(value, BaseModel):
            own = self._plans(vars(value))
            return (lambda k: value.model_copy(update=_drawn(own, k))) if own else None
        if is_dataclass(value) and not isinstance(value, type):
            return self._dataclass(value)
        return None

    def _plans(self, parts: dict[Any, Any]) -> dict[Any, Draw]:
        plans = {name: self._plan(part) for name, part in parts.items()}
        return {name: plan for name, plan in plans.items() if plan is not None}

    def _array(self, value: Any) -> Draw | None:
        if value.dtype != object:
            return None
        rows = by_design(value, self._count)
        rows.flags.writeable = False
        return rows.__getitem__

    def _dataclass(self, value: Any) -> Draw | None:
        parts = {field.name: getattr(value, field.name) for field in fields(value)}
        found, kind = self._plans(parts), type(value)
        if not found:
            return None
        later = {}
        if issubclass(kind, LazyDesign):
            later = {name: plan for name, plan in found.items() if not hasattr(kind, name)}
            parts = {name: part for name, part in parts.items() if name not in later}
        now = [(name, plan) for name, plan in found.items() if name not in later]

        def draw(k: int) -> Any:
            made = object.__new__(kind)
            own = made.__dict__  # frozen: it has no other way
            own.update(parts)
            for name, plan in now:
                own[name] = plan(k)
            if later:
                own[LATER] = (later, k)
            return made

        return draw


def _drawn(plans: dict[Any, Draw], k: int) -> dict[Any, Any]:
    return {name: plan(k) for name, plan in plans.items()}


def _once(draw: Draw) -> Draw:
    """Draw a part once for all that share it."""
    last: list[tuple[int, Any]] = [(-1, None)]

    def drawn(k: int) -> Any:
        found = last[0]
        if found[0] != k:
            found = last[0] = k, draw(k)  # in one step: parts may be made in any thread
        return found[1]

    return drawn
