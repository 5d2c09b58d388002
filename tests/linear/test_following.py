"""Clamped-mass shapes that follow outboard joints, and their roots as states."""

import numpy as np
import pytest

import flexarm
from flexarm.arm import Arm
from flexarm.check.mode_notices import span_frequencies
from flexarm.linear.tracks import sweep
from flexarm.links.base import Span
from flexarm.links.basis import MOTIONS
from flexarm.links.end_loads import clamped_ends, outboard_inertia


def folding(links: int, **shapes: object) -> Arm:
    """De Luca & Siciliano's arm, with three links if asked for."""
    elbow = {"outboard": {"mass": 1, "inertia": [0, 0, 0.1]}}
    link = {
        "joint": {"kind": "revolute", "hub": elbow},
        "length": 0.5,
        "section": {"mass_per_length": 0.2, "EIz": 1},
        "shapes": {"kind": "clamped-mass", "bending_y": 1} | shapes,
    }
    data = {"flexarm": 1, "name": "folds", "gravity": [0, 0, 0], "stiffening": False}
    data |= {"links": [link] * links, "payload": {"mass": 0.1, "inertia": [0, 0, 5e-4]}}
    return Arm.model_validate(data)


def frequencies(arm: Arm, angle: float, *, following: bool = False) -> list[float]:
    found = flexarm.modes(arm, at={"joint2": angle}, following=following)
    return [mode.frequency_hz for mode in found.modes]


def clamped(arm: Arm, angle: float) -> list[float]:
    """Compute the first link's two lowest frequencies [Hz], clamped, with the rest of the arm."""
    section = arm.links[0].section
    assert section is not None
    span, ends = (
        Span.of(section, arm.links[0].span),
        clamped_ends(outboard_inertia(arm, 0, {"joint2": angle})),
    )
    return [each.hz for each in span_frequencies(span, MOTIONS["y"], ends, 2)]


def test_following_shapes_are_those_of_the_posture() -> None:
    arm, angles = folding(2), [0.0, 1.2, 2.4]
    followed = sweep(arm, at={"joint2": angles}, following=True)
    hertz = np.array([track.frequency_hz for track in followed.tracks]).T
    for angle, row in zip(angles, hertz, strict=True):
        data = arm.model_dump(exclude_unset=True)
        data["links"][0]["shapes"]["configuration"] = {"joint2": angle}
        frozen = frequencies(Arm.model_validate(data), angle)
        assert np.allclose(np.sort(row), frozen, rtol=1e-9)
        assert np.allclose(frequencies(arm, angle, following=True), frozen, rtol=1e-12)


def test_frozen_shapes_overestimate_the_arm_by_little_and_its_link_by_much() -> None:
    arm, folded = folding(2), 2.4
    true = frequencies(folding(2, kind="polynomials", bending_y=8), folded)[0]
    frozen, own = frequencies(arm, folded)[0], frequencies(arm, folded, following=True)[0]
    assert true * (1 - 1e-9) <= own < frozen < 1.001 * true
    assert clamped(arm, 0.0)[0] / clamped(arm, folded)[0] < 0.9


def test_clamped_frequencies_of_a_link_are_the_published_ones_of_its_postures() -> None:
    found = np.array([clamped(folding(2), angle) for angle in (np.pi / 2, 0.0, np.pi)])
    printed = [(0.479693, 1.796589), (0.440983, 1.985852), (0.530751, 1.654051)]
    assert found == pytest.approx(np.array(printed), abs=5e-7)


def test_what_cannot_follow_is_refused() -> None:
    with pytest.raises(flexarm.FlexarmError, match="Give a link shapes of kind clamped-mass"):
        flexarm.modes(folding(2, kind="clamped-free"), following=True)
