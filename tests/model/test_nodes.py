"""How many nodes exact links get by rule."""

from collections.abc import Callable

import pytest

import flexarm
from flexarm.errors import ModelError
from flexarm.io.model_file import loads
from flexarm.model import Model, build

LINK = """
flexarm: 1
name: one
gravity: [0, GRAVITY, 0]
links:
  - joint: {kind: revolute, JOINT}
    length: 1
    section: {mass_per_length: 1, EIz: STIFF, EIy: STIFF}
    shapes: {kind: loaded, SHAPES}
"""
PLANE, SPACE = "bending_y: 2, bending_z: 0", "bending_y: 2, bending_z: 2"


def made(shapes: str, EI: float, gravity: float = 0.0, joint: str = "actuation: torque") -> Model:
    """Build a link."""
    text = LINK.replace("GRAVITY", str(-gravity)).replace("STIFF", str(EI))
    return build(loads(text.replace("JOINT", joint).replace("SHAPES", shapes)))


def more(model: Model) -> int:
    """Count the nodes of the first link beyond its shapes."""
    nodes = model.links[0].exact
    assert nodes is not None
    assert nodes.count == 2 + nodes.excess
    return nodes.excess


LIMITED = "limits: {effort: 10}"
HELD = "actuation: prescribed, motion: {kind: constant, value: 0}"


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: made(PLANE, 1e4), 3),
        (lambda: made(SPACE, 1e4), 2),  # nobody says how it is loaded
        (lambda: made(SPACE, 1e4, joint=LIMITED), 1),  # slope 10 / 1e4
        (lambda: made(SPACE, 100, joint=LIMITED), 2),  # 0.1
        (lambda: made(SPACE, 20, joint=LIMITED), 3),  # 0.5
        (lambda: made(SPACE, 9.81 / 2 / 0.04, 9.81, HELD), 1),
        (lambda: made(SPACE, 9.81 / 2 / 0.06, 9.81, HELD), 2),
        (lambda: made(SPACE, 9.81 / 16 / 0.04, 9.81), 1),  # it swings, and bears an eighth
    ],
)  # fmt: skip
def test_nodes_follow_what_weight_and_drives_can_bend(
    make: Callable[[], Model], expected: int
) -> None:
    assert more(make()) == expected


def test_inputs_and_starts_leave_the_equations_as_they_are() -> None:
    pushed = LIMITED + ", input: {kind: constant, value: 1e5}, start: {speed: 9}"
    assert more(made(SPACE, 1e4, joint=pushed)) == more(made(SPACE, 1e4, joint=LIMITED))


def test_more_shapes_than_points_tell_apart_are_refused() -> None:
    most = "bending_y: 48, bending_z: 0"
    nodes = made(most, 1e4).links[0].exact
    assert nodes is not None
    assert nodes.count == 51
    with pytest.raises(
        ModelError, match=r"links\[1\].*an exact link takes at most 48 shapes .* got 49"
    ):
        made(most.replace("48", "49"), 1e4)


def test_nodes_that_were_asked_for_stay_with_other_numbers() -> None:
    model = build(flexarm.example_arm("driven-link-payload"), nodes=5)
    equation = flexarm.formulation("articulated", model, parameters=["links.1.section.EIz"])
    kept = equation.at([0.1]).model.links[0].exact
    assert kept is not None
    assert kept.excess == 5


@pytest.mark.parametrize("nodes", [0, -1, 31, 1.5, True, "two"])
def test_what_is_no_number_of_nodes_is_refused(nodes: object) -> None:
    with pytest.raises(ModelError, match="nodes: must be a number from 1 to 30"):
        build(flexarm.example_arm("driven-link"), nodes=nodes)  # type: ignore[arg-type]


def test_the_series_and_linear_theory_have_no_nodes() -> None:
    arm = flexarm.example_arm("driven-link")
    theories = [build(arm, series=True), build(arm, stiffening=False), build(arm)]
    assert [model.link_theory for model in theories] == ["series", "linear", "exact"]
    assert [model.links[0].exact is None for model in theories] == [True, True, False]
