"""Numbers that follow from a sample's data by hand: frequencies, twists, inertias."""

import math
from collections.abc import Callable
from functools import cache

import numpy as np
import numpy.typing as npt
import pytest
from scipy.linalg import eigh
from scipy.optimize import brentq

from flexarm.arm import Arm, Link, Revolute
from flexarm.arm.section import Tube
from flexarm.io.model_file import load
from flexarm.samples import sample_path

Array = npt.NDArray[np.float64]


@cache
def sample(name: str) -> Arm:
    """Load a sample."""
    return load(sample_path(name))


def section(link: Link) -> dict[str, float]:
    """Numbers of a link's section by name."""
    assert link.section is not None
    return {name: value for name, value in link.section if isinstance(value, float)}


def roots(function: Callable[[float], float], count: int) -> list[float]:
    """Find the first positive roots by walking and bisection."""
    grid = np.arange(0.02, 4.0 * count + 2, 0.01)
    values = [function(float(x)) for x in grid]
    found = [
        float(brentq(function, float(grid[i]), float(grid[i + 1]), xtol=1e-14))
        for i in range(len(grid) - 1)
        if values[i] * values[i + 1] < 0
    ]
    return found[:count]


def clamped(count: int, *, mass: float = 0.0, inertia: float = 0.0, offset: float = 0.0) -> Array:
    """Eigenvalues of a clamped beam with a tip body, in units of the beam's mass and length."""

    def determinant(b: float) -> float:
        c, s, ch, sh = math.cos(b), math.sin(b), math.cosh(b), math.sinh(b)
        return (
            (1 + ch * c)
            - mass * b * (ch * s - sh * c)
            - inertia * b**3 * (ch * s + sh * c)
            + (mass * inertia - offset**2) * b**4 * (1 - ch * c)
            - 2 * offset * b**2 * sh * s
        )

    return np.array(roots(determinant, count))


def bending(link: Link, length: float, eigenvalues: Array) -> Array:
    """Circular frequencies [rad/s] of a bending link of given length."""
    data = section(link)
    scale = math.sqrt(data["EIz"] / data["mass_per_length"]) / length**2
    return np.asarray(eigenvalues**2 * scale)


def agree(values: Array, printed: str) -> bool:
    """Say whether values round to the printed ones."""
    texts = printed.split()
    last = [10.0 ** -len(text.partition(".")[2]) for text in texts]
    errors = np.abs(values - np.array(texts, dtype=float))
    return len(texts) == len(values) and bool(np.all(errors <= 0.5001 * np.array(last)))


def hertz(omega: Array) -> Array:
    """Turn rad/s into Hz."""
    return np.asarray(omega / (2 * math.pi))


@pytest.mark.parametrize(
    ("name", "printed"),
    [
        ("korayem-two-link", "7.913815 49.595031 138.867522"),
        ("chen-rotating-link", "3.242543 20.32067 56.89846"),
        ("chen-two-link", "3.242543 20.32067 56.89846"),
    ],
)
def test_clamped_free_frequencies_in_hertz(name: str, printed: str) -> None:
    for link in sample(name).links:
        assert agree(hertz(bending(link, link.length, clamped(3))), printed)


@pytest.mark.parametrize("name", ["theodore-rrp", "tg-rrp"])
def test_theodore_link_2_has_the_exact_column_of_table_1(name: str) -> None:
    link = sample(name).links[1]
    printed = "208.637 1307.506 3661.054 7174.205 11859.474"
    assert agree(bending(link, link.length, clamped(5)), printed)


@pytest.mark.parametrize(
    ("length", "printed"),
    [
        (0.3, "175.6187 1720.119"),
        (0.65, "49.04398 385.0750"),
        (1.0, "23.38656 168.5833"),
    ],
)
def test_theodore_link_3_with_payload_at_three_lengths(length: float, printed: str) -> None:
    arm = sample("theodore-rrp")
    link = arm.links[2]
    assert arm.payload is not None
    ratio = arm.payload.mass / (section(link)["mass_per_length"] * length)
    assert agree(hertz(bending(link, length, clamped(2, mass=ratio))), printed)


