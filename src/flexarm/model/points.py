"""Points of application of forces on an arm, each on a link, the base or the world."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from flexarm.arm import Arm, FreeBase, Point
from flexarm.arm.forces import At
from flexarm.errors import ModelError
from flexarm.links.base import panel_points
from flexarm.links.imported.file import read_body
from flexarm.model.spans import chain_index, span_at
from flexarm.spatial import Array

Offset = tuple[float, float, float]
# Boundaries of the panels of a span on which its shapes are smooth, as fractions of the span, and
# the number of Gauss points per panel.
Panels = tuple[Array, int]


@dataclass(frozen=True)
class SpanFraction:
    """Section at a fraction of the flexible span of a link, of a sliding link its exposed part."""

    value: float
    share: float  # weight of the section in integrals along the span, as a fraction of the span


@dataclass(frozen=True)
class ArmPoint:
    """Point fixed to a section of a link, to the base or to the world."""

    link: int  # index of the link, or of its span; -1 is the base, -2 the world
    # Distance of the section from the link's root L [m] along its undeformed axis; ``tip`` is the
    # link's flexible end, ``end`` the frame of the arm's tip. On a modal body also the name of a
    # frame, ``root`` for the hub.
    x: float | str | SpanFraction
    # Offset from the section's axis point, in section axes [m]; for base and world, from their
    # origin.
    offset: Offset

    @classmethod
    def on(cls, arm: Arm, index: int, at: At) -> "ArmPoint":
        """Return the point at a position on a link of the arm, or on the base if index < 0."""
        distance = at if isinstance(at, float) else 0.0
        x, y, z = at if isinstance(at, tuple) else (distance, 0.0, 0.0)
        if index < 0:
            return cls(index, "tip", (x, y, z))
        link, first = arm.links[index], chain_index(arm, index)
        if link.modal is not None and isinstance(at, str):
            return cls(first, at, (0.0, 0.0, 0.0))
        if at == "tip":
            return cls(first + link.spans - 1, "tip", (0.0, y, z))
        span, x = span_at(link, x)
        return cls(first + span, x if span else x - link.root_length, (0.0, y, z))

    @classmethod
    def of(cls, arm: Arm, point: Point | Literal["tip"]) -> "ArmPoint":
        """Return the point of a contact or spring that a model file describes."""
        last_link = chain_index(arm, len(arm.links)) - 1
        if point == "tip":
            return cls(last_link, "end", (0.0, 0.0, 0.0))
        if point.tip is not None:
            return cls(last_link, "end", point.tip)
        if point.world is not None:
            return cls(-2, "tip", point.world)
        assert point.link is not None
        index = -1 if point.link == "base" else arm.link_names.index(point.link)
        return cls.on(arm, index, "tip" if point.at is None else point.at)


def require_frames(arm: Arm) -> None:
    """Raise a ModelError for a place that names a frame which its modal body does not have."""
    places: list[tuple[str, int, object]] = [
        (f"links[{i}].at", parent, link.at)
        for i, (link, parent) in enumerate(zip(arm.links, arm.parents, strict=True), 1)
    ]
    for i, link in enumerate(arm.links):
        places += [
            (f"links[{i + 1}].wrenches[{k}].at", i, wrench.at)
            for k, wrench in enumerate(link.wrenches, 1)
        ]
    points = [(f"contacts[{k}].point.at", c.point) for k, c in enumerate(arm.contacts, 1)]
    points += [
        (f"contacts[{k}].obstacle.on.at", c.obstacle.on)
        for k, c in enumerate(arm.contacts, 1)
        if c.obstacle.on is not None
    ]
    for k, event in enumerate(arm.events, 1):
        tie = event.attach
        for key, place in (("point", tie.point), ("to", tie.to)) if tie is not None else ():
            points += [] if place is None else [(f"events[{k}].attach.{key}.at", place)]
    for k, spring in enumerate(arm.springs, 1):
        points += [(f"springs[{k}].between[{n}].at", p) for n, p in enumerate(spring.between, 1)]
    places += [
        (path, arm.link_names.index(point.link), point.at)
        for path, point in points
        if point != "tip" and point.link in arm.link_names
    ]
    for path, index, at in places:
        body = arm.links[index].modal if index >= 0 else None
        if body is None or not isinstance(at, str) or at == "tip":
            continue
        try:
            read_body(body.side_file).frame(at)
        except ModelError as error:
            raise ModelError(f"{path}: {error}") from None


def _along(
    arm: Arm, index: int, over: tuple[float, float], panels: Callable[[int], Panels]
) -> tuple[ArmPoint, ...]:
    """Return Gauss points along a link's span between two fractions of it."""
    count, first = arm.links[index].spans, chain_index(arm, index)
    points = []
    for k in range(count):
        edges, gauss = panels(first + k)
        low, high = np.clip(count * np.array(over) - k, 0.0, 1.0)
        within = edges[(edges > low) & (edges < high)]
        x, weights = panel_points(np.array([low, *within, high]), gauss)
        points += [
            ArmPoint(first + k, SpanFraction(float(s), float(share)), (0.0, 0.0, 0.0))
            for s, share in zip(x.ravel(), weights.ravel(), strict=True)
            if share > 0
        ]
    return tuple(points)


@dataclass(frozen=True)
class ArmPoints:
    """Points of application of wrenches, contacts and springs, in the order of the model file.

    Wrenches on the base come first.
    """

    # Each wrench acts at one point; a force per length at Gauss points along its link.
    wrenches: tuple[tuple[ArmPoint, ...], ...]
    contacts: tuple[ArmPoint, ...]
    obstacles: tuple[ArmPoint | None, ...]  # carrier of each contact's obstacle; None is the world
    springs: tuple[tuple[ArmPoint, ArmPoint], ...]

    @classmethod
    def of(cls, arm: Arm, panels: Callable[[int], Panels]) -> "ArmPoints":
        """Return the points of application of all forces of an arm.

        ``panels`` returns those of a span, by its index counted over all spans of the arm.
        """
        base_wrenches = arm.base.wrenches if isinstance(arm.base, FreeBase) else ()
        wrenches: list[tuple[ArmPoint, ...]] = [
            (ArmPoint.on(arm, -1, force.at),) for force in base_wrenches
        ]
        for i, link in enumerate(arm.links):
            wrenches += [
                (ArmPoint.on(arm, i, force.at),)
                if force.force_per_length is None
                else _along(arm, i, force.over, panels)
                for force in link.wrenches
            ]
        pairs = [spring.between for spring in arm.springs]
        return cls(
            tuple(wrenches),
            tuple(ArmPoint.of(arm, force.point) for force in arm.contacts),
            tuple(
                None if force.obstacle.on is None else ArmPoint.of(arm, force.obstacle.on)
                for force in arm.contacts
            ),
            tuple((ArmPoint.of(arm, a), ArmPoint.of(arm, b)) for a, b in pairs),
        )
