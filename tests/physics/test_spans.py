"""Links of several spans: any turn, and the same as links of one span joined by hand."""

import json
import math

import numpy as np
import pytest

import flexarm
from flexarm import ModelError
from flexarm.arm import Arm
from flexarm.check.check import check
from flexarm.control import Gauge, sensors
from flexarm.control.statics import start_at
from flexarm.io.model_file import dumps, loads
from flexarm.mechanics.deformed import along, section_forces
from flexarm.model import Model, WholeLink, build, start_state
from flexarm.runs.run import Run

SECTION = "{mass_per_length: 1, EIy: 12, EIz: 10, GJ: 8, Jx: 0.01, Jy: 0.004, Jz: 0.006}"
TAPERED = """{stations: [
      {at: 0, mass_per_length: 2, EIy: 16, EIz: 14, GJ: 9, Jx: 0.02},
      {at: 0.7, mass_per_length: 1, EIy: 12, EIz: 10, GJ: 8, Jx: 0.01},
      {at: 1.2, mass_per_length: 1, EIy: 10, EIz: 10, GJ: 8, Jx: 0.01}]}"""
WHOLE = f"""
flexarm: 1
name: whole
links:
  - joint: {{kind: revolute, axis: [0, 1, 0]}}
    length: 1.5
    spans: 3
    section: {TAPERED}
    shapes: {{kind: polynomials, bending_y: 1, bending_z: 1, torsion: 1}}
    root_piece: {{length: 0.1, body: {{mass: 0.5}}}}
    tip_piece: {{length: 0.2}}
    material_damping: {{time: 0.01}}
    wrenches:
      - {{at: 1.2, force: [0, 3, 1], frame: link}}
      - {{at: 0.4, torque: [0.1, 0, 1]}}
      - {{at: tip, force: [1, 2, 3]}}
    start: {{1.y1: 0.02, 3.z1: -0.01}}
    payload: {{mass: 0.2}}
  - joint: {{kind: fixed}}
    parent: link1
    at: 0.5
    length: 0.2
    body: {{mass: 0.4, com: [0, 0.1, 0]}}
  - joint: {{kind: revolute, axis: [0, 0, 1], start: {{position: 0.3}}}}
    parent: link1
    length: 0.5
    section: {SECTION}
    shapes: {{kind: polynomials, bending_y: 1, bending_z: 0, torsion: 0}}
payload: {{mass: 0.3, com: [0.1, 0, 0]}}
contacts:
  - point: {{link: link1, at: [0.8, 0, 0.05]}}
    obstacle: {{kind: plane, point: [0, 0, 0.1], normal: [0, 0, 1]}}
    stiffness: 100
springs:
  - between: [{{link: link1, at: 0.6}}, {{world: [0, 0, 1]}}]
    stiffness: 20
    length: 0.2
"""


def by_hand() -> Arm:
    """Join three links of one span to the first link of `WHOLE`."""
    arm = loads(WHOLE)
    whole, branch, last = (link.model_dump(exclude_unset=True) for link in arm.links)
    for key in ("spans", "wrenches", "start", "payload"):
        del whole[key]
    root, tip = (whole.pop(f"{end}_piece") for end in ("root", "tip"))
    ends = [(0, 2, 16, 14, 9, 0.02), (0.7, 1, 12, 10, 8, 0.01), (1.2, 1, 10, 10, 8, 0.01)]

    def station(at: float, place: float) -> dict[str, float]:
        names = ("mass_per_length", "EIy", "EIz", "GJ", "Jx")
        columns = np.transpose(ends)
        values = [float(np.interp(place, columns[0], column)) for column in columns[1:]]
        return {"at": at} | dict(zip(names, values, strict=True))

    def stations(low: float, *inner: float) -> dict[str, object]:
        return {"stations": [station(x - low, x) for x in (low, *inner, low + 0.4)]}

    fixed = {"kind": "fixed"}
    links = [
        whole | {"length": 0.5, "section": stations(0.0), "root_piece": root,
                 "wrenches": [{"at": 0.4, "torque": [0.1, 0, 1]}], "start": {"y1": 0.02}},
        whole | {"length": 0.4, "section": stations(0.4, 0.7), "joint": fixed},
        whole | {"length": 0.6, "section": stations(0.8), "joint": fixed, "tip_piece": tip,
                 "wrenches": [{"at": 0.3, "force": [0, 3, 1], "frame": "link"},
                              {"at": "tip", "force": [1, 2, 3]}], "start": {"z1": -0.01},
                 "payload": {"mass": 0.2}},
        branch | {"parent": "link2", "at": 0.625},
        last | {"parent": "link3"},
    ]  # fmt: skip
    data = arm.model_dump(mode="json", exclude_unset=True)
    data["links"] = links
    data["contacts"][0]["point"] = {"link": "link2", "at": [0.3, 0, 0.05]}
    data["springs"][0]["between"][0] = {"link": "link2", "at": 0.1}
    return Arm.model_validate(data)


