"""Division of links of several spans into chains of rigidly joined links of one span.

A link of n spans, ``link1``, becomes ``link1.1`` to ``link1.n``. Names in model files have no dot,
so that the name of a span identifies its link.
"""

from typing import Any

import numpy as np

from flexarm.arm import Arm, Link
from flexarm.arm.joint import DH, Fixed
from flexarm.arm.section import Section, Station
from flexarm.links.base import Span
from flexarm.links.remembered import kept
from flexarm.links.tree import place_along


@kept
def single_spans(arm: Arm) -> Arm:
    """Return the arm with links of several spans divided into links of one span.

    An arm without such links is returned unchanged. Forces on a link and its start curve remain
    with its first span; their positions are measured along the whole link.
    """
    if all(link.spans == 1 for link in arm.links):
        return arm
    links: list[Link] = []
    for index, link in enumerate(arm.links):
        joint = link.joint.model_copy(update={"name": arm.joint_names[index]})
        named = {"name": arm.link_names[index], "joint": joint, **_mount(arm, index)}
        whole = link.model_copy(update=named)
        links += [whole] if link.spans == 1 else _spans(whole)
    return arm.model_copy(update={"links": tuple(links)})


def _mount(arm: Arm, index: int) -> dict[str, Any]:
    """Return the keys ``parent`` (a span) and ``at`` of a link whose parent has several spans."""
    link, parent = arm.links[index], arm.parents[index]
    if parent < 0 or arm.links[parent].spans == 1:
        return {}
    carrier, name = arm.links[parent], arm.link_names[parent]
    distance = place_along(link.at, carrier)
    if not isinstance(distance, float):
        return {"parent": f"{name}.{carrier.spans}"}
    span, place = span_at(carrier, distance)
    own = carrier.model_copy(update={"name": name})
    return {"parent": f"{name}.{span + 1}", "at": place / _spans(own)[span].length}


def _spans(link: Link) -> list[Link]:
    """Return the links of one span that a named link consists of, from root to tip."""
    count, length, dh = link.spans, link.span / link.spans, link.joint.dh
    joint, twist = link.joint, None
    # The twist alpha of standard DH constants follows the last span.
    if dh is not None and dh.convention == "standard":
        joint = joint.model_copy(update={"dh": dh.model_copy(update={"a": None, "alpha": 0.0})})
        twist = DH(alpha=dh.alpha)
    spans = []
    for k in range(count):
        is_first, is_last, name = k == 0, k == count - 1, f"{link.name}.{k + 1}"
        if not is_first:
            rigid = Fixed(kind="fixed", dh=twist if is_last else None)
            joint = rigid.model_copy(update={"name": f"{name}.root"})
        update: dict[str, Any] = {
            "name": name,
            "joint": joint,
            "parent": link.parent if is_first else None,
            "at": link.at if is_first else "tip",
            "payload": link.payload if is_last else None,
            "length": length + link.root_length * is_first + link.tip_length * is_last,
            "section": _between(link.section, k * length, (k + 1) * length),
            "root_piece": link.root_piece if is_first else None,
            "tip_piece": link.tip_piece if is_last else None,
            "wrenches": link.wrenches if is_first else (),
            "start": _of_span(link.start, k + 1),
            "start_speed": _of_span(link.start_speed, k + 1),
            "start_curve": link.start_curve if is_first else None,
            "spans": 1,
        }
        spans.append(link.model_copy(update=update))
    return spans


def _of_span(values: dict[str, float], number: int) -> dict[str, float]:
    """Return the values for one span's amplitudes, by names such as ``y1``.

    In ``values`` of the whole link, amplitude ``y1`` of the second span is named ``2.y1``.
    """
    start = f"{number}."
    return {
        name.removeprefix(start): value for name, value in values.items() if name.startswith(start)
    }


def _between(section: Section | None, low: float, high: float) -> Section | None:
    """Return the part of a section between two distances [m] from the root of the flexible span."""
    if section is None or section.stations is None:
        return section
    span = Span.of(section, section.stations[-1].at)
    tolerance, beside = 1e-9 * span.length, 1e-13 * span.length
    names = [n for n in Station.model_fields if getattr(section.stations[0], n) is not None]
    names.remove("at")
    inside = [s for s in section.stations if low + tolerance < s.at < high - tolerance]
    ends = []
    for place, inward in ((low, beside), (high, -beside)):
        values = {name: float(span.at(name, np.array([place + inward]))[0]) for name in names}
        ends.append(Station(at=place, **values))
    stations = (ends[0], *inside, ends[1])
    shifted = [station.model_copy(update={"at": station.at - low}) for station in stations]
    return section.model_copy(update={"stations": tuple(shifted)})


def whole_name(name: str) -> str:
    """Return the name of the link in the model file to which a span belongs."""
    return name.partition(".")[0]


def number_in_file(chain: Arm, index: int) -> int:
    """Return the number in the model file, from 1, of the link to which a span belongs."""
    return len(dict.fromkeys(whole_name(name) for name in chain.link_names[: index + 1]))


def item(chain: Arm, index: int) -> str:
    """Return the item of the model file, such as ``links[2]``, to which a span belongs."""
    return f"links[{number_in_file(chain, index)}]"


def span_at(link: Link, distance: float) -> tuple[int, float]:
    """Return the index of the span at a distance from a link's root, and the distance within it.

    Both distances are in metres, the second from the root of the span. The first span, of index 0,
    begins at the root of the link and includes its rigid piece; the last one includes the rigid
    piece at the tip.
    """
    if link.spans == 1:
        return 0, distance
    root, length = link.root_length, link.span / link.spans
    k = min(max(int((distance - root) // length), 0), link.spans - 1)
    return k, distance - (root + k * length if k else 0.0)


def chain_index(arm: Arm, index: int) -> int:
    """Return the index of a link's first span, counted over all spans of the arm."""
    return sum(link.spans for link in arm.links[:index])
