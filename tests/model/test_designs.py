"""Designs that are built together are those that are built one by one."""

import pickle
from collections.abc import Iterator

import numpy as np
import pytest
from scipy.linalg import eigh

import flexarm
from flexarm.arm import Arm
from flexarm.errors import FlexarmError
from flexarm.integrate.task import equation_of
from flexarm.io.model_file import loads
from flexarm.io.overrides import change_arm, read_value
from flexarm.links.rails import rail
from flexarm.links.rails.rail import Rail
from flexarm.mechanics.loads import prescribed_accelerations, wrench_factors
from flexarm.model import Model, build
from flexarm.model.designs.build import TOGETHER, build_designs, designs_together
from flexarm.model.small_motions import mass_matrix, stiffness_matrix
from flexarm.samples import sample_names

SEED = 20
COUNT = 8
NUMBERS = {
    "korayem-two-link": ("links.1.length", "links.2.section.EIz"),
    "count-2-2-2": ("links.2.section.mass_per_length", "links.1.section.EIz", "links.2.length"),
    "chen-two-link": ("links.1.length", "links.1.section.GJ", "links.2.joint.drive.stiffness"),
}
MATERIAL = """
flexarm: 1
name: tubes on default shapes
gravity: [0, -9.81, 0]
links:
  - joint: {kind: revolute, start: {position: -30 deg}}
    length: 1.2
    section:
      material: {E: 70 GPa, density: 2700}
      shape: {kind: tube, diameter: 30 mm, thickness: 1 mm}
    damping: 0.01
  - joint: {kind: revolute, hub: {inboard: {mass: 1.5}}}
    length: 0.8
    section:
      material: {E: 70 GPa, density: 2700}
      shape: {kind: tube, diameter: 24 mm, thickness: 1 mm}
    shapes: {kind: arm-modes, bending_y: 2, bending_z: 1, torsion: 1, stretch: 1}
payload: {mass: 0.5}
"""
TWISTED = """
flexarm: 1
name: in two planes on default shapes
gravity: [0, -9.81, 0]
links:
  - joint: {kind: revolute}
    length: 1.0
    section: {mass_per_length: 0.5, EIy: 20, EIz: 30, GJ: 3, Jx: 1e-4}
    shapes: {kind: arm-modes, bending_y: 2, bending_z: 2, torsion: 1}
    damping: 0.01
  - joint: {kind: revolute, axis: [0, 1, 0], start: {position: 40 deg}}
    length: 0.7
    section: {mass_per_length: 0.3, EIy: 10, EIz: 10, GJ: 3, Jx: 1e-4}
payload: {mass: 0.5, com: [0.1, 0.05, 0.02]}
"""
LOADED = """
flexarm: 1
name: between bodies
gravity: [0, -9.81, 0]
links:
  - joint: {kind: revolute, hub: {outboard: {mass: 1, inertia: [0, 0, 0.02]}}}
    length: 1.0
    section: {mass_per_length: 0.5, EIz: 30, GJ: 3, Jx: 1e-4, Jz: 2e-4}
    shapes: SHAPES
payload: {mass: 0.5, com: [0.1, 0, 0], inertia: [1e-3, 2e-3, 3e-3]}
"""


def sets_of(arm: Arm, keys: tuple[str, ...], count: int = COUNT) -> list[dict[str, float]]:
    """Draw values about an arm's own."""
    rng = np.random.default_rng(SEED)
    own = {key: read_value(arm, key) for key in keys}
    return [{k: float(v * rng.uniform(0.8, 1.25)) for k, v in own.items()} for _ in range(count)]


def accelerations(model: Model, *, plain: bool = False) -> np.ndarray:
    """Evaluate forward dynamics at a state, with numbers as inputs or as plain constants."""
    equation = equation_of(model)
    rng = np.random.default_rng(SEED)
    q, v = (0.01 * rng.normal(size=model.size) for _ in range(2))
    for index, low, high in model.sliding_ranges:
        q[index] = (low + high) / 2
    u = np.zeros(len(equation.input_names))
    if plain:
        given = [wrench_factors(model, 0.0), prescribed_accelerations(model, 0.0), *equation.given]
        return np.array(equation.function("forward_dynamics")(q, v, u, *given)[0]).ravel()
    return equation.forward_dynamics(q, v, u)


