"""Each notice of `check`: provoked by a small arm, and gone when its cause is."""

import math
import re

import numpy as np
import pytest

from flexarm.accuracy.slender import shear_error, shear_ratio
from flexarm.arm import Arm
from flexarm.arm.section import Material, Section, Tube
from flexarm.check.check import check
from flexarm.check.report import Notice
from flexarm.errors import ModelError
from flexarm.io.model_file import loads
from flexarm.linear.modes import modes
from flexarm.links.base import Span
from flexarm.links.basis import MOTIONS

PLANAR = "section: {mass_per_length: 5, EIz: 1000}"
SPATIAL = "section: {mass_per_length: 5, EIz: 1000, EIy: 1000, GJ: 700, EA: 2e7, Jx: 5.0e-4}"
BODY = "body: {mass: 1, com: [0.5, 0, 0]}"
DOWN = "gravity: [0, -9.81, 0]"


def notices(links: str, head: str = DOWN) -> list[Notice]:
    """Check an arm given by the text of its links."""
    return list(check(loads(f"flexarm: 1\nname: arm\n{head}\nlinks:\n{links}")).notices)


def less_damping(links: str) -> list[Notice]:
    """Pick what is said of an arm whose slowest mode has less damping than its links."""
    return [each for each in notices(links) if each.code == "less-damping"]


def link(rest: str = PLANAR, joint: str = "", length: float = 1.0) -> str:
    """Write a link on a revolute joint about z, with more about the joint."""
    return f"  - joint: {{kind: revolute{joint}}}\n    length: {length}\n    {rest}\n"


def shaped(shapes: str, rest: str = SPATIAL, more: str = "") -> str:
    """Write a link with given shapes."""
    return link(f"{rest}\n    shapes: {{kind: loaded, {shapes}}}{more}")


SLIDING = f"""
  - joint: {{kind: sliding, start: {{position: START}}}}
    length: 1
    {PLANAR}
    start: {{y1: 0.01}}
"""

AFLOAT = "gravity: [0, 0, 0]\nbase: {kind: free, body: {mass: 9, inertia: [1, 1, 1]}"

