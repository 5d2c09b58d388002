"""The arms that come with flexarm: names, notes, and data against their sources."""

import math
from functools import cache
from typing import Any

import numpy as np
import pytest

from flexarm.arm import Arm, Body, FreeBase, Link, Revolute, Section, Sliding
from flexarm.arm.profile import Cycloid, SpinUp, Table
from flexarm.arm.section import Rectangle, Tube
from flexarm.arm.shapes import ClampedFree, ClampedMass, Elements
from flexarm.io.model_file import load
from flexarm.samples import example_arm_names, sample_path

COUNTED = [
    f"tg-{arm}{planes}{kind}"
    for arm in ("rr", "rrr", "rp", "rrp", "rr-payload")
    for planes in ("", "-2planes")
    for kind in ("", "-elements")
]
NAMED = [
    "korayem-two-link", "graves-rms", "theodore-rrp", "chu-example-1", "chu-example-2",
    "chen-rotating-link", "chen-two-link", "deluca-siciliano", "spin-up-beam", "driven-link",
    "canadarm-free-base", "telescope", "puma-560", "chain-30", "count-2-2-2", "count-3-2-2",
    "count-6-6-3",
]  # fmt: skip

# Mass of links, joints and payload [kg], the base left out, from the sources' own numbers.
MASSES = {
    "korayem-two-link": 2 * 5 * 1,
    "deluca-siciliano": 2 * 0.2 * 0.5 + 1 + 0.1,
    "spin-up-beam": 12,
    "driven-link": 1,
    "driven-link-payload": 1.25,
    "chen-rotating-link": 314.88,
    "chen-two-link": 2 * 314.88,
    "chen-two-link-rigid-joints": 2 * 314.88,
    "chu-example-1": 2 + 0.706,
    "chu-example-2": 7850 * 3e-5 * (0.8 + 0.3) + 0.05,
    "theodore-rrp": 3.7051 + 0.331 + 0.4303 + 0.0828,
    "theodore-rrp-motion": 3.7051 + 0.331 + 0.4303 + 0.0828,
    "theodore-rrp-elements": 3.7051 + 0.331 + 0.4303 + 0.0828,
    "tg-rr": 2 * 0.331,
    "tg-rrr": 3.7051 + 2 * 0.331,
    "tg-rp": 0.331 + 0.4303,
    "tg-rrp": 3.7051 + 0.331 + 0.4303,
    "tg-rr-payload": 2 * 0.331 + 0.0828,
    "puma-560": 17.4 + 4.8 + 0.82 + 0.34 + 0.09,
    "graves-rms": 63.24 + 32.12 + 139.35 + 87.42 + 8.48 + 45.94 + 45.21 + 2000,
    "canadarm-free-base": 2 * 243.66 + 4 * 105.98 + 314.88 + 279.2 + 3000,
    "telescope": 2.5,
    "count-2-2-2": 10,
    "count-3-2-2": 4 + 10,
    "count-6-6-3": 6 * 3,
    "chain-30": 30 * 2,
}


@cache
def sample(name: str) -> Arm:
    """Load a sample."""
    return load(sample_path(name))


def section_of(link: Link) -> Section:
    """Give a link's section."""
    assert link.section is not None
    return link.section


def area(section: Section) -> float:
    """Cross-section area of a rectangle or a tube [m^2]."""
    shape = section.shape
    if isinstance(shape, Rectangle):
        return shape.width * shape.height
    assert isinstance(shape, Tube)
    assert shape.thickness is not None
    return math.pi * shape.thickness * (shape.diameter - shape.thickness)


def mass_per_length(section: Section) -> float:
    """Mass per length [kg/m], given or by material and shape."""
    if section.mass_per_length is not None:
        return section.mass_per_length
    assert section.material is not None
    return section.material.density * area(section)


def bodies(arm: Arm) -> list[Body | None]:
    """List all rigid bodies of an arm but its base."""
    found: list[Body | None] = [arm.payload]
    for link in arm.links:
        pieces = [piece.body for piece in (link.root_piece, link.tip_piece) if piece is not None]
        found += [link.rigid_body, link.joint.hub.inboard, link.joint.hub.outboard, *pieces]
    return found


def total_mass(arm: Arm) -> float:
    """Mass of links, joints and payload [kg]."""
    beams = [mass_per_length(s) * k.span for k in arm.links if (s := k.section) is not None]
    return sum(beams) + sum(body.mass for body in bodies(arm) if body is not None)


