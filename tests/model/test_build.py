"""What `build` refuses, with what to do instead."""

from typing import Any

import numpy as np
import pytest

import flexarm
from flexarm.errors import ModelError

ARM = flexarm.sample("driven-link")


@pytest.mark.parametrize(
    ("arm", "message"),
    [
        (None, r"^arm: must be an Arm, got None: make one with flexarm\.load"),
        (
            "driven-link",
            r"got 'driven-link': read it with flexarm\.load\(path\) or flexarm\.sample",
        ),
        (flexarm.build(ARM), r"^arm: must be an Arm, got a Model: it is built already$"),
        ({"flexarm": 1}, "got a value of type dict"),
    ],
)
def test_what_is_no_arm_is_refused(arm: Any, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        flexarm.build(arm)


@pytest.mark.parametrize("given", ["false", "off", 0, 1.0])
def test_stiffening_is_on_or_off(given: Any) -> None:
    with pytest.raises(ModelError, match=r"^stiffening: expected True, False or None, got"):
        flexarm.build(ARM, stiffening=given)
    assert flexarm.build(ARM, stiffening=np.False_).stiffening is False  # type: ignore[arg-type]


def test_an_unknown_tip_rotation_is_refused() -> None:
    with pytest.raises(ModelError, match="tip_rotation: expected one of cayley, first-order, got"):
        flexarm.build(ARM, tip_rotation="bogus")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("sample", "other", "message"),
    [
        ("driven-link", "korayem-two-link", "shapes_of: links are 2 there, 1 in this arm"),
        ("korayem-two-link", "driven-link", "shapes_of: links are 1 there, 2 in this arm"),
        ("driven-link", "telescope", r"shapes_of: links\[1\] has another joint"),
        ("korayem-two-link", "chen-two-link", r"shapes_of: links\[1\] has .* other shapes"),
    ],
)
def test_shapes_of_another_arm_are_refused(sample: str, other: str, message: str) -> None:
    shapes_of = flexarm.build(flexarm.sample(other))
    with pytest.raises(ModelError, match=message):
        flexarm.build(flexarm.sample(sample), shapes_of=shapes_of)


def test_shapes_are_those_of_a_model() -> None:
    with pytest.raises(ModelError, match="shapes_of: expected a Model, got a value of type Arm"):
        flexarm.build(ARM, shapes_of=ARM)  # type: ignore[arg-type]


def test_shapes_of_another_length_are_refused() -> None:
    longer = flexarm.change_arm(ARM, {"links.1.length": 2 * ARM.links[0].length})
    with pytest.raises(ModelError, match="another length"):
        flexarm.build(longer, shapes_of=flexarm.build(ARM))