# code, place, an arm that has it (links, head), and the same arm without the cause
CASES = [
    (
        "start-in-contact",
        "contacts[1]",
        (
            link(),
            f"{DOWN}\ncontacts: [{{obstacle: {{kind: plane, normal: [-1, 0, 0]}}, stiffness: 1}}]",
        ),
        (
            link(),
            f"{DOWN}\ncontacts: [{{obstacle: {{kind: plane, normal: [1, 0, 0]}}, stiffness: 1}}]",
        ),
    ),
    (
        "odd-gravity",
        "gravity",
        (link(), "gravity: [0, -9810, 0]"),
        (link(), "gravity: [0, -1.62, 0]"),
    ),
    (
        "odd-orbit",
        "base.orbit.rate",
        (link(), f"{AFLOAT}, orbit: {{rate: 0.1}}}}"),
        (link(), f"{AFLOAT}, orbit: {{rate: 1e-3}}}}"),
    ),
    (
        "far-from-orbit",
        "base.position",
        (link(), f"{AFLOAT}, orbit: {{rate: 1e-3}}, position: [0, 100 km, 0]}}"),
        (link(), f"{AFLOAT}, orbit: {{rate: 1e-3}}, position: [0, 10 km, 0]}}"),
    ),
    (
        "odd-units",
        "links[1].length",
        (link(BODY, length=2000), DOWN),
        (link(BODY, length=900), DOWN),
    ),
    (
        "odd-units",
        "links[1].length",
        (link(BODY, length=2e-4), DOWN),
        (link(BODY, length=2e-3), DOWN),
    ),
    (
        "odd-units",
        "links[1].section",
        (link("section: {mass_per_length: 2e5, EIz: 1e9}"), DOWN),
        (link("section: {mass_per_length: 2e3, EIz: 1e9}"), DOWN),
    ),
    (
        "odd-units",  # E = 70 instead of 70 GPa
        "links[1].section",
        (shaped("bending_y: 1, bending_z: 0, torsion: 0", SPATIAL.replace("2e7", "2e-2")), DOWN),
        (shaped("bending_y: 1, bending_z: 0, torsion: 0", SPATIAL), DOWN),
    ),
    (
        "odd-units",  # too soft: 1e-4 Hz
        "links[1].section",
        (link("section: {mass_per_length: 5, EIz: 1e-8}"), DOWN),
        (link("section: {mass_per_length: 5, EIz: 1e-2}"), DOWN),
    ),
    (
        "odd-units",  # the two planes a factor of 1e7 apart
        "links[1].section",
        (shaped("bending_z: 0", "section: {mass_per_length: 5, EIz: 1000, EIy: 1e10}"), DOWN),
        (shaped("bending_z: 0", "section: {mass_per_length: 5, EIz: 1000, EIy: 1e6}"), DOWN),
    ),
    (
        "start-outside-limits",
        "links[1].joint.start",
        (link(joint=", start: {position: 2}, limits: {lower: -1, upper: 1}"), DOWN),
        (link(joint=", start: {position: 1}, limits: {lower: -1, upper: 1}"), DOWN),
    ),
    (
        "start-outside-limits",
        "links[1].joint.start",
        (link(joint=", start: {speed: -2}, limits: {speed: 1}"), DOWN),
        (link(joint=", start: {speed: -1}, limits: {speed: 1}"), DOWN),
    ),
    (
        "start-outside-limits",
        "links[1].joint.motion",
        (
            link(
                joint=", actuation: prescribed, limits: {upper: 1}, "
                "motion: {kind: cycloid, start: 2, end: 0, duration: 1}"
            ),
            DOWN,
        ),
        (
            link(
                joint=", actuation: prescribed, limits: {upper: 1}, "
                "motion: {kind: cycloid, start: 0, end: 2, duration: 1}"
            ),
            DOWN,
        ),
    ),
    (
        "start-outside-shapes",
        "links[1].joint.limits",
        (SLIDING.replace("START", "0.02"), DOWN),
        (SLIDING.replace("START", "0.5"), DOWN),
    ),
    (
        "gear-speeds-up",
        "links[1].joint.drive.gear_ratio",
        (link(joint=", drive: {rotor_inertia: 1, gear_ratio: -0.01}"), DOWN),
        (link(joint=", drive: {rotor_inertia: 1, gear_ratio: -100}"), DOWN),
    ),
    (
        "impossible-inertia",
        "links[1].body.inertia",
        (link("body: {mass: 1, inertia: [0.1, 0.1, 0.3]}"), DOWN),
        (link("body: {mass: 1, inertia: [0.1, 0.2, 0.3]}"), DOWN),
    ),
    (
        "impossible-inertia",  # found in principal axes
        "payload.inertia",
        (link() + "payload: {mass: 1, inertia: [0.2, 0.2, 0.2, 0.19, 0, 0]}", DOWN),
        (link() + "payload: {mass: 1, inertia: [0, 0, 0.2]}", DOWN),
    ),
    (
        "large-damping",
        "links[1].damping",
        (link(f"{PLANAR}\n    damping: 0.5"), DOWN),
        (link(f"{PLANAR}\n    damping: 0.05"), DOWN),
    ),
    (
        "less-damping",  # of the whole arm, which is slower than its root link alone
        "links[1].damping",
        (link(f"{PLANAR}\n    damping: 0.01") + link(f"{PLANAR}\n    damping: 0.01"), DOWN),
        (link(f"{PLANAR}\n    damping: 0.01"), DOWN),
    ),
    (
        "missing-damping",
        "links[1].damping",
        (shaped("bending_y: 3", PLANAR, "\n    damping: [0.01, 0.01]"), DOWN),
        (shaped("bending_y: 3", PLANAR, "\n    damping: 0.01"), DOWN),
    ),
    (
        "stubby-link",
        "links[1].section",
        (shaped("bending_y: 4, bending_z: 0, torsion: 0", SPATIAL.replace("2e7", "4e5")), DOWN),
        (shaped("bending_y: 1, bending_z: 0, torsion: 0", SPATIAL.replace("2e7", "4e5")), DOWN),
    ),
    (
        "no-inertia",
        "links[1]",
        (link(BODY, ", axis: [1, 0, 0]"), DOWN),
        (link(BODY, ", axis: [1, 0, 0], drive: {rotor_inertia: 1.0e-3}"), DOWN),
    ),
    (
        "no-inertia",  # two coaxial joints: only their sum moves anything
        "links[1]",
        (link("rigid: false", length=0) + link(BODY), DOWN),
        (link("rigid: false", ", hub: {outboard: {inertia: [0, 0, 1]}}", 0) + link(BODY), DOWN),
    ),
    (
        "stretch-sets-step",
        "links[1].shapes",
        (shaped("bending_y: 2, bending_z: 0, torsion: 0, stretch: 1"), DOWN),
        (shaped("bending_y: 2, bending_z: 0, torsion: 0, stretch: 0"), DOWN),
    ),
    (
        "damping-sets-step",
        "links[1]",
        (link(joint=", friction: {coulomb: 1, smoothing: 1.0e-4}"), DOWN),
        (link(joint=", friction: {viscous: 1.0e-3}"), DOWN),
    ),
    (
        "negative-stiffness",
        "links",
        (link(f"{PLANAR}\n    elastic_energy: [{{coefficient: -9e3, powers: {{y1: 2}}}}]"), DOWN),
        (link(f"{PLANAR}\n    elastic_energy: [{{coefficient: 9e3, powers: {{y1: 2}}}}]"), DOWN),
    ),
]


