"""`check`: published frequencies and masses, and what it says of every sample."""

import math
from functools import cache
from pathlib import Path

import casadi as ca
import numpy as np
import numpy.typing as npt
import pytest

from flexarm.check.check import check
from flexarm.check.report import DirectionReport, Frequency, LinkReport, Report
from flexarm.errors import ModelError
from flexarm.formulations import formulation
from flexarm.io.model_file import example_arm, loads
from flexarm.links.base import Span
from flexarm.links.families.tabulated import write_modal_data
from flexarm.mechanics.loads import potential_energy
from flexarm.model import build
from flexarm.samples import example_arm_names, sample_text
from tests.physics.cases import campaign_if

Array = npt.NDArray[np.float64]
BEAM = "section: {mass_per_length: 5, EIz: 1000}"

# What is known to be odd about a sample; its notes say why it is so.
EXPECTED: dict[str, set[str]] = {
    # the published EA makes a section of 0.37 m radius of gyration
    "chen-rotating-link": {"stubby-link"},
    "chen-two-link": {"stubby-link"},
    "chen-two-link-rigid-joints": {"stubby-link"},
    # 1 % of its booms' own modes is little at 0.26 Hz
    "canadarm-free-base": {"less-damping"},
    # published inertias of link 3
    "puma-560": {"impossible-inertia"},
    # the stretch is what the case is about
    "spin-up-beam": {"stretch-sets-step"},
    # two planes of bending are counted on arms that move in one
    **{
        f"tg-{name}-2planes{kind}": {"unexcited-mode"}
        for name in ("rp", "rr", "rr-payload")
        for kind in ("", "-elements")
    },
}


FLOATING = ("canadarm-free-base", "graves-rms")
# Mass in the base, in a hub, in a link that bends, in one that does not and in what it carries.
AFLOAT = """
flexarm: 1
name: small and afloat
gravity: [0, 0, 0]
base: {kind: free, body: {mass: 9, com: [0.1, 0, 0], inertia: [1, 1, 1]}}
links:
  - joint: {kind: revolute, hub: {outboard: {mass: 0.5}}}
    length: 1
    section: {mass_per_length: 5, EIz: 1000}
    shapes: {kind: loaded, bending_y: 1}
  - {joint: {kind: revolute}, length: 1, body: {mass: 2, com: [0.5, 0, 0]}}
payload: {mass: 0.7}
"""

# Bases, joints that slide, carry and wind up, masses on both sides of a joint, notices, elements.
ADDED_UP = (
    "canadarm-free-base", "carriage-on-rail", "chu-example-1", "deluca-siciliano", "puma-560",
    "spin-up-beam", "telescope", "tg-rp-2planes",
)  # fmt: skip


def added_up(*names: str) -> list[object]:
    """List samples as cases; all but those of `ADDED_UP` are for campaigns."""
    return [pytest.param(name, marks=campaign_if(name not in ADDED_UP)) for name in names]


def report_on(body: str, head: str = "gravity: [0, -9.81, 0]") -> Report:
    """Check an arm given by the text of its links."""
    return check(loads(f"flexarm: 1\nname: arm\n{head}\nlinks:\n{body}"))


def one_link(rest: str = BEAM, joint: str = "{kind: revolute}", length: float = 1.0) -> str:
    """Write a single link."""
    return f"  - joint: {joint}\n    length: {length}\n    {rest}\n"


def direction(link: LinkReport, name: str) -> DirectionReport:
    """Pick one direction of a flexible link."""
    assert link.flexible is not None
    return next(each for each in link.flexible.directions if each.direction == name)


def hertz(frequencies: tuple[Frequency, ...]) -> list[float]:
    """List frequencies in Hz."""
    return [each.hz for each in frequencies]


def agree(values: list[float], printed: str) -> bool:
    """Say whether the first values round to the printed ones."""
    texts = printed.split()
    last = [10.0 ** -len(text.partition(".")[2]) for text in texts]
    errors = np.abs(np.array(values[: len(texts)]) - np.array(texts, dtype=float))
    return len(values) >= len(texts) and bool(np.all(errors <= 0.5001 * np.array(last)))


