"""What a run says on demand: deflections, section forces, wrenches, strains, its range."""

import math
from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

import flexarm
from flexarm.errors import FlexarmError
from flexarm.formulations import formulation
from flexarm.io.model_file import loads
from flexarm.mechanics.bodies import body_of
from flexarm.mechanics.deformed import tip_deflection
from flexarm.model import Model, build
from flexarm.runs.data import Statistics
from flexarm.runs.plot import arm_outline
from flexarm.runs.run import Run
from flexarm.spatial import Array

G = 9.81
CANTILEVER = """
flexarm: 1
name: a beam in a wall
gravity: [0, -9.81, 0]
stiffening: false
links:
  - joint: {kind: fixed}
    length: 2
    section: {mass_per_length: 3, EIz: 5000}
    shapes: {kind: elements, bending_y: 4}
"""
TWO_PLANES = """
flexarm: 1
name: a bar, bent, twisted and pulled at its tip
gravity: [0, 0, 0]
stiffening: false
links:
  - joint: {kind: fixed}
    length: 1
    section:
      material: {E: 70 GPa, density: 2700, G: 26 GPa}
      shape: SHAPE
    shapes: {kind: craig-bampton, bending_y: 1, bending_z: 1, torsion: 1, stretch: 1}
    wrenches: [{at: tip, frame: link, force: [200, FORCE, 0], torque: [0.5, 3, 2]}]
"""
RECTANGLE = "{kind: rectangle, width: 20 mm, height: 10 mm}"
TUBE = "{kind: tube, diameter: 20 mm, thickness: 2 mm}"
ARC = """
flexarm: 1
name: a link bent to an arc
gravity: [0, 0, 0]
links:
  - joint: {kind: fixed}
    length: 2
    section: {mass_per_length: 1, EIz: 10}
    shapes: {kind: craig-bampton, bending_y: 1}
"""
SPATIAL = """
flexarm: 1
name: two links that deform in every way, the second out of its hub
gravity: [0, -9.81, 0]
links:
  - joint: {kind: revolute}
    length: 1
    section: {mass_per_length: 1, EIz: 20, EIy: 30, GJ: 10, EA: 1000, Jx: 0.01}
    shapes: {kind: clamped-free, bending_y: 2, bending_z: 2, torsion: 1, stretch: 1}
    quadratic_shapes:
      - {direction: z, amplitudes: [y1, y2], stations: [0, 0.5, 1], values: [0, 0.1, 0.3]}
  - joint: {kind: sliding, start: {position: 0.6}, limits: {lower: 0.3}}
    length: 1
    section: {mass_per_length: 1, EIz: 20, EIy: 30, GJ: 10, EA: 1000, Jx: 0.01}
    shapes: {kind: clamped-mass, follow: true, bending_y: 2, bending_z: 1, torsion: 1, stretch: 1}
"""
TUMBLING = """
flexarm: 1
name: a tumbling satellite with a boom
gravity: [0, 0, 0]
base:
  kind: free
  body: {mass: 50, inertia: [4, 9, 6]}
  spin: [0.05, 2.5, 0.02]
links:
  - joint: {kind: fixed, before: {position: [0.5, 0, 0]}}
    length: 2
    section: {mass_per_length: 1, EIz: 300}
    shapes: {kind: loaded, bending_y: 1}
"""


def still(model: Model, q: Array) -> Run:
    """Make a run of one sample, at rest."""
    n, inputs = model.size, len(formulation("articulated", model).input_names)
    nothing = np.zeros((1, n))
    return Run(
        model=model,
        t=np.zeros(1),
        q=q[None],
        v=nothing,
        u=np.zeros((1, inputs)),
        tip=np.zeros((1, 3)),
        tip_rotation=np.eye(3)[None],
        energy=np.zeros((1, 3)),
        work_integrals=np.zeros((1, 5)),
        reference_attitudes=np.eye(3)[None],
        status="finished",
        reason="",
        method="none",
        why="",
        rtol=1e-3,
        statistics=Statistics(0, 0, 0, 0.0),
    )


