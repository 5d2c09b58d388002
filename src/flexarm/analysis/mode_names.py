"""Names of modes: which link or joint holds most of a mode's strain energy."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from flexarm.analysis.eigen import Complex
from flexarm.analysis.own_modes import shapes_at_start, span_at_start
from flexarm.arm import Moving
from flexarm.formulations.loads import hub_row
from flexarm.links.base import DIRECTIONS, Array, Direction
from flexarm.model import LinkModel, Model

WORDS: dict[Direction, str] = {
    "y": "bending y", "z": "bending z", "twist": "torsion", "x": "stretch",
}  # fmt: skip
MOST = 0.5  # of the energy: below it in springs, and above it in joints, a joint swings
ENDINGS = {"vibration": "swing", "decay": "decay", "growth": "fall"}


@dataclass(frozen=True)
class Group:
    """A place that stores strain energy: a direction of a link, a joint's transmission or spring.

    Attributes
    ----------
    owner, what
        ``link 2``, ``bending y``.
    energy
        Its part of the elastic stiffness, (n, n).
    """

    owner: str
    what: str
    energy: Array


def strain_groups(model: Model, elastic: Array, q: Array) -> list[Group]:
    """Split an elastic stiffness matrix (n, n), taken at coordinates q, by place."""
    groups = []
    for index, part in enumerate(model.links):
        joint = part.link.joint
        if isinstance(joint, Moving) and part.joint is not None:
            hub, drive = hub_row(model, part), 0.0
            if part.motor is not None:
                drive = float(elastic[part.motor, part.motor])
                wound = hub - np.eye(model.size)[part.motor]
                groups.append(
                    Group(joint_title(model, index), "wind-up", drive * np.outer(wound, wound))
                )
            if joint.spring is not None:
                rest = float(elastic[part.joint, part.joint]) - drive
                groups.append(Group(joint_title(model, index), "spring", rest * np.outer(hub, hub)))
        for direction, columns in _directions(part, q).items():
            energy = np.zeros_like(elastic)
            block = np.ix_(columns, columns)
            energy[block] = elastic[block]
            groups.append(Group(link_title(model, index), WORDS[direction], energy))
    return groups


def mode_names(
    model: Model, groups: Sequence[Group], values: Complex, shapes: Complex, mass: Array
) -> list[str]:
    """Name modes, one per column of shapes (n, k), in the order of their frequencies."""
    counts: dict[str, int] = {}
    names = []
    numbered = {f"{g.owner} {g.what}" for g in groups if g.what in WORDS.values()}
    titles = [_title(model, groups, *pair, mass) for pair in zip(values, shapes.T, strict=True)]
    for title in titles:
        counts[title] = counts.get(title, 0) + 1
        several = title in numbered or titles.count(title) > 1
        names.append(f"{title} {counts[title]}" if several else title)
    return names


def rigid_names(model: Model, pivots: Sequence[int], count: int) -> list[str]:
    """Name rigid-body motions by the coordinates that alone tell them apart."""
    if len(pivots) < count:
        return [f"rigid body {k + 1}" for k in range(count)]
    return [f"{_coordinate_title(model, i)} rigid body" for i in pivots]


def link_title(model: Model, index: int) -> str:
    """Write a link's name as words: ``link 2`` where the file gives none."""
    name = model.links[index].name
    return f"link {index + 1}" if name == f"link{index + 1}" else name


def joint_title(model: Model, index: int) -> str:
    """Write a joint's name as words: ``joint 2`` where the file gives none."""
    name = model.links[index].joint_name
    return f"joint {index + 1}" if name == f"joint{index + 1}" else name


def _title(
    model: Model, groups: Sequence[Group], value: complex, shape: Complex, mass: Array
) -> str:
    energies = [float(np.real(shape.conj() @ group.energy @ shape)) for group in groups]
    kinetic = np.real(shape.conj() * (mass @ shape))
    total = float(kinetic.sum())
    joints = {
        i: float(kinetic[i]) / total
        for i in range(model.size)
        if not any(part.modes.start <= i < part.modes.stop for part in model.links)
    }
    strained = sum(energies) / (abs(value) ** 2 * total)
    if not groups or (strained < MOST and sum(joints.values()) > MOST):
        kind = "vibration" if abs(value.imag) > 0 else "growth" if value.real > 0 else "decay"
        mover = max(joints, key=lambda i: abs(joints[i]))
        return f"{_coordinate_title(model, mover)} {ENDINGS[kind]}"
    most = groups[int(np.argmax(energies))]
    return f"{most.owner} {most.what}"


def _coordinate_title(model: Model, i: int) -> str:
    """Write the name of a joint's, motor's or base's coordinate as words."""
    for index, part in enumerate(model.links):
        if i in (part.joint, part.motor):
            return joint_title(model, index)
    return model.names[i].replace(".", " ")


def _directions(part: LinkModel, q: Array) -> dict[Direction, list[int]]:
    """Sort a link's amplitudes by the direction in which each moves most."""
    if part.elastic is None and part.sliding is None:
        return {}
    span = span_at_start(part, q)
    found: dict[Direction, list[int]] = {}
    x = np.linspace(0.0, span.length, 33)
    for k, shape in enumerate(shapes_at_start(part, span).shapes):
        sizes = {
            d: float(np.abs(shape.curves[d](x)).max()) * (span.length if d == "twist" else 1.0)
            for d in DIRECTIONS
            if d in shape.curves
        }
        found.setdefault(max(sizes, key=lambda d: sizes[d]), []).append(part.modes.start + k)
    return found