def codes(report: Report) -> set[str]:
    """Collect the codes of a report's notices."""
    return {notice.code for notice in report.notices}


@cache
def report_of(name: str) -> Report:
    """Check a sample."""
    return check(example_arm(name))


@pytest.mark.few(4)
@pytest.mark.parametrize("name", added_up(*example_arm_names()))
def test_sample_report_adds_up_and_has_no_notice_but_those_it_is_known_for(name: str) -> None:
    report = report_of(name)
    assert codes(report) == EXPECTED.get(name, set())
    count = report.degrees_of_freedom
    assert count["total"] == len(report.coordinates)
    assert count["free"] == count["total"] - sum(c.prescribed for c in report.coordinates)
    assert sum(count[k] for k in ("base", "motor", "joint", "amplitude")) == count["total"]
    parts = sum(link.mass + link.hub_mass for link in report.links)
    assert parts + report.payload_mass == pytest.approx(report.mass, rel=1e-12)
    assert report.modes_free is not None
    assert report.rigid_motions is not None
    assert len(report.modes_free) + report.rigid_motions == count["free"]
    named = [c.name for c in report.coordinates if c.kind == "amplitude"]
    flexible = [link.flexible for link in report.links if link.flexible is not None]
    ways = [way for each in flexible for way in each.directions]
    assert [name for way in ways for name in way.coordinates] == named
    assert all(way.why.startswith(f"{way.count} ") for way in ways)  # the rule in words


@pytest.mark.parametrize(
    ("actuation", "links", "number"),
    [
        ("free", 1, 3),
        ("free", 3, 4),
        ("torque", 1, 4),
        ("prescribed, motion: {kind: constant, value: 0}", 1, 3),
        ("torque, drive: {rotor_inertia: 1}", 1, 4),
    ],
)
def test_automatic_number_and_its_reason_name_the_same_number(
    actuation: str, links: int, number: int
) -> None:
    body = one_link(joint=f"{{kind: revolute, actuation: {actuation}}}") * links
    way = direction(report_on(body).links[0], "bending_y")
    assert way.count == len(way.coordinates) == number
    assert f"by rule, {number} where" in way.why


@pytest.mark.parametrize("index", [0, 1])
def test_korayem_link_frequencies(index: int) -> None:
    link = report_of("korayem-two-link").links[index]
    assert agree(hertz(direction(link, "bending_y").clamped), "7.913815 49.595031 138.867522")


def test_chen_link_frequencies() -> None:
    for link in report_of("chen-two-link").links:
        for plane in ("bending_y", "bending_z"):
            clamped = direction(link, plane).clamped
            assert agree(hertz(clamped), "3.242543 20.32067 56.89846")
        torsion = direction(link, "torsion").clamped
        assert agree([torsion[0].rad_s], "208.479")


@pytest.mark.campaign  # tests/papers/test_items.py has them in a table
def test_theodore_link_2_frequencies() -> None:
    clamped = direction(report_of("theodore-rrp").links[1], "bending_y").clamped
    assert agree([each.rad_s for each in clamped], "208.637 1307.506 3661.054")


@pytest.mark.campaign  # tests/papers/test_items.py has all of the table
def test_modes_of_two_elements_are_those_of_theodore_table_1() -> None:
    flexible = report_of("theodore-rrp-elements").links[1].flexible
    assert flexible is not None
    printed = np.repeat([208.73, 1318.6, 4459.7, 12944], 2)  # both planes; cut off, not rounded
    cut = np.array([mode.frequency.rad_s for mode in flexible.modes]) - printed
    assert np.all(cut > 0)
    assert np.all(cut < np.repeat([0.01, 0.1, 0.1, 1], 2))


