"""Modes of links and arm, reasons for the numbers of shape functions, and notices about them."""

import math
from collections.abc import Iterable, Iterator

import numpy as np

from flexarm.accuracy.slender import radius_of_gyration, shear_error
from flexarm.arm import Arm
from flexarm.arm.constants import MOST_DAMPING
from flexarm.arm.shapes import (
    ArmModes,
    Counted,
    CraigBampton,
    Elements,
    Lumped,
    ShapeChoice,
    Tabulated,
)
from flexarm.check.constants import (
    FIRST_SHEAR_ERROR,
    LESS_DAMPING,
    LISTED_MODES,
    RATE_RATIO,
    SHEAR_ERROR,
)
from flexarm.check.report import (
    DirectionReport,
    FlexibleReport,
    Frequency,
    LinkReport,
    Notice,
    Severity,
    ShapeMode,
    StepReport,
)
from flexarm.constants import ACCUMULATED, DIGITS, NAMED_SHARE, NEGLIGIBLE
from flexarm.linear_model import ElasticModes, LinearModel, undamped
from flexarm.links.base import DIRECTIONS, Counts, Ends, Span
from flexarm.links.basis import MOTIONS, BeamDirection
from flexarm.links.beams.finite import Conditions, modes
from flexarm.links.body_data import StraightBody
from flexarm.links.end_loads import clamped_ends, hold, loaded_ends, with_tip_body
from flexarm.links.shape_counts import chosen_counts, counts
from flexarm.links.tree import tree
from flexarm.mechanics.bodies import LinkBody, body_of
from flexarm.mechanics.bodies.base import shape_sizes
from flexarm.mechanics.weightless import listed, place_of
from flexarm.model import LinkModel, Model
from flexarm.model.arm_modes import includes_locked_modes
from flexarm.model.spans import item
from flexarm.spatial import Array


def flexible_report(model: Model, index: int, linear: LinearModel, pose: Array) -> FlexibleReport:
    """Return the report on a flexible link: boundary conditions, shape functions and modes.

    Parameters
    ----------
    model, index
        The arm, and the index of the link.
    linear
        Matrices of the arm at the start.
    pose
        Initial coordinates, (n,), with sliding links within the range of their shapes.
    """
    arm, part = model.chain, model.links[index]
    body, ends, root = body_of(model, part), loaded_ends(arm, index), hold(arm, index)
    kind, summary = body.described()
    span = part.span_length(pose)
    return FlexibleReport(
        span=span,
        shapes=kind,
        summary=summary,
        root=root.state,
        why_root=f"{root.state}: {root.reason}",
        tip_mass=ends.tip_mass,
        tip_inertia=ends.tip_inertia,
        directions=_directions(arm, index, body, ends, pose),
        modes=_own_modes(part, part.body.straight(span), linear.damping[part.modes, part.modes]),
        modal_data=tuple(body.file_report()),
    )


def frequency(omega: float) -> Frequency:
    """Return a `Frequency` (in Hz and rad/s) of an angular frequency [rad/s]."""
    return Frequency(hz=omega / (2 * math.pi), rad_s=omega)


def _own_modes(part: LinkModel, body: StraightBody, damping: Array) -> tuple[ShapeMode, ...]:
    """Return the modes of a link with its joint at rest and the body at its tip attached.

    ``damping`` is the damping matrix of the link's amplitudes, (m, m).
    """
    integrals = body.integrals
    mass = with_tip_body(integrals.modal_mass, body.tip_shape, body.tip_angle, part.tip_body)
    vectors = _mode_shapes(integrals.stiffness, mass, measured=part.body.measured)
    weights = np.einsum("im,ij,jm->m", vectors, mass, vectors)
    shares = vectors * (integrals.stiffness @ vectors)
    omegas = np.sqrt(np.maximum(shares.sum(axis=0), 0.0) / weights)
    lost = np.einsum("im,ij,jm->m", vectors, damping, vectors) / weights
    ratios = lost / (2 * np.maximum(omegas, 1e-300))
    return tuple(
        ShapeMode(
            frequency=frequency(float(omega)),
            damping=float(ratio),
            coordinate=f"{part.name}.{part.body.names[int(np.argmax(share))]}",
        )
        for omega, ratio, share in zip(omegas, ratios, shares.T, strict=True)
    )