def balanced(text: str) -> Run:
    """Deflect a linear arm, all of whose coordinates are amplitudes, until it is in balance."""
    model = build(loads(text))
    equation = formulation("composite", model)
    zero = np.zeros(model.size)
    left = equation.inverse_dynamics(zero, zero, zero)
    stiffness = np.stack([equation.parts(e, zero)["elastic"] for e in np.eye(model.size)], axis=1)
    return still(model, np.asarray(np.linalg.solve(stiffness, -left), dtype=np.float64))


@pytest.fixture(scope="module")
def cantilever() -> Run:
    """Hang a beam of four elements of 0.5 m under its own weight."""
    return balanced(CANTILEVER)


def test_bending_moment_of_a_beam_under_its_weight_is_that_of_cubic_elements(
    cantilever: Run,
) -> None:
    # Cubic elements have the exact deflection at their nodes; their moment there differs from the
    # exact one, q (L - x)^2/2, by the moment q h^2/12 of a clamped element's load.
    forces = cantilever.section_forces(stations=np.array([0.0, 0.25, 0.5, 0.75]))
    x = 2 * forces.station.values
    exact = -3 * G * (2 - x) ** 2 / 2
    assert forces.moment.sel(axis="z").values[0, 0] == pytest.approx(exact + 3 * G * 0.25 / 12)


def test_shear_in_the_middle_of_each_element_is_the_weight_beyond(cantilever: Run) -> None:
    forces = cantilever.section_forces(stations=np.array([0.125, 0.375, 0.625, 0.875]))
    beyond = -3 * G * 2 * (1 - forces.station.values)
    assert forces.force.sel(axis="y").values[0, 0] == pytest.approx(beyond)


def test_directions_without_shapes_and_sections_without_shape_have_no_number(
    cantilever: Run,
) -> None:
    forces = cantilever.section_forces()
    assert np.isnan(forces.force.sel(axis=["x", "z"])).all()
    assert np.isnan(forces.moment.sel(axis=["x", "y"])).all()
    assert np.isnan(forces.strain).all()
    assert cantilever.validity.strain is None


def test_joint_carries_the_weight_of_a_beam_at_rest_and_its_moment(cantilever: Run) -> None:
    wrenches = cantilever.joint_wrenches()
    assert wrenches.force.values[0, 0] == pytest.approx([0, 3 * 2 * G, 0], abs=1e-9)
    assert wrenches.torque.values[0, 0] == pytest.approx([0, 0, 3 * 2 * G * 1], abs=1e-9)


def test_joint_wrench_follows_the_acceleration_of_a_falling_rod() -> None:
    text = """
flexarm: 1
name: a rigid rod let go
gravity: [0, -9.81, 0]
links: [{joint: {kind: revolute}, length: 1, body: {mass: 1, com: [0.5, 0, 0],
         inertia: [0, 0, 0.083333333333333333]}}]
"""
    wrenches = still(build(loads(text)), np.zeros(1)).joint_wrenches()
    # It turns about its joint with 3 g/2 per length, so that its centre falls with 3 g/4.
    assert wrenches.force.values[0, 0] == pytest.approx([0, G / 4, 0], abs=1e-12)
    assert wrenches.torque.values[0, 0] == pytest.approx([0, 0, 0], abs=1e-12)


def test_tip_load_gives_the_section_forces_of_statics() -> None:
    run = balanced(TWO_PLANES.replace("SHAPE", RECTANGLE).replace("FORCE", "10"))
    forces = run.section_forces(stations=5)
    along = 1 - forces.station.values
    expected = {
        "force": [200 + 0 * along, 10 + 0 * along, 0 * along],
        "moment": [0.5 + 0 * along, 3 + 0 * along, 2 + 10 * along],
    }
    for name, columns in expected.items():
        assert forces[name].values[0, 0] == pytest.approx(np.stack(columns, axis=1), abs=1e-9)