@pytest.mark.campaign  # tests/linear/test_modes.py has one
@pytest.mark.parametrize(
    ("length", "printed"),
    [("0.3", "175.6187 1720.119"), ("0.65", "49.04398 385.0750"), ("1.0", "23.38656 168.5833")],
)
def test_theodore_link_3_frequencies_at_the_length_it_starts_with(
    length: str, printed: str
) -> None:
    text = sample_text("theodore-rrp").replace(
        "start: {position: 0.3}", f"start: {{position: {length}}}"
    )
    report = check(loads(text))
    assert agree(hertz(direction(report.links[2], "bending_y").clamped), printed)
    modes = report.links[2].flexible
    assert modes is not None
    in_shapes = [mode.frequency.hz for mode in modes.modes][::2]
    assert agree(in_shapes, printed)


def deluca(elbow: float, modes: int) -> str:
    """Write the De Luca & Siciliano arm with converged shapes."""
    beam = f"""length: 0.5
    section: {{mass_per_length: 0.2, EIz: 1}}
    shapes: {{kind: loaded, root: held, bending_y: {modes}, static: true}}"""
    return f"""
  - joint: {{kind: revolute, hub: {{outboard: {{inertia: [0, 0, 0.1]}}}}}}
    {beam}
  - joint:
      kind: revolute
      hub: {{outboard: {{mass: 1, inertia: [0, 0, 0.1]}}}}
      start: {{position: {elbow} deg}}
    {beam}
payload: {{mass: 0.1, inertia: [0, 0, 5.0e-4]}}
"""


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("elbow", "locked", "free"),
    [
        (
            0,
            ".43813358 1.97279852 2.66890523 16.11784649",
            "1.41985879 2.64733717 16.1170027 22.1256768",
        ),
        (
            90,
            ".47795919 1.69143003 2.6778509 15.95029213",
            "1.42099817 2.51277461 15.95011574 22.10502486",
        ),
    ],
)
def test_deluca_arm_with_joints_locked_and_free(elbow: float, locked: str, free: str) -> None:
    report = report_on(deluca(elbow, 16), "stiffening: false")
    assert report.modes_held is not None
    assert report.modes_free is not None
    assert agree([mode.frequency.hz for mode in report.modes_held], locked)
    assert agree([mode.frequency.hz for mode in report.modes_free], free)
    assert report.rigid_motions == 2


@pytest.mark.parametrize(
    ("elbow", "printed"),
    [(0, ".440983 1.985852"), (90, ".479693 1.796589"), (180, ".530751 1.654051")],
)
def test_deluca_link_1_with_all_that_it_carries_as_a_body(elbow: int, printed: str) -> None:
    mass, inertia = 1.2, 0.2 * 0.5**3 / 3 + 0.1 + 0.1 * 0.5**2 + 5e-4
    lever = (0.1 * 0.25 + 0.1 * 0.5) * math.cos(math.radians(elbow)) / mass
    central = inertia - mass * lever**2
    payload = f"{{mass: {mass}, com: [{lever}, 0, 0], inertia: [0, 0, {central}]}}"
    body = one_link("section: {mass_per_length: 0.2, EIz: 1}", length=0.5) + f"payload: {payload}"
    assert agree(hertz(direction(report_on(body).links[0], "bending_y").clamped), printed)


def korayem(elbow: float, root: str, modes: int) -> Report:
    """Check the arm of Korayem & Shafei with many shapes."""
    rest = f"{BEAM}\n    shapes: {{kind: loaded, root: {root}, bending_y: {modes}, static: true}}"
    joint = f"{{kind: revolute, start: {{position: {elbow} deg}}}}"
    return report_on(one_link(rest) + one_link(rest, joint), "stiffening: false")


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("elbow", "modes", "printed"),
    [(0, 26, "1.9784537 12.3987577 34.7168805"), (90, 20, "2.6374331 7.1821061 35.4602947")],
)
def test_korayem_arm_with_joints_locked(elbow: float, modes: int, printed: str) -> None:
    found = korayem(elbow, "held", modes).modes_held
    assert found is not None
    assert agree([mode.frequency.hz for mode in found], printed)


def test_korayem_arm_with_joints_free_is_met_from_above() -> None:
    found = korayem(5, "free", 16).modes_free
    assert found is not None
    exact = np.array([25.8932471, 44.5525003, 96.3077584])
    excess = np.array([mode.frequency.hz for mode in found[:3]]) / exact - 1
    assert np.all(excess > 0)
    assert np.all(excess < 1e-7)


