"""Modes against published frequencies, simulated motion and energies; their names."""

import math

import numpy as np
import pytest

import flexarm
from flexarm import build, example_arm, example_arm_names, modes
from flexarm.arm import Arm
from flexarm.errors import FlexarmError
from flexarm.formulations import formulation
from flexarm.io.model_file import loads
from flexarm.model import Model
from tests.linear.linear_arms import de_luca, one_link, two_links
from tests.physics.cases import campaign_if

CI = ("chu-example-1", "deluca-siciliano", "tg-rr-2planes")
LETTERS = {"bending y": "y", "bending z": "z", "torsion": "twist", "stretch": "stretch"}


def hertz(arm: Arm | Model, count: int, **state: object) -> list[float]:
    """List the first elastic frequencies [Hz]."""
    return [mode.frequency_hz for mode in modes(arm, **state).elastic()[:count]]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("joints", "degrees", "expected"),
    [
        ("locked", 0, (0.43813358, 1.97279852, 2.66890523, 16.11784649)),
        ("locked", 90, (0.47795919, 1.69143003, 2.6778509, 15.95029213)),
        ("free", 0, (1.41985879, 2.64733717, 16.1170027, 22.1256768)),
        ("free", 90, (1.42099817, 2.51277461, 15.95011574, 22.10502486)),
    ],
)
def test_the_arm_of_de_luca_and_siciliano_has_its_frequencies(
    joints: str, degrees: float, expected: tuple[float, ...]
) -> None:
    model = build(de_luca(), stiffening=False)
    found = hertz(model, 4, joints=joints, at={"joint2": math.radians(degrees)})
    assert found == pytest.approx(expected, rel=1e-7)


@pytest.mark.campaign
def test_the_arm_of_usoro_has_its_frequencies() -> None:
    many = "{kind: loaded, root: held, bending_y: 8, static: true}"
    model = build(two_links(many), stiffening=False)
    for degrees, expected in {
        0: (1.9784537, 12.3987577, 34.7168805),
        90: (2.6374331, 7.1821061, 35.4602947),
    }.items():
        found = hertz(model, 3, joints="locked", at={"joint2": math.radians(degrees)})
        assert found == pytest.approx(expected, rel=5e-7)
    free = two_links("{kind: loaded, root: free, bending_y: 10, static: true}")
    found = hertz(build(free, stiffening=False), 3, joints="free", at={"joint2": math.radians(5)})
    assert found == pytest.approx((25.8932471, 44.5525003, 96.3077584), rel=1e-6)


def test_single_links_have_published_frequencies() -> None:
    gu = one_link(
        section=f"mass_per_length: {2700 * 0.05 * 0.004}, EIz: {6.9e10 * 0.05 * 0.004**3 / 12}",
        stiffening=False, rest="payload: {mass: 0.25}\n",
    )  # fmt: skip
    assert hertz(gu, 2, joints="locked") == pytest.approx((1.921906, 15.786739), rel=3e-7)
    width, height = 19.008e-3, 3.2004e-3
    tokhi = one_link(
        joint="{kind: revolute, hub: {outboard: {inertia: [0, 0, 5.8598e-4]}}}", length=0.9,
        section=f"mass_per_length: {2710 * width * height}, EIz: {71e9 * width * height**3 / 12}",
        shapes="{kind: loaded, root: free, bending_y: 5}", stiffening=False,
    )  # fmt: skip
    assert hertz(tokhi, 3) == pytest.approx((13.310354, 35.106485, 64.818549), rel=1e-6)
    chen = hertz(example_arm("chen-rotating-link"), 3)
    assert chen == pytest.approx((3.242543, 20.32067, 56.89847), rel=1e-6)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("extension", "expected"),
    [(0.3, (175.6187, 1720.119)), (0.65, (49.04398, 385.0750)), (1.0, (23.38656, 168.5833))],
)
def test_the_sliding_link_of_theodore_and_ghosal_has_its_frequencies(
    extension: float, expected: tuple[float, float]
) -> None:
    arm = loads(
        "flexarm: 1\nname: link 3\ngravity: [0, 0, 0]\nstiffening: false\nlinks:\n"
        "  - joint: {kind: sliding, limits: {lower: 0.25, upper: 1.1}, start: {position: 0.3}}\n"
        "    length: 1.3\n    section: {mass_per_length: 0.331, EIy: 1165.4916}\n"
        "    shapes: {kind: clamped-mass, tip: auto, follow: true, bending_z: 2}\n"
        "payload: {mass: 0.0828}\n"
    )
    assert hertz(arm, 2, at={"joint1": extension}) == pytest.approx(expected, rel=5e-7)


