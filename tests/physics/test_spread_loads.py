"""Forces per length: against beam theory, gravity, and Lagrange's equations of points."""

from typing import Any

import numpy as np
import pytest

import flexarm
from flexarm.arm import Arm
from flexarm.links.base import gauss_points
from flexarm.model import build

SECTION = {"mass_per_length": 2.0, "EIz": 40.0, "EIy": 60.0, "GJ": 30.0, "Jx": 1e-3}
SHAPES = {"kind": "clamped-free", "bending_y": 2, "bending_z": 2, "torsion": 1}
BEAM = {"length": 1.2, "section": SECTION, "shapes": SHAPES}
PULL = [0.5, -3.0, 1.5]


def arm_of(links: list[dict[str, Any]], **keys: Any) -> Arm:
    data = {"flexarm": 1, "name": "spread", "gravity": [0, 0, 0], "links": links}
    return Arm.model_validate(data | keys)


def forces(name: str, arm: Arm, seed: int = 0, **options: Any) -> np.ndarray:
    """Compute the generalised forces of a random state."""
    model = build(arm, **options)
    equation, random = flexarm.formulation(name, model), np.random.default_rng(seed)
    q, v, a = 0.1 * random.normal(size=(3, model.size))
    for part in model.links:
        if part.kind == "sliding":
            q[part.exposed] = 0.7
    return equation.inverse_dynamics(q, v, a)


def test_a_cantilever_under_a_uniform_load_sinks_as_the_formula_says() -> None:
    shapes = {"kind": "polynomials", "bending_y": 4}
    beam = {"length": 1.5, "section": {"mass_per_length": 1.0, "EIz": 200.0}, "shapes": shapes}
    load = {"force_per_length": [0, 6.0, 0]}
    arm = arm_of([{"joint": {"kind": "fixed"}, **beam, "wrenches": [load]}], stiffening=False)
    model = build(arm)
    q = flexarm.equilibrium(model).point.q
    tip = flexarm.formulation("composite", model).tip_pose(q)[1][1]
    assert tip == pytest.approx(6.0 * 1.5**4 / (8 * 200.0), rel=1e-10)


@pytest.mark.parametrize("name", ["composite", "articulated"])
@pytest.mark.parametrize("stiffening", [False, True])
def test_the_weight_of_a_beam_is_a_force_per_length(name: str, stiffening: bool) -> None:
    link = {"joint": {"kind": "revolute"}, **BEAM, "spans": 1}
    load = {"force_per_length": (2.0 * np.array(PULL)).tolist()}
    loaded = arm_of([link | {"wrenches": [load]}], stiffening=stiffening)
    heavy = arm_of([link], gravity=PULL, stiffening=stiffening)
    found, expected = (forces(name, arm, nodes=12) for arm in (loaded, heavy))
    np.testing.assert_allclose(found, expected, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("stiffening", [False, True])
def test_on_a_sliding_link_it_acts_along_the_exposed_part(stiffening: bool) -> None:
    """Weight less that of the part inside the hub, which pulls along the hub alone."""
    joint = {"kind": "sliding", "start": {"position": 0.7}, "limits": {"lower": 0.3}}
    link = {"joint": joint, **BEAM, "shapes": SHAPES | {"kind": "polynomials"}}
    load = {"force_per_length": (2.0 * np.array(PULL)).tolist()}
    loaded = arm_of([link | {"wrenches": [load]}], stiffening=stiffening)
    heavy = arm_of([link], gravity=PULL, stiffening=stiffening)
    found, expected = (forces("composite", arm, nodes=12) for arm in (loaded, heavy))
    expected[0] += 2.0 * (1.2 - 0.7) * PULL[0]
    np.testing.assert_allclose(found, expected, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("frame", ["world", "link"])
def test_a_force_over_part_of_a_tree_s_link_is_many_forces_at_points(frame: str) -> None:
    over, count = (0.3, 0.8), 24
    node, weight = gauss_points(count)
    span = 1.2 * (over[1] - over[0])
    places = 1.2 * over[0] + span * (1 + node) / 2
    many = [
        {"at": float(x), "frame": frame, "force": (w * span / 2 * np.array(PULL)).tolist()}
        for x, w in zip(places, weight, strict=True)
    ]
    spread = {"force_per_length": PULL, "over": over, "frame": frame}
    base = {"kind": "free", "body": {"mass": 3.0, "inertia": [1.0, 1.0, 1.0]}}
    first = {"name": "one", "joint": {"kind": "revolute"}, **BEAM}
    found, expected = (
        forces("articulated", arm_of([first, {"parent": "one", "at": 0.5, "joint": {
            "kind": "revolute", "axis": [0, 1, 0]}, **BEAM, "wrenches": wrenches}], base=base))
        for wrenches in ([spread], many)
    )  # fmt: skip
    np.testing.assert_allclose(found, expected, atol=1e-11 * np.abs(expected).max())


def test_spans_share_the_force_of_the_whole_link() -> None:
    load = {"force_per_length": PULL, "over": [0.1, 0.9]}
    link = {"joint": {"kind": "revolute"}, **BEAM, "spans": 3, "wrenches": [load]}
    model = build(arm_of([link]))
    weights = [point.x.share / 3 for point in model.points.wrenches[0]]  # type: ignore[union-attr]
    assert sum(weights) == pytest.approx(0.8, rel=1e-12)
    assert {point.link for point in model.points.wrenches[0]} == {0, 1, 2}


def test_a_gust_does_the_work_that_the_beam_gains() -> None:
    gust = {"force_per_length": [0, 4.0, 0], "factor": {"kind": "sine", "amplitude": 1.0,
            "frequency": 0.8}}  # fmt: skip
    base = {"kind": "free", "body": {"mass": 3.0, "inertia": [1.0, 1.0, 1.0]}}
    link = {"joint": {"kind": "revolute"}, **BEAM, "wrenches": [gust]}
    run = flexarm.simulate(arm_of([link], base=base), t_end=1.0, errors="off", rtol=1e-8)
    assert run.energy_balance < 1e-7
    assert run.momentum_balance is not None
    assert run.momentum_balance < 1e-7
    impulse = 4.0 * 1.2 * (1 - np.cos(2 * np.pi * 0.8)) / (2 * np.pi * 0.8)
    assert run.impulse[-1, 1] == pytest.approx(impulse, rel=1e-6)


@pytest.mark.parametrize(
    ("wrench", "message"),
    [
        ({"force_per_length": PULL, "at": 0.5}, "acts along the link. Leave 'at' out"),
        ({"force_per_length": PULL, "force": PULL}, "Leave 'force' out"),
        ({"force": PULL, "over": [0, 0.5]}, "is for a force per length"),
        ({"force_per_length": PULL, "over": [0.5, 0.5]}, "two rising fractions"),
    ],
)
def test_mistakes_are_refused_in_words(wrench: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        arm_of([{"joint": {"kind": "revolute"}, **BEAM, "wrenches": [wrench]}])
