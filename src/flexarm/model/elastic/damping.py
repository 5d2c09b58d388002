"""Damping matrices of links, from modal damping ratios and material damping."""

from collections.abc import Mapping, Sequence

import numpy as np

from flexarm.arm import Arm
from flexarm.errors import ModelError
from flexarm.linear_model import undamped
from flexarm.links.base import DIRECTIONS, LABELS, Direction, Shapes
from flexarm.links.end_loads import tip_inertia, with_tip_body
from flexarm.links.integrals import settled_pairs
from flexarm.model.parts import Flexible
from flexarm.spatial import Array


def link_damping(arm: Arm, index: int, part: Flexible) -> Array:
    """Return the damping matrix (m, m) of a link's m amplitudes, measured or computed."""
    link, shapes = arm.links[index], part.shapes
    if shapes.damping is None:
        parts, tip = stiffnesses(shapes, part.integrals.stiffness), (part.tip_shape, part.tip_angle)
        return damping_matrix(arm, index, parts, part.integrals.modal_mass, tip)
    if link.model_fields_set & {"damping", "material_damping"}:
        raise ModelError(
            f"links[{index + 1}].damping: the file of the shapes of {link.name or 'the link'} "
            "gives the damping too. Leave one of the two out."
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
    """Compute the damping matrix (m, m) of a link from modal damping ratios and material damping.

    The modes are of the link clamped at its root, with its tip body.  ``parts`` is the stiffness
    matrix of each direction.  A material's loss factor adds half its value to the damping ratio of
    a mode, weighted by the share of the mode's strain energy in each direction.  Without ``names``,
    modes are named by their directions.
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
            "damping: an amplitude of the link moves no mass, so that it has no frequency at "
            "which a damping ratio is defined. Give the section's rotary inertia (Jx for "
            "twist), or leave the amplitude out."
        ) from error
    strains = {d: np.sum(modes * (part @ modes), axis=0) for d, part in parts.items()}
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
    """Return the damping ratio of each clamped mode of a link, (m,), lowest frequency first.

    Ratios given by name are assigned to modes by ``names``, or else by the direction with most of a
    mode's strain energy.
    """
    ratios, count = arm.links[index].damping, len(next(iter(strains.values())))
    if isinstance(ratios, float):
        return np.full(count, ratios)
    if isinstance(ratios, dict):
        names = names or _mode_names(strains)
        unknown = [name for name in ratios if name not in names]
        if unknown:
            raise ModelError(
                f"links[{index + 1}].damping: there is no mode '{unknown[0]}'. "
                f"{arm.link_names[index]} has {', '.join(names)}."
            )
        return np.array([ratios.get(name, 0.0) for name in names])
    if len(ratios) > count:
        raise ModelError(
            f"links[{index + 1}].damping: {len(ratios)} damping ratios are given for {count} "
            "modes. Give one ratio for all modes, or at most one per mode."
        )
    return np.array([*ratios, *[0.0] * (count - len(ratios))])


def stiffnesses(shapes: Shapes, stiffness: Array) -> dict[Direction, Array]:
    """Return the stiffness matrix (m, m) of each direction; the sum is the whole stiffness matrix.

    A shape function belongs to one direction; coupling terms are shared equally between two.
    """
    result: dict[Direction, Array] = {}
    for direction in DIRECTIONS:
        belongs = np.array(
            [shape_direction == direction for shape_direction in shapes.directions], dtype=float
        )
        # Coupling of measured shapes in two directions is shared equally.
        result[direction] = stiffness * (belongs[:, None] + belongs[None, :]) / 2
    return result


def _mode_names(strains: Mapping[Direction, Array]) -> list[str]:
    """Return the names of modes: the direction with most strain energy, and a number."""
    order, names = list(strains), list[str]()
    for k in np.argmax(np.stack([strains[direction] for direction in order]), axis=0):
        label = LABELS[order[int(k)]]
        names.append(f"{label}{1 + sum(name.startswith(label) for name in names)}")
    return names
