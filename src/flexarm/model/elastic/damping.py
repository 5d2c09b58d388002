"""Damping matrices of links: ratios of modes, and their material's."""

from collections.abc import Mapping, Sequence

import numpy as np

from flexarm.arm import Arm
from flexarm.errors import ModelError
from flexarm.linear_model import undamped
from flexarm.links.base import DIRECTIONS, LABELS, Array, Direction, Shapes
from flexarm.links.ends import tip_inertia, with_tip_body
from flexarm.links.integrals import settled_pairs
from flexarm.model.parts import Flexible


def link_damping(arm: Arm, index: int, part: Flexible) -> Array:
    """Return the damping matrix of a link's amplitudes, (m, m)."""
    link, shapes = arm.links[index], part.shapes
    if shapes.damping is None:
        parts, tip = stiffnesses(shapes, part.integrals.stiffness), (part.tip_shape, part.tip_angle)
        return damping_matrix(arm, index, parts, part.integrals.modal_mass, tip)
    if link.model_fields_set & {"damping", "material_damping"}:
        raise ModelError(
            f"links[{index + 1}].damping: {link.name or 'the link'} has its damping in "
            "the file of its shapes. Leave one of the two out."
        )
    return shapes.damping


def damping_matrix(
    arm: Arm,
    index: int,
    parts: Mapping[Direction, Array],
    modal: Array,
    tip: tuple[Array, Array],
    names: Sequence[str] | None = None,
) -> Array:
    """Damping matrix: ratios of the modes of the link clamped with its tip body, and its material.

    A loss factor is twice a ratio, shared by the strain energies of the directions, of each of
    which ``parts`` has the stiffness.  Without names, modes are named by their directions.
    """
    link, stiffness = arm.links[index], np.asarray(sum(parts.values()))
    result = np.zeros_like(modal)
    if not link.damped or not modal.size:
        return result
    losses = {} if link.material_damping is None else {
        d: link.material_damping.along(d) for d in parts
    }  # fmt: skip
    for direction, loss in losses.items():
        result += (loss.time or 0.0) * parts[direction]
    if not any(link.damping_ratios) and not any(loss.loss_factor for loss in losses.values()):
        return result
    mass = with_tip_body(modal, *tip, tip_inertia(arm, index))
    try:
        squares, modes = undamped(mass, stiffness)
    except np.linalg.LinAlgError as error:
        raise ModelError(
            "damping: an amplitude of the link moves no mass, so it has no frequency to "
            "be damped at. Give the section's rotary inertia (Jx for twist) or leave "
            "the amplitude out."
        ) from error
    strains = {d: np.sum(modes * (each @ modes), axis=0) for d, each in parts.items()}
    ratios = _damping_ratios(arm, index, names, strains)
    total = np.maximum(sum(strains.values()), 1e-300)
    for direction, loss in losses.items():
        ratios = ratios + (loss.loss_factor or 0.0) / 2 * strains[direction] / total
    weighted = mass @ modes
    scaled = weighted * (2 * ratios * np.sqrt(np.abs(squares)))
    return settled_pairs(result + scaled @ weighted.T)


def _damping_ratios(
    arm: Arm, index: int, names: Sequence[str] | None, strains: Mapping[Direction, Array]
) -> Array:
    """Spread the damping ratios of a link over its clamped modes, lowest first, or by name.

    Without names they are named by the directions that strains are in.
    """
    given, m = arm.links[index].damping, len(next(iter(strains.values())))
    if isinstance(given, float):
        return np.full(m, given)
    if isinstance(given, dict):
        names = names or _mode_names(strains)
        unknown = [name for name in given if name not in names]
        if unknown:
            raise ModelError(
                f"links[{index + 1}].damping: no mode '{unknown[0]}'. "
                f"{arm.link_names[index]} has {', '.join(names)}."
            )
        return np.array([given.get(name, 0.0) for name in names])
    if len(given) > m:
        raise ModelError(
            f"links[{index + 1}].damping: {len(given)} ratios for {m} modes. Give one "
            "for all, or at most one per mode."
        )
    return np.array([*given, *[0.0] * (m - len(given))])


def stiffnesses(shapes: Shapes, stiffness: Array) -> dict[Direction, Array]:
    """Stiffness of each direction, (m, m); a shape counts in the first that it has."""
    found: dict[Direction, Array] = {}
    for direction in DIRECTIONS:
        chosen = np.array([each == direction for each in shapes.directions], dtype=float)
        # Where measured shapes of two directions are coupled, each has half of that.
        found[direction] = stiffness * (chosen[:, None] + chosen[None, :]) / 2
    return found


def _mode_names(strains: Mapping[Direction, Array]) -> list[str]:
    """Name modes by the direction that has most of their strain energy, and count them there."""
    order, names = list(strains), list[str]()
    for k in np.argmax(np.stack([strains[each] for each in order]), axis=0):
        label = LABELS[order[int(k)]]
        names.append(f"{label}{1 + sum(name.startswith(label) for name in names)}")
    return names