@pytest.mark.parametrize(
    ("elbow", "printed"),
    [(0, ".440983 1.985852"), (90, ".479693 1.796589"), (180, ".530751 1.654051")],
)
def test_deluca_link_1_carries_elbow_link_2_and_payload(elbow: int, printed: str) -> None:
    arm = sample("deluca-siciliano")
    first, second = arm.links
    hub, payload, length = second.joint.hub.outboard, arm.payload, second.length
    assert hub is not None
    assert payload is not None
    beam = section(second)["mass_per_length"] * length
    mass = beam + hub.mass + payload.mass
    inertia = beam * length**2 / 3 + hub.inertia[2] + payload.inertia[2] + payload.mass * length**2
    lever = (beam / 2 + payload.mass) * length * math.cos(math.radians(elbow))
    unit = section(first)["mass_per_length"] * first.length
    eigenvalues = clamped(
        2,
        mass=mass / unit,
        inertia=inertia / (unit * first.length**2),
        offset=lever / (unit * first.length),
    )
    assert agree(hertz(bending(first, first.length, eigenvalues)), printed)


def test_deluca_link_2_carries_the_payload() -> None:
    arm = sample("deluca-siciliano")
    link = arm.links[1]
    assert arm.payload is not None
    unit = section(link)["mass_per_length"] * link.length
    eigenvalues = clamped(
        2,
        mass=arm.payload.mass / unit,
        inertia=arm.payload.inertia[2] / (unit * link.length**2),
    )
    assert agree(hertz(bending(link, link.length, eigenvalues)), "2.178334 15.914513")


def test_chen_torsion_counts_the_whole_links_inertia() -> None:
    link = sample("chen-two-link").links[0]
    data = section(link)
    omega = math.pi / 2 * math.sqrt(data["GJ"] / data["Jx"]) / link.length
    assert agree(np.array([omega]), "208.479")


def test_chen_link_2_twists_link_1_by_its_weight() -> None:
    arm = sample("chen-two-link")
    first, second = arm.links
    before = second.joint.before
    assert before is not None
    weight = section(second)["mass_per_length"] * second.length * -arm.gravity[1]
    twist = weight * before.position[2] * first.length / section(first)["GJ"]
    assert twist == pytest.approx(5.40530e-3, abs=6e-9)


def test_spin_up_beam_is_slower_than_its_spin_and_stretches_as_published() -> None:
    link = sample("spin-up-beam").links[0]
    data = section(link)
    assert agree(bending(link, link.length, clamped(1)), "3.797731")
    stretch = data["mass_per_length"] * 6**2 * link.length**3 / (3 * data["EA"])
    assert stretch == pytest.approx(5.142857e-4, abs=6e-11)


def tube(link: Link) -> tuple[float, float]:
    """Mass per length [kg/m] and bending stiffness [N m^2] of a tubular link."""
    assert link.section is not None
    assert link.section.material is not None
    shape = link.section.shape
    assert isinstance(shape, Tube)
    assert shape.thickness is not None
    outer, inner = shape.diameter, shape.diameter - 2 * shape.thickness
    area = math.pi / 4 * (outer**2 - inner**2)
    second_moment = math.pi / 64 * (outer**4 - inner**4)
    return link.section.material.density * area, link.section.material.E * second_moment


@pytest.mark.parametrize(("index", "transverse", "roll"), [(1, 998.63, 3.225), (2, 632.9, 1.59)])
def test_rms_arms_have_the_published_inertia(index: int, transverse: float, roll: float) -> None:
    link = sample("graves-rms").links[index]
    root, tip = link.root_piece, link.tip_piece
    assert root is not None
    assert tip is not None
    per_length, stiffness = tube(link)
    beam = per_length * link.span
    rotary = stiffness / 110e9 * 1600 * link.span  # of the boom's sections about a diameter
    ends = (root.body.com[0], link.length - tip.length + tip.body.com[0])
    assert sum(ends) == pytest.approx(link.length)  # symmetric: the centre is the middle
    lever = link.length / 2 - ends[0]
    own = root.body.inertia[1] + tip.body.inertia[1]
    points = (root.body.mass + tip.body.mass) * lever**2
    assert points + own + beam * link.span**2 / 12 + rotary == pytest.approx(transverse, rel=1e-3)
    assert root.body.inertia[0] + tip.body.inertia[0] + 2 * rotary == pytest.approx(roll, rel=1e-3)


