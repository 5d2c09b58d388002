"""The elastic part of a link in many designs at once.

The numbers of a uniform span's elastic part are products of powers of its length and its section's
properties where shapes keep their form.  The powers are found by building the span with one
property after the other changed, and hold if all numbers follow them.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from flexarm.arm import Arm
from flexarm.arm.shapes import Counted
from flexarm.engine.varied import Array, Varied, by_design, stacked, varies
from flexarm.io.designs import ArmDesigns
from flexarm.links.integrals import Points
from flexarm.links.span import Span
from flexarm.model.arm_modes import on_arm_modes
from flexarm.model.assemble import ShapesOf
from flexarm.model.designs.arm_modes import arm_mode_designs
from flexarm.model.designs.draw import DesignShapes, Drawer
from flexarm.model.designs.spans import NotTogether, Sizes, design_part
from flexarm.model.flexible import (
    Theory,
    check_amplitudes,
    link_damping,
    remembered,
    shape_counts,
    shape_ends,
    shapes_between,
    undamped_part,
)
from flexarm.model.nodes import chosen_nodes
from flexarm.model.parts import Flexible

EXACT = 1e-11  # of a number, within which it must follow a power
DUST = 1e-13  # of the largest number of an array
ELSEWHERE = 1.83  # what properties are changed by, to find powers of them
PLACES = np.array([0.23, 0.41, 0.62, 0.83, 1.0])  # of a span, at which curves are compared


@dataclass(frozen=True)
class LinkDesigns:
    """Builds the elastic parts of the links of many designs."""

    designs: ArmDesigns

    def part(self, arm: Arm, index: int, theory: Theory, shapes_of: ShapesOf) -> Flexible:
        """Build the elastic part of a link, of all designs."""
        link = arm.links[index]
        assert link.section is not None
        span = Span.of(link.section, link.span)
        sheared = span.has("GAy") or span.has("GAz")
        if sheared or link.quadratic_shapes:
            raise NotTogether
        if index in self._own:
            part = self._on_arm_modes(arm, index, theory, span)
        else:
            part = self._alone(arm, index, theory, span)
        part.__dict__["damping"] = self._damping(arm, index, part)  # of no other one
        return part

    @cached_property
    def _own(self) -> list[int]:
        return on_arm_modes(self.designs.first)

    @cached_property
    def _shapes(self) -> dict[int, DesignShapes]:
        """Shapes of links that come of the arm's modes."""
        return arm_mode_designs(self.designs, self._own, self._sizes, self.part)

    @cached_property
    def _sizes(self) -> dict[int, Sizes]:
        found, count = {}, self.designs.count
        for index in self._own:
            link = self.designs.arm.links[index]
            assert link.section is not None
            span = Span.of(link.section, link.span)
            found[index] = Sizes.between(span, Drawer(span, count)(0), count)
        return found

    def _on_arm_modes(self, arm: Arm, index: int, theory: Theory, span: Span) -> Flexible:
        """Build a part on shapes that are found with those of all other links."""
        choice = arm.links[index].shapes
        if not isinstance(choice, Counted) or choice.static:
            raise NotTogether
        first = Drawer(span, self.designs.count)(0)
        shapes, more = self._shapes[index], None
        check_amplitudes(arm, index, shapes.names)
        if theory.bends(arm.links[index]):
            more = theory.nodes or chosen_nodes(arm, index, span, shapes.first)
        elif theory.stiffening:
            raise NotTogether
        return design_part(span, first, self._sizes[index], shapes, more)

    def _alone(self, arm: Arm, index: int, theory: Theory, span: Span) -> Flexible:
        """Build a part on shapes that keep their form."""
        link, count = arm.links[index], self.designs.count
        ends, number = shape_ends(arm, index), shape_counts(arm, index)
        if ends is not None and Drawer(ends, count).differ:
            raise NotTogether
        first = Drawer(span, count)(0)
        shapes = shapes_between(self.designs.first, index, first, ends, number)
        if shapes.damping is not None:
            raise NotTogether
        check_amplitudes(arm, index, shapes.names)
        more = theory.nodes or chosen_nodes(arm, index, span, shapes) if theory.bends(link) else 0

        def made(span: Span) -> Flexible:
            shapes = shapes_between(self.designs.first, index, span, ends, number)
            return undamped_part(link, theory, span, shapes, more)

        key = (link.shapes.model_dump_json(), number, ends, theory, more)
        return _scaled(span, first, count, made, key)

    def _damping(self, arm: Arm, index: int, part: Flexible) -> Array:
        """Damp a link, each design by itself where they differ in what damps it."""
        link, count = arm.links[index], self.designs.count
        own = [path for path in self.designs.paths if path[:2] == ("links", index)]
        if link.damped and any("damping" in str(step) for path in own for step in path):
            draw = Drawer(part, count)
            rows = [link_damping(self.designs.at(k), index, draw(k)) for k in range(count)]
            return stacked(np.array(rows))
        return stacked(link_damping(arm, index, part, (count,)))


