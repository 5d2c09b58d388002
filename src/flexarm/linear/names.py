"""Names of modes by the parts with most strain energy: a link, two links or a joint."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from flexarm.constants import NEGLIGIBLE
from flexarm.linear.constants import SECOND_LINK_SHARE, SWING_SHARE
from flexarm.linear_model import Complex, energy_shares
from flexarm.links.base import Direction
from flexarm.mechanics.bodies import body_of
from flexarm.mechanics.loads import hub_row
from flexarm.model import Axis, LinkModel, Model
from flexarm.spatial import Array

WORDS: dict[Direction, str] = {
    "y": "bending y", "z": "bending z", "twist": "torsion", "x": "stretch",
}  # fmt: skip
BODY = "deformation"  # direction of a body of any shape, which has no axis
LINKS = (*WORDS.values(), BODY)
ENDINGS = {"vibration": "swing", "decay": "decay", "growth": "fall"}


@dataclass(frozen=True)
class Group:
    """A part that stores strain energy: a link's direction, a transmission or a spring."""

    owner: str  # such as ``link 2``
    what: str  # such as ``bending y``
    energy: Array  # contribution of the part to the elastic stiffness, (n, n)
    amplitudes: tuple[int, ...] = ()  # indices of a link's coordinates in that direction


@dataclass(frozen=True)
class Title:
    """Name of a mode without its number, such as ``link 2 bending y``."""

    places: frozenset[int]  # indices of the groups that are named
    what: str  # such as ``bending y``
    words: str  # such as ``link 2 bending y``


def strain_groups(model: Model, elastic: Array, q: Array) -> list[Group]:
    """Split an elastic stiffness matrix (n, n) at q into the parts that store energy."""
    groups = []
    for index, link in enumerate(model.links):
        for axis in link.axes:
            hub, drive, title = hub_row(model, axis), 0.0, axis_title(axis)
            if axis.motor is not None:
                drive = float(elastic[axis.motor, axis.motor])
                twist = hub - np.eye(model.size)[axis.motor]
                groups.append(Group(title, "wind-up", drive * np.outer(twist, twist)))
            if axis.acts.spring is not None:
                stiffness = float(elastic[axis.index, axis.index]) - drive
                groups.append(Group(title, "spring", stiffness * np.outer(hub, hub)))
        for direction, columns in _directions(model, link, q).items():
            energy = np.zeros_like(elastic)
            block = np.ix_(columns, columns)
            energy[block] = elastic[block]
            owner = link_title(model, index)
            groups.append(Group(owner, direction, energy, tuple(columns)))
    return groups


def place_energies(
    groups: Sequence[Group],
    values: Complex,
    shapes: Complex,
    mass: Array,
    coordinates: Sequence[int],
) -> Array:
    """Compute the energy of each mode in each energy-storing part, (groups, k).

    Parameters
    ----------
    groups, values, shapes
        The energy-storing parts, and the modes' eigenvalues (k,) and shapes (n, k).
    mass
        Mass matrix of the coordinates that are free to move.
    coordinates Indices of these coordinates.

    Notes
    -----
    The energy of a link's direction is the kinetic energy ``|lambda|^2 q_i (M q)_i``.
    About rest without loads it equals the strain energy.  About a stretched, loaded or rotating
    state it includes the stiffness by tension and rotation, but not the strain by Coriolis forces
    in a direction that hardly moves.  For motions without oscillation it is the strain energy.
    """
    strain = np.zeros((len(groups), len(values)))
    for k, group in enumerate(groups):
        strain[k] = np.real(np.einsum("im,ij,jm->m", shapes.conj(), group.energy, shapes))
    moving = shapes[coordinates]
    kinetic = np.zeros(shapes.shape)
    kinetic[coordinates] = np.abs(values) ** 2 * np.real(moving.conj() * (mass @ moving))
    energies = strain.copy()
    for k, group in enumerate(groups):
        if group.amplitudes:
            energies[k] = kinetic[list(group.amplitudes)].sum(axis=0)
    vibrates = (np.abs(values.imag) > NEGLIGIBLE * np.abs(values)) & np.any(energies > 0, axis=0)
    return np.where(vibrates, energies, strain)


def mode_names(
    model: Model,
    groups: Sequence[Group],
    energies: Array,
    values: Complex,
    shapes: Complex,
    mass: Array,
) -> list[str]:
    """Return the names of modes, whose shapes are the columns of ``shapes`` (n, k).

    Modes are in the order of frequencies. `place_energies` computes ``energies`` (groups, k). A
    mode of links is numbered among all modes whose name contains one of its links.
    """
    titles = [
        _title(groups, energy)
        if is_strained(model, groups, value, shape, mass)
        else _swing(model, value, shape, mass)
        for energy, value, shape in zip(energies.T, values, shapes.T, strict=True)
    ]
    names = []
    for k, title in enumerate(titles):
        same_name = [another.words == title.words for another in titles]
        if title.what in LINKS:
            same_name = [bool(another.places & title.places) for another in titles]
        numbered = title.what in LINKS or sum(same_name) > 1
        names.append(f"{title.words} {sum(same_name[: k + 1])}" if numbered else title.words)
    return names


