"""Bodies of the built arm against sums of points."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.spatial.transform import Rotation

from flexarm.arm import Arm
from flexarm.links.end_loads import outboard_inertia as outboard
from flexarm.links.end_loads import own_inertia, tip_inertia
from flexarm.model import Model, build
from flexarm.spatial import Array, Inertia
from tests.model.test_model import REVOLUTE, arm, beam


@dataclass
class Cloud:
    """Point masses in the world, gathered while a test walks along an arm."""

    masses: list[float] = field(default_factory=list)
    places: list[Array] = field(default_factory=list)

    def add(self, masses: Array, points: Array, frame: npt.NDArray[np.floating]) -> None:
        """Place points that are given in a 4x4 frame."""
        self.masses += masses.tolist()
        self.places += list(points @ frame[:3, :3].T + frame[:3, 3])

    def check(self, body: Inertia) -> None:
        """Compare a body with the sum of the points."""
        masses, places = np.array(self.masses), np.array(self.places)
        squares = np.einsum("k,ki,kj->ij", masses, places, places)
        assert body.mass == pytest.approx(masses.sum(), rel=1e-13)
        assert body.first == pytest.approx(masses @ places, abs=1e-12)
        second = np.trace(squares) * np.eye(3) - squares
        assert body.second == pytest.approx(second, abs=1e-11)


def points_of(seed: int) -> tuple[Array, Array]:
    """Draw a body of six point masses."""
    random = np.random.default_rng(seed)
    return random.uniform(0.1, 1.0, 6), random.normal(size=(6, 3)) * 0.2


def body_of(seed: int) -> dict[str, Any]:
    """Describe those point masses as a body: mass, centre, inertia about the centre."""
    masses, points = points_of(seed)
    centre = masses @ points / masses.sum()
    squares = np.einsum("k,ki,kj->ij", masses, points - centre, points - centre)
    inertia = np.trace(squares) * np.eye(3) - squares
    rows = [
        inertia[0, 0],
        inertia[1, 1],
        inertia[2, 2],
        inertia[0, 1],
        inertia[0, 2],
        inertia[1, 2],
    ]
    return {"mass": masses.sum(), "com": centre.tolist(), "inertia": [float(r) for r in rows]}


def frame(rotation: Any = (0, 0, 0), position: Any = (0, 0, 0)) -> Array:
    """Make a 4x4 frame from fixed-axis angles and a position."""
    matrix = np.eye(4)
    matrix[:3, :3] = Rotation.from_euler("xyz", rotation).as_matrix()
    matrix[:3, 3] = position
    return matrix


def rod(density: float, length: float) -> tuple[Array, Array]:
    """Replace a uniform rod along x by two points of the same moments."""
    x = length / 2 * (1 + np.array([-1, 1]) / np.sqrt(3))
    return np.full(2, density * length / 2), np.stack([x, 0 * x, 0 * x], axis=1)


BEFORE = ((0.4, -0.9, 0.5), (0.1, -0.2, 0.3))
AFTER = ((-0.7, 0.2, 1.3), (-0.3, 0.1, 0.2))
AXIS = np.array([0.3, -0.5, 0.8])


def placed(kind: str, name: str, seed: int) -> dict[str, Any]:
    """Describe a joint with frames, an oblique axis and bodies on both of its sides."""
    (turn_before, at_before), (turn_after, at_after) = BEFORE, AFTER
    return {
        "kind": kind,
        "name": name,
        "axis": AXIS.tolist(),
        "before": {"position": at_before, "rotation": turn_before},
        "after": {"position": at_after, "rotation": turn_after},
        "hub": {"inboard": body_of(seed), "outboard": body_of(seed + 1)},
    }


def motion(kind: str, value: float) -> Array:
    """Turn about, or slide along, the oblique axis."""
    unit = AXIS / np.linalg.norm(AXIS)
    if kind == "prismatic":
        return frame(position=unit * value)
    matrix = np.eye(4)
    matrix[:3, :3] = Rotation.from_rotvec(unit * value).as_matrix()
    return matrix


def chain() -> Arm:
    """Make an arm with everything that has mass: pieces, hubs, bodies, spans, a payload."""
    thin = {"mass_per_length": 2.0, "EIy": 1, "EIz": 1}
    pieces = {
        "root_piece": {"length": 0.2, "body": body_of(10)},
        "tip_piece": {"length": 0.3, "body": body_of(11)},
    }
    return arm(
        {"joint": placed("revolute", "a", 1), "length": 1.5, "section": thin, **pieces},
        {"joint": placed("prismatic", "b", 3), "length": 0.7, "body": body_of(12)},
        {"joint": placed("revolute", "c", 5), "length": 1.1, "section": thin, **pieces},
        payload=body_of(13),
    )


def test_own_inertia_is_that_of_hub_root_piece_and_span() -> None:
    root = frame()
    hub = np.linalg.inv(frame(*AFTER))
    cloud = Cloud()
    cloud.add(*points_of(2), hub)
    cloud.add(*points_of(10), root)
    cloud.add(*rod(2.0, 1.0), frame(position=(0.2, 0, 0)))
    cloud.check(own_inertia(chain().links[0]))


def test_tip_inertia_is_that_of_tip_piece_and_next_hubs_inner_side() -> None:
    cloud = Cloud()
    cloud.add(*points_of(11), frame())
    cloud.add(*points_of(3), frame(position=(0.3, 0, 0)) @ frame(*BEFORE))
    cloud.check(tip_inertia(chain(), 0))


def test_tip_inertia_of_the_last_link_is_that_of_tip_piece_and_payload() -> None:
    cloud = Cloud()
    cloud.add(*points_of(11), frame())
    cloud.add(*points_of(13), frame(position=(0.3, 0, 0)))
    cloud.check(tip_inertia(chain(), 2))


def test_outboard_inertia_is_that_of_all_points_beyond_the_tip() -> None:
    values = {"b": 0.35, "c": -1.2}
    cloud = Cloud()
    cloud.add(*points_of(11), frame())
    joint = frame(position=(0.3, 0, 0)) @ frame(*BEFORE)
    cloud.add(*points_of(3), joint)
    turned = joint @ motion("prismatic", values["b"])
    cloud.add(*points_of(4), turned)
    root = turned @ frame(*AFTER)
    cloud.add(*points_of(12), root)
    joint = root @ frame(position=(0.7, 0, 0)) @ frame(*BEFORE)
    cloud.add(*points_of(5), joint)
    turned = joint @ motion("revolute", values["c"])
    cloud.add(*points_of(6), turned)
    root = turned @ frame(*AFTER)
    cloud.add(*points_of(10), root)
    cloud.add(*rod(2.0, 0.6), root @ frame(position=(0.2, 0, 0)))
    tip = root @ frame(position=(0.8, 0, 0))
    cloud.add(*points_of(11), tip)
    cloud.add(*points_of(13), tip @ frame(position=(0.3, 0, 0)))
    cloud.check(outboard(chain(), 0, values))


def test_bodies_of_the_model_are_about_the_ends_of_the_flexible_span() -> None:
    part = build(chain()).links[0]
    cloud = Cloud()
    to_span = frame(position=(-0.2, 0, 0))
    cloud.add(*points_of(2), to_span @ np.linalg.inv(frame(*AFTER)))
    cloud.add(*points_of(10), to_span)
    cloud.check(part.root_body)
    assert part.tip_body.mass == pytest.approx(points_of(11)[0].sum() + points_of(3)[0].sum())
    assert part.length == pytest.approx(1.0)


def test_base_carries_the_first_hubs_inner_side() -> None:
    made = arm(*[link.model_dump(exclude_unset=True) for link in chain().links],
               base={"kind": "free", "body": body_of(20)})  # fmt: skip
    cloud = Cloud()
    cloud.add(*points_of(20), frame())
    cloud.add(*points_of(1), frame(*BEFORE))
    cloud.check(build(made).base_body)


def total_mass(model: Model) -> float:
    """Add the masses of a model's bodies and spans."""
    spans = [p.beam.integrals.mass for p in model.links if p.body.one_length]
    bodies = [b.mass for p in model.links for b in (p.root_body, p.tip_body, p.hub_body)]
    return sum(spans) + sum(bodies) + model.base_body.mass


def test_no_mass_is_lost_or_counted_twice() -> None:
    seeds = (1, 2, 3, 4, 5, 6, 10, 10, 11, 11, 12, 13)
    expected = sum(points_of(seed)[0].sum() for seed in seeds) + 2.0 * (1.0 + 0.6)
    assert total_mass(build(chain())) == pytest.approx(expected, rel=1e-13)
    pinned = beam(REVOLUTE | {"hub": {"outboard": {"mass": 3}}}, "pinned-free", bending_y=1)
    assert total_mass(build(arm(pinned))) == pytest.approx(5.0, rel=1e-13)
