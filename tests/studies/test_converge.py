"""The estimate of the truncation error against the true one; the advice; static shapes."""

import math

import numpy as np
import pytest

import flexarm
from flexarm import build, converge, modes
from flexarm.arm import Arm
from flexarm.errors import FlexarmError, ModelError
from flexarm.integrate.constants import DEFAULT_INTERVALS
from flexarm.io.model_file import loads
from flexarm.mechanics.deformed import tip_deflection
from flexarm.studies.bases import enriched, families, next_member, reference
from flexarm.studies.constants import SHAPE_RTOL
from tests.linear.linear_arms import de_luca, one_link
from tests.physics.cases import campaign_if

DRIVEN = (
    "{kind: revolute, hub: {outboard: {inertia: [0, 0, 0.1]}}, "
    "input: {kind: bang-bang, amplitude: 2, times: [0, 0.2, 0.4]}}"
)
TURNED = "{kind: revolute, actuation: prescribed, motion: {kind: spin-up, rate: 3, duration: 0.4}}"
SOFT = "mass_per_length: 1, EIz: 10"


def clamped_free(count: int) -> str:
    """Write shapes that know nothing of what the link carries."""
    return f"{{kind: clamped-free, bending_y: {count}}}"


def turned_links(count: int, shapes: str) -> Arm:
    """Make a planar arm whose joints are turned."""
    link = f"  - joint: {TURNED}\n    length: 0.7\n    section: {{{SOFT}}}\n    shapes: {shapes}\n"
    head = "flexarm: 1\nname: turned\ngravity: [0, 0, 0]\nlinks:\n"
    return loads(head + count * link + "payload: {mass: 0.3}\n")


ARMS = {
    "driven, 1 shape": lambda: one_link(joint=DRIVEN, section=SOFT, shapes=clamped_free(1)),
    "driven with a payload, 1 shape": lambda: one_link(
        joint=DRIVEN, section=SOFT, shapes=clamped_free(1), rest="payload: {mass: 0.25}\n"
    ),
    "turned with a payload, 1 shape": lambda: one_link(
        joint=TURNED, section=SOFT, shapes=clamped_free(1), rest="payload: {mass: 1}\n"
    ),
    "falling, root held, 1 shape": lambda: one_link(
        section="mass_per_length: 1, EIz: 50", gravity="[0, -9.81, 0]",
        shapes="{kind: loaded, root: held, bending_y: 1}",
    ),
    "two links turned, 1 shape": lambda: turned_links(2, clamped_free(1)),
}  # fmt: skip


QUICK = ("driven, 1 shape", "falling, root held, 1 shape")


def true_error(arm: Arm, t_end: float) -> float:
    """Measure the error of the tip deflections over their range, worst link."""
    settings = {"t_end": t_end, "dt": t_end / DEFAULT_INTERVALS, "rtol": SHAPE_RTOL}
    runs = [flexarm.simulate(each, **settings) for each in (arm, truth(arm))]  # type: ignore[arg-type]
    errors = []
    for part, other in zip(runs[0].model.links, runs[1].model.links, strict=True):
        exact = tip_deflection(runs[1].model, other, runs[1].q)
        errors.append(
            np.abs(tip_deflection(runs[0].model, part, runs[0].q) - exact).max()
            / np.ptp(exact, axis=0).max()
        )
    return float(max(errors))


def truth(arm: Arm) -> Arm:
    """Put an arm on shapes of another kind, and many of them."""
    many = loads(
        "flexarm: 1\nname: many\nlinks:\n  - joint: {kind: revolute}\n    length: 1\n"
        f"    section: {{{SOFT}}}\n    shapes: {{kind: craig-bampton, bending_y: 3}}\n"
    )
    links = [link.model_copy(update={"shapes": many.links[0].shapes}) for link in arm.links]
    return arm.model_copy(update={"links": type(arm.links)(links)})


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=campaign_if(name not in QUICK)) for name in ARMS]
)
def test_the_estimate_is_within_a_factor_of_two_of_the_true_error(name: str) -> None:
    arm, t_end = ARMS[name](), 0.5
    found = converge(arm, t_end=t_end, others=False)
    error = true_error(arm, t_end)
    assert found.estimate is not None
    assert found.answer is None
    assert 0.5 < found.estimate / error < 2
    assert error > 1e-3


