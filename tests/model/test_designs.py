"""Designs of an arm have the dynamics of arms that are built alone, and share their traces."""

import pickle
from collections.abc import Iterator

import numpy as np
import pytest

import flexarm
from flexarm.arm import Arm
from flexarm.errors import FlexarmError
from flexarm.integrate.task import equation_of
from flexarm.io.model_file import change_arm, loads, read_value
from flexarm.mechanics.loads import prescribed_accelerations, wrench_factors
from flexarm.model import Model, build
from flexarm.samples import example_arm_names

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


def build_designs(arm: Arm, sets: list[dict[str, float]]) -> list[Model]:
    """Build one model of an arm per set of changed values."""
    return [build(change_arm(arm, values)) for values in sets]


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
        given = [
            wrench_factors(model, 0.0),
            prescribed_accelerations(model, 0.0),
            *equation.common_arguments,
        ]
        return np.array(equation.function("forward_dynamics")(q, v, u, *given)[0]).ravel()
    return equation.forward_dynamics(q, v, u)


def rounding(arm: Arm, values: dict[str, float], there: np.ndarray) -> float:
    """Give how far accelerations move if values do by a unit in their last place."""
    moved = {key: float(np.nextafter(value, np.inf)) for key, value in values.items()}
    found = accelerations(build(change_arm(arm, moved)))
    return float(np.abs(found - there).max() / np.abs(there).max())


def check(arm: Arm, keys: tuple[str, ...]) -> None:
    """Compare the last of some designs, all of one trace, with the arm that is traced alone."""
    sets = sets_of(arm, keys)
    models = build_designs(arm, sets)
    alone = build(change_arm(arm, sets[-1]))
    assert models[-1].arm == alone.arm
    assert models[-1].arm.model_fields_set == alone.arm.model_fields_set
    here, there = accelerations(models[-1]), accelerations(alone, plain=True)
    apart = np.abs(here - there).max() / np.abs(there).max()
    assert apart <= 1e-12 or apart <= 10 * rounding(arm, sets[-1], there)
    assert len({structure(model) for model in models}) == 1


def structure(model: Model) -> object:
    """Return the trace of a model's forward dynamics."""
    return equation_of(model).compiled("forward_dynamics").structure  # type: ignore[attr-defined]


@pytest.mark.few(2)
@pytest.mark.parametrize("name", NUMBERS)
def test_designs_have_the_dynamics_of_arms_built_alone(name: str) -> None:
    """Whatever numbers vary."""
    check(flexarm.example_arm(name), NUMBERS[name])


def test_designs_of_default_shapes_have_those_of_arms_built_alone() -> None:
    """Whatever bends the links: their sections, their loads, the posture at the start."""
    keys = ("links.1.length", "links.1.section.shape.diameter", "links.2.section.material.E",
            "payload.mass", "links.1.joint.start.position")  # fmt: skip
    check(loads(MATERIAL), keys)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "shapes",
    [
        "{kind: loaded, bending_y: 2, torsion: 1}",
        "{kind: clamped-mass, bending_y: 1, torsion: 1, static: true}",
        "{kind: clamped-mass, bending_y: 8, torsion: 1, static: true}",
        "{kind: loaded, bending_y: 2, torsion: 1, static: true, normalise: mass}",
        "{kind: arm-modes, bending_y: 2, torsion: 1, static: true}",
    ],
)
def test_designs_of_shapes_that_follow_loads_are_those_built_alone(shapes: str) -> None:
    """Whatever hangs on the link's ends, and its own length, section and shear."""
    keys = ("links.1.length", "links.1.section.Jz", "links.1.section.EIz", "payload.mass",
            "links.1.joint.hub.outboard.mass")  # fmt: skip
    check(loads(LOADED.replace("SHAPES", shapes)), keys)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("tg-rp", ("links.1.section.EIz", "links.1.length")),  # before a link that slides
        ("graves-rms", ("payload.mass",)),  # beyond quadratic displacements
        ("canadarm-free-base", ("payload.com.1",)),  # one number of a vector
        ("carriage-on-rail", ("links.1.length", "links.2.body.mass")),
    ],
)
def test_designs_share_a_trace_whatever_kind_their_links_are(
    name: str, keys: tuple[str, ...]
) -> None:
    check(flexarm.example_arm(name), keys)


def test_numbers_of_an_exact_link_that_slides_are_inputs() -> None:
    model = build(flexarm.example_arm("telescope"))
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
@pytest.mark.parametrize("name", example_arm_names())
def test_every_sample_in_every_kind_of_number(name: str) -> None:
    """Compare with the trace of an arm alone; of the first number by one of its own."""
    arm = flexarm.example_arm(name)
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
            here, there = accelerations(model), accelerations(other, plain=True)
            apart = np.abs(here - there).max() / np.abs(there).max()
            assert apart <= 1e-12 or apart <= 10 * rounding(arm, values, there), key


def test_an_arm_can_be_pickled() -> None:
    """Processes hand arms to each other."""
    for name in ("chen-two-link", "graves-rms", "crossed-joints"):
        arm = flexarm.example_arm(name)
        assert pickle.loads(pickle.dumps(arm)) == arm


def test_a_design_can_be_pickled() -> None:
    arm = flexarm.example_arm("korayem-two-link")
    model = build_designs(arm, sets_of(arm, ("links.1.length",)))[-1]
    copy = pickle.loads(pickle.dumps(model))
    assert copy.arm == model.arm
    assert np.array_equal(accelerations(copy), accelerations(model))


def test_designs_that_decide_differently_have_numbers_of_their_own() -> None:
    """Links so soft that they get more nodes beside stiffer ones."""
    section = {"mass_per_length": 0.5, "EIy": 30.0, "EIz": 30.0}
    text = LOADED.replace("SHAPES", "{kind: clamped-free, bending_y: 3, bending_z: 3}")
    arm = change_arm(loads(text), {"links.1.section": section})
    sets = [{"links.1.section.EIz": EI, "links.1.section.EIy": EI} for EI in (5.0, 1e4)]
    soft, stiff = (each.links[0].beam.nodes for each in build_designs(arm, sets))
    assert soft is not None
    assert stiff is not None
    assert soft.count > stiff.count
