"""What `build` refuses, with what to do instead."""

from typing import Any

import numpy as np
import pytest

import flexarm
from flexarm.errors import ModelError

ARM = flexarm.example_arm("driven-link")


@pytest.mark.parametrize(
    ("arm", "message"),
    [
        (None, r"^arm: must be an Arm, got None. Make one with flexarm\.load"),
        (
            "driven-link",
            r"got 'driven-link'. Read it with flexarm\.load\(path\) or flexarm\.example_arm",
        ),
        (flexarm.build(ARM), r"^arm: must be an Arm, got a Model\. Pass the arm"),
        ({"flexarm": 1}, "got a value of type dict"),
    ],
)
def test_what_is_no_arm_is_refused(arm: Any, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        flexarm.build(arm)


@pytest.mark.parametrize("given", ["false", "off", 0, 1.0])
def test_stiffening_is_on_or_off(given: Any) -> None:
    with pytest.raises(ModelError, match=r"^stiffening: must be True, False or None, got"):
        flexarm.build(ARM, stiffening=given)
    assert flexarm.build(ARM, stiffening=np.False_).stiffening is False  # type: ignore[arg-type]


def test_an_unknown_tip_rotation_is_refused() -> None:
    with pytest.raises(ModelError, match="tip_rotation: must be one of cayley, first-order, got"):
        flexarm.build(ARM, tip_rotation="bogus")  # type: ignore[arg-type]


def test_links_that_arms_share_are_made_once() -> None:
    first = flexarm.build(ARM)
    heavier = flexarm.build(flexarm.change_arm(ARM, {"gravity.2": -3.7}))
    for one, other in zip(first.links, heavier.links, strict=True):
        assert one.beam.shapes is other.beam.shapes
        assert one.beam.integrals is other.beam.integrals
    stiffer = flexarm.build(flexarm.change_arm(ARM, {"links.1.section.EIz": 4321.0}))
    assert stiffer.links[0].beam.shapes is not first.links[0].beam.shapes
