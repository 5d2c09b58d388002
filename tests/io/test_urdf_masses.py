"""Masses of a URDF on a flexible link: none is lost, and links sag and swing as they should."""

from pathlib import Path

import numpy as np
import pytest
from scipy.linalg import eigh
from scipy.spatial.transform import Rotation

import flexarm
from flexarm.errors import ModelError
from flexarm.io.urdf.beam import is_body, mass_along, split_at_ends
from flexarm.io.urdf.convert import import_urdf
from flexarm.io.urdf.document import chain_of, read_urdf
from flexarm.links.end_loads import body_inertia, hub_inertia, tip_inertia
from flexarm.spatial import NO_INERTIA, Array, Inertia, Pose
from tests.io.robots import write

G = 9.81
LENGTH = 0.8
EI = 1150.0


def point(mass: float, place: list[float]) -> Inertia:
    return Inertia(mass, np.zeros(3), np.zeros((3, 3))).moved(Pose(np.eye(3), np.array(place)))


def rod(mass: float, length: float) -> Inertia:
    second = mass * length**2 / 3
    turning = np.diag([1e-5, second, second])
    return Inertia(mass, np.array([mass * length / 2, 0, 0]), turning)


def ball(mass: float, place: list[float]) -> Inertia:
    return point(mass, place) + Inertia(0.0, np.zeros(3), np.eye(3) * 1e-5)


def numbers(*bodies: Inertia) -> Array:
    return np.asarray(sum(bodies, NO_INERTIA).numbers)


def cloud(random: np.random.Generator, length: float) -> Inertia:
    """Return a body of a few points, most of them along a beam."""
    places = random.normal(size=(6, 3)) * 0.2 * length
    places[:, 0] += random.uniform(-0.3, 1.3) * length
    return sum((point(random.uniform(0.1, 2), list(place)) for place in places), NO_INERTIA)


@pytest.mark.parametrize("seed", range(20))
def test_the_two_bodies_at_the_ends_are_together_the_link(seed: int) -> None:
    random = np.random.default_rng(seed)
    length = random.uniform(0.05, 3)
    body = cloud(random, length)
    if seed % 4 == 3:  # an inertia that no body has
        turn = Rotation.random(random_state=seed).as_matrix()
        matrix = turn @ np.diag(random.uniform(0, 1, 3) * [1, 1, 9]) @ turn.T
        body = Inertia(2.0, np.zeros(3), matrix).moved(Pose(turn, random.normal(size=3)))
    root, tip = split_at_ends(body, length)
    np.testing.assert_allclose(numbers(root, tip), body.numbers, rtol=1e-12, atol=1e-13)
    assert is_body(root, root)
    assert is_body(tip, tip)
    assert 0 <= tip.mass <= body.mass * (1 + 1e-15)
    if 0 < body.centre[0] < length:  # both are between the ends, the nearer to them the better
        assert -1e-9 <= root.centre[0] <= tip.centre[0] <= length + 1e-9
    else:
        assert {root.mass, tip.mass} == {0.0, body.mass}


def test_motors_at_both_ends_of_a_tube_are_found() -> None:
    motors = ball(1.3, [0, 0.02, 0]), ball(0.7, [LENGTH, 0, -0.04])
    body = rod(0.4, LENGTH) + motors[0] + motors[1]
    assert mass_along(body, rod(1.0, LENGTH), LENGTH) == pytest.approx(0.4, rel=1e-3)
    root, tip = split_at_ends(body - rod(0.4, LENGTH), LENGTH)
    mine, theirs = (sum((root, tip), NO_INERTIA) for root, tip in ((root, tip), motors))
    np.testing.assert_allclose(mine.numbers, theirs.numbers, atol=1e-13)
    for found, motor in ((root, motors[0]), (tip, motors[1])):
        assert found.mass == pytest.approx(motor.mass, rel=1e-4)
        np.testing.assert_allclose(found.centre, motor.centre, atol=1e-4)


