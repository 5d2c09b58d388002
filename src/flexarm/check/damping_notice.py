"""Notice that the arm's slowest mode has a much lower damping ratio than its links were given."""

from collections.abc import Iterator

import numpy as np

from flexarm.arm import Arm
from flexarm.arm.constants import MOST_DAMPING
from flexarm.check.constants import LESS_DAMPING, RIGID_MODE
from flexarm.check.report import Notice
from flexarm.constants import NAMED_SHARE
from flexarm.linear_model import LinearModel, undamped
from flexarm.mechanics.bodies import body_of
from flexarm.model import Model
from flexarm.spatial import Array


def arm_damping_notice(model: Model, locked: LinearModel, pose: Array) -> Iterator[Notice]:
    """Yield a notice if the arm's slowest mode is damped much less than the link it strains most.

    ``locked`` has the arm's matrices at ``pose``, with driven joints locked.
    """
    places = {name: k for k, name in enumerate(locked.names)}
    rows = {
        index: [places[name] for name in model.names[part.modes]]
        for index, part in enumerate(model.links)
        if part.flexible
    }
    if not any(any(model.links[index].link.damping_ratios) for index in rows):
        return
    squares, vectors = undamped(locked.mass, locked.stiffness)
    strain = vectors * (locked.stiffness @ vectors)
    for k in np.flatnonzero(squares > RIGID_MODE * squares.max()):
        shares = {index: strain[mine, k].sum() / strain[:, k].sum() for index, mine in rows.items()}
        index = max(shares, key=lambda index_of_link: float(shares[index_of_link]))
        if shares[index] > NAMED_SHARE:
            break
    else:
        return
    omega, moved = float(np.sqrt(squares[k])), vectors[:, k]
    stiffness = locked.stiffness[np.ix_(rows[index], rows[index])]
    ratio_in_file, mode = _strained_most(model, index, pose, stiffness, moved[rows[index]])
    ratio = float(moved @ locked.damping @ moved) / (2 * omega)
    if ratio >= LESS_DAMPING * ratio_in_file:
        return
    links = sum(
        float(moved[mine] @ _ratio_damping(model, index_of_link, pose) @ moved[mine])
        for index_of_link, mine in rows.items()
    ) / (2 * omega)  # fmt: skip
    yield Notice(
        "note",
        "less-damping",
        f"links[{index + 1}].damping",
        f"the damping ratio {ratio_in_file:.3g} applies to mode {mode} of "
        f"{model.links[index].name} alone, clamped at its root; the slowest mode of the whole "
        f"arm's links, {omega / (2 * np.pi):.4g} Hz with driven joints locked, has {ratio:.2g}",
        _more_damping(model.arm, ratio_in_file, (ratio_in_file - (ratio - links)) / links, mode),
    )


def _strained_most(
    model: Model, index: int, pose: Array, stiffness: Array, moved: Array
) -> tuple[float, str]:
    """Return the damping ratio and name of the clamped-link mode that dominates a deformation.

    ``moved`` has the link's amplitudes, ``stiffness`` their stiffness matrix.
    """
    part = model.links[index]
    if not any(part.link.damping_ratios):
        return 0.0, ""
    # With mass M and modes Phi of frequencies w, K = M Phi w^2 Phi' M; a ratio of 1/2 for all of
    # them gives D = M Phi w Phi' M.
    try:
        speeds, modes = undamped(_ratio_damping(model, index, pose, 0.5), stiffness)
    except np.linalg.LinAlgError:  # a mode without strain has no ratio
        return 0.0, ""
    ratios = np.sum(modes * (_ratio_damping(model, index, pose) @ modes), axis=0) / 2
    most = int(np.argmax((modes.T @ stiffness @ moved) ** 2 / np.maximum(np.abs(speeds), 1e-300)))
    names = body_of(model, part).mode_names(pose, modes * (stiffness @ modes))
    return float(ratios[most]), names[most]


def _ratio_damping(model: Model, index: int, pose: Array, ratio: float | None = None) -> Array:
    """Return a link's damping matrix (m, m) from its damping ratios, without material damping.

    ``ratio`` replaces the ratios of the link.
    """
    part, m = model.links[index], model.links[index].modes
    if not any(part.link.damping_ratios):
        return np.zeros((m.stop - m.start, m.stop - m.start))
    ratios = part.link.damping if ratio is None else ratio
    link = part.link.model_copy(update={"damping": ratios, "material_damping": None})
    links = (*model.arm.links[:index], link, *model.arm.links[index + 1 :])
    arm = model.arm.model_copy(update={"links": links})
    return body_of(model, part).ratio_damping(pose, arm, index)


def _more_damping(arm: Arm, link_ratio: float, more: float, mode: str) -> str:
    """Return a remedy as text: the damping ratios to enter in the model file for the links."""
    see = "'flexarm modes' prints the damping of each mode of the arm"
    by_mode = f"'damping: {{{mode}: {more * link_ratio:.2g}}}'"
    by_name = [isinstance(link.damping, dict) for link in arm.links]
    most = [more * max(link.damping_ratios, default=0.0) for link in arm.links]
    if all(
        ratio < (MOST_DAMPING if named else 1) for ratio, named in zip(most, by_name, strict=True)
    ):
        return (
            f"for a ratio of {link_ratio:.3g} there multiply the damping ratios of the links by "
            f"{more:.3g}, or give them by mode ({by_mode}); {see}"
        )
    return (
        f"for a ratio of {link_ratio:.3g} there give damping ratios by mode, which may be 1 or "
        f"more ({by_mode}); {see}"
    )