def _mode_shapes(stiffness: Array, mass: Array, *, measured: bool) -> Array:
    """Return the mode shapes of a link in its amplitudes, (m, k), one per column, slowest first."""
    if measured:  # measured shapes always have mass, but may have no stiffness
        return undamped(mass, stiffness)[1]
    # A twist that rotates nothing but bodies on other links has no inertia in this link's own mass
    # matrix, and is therefore no mode of the link.
    flexibility, vectors = undamped(stiffness, mass)
    significant = flexibility > DIGITS * flexibility.max()
    return vectors[:, significant][:, ::-1]


def span_frequencies(
    span: Span, motion: BeamDirection, ends: Ends, count: int
) -> tuple[Frequency, ...]:
    """Compute the lowest ``count`` natural frequencies of a beam, or all if there are fewer."""
    conditions = Conditions.of(ends, motion)
    if not np.any(span.table[motion.inertia] > 0):
        clamped = conditions.support == "clamped-free" or conditions.hub > 0
        count = min(count, int(clamped and conditions.tip_mass > 0))
    if count == 0:
        return ()
    frequencies = modes(span, motion, conditions, count).frequencies
    return tuple(frequency(float(omega)) for omega in frequencies)


def _directions(
    arm: Arm, index: int, body: LinkBody, ends: Ends, pose: Array
) -> tuple[DirectionReport, ...]:
    choice, part = arm.links[index].shapes, body.part
    span, shapes = body.span_at(pose), body.shapes_at(pose)
    if span is None or shapes is None:
        return ()
    number = counts(arm, index, choice) if isinstance(choice, Counted) else Counts(0, 0, 0, 0)
    sizes, result = shape_sizes(shapes, span), []
    for direction in DIRECTIONS:
        motion = MOTIONS[direction]
        if not span.has(motion.stiffness):
            continue
        moved = sizes[DIRECTIONS.index(direction)] > NEGLIGIBLE * sizes.max(axis=0)
        mine = tuple(f"{part.name}.{shapes.names[k]}" for k in np.flatnonzero(moved))
        listed = max(LISTED_MODES, len(mine))
        count = number.of(direction) if isinstance(choice, Counted) else len(mine)
        result.append(
            DirectionReport(
                direction=motion.key,
                stiffness=motion.stiffness,
                count=count,
                coordinates=mine,
                why=why_count(arm, index, motion),
                clamped=span_frequencies(span, motion, clamped_ends(part.tip_body), listed),
                loaded=span_frequencies(span, motion, ends, listed),
            )
        )
    return tuple(result)


def why_count(arm: Arm, index: int, motion: BeamDirection) -> str:
    """Return text with the number of shapes of a link in an elastic direction, and the reason."""
    choice = arm.links[index].shapes
    if isinstance(choice, Tabulated):
        return "the modes of the file"
    assert isinstance(choice, Counted)
    rule = chosen_counts(arm, index, choice)[motion.key]
    text = f"{_counted(choice, motion, rule.number)}: {rule.reason}"
    if not isinstance(choice, ArmModes):
        return text
    is_rail = tree(arm).rider[index] is not None
    ridden = "; computed with the carriage at stations all along it" if is_rail else ""
    return text + ridden + _of_arm(arm, motion, rule.number)


def _of_arm(arm: Arm, motion: BeamDirection, count: int) -> str:
    """Return text that explains which modes of the arm were chosen as shape functions."""
    with_held = (
        "; including modes with driven joints held" if includes_locked_modes(arm, count) else ""
    )
    static = "; including the static twist by a torque at the tip"
    return with_held + (static if count and motion.direction == "twist" else "")


def _counted(choice: Counted, motion: BeamDirection, count: int) -> str:
    """Return text with a number and its noun, such as ``3 modes`` or ``4 elements``."""
    word = "mode"
    if isinstance(choice, Elements):
        word = "element"
    elif isinstance(choice, Lumped):
        word = "spring"
    elif isinstance(choice, CraigBampton):
        word = "fixed-interface mode"
    text = f"{count} {word}{'' if count == 1 else 's'}"
    if isinstance(choice, CraigBampton) and count:
        text += f" and {motion.order} tip constraint shape{'s' if motion.order > 1 else ''}"
    if isinstance(choice, Elements) and choice.reduce is not None and count:
        text += f" reduced to {min(choice.reduce, motion.order * count)} modes"
    return text