@pytest.mark.few(5)
@pytest.mark.parametrize(
    ("code", "place", "odd", "even"), CASES, ids=[f"{c[0]}-{i}" for i, c in enumerate(CASES)]
)
def test_notice_comes_with_its_cause_and_goes_with_it(
    code: str, place: str, odd: tuple[str, str], even: tuple[str, str]
) -> None:
    found = notices(*odd)
    assert (code, place) in {(notice.code, notice.place) for notice in found}
    assert all(notice.message and notice.remedy for notice in found)
    assert notices(*even) == []


def test_what_is_merely_unusual_is_a_note_and_comes_last() -> None:
    odd = link(f"{PLANAR}\n    damping: 0.5", ", drive: {rotor_inertia: 1, gear_ratio: 0.1}")
    found = notices(odd)
    assert [notice.severity for notice in found].count("note") == 1
    assert found[-1].severity == "note"


@pytest.mark.campaign  # with springs of joints below
def test_damping_that_an_arm_lacks_is_what_its_remedy_gives_it() -> None:
    def arm(ratio: float) -> Arm:
        links = 2 * link(f"{PLANAR}\n    damping: {ratio}")
        return loads(f"flexarm: 1\nname: arm\ngravity: [0, 0, 0]\nlinks:\n{links}")

    def slowest(ratio: float) -> float:
        return modes(arm(ratio), joints="locked").modes[0].damping_ratio

    (notice,) = check(arm(0.01)).notices
    assert notice.message.endswith(f"has {slowest(0.01):.2g}")
    times = float(notice.remedy.partition("of the links by ")[2].partition(",")[0])
    assert slowest(0.01 * times) == pytest.approx(0.01, rel=0.02)


def test_links_that_are_stubby_are_named_in_one_notice() -> None:
    one = shaped("bending_y: 4, bending_z: 0, torsion: 0", SPATIAL.replace("2e7", "4e5"))
    (found,) = [each for each in notices(2 * one) if each.code == "stubby-link"]
    assert found.place == "links[1].section, links[2].section"
    assert re.search(r"stubby too: link\d \([\d.]+ %\)", found.message)


@pytest.mark.parametrize(("stretch", "severity"), [("4e5", "warning"), ("4e6", "note")])
def test_a_link_is_stubby_in_earnest_where_its_first_mode_is_off(
    stretch: str, severity: str
) -> None:
    one = shaped("bending_y: 4, bending_z: 0, torsion: 0", SPATIAL.replace("2e7", stretch))
    (found,) = [each for each in notices(one) if each.code == "stubby-link"]
    first = float(found.message.rpartition("mode 1 about ")[2].partition(" %")[0])
    assert (first > 1) == (severity == "warning")
    assert found.severity == severity


def test_a_link_is_stubby_in_earnest_by_the_first_mode_of_either_plane() -> None:
    # mode 4 of bending_y is off by more than mode 1 of bending_z, whose plane is stubbier
    deep = SPATIAL.replace("EIy: 1000", "EIy: 10000").replace("2e7", "1e6")
    for count, severity in ((0, "note"), (1, "warning")):
        one = shaped(f"bending_y: 4, bending_z: {count}, torsion: 0", deep)
        (found,) = [each for each in notices(one) if each.code == "stubby-link"]
        assert "mode 4 of bending_y" in found.message
        assert found.severity == severity