def turned(angles: tuple[float, float, float]) -> Any:
    """Rotation matrix of angles about the fixed x, then y, then z axis."""
    result = np.eye(3)
    for axis, angle in enumerate(angles):
        c, s = math.cos(angle), math.sin(angle)
        i, j = (axis + 1) % 3, (axis + 2) % 3
        step = np.eye(3)
        step[i, i] = step[j, j] = c
        step[i, j], step[j, i] = -s, s
        result = step @ result
    return result


@pytest.mark.parametrize("name", [*NAMED, *COUNTED])
def test_sample_exists(name: str) -> None:
    assert name in example_arm_names()


@pytest.mark.parametrize("name", example_arm_names())
def test_sample_loads_and_its_notes_begin_with_a_summary_and_name_the_source(name: str) -> None:
    arm = sample(name)
    first, empty, *rest = arm.notes.split("\n")
    assert 20 < len(first) < 100
    assert first.endswith(".")
    assert empty == ""
    assert "Source: " in "\n".join(rest)


@pytest.mark.parametrize("name", MASSES)
def test_total_mass_is_the_sources(name: str) -> None:
    assert total_mass(sample(name)) == pytest.approx(MASSES[name], rel=1e-6)


def test_no_gravity_acts_on_arms_with_a_free_base() -> None:
    free = [arm for arm in map(sample, example_arm_names()) if isinstance(arm.base, FreeBase)]
    assert len(free) == 3
    assert all(arm.gravity == (0.0, 0.0, 0.0) for arm in free)


def test_korayem_arm_is_table_3_hanging_with_a_small_bend() -> None:
    arm = sample("korayem-two-link")
    assert arm.gravity == (0.0, -9.81, 0.0)
    for link, angle in zip(arm.links, (-90, 5), strict=True):
        assert isinstance(link.joint, Revolute)
        assert link.joint.start.position == pytest.approx(math.radians(angle))
        assert (link.length, section_of(link).mass_per_length) == (1.0, 5.0)
        assert section_of(link).EIz == pytest.approx(2e11 * 5e-9)
        assert isinstance(link.shapes, ClampedFree)
        assert (link.shapes.bending_y, link.shapes.normalise) == (1, "tip")


def test_theodore_arm_is_table_3() -> None:
    arm = sample("theodore-rrp")
    column, turning, sliding = arm.links
    assert column.rigid_body is not None
    assert column.rigid_body.inertia[:2] == pytest.approx(2 * (3.7051 * 0.1**2 / 12,))
    hubs = [link.joint.hub.outboard for link in (column, turning)]
    assert [hub.inertia[2] for hub in hubs if hub] == [0.352, 3.2]
    assert [link.length for link in (turning, sliding)] == [1.0, 1.3]
    for link in (turning, sliding):
        section = section_of(link)
        assert section.EIy == section.EIz == 1165.4916
    assert arm.payload is not None
    assert arm.payload.mass == 0.0828


def test_theodore_link_2_sees_link_3_and_payload_at_mid_stroke() -> None:
    arm = sample("theodore-rrp")
    shapes = arm.links[1].shapes
    assert isinstance(shapes, ClampedMass)
    assert not isinstance(shapes.tip, str)
    assert shapes.tip.mass == pytest.approx(0.4303 + 0.0828)
    out, inside, mu = 0.65, 1.3 - 0.65, 0.4303 / 1.3
    inertia = mu * (out**3 + inside**3) / 3 + 0.0828 * out**2
    assert shapes.tip.inertia == pytest.approx(inertia, rel=1e-4)


@pytest.mark.parametrize("name", ["theodore-rrp", "tg-rp", "tg-rrp"])
def test_sliding_link_runs_along_the_twisted_joint_axis_across_the_link_before(name: str) -> None:
    before, sliding = sample(name).links[-2:]
    assert isinstance(sliding.joint, Sliding)
    assert before.joint.dh is not None
    assert sliding.joint.before is not None
    twist = turned((before.joint.dh.alpha, 0.0, 0.0))
    mouth = twist @ turned(sliding.joint.before.rotation)
    assert mouth[:, 0] == pytest.approx(twist[:, 2])  # x along z of the Denavit-Hartenberg frame
    assert mouth[:, 0] == pytest.approx([0, -1, 0], abs=1e-15)
    assert mouth[:, 1] == pytest.approx([1, 0, 0], abs=1e-15)  # bending along y stays in the plane


def test_theodore_motion_is_the_desired_trajectory() -> None:
    motions = [getattr(link.joint, "motion", None) for link in sample("theodore-rrp-motion").links]
    ends = []
    for motion in motions:
        assert isinstance(motion, Cycloid)
        ends.append((motion.start, motion.end, motion.duration))
    expected = [(0, math.pi, 0.5), (0, math.pi / 2, 0.5), (0.3, 1.0, 0.5)]
    assert np.array(ends) == pytest.approx(np.array(expected))