@pytest.mark.parametrize("shape", [RECTANGLE, TUBE])
def test_strain_is_that_of_the_outermost_fibre(shape: str) -> None:
    run = balanced(TWO_PLANES.replace("SHAPE", shape).replace("FORCE", "0"))
    strain = run.section_forces(stations=3).strain.values[0, 0]
    E, w, h, d, t = 70e9, 0.02, 0.01, 0.02, 0.002
    if shape == RECTANGLE:  # torque 2 about z bends along the width, 3 about y along the height
        bent = 2 * (w / 2) / (h * w**3 / 12) + 3 * (h / 2) / (w * h**3 / 12)
        pulled = 200 / (w * h)
    else:
        bent = math.hypot(2, 3) * (d / 2) / (math.pi / 64 * (d**4 - (d - 2 * t) ** 4))
        pulled = 200 / (math.pi / 4 * (d**2 - (d - 2 * t) ** 2))
    assert strain == pytest.approx((bent + pulled) / E, rel=1e-9)
    assert run.validity.strain == pytest.approx((bent + pulled) / E, rel=1e-9)


@pytest.mark.parametrize("bends", ["EIz: 5, ", ""])
def test_strain_of_a_link_that_stretches_is_known_without_its_sections_shape(bends: str) -> None:
    run = balanced(
        "flexarm: 1\nname: rod\ngravity: [0, 0, 0]\nlinks:\n  - joint: {kind: fixed}\n"
        f"    length: 2\n    section: {{mass_per_length: 1, {bends}EA: 4000}}\n"
        "    shapes: {kind: polynomials, stretch: 2}\n"
        "    wrenches: [{at: tip, force: [30, 0, 0]}]\n"
    )
    assert run.section_forces(stations=3).strain.values == pytest.approx(30 / 4000)
    link = run.validity.links[0]
    assert link.strain == pytest.approx(30 / 4000)
    assert link.strain_of == "fibre"
    assert "strain 0.0075 > 0.005" in run.validity.warnings[0]


@pytest.mark.parametrize("stiffening", [True, False])
def test_range_of_a_link_bent_to_an_arc_is_that_by_hand(stiffening: bool) -> None:
    model = build(loads(ARC), stiffening=stiffening)
    bend, length = 0.1, 2.0  # [1/m], [m]: v = bend x^2/2, amplitudes are the tip's v and v'
    found = still(model, np.array([bend * length**2 / 2, bend * length, 0.0])).validity
    slope = bend * length
    assert found.slope == pytest.approx(slope)
    # an arc of a circle, as an exact beam; by linear theory what it leaves out
    drawn = 1 - math.sin(slope) / slope if stiffening else slope**2 / 6
    assert found.shortening == pytest.approx(drawn)
    share = 0.0 if stiffening else (slope**2 / 3) / (1 + slope**2 / 3)
    assert found.quartic_share == pytest.approx(share)


@pytest.mark.parametrize(
    ("slope", "stiffening", "words"),
    [
        (2.4, True, []),
        (2.6, True, ["slope 2.6 > 2.5", "near gimbal lock"]),
        (0.002, False, []),
        (0.003, False, ["slope 0.003 > 0.0025", "Switch stiffening on"]),
    ],
)
def test_warning_comes_at_the_stated_limits(
    slope: float, stiffening: bool, words: list[str]
) -> None:
    model = build(loads(ARC), stiffening=stiffening)
    warnings = still(model, np.array([slope, slope, 0.0])).validity.warnings
    assert len(warnings) == bool(words)
    assert [word for word in words if word not in warnings[0]] == []


def test_advice_to_a_link_that_shears_can_be_followed() -> None:
    model = build(loads(ARC.replace("EIz: ", "GAy: 1e9, EIz: ")), stiffening=False)
    (warning,) = still(model, np.array([0.003, 0.003, 0.0])).validity.warnings
    assert warning.endswith("Switch stiffening on.")
    build(loads(ARC.replace("EIz: ", "GAy: 1e9, EIz: ")), stiffening=True)


