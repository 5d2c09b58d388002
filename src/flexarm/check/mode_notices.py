"""What looks wrong once an arm's modes are known."""

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.polynomial import chebyshev

from flexarm.accuracy.slender import radius_of_gyration, shear_error
from flexarm.arm import Arm
from flexarm.arm.shapes import Elements, Lumped, ShapeChoice
from flexarm.check.report import DirectionReport, FlexibleReport, LinkReport, Notice, StepReport
from flexarm.linear.at_start import ElasticModes, Linear, undamped
from flexarm.links.base import DIRECTIONS, LABELS, Array
from flexarm.links.basis import MOTIONS
from flexarm.links.span import Span
from flexarm.mechanics.bodies import body_of
from flexarm.mechanics.inertia import Weightless, listed, place_of
from flexarm.model import Model
from flexarm.model.flexible import link_damping, reduced_part, sliding_damping

SHEAR_ERROR = 0.05
STEP_RATIO = 3.0
MOSTLY = 0.3  # of a mode's strain energy: what the link has that it is told of
MUCH_LESS = 0.5  # of a link's damping ratio: what the arm's slowest mode has is told of
STILL = 1e-12  # of the square of the highest frequency: less is no vibration
MOST_NAMED = 1000  # ratio of a mode by name


def slender_notices(arm: Arm, links: tuple[LinkReport, ...]) -> Iterator[Notice]:
    """Tell of links whose highest bending mode is short against their section, in one notice."""
    found: dict[int, tuple[float, str]] = {}
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
            if last > max(SHEAR_ERROR, found.get(index, (0.0, ""))[0]):
                mode = f"mode {used} of {direction.direction}"
                found[index] = last, (
                    f"{facts.name} is {span.length / radius:.3g} radii of gyration ({radius:.3g} m)"
                    f" long: without shear, {mode} is about {100 * last:.2g} % too fast, mode 1 "
                    f"about {100 * first:.2g} %"
                )  # fmt: skip
    if found:
        worst, *others = sorted(found, key=lambda index: -found[index][0])
        so = [f"{links[index].name} ({100 * found[index][0]:.2g} %)" for index in others]
        yield Notice(
            "warning",
            "stubby-link",
            _places("section", found),
            found[worst][1] + (f"; stubby too: {', '.join(so)}" if so else ""),
            "give its shear ('shear: true' of a shape, or GAy and GAz), use fewer modes in "
            "bending, or make the link rigid; check EA and EI",
        )


def _places(key: str, indices: Iterable[int]) -> str:
    """Name a key of several links in the model file, each once."""
    return ", ".join(f"links[{index + 1}].{key}" for index in sorted(indices))