def test_an_elastic_joint_has_the_frequencies_of_two_inertias_and_a_spring() -> None:
    arm = loads(
        "flexarm: 1\nname: Spong\ngravity: [0, 0, 0]\nlinks:\n  - joint: {kind: revolute, "
        "drive: {rotor_inertia: 1, gear_ratio: 1, stiffness: 100}}\n"
        "    body: {mass: 0, inertia: [0, 0, 1]}\n"
    )
    free = modes(arm)
    assert [mode.name for mode in free.modes] == ["joint 1 rigid body", "joint 1 wind-up"]
    assert free["joint 1 wind-up"].frequency_rad_s == pytest.approx(math.sqrt(200), rel=1e-12)
    assert free["joint 1 wind-up"].participation == pytest.approx(
        {"joint1.motor": 0.5, "joint1": 0.5}
    )
    locked = modes(arm, joints="locked")
    assert locked["joint 1 wind-up"].frequency_rad_s == pytest.approx(10, rel=1e-12)


def test_decay_and_frequency_are_those_of_a_simulated_motion() -> None:
    """A mode's shape as initial state rings at its own eigenvalue: recovered from samples."""
    arm = one_link(
        joint="{kind: revolute, hub: {outboard: {inertia: [0, 0, 0.2]}}, friction: {viscous: 0.3}}",
        section="mass_per_length: 1, EIz: 10", shapes="{kind: loaded, root: free, bending_y: 2}",
        rest="    damping: 0.03\n",
    )  # fmt: skip
    mode = modes(arm)["link 1 bending y 1"]
    scale = 1e-4 / mode.shape[1]
    q, v = np.real(scale * mode.shape), np.real(scale * mode.eigenvalue * mode.shape)
    link = arm.links[0]
    start = link.joint.start.model_copy(update={"position": float(q[0]), "speed": float(v[0])})  # type: ignore[union-attr]
    update = {
        "joint": link.joint.model_copy(update={"start": start}),
        "start": {"y1": float(q[1]), "y2": float(q[2])},
        "start_speed": {"y1": float(v[1]), "y2": float(v[2])},
    }
    ringing = arm.model_copy(update={"links": type(arm.links)([link.model_copy(update=update)])})
    run = flexarm.simulate(ringing, t_end=1.0, dt=0.01, rtol=1e-9)
    y = run.q[:, 1]
    (first, second), *_ = np.linalg.lstsq(np.stack([y[1:-1], y[:-2]], axis=1), y[2:], rcond=None)
    roots = np.log(np.roots([1, -first, -second]).astype(complex)) / 0.01
    assert max(roots.imag) == pytest.approx(mode.eigenvalue.imag, rel=1e-6)
    assert max(roots.real) == pytest.approx(mode.eigenvalue.real, rel=1e-5)
    assert mode.damping_ratio > 0.03


def test_gravity_makes_a_pendulum_of_a_free_joint_and_topples_it_upside_down() -> None:
    arm = one_link(
        section="mass_per_length: 1, EIz: 1.0e5", shapes="{kind: loaded, bending_y: 1}",
        gravity="[0, -9.81, 0]",
    )  # fmt: skip
    hanging = modes(arm, joints="free", at={"joint1": -math.pi / 2})["joint 1 swing"]
    assert hanging.frequency_rad_s == pytest.approx(math.sqrt(1.5 * 9.81), rel=1e-3)
    upside = modes(arm, joints="free", at={"joint1": math.pi / 2})["joint 1 fall"]
    assert upside.eigenvalue.real == pytest.approx(math.sqrt(1.5 * 9.81), rel=1e-3)


def test_motions_that_fall_are_sorted_with_the_others_and_keep_their_shapes() -> None:
    """Two joints of the Puma fall and one swings: each is a motion of its own."""
    found = modes(example_arm("puma-560"))
    sizes = [mode.frequency_hz for mode in found.modes]
    assert sizes == sorted(sizes)
    assert [mode.kind for mode in found.elastic()] == ["growth", "growth", "vibration"]
    eq, h = formulation("articulated", found.model), 1e-5
    point = found.equilibrium.point
    for mode in found.elastic():
        way = mode.shape.real / np.abs(mode.shape).max()
        ahead, back = (
            eq.forward_dynamics(point.q + sign * h * way, point.v, point.u) for sign in (1, -1)
        )
        expected = (mode.eigenvalue**2).real * way
        assert (ahead - back) / (2 * h) == pytest.approx(expected, abs=1e-5)


def test_rotation_alone_damps_nothing() -> None:
    found = modes(example_arm("spin-up-beam"), speeds={"joint1": 6.0}).modes
    assert all(mode.damping_ratio == 0 for mode in found)