def test_a_damping_list_longer_than_the_modes_is_no_valid_model() -> None:
    with pytest.raises(ModelError, match="3 damping ratios are given for 2 modes"):
        notices(shaped("bending_y: 2", PLANAR, "\n    damping: [0.01, 0.01, 0.01]"))


def unexcited(links: str, head: str = DOWN) -> str:
    """Give the message about modes that nothing excites, or nothing."""
    return " ".join(n.message for n in notices(links, head) if n.code == "unexcited-mode")


OUT_OF_PLANE = "link1.z1, link1.z2, link1.twist1"
TWO_PLANES = f"{SPATIAL}\n    shapes: {{kind: loaded, bending_y: 2, bending_z: 2, torsion: 1}}"


def test_a_planar_arm_never_bends_out_of_its_plane_nor_twists() -> None:
    (notice,) = notices(link(TWO_PLANES))
    assert f"nothing sets {OUT_OF_PLANE} in motion" in notice.message
    assert notice.remedy.startswith(
        "set bending_z: 0, torsion: 0 beside 'kind: loaded' to save 3 of 6 coordinates"
    )


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("links", "head", "left"),
    [
        # bent in two planes, a link twists; bent and twisted, it bends across
        (link(TWO_PLANES), "gravity: [0, 0, -9.81]", ""),
        (link(f"{TWO_PLANES}\n    wrenches: [{{force: [0, 0, 1]}}]"), DOWN, ""),
        (link(f"{TWO_PLANES}\n    wrenches: [{{torque: [1, 0, 0]}}]"), DOWN, ""),
        (link(f"{TWO_PLANES}\n    start: {{z1: 0.01}}"), DOWN, ""),
        (link(f"{TWO_PLANES}\n    start_speed: {{twist1: 0.01}}"), DOWN, ""),
        (
            f"{link(f'{TWO_PLANES} ')}\nstiffening: false\n",
            "gravity: [0, 0, -9.81]",
            "link1.twist1",
        ),
        (link(TWO_PLANES) + "payload: {mass: 1, com: [0, 0, 0.1]}", DOWN, ""),
        (link(TWO_PLANES, ", axis: [0, 1, 1]"), DOWN, ""),
        (
            link(TWO_PLANES),
            "gravity: [0, 0, 0]\nbase: {kind: free, body: {mass: 9, inertia: [1, 1, 1]}}",
            "",
        ),
        (
            link(TWO_PLANES),
            "gravity: [0, 0, 0]\nbase: {kind: moved, "
            "motion: {z: {kind: sine, amplitude: 0.1, frequency: 1}}}",
            "",
        ),
        (
            link(TWO_PLANES),
            "gravity: [0, 0, 0]\nbase: {kind: moved, motion: {z: {kind: constant, value: 1}}}",
            OUT_OF_PLANE,
        ),
    ],
)
def test_what_acts_out_of_the_plane_excites_the_modes_there(
    links: str, head: str, left: str
) -> None:
    message = unexcited(links, head)
    assert (f"nothing sets {left} in motion" in message) if left else message == ""


def test_a_joint_that_never_moves_excites_nothing() -> None:
    constant = ", actuation: prescribed, motion: {kind: constant, value: 0.3}"
    assert "link1.y1" in unexcited(link(PLANAR, constant), "gravity: [0, 0, 0]")
    turning = ", actuation: prescribed, motion: {kind: spin-up, rate: 1, duration: 1}"
    assert unexcited(link(PLANAR, turning), "gravity: [0, 0, 0]") == ""


def test_a_slight_tilt_is_told_from_rounding() -> None:
    tilted = f", before: {{rotation: [{math.pi / 2}, 0, 0]}}"
    head = "gravity: [0, 0, -9.81]"
    assert OUT_OF_PLANE in unexcited(link(TWO_PLANES, tilted), head)
    tilted = f", before: {{rotation: [{math.pi / 2 + 1e-5}, 0, 0]}}"
    assert unexcited(link(TWO_PLANES, tilted), head) == ""