def inertial(body: Inertia) -> str:
    xx, yy, zz, xy, xz, yz = body.central
    return (
        f'<inertial><origin xyz="{" ".join(map(repr, body.centre.tolist()))}"/><mass '
        f'value="{body.mass!r}"/><inertia ixx="{xx!r}" iyy="{yy!r}" izz="{zz!r}" ixy="{xy!r}" '
        f'ixz="{xz!r}" iyz="{yz!r}"/></inertial>'
    )


def robot(fore: Inertia | None, tool: Inertia, at: float = LENGTH, more: str = "") -> str:
    """Write a link that turns about y, along x, and a tool that is fixed to it."""
    return (
        '<robot name="one"><link name="base"/><link name="fore">'
        f'{"" if fore is None else inertial(fore)}</link><link name="tool">{inertial(tool)}</link>'
        '<joint name="turn" type="continuous"><parent link="base"/><child link="fore"/>'
        '<axis xyz="0 1 0"/></joint><joint name="flange" type="fixed"><parent link="fore"/>'
        f'<child link="tool"/><origin xyz="{at} 0 0"/></joint>{more}</robot>'
    )


def imported(
    folder: Path, text: str, further: str = "", section: str = "", tip: str = "tool"
) -> tuple[flexarm.Arm, tuple[str, ...]]:
    flex = (
        f"links: {{fore: {{section: {{EIy: {EI}, EIz: {EI}, GJ: 900{section}}}, to: [{LENGTH}, 0, "
        f"0], shapes: {{kind: loaded, static: true}}{further}}}}}"
    )
    return import_urdf(write(folder, text), flex=write(folder, flex, "f.yaml"), tip=tip)


def sag(arm: flexarm.Arm) -> float:
    """Return how far the tip hangs down, the joint held level [m]."""
    model = flexarm.build(arm)
    q = flexarm.equilibrium(model, at={"turn": 0.0}).point.q
    return -float(flexarm.formulation("composite", model).tip_pose(q)[1][2])


def first(arm: flexarm.Arm) -> float:
    """Return the first frequency, the joint locked [Hz]."""
    model = flexarm.build(arm)
    return flexarm.modes(model, joints="locked", straight=True).modes[0].frequency_hz


def clamped(density: float, lumps: list[tuple[float, float, float]]) -> tuple[float, float]:
    """Return sag [m] and first frequency [Hz] by 40 beam elements with bodies on their nodes.

    Parameters
    ----------
    density
        Mass of the beam per length [kg/m].
    lumps
        Of each body its place along the beam [m], mass [kg] and inertia there [kg m^2].
    """
    count = 40
    h = LENGTH / count
    K, M = np.zeros((2, 2 * count + 2, 2 * count + 2))
    w = np.zeros(2 * count + 2)
    for k in range(count):
        at = slice(2 * k, 2 * k + 4)
        K[at, at] += EI / h**3 * np.array(
            [[12, 6 * h, -12, 6 * h], [6 * h, 4 * h * h, -6 * h, 2 * h * h],
             [-12, -6 * h, 12, -6 * h], [6 * h, 2 * h * h, -6 * h, 4 * h * h]]
        )  # fmt: skip
        M[at, at] += density * h / 420 * np.array(
            [[156, 22 * h, 54, -13 * h], [22 * h, 4 * h * h, 13 * h, -3 * h * h],
             [54, 13 * h, 156, -22 * h], [-13 * h, -3 * h * h, -22 * h, 4 * h * h]]
        )  # fmt: skip
        w[at] += density * G * h * np.array([0.5, h / 12, 0.5, -h / 12])
    for place, mass, inertia in lumps:
        k = round(place / h)
        M[2 * k, 2 * k] += mass
        M[2 * k + 1, 2 * k + 1] += inertia
        w[2 * k] += mass * G
    values = eigh(K[2:, 2:], M[2:, 2:], eigvals_only=True, subset_by_index=[0, 0])
    return float(np.linalg.solve(K[2:, 2:], w[2:])[-2]), float(np.sqrt(values[0]) / (2 * np.pi))