def _scaled(
    span: Span, first: Span, count: int, made: Callable[[Span], Flexible], key: tuple[Any, ...]
) -> Flexible:
    """Scale the part of the first design.

    Parameters
    ----------
    span, first
        Of all designs, and of the first.
    count
        Number of designs.
    made
        Builds the part of a span.
    key
        What it depends on besides the span.

    Raises
    ------
    NotTogether
        If its numbers do not follow powers.
    """
    here = made(first)
    names = [name for name in ("length", *span.table) if varies(_property(span, name))]
    if not names and not varies(np.asarray(span.stations)):
        return here
    if not names or len(span.stations) != 2 or not span.uniform:
        raise NotTogether
    known = tuple((name, bool(values[0])) for name, values in first.table.items())
    powers = remembered(("powers", key, known, tuple(names)), lambda: _powers(first, names, made))
    if powers is None:
        raise NotTogether
    ratios = np.array([_values(span, name, count) / _values(first, name, 1) for name in names])
    leaves = powers.raised(list(_leaves(here)), ratios)
    sizes = by_design(leaves[-1], count)
    lengths = _values(span, "length", count)
    factors = sizes / _sizes(here)
    shapes = DesignShapes(
        here.shapes,
        here.shapes,
        first.length / lengths,
        factors[:, :, None] * np.eye(factors.shape[1]),
        by_design(_rebuilt(here.integrals, iter(leaves)).stiffness, count),
    )
    return _with(here, span, shapes, leaves)


def _property(span: Span, name: str) -> Any:
    return span.length if name == "length" else span.table[name]


def _values(span: Span, name: str, count: int) -> Array:
    """Give the length or a property of a uniform span by design, (N,)."""
    found = by_design(_property(span, name), count)
    return found if name == "length" else found[:, 0]


def _times(span: Span, name: str) -> Span:
    """Make a uniform span of another length, or of another property."""
    if name == "length":
        return Span(ELSEWHERE * span.length, ELSEWHERE * span.stations, span.table)
    return replace(span, table={**span.table, name: ELSEWHERE * span.table[name]})