def test_spans_are_links_joined_by_hand() -> None:
    models = [build(loads(WHOLE)), build(by_hand())]
    q, v = np.random.default_rng(1).normal(0, 0.2, (2, models[0].size))
    found = []
    for model in models:
        equation = flexarm.formulation("articulated", model)
        u = np.zeros(len(equation.input_names))
        a = equation.forward_dynamics(q, v, u)
        contacts, springs = equation.contacts(q, v), equation.springs(q, v)
        found.append([a, *equation.observe(q, v), contacts.normal, springs.length])
    for own, other in zip(*found, strict=True):
        assert np.allclose(own, other, rtol=1e-9, atol=1e-9)
    assert models[0].names[1:5] == ("link1.1.y1", "link1.1.z1", "link1.1.twist1", "link1.2.y1")
    start, start_by_hand = (start_state(model)[0] for model in models)
    assert np.array_equal(start, start_by_hand)
    assert start.any()


def cantilever(spans: int, shapes: str, more: str = "") -> Arm:
    """A link of 10 m whose root is held, without gravity."""
    return loads(f"""
flexarm: 1
name: cantilever
gravity: [0, 0, 0]
links:
  - joint: {{kind: fixed}}
    length: 10
    spans: {spans}
    section: {{mass_per_length: 1, EIy: 1200, EIz: 1000, GJ: 800, Jx: 1}}
    shapes: {{kind: polynomials, {shapes}}}
    wrenches: [{{at: tip, {more or "force: [0, 0, 0]"}}}]
""")


def only_link(model: Model) -> WholeLink:
    """The only link of a model."""
    (link,) = model.whole_links
    return link


@pytest.mark.parametrize(("turns", "spans"), [(1, 4), (2, 8)])
def test_a_moment_at_the_tip_rolls_a_cantilever_up(turns: int, spans: int) -> None:
    moment = turns * math.tau * 1000 / 10
    shapes = "bending_y: 2, bending_z: 1, torsion: 1"
    still = flexarm.equilibrium(build(cantilever(spans, shapes, f"torque: [0, 0, {moment}]")))
    model, q = still.model, still.q[None]
    stations = np.linspace(0, 1, 9)
    shape, angle = along(model, only_link(model), q, stations), turns * math.tau * stations
    radius = 1000 / moment
    x, y = radius * np.sin(angle) - 10 * stations, radius * (1 - np.cos(angle))
    circle = np.stack([x, y, 0 * x], axis=1)
    assert np.abs(shape.deflection[0] - circle).max() < 5e-4
    assert np.abs(shape.deflection[0, -1] - [-10, 0, 0]).max() < 1e-9
    tangents = np.stack([np.cos(angle) - 1, np.sin(angle), 0 * angle], axis=1)
    assert np.abs(shape.slope[0] - tangents).max() < 1e-9
    energy = flexarm.formulation("composite", model).energy(still.q, 0 * still.q)
    assert energy.elastic == pytest.approx(moment**2 * 10 / 2000, rel=1e-9)


def test_more_spans_of_fewer_shapes_are_the_same_beam() -> None:
    stations, found = np.array([0.2, 0.4, 0.7, 1.0]), []
    load = "force: [-10, 30, 15], torque: [40, 0, 0]"
    for spans, count in ((1, 7), (3, 4)):
        shapes = f"bending_y: {count}, bending_z: {count}, torsion: {count}"
        still = flexarm.equilibrium(build(cantilever(spans, shapes, load)))
        link, q = only_link(still.model), still.q[None]
        shape = along(still.model, link, q, stations)
        moment = section_forces(still.model, link, q, stations).moment
        found.append((shape.deflection, shape.slope, shape.twist, moment / 100))
    for one, several in zip(*found, strict=True):
        assert np.abs(one).max() > 0.1
        assert np.abs(one - several).max() < 2e-3