@pytest.mark.campaign  # tests/cli/test_converge.py finds some, test_want.py judges them
@pytest.mark.parametrize(
    ("links", "shapes"), [(1, "elements"), (2, "elements"), (2, "clamped-free")]
)
def test_shapes_within_the_wish_are_found_without_being_asked_again(
    links: int, shapes: str
) -> None:
    arm, wish = turned_links(links, f"{{kind: {shapes}, bending_y: 1}}"), 0.001
    found = converge(arm, t_end=0.5, wish=wish)
    assert found.estimate is not None
    assert found.estimate > wish
    assert found.answer is not None
    assert found.answer.within
    assert found.answer.estimate is not None
    assert found.answer.estimate <= wish
    changes = {f"links.{name}.shapes": value for name, value in found.answer.shapes.items()}
    better = flexarm.change_arm(arm, changes)
    assert build(better).size == found.answer.coordinates
    assert true_error(better, 0.5) < 2 * wish
    assert any(f"Take '{found.answer.basis}'" in line for line in found.advice)


@pytest.mark.campaign
def test_search_ends_at_its_bound_of_work_and_says_what_it_came_to() -> None:
    said: list[str] = []
    arm = ARMS["turned with a payload, 1 shape"]()
    found = converge(arm, t_end=0.2, wish=1e-9, trials=2, progress=said.append)
    assert sum(text.startswith("trial") for text in said) == 2
    assert found.answer is not None
    assert (found.answer.within, found.answer.trials) == (False, 2)
    assert found.answer.estimate is not None
    assert found.estimate is not None
    assert found.answer.estimate < found.estimate
    assert any("An error of 1e-07 % was not reached in 2 trials" in line for line in found.advice)


@pytest.mark.campaign
def test_a_family_that_lacks_a_shape_is_found_out_and_another_is_advised() -> None:
    found = converge(turned_links(2, clamped_free(2)), t_end=0.5)
    assert found.mismatch
    assert any("root: held" in line for line in found.advice)
    rows = {row.basis: row for row in found.rows}
    held, given = rows["loaded, root held"], found.rows[0]
    assert held.run_error is not None
    assert given.run_error is not None
    assert held.run_error < 0.1 * given.run_error
    assert held.frequency_error_locked < 0.7 * given.frequency_error_locked
    assert given.step == pytest.approx(2.5 / given.top_frequency, rel=1e-9)


def test_links_that_stretch_are_found_out_by_one_shape() -> None:
    """A link turned fast whose centrifugal force lengthens it by a per cent."""

    def link(stretch: int) -> Arm:
        return one_link(
            joint=TURNED, section=f"{SOFT}, EA: 300", rest="payload: {mass: 1}\n",
            shapes=f"{{kind: loaded, bending_y: 1, stretch: {stretch}}}",
        )  # fmt: skip

    found = converge(link(0), t_end=0.5, others=False)
    settings = {"t_end": 0.5, "dt": 0.5 / DEFAULT_INTERVALS, "rtol": SHAPE_RTOL}
    none, many = (flexarm.simulate(link(count), **settings) for count in (0, 1))  # type: ignore[arg-type]
    there = tip_deflection(many.model, many.model.links[0], many.q)
    change = np.abs(tip_deflection(none.model, none.model.links[0], none.q) - there).max()
    assert found.stretch is not None
    assert found.stretch == pytest.approx(change / np.ptp(there, axis=0).max(), rel=0.1)
    assert found.stretch > 0.01
    assert any("Set 'stretch' in the shapes one higher" in line for line in found.advice)


@pytest.mark.campaign
def test_large_slopes_are_no_error_of_exact_links() -> None:
    arm = one_link(
        section="mass_per_length: 1, EIz: 3", gravity="[0, -9.81, 0]",
        joint="{kind: revolute, actuation: prescribed, motion: {kind: constant, value: 0}}",
        shapes="{kind: loaded, bending_y: 1}", rest="    damping: 0.1\n",
    )  # fmt: skip
    found = converge(arm, t_end=0.4, others=False)
    assert found.slope > 0.5
    assert found.model_error is not None
    assert found.model_error < 0.005
    assert not any("Split the link" in line for line in found.advice)


@pytest.mark.campaign
def test_enough_shapes_are_kept_and_an_arm_at_rest_is_told() -> None:
    enough = converge(
        one_link(joint=DRIVEN, section=SOFT, shapes="{kind: loaded, root: free, bending_y: 2}"),
        t_end=0.5, others=False,
    )  # fmt: skip
    assert "keep them" in enough.advice[1]
    assert enough.model_error is not None
    assert enough.stretch is None
    assert "Stretch was not tried, since no section has EA." in enough.advice
    still = converge(one_link(shapes=clamped_free(1)), t_end=0.1, others=False)
    assert still.estimate is None
    assert "Nothing deflects" in still.advice[0]
    rigid = loads(
        "flexarm: 1\nname: rigid\nlinks:\n  - joint: {kind: revolute}\n"
        "    body: {mass: 1, inertia: [0, 0, 1]}\n"
    )
    with pytest.raises(FlexarmError, match="no link has shapes whose number can be raised"):
        converge(rigid)