def rounding(arm: Arm, values: dict[str, float], there: np.ndarray) -> float:
    """Give how far accelerations move if values do by a unit in their last place."""
    moved = {key: float(np.nextafter(value, np.inf)) for key, value in values.items()}
    found = accelerations(build(change_arm(arm, moved)))
    return float(np.abs(found - there).max() / np.abs(there).max())


def check_rail(one: Rail | None, other: Rail | None) -> None:
    """Compare the rail of a design with that of the arm built alone."""
    if one is None or other is None:
        assert one is other
        return
    assert (one.root, *one.range) == pytest.approx((other.root, *other.range), rel=1e-12)
    for name in ("edges", "x", "y", "z", "twist", "reach", "jumps"):
        here, there = getattr(one, name), getattr(other, name)
        if there is None:
            assert here is None
            continue
        if name == "reach":  # fitted, to as many terms as are more than rounding, which
            terms = min(here.shape[-2], there.shape[-2])  # derivatives multiply
            here, there = here[0, ..., :terms, :], there[0, ..., :terms, :]
        assert here.shape == there.shape, name
        size = np.abs(there).max(initial=0.0)
        assert np.abs(here - there).max(initial=0.0) <= 1e-11 * size, name


def check(arm: Arm, keys: tuple[str, ...]) -> int:
    """Compare a design with the arm that is built and traced alone; count those built together."""
    sets = sets_of(arm, keys)
    pairs = list(zip(sets, build_designs(arm, sets), strict=True))
    for values, model in pairs[-1:]:
        assert isinstance(model, Model)
        alone = build(change_arm(arm, values))
        assert model.arm == alone.arm
        assert model.arm.model_fields_set == alone.arm.model_fields_set
        for one, other in zip(model.links, alone.links, strict=True):
            if one.body.one_length and other.body.one_length:
                x = np.linspace(0, other.beam.span.length, 5)
                for nu in (0, 1, 2):
                    here = one.beam.shapes.displacement(x, nu)
                    there = other.beam.shapes.displacement(x, nu)
                    assert np.abs(here - there).max() <= 1e-11 * np.abs(there).max()
            check_rail(one.rail, other.rail)
        here, there = accelerations(model), accelerations(alone, plain=True)
        apart = np.abs(here - there).max() / np.abs(there).max()
        assert apart <= 1e-12 or apart <= 10 * rounding(arm, values, there)
    return sum(len(which) for which, _ in designs_together(arm, sets))


@pytest.mark.few(2)
@pytest.mark.parametrize("name", NUMBERS)
def test_designs_have_the_dynamics_of_arms_built_alone(name: str) -> None:
    """Whatever numbers vary, and all of them are built together."""
    assert check(flexarm.sample(name), NUMBERS[name]) == COUNT


def test_designs_of_default_shapes_have_those_of_arms_built_alone() -> None:
    """Whatever bends the links: their sections, their loads, the posture at the start."""
    keys = ("links.1.length", "links.1.section.shape.diameter", "links.2.section.material.E",
            "payload.mass", "links.1.joint.start.position")  # fmt: skip
    assert check(loads(MATERIAL), keys) == COUNT


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "shapes",
    [
        "{kind: loaded, bending_y: 2, torsion: 1}",
        "{kind: loaded, root: held, bending_y: 2, torsion: 1, normalise: mass}",
        "{kind: clamped-mass, bending_y: 2, torsion: 1}",
        "{kind: clamped-mass, bending_y: 1, torsion: 1, static: true}",
        "{kind: clamped-mass, bending_y: 8, torsion: 1, static: true}",
        "{kind: loaded, bending_y: 2, torsion: 1, static: true, normalise: mass}",
        "{kind: arm-modes, bending_y: 2, torsion: 1, static: true}",
    ],
)
def test_designs_of_shapes_that_follow_loads_are_those_built_alone(shapes: str) -> None:
    """Whatever hangs on the link's ends, and its own length and section."""
    keys = ("links.1.length", "links.1.section.Jz", "links.1.section.EIz", "payload.mass",
            "links.1.joint.hub.outboard.mass")  # fmt: skip
    assert check(loads(LOADED.replace("SHAPES", shapes)), keys) == COUNT