def test_axis_of_a_link_is_that_of_its_frames() -> None:
    model = build(cantilever(3, "bending_y: 2, bending_z: 2, torsion: 1"))
    equation, link = flexarm.formulation("composite", model), only_link(model)
    q = np.random.default_rng(2).normal(0, 0.5, (4, model.size))
    shape, frames = along(model, link, q, np.array([1 / 3, 2 / 3, 1.0])), equation.link_frames(q)
    placed = shape.deflection + np.outer([1 / 3, 2 / 3, 1.0], [10, 0, 0])
    assert np.abs(placed - frames.tip_position).max() < 1e-9
    assert np.abs(shape.slope + np.eye(3)[0] - frames.tip_rotation[..., 0]).max() < 1e-9
    assert np.abs(shape.slope).max() > 0.5


FLYING = """
flexarm: 1
name: flying rod
gravity: [0, 0, 0]
links:
  - {name: x, joint: {kind: prismatic, axis: [1, 0, 0], actuation: free, start: {position: 6}}}
  - {name: y, joint: {kind: prismatic, axis: [0, 1, 0], actuation: free}}
  - name: rod
    joint: {kind: revolute, actuation: free, start: {position: 2.214297435588181}}
    length: 10
    spans: SPANS
    section: {mass_per_length: 1, EIz: 100, EA: 1e4, GAy: 1e4, Jz: 10}
    shapes: {kind: polynomials, bending_y: COUNT, stretch: 1}
    wrenches:
      - at: 0
        force: [8, 0, 0]
        torque: [0, 0, -80]
        factor: {kind: table, times: [0, 2.5, 2.501, 20], values: [1, 1, 0, 0]}
"""


def flight(spans: int, count: int, t_end: float) -> Run:
    """Let a free rod fly, as Simo & Vu-Quoc 1986 do, with a fifth of their bending stiffness."""
    arm = loads(FLYING.replace("SPANS", str(spans)).replace("COUNT", str(count)))
    return flexarm.simulate(arm, t_end=t_end, dt=0.25, rtol=1e-5, errors="off")


@pytest.mark.usefixtures("little_effort")
def test_a_free_rod_flies_and_winds_up() -> None:
    run = flight(6, 2, 3.0)
    assert run.status == "finished"
    assert run.energy_balance < 1e-6
    centre = flexarm.formulation("composite", run.model).centre_of_mass(run.q)
    pushed, after = np.minimum(run.t, 2.5), np.maximum(run.t - 2.5, 0)
    x = 3 + 0.4 * pushed**2 + 2.0 * after
    assert np.abs(centre[:, 0] - x).max() < 1e-3  # the force ends within a millisecond
    assert np.abs(centre[:, 1:] - [4, 0]).max() < 1e-5
    assert run.validity.slope < 2.5
    turned = run.q[:, [run.model.names.index(f"rod.{k}.y1") for k in range(1, 7)]]
    assert np.abs(turned.sum(axis=1)).max() > 2.5


@pytest.mark.campaign
def test_flights_of_a_rod_agree_whatever_its_spans() -> None:
    runs = [flight(spans, count, 6.0) for spans, count in ((3, 5), (6, 3))]
    tips = [run.tip for run in runs]
    assert np.abs(tips[0] - tips[1]).max() < 2e-3 * np.ptp(tips[0], axis=0).max()


def test_a_link_that_bends_too_far_asks_for_spans() -> None:
    arm = cantilever(1, "bending_y: 3, bending_z: 0, torsion: 0", "torque: [0, 0, 600]")
    run = flexarm.simulate(arm, t_end=5, dt=0.1, errors="off")
    assert run.status != "finished"
    assert "Give link1 more spans ('spans: 2'), or stiffen it." in run.reason


