"""Number of shapes of a link per direction, by rule or from the model file, with the reason."""

import math
from dataclasses import dataclass

from flexarm.arm import Arm
from flexarm.arm.shapes import ArmModes, ClampedMass, Counted, Loaded
from flexarm.links.base import DIRECTIONS, Counts, Span
from flexarm.links.basis import MOTIONS
from flexarm.links.constants import SHAPES_WITHOUT_BENDING, WEIGHT_STRAIN
from flexarm.links.end_loads import hold, loaded_ends, outboard_inertia
from flexarm.links.tree import tree

KEYS = tuple(MOTIONS[direction].key for direction in DIRECTIONS)
# Keys of bending directions, with their stiffnesses.
BENDING = {"bending_y": "EIz", "bending_z": "EIy"}


@dataclass(frozen=True)
class ChosenCount:
    """A number of shapes with the reason for it."""

    number: int
    reason: str


def counts(arm: Arm, index: int, choice: Counted) -> Counts:
    """Return the number of shapes of a link in each direction."""
    chosen_by_key = chosen_counts(arm, index, choice)
    return Counts(*(chosen_by_key[MOTIONS[direction].key].number for direction in DIRECTIONS))


def chosen_counts(arm: Arm, index: int, choice: Counted) -> dict[str, ChosenCount]:
    """Return the number of shapes per direction and the reason, by key such as ``bending_y``."""
    link = arm.links[index]
    assert link.section is not None
    span = Span.of(link.section, link.span)
    bending, no_shapes = _bending(arm, index), ChosenCount(0, "by rule, none without a stiffness")
    automatic = {
        "bending_y": bending if span.has("EIz") else no_shapes,
        "bending_z": bending if span.has("EIy") else no_shapes,
    }
    requested = {key: getattr(choice, key) for key in KEYS}
    bending_counts = {
        k: rule.number if requested[k] == "auto" else requested[k] for k, rule in automatic.items()
    }
    automatic["torsion"] = (
        _torsion(arm, index, choice, span, bending_counts) if span.has("GJ") else no_shapes
    )
    automatic["stretch"] = (
        _stretch(arm, index, span, bending_counts) if span.has("EA") else no_shapes
    )
    return {
        key: rule
        if requested[key] == "auto"
        else ChosenCount(int(requested[key]), "the file says so")
        for key, rule in automatic.items()
    }


def _bending(arm: Arm, index: int) -> ChosenCount:
    if tree(arm).rider[index] is not None:
        return ChosenCount(5, "by rule, 5 where another link rides along it")
    root = hold(arm, index)
    if root.state == "free":
        if sum(link.flexible for link in arm.links) < 3:
            reason = "the root turns freely and the arm has one or two flexible links"
            return ChosenCount(3, f"by rule, 3 where {reason}")
        reason = "the root turns freely and the arm has three flexible links or more"
        return ChosenCount(4, f"by rule, 4 where {reason}")
    if root.state == "geared":
        return ChosenCount(4, "by rule, 4 where the joint is geared")
    if root.known:
        return ChosenCount(3, "by rule, 3 where the root is known to be held")
    return ChosenCount(4, f"by rule, 4 where the root is taken as held: {root.reason}")


def _stretch(arm: Arm, index: int, span: Span, bending: dict[str, int]) -> ChosenCount:
    """Return the number of stretch shapes by rule.

    A link without bending shapes has SHAPES_WITHOUT_BENDING stretch shapes. Other links have one
    stretch shape if the first stretch mode is slower than the fastest bending mode, or if weight
    strains the link by more than WEIGHT_STRAIN; otherwise none.
    """
    if not any(bending.values()):
        return ChosenCount(
            SHAPES_WITHOUT_BENDING,
            f"by rule, {SHAPES_WITHOUT_BENDING} where the link does not bend",
        )
    mean = _mean_properties(span)
    mass, length = mean["mass_per_length"] * span.length, span.length
    outboard_mass = outboard_inertia(arm, index, {}).mass
    stretch_hz = (
        (mean["EA"] / (length * (outboard_mass + mass / 3)) / math.tau**2) ** 0.5
        if mass
        else math.inf
    )
    bending_hz = 0.0
    for key, name in BENDING.items():
        if bending[key] and mass:
            wave = (bending[key] - 0.5) * math.pi / length
            bending_hz = max(bending_hz, wave**2 * (mean[name] * length / mass) ** 0.5 / math.tau)
    weight = sum(g * g for g in arm.gravity) ** 0.5 * (outboard_mass + mass / 2)
    strain = weight / mean["EA"]
    if stretch_hz < bending_hz:
        return ChosenCount(
            1, f"by rule, one where it stretches as slowly ({stretch_hz:.3g} Hz) as it bends"
        )
    if strain > WEIGHT_STRAIN:
        return ChosenCount(1, f"by rule, one since weight strains it by {strain:.2g}")
    return ChosenCount(0, f"by rule, none where it stretches much faster ({stretch_hz:.3g} Hz)")


def _torsion(
    arm: Arm, index: int, choice: Counted, span: Span, bending: dict[str, int]
) -> ChosenCount:
    """Return the number of torsion shapes by rule.

    The number is SHAPES_WITHOUT_BENDING if the link has no bending shapes, or if the second torsion
    mode of the link with both ends fixed is slower than the first bending mode. For all other links
    the number is 2, 1 or 0, depending on the inertia about the link's axis.
    """
    feels_tip = isinstance(choice, ArmModes | Loaded | ClampedMass)
    tip = loaded_ends(arm, index).tip_inertia[0] if feels_tip else 0.0
    x, weight = span.quadrature(2)
    span_inertia = weight @ span.at("Jx", x)
    if span_inertia == 0 and tip == 0:
        return ChosenCount(
            0, "by rule, none where neither Jx nor anything at the tip has inertia about the axis"
        )
    if not any(bending.values()):
        return ChosenCount(
            SHAPES_WITHOUT_BENDING,
            f"by rule, {SHAPES_WITHOUT_BENDING} where the link does not bend",
        )
    second_hz = (
        (_mean_properties(span)["GJ"] / (span.length * span_inertia)) ** 0.5 / 2
        if span_inertia
        else math.inf
    )
    if second_hz < _slowest_bending(arm, index, span, bending):
        return ChosenCount(
            SHAPES_WITHOUT_BENDING,
            f"by rule, {SHAPES_WITHOUT_BENDING} where two modes twist ({second_hz:.3g} Hz) before "
            "it bends",
        )
    if (
        isinstance(choice, ArmModes) and span_inertia > tip
    ):  # a single mode lacks 1 to 19 % of the static twist
        return ChosenCount(
            2, "by rule, two where the link's own inertia about its axis exceeds that at its tip"
        )
    return ChosenCount(1, "by rule, one where GJ is given and something has inertia about the axis")


def _slowest_bending(arm: Arm, index: int, span: Span, bending: dict[str, int]) -> float:
    """Return the approximate lowest bending frequency [Hz] of the clamped link with a tip mass."""
    mean = _mean_properties(span)
    mass = outboard_inertia(arm, index, {}).mass + 33 / 140 * mean["mass_per_length"] * span.length
    stiffness = min(mean[name] for key, name in BENDING.items() if bending[key])
    return math.sqrt(3 * stiffness / (span.length**3 * mass)) / math.tau


def _mean_properties(span: Span) -> dict[str, float]:
    return {name: values.mean() for name, values in span.table.items()}