def own_frequencies(model: Model) -> np.ndarray:
    """Find the squared frequencies of the first link's shapes with its joint held."""
    q = np.zeros(model.size)
    stiffness, mass = (each(model, q)[1:, 1:] for each in (stiffness_matrix, mass_matrix))
    return np.asarray(eigh(stiffness, mass, eigvals_only=True))


def test_designs_do_not_depend_on_what_was_built_before() -> None:
    """Shapes that keep their form without inertia of slopes do not with it."""
    arm = loads(LOADED.replace("SHAPES", "{kind: craig-bampton, bending_y: 2, torsion: 1}"))
    for inertia in (1e-16, 2e-2):
        arm = change_arm(arm, {"links.1.section.Jz": inertia})
        sets = [{"links.1.length": float(length)} for length in np.linspace(1, 2, 12)]
        model = build_designs(arm, sets)[-1]
        assert isinstance(model, Model)
        alone = own_frequencies(build(change_arm(arm, sets[-1])))
        np.testing.assert_allclose(own_frequencies(model), alone, rtol=1e-10)


@pytest.mark.few(1)
@pytest.mark.parametrize("key", ["links.1.section.EIy", "links.1.section.EIz"])
def test_one_stiffness_of_default_shapes_varies_alone(key: str) -> None:
    assert check(change_arm(loads(TWISTED), {"links.2.rigid": True}), (key,)) == COUNT


def test_designs_with_other_numbers_of_default_shapes_are_parted() -> None:
    """A payload off the axis changes how many shapes twist link 2."""
    arm = loads(TWISTED)
    sets = [{"payload.mass": float(mass)} for mass in np.geomspace(1e-3, 100, 12)]
    found = {build(change_arm(arm, each)).names for each in (sets[0], sets[-1])}
    assert len(found) == 2
    for which, designs in designs_together(arm, sets):
        for place in (0, -1):
            alone = build(change_arm(arm, sets[which[place]]))
            assert designs.at(place % len(which)).names == alone.names


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("tg-rp", ("links.1.section.EIz", "links.1.length")),  # before a link that slides
        ("graves-rms", ("payload.mass",)),  # beyond quadratic displacements
        ("canadarm-free-base", ("payload.com.1",)),  # one number of a vector
    ],
)
def test_designs_share_what_of_a_link_does_not_differ(name: str, keys: tuple[str, ...]) -> None:
    """Whatever kind of link it is."""
    assert check(flexarm.sample(name), keys) == COUNT


@pytest.mark.parametrize(
    "shapes",
    [
        "{kind: loaded, bending_y: 2, torsion: 1}",
        "{kind: arm-modes, bending_y: 2, torsion: 1}",
        "{kind: clamped-mass, bending_y: 2, static: true}",
    ],
)
def test_designs_of_links_that_shear_are_those_built_alone(shapes: str) -> None:
    """Whatever bends the link, and with it how much of that is shear."""
    arm = loads(LOADED.replace("SHAPES", shapes).replace("EIz: 30,", "EIz: 30, GAy: 900,"))
    keys = ("links.1.length", "links.1.section.GAy", "links.1.section.EIz", "payload.mass")
    assert check(arm, keys) == COUNT


def test_designs_share_a_link_that_shears() -> None:
    text = LOADED.replace("SHAPES", "{kind: clamped-free, bending_y: 2}")
    arm = loads(text.replace("EIz: 30,", "EIz: 30, GAy: 900,"))
    assert check(arm, ("payload.mass", "links.1.joint.hub.outboard.inertia.3")) == COUNT