def test_a_tool_at_the_end_of_a_link_bends_it(tmp_path: Path) -> None:
    """A beam with hardly any mass: P L^3 / 3 EI and its frequency."""
    text = robot(None, point(1.0, [0, 0, 0]))
    arm, notes = imported(tmp_path, text, ", inertia: section", ", mass_per_length: 1.0e-6")
    assert sag(arm) == pytest.approx(G * LENGTH**3 / (3 * EI), rel=1e-4)
    assert first(arm) == pytest.approx(np.sqrt(3 * EI / LENGTH**3) / (2 * np.pi), rel=1e-5)
    assert any(line.split() == ["tool", "1", "-", "1"] for line in notes), notes


@pytest.mark.parametrize("at", [LENGTH, LENGTH + 0.1])
def test_a_tool_on_a_link_with_mass_bends_it(tmp_path: Path, at: float) -> None:
    arm, notes = imported(tmp_path, robot(rod(0.12, LENGTH), point(1.0, [0, 0, 0]), at))
    beyond = at - LENGTH
    if beyond:  # a stiff arm of length `beyond` between beam and tool
        by_hand = G * (LENGTH**3 / 3 + beyond * LENGTH**2 + beyond**2 * LENGTH) / EI
        own = 0.12 / LENGTH * G * (LENGTH**4 / 8 + beyond * LENGTH**3 / 6) / EI
        assert sag(arm) == pytest.approx(by_hand + own, rel=1e-3)
    else:
        expected = clamped(0.12 / LENGTH, [(LENGTH, 1.0, 0.0)])
        assert (sag(arm), first(arm)) == pytest.approx(expected, rel=1e-3)
    assert not any("warning" in note for note in notes)


MOTORS = {
    "an elbow motor": [(1.0, 1.2, 0.0)],
    "motors at both ends": [(0.0, 2.0, 0.0), (1.0, 1.2, 0.0)],
    "a long motor": [(0.9, 1.2, 0.004)],
    "nothing but the tube": [],
}


@pytest.mark.few(4)
@pytest.mark.parametrize("given", [False, True], ids=["section without mass", "with"])
@pytest.mark.parametrize("name", MOTORS)
def test_a_link_with_motors_in_its_inertia_bends_as_its_parts_do(
    tmp_path: Path, name: str, given: bool
) -> None:
    """The URDF has the sum alone: parts at the ends are found exactly, others nearly so."""
    tube, motors = 0.3, MOTORS[name]
    body = rod(tube, LENGTH)
    for share, mass, inertia in motors:
        turning = Inertia(0.0, np.zeros(3), np.diag([inertia, inertia, inertia]))
        body = body + point(mass, [share * LENGTH, 0, 0]) + turning
    section = f", mass_per_length: {tube / LENGTH}" if given else ""
    arm, _ = imported(tmp_path, robot(body, point(0.5, [0, 0, 0])), section=section)
    lumps = [(share * LENGTH, mass, inertia) for share, mass, inertia in motors]
    expected = clamped(tube / LENGTH, [*lumps, (LENGTH, 0.5, 0.0)])
    exact = all(share in (0.0, 1.0) for share, _, _ in motors)
    assert (sag(arm), first(arm)) == pytest.approx(expected, rel=2e-3 if exact else 0.04)