def test_enriching_keeps_the_shapes_there_were_and_adds_the_static_ones() -> None:
    arm = one_link(section="mass_per_length: 1, EIz: 3", shapes=clamped_free(2))
    more, next_one = build(enriched(arm)).links[0], build(next_member(arm)).links[0]
    assert more.beam.shapes.names == ("y1", "y2", "y3", "y4", "y5")
    x = np.linspace(0, 1, 50)
    shapes = more.beam.shapes.values("y", x)
    assert shapes[:, :3] == pytest.approx(next_one.beam.shapes.values("y", x))
    for power in (2, 3):  # in their span, to rounding
        residual = np.linalg.lstsq(shapes, x**power, rcond=None)[1]
        assert float(residual[0]) < 1e-18
    coupling = more.beam.integrals.stiffness[:3, 3:]
    assert np.abs(coupling).max() < 1e-9
    assert np.abs(more.beam.root_angle).max() == 0


FOLLOWING = """
flexarm: 1
name: boom
links:
  - joint: {kind: sliding, start: {position: 0.6}, limits: {lower: 0.3}}
    length: 1.3
    section: {mass_per_length: 1.1, EIz: 14}
    shapes: {kind: clamped-mass, follow: true, normalise: mass, bending_y: 1}
payload: {mass: 0.5}
"""


@pytest.mark.parametrize(
    "name", ["graves-rms", pytest.param("following", marks=pytest.mark.campaign)]
)
def test_arms_that_cannot_have_static_shapes_are_enriched_all_the_same(name: str) -> None:
    """Loaded modes under a heavy body have them already; shapes that follow a length cannot."""
    arm = loads(FOLLOWING) if name == "following" else flexarm.example_arm(name)
    sizes = [build(each, stiffening=False).size for each in (arm, enriched(arm), reference(arm))]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[1]


def test_static_shapes_make_frequencies_of_a_wrong_family_right() -> None:
    """De Luca & Siciliano's arm, joints locked, theta2 = 90 degrees."""
    expected = (0.47795919, 1.69143003, 2.6778509)
    worst = []
    for extra in ("", ", static: true"):
        arm = de_luca(f"{{kind: clamped-free, bending_y: 3{extra}}}")
        linear = build(arm, stiffening=False)
        found = modes(linear, joints="locked", at={"joint2": math.pi / 2}).modes
        errors = [m.frequency_hz / w - 1 for m, w in zip(found, expected, strict=False)]
        worst.append(max(errors))
    assert worst[0] > 0.1
    assert worst[1] < 1e-6


def test_a_rod_gets_the_straight_line_and_elements_refuse_static_shapes() -> None:
    arm = one_link(
        section="mass_per_length: 1, GJ: 10, Jx: 0.1",
        shapes="{kind: clamped-free, torsion: 1, static: true}",
    )
    elastic = build(arm).links[0].beam
    assert elastic is not None
    x = np.linspace(0, 1, 20)
    residual = np.linalg.lstsq(elastic.shapes.values("twist", x), x, rcond=None)[1]
    assert float(residual[0]) < 1e-18
    with pytest.raises(ModelError, match="static: elements shapes include static shapes already"):
        build(one_link(shapes="{kind: elements, bending_y: 2, static: true}"))


def test_amplitudes_that_the_file_names_bind_an_arm_to_its_family() -> None:
    arm = one_link(shapes=clamped_free(2), rest="    start: {y1: 0.01}\n")
    assert families(arm) == {}
    assert len(families(one_link(shapes=clamped_free(2)))) == 5


@pytest.mark.campaign
def test_search_goes_on_with_the_family_that_errs_least_with_as_few_coordinates() -> None:
    link = (
        "  - joint: {kind: revolute, actuation: free}\n    length: 1\n"
        "    section: {mass_per_length: 1, EIz: 60}\n    shapes: " + clamped_free(2) + "\n"
    )
    arm = loads("flexarm: 1\nname: fall\ngravity: [0, -9.81, 0]\nlinks:\n" + 2 * link)
    found = converge(arm, t_end=0.5)
    rows = {row.basis: row for row in found.rows}
    free = rows["loaded, root free"]
    assert free.coordinates == found.rows[0].coordinates
    assert free.run_error is not None
    assert found.estimate is not None
    assert free.run_error < 0.5 * found.estimate
    assert found.answer is not None
    assert found.answer.within
    assert found.answer.basis.startswith("loaded, root free")
