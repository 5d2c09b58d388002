"""The default shapes: small motions in numbers, frequencies with few shapes, statics of torsion."""

import sys
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest

import flexarm
from flexarm.arm import Arm
from flexarm.check.check import check
from flexarm.formulations import formulation
from flexarm.io.model_file import example_arm, loads
from flexarm.linear_model import LinearModel
from flexarm.mechanics.loads import elastic_force
from flexarm.model import Model, start_state, undeformed
from flexarm.model.small_motions import mass_matrix, stiffness_matrix

ARMS = (
    "canadarm-free-base", "chen-two-link", "crossed-joints", "chu-example-1", "telescope", "tg-rrp",
)  # fmt: skip
TWO_LINKS = """
flexarm: 1
name: two links
links:
  - joint: {kind: revolute}
    length: 1
    section: SECTION
  - joint: {kind: revolute, start: {position: 40 deg}}
    length: 1
    section: SECTION
"""
UNIFORM = "{mass_per_length: 5, EIz: 1000, EIy: 800, GJ: 300, Jx: 0.01}"
STEPPED = """
      stations:
        - {at: 0, mass_per_length: 5, EIz: 1000}
        - {at: 0.4, mass_per_length: 5, EIz: 1000}
        - {at: 0.4, mass_per_length: 2, EIz: 150}
        - {at: 1, mass_per_length: 1, EIz: 100}"""


def arm_of(section: str, *, shapes: str = "") -> Arm:
    """Make the arm of two links; ``shapes`` is a line of each."""
    text = TWO_LINKS.replace("SECTION", section)
    return loads(text.replace("    length: 1\n", f"    length: 1\n{shapes}"))


@cache
def families() -> Any:
    """Import the program that compares families."""
    sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
    return import_module("shape_families")


@cache
def measured(name: str) -> Any:
    """Measure a sample with every family."""
    return list(families().measure(name))


def posture(model: Model) -> Any:
    return undeformed(model, start_state(model)[0])


@pytest.mark.few(2)
@pytest.mark.parametrize("name", ARMS)
def test_mass_and_stiffness_in_numbers_are_those_of_the_equations(name: str) -> None:
    model = flexarm.build(example_arm(name), stiffening=False)
    q = posture(model)
    symbols = ca.SX.sym("q", model.size)
    mass = formulation("composite", model).formulation.mass_expression(symbols)
    stiffness = ca.jacobian(elastic_force(model, symbols), symbols)
    equations = ca.Function("equations", [symbols], [ca.densify(mass), ca.densify(stiffness)])
    expected, stiff = (each.full() for each in equations(q))
    kept = slice(6 if model.base_moves else 0, None)  # a base that moves has other coordinates
    found = mass_matrix(model, q)
    assert np.abs(found - expected)[kept, kept].max() < 1e-13 * np.abs(expected).max()
    assert np.abs(stiffness_matrix(model, q) - stiff).max() < 1e-12 * np.abs(stiff).max()


@pytest.mark.campaign
@pytest.mark.parametrize(
    "name",
    [
        "korayem-two-link",
        pytest.param("crossed-joints", marks=pytest.mark.campaign),
        pytest.param("chu-example-2", marks=pytest.mark.campaign),
        pytest.param("carriage-on-rail", marks=pytest.mark.campaign),
    ],
)
def test_default_shapes_are_as_good_as_the_best_family(name: str) -> None:
    rows = [row for row in measured(name) if row.joints == "as they are"]
    assert [row.shapes for row in rows] == [1, 2, 3, 4]
    assert [row.sample for row in rows if not row.reached] == []
    # and the families are told apart: the worst of them is far off
    assert max(max(each) for each in rows[1].errors.values()) > 1.0


@pytest.mark.campaign
def test_four_default_shapes_do_for_joints_that_move_and_for_held_ones() -> None:
    rows = [row for row in measured("korayem-two-link") if row.shapes == 4]
    assert {row.joints for row in rows} == {"as they are", "held"}
    assert max(row.default for row in rows) < 0.05
    free = [max(row.errors["loaded, root free"]) for row in rows if row.joints == "held"]
    assert min(free) > 1.0


def test_two_default_shapes_of_an_arm_that_hangs_have_its_first_frequency() -> None:
    names = {"links.1.shapes": {"kind": "arm-modes", "bending_y": 2}}
    names["links.2.shapes"] = names["links.1.shapes"]
    names["links.2.joint.start.position"] = 0.0  # type: ignore[assignment]
    found = flexarm.modes(flexarm.change_arm(example_arm("korayem-two-link"), names))
    bending = [mode.frequency_hz for mode in found.elastic() if mode.frequency_hz > 5]
    assert bending[0] == pytest.approx(25.78, rel=1e-3)


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["chen-two-link", "crossed-joints", "canadarm-free-base"])
def test_default_torsion_has_the_twist_by_a_torque_at_the_tip(name: str) -> None:
    arm = example_arm(name)
    for i, link in enumerate(arm.links, 1):
        if link.flexible:
            shapes = {"kind": "arm-modes", "torsion": 1}
            arm = flexarm.change_arm(arm, {f"links.{i}.shapes": shapes})
    twisted = 0
    for part in flexarm.build(arm).links:
        if part.body.one_length:
            basis, span = part.beam.shapes, part.beam.span
            tip = basis.values("twist", np.array([span.length]))[0]
            angle = tip @ np.linalg.solve(basis.stiffness, tip)
            assert angle == pytest.approx(span.length / span.table["GJ"][0], rel=1e-9)
            twisted += 1
    assert twisted > 0


