"""Notices that follow from the modes of the links and of the arm."""

from collections.abc import Iterable, Iterator

import numpy as np

from flexarm.accuracy.slender import radius_of_gyration, shear_error
from flexarm.arm import Arm
from flexarm.arm.shapes import Elements, Lumped, ShapeChoice
from flexarm.check.constants import FIRST_SHEAR_ERROR, RATE_RATIO, SHEAR_ERROR
from flexarm.check.report import (
    DirectionReport,
    FlexibleReport,
    LinkReport,
    Notice,
    Severity,
    StepReport,
)
from flexarm.linear_model import ElasticModes, LinearModel
from flexarm.links.basis import MOTIONS
from flexarm.links.span import Span
from flexarm.mechanics.weightless import listed, place_of
from flexarm.model import Model


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
            _places("section", stubby),
            stubby[worst][1] + (f"; stubby too: {', '.join(so)}" if so else ""),
            "give its shear ('shear: true' of a shape, or GAy and GAz), use fewer modes in "
            "bending, or make the link rigid; check EA and EI",
        )


def _places(key: str, indices: Iterable[int]) -> str:
    """Return the paths of a key in several links, as text such as ``links[1].section``."""
    return ", ".join(f"links[{index + 1}].{key}" for index in sorted(indices))


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
            _places("shapes", by_link),
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
    """Yield notices if damping or stretch modes force steps much smaller than bending needs."""
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
            "'simulate' chooses a method that is not limited by it; for fixed steps "
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