@pytest.mark.usefixtures("little_effort")
def test_a_link_of_spans_is_one_link_in_results() -> None:
    arm = loads(WHOLE)
    run = flexarm.simulate(arm, t_end=0.02, dt=0.01, errors="off")
    assert list(run.along([0, 1]).link.values) == ["link1", "link3"]
    assert list(run.section_forces([0, 1]).link.values) == ["link1", "link3"]
    assert list(run.link_frames().link.values) == ["link1", "link2", "link3"]
    assert list(run.joint_wrenches().joint.values) == ["joint1", "joint2", "joint3"]
    names = [mode.name for mode in flexarm.modes(arm).modes]
    assert {"link 1 bending y 1", "link 1 bending z 1", "link 3 bending y 1"} <= set(names)
    assert not any("link1." in name for name in names)
    report = check(arm)
    assert [link.name for link in report.links] == [
        "link1.1",
        "link1.2",
        "link1.3",
        "link2",
        "link3",
    ]
    places = [link.joint.on for link in report.links]
    assert places[:3] == ["", "", ""]
    assert places[3:] == ["link1.2 at 0.625", "link1.3"]
    assert not any("links[4]" in notice.place for notice in report.notices)
    fit = flexarm.fit_curve(run.model, "link1", y=lambda x: 0.01 * x**2)
    assert fit.residual < 0.02
    again = loads(dumps(arm))
    assert again == arm
    started = start_at(arm, run.model, run.q[-1])
    assert np.allclose(start_state(build(started))[0], run.q[-1])


def test_a_gauge_reads_the_span_on_which_it_is() -> None:
    model = build(cantilever(2, "bending_y: 2, bending_z: 0, torsion: 0"))
    sensed = sensors(model, [Gauge("link1", 0.1), Gauge("link1", 0.4), Gauge("link1", 0.6),
                             Gauge("link1", 0.9)])  # fmt: skip
    q = np.array([0.1, -0.2, 0.3, 0.05])
    reading = np.array(sensed.measure(q, 0 * q)[0]).ravel()
    assert np.allclose(np.array(sensed.estimate(reading, 0 * reading)[0]).ravel(), q)
    moment = section_forces(
        model, only_link(model), q[None], np.array([0.1, 0.4, 0.6, 0.9])
    ).moment[0, :, 2]
    assert np.allclose(-1000 * reading, moment)


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("spans", 0, "must be >= 1"),
        ("shapes", {"kind": "pinned-free"}, "do not fit spans"),
        ("damping", 0.01, "Give material_damping by 'time'"),
        ("material_damping", {"loss_factor": 0.01}, "Give material_damping by 'time'"),
        ("start", {"y1": 0.1}, "such as 2.y1"),
        ("start", {"4.y1": 0.1}, "such as 2.y1"),
        ("elastic_energy", [{"coefficient": 1, "powers": {"1.y1": 4}}], "for a link of one span"),
    ],
)
def test_what_does_not_fit_spans_is_refused(key: str, value: object, text: str) -> None:
    data = cantilever(3, "bending_y: 1").model_dump(mode="json", exclude_unset=True)
    data["links"][0][key] = value
    with pytest.raises(ModelError, match=text.replace(".", r"\.")):
        loads(json.dumps(data))


@pytest.mark.parametrize("spans", [1, 3])
def test_twist_of_a_dh_joint_is_behind_the_last_span(spans: int) -> None:
    arm = loads(f"""
flexarm: 1
name: twisted
links:
  - joint: {{kind: revolute, dh: {{theta: 0.2, d: 0.3, alpha: 0.7, a: 2}}}}
    length: 2
    spans: {spans}
    section: {SECTION}
    shapes: {{kind: polynomials, bending_y: 1, bending_z: 0, torsion: 0}}
  - joint: {{kind: revolute}}
    length: 0.5
    body: {{mass: 1}}
""")
    model = build(arm)
    frames = flexarm.formulation("composite", model).link_frames(np.zeros(model.size))
    assert frames.root_rotation[-1, :, 2] == pytest.approx(
        [math.sin(0.2) * math.sin(0.7), -math.cos(0.2) * math.sin(0.7), math.cos(0.7)]
    )
    assert frames.root_position[-1] == pytest.approx([2 * math.cos(0.2), 2 * math.sin(0.2), 0.3])