def test_a_flexible_link_keeps_mass_centre_and_inertia(tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    text = robot(cloud(random, LENGTH), cloud(random, 0.1))
    arm, _ = imported(tmp_path, text)
    whole = chain_of(read_urdf(write(tmp_path, text)), "tool").segments[1].body
    link = arm.links[0]
    section = link.section
    assert section is not None
    beam = rod((section.mass_per_length or 0) * LENGTH, LENGTH)
    turning = Inertia(0.0, np.zeros(3), np.diag([section.Jx * LENGTH - 1e-5, 0, 0]))
    tool = body_inertia(arm.links[1].rigid_body).moved(Pose.along(LENGTH))
    found = numbers(hub_inertia(link), beam, turning, tool)
    np.testing.assert_allclose(found, whole.numbers, rtol=0, atol=1e-14 * whole.mass)


def test_what_rides_on_a_tip_before_a_joint_is_on_its_inboard_side(tmp_path: Path) -> None:
    hand = (
        f'<link name="hand">{inertial(point(0.4, [0.1, 0, 0]))}</link><joint name="wrist" '
        'type="continuous"><parent link="fore"/><child link="hand"/>'
        f'<origin xyz="{LENGTH} 0 0" rpy="0.3 0 0.2"/><axis xyz="0 0 1"/></joint>'
    )
    tool = point(1.0, [0.05, 0.01, 0.02])
    arm, _ = imported(tmp_path, robot(rod(0.12, LENGTH), tool, more=hand), tip="hand")
    assert arm.link_names == ("fore", "hand")
    left = 0.12 * 0.01 / 2  # of the tube, of which a hundredth stays at its ends
    assert tip_inertia(arm, 0).mass == pytest.approx(1.0 + left, rel=1e-12)
    np.testing.assert_allclose(tip_inertia(arm, 0).second, tool.second, atol=1e-4)


def test_a_side_file_says_what_rides_on_the_tip(tmp_path: Path) -> None:
    lump = point(2.0, [LENGTH / 2, 0, 0]) + Inertia(0.0, np.zeros(3), np.eye(3) * 1e-3)
    text = robot(lump, point(1.0, [0, 0, 0]))
    arm, notes = imported(tmp_path, text)
    assert any(note.startswith("warning: fore:") for note in notes)
    arm, notes = imported(tmp_path, text, ", tip_share: 25 %")
    assert not any("warning" in note for note in notes)
    rest = 2.0 - arm.links[0].section.mass_per_length * LENGTH  # type: ignore[union-attr,operator]
    assert hub_inertia(arm.links[0]).mass == pytest.approx(0.75 * rest, rel=1e-12)
    with pytest.raises(ModelError, match="tip_share: must be a fraction from 0 to 1, got 2"):
        imported(tmp_path, text, ", tip_share: 2")


def test_a_section_in_place_of_a_link_keeps_bodies_that_are_fixed_to_it(tmp_path: Path) -> None:
    camera = (
        f'<link name="camera">{inertial(point(0.2, [0, 0, 0.01]))}</link><joint name="bracket" '
        'type="fixed"><parent link="fore"/><child link="camera"/><origin xyz="0 0 0.05"/></joint>'
    )
    text = robot(rod(0.5, LENGTH), point(1.0, [0, 0, 0]), more=camera)
    arm, notes = imported(tmp_path, text, ", inertia: section", ", mass_per_length: 0.25")
    assert hub_inertia(arm.links[0]).mass == pytest.approx(0.2)
    assert sag(arm) == pytest.approx(clamped(0.25, [(LENGTH, 1.0, 0.0)])[0], rel=1e-3)
    assert "fore: its section has a mass of 0.2 kg, in place of the URDF's 0.5 kg" in notes


def fixed(name: str, body: Inertia, place: float) -> str:
    """Write a link on a fixed joint along the beam."""
    return (
        f'<link name="{name}">{inertial(body)}</link><joint name="to_{name}" type="fixed">'
        f'<parent link="fore"/><child link="{name}"/><origin xyz="{place} 0 0"/></joint>'
    )


def test_a_counterweight_behind_the_root_leaves_the_beam_its_mass(tmp_path: Path) -> None:
    more = fixed("counterweight", ball(2.0, [0, 0, 0]), -0.3)
    text = robot(rod(0.3, LENGTH), point(0.5, [0, 0, 0]), more=more)
    arm, notes = imported(tmp_path, text)
    expected = clamped(0.3 / LENGTH, [(LENGTH, 0.5, 0.0)])
    assert (sag(arm), first(arm)) == pytest.approx(expected, rel=1e-3)
    assert any(line.split() == ["counterweight", "2", "2", "-", "-"] for line in notes), notes
    assert not any("warning" in note for note in notes)


@pytest.mark.parametrize("place", [-0.3, LENGTH + 0.3])
def test_a_guess_of_the_mass_along_a_beam_is_a_warning(tmp_path: Path, place: float) -> None:
    body = rod(0.3, LENGTH) + ball(2.0, [place, 0, 0])
    text = robot(body, point(0.5, [0, 0, 0]))
    _, notes = imported(tmp_path, text)
    assert any("does not determine the mass along the beam" in note for note in notes), notes
    _, notes = imported(tmp_path, text, section=f", mass_per_length: {0.2999 / LENGTH}")
    assert not any("does not determine" in note for note in notes)