def arm_damping_notice(model: Model, locked: LinearModel, pose: Array) -> Iterator[Notice]:
    """Yield a notice if the arm's slowest mode is damped much less than the link it strains most.

    ``locked`` contains the arm's matrices at coordinates ``pose``, with driven joints locked.
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
    for k in np.flatnonzero(squares > ACCUMULATED * squares.max()):
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
        f"links[{model.links[index].number}].damping",
        f"the damping ratio {ratio_in_file:.3g} applies to mode {mode} of "
        f"{model.links[index].name} alone, clamped at its root; the slowest mode of the whole "
        f"arm's links, {omega / (2 * np.pi):.4g} Hz with driven joints locked, has {ratio:.2g}",
        _more_damping(model.arm, ratio_in_file, (ratio_in_file - (ratio - links)) / links, mode),
    )


def _strained_most(
    model: Model, index: int, pose: Array, stiffness: Array, moved: Array
) -> tuple[float, str]:
    """Return the damping ratio and name of the clamped-link mode that dominates a deformation.

    ``moved`` contains the link's amplitudes in the deformation, ``stiffness`` their stiffness
    matrix.
    """
    part = model.links[index]
    if not any(part.link.damping_ratios):
        return 0.0, ""
    # A link with mass matrix M and mode shapes Phi of frequencies w has the stiffness matrix
    # ``M Phi w^2 Phi' M``. A damping ratio of 1/2 for all modes gives the damping matrix
    # ``M Phi w Phi' M``.
    try:
        speeds, modes = undamped(_ratio_damping(model, index, pose, 0.5), stiffness)
    except np.linalg.LinAlgError:  # a mode without strain has no damping ratio
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
    links = (*model.chain.links[:index], link, *model.chain.links[index + 1 :])
    arm = model.chain.model_copy(update={"links": links})
    return body_of(model, part).ratio_damping(pose, arm, index)


def _more_damping(arm: Arm, link_ratio: float, more: float, mode: str) -> str:
    """Return a remedy as text: the damping ratios that the links need in the model file."""
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


def slender_notices(arm: Arm, links: tuple[LinkReport, ...]) -> Iterator[Notice]:
    """Yield one notice that lists links too stubby for bending without shear deformation."""
    stubby: dict[int, tuple[float, str]] = {}
    severity: Severity = "note"
    for index, (link, facts) in enumerate(zip(arm.links, links, strict=True)):
        if link.section is None or facts.flexible is None:
            continue
        span = Span.of(link.section, facts.flexible.span)
        for direction in facts.flexible.directions:
            motion = next(m for m in MOTIONS.values() if m.key == direction.direction)
            radius = radius_of_gyration(span, motion) if motion.order == 2 else None
            if radius is None or not direction.coordinates:
                continue
            used = _used(link.shapes, direction)
            first, last = (
                shear_error(span, motion, link.section, omega)
                for omega in _bounds(facts.flexible, direction, used)
            )
            if last <= SHEAR_ERROR:
                continue
            severity = "warning" if first > FIRST_SHEAR_ERROR else severity
            if last > stubby.get(index, (0.0, ""))[0]:
                mode = f"mode {used} of {direction.direction}"
                stubby[index] = last, (
                    f"{facts.name} is {span.length / radius:.3g} radii of gyration ({radius:.3g} m)"
                    f" long: without shear, {mode} is about {100 * last:.2g} % too fast, mode 1 "
                    f"about {100 * first:.2g} %"
                )  # fmt: skip
    if stubby:
        worst, *others = sorted(stubby, key=lambda index: -stubby[index][0])
        so = [f"{links[index].name} ({100 * stubby[index][0]:.2g} %)" for index in others]
        yield Notice(
            severity,
            "stubby-link",
            _places("section", arm, stubby),
            stubby[worst][1] + (f"; stubby too: {', '.join(so)}" if so else ""),
            "give the link's shear ('shear: true' of a shape, or GAy and GAz), use fewer modes in "
            "bending, or make the link rigid; check EA and EI",
        )


def _places(key: str, chain: Arm, indices: Iterable[int]) -> str:
    """Return the paths of a key in several links, as text such as ``links[1].section``."""
    places = dict.fromkeys(item(chain, index) for index in sorted(indices))
    return ", ".join(f"{text}.{key}" for text in places)


def _used(choice: ShapeChoice, direction: DirectionReport) -> int:
    """Return how many modes in a direction the shapes of a link represent accurately."""
    modes = len(direction.coordinates)
    if isinstance(choice, Lumped) or (isinstance(choice, Elements) and choice.reduce is None):
        return max(1, modes // 2)
    return modes


def _bounds(flexible: FlexibleReport, direction: DirectionReport, used: int) -> tuple[float, float]:
    """Return the lowest and the highest frequency [rad/s] of the modes used in a direction."""
    listed = direction.loaded if flexible.shapes == "loaded" else direction.clamped
    return listed[0].rad_s, listed[used - 1].rad_s


def unexcited_notices(
    model: Model, links: tuple[LinkReport, ...], still: tuple[int, ...]
) -> Iterator[Notice]:
    """Yield notices of elastic amplitudes that nothing can excite, one notice per remedy."""
    by_remedy: dict[str, dict[int, list[str]]] = {}
    for index, (part, facts) in enumerate(zip(model.links, links, strict=True)):
        mine = [model.names[i] for i in still if part.modes.start <= i < part.modes.stop]
        if not mine or facts.flexible is None:
            continue
        whole = [
            f"{direction.direction}: 0"
            for direction in facts.flexible.directions
            if direction.coordinates and set(direction.coordinates) <= set(mine)
        ]
        kind = facts.flexible.shapes
        saves = (
            f"set {', '.join(whole)} beside 'kind: {kind}'" if whole else "leave such shapes out"
        )
        by_remedy.setdefault(saves, {})[index] = mine
    for saves, by_link in by_remedy.items():
        every = [name for mine in by_link.values() for name in mine]
        yield Notice(
            "warning",
            "unexcited-mode",
            _places("shapes", model.chain, by_link),
            f"nothing sets {listed(every)} in motion, since no joint, gravity, input, wrench or "
            "other coordinate acts on " + ("it" if len(every) == 1 else "them"),
            f"{saves} to save {len(every)} of {model.size} coordinates, or give a start value, a "
            "wrench or an axis that acts there",
        )


def unstable_notice(modes: ElasticModes) -> Iterator[Notice]:
    """Yield a notice if the stiffness matrix at the start has negative eigenvalues."""
    if modes.unstable:
        yield Notice(
            "warning",
            "negative-stiffness",
            "links",
            f"elasticity drives the arm away from its start in {modes.unstable} direction(s)",
            "check elastic_energy, elastic_force and spring tables, whose forces must grow with "
            "deflection near 0",
        )


def step_notices(
    model: Model, linear: LinearModel, modes: ElasticModes, step: StepReport | None
) -> Iterator[Notice]:
    """Yield notices if damping or stretch require much smaller steps than bending does."""
    if step is None or not len(modes.frequencies):
        return
    highest = float(modes.frequencies[-1])
    if step.rate > RATE_RATIO * highest:
        yield Notice(
            "warning",
            "damping-sets-step",
            place_of(model, step.coordinate),
            f"damping or friction ({step.coordinate}) makes the step {step.rate / highest:.3g} "
            "times smaller than the highest mode needs",
            "'simulate' chooses a method that is not limited by damping; for fixed steps "
            "raise friction.smoothing, or lower the damping",
        )
    stretch = np.array(["stretch" in name for name in linear.names])
    axial = modes.shares[stretch].sum(axis=0) > 0.5
    others = modes.frequencies[~axial]
    if axial[-1] and len(others) and highest > RATE_RATIO * others[-1]:
        place = place_of(model, linear.names[int(np.argmax(modes.shares[:, -1]))])
        yield Notice(
            "warning",
            "stretch-sets-step",
            f"{place}.shapes",
            f"stretch makes the step {highest / others[-1]:.3g} times smaller than all other "
            "modes need",
            "leave the stretch shapes out (stretch: 0) unless the stretch itself matters",
        )