def test_strain_beyond_what_metals_bear_is_warned_of() -> None:
    heavy = TWO_PLANES.replace("SHAPE", RECTANGLE).replace("FORCE", "1500")
    run = balanced(heavy.replace("stiffening: false", "stiffening: true"))
    assert run.validity.strain is not None
    assert run.validity.strain > 0.005
    assert "Few materials stay linear" in run.validity.warnings[0]


@pytest.mark.parametrize(
    ("drive", "most"), [("", 5.0), (", drive: {gear_ratio: 10, motor_torque: true}", 0.5)]
)
def test_an_input_beyond_what_its_joint_can_give_is_warned_of(drive: str, most: float) -> None:
    """A limit is of the joint: behind a gear a motor has a tenth of it."""
    arm = loads(
        "flexarm: 1\nname: wheel\nlinks:\n  - joint: {kind: revolute, axis: [1, 0, 0], "
        f"limits: {{effort: 5 N m}}{drive}}}\n    body: {{mass: 1, inertia: [1, 1, 1]}}\n"
    )
    within = flexarm.simulate(arm, t_end=0.1, inputs={"joint1": most})
    assert within.validity.warnings == ()
    ramp = {"kind": "table", "times": [0, 0.1], "values": [0, 2 * most], "interpolation": "linear"}
    (warning,) = flexarm.simulate(
        arm, t_end=0.1, dt=0.02, inputs={"joint1": ramp}
    ).validity.warnings
    assert f"joint1: input {2 * most:g} exceeds the limit {most:g}" in warning
    assert "first at 0.06 s" in warning


@pytest.fixture(scope="module")
def spatial() -> Run:
    """Deform two links in every way at once, and leave them there."""
    model = build(loads(SPATIAL), nodes=24)
    q = np.random.default_rng(3).normal(scale=0.05, size=model.size)
    q[model.names.index("joint2")] = 0.7
    return still(model, q)


@pytest.mark.parametrize("link", [0, 1])
def test_deflection_along_a_link_is_where_kinematics_places_its_sections(
    spatial: Run, link: int
) -> None:
    part = spatial.model.links[link]
    length = [1.0, 0.7][link]
    stations = np.array([0.0, 0.3, 0.85, 1.0])
    found = spatial.along(stations).deflection.values[0, link]
    for k, place in enumerate(stations):
        local = body_of(spatial.model, part).at_fraction(ca.DM(spatial.q[0]), float(place))
        expected = np.array(local.position).ravel() - [place * length, 0, 0]
        assert found[k] == pytest.approx(expected, abs=1e-12)
    assert tip_deflection(spatial.model, part, spatial.q)[0] == pytest.approx(found[-1], abs=1e-15)


@pytest.mark.parametrize("link", [0, 1])
def test_slope_is_the_derivative_of_the_deflection(spatial: Run, link: int) -> None:
    length, h = [1.0, 0.7][link], 1e-5
    around = spatial.along(np.array([0.4 - h, 0.4, 0.4 + h]))
    moved, slope = around.deflection.values[0, link], around.slope.values[0, link]
    assert slope[1] == pytest.approx((moved[2] - moved[0]) / (2 * h * length), rel=1e-6, abs=1e-9)


@pytest.mark.campaign
@pytest.mark.parametrize("stiffening", [pytest.param(False, marks=pytest.mark.campaign), True])
def test_section_forces_hold_the_elastic_energy(spatial: Run, stiffening: bool) -> None:
    q = 0.03 * spatial.q[0]
    q[spatial.model.names.index("joint2")] = 0.7
    run = still(replace(spatial.model, stiffening=stiffening), q)
    node, weight = np.polynomial.legendre.leggauss(30)
    forces = run.section_forces((node + 1) / 2)
    per = np.array([10.0, 30.0, 20.0])  # GJ, EIy, EIz
    density = (forces.moment.values[0] ** 2 / per).sum(axis=2)
    density += forces.force.values[0, :, :, 0] ** 2 / 1000
    stored = sum(length / 2 * weight @ density[k] / 2 for k, length in enumerate((1.0, 0.7)))
    expected = formulation("composite", run.model).energy(q, 0 * q).elastic
    # With stiffening the square of the curvature has a sixth order that the energy leaves out.
    assert stored == pytest.approx(expected, rel=1e-6 if stiffening else 1e-10)