def test_gu_link_with_tip_mass() -> None:
    section = (
        "section: {material: {E: 6.9e10, density: 2700}, rotary_inertia: false, "
        "shape: {kind: rectangle, width: 4 mm, height: 50 mm}}"
    )
    report = report_on(one_link(section) + "payload: {mass: 0.25}")
    assert agree(hertz(direction(report.links[0], "bending_y").clamped), "1.921906 15.786739")


def test_tokhi_link_is_loaded_by_its_hub_and_free_to_turn() -> None:
    section = (
        "section: {material: {E: 71e9, density: 2710}, rotary_inertia: false, "
        "shape: {kind: rectangle, width: 3.2004 mm, height: 19.008 mm}}"
    )
    joint = "{kind: revolute, actuation: free, hub: {outboard: {inertia: [0, 0, 5.8598e-4]}}}"
    way = direction(report_on(one_link(section, joint, 0.9)).links[0], "bending_y")
    assert agree(hertz(way.loaded), "13.310354 35.106485 64.818549")
    assert agree(hertz(way.clamped), "3.266962 20.4737 57.3270")


def test_flexible_joint_swings_against_its_rotor_and_against_a_locked_one() -> None:
    joint = "{kind: revolute, drive: {rotor_inertia: 1, stiffness: 100}}"
    report = report_on(one_link("body: {mass: 1, inertia: [0, 0, 1]}", joint))
    assert report.modes_free is not None
    assert report.modes_held is not None
    assert agree([report.modes_free[0].frequency.rad_s], "14.142136")
    assert agree([report.modes_held[0].frequency.rad_s], "10.000000")


def test_shapes_that_turn_the_hub_give_the_clamped_frequency_when_the_hub_is_locked() -> None:
    rest = f"{BEAM}\n    shapes: {{kind: pinned-free, bending_y: 30}}"
    report = report_on(one_link(rest), "stiffening: false")
    assert report.modes_held is not None
    # They converge slowly: the root's moment needs many.
    assert report.modes_held[0].frequency.hz == pytest.approx(7.913815, rel=0.02)
    assert report.modes_held[0].frequency.hz > 7.913815


def test_puma_masses() -> None:
    report = report_of("puma-560")
    assert [link.mass for link in report.links] == [0, 17.4, 4.8, 0.82, 0.34, 0.09]
    assert report.mass == pytest.approx(23.45)
    assert report.step is None


@pytest.mark.parametrize(
    "name", ["small", *(pytest.param(name, marks=pytest.mark.campaign) for name in FLOATING)]
)
def test_mass_of_a_floating_arm_is_what_its_base_has_to_push(name: str) -> None:
    arm = example_arm(name) if name in FLOATING else loads(AFLOAT)
    model = build(arm)
    mass = formulation("composite", model).mass_matrix(np.zeros(model.size))
    report = check(arm)
    assert report.mass + report.base_mass == pytest.approx(float(mass[0, 0]), rel=1e-12)


@pytest.mark.parametrize("name", added_up("puma-560", "theodore-rrp", "telescope", "graves-rms"))
def test_centre_of_mass_is_where_the_weight_acts(name: str) -> None:
    report, pull = report_of(name), (1.0, 2.0, -3.0)
    model = build(example_arm(name).model_copy(update={"gravity": pull}))
    q = ca.SX.sym("q", model.size)
    energy = ca.Function("energy", [q], [potential_energy(model, q)[1]])
    straight = [c.start * (c.kind != "amplitude") for c in report.coordinates]
    weight = (report.mass + report.base_mass) * np.dot(pull, report.centre_of_mass)
    assert -float(energy(straight)) == pytest.approx(weight, rel=1e-12)


def growth(step: float, mass: Array, stiffness: Array) -> float:
    """Find how much a step of the classical Runge-Kutta method amplifies at most."""
    n = len(mass)
    zero, one = np.zeros((n, n)), np.eye(n)
    h = step * np.block([[zero, one], [-np.linalg.solve(mass, stiffness), zero]])
    once = np.eye(2 * n) + h + h @ h / 2 + h @ h @ h / 6 + h @ h @ h @ h / 24
    return float(np.abs(np.linalg.eigvals(once)).max())