@pytest.mark.few(3)
@pytest.mark.parametrize("theory", ["exact", "linear"])
@pytest.mark.parametrize(
    "shapes",
    [
        {"kind": "loaded", "bending_z": 3},
        {"kind": "arm-modes", "bending_z": 3, "torsion": 1},
        {"kind": "elements", "bending_z": 2, "torsion": 0},
    ],
    ids=lambda shapes: shapes["kind"],
)
def test_designs_of_a_rail_are_those_built_alone(shapes: dict[str, object], theory: str) -> None:
    """Along their own length, and wherever on it what rides begins."""
    changes = {"links.1.shapes": {"bending_y": 0, "torsion": 0, "stretch": 0} | shapes,
               "links.2.joint.limits": None, "links.2.joint.stops": None,
               "stiffening": theory == "exact"}  # fmt: skip
    arm = change_arm(flexarm.sample("carriage-on-rail"), changes)
    keys = ("links.1.length", "links.1.section.material.E", "links.1.section.shape.height",
            "links.2.body.mass", "links.2.joint.start.position")  # fmt: skip
    assert check(arm, keys) == COUNT


def test_a_design_of_small_numbers_is_not_cut_beside_one_of_large_numbers() -> None:
    """Series end and jumps count by the size of each design's own shapes."""
    edges = np.array([0.0, 1.0, 2.0])

    def values(x: np.ndarray) -> np.ndarray:
        bent = np.stack([x, 1e-20 * (x**5 + np.where(x < 1, 0.0, 0.3))])
        return np.asarray(bent[..., None])

    found = rail._series(values, edges)
    alone = rail._series(lambda x: values(x)[1], edges)
    assert found.shape[-2] == alone.shape[-2] == 6
    np.testing.assert_allclose(found[1], alone, rtol=1e-12)
    assert rail._jumps(found, edges).tolist() == rail._jumps(alone, edges).tolist() == [1.0]
    assert not rail._jumps(found[:1], edges).size


def test_designs_of_what_rides_are_those_built_alone() -> None:
    """A flexible tool of default shapes, on a rail that all designs share."""
    section = {"mass_per_length": 0.5, "EIy": 4.0, "EIz": 4.0}
    changes = {"links.1.shapes": {"kind": "clamped-free", "bending_y": 0, "bending_z": 2,
                                  "torsion": 0, "stretch": 0},
               "links.3.body": None, "links.3.section": section}  # fmt: skip
    arm = change_arm(flexarm.sample("carriage-on-rail"), changes)
    keys = ("links.3.section.EIy", "links.2.joint.start.position")
    assert check(arm, keys) == COUNT


def test_numbers_of_an_exact_link_that_slides_are_inputs() -> None:
    model = build(flexarm.sample("telescope"))
    here, there = accelerations(model), accelerations(model, plain=True)
    assert np.abs(here - there).max() <= 1e-12 * np.abs(there).max()