def is_strained(
    model: Model, groups: Sequence[Group], value: complex, shape: Complex, mass: Array
) -> bool:
    """Return whether a mode stores strain energy, rather than moving joints alone."""
    kinetic = _kinetic(shape, mass)
    total = float(kinetic.sum())
    stored = sum(float(np.real(shape.conj() @ group.energy @ shape)) for group in groups)
    strain_share = stored / (abs(value) ** 2 * total)
    joint_share = sum(float(kinetic[i]) for i in rigid_coordinates(model)) / total
    return bool(groups) and (strain_share >= SWING_SHARE or joint_share <= SWING_SHARE)


def kinetic_shares(mass: Array, shapes: Complex) -> Array:
    """Return each coordinate's share of the kinetic energy of motions, (n, k)."""
    kinetic = np.real(np.einsum("ik,ij,jk->k", shapes.conj(), mass, shapes))
    return energy_shares([mass], kinetic[None, :], shapes)


def rigid_names(model: Model, pivots: Sequence[int], count: int) -> list[str]:
    """Name rigid-body motions by the coordinates in which they differ."""
    if len(pivots) < count:
        return [f"rigid body {k + 1}" for k in range(count)]
    return [f"{_coordinate_title(model, i)} rigid body" for i in pivots]


def link_title(model: Model, index: int) -> str:
    """Return a link's display name: ``link 2`` for the default name ``link2``."""
    name = model.links[index].name
    return f"link {index + 1}" if name == f"link{index + 1}" else name


def axis_title(axis: Axis) -> str:
    """Return the display name of a joint's axis: ``joint 2`` for the default name ``joint2``."""
    default, number = f"joint{axis.link + 1}", f"joint {axis.link + 1}"
    name = axis.name.removesuffix(f".{axis.label}")
    return " ".join(filter(None, (number if name == default else name, axis.label)))


def _title(groups: Sequence[Group], energies: Array) -> Title:
    """Return a mode's title by the part with the most energy, or by two links that share it."""
    dominant, *lower = (int(k) for k in np.argsort(-energies))
    direction, places = groups[dominant].what, [dominant]
    if lower and direction in LINKS and groups[lower[0]].what == direction:
        energy_pair = energies[[dominant, lower[0]]]
        if (
            energy_pair[1] >= SECOND_LINK_SHARE * energy_pair[0]
            and energy_pair.sum() > SWING_SHARE * energies.sum()
        ):
            places = sorted((dominant, lower[0]))
    owners = [groups[k].owner for k in places]
    numbers = [owner.removeprefix("link ") for owner in owners]
    if len(owners) > 1 and all(number.isdecimal() for number in numbers):
        owners = [f"links {numbers[0]}", numbers[1]]
    return Title(frozenset(places), direction, f"{'+'.join(owners)} {direction}")


def _swing(model: Model, value: complex, shape: Complex, mass: Array) -> Title:
    """Return a mode's title by the joint or base coordinate with the most kinetic energy."""
    kind = "vibration" if abs(value.imag) > 0 else "growth" if value.real > 0 else "decay"
    kinetic = _kinetic(shape, mass)
    coordinate = max(rigid_coordinates(model), key=lambda i: abs(kinetic[i]))
    ending = ENDINGS[kind]
    return Title(frozenset(), ending, f"{_coordinate_title(model, coordinate)} {ending}")


def _kinetic(shape: Complex, mass: Array) -> Array:
    return np.asarray(np.real(shape.conj() * (mass @ shape)))


def rigid_coordinates(model: Model) -> list[int]:
    """Return the indices of the coordinates of joints, motors and the base."""
    amplitudes = {i for part in model.links for i in range(part.modes.start, part.modes.stop)}
    return [i for i in range(model.size) if i not in amplitudes]


def _coordinate_title(model: Model, i: int) -> str:
    """Return the display name of a coordinate of a joint, motor or base."""
    for axis in model.axes:
        if i in (axis.index, axis.motor):
            return axis_title(axis)
    return model.names[i].replace(".", " ")


def _directions(model: Model, part: LinkModel, q: Array) -> dict[str, list[int]]:
    """Return the indices of a link's amplitudes by direction of deformation.

    A body of any shape has a single direction, ``deformation``.
    """
    by_direction: dict[str, list[int]] = {}
    for k, direction in enumerate(body_of(model, part).directions(q)):
        words = BODY if direction is None else WORDS[direction]
        by_direction.setdefault(words, []).append(part.modes.start + k)
    return by_direction