@pytest.mark.parametrize("name", added_up("deluca-siciliano", "korayem-two-link", "chu-example-2"))
def test_recommended_step_is_stable_and_near_the_limit(name: str) -> None:
    report, model = report_of(name), build(example_arm(name))
    assert report.step is not None
    q = np.array([c.start for c in report.coordinates])
    equation = formulation("composite", model)
    unit = 1e-6 * np.eye(model.size)
    force = [equation.bias(q + d, 0 * q) - equation.bias(q - d, 0 * q) for d in unit]
    weight = [equation.gravity(q + d) - equation.gravity(q - d) for d in unit]
    stiffness = (np.array(force) - np.array(weight)) / 2e-6
    mass = equation.mass_matrix(q)
    assert growth(report.step.rk4, mass, stiffness) < 1 + 1e-6
    assert growth(1.2 * report.step.rk4, mass, stiffness) > 1.01


def test_step_counts_friction_that_is_faster_than_every_mode() -> None:
    body = one_link(
        "body: {mass: 1, inertia: [0, 0, 0.5]}", "{kind: revolute, friction: {viscous: 40}}"
    )
    report = report_on(body)
    assert report.step is not None
    assert report.step.limited_by == "damping"
    assert report.step.rate == pytest.approx(40 / 0.5)
    assert report.step.rk4 == pytest.approx(2.6 / 80)


def test_damping_ratio_of_each_mode_is_the_one_given() -> None:
    rest = f"{BEAM}\n    damping: [0.01, 0.02, 0.03, 0.04]"
    report = report_on(one_link(rest) + "payload: {mass: 3, com: [0.1, 0, 0]}")
    flexible = report.links[0].flexible
    assert flexible is not None
    assert [mode.damping for mode in flexible.modes] == pytest.approx([0.01, 0.02, 0.03, 0.04])


def test_prescribed_joint_starts_where_its_motion_does() -> None:
    motion = "{kind: sine, amplitude: 10 deg, frequency: 1, phase: 90 deg, offset: 20 deg}"
    joint = f"{{kind: revolute, actuation: prescribed, motion: {motion}}}"
    start = report_on(one_link(joint=joint)).coordinates[0]
    assert start.start == pytest.approx(math.radians(30))
    assert start.start_speed == pytest.approx(0, abs=1e-12)
    assert start.prescribed


def test_prescribed_joint_may_start_from_a_csv_file(tmp_path: Path) -> None:
    (tmp_path / "motion.csv").write_text("time,other\n-1,0.1\n1,0.3\n")
    motion = "{kind: csv, file: motion.csv, value: other}"
    joint = f"{{kind: revolute, actuation: prescribed, motion: {motion}}}"
    text = f"flexarm: 1\nname: arm\nlinks:\n{one_link(joint=joint)}"
    start = check(loads(text, folder=tmp_path)).coordinates[0]
    assert [start.start, start.start_speed] == pytest.approx([0.2, 0.1])
    wrong = text.replace("value: other", "value: angle")
    with pytest.raises(ModelError, match="no column 'angle'"):
        check(loads(wrong, folder=tmp_path))


def test_tabulated_shapes_come_with_the_report_on_their_file(tmp_path: Path) -> None:
    arm = loads(f"flexarm: 1\nname: arm\nlinks:\n{one_link()}")
    assert arm.links[0].section is not None
    span, elastic = Span.of(arm.links[0].section, 1.0), build(arm).links[0].beam
    assert elastic is not None
    write_modal_data(tmp_path / "link.yaml", elastic.shapes, span)
    rest = f"{BEAM}\n    shapes: {{kind: table, file: link.yaml}}"
    text = f"flexarm: 1\nname: arm\nlinks:\n{one_link(rest)}"
    flexible = check(loads(text, folder=tmp_path)).links[0].flexible
    assert flexible is not None
    assert flexible.modal_data[0].startswith(str(tmp_path / "link.yaml"))
    assert flexible.modes[0].frequency.hz == pytest.approx(7.913815, rel=1e-3)