def test_friction_in_a_free_joint_is_a_decay_and_not_a_rigid_body_motion() -> None:
    arm = loads(
        "flexarm: 1\nname: wheel\ngravity: [0, 0, 0]\nlinks:\n"
        "  - joint: {kind: revolute, friction: {viscous: 0.5}}\n"
        "    body: {mass: 0, inertia: [0, 0, 2]}\n"
    )
    (only,) = modes(arm).modes
    assert (only.kind, only.name) == ("decay", "joint 1 decay")
    assert only.eigenvalue == pytest.approx(-0.25)


def test_equal_planes_of_bending_get_one_mode_each() -> None:
    arm = one_link(
        section="mass_per_length: 1, EIz: 10, EIy: 10",
        shapes="{kind: loaded, bending_y: 2, bending_z: 2}",
    )
    names = [mode.name for mode in modes(arm, joints="locked").modes]
    assert sorted(names) == [f"link 1 bending {plane} {k}" for plane in "yz" for k in (1, 2)]


def energies(model: Model, shape: np.ndarray, q: np.ndarray) -> dict[str, float]:
    """Measure each place's elastic energy with all others at rest, by the energy itself."""
    eq, still = formulation("composite", model), np.zeros(model.size)
    rest = eq.energy(q, still).elastic
    found: dict[str, float] = {}

    def measure(label: str, kept: list[int]) -> None:
        way = np.zeros(model.size)
        way[kept] = shape[kept]
        if np.any(way):
            way *= 1e-4 / np.abs(way).max()
            ratio = float(np.abs(shape[kept]).max()) / 1e-4
            both = [eq.energy(q + sign * way, still).elastic for sign in (1, -1)]
            found[label] = (sum(both) - 2 * rest) * ratio**2

    for index, part in enumerate(model.links, 1):
        for joint, motor in ((a.index, a.motor) for a in part.axes if a.motor is not None):
            measure(f"joint {index} wind-up", [motor])
            twisted = shape[motor] - shape[joint]
            ratio = abs(twisted / shape[motor]) ** 2 if shape[motor] else 0.0
            found[f"joint {index} wind-up"] = found.get(f"joint {index} wind-up", 0.0) * ratio
            if not shape[motor]:
                measure(f"joint {index} wind-up", [joint])
        for word, letter in LETTERS.items():
            kept = [
                i
                for i in range(part.modes.start, part.modes.stop)
                if model.names[i].split(".")[-1].rstrip("0123456789").removeprefix("slope_")
                == letter
            ]
            if kept:
                measure(f"link {index} {word}", kept)
    return found


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "name",
    [
        name if name in CI else pytest.param(name, marks=pytest.mark.campaign)
        for name in example_arm_names()
    ],
)
@pytest.mark.parametrize("joints", ["free", "locked"])
def test_a_mode_is_named_after_where_its_strain_energy_is(name: str, joints: str) -> None:
    found = modes(example_arm(name), joints=joints)  # type: ignore[arg-type]
    model, q = found.model, found.equilibrium.point.q
    names = [mode.name for mode in found.modes]
    assert len(set(names)) == len(names)
    for mode in found.elastic()[:6]:
        assert sum(mode.participation.values()) == pytest.approx(1)
        assert min(mode.participation.values()) >= 0
        title = _by_number(model, mode.name.rstrip("0123456789").strip())
        if title.split()[-1] in ("swing", "fall"):
            continue
        stored = energies(model, mode.shape.real, q)
        places = _places(title)
        named = [stored[place] for place in places]
        rest = [value for place, value in stored.items() if place not in places]
        assert max(named) >= 0.999 * max(stored.values())
        if len(named) > 1:
            assert min(named) >= 0.399 * max(named)
            assert min(named) >= 0.999 * max(rest, default=0.0)


def _places(title: str) -> list[str]:
    """Split ``links 1+2 bending y`` into the places that it names."""
    owners, _, what = title.removeprefix("links ").partition(" ")
    if "+" not in owners:
        return [title]
    return [f"link {owner} {what}" for owner in owners.split("+")]


@pytest.mark.parametrize(("joints", "count"), [("free", 7), ("locked", 6)])
@pytest.mark.parametrize(
    "name", ["tg-rr-2planes", pytest.param("tg-rrr-2planes", marks=pytest.mark.campaign)]
)
def test_modes_that_two_links_share_are_named_alike_with_shapes_and_with_elements(
    name: str, joints: str, count: int
) -> None:
    """One arm in two families: what holds most differs, between 0.3 and 0.7, but not the name."""
    names = [
        [mode.name for mode in modes(example_arm(each), joints=joints).elastic()[:count]]  # type: ignore[arg-type]
        for each in (name, f"{name}-elements")
    ]
    assert names[0] == names[1]
    links = "2+3" if "rrr" in name else "1+2"
    assert f"links {links} bending z 2" in names[0]