def test_chen_arms_have_the_boom_of_table_1() -> None:
    for name in ("chen-rotating-link", "chen-two-link", "chen-two-link-rigid-joints"):
        for link in sample(name).links:
            section = section_of(link)
            assert link.length == 7.11
            assert (section.EIz, section.EA) == (3.8e6, 2.84e7)
    for link in sample("chen-two-link").links:
        section = section_of(link)
        assert (section.EIy, section.GJ) == (3.8e6, 1.93e6)
        assert section.Jx * link.length == pytest.approx(15.41)
        assert isinstance(link.joint, Revolute)
        assert link.joint.drive is not None
        assert link.joint.drive.stiffness == 1.33e6
        assert link.joint.drive.gear_ratio**2 * link.joint.drive.rotor_inertia == 5.0
        counts = link.shapes.model_dump(exclude={"kind", "normalise"}).values()
        assert sum(counts) == 10


def test_chu_strips_have_the_areas_given_and_the_stiffness_of_steel() -> None:
    slide, strip = sample("chu-example-1").links
    assert (slide.length, strip.length) == (0.2, 1.0)
    assert section_of(strip).EIz == pytest.approx(200e9 * 0.03 * 0.003**3 / 12)
    assert mass_per_length(section_of(strip)) / 9e-5 == pytest.approx(7850, rel=1e-3)
    links = sample("chu-example-2").links
    assert [link.length for link in links] == [0.8, 0.3]
    for link, elements in zip((strip, *links), (5, 2, 2), strict=True):
        assert isinstance(link.shapes, Elements)
        assert link.shapes.bending_y == elements
    assert [area(section_of(link)) for link in links] == pytest.approx([3e-5, 3e-5])


def test_spin_ups_reach_the_speeds_given() -> None:
    for name, rate, duration in (("spin-up-beam", 6, 15), ("chen-rotating-link", 80, 15)):
        motion = getattr(sample(name).links[0].joint, "motion", None)
        assert isinstance(motion, SpinUp)
        assert (motion.rate, motion.duration) == (rate, duration)


def test_telescope_grows_by_the_law_of_the_exact_solution() -> None:
    link = sample("telescope").links[0]
    motion = getattr(link.joint, "motion", None)
    assert isinstance(motion, Table)
    law = np.sqrt(1 + 2 * np.array(motion.times))
    assert np.array(motion.values) == pytest.approx(law, abs=1e-12)
    section = section_of(link)
    assert section.EIz == section.mass_per_length == 1.0
    assert max(motion.values) < link.length


@pytest.mark.parametrize(
    ("name", "links", "flexible", "modes"),
    [
        ("count-2-2-2", 2, 2, 2),
        ("count-3-2-2", 3, 2, 2),
        ("count-6-6-3", 6, 6, 3),
        ("chain-30", 30, 30, 2),
    ],
)
def test_count_arm_has_the_links_and_modes_of_its_name(
    name: str, links: int, flexible: int, modes: int
) -> None:
    arm = sample(name)
    bending = [link for link in arm.links if link.flexible]
    assert (len(arm.links), len(bending)) == (links, flexible)
    assert bodies(arm).count(None) == len(bodies(arm))
    for link in bending:
        counts = link.shapes.model_dump(include={"bending_y", "bending_z"}).values()
        assert sum(count for count in counts if count != "auto") == modes


@pytest.mark.parametrize("name", ["count-3-2-2", "count-6-6-3"])
def test_twists_of_the_spatial_count_arms_are_20_to_70_degrees(name: str) -> None:
    twists = [link.joint.dh.alpha for link in sample(name).links if link.joint.dh is not None]
    assert len(twists) == len(sample(name).links)
    assert all(20 <= round(math.degrees(twist)) <= 70 for twist in twists)


@pytest.mark.parametrize("name", COUNTED)
def test_counted_arm_has_two_shapes_per_plane_as_its_name_says(name: str) -> None:
    arm = sample(name)
    flexible = [link for link in arm.links if link.flexible]
    assert len(flexible) == 2
    for link in flexible:
        assert isinstance(link.shapes, Elements if name.endswith("-elements") else ClampedFree)
        assert link.shapes.bending_y == 2
        two = "-2planes" in name
        assert link.shapes.bending_z == (2 if two else "auto")
        assert section_of(link).EIy == (1165.4916 if two else None)
    assert (arm.payload is not None) == ("payload" in name)