def test_many_amplitudes_have_the_matrices_of_few_without_stiffening(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rest = f"{BEAM}\n    shapes: {{kind: clamped-free, bending_y: 6}}"
    arm = loads(f"flexarm: 1\nname: arm\nlinks:\n{one_link(rest)}{one_link(rest)}")
    assert arm.stiffening
    whole = check(arm)
    monkeypatch.setattr("flexarm.check.check.SEARCHED_AMPLITUDES", 5)
    quick = check(arm)
    assert whole.modes_free is not None
    assert quick.modes_free is not None
    found = [mode.frequency.hz for mode in quick.modes_free]
    assert found == pytest.approx([mode.frequency.hz for mode in whole.modes_free], rel=1e-9)


def test_every_link_that_cannot_be_built_has_its_line() -> None:
    rest = f"{BEAM}\n    shapes: {{kind: loaded, torsion: 2}}"
    with pytest.raises(ModelError) as error:
        report_on(one_link(rest) + one_link() + one_link(rest))
    lines = str(error.value).splitlines()
    assert len(lines) == 2
    assert ["link1" in lines[0], "link3" in lines[1]] == [True, True]


def test_the_largest_and_smallest_numbers_that_a_file_may_hold_do_not_overflow() -> None:
    sizes = [f"body: {{mass: {m}, com: [{x}, 0, 0]}}" for m in (1e29, 1e-29) for x in (1e29, 1e-29)]
    with np.errstate(over="raise", invalid="raise"):
        masses = [report_on(one_link(size)).mass for size in sizes]
    assert masses == [1e29, 1e29, 1e-29, 1e-29]


def test_a_twist_that_turns_only_what_is_outboard_is_a_mode_of_the_arm_not_of_the_link() -> None:
    section = "section: {mass_per_length: 5, EIz: 1000, EIy: 1000, GJ: 700}"
    outer = one_link("body: {mass: 1, inertia: [0.07, 0.07, 0.07]}", "{kind: fixed}", 0)
    report = report_on(one_link(section, "{kind: fixed}", 2) + outer)
    flexible = report.links[0].flexible
    assert flexible is not None
    assert [mode.coordinate for mode in flexible.modes if "twist" in mode.coordinate] == []
    assert report.modes_free is not None
    (twist,) = [mode for mode in report.modes_free if mode.coordinate == "link1.twist1"]
    assert twist.frequency.rad_s == pytest.approx(math.sqrt(700 / 2 / 0.07))
    assert report.modes_free == report.modes_held


STAY = """
flexarm: 1
name: boom on a stay
gravity: [0, 0, -9.81]
links:
  - {joint: {kind: revolute, axis: [0, -1, 0], actuation: free}, length: 3, SECTION}
payload: {mass: 30}
springs:
  - {between: [{world: [0, 0, 4]}, tip], stiffness: 2.0e4, length: LENGTH}
"""


@pytest.mark.parametrize("length", [2, 4, 5, 6])
def test_modes_leave_the_preload_of_springs_out_as_they_do_the_weight_it_balances(
    length: float,
) -> None:
    """A stay with a lever of 2.4 m holds 30 kg at 3 m, however it is preloaded."""
    text = STAY.replace("SECTION", "body: {mass: 0}").replace("LENGTH", str(length))
    report = check(loads(text))
    assert report.modes_free is not None
    stiffness, inertia = 2e4 * 2.4**2, 30 * 3.0**2
    assert report.modes_free[0].frequency.rad_s == pytest.approx((stiffness / inertia) ** 0.5)


def test_shares_of_coupled_coordinates_are_at_most_all() -> None:
    section = "section: {mass_per_length: 3, EIy: 3.0e4, EIz: 3.0e4}"
    report = check(loads(STAY.replace("SECTION", section).replace("LENGTH", "4.5")))
    assert report.modes_free is not None
    assert all(0 < mode.share <= 1 for mode in report.modes_free)
