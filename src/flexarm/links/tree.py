"""Tree of an arm's links: which link carries which, and where."""

from dataclasses import dataclass

from flexarm.arm import Arm, Link
from flexarm.links.remembered import kept


@dataclass(frozen=True)
class Tree:
    """Tree of an arm's links, by index of the link; index -1 is the base."""

    parents: tuple[int, ...]  # index of the link that carries each link's joint
    # For a joint within the flexible span of its parent, the distance from the parent's root [m];
    # for a joint on a modal body, the name of the frame, ``root`` for the hub. The place is None
    # for a joint at or beyond the flexible tip, on a rigid link, on the base or on a rail.
    places: tuple[float | str | None, ...]
    riders: frozenset[int]  # links that ride along their parent as a carriage
    # Links carried by each link; the last entry is for the base.
    children: tuple[tuple[int, ...], ...]
    # Of these, the links whose joints move with the flexible tip, and those whose joints are along
    # the link, riders included.
    at_tip: tuple[tuple[int, ...], ...]
    within: tuple[tuple[int, ...], ...]
    rider: tuple[int | None, ...]  # the link that rides along each link; None without one


def place_along(at: str | float, link: Link) -> float | str | None:
    """Return the distance of a place from a link's root [m]; None for the frame at its tip.

    On a modal body, the place is the name of a frame, ``root`` for the hub.
    """
    if at == "tip":
        return None
    if isinstance(at, str):
        return 0.0 if link.modal is None else at
    return at * link.length


@kept
def tree(arm: Arm) -> Tree:
    """Return the tree of an arm's links."""
    parents, links = arm.parents, arm.links
    children: list[list[int]] = [[] for _ in range(len(links) + 1)]
    for index, parent in enumerate(parents):
        children[parent].append(index)
    places: list[float | str | None] = []
    for link, parent in zip(links, parents, strict=True):
        place = place_along(link.at, links[parent])
        if isinstance(place, float) and (
            not links[parent].flexible or place >= links[parent].span_ends[1]
        ):
            place = None  # the joint moves with the flexible tip
        places.append(place)
    riders = frozenset(i for i, link in enumerate(links) if link.joint.rides)
    within = [[k for k in group if places[k] is not None or k in riders] for group in children]
    at_tip = [[k for k in group if places[k] is None and k not in riders] for group in children]
    families = [tuple(map(tuple, groups)) for groups in (children, at_tip, within)]
    rider = tuple(next((k for k in group if k in riders), None) for group in children)
    return Tree(parents, tuple(places), riders, families[0], families[1], families[2], rider)