def _used(choice: ShapeChoice, direction: DirectionReport) -> int:
    """Count the modes that the coordinates of a direction are meant to resolve."""
    modes = len(direction.coordinates)
    if isinstance(choice, Lumped) or (isinstance(choice, Elements) and choice.reduce is None):
        return max(1, modes // 2)
    return modes


def _bounds(flexible: FlexibleReport, direction: DirectionReport, used: int) -> tuple[float, float]:
    """Give the frequencies of the first and the last mode used [rad/s]."""
    listed = direction.loaded if flexible.shapes == "loaded" else direction.clamped
    return listed[0].rad_s, listed[used - 1].rad_s


def unexcited_notices(
    model: Model, links: tuple[LinkReport, ...], still: tuple[int, ...]
) -> Iterator[Notice]:
    """Tell of amplitudes that nothing sets in motion, in one notice per remedy."""
    found: dict[str, dict[int, list[str]]] = {}
    for index, (part, facts) in enumerate(zip(model.links, links, strict=True)):
        mine = [model.names[i] for i in still if part.modes.start <= i < part.modes.stop]
        if not mine or facts.flexible is None:
            continue
        whole = [
            f"{each.direction}: 0"
            for each in facts.flexible.directions
            if each.coordinates and set(each.coordinates) <= set(mine)
        ]
        kind = facts.flexible.shapes
        saves = (
            f"set {', '.join(whole)} beside 'kind: {kind}'" if whole else "leave such shapes out"
        )
        found.setdefault(saves, {})[index] = mine
    for saves, by_link in found.items():
        every = [name for mine in by_link.values() for name in mine]
        yield Notice(
            "warning",
            "unexcited-mode",
            _places("shapes", by_link),
            f"nothing sets {listed(every)} in motion: no joint, gravity, input, wrench or other "
            "coordinate acts on " + ("it" if len(every) == 1 else "them"),
            f"{saves} to save {len(every)} of {model.size} coordinates, or give a start value, a "
            "wrench or an axis that acts there",
        )


def arm_damping_notice(model: Model, held: Linear, pose: Array) -> Iterator[Notice]:
    """Tell of a link's damping ratio that the arm's slowest mode has much less of.

    ``held`` are the arm's matrices at a pose with driven joints locked.
    """
    places = {name: k for k, name in enumerate(held.names)}
    rows = {
        index: [places[name] for name in model.names[part.modes]]
        for index, part in enumerate(model.links)
        if part.flexible
    }
    if not any(any(model.links[index].link.damping_ratios) for index in rows):
        return
    squares, vectors = undamped(held.mass, held.stiffness)
    strain = vectors * (held.stiffness @ vectors)
    for k in np.flatnonzero(squares > STILL * squares.max()):
        shares = {index: strain[mine, k].sum() / strain[:, k].sum() for index, mine in rows.items()}
        index = max(shares, key=lambda each: float(shares[each]))
        if shares[index] > MOSTLY:
            break
    else:
        return
    omega, moved = float(np.sqrt(squares[k])), vectors[:, k]
    stiffness = held.stiffness[np.ix_(rows[index], rows[index])]
    given, mode = _strained_most(model, index, pose, stiffness, moved[rows[index]])
    ratio = float(moved @ held.damping @ moved) / (2 * omega)
    if ratio >= MUCH_LESS * given:
        return
    links = sum(
        float(moved[mine] @ _ratio_damping(model, each, pose) @ moved[mine])
        for each, mine in rows.items()
    ) / (2 * omega)  # fmt: skip
    yield Notice(
        "note",
        "less-damping",
        f"links[{index + 1}].damping",
        f"{given:.3g} is the ratio of {model.links[index].name}'s own mode {mode}, clamped at its "
        f"root; the arm's slowest mode of links, {omega / (2 * np.pi):.4g} Hz with driven joints "
        f"locked, has {ratio:.2g}",
        _more_damping(model.arm, given, (given - (ratio - links)) / links, mode),
    )


def _strained_most(
    model: Model, index: int, pose: Array, stiffness: Array, moved: Array
) -> tuple[float, str]:
    """Find which mode of a link, clamped, has most of its strain: the ratio given, and its name."""
    part = model.links[index]
    if not any(part.link.damping_ratios):
        return 0.0, ""
    # Of mass M and modes Phi of frequencies w, K = M Phi w^2 Phi' M; a ratio of 1/2 for all of
    # them makes D = M Phi w Phi' M.
    try:
        speeds, modes = undamped(_ratio_damping(model, index, pose, 0.5), stiffness)
    except np.linalg.LinAlgError:  # a mode that strains nothing has no ratio
        return 0.0, ""
    ratios = np.sum(modes * (_ratio_damping(model, index, pose) @ modes), axis=0) / 2
    most = int(np.argmax((modes.T @ stiffness @ moved) ** 2 / np.maximum(np.abs(speeds), 1e-300)))
    if part.reduced is not None:
        return float(ratios[most]), part.reduced.names[most]
    shapes = body_of(model, part).shapes_at(pose)
    assert shapes is not None
    first = [next(d for d in DIRECTIONS if d in shape.curves) for shape in shapes.shapes]
    strains = modes * (stiffness @ modes)
    named = [
        max(DIRECTIONS, key=lambda d: float(strains[[x == d for x in first], m].sum()))
        for m in range(most + 1)
    ]
    return float(ratios[most]), f"{LABELS[named[most]]}{named.count(named[most])}"


def _ratio_damping(model: Model, index: int, pose: Array, given: float | None = None) -> Array:
    """Give the damping matrix of a link by its ratios, or one for all, without its material's."""
    part, m = model.links[index], model.links[index].modes
    if not any(part.link.damping_ratios):
        return np.zeros((m.stop - m.start, m.stop - m.start))
    ratios = part.link.damping if given is None else given
    link = part.link.model_copy(update={"damping": ratios, "material_damping": None})
    links = (*model.arm.links[:index], link, *model.arm.links[index + 1 :])
    arm = model.arm.model_copy(update={"links": links})
    if part.elastic is not None:
        return link_damping(arm, index, part.elastic)
    if part.sliding is None:
        damping = reduced_part(arm, index).damping
        assert damping is not None
        return damping
    series, (low, high) = sliding_damping(arm, index, part.sliding), part.sliding.range
    assert series is not None
    t = (2 * pose[[part.exposed]] - low - high) / (high - low)
    return np.tensordot(chebyshev.chebvander(t, len(series) - 1)[0], series, 1)


def _more_damping(arm: Arm, given: float, more: float, mode: str) -> str:
    """Say how much more the links would take, in a form that model files take."""
    told = "'flexarm modes' says what each mode of the arm has"
    by_mode = f"'damping: {{{mode}: {more * given:.2g}}}'"
    by_name = [isinstance(link.damping, dict) for link in arm.links]
    most = [more * max(link.damping_ratios, default=0.0) for link in arm.links]
    if all(each < (MOST_NAMED if named else 1) for each, named in zip(most, by_name, strict=True)):
        return (
            f"for {given:.3g} there give links {more:.3g} times as much, by mode too ({by_mode}); "
            + told
        )
    return (
        f"for {given:.3g} there name modes of links, which may have 1 or more ({by_mode}); {told}"
    )


def inertia_notice(found: Weightless) -> Notice:
    """Tell of coordinates that move without inertia at the start."""
    return Notice("warning", "no-inertia", found.place, found.message, found.remedy)


def unstable_notice(modes: ElasticModes) -> Iterator[Notice]:
    """Tell of elasticity that pushes away from the start pose."""
    if modes.unstable:
        yield Notice(
            "warning",
            "negative-stiffness",
            "links",
            f"elasticity drives the arm away from its start in {modes.unstable} direction(s)",
            "check elastic_energy, elastic_force and spring tables: forces must grow with "
            "deflection near 0",
        )


def step_notices(
    model: Model, linear: Linear, modes: ElasticModes, step: StepReport | None
) -> Iterator[Notice]:
    """Tell of stretch or damping that makes the step much smaller than bending needs."""
    if step is None or not len(modes.frequencies):
        return
    highest = float(modes.frequencies[-1])
    if step.rate > STEP_RATIO * highest:
        yield Notice(
            "warning",
            "damping-sets-step",
            place_of(model, step.coordinate),
            f"damping or friction ({step.coordinate}) makes the step {step.rate / highest:.3g} "
            "times smaller than the highest mode needs",
            "raise friction.smoothing, lower the damping, or use an implicit method",
        )
    stretch = np.array(["stretch" in name for name in linear.names])
    axial = modes.shares[stretch].sum(axis=0) > 0.5
    others = modes.frequencies[~axial]
    if axial[-1] and len(others) and highest > STEP_RATIO * others[-1]:
        place = place_of(model, linear.names[int(np.argmax(modes.shares[:, -1]))])
        yield Notice(
            "warning",
            "stretch-sets-step",
            f"{place}.shapes",
            f"stretch makes the step {highest / others[-1]:.3g} times smaller than all other "
            "modes need",
            "leave the stretch shapes out (stretch: 0) unless the stretch itself matters",
        )