@pytest.mark.parametrize("mode", [1, 2, 4])
def test_shear_error_is_near_that_of_an_exact_timoshenko_beam(mode: int) -> None:
    # simply supported: rho^2 I/(kappa G) w^4 - (rho A + rho I k^2 (1 + E/(kappa G))) w^2 + EI k^4
    E, rho, G, kappa, A, I = 70e9, 2700.0, 70e9 / 2.6, 5 / 6, 4e-4, 4e-8
    k, length = mode * math.pi, 1.0
    a, b, c = (
        rho**2 * I / (kappa * G),
        rho * A + rho * I * k**2 * (1 + E / (kappa * G)),
        E * I * k**4,
    )
    exact = math.sqrt((b - math.sqrt(b * b - 4 * a * c)) / (2 * a))
    beam = math.sqrt(E * I * k**4 / (rho * A))
    table = {"mass_per_length": rho * A, "EIz": E * I, "EA": E * A, "Jz": 0.0}
    span = Span(length, np.array([0.0, length]), {n: np.full(2, v) for n, v in table.items()})
    estimate = shear_error(span, MOTIONS["y"], Section(mass_per_length=1.0, EIz=1.0), beam)
    assert estimate == pytest.approx(beam / exact - 1, rel=0.06)


def test_thin_tubes_shear_more_than_solid_rods() -> None:
    material = Material(E=70e9, density=2700, nu=0.3)
    thin = Section(material=material, shape=Tube(kind="tube", diameter=0.1, thickness=1e-4))
    solid = Section(material=material, shape=Tube(kind="tube", diameter=0.1))
    # Cowper 1966, nu = 0.3: kappa is 2 (1 + nu)/(4 + 3 nu) of a thin tube, 6 (1 + nu)/(7 + 6 nu)
    assert shear_ratio(thin, MOTIONS["y"]) == pytest.approx(2.6 * 4.9 / 2.6, rel=1e-4)
    assert shear_ratio(solid, MOTIONS["y"]) == pytest.approx(2.6 * 8.8 / 7.8)


@pytest.mark.few(1)
@pytest.mark.parametrize("given", ["[0.005, 0.03]", "{y1: 0.005, y2: 0.03}"])
def test_damping_is_compared_with_what_is_given_for_the_mode(given: str) -> None:
    one = link(f"{PLANAR}\n    damping: {given}")
    assert less_damping(one) == []
    (two,) = less_damping(2 * one)
    assert two.message.startswith("the damping ratio 0.005 applies to mode y1 of link1 alone")


@pytest.mark.few(1)
@pytest.mark.parametrize("more", ["", "\n    material_damping: {loss_factor: 0.002}"])
def test_so_much_more_damping_gives_the_arm_the_ratio_of_its_links(more: str) -> None:
    # rotors are held: springs of joints and materials damp too, and stay as they are
    springs = ", drive: {rotor_inertia: 0.1, stiffness: 5000, damping: 10}"

    def arm(ratio: float) -> str:
        return 2 * link(f"{PLANAR}\n    damping: {ratio}{more}", springs)

    (notice,) = less_damping(arm(0.02))
    found = re.search(r"damping ratios of the links by ([\d.]+),", notice.remedy)
    assert found
    head = "flexarm: 1\nname: arm\ngravity: [0, 0, 0]\nlinks:\n"
    slowest = modes(loads(head + arm(0.02 * float(found[1]))), joints="locked").modes[0]
    assert -slowest.eigenvalue.real / abs(slowest.eigenvalue) == pytest.approx(0.02, rel=0.01)


def test_more_damping_than_a_link_takes_is_named_by_mode_alone() -> None:
    two_shapes = f"{PLANAR}\n    shapes: {{kind: loaded, bending_y: 2}}"
    (notice,) = less_damping(3 * link(f"{two_shapes}\n    damping: 0.2"))
    assert "times" not in notice.remedy
    found = re.search(r"'(damping: {y1: ([\d.]+)})'", notice.remedy)
    assert found
    assert float(found[2]) > 1
    notices(3 * link(f"{two_shapes}\n    {found[1]}"))  # is taken


@pytest.mark.campaign
def test_damping_of_a_link_that_slides_is_compared_at_its_length() -> None:
    limits = ", limits: {lower: 0.3, upper: 1.0}"
    sliding = SLIDING.replace("position: START}", f"position: 0.7}}{limits}")
    damped = sliding + "    shapes: {kind: loaded, bending_y: 2}\n    damping: 0.01\n"
    (notice,) = less_damping(damped + link(BODY))
    assert notice.message.startswith("the damping ratio 0.01 applies to mode y1 of link1 alone")
    assert less_damping(damped) == []