class Chain:
    """A straight planar chain of beams, rigid pieces, springs and bodies, clamped at its root."""

    def __init__(self) -> None:
        self.stiffness, self.mass = np.zeros((80, 80)), np.zeros((80, 80))
        self.size, self.at = 0, (-1, -1)  # indices of deflection and slope; -1 is the ground

    def _add(self, matrix: Array, indices: tuple[int, ...], block: Array) -> None:
        for a, i in enumerate(indices):
            for b, j in enumerate(indices):
                if min(i, j) >= 0:
                    matrix[i, j] += block[a, b]

    def spring(self, stiffness: float) -> None:
        """Put in an elastic joint."""
        new = self.size
        self.size += 1
        self._add(self.stiffness, (self.at[1], new), stiffness * np.array([[1, -1], [-1, 1]]))
        self.at = (self.at[0], new)

    def body(self, mass: float, inertia: float) -> None:
        """Put a body at the present end."""
        self._add(self.mass, self.at, np.diag([mass, inertia]))

    def beam(self, length: float, stiffness: float = 1e9, mass_per_length: float = 0.0) -> None:
        """Add one Hermite element; the default is as good as rigid."""
        x = length
        new = (self.size, self.size + 1)
        self.size += 2
        bend = np.array(
            [[12, 6 * x, -12, 6 * x], [6 * x, 4 * x * x, -6 * x, 2 * x * x],
             [-12, -6 * x, 12, -6 * x], [6 * x, 2 * x * x, -6 * x, 4 * x * x]]
        )  # fmt: skip
        move = np.array(
            [[156, 22 * x, 54, -13 * x], [22 * x, 4 * x * x, 13 * x, -3 * x * x],
             [54, 13 * x, 156, -22 * x], [-13 * x, -3 * x * x, -22 * x, 4 * x * x]]
        )  # fmt: skip
        self._add(self.stiffness, (*self.at, *new), stiffness / x**3 * bend)
        self._add(self.mass, (*self.at, *new), mass_per_length * x / 420 * move)
        self.at = new

    def frequencies(self, count: int) -> Array:
        """Lowest circular frequencies [rad/s]."""
        n = self.size
        squares = eigh(self.mass[:n, :n], self.stiffness[:n, :n], eigvals_only=True)
        return np.asarray(squares[: -count - 1 : -1] ** -0.5)


def test_theodore_link_2_in_two_elements_has_the_frequencies_of_table_1() -> None:
    link = sample("theodore-rrp-elements").links[1]
    data, chain = section(link), Chain()
    for _ in range(2):
        chain.beam(link.length / 2, data["EIz"], data["mass_per_length"])
    printed = np.array([208.73, 1318.6, 4459.7, 12944])  # cut off, not rounded
    cut = chain.frequencies(4) - printed
    assert np.all(cut > 0)
    assert np.all(cut < [0.01, 0.1, 0.1, 1])


def test_rms_without_payload_swings_in_pitch_at_044_hz_with_motors_held() -> None:
    chain = Chain()
    for link in sample("graves-rms").links[1:]:
        joint = link.joint
        assert isinstance(joint, Revolute)
        assert joint.drive is not None
        if joint.axis == (0.0, -1.0, 0.0):
            assert isinstance(joint.drive.stiffness, float)
            chain.spring(joint.drive.stiffness)
        if link.rigid_body is not None:
            chain.beam(link.rigid_body.com[0])
            chain.body(link.rigid_body.mass, link.rigid_body.inertia[1])
            chain.beam(link.length - link.rigid_body.com[0])
            continue
        per_length, stiffness = tube(link)
        for piece in (link.root_piece, link.tip_piece):
            assert piece is not None
            chain.beam(piece.body.com[0])
            chain.body(piece.body.mass, piece.body.inertia[1])
            chain.beam(piece.length - piece.body.com[0])
            if piece is link.root_piece:
                for _ in range(4):
                    chain.beam(link.span / 4, stiffness, per_length)
    assert hertz(chain.frequencies(1)) == pytest.approx([0.442], abs=0.002)