@pytest.mark.parametrize(
    "name", [pytest.param("tg-rr-2planes", marks=pytest.mark.campaign), "tg-rr-2planes-elements"]
)
def test_the_shares_of_a_link_are_its_part_of_the_strain_energy(name: str) -> None:
    """Also with nodes, whose single energies overlap; against the energy itself."""
    found = modes(example_arm(name), joints="locked")
    for mode in found.modes[:6]:
        stored = energies(found.model, mode.shape.real, found.equilibrium.point.q)
        assert min(mode.participation.values()) >= 0
        for link in ("1", "2"):
            share = sum(x for key, x in mode.participation.items() if key[:5] == f"link{link}")
            part = sum(x for key, x in stored.items() if key[:6] == f"link {link}")
            assert share == pytest.approx(part / sum(stored.values()), abs=1e-6)


def _by_number(model: Model, title: str) -> str:
    """Replace names that the file gives by numbers."""
    given_by = {part.name: str(index) for index, part in enumerate(model.links, 1)}
    first, _, rest = title.partition("+")
    if first in given_by:
        second, _, what = rest.partition(" ")
        return f"links {given_by[first]}+{given_by[second]} {what}"
    for index, part in enumerate(model.links, 1):
        for given, word in ((part.name, "link"), (part.joint_name, "joint")):
            if title.startswith(f"{given} "):
                return title.replace(given, f"{word} {index}", 1)
    return title


def test_rigid_body_motions_are_counted_and_named_on_a_free_base() -> None:
    found = modes(example_arm("graves-rms"))
    rigid = [mode.name for mode in found.modes if mode.kind == "rigid"]
    assert rigid[:6] == [f"base {axis} rigid body" for axis in ("x", "y", "z", "rx", "ry", "rz")]
    assert len(rigid) == 12
    assert all(mode.frequency_hz > 0.1 for mode in found.elastic())


def test_what_is_not_known_is_refused() -> None:
    arm = de_luca("{kind: loaded, bending_y: 1}")
    with pytest.raises(FlexarmError, match="joints: must be free, locked, or a mapping"):
        modes(arm, joints="loose")  # type: ignore[arg-type]
    with pytest.raises(FlexarmError, match="joint1: must be free or locked, got 'stuck'"):
        modes(arm, joints={"joint1": "stuck"})  # type: ignore[dict-item]
    with pytest.raises(FlexarmError, match="no mode 'link 9'"):
        modes(arm)["link 9"]
    assert modes(arm, joints={"joint1": "locked"}).states == {"joint1": "locked", "joint2": "free"}


STRETCHY = "mass_per_length: 2, EIz: 50, EIy: 80, GJ: 30, Jx: 0.01, EA: {stiffness}"
STATES: dict[str, tuple[float, str, dict[str, float]]] = {
    "turning": (2e4, "[0, 0, 0]", {"joint1": 20.0}),
    "turning slowly": (2e4, "[0, 0, 0]", {"joint1": 5.0}),
    "hanging": (500.0, "[9.81, 0, 0]", {}),
    "sagging": (500.0, "[0, -9.81, 0]", {}),
    "straight": (2e4, "[0, 0, 0]", {}),
}


@pytest.mark.campaign
@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("state", "kind"),
    [
        pytest.param(state, kind, marks=campaign_if(kind != "loaded" and state not in states))
        for kind, states in {
            "loaded": (),
            "polynomials": ("turning",),
            "clamped-free": ("sagging",),
            "craig-bampton": ("hanging",),
        }.items()
        for state in STATES
    ],
)
def test_names_about_a_stretched_state_count_each_directions_shapes(kind: str, state: str) -> None:
    stiffness, gravity, speeds = STATES[state]
    arm = one_link(
        section=STRETCHY.format(stiffness=stiffness),
        shapes=f"{{kind: {kind}, bending_y: 3, bending_z: 2, torsion: 1, stretch: 3}}",
        gravity=gravity,
        rest="payload: {mass: 5, inertia: [0.01, 0.01, 0.01]}\n",
    )
    found = modes(arm, joints="locked", speeds=speeds)
    words = {"y": "bending y", "z": "bending z", "twist": "torsion", "stretch": "stretch"}
    expected = sorted(
        f"link 1 {words[name.removeprefix('link1.').rstrip('0123456789')]} {name[-1]}"
        for name in found.model.names[1:]
    )
    assert sorted(mode.name for mode in found.modes) == expected
    assert found.modes[0].name == "link 1 bending y 1"
    for mode in found.modes:
        word = mode.name.removeprefix("link 1 ")[:-2]
        own = [n for n in mode.participation if words[n[6:].rstrip("0123456789")] == word]
        assert sum(mode.participation[n] for n in own) > 0.5