@dataclass(frozen=True)
class Powers:
    """Powers of properties that the numbers of a part follow: kinds of them, and which it is."""

    kinds: Array
    which: list[NDArray[np.int64]]

    @classmethod
    def of(cls, powers: Sequence[Array]) -> "Powers":
        """Sort powers, (..., names) of each array of numbers."""
        rows = np.concatenate([each.reshape(-1, each.shape[-1]) for each in powers])
        kinds, which = np.unique(rows, axis=0, return_inverse=True)
        ends = np.cumsum([each.size // each.shape[-1] for each in powers])
        return cls(kinds, np.split(which.ravel(), ends[:-1]))

    def raised(self, leaves: Sequence[Array], ratios: Array) -> list[Any]:
        """Scale numbers of the first design to those of all, by ratios (names, N)."""
        factors = np.prod(ratios ** self.kinds[:, :, None], axis=1)
        plain = np.all(factors == 1.0, axis=1)
        return [
            leaf if plain[which].all() else _scaled_leaf(leaf, factors, which, plain)
            for leaf, which in zip(leaves, self.which, strict=True)
        ]


def _scaled_leaf(
    leaf: Array, factors: Array, which: NDArray[np.int64], plain: NDArray[np.bool_]
) -> Any:
    """Scale numbers by design; those that are 0, or of a kind that no design changes, stay."""
    found = np.empty(leaf.shape, dtype=object)
    numbers = leaf.ravel().tolist()
    found.ravel()[:] = [
        number if number == 0.0 or plain[kind] else Varied(number * factors[kind])
        for number, kind in zip(numbers, which.tolist(), strict=True)
    ]
    return found


def _powers(span: Span, names: Sequence[str], made: Callable[[Span], Flexible]) -> Powers | None:
    """Find powers of properties that numbers of a part follow, or None.

    One property after the other is changed, so that the powers hold at other values of the rest.
    """
    part, columns = made(span), []
    for name in names:
        here, dust = list(_leaves(part)), _dust(part)
        span = _times(span, name)
        part = made(span)
        there = list(_leaves(part))
        if [each.shape for each in there] != [each.shape for each in here]:
            return None
        found = [_power(a, b) for a, b in zip(here, there, strict=True)]
        for a, b, power, size in zip(here, there, found, dust, strict=True):
            if not _close(a * ELSEWHERE**power, b, size):
                return None
        columns.append(found)
    return Powers.of([np.stack(each, axis=-1) for each in zip(*columns, strict=True)])


def _power(a: Array, b: Array) -> Array:
    """Give the power, in halves, between two numbers; 0 between those that are dust."""
    some = (np.abs(a) > DUST * np.abs(a).max(initial=0.0)) & (b != 0.0)
    ratio = np.abs(np.where(some, b, 1.0) / np.where(some, a, 1.0))
    return np.asarray(np.round(2 * np.log(ratio) / np.log(ELSEWHERE)) / 2)


def _dust(part: Flexible) -> list[float]:
    """Give the size of rounding in each array of numbers of a part."""
    sizes = [float(np.abs(leaf).max(initial=0.0)) for leaf in _leaves(part)]
    integrals = part.integrals  # a part's rotary inertia is what is left of these
    whole = (integrals.rotary, integrals.rotary_shape, integrals.modal_mass)
    sizes[-4:-1] = [float(np.abs(each).max(initial=0.0)) for each in whole]
    return [DUST * size for size in sizes]


def _close(a: Array, b: Array, dust: float) -> bool:
    size = max(dust, DUST * float(np.abs(b).max(initial=0.0)))
    return bool(np.all(np.abs(a - b) <= EXACT * np.abs(b) + size))


def _with(part: Flexible, span: Span, shapes: Any, leaves: Sequence[Any]) -> Flexible:
    """Make a part of other numbers."""
    given = iter(leaves)
    contents = {name: _rebuilt(value, given) for name, value in _contents(part)}
    made: Any = object.__new__(Flexible)
    made.__dict__.update({**vars(part), **contents, "span": span, "shapes": shapes})
    return cast(Flexible, made)


def _contents(value: Any) -> list[tuple[str, Any]]:
    """List what a dataclass holds, and what it keeps once it was asked for."""
    kept = [n for n, each in vars(type(value)).items() if isinstance(each, cached_property)]
    names = [field.name for field in fields(value)] + kept
    skipped = ("span", "shapes", "damping", "names") if isinstance(value, Flexible) else ()
    if isinstance(value, Points):  # which are made of the others when they are asked for
        names.remove("condensed")
    return [(name, getattr(value, name)) for name in names if name not in skipped]


def _sizes(part: Flexible) -> Array:
    """Give the sizes of a link's shapes, (m,)."""
    x = PLACES * part.span.length
    values = [[c(x) for c in shape.curves.values()] for shape in part.shapes.shapes]
    return np.array([np.linalg.norm(each) for each in values])


def _leaves(value: Any) -> Iterator[Array]:
    """List the arrays of numbers of a part, and the sizes of its shapes last."""
    if isinstance(value, Flexible):
        for _, each in _contents(value):
            yield from _leaves(each)
        yield _sizes(value)
    elif isinstance(value, float):
        yield np.array(value)
    elif isinstance(value, np.ndarray) and value.dtype.kind == "f":
        yield value
    elif isinstance(value, tuple | list):
        for each in value:
            yield from _leaves(each)
    elif isinstance(value, dict | MappingProxyType):
        for each in value.values():
            yield from _leaves(each)
    elif is_dataclass(value):
        for _, each in _contents(value):
            yield from _leaves(each)


def _rebuilt(value: Any, leaves: Iterator[Any]) -> Any:
    """Make an object of other numbers, in the order of `_leaves`."""
    if isinstance(value, float):
        found = next(leaves)
        return found.item() if isinstance(found, np.ndarray) else found
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        return next(leaves)
    if isinstance(value, tuple | list):
        return type(value)([_rebuilt(each, leaves) for each in value])
    if isinstance(value, dict | MappingProxyType):
        return {key: _rebuilt(each, leaves) for key, each in value.items()}
    if is_dataclass(value):
        made: Any = object.__new__(type(value))
        made.__dict__.update({n: _rebuilt(each, leaves) for n, each in _contents(value)})
        return made
    return value