def test_root_moment_of_a_driven_link_is_what_its_torque_leaves_the_hub() -> None:
    arm = flexarm.change_arm(flexarm.example_arm("driven-link"), {"links.1.shapes.bending_y": 8})
    run = flexarm.simulate(arm, t_end=0.5, dt=0.01, rtol=1e-6)
    moment = run.section_forces([0.0]).moment.sel(axis="z").values[1:, 0, 0]
    equation = formulation("composite", run.model)
    rows = zip(run.q, run.v, run.u, strict=True)
    turning = np.array([equation.forward_dynamics(q, v, u)[0] for q, v, u in rows])[1:]
    hub = 0.1  # [kg m^2]
    on_beam = run.u[1:, 0] - hub * turning
    assert np.ptp(on_beam) > 2.0
    # eight loaded modes have no more of the root's curvature
    assert -moment == pytest.approx(on_beam, abs=5e-4 * np.abs(on_beam).max())


def test_outline_of_a_tumbling_arm_ends_at_its_tip() -> None:
    run = flexarm.simulate(loads(TUMBLING), t_end=2.0, dt=0.5)
    assert len({reference_attitude.tobytes() for reference_attitude in run.reference_attitudes}) > 2
    ends = arm_outline(run, np.arange(len(run.t)))[:, -1]
    assert ends == pytest.approx(run.tip, abs=1e-12)


def test_lumped_links_have_no_curvature_to_take_forces_from() -> None:
    run = balanced(CANTILEVER.replace("kind: elements", "kind: lumped"))
    assert np.isnan(run.section_forces().moment).all()
    assert run.joint_wrenches().torque.values[0, 0, 2] == pytest.approx(3 * 2 * G)


def test_energy_balance_of_an_arm_at_rest_is_closed(cantilever: Run) -> None:
    assert cantilever.energy_balance == 0.0
    one = replace(cantilever, energy=np.array([[0.0, 2.0, 0.0]]), work_integrals=np.zeros((1, 5)))
    two = replace(
        one,
        t=np.array([0.0, 1.0]),
        energy=np.array([[0.0, 2.0, 0.0], [0.0, 2.5, 0.0]]),
        work_integrals=np.zeros((2, 5)),
    )
    assert (one.energy_balance, two.energy_balance) == (0.0, 1.0)
    rounding = replace(two, energy=np.array([[0.0, 2.0, 0.0], [0.0, 2.0 + 4e-16, 0.0]]))
    assert 0 < rounding.energy_balance < 1e-15


def test_the_energy_balance_is_over_what_was_exchanged_though_no_sample_moves(
    cantilever: Run,
) -> None:
    """Dropped and brought to rest between two samples: 5 J dissipated, 1 mJ of it lost."""
    run = replace(
        cantilever,
        t=np.array([0.0, 1e6]),
        energy=np.array([[0.0, 0.0, 5.0], [1e-9, 0.0, 0.001]]),
        work_integrals=np.array([[0.0, 0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 5.0, 0.0]]),
    )
    assert run.energy_balance == pytest.approx(2e-4, rel=1e-3)


@pytest.mark.parametrize("stations", [1, np.array([0.5, 1.5]), np.array([]), np.zeros((2, 2))])
def test_stations_outside_the_link_are_refused(cantilever: Run, stations: int | Array) -> None:
    with pytest.raises(FlexarmError, match="stations: must be"):
        cantilever.along(stations)