@pytest.mark.parametrize(
    ("section", "what"),
    [
        ("{mass_per_length: 1, GJ: 10, Jx: 0.01}", "torsion"),
        ("{mass_per_length: 1, GJ: 10, Jx: 0.01, EIy: 1e4, EIz: 1e4}", "torsion"),
        ("{mass_per_length: 1, EA: 1000}", "stretch"),
    ],
)
def test_default_shapes_of_a_rod_have_its_first_two_frequencies(section: str, what: str) -> None:
    """Of a uniform clamped rod they are 1 and 3 times pi/2 sqrt(1000), by hand."""
    arm = loads(
        "flexarm: 1\nname: rod\ngravity: [0, 0, 0]\nlinks:\n"
        f"  - {{joint: {{kind: fixed}}, length: 1, section: {section}}}\n"
    )
    found = [each.frequency_rad_s for each in flexarm.modes(arm).modes if what in each.name]
    assert found[:2] == pytest.approx([np.pi / 2 * 1000**0.5 * k for k in (1, 3)], rel=1e-5)


def test_two_shapes_of_torsion_have_the_first_mode_and_the_static_twist() -> None:
    """The arm's other modes are faster: they must not take the place of the first."""
    arm = loads(
        "flexarm: 1\nname: rod\ngravity: [0, 0, 0]\nlinks:\n"
        "  - {joint: {kind: fixed}, length: 1, section: {mass_per_length: 1, GJ: 10, Jx: 0.01},"
        " shapes: {kind: arm-modes, torsion: 2}, wrenches: [{torque: [0.1, 0, 0]}]}\n"
    )
    found = flexarm.modes(arm)
    assert found.modes[0].frequency_rad_s == pytest.approx(np.pi / 2 * 1000**0.5, rel=1e-8)
    elastic, q = found.model.links[0].beam, found.equilibrium.point.q
    assert elastic is not None
    assert elastic.tip_angle[0] @ q == pytest.approx(0.1 / 10, rel=1e-6)


def test_default_shapes_of_a_rail_are_of_the_start_and_of_all_stations() -> None:
    """Two frequencies with the carriage where it starts, 0.3 m, and where else it goes."""
    known, arm = families(), example_arm("carriage-on-rail")
    counted = known.directions(arm)
    models = {
        family: known.on(arm, counted, known.families(count)[family], count)
        for family, count in (("arm-modes", 4), ("loaded", 4), ("polynomials", 12))
    }
    off: dict[str, list[float]] = {"arm-modes": [], "loaded": []}
    for station in (0.3, 0.75, 1.2, 1.45):
        found = {}
        for name, model in models.items():
            q = posture(model)
            q[model.links[1].exposed] = station
            mass, stiffness = mass_matrix(model, q), stiffness_matrix(model, q)
            linear = LinearModel(mass, stiffness, 0 * mass, model.names)
            found[name] = linear.elastic_modes().frequencies[:2]
        for name, errors in off.items():
            errors.append(np.abs(found[name] / found["polynomials"] - 1).max())
    assert off["arm-modes"][0] < 5e-4 < 2e-3 < off["loaded"][0]
    assert max(off["arm-modes"]) < max(off["loaded"])


def test_default_shapes_of_a_stepped_link_converge() -> None:
    mesh = "    shapes: {kind: elements, bending_y: 10}\n"
    few, many = (flexarm.modes(arm_of(STEPPED, shapes=each)).elastic()[:3] for each in ("", mesh))
    for mode, exact in zip(few, many, strict=True):
        assert mode.frequency_hz == pytest.approx(exact.frequency_hz, rel=1e-3)


def test_default_shapes_do_not_depend_on_inputs() -> None:
    arm = arm_of(UNIFORM)
    driven = flexarm.change_arm(
        arm, {"links.1.joint.input": {"kind": "sine", "amplitude": 3, "frequency": 1}}
    )
    one, other = (flexarm.build(each).links[0].beam for each in (arm, driven))
    assert one is not None
    assert other is not None
    x = np.linspace(0, 1, 7)
    for direction in ("y", "z", "twist"):
        assert np.array_equal(one.shapes.values(direction, x), other.shapes.values(direction, x))


def test_default_shapes_follow_the_start_smoothly() -> None:
    x = np.linspace(0, 1, 7)

    def shapes(angle: float) -> Any:
        arm = flexarm.change_arm(arm_of(UNIFORM), {"links.2.joint.start.position": angle})
        elastic = flexarm.build(arm).links[0].beam
        assert elastic is not None
        return elastic.shapes.values("y", x)

    changes = [np.abs(shapes(0.7 + step) - shapes(0.7)).max() for step in (1e-3, 1e-4)]
    assert changes[1] < 0.2 * changes[0] < 0.2 * 0.05


@pytest.mark.usefixtures("without_costs")
def test_check_says_what_default_shapes_are_of() -> None:
    link, last = (each.flexible for each in check(arm_of(UNIFORM)).links)
    assert link is not None
    why = {each.direction: each.why for each in link.directions}
    assert link.shapes == "arm-modes"
    assert "including modes with driven joints held" in why["bending_y"]
    assert why["torsion"].startswith("1 mode:")  # the next link turns with its tip
    assert "the static twist by a torque at the tip" in why["torsion"]
    assert last is not None
    assert last.directions[2].why.startswith("2 modes: by rule, two where the link's own inertia")