def numbers_of(value: object, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """List where the numbers of an arm stand that are not 0."""
    if isinstance(value, float) and np.isfinite(value) and value:
        yield path
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from numbers_of(each, (*path, str(key)))
    elif isinstance(value, list | tuple):
        for k, each in enumerate(value, 1):
            yield from numbers_of(each, (*path, str(k)))


def kinds_of(arm: Arm) -> list[str]:
    """List numbers of an arm: of each kind the first and the last."""
    first, last = dict[tuple[str, ...], str](), dict[tuple[str, ...], str]()
    for path in numbers_of(arm.model_dump(exclude_unset=True)):
        kind = tuple(step for step in path if not step.isdigit())
        first.setdefault(kind, ".".join(path))
        last[kind] = ".".join(path)
    return [*dict.fromkeys([*first.values(), *last.values()])]


@pytest.mark.campaign
@pytest.mark.usefixtures("little_effort")
@pytest.mark.parametrize("name", sample_names())
def test_every_sample_in_every_kind_of_number(name: str) -> None:
    """Together or not, with the trace of an arm alone; of the first number by one of its own."""
    arm = flexarm.sample(name)
    for key in kinds_of(arm):
        try:
            sets = sets_of(arm, (key,))
            alone = [build(change_arm(arm, each)) for each in (sets[0], sets[-1])]
        except FlexarmError:  # a number that is not free: others follow from it
            continue
        found = build_designs(arm, sets)
        for values, model, other in zip(
            (sets[0], sets[-1]), (found[0], found[-1]), alone, strict=True
        ):
            assert isinstance(model, Model)
            here, there = accelerations(model), accelerations(other, plain=True)
            apart = np.abs(here - there).max() / np.abs(there).max()
            assert apart <= 1e-12 or apart <= 10 * rounding(arm, values, there), key


def test_designs_share_a_trace() -> None:
    """One trace serves more designs than are built together."""
    arm, structures = flexarm.sample("korayem-two-link"), set[object]()
    sets = sets_of(arm, ("links.1.length",), TOGETHER + 8)
    for model in build_designs(arm, sets):
        assert isinstance(model, Model)
        structures.add(equation_of(model).compiled("forward_dynamics").structure)  # type: ignore[attr-defined]
    assert len(structures) == 1


def test_designs_that_decide_differently_are_built_in_groups() -> None:
    """Links so soft that they get more nodes are built apart from stiffer ones."""
    arm = change_arm(flexarm.sample("count-2-2-2"), {"stiffening": True})
    soft = [{"links.1.section.EIz": EI} for EI in np.geomspace(1, 1e5, 20)]
    groups = designs_together(arm, soft)
    assert len(groups) == 2
    assert sum(len(which) for which, _ in groups) == len(soft)
    for values, model in list(zip(soft, build_designs(arm, soft), strict=True))[::19]:
        assert isinstance(model, Model)
        one, other = model.links[0].exact, build(change_arm(arm, values)).links[0].exact
        assert one is not None
        assert other is not None
        assert one.count == other.count


def test_planes_that_are_about_as_stiff_are_built_together() -> None:
    """The softer plane of a design tells how far it bends, whichever it is."""
    sets = [{"links.1.section.EIy": EI} for EI in np.linspace(299.0, 301.0, 8)]
    ((which, _),) = designs_together(flexarm.sample("crossed-joints"), sets)
    assert len(which) == len(sets)


def test_a_wrong_design_is_told_and_others_are_built() -> None:
    """Each has a model, or the message that it has alone."""
    arm = flexarm.sample("korayem-two-link")
    sets = sets_of(arm, ("links.1.length",))
    sets[3] = {"links.1.length": -1.0}
    found = build_designs(arm, sets)
    assert [isinstance(each, Model) for each in found] == [k != 3 for k in range(COUNT)]
    assert "links[1].length" in str(found[3])


def test_rules_of_two_numbers_hold_for_each_design() -> None:
    """A length that leaves no span is refused though each number is in its range."""
    piece = {"length": 0.3}
    arm = change_arm(flexarm.sample("korayem-two-link"), {"links.1.root_piece": piece})
    sets = sets_of(arm, ("links.1.length",))
    sets[5] = {"links.1.length": 0.2}
    found = build_designs(arm, sets)
    assert [isinstance(each, Model) for each in found] == [k != 5 for k in range(COUNT)]


def test_an_arm_can_be_pickled() -> None:
    """Processes hand arms to each other."""
    for name in ("chen-two-link", "graves-rms", "crossed-joints"):
        arm = flexarm.sample(name)
        assert pickle.loads(pickle.dumps(arm)) == arm


def test_a_design_can_be_pickled() -> None:
    """Though its parts are made when they are asked for."""
    arm = flexarm.sample("korayem-two-link")
    model = build_designs(arm, sets_of(arm, ("links.1.length",)))[-1]
    assert isinstance(model, Model)
    copy = pickle.loads(pickle.dumps(model))
    assert copy.arm == model.arm
    assert np.array_equal(accelerations(copy), accelerations(model))


def test_stations_that_move_are_designs_of_their_own() -> None:
    arm = loads("""
flexarm: 1
name: a tapered link
links:
  - joint: {kind: fixed}
    length: 1
    section:
      stations:
        - {at: 0, mass_per_length: 1, EIz: 50}
        - {at: 0.4, mass_per_length: 0.8, EIz: 40}
        - {at: 1, mass_per_length: 0.5, EIz: 5}
    shapes: {kind: clamped-free, bending_y: 1}
""")
    places = np.linspace(0.1, 0.9, COUNT)
    sets = [{"links.1.section.stations.2.at": float(at)} for at in places]
    for values, model in zip(sets, build_designs(arm, sets), strict=True):
        assert isinstance(model, Model)
        alone = build(change_arm(arm, values))
        mine, other = (each.links[0].beam.integrals.stiffness for each in (model, alone))
        assert mine == pytest.approx(other, rel=1e-12)
