"""Element Jacobians: the Hermite elements' equation, and where fewer points fail."""

from functools import cache
from itertools import pairwise
from typing import Any

import casadi as ca
import numpy as np
import pytest
import scipy.linalg

import flexarm
from flexarm.errors import FlexarmError
from flexarm.formulations.base import Formulation
from flexarm.formulations.composite import Composite
from flexarm.formulations.element_jacobian import ElementJacobian
from flexarm.formulations.equation import Equation
from flexarm.io.model_file import loads
from flexarm.links.base import panel_points
from flexarm.mechanics.loads import elastic_force
from flexarm.model import Model, build
from tests.formulations.equation_values import Array, Values, exponent, states
from tests.physics.cases import campaign_if
from tests.physics.options import CASES, NODES_EACH
from tests.physics.reference import Reference
from tests.physics.states import compare

SAMPLES = [
    name
    for name in flexarm.example_arm_names()
    if name.endswith("-elements") or name.startswith(("chu-", "puma-"))
]
# One of each structure; the others differ in the number of planes, links and payloads.
LIGHT = ("chu-example-1", "puma-560", "tg-rr-elements")
# squares of the roots of cos(b) cosh(b) = -1: frequencies of a cantilever of unit data
CANTILEVER = np.array([1.8751040687120, 4.6940911329742, 7.8547574382376]) ** 2
BODY = "{mass: 0.3, com: [0.05, 0, 0.1], inertia: [0.02, 0.03, 0.025]}"
PIVOT = "{kind: revolute}"
TURNED = "{kind: revolute, hub: {outboard: {inertia: [0, 0, 0.1]}}}"


def beam(n: int, joint: str = "{kind: fixed}", more: str = "") -> Model:
    """One link of unit data in n elements."""
    return arm(f"joint: {joint}, {link(n)}", more=more)


def link(n: int) -> str:
    shapes = f"shapes: {{kind: elements, bending_y: {n}}}"
    return f"length: 1, section: {{mass_per_length: 1, EIz: 1}}, {shapes}"


def arm(*links: str, more: str = "") -> Model:
    listed = "\n".join(f"  - {{{each}}}" for each in links)
    return build(loads(f"flexarm: 1\nname: arm\nstiffening: false\n{more}\nlinks:\n{listed}\n"))


# Two flexible links with a payload, the second one on each of the three kinds of joint.
JOINTS = {
    "revolute": PIVOT,
    "fixed prismatic": "{kind: prismatic, axis: [0, 1, 0]}",
    "sliding prismatic": "{kind: sliding, start: {position: 0.6}, limits: {lower: 0.3}}",
}


@cache
def two_links(kind: str, n: int) -> Model:
    joints = (TURNED, JOINTS[kind])
    return arm(*[f"joint: {j}, {link(n)}" for j in joints], more=f"payload: {BODY}")


def undeformed(model: Model) -> Array:
    """Joints at one angle, sliding links half out, no deflection."""
    q = np.zeros(model.size)
    for part in model.links:
        q[list(part.coordinates)] = 0.4 if part.body.range is None else 0.6
    return q


def frequencies(equation: Formulation, count: int = 3) -> Array:
    """Lowest elastic frequencies about the undeformed arm [rad/s], by Cholesky factors."""
    model, q = equation.model, undeformed(equation.model)
    mass = Values(equation).mass(q)
    symbols = ca.SX.sym("q", model.size)
    force = elastic_force(model, symbols)
    stiffness = np.array(ca.densify(ca.Function("K", [symbols], [ca.jacobian(force, symbols)])(q)))
    squares = scipy.linalg.eigh(stiffness, mass, eigvals_only=True)
    rigid = len(model.axes)
    return np.asarray(np.sqrt(squares[rigid : rigid + count]))


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=campaign_if(name not in LIGHT)) for name in SAMPLES]
)
def test_a_sample_has_the_equation_of_its_hermite_elements(name: str) -> None:
    model = build(flexarm.example_arm(name))
    ours, theirs = Values(flexarm.formulation("element-jacobian", model)), Values(Composite(model))
    for s in states(model):
        mass = theirs.mass(s.q)
        scale = np.sqrt(np.diag(mass))
        both = np.outer(scale, scale)
        assert compare(ours.mass(s.q) / both, mass / both).good
        parts = zip(ours.call("parts", s.q, s.v), theirs.call("parts", s.q, s.v), strict=True)
        for got, expected in parts:
            assert compare(got.ravel() / scale, expected.ravel() / scale).good
        n, condition = model.size, theirs.condition(s.q)
        got, expected = ours.forward(s)[:n] * scale, theirs.forward(s)[:n] * scale
        assert compare(got, expected, condition=condition).good


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "case",
    [
        "elements",
        "full",
        *(pytest.param(c, marks=pytest.mark.campaign) for c in ("sliding, elements", "free base")),
    ],
)
def test_an_arm_has_the_equation_of_the_energies_of_its_material_points(case: str) -> None:
    """Stiffening, rotary inertia, torsion, stretch, stations, rotors and bases included."""
    text = CASES.get(case, FULL)
    if case == "free base":
        text = text.replace("kind: clamped-free", "kind: elements")
    # with so many nodes, exact beams are those of the reference
    model = build(loads(text), nodes=NODES_EACH if case == "elements" else 24)
    ours, reference = Values(ElementJacobian(model)), Reference(model)
    for s in states(model):
        mass = reference.mass_matrix(s.q)
        scale = np.sqrt(np.diag(mass))
        both = np.outer(scale, scale)
        assert compare(ours.mass(s.q) / both, mass / both).good
        needed = mass @ s.a + reference.bias(s.q, s.v)
        needed -= reference.applied(s.q, np.zeros(reference.loads[0]), s.factors)
        assert compare(ours.inverse(s) / scale, needed / scale).good
        kinetic, _, weight = (float(e[0, 0]) for e in ours.call("energy", s.q, s.v))
        assert kinetic == pytest.approx(reference.kinetic(s.q, s.v), rel=1e-10)
        assert weight == pytest.approx(reference.potential(s.q)[1], rel=1e-10)


FULL = f"""
flexarm: 1
name: full
gravity: [1, -9, 2]
links:
  - joint:
      kind: revolute
      axis: [0, 1, 0]
    length: 0.8
    section:
      stations:
        - {{at: 0, mass_per_length: 2, EIz: 20, EIy: 15, Jx: 0.03, Jy: 0.02, Jz: 0.01}}
        - {{at: 0.3, mass_per_length: 1, EIz: 9, EIy: 12, Jx: 0.02, Jy: 0.01, Jz: 0.01}}
        - {{at: 0.8, mass_per_length: 0.5, EIz: 4, EIy: 3, Jx: 0.01, Jy: 0, Jz: 0.01}}
    shapes: {{kind: elements, bending_y: 2, bending_z: 1}}
  - joint:
      kind: prismatic
      axis: [1, -2, 0.5]
      hub: {{inboard: {BODY}, outboard: {BODY}}}
      drive: {{rotor_inertia: 0.01, gear_ratio: 7, rotor: full}}
    length: 0.4
    body: {BODY}
payload: {BODY}
"""


@pytest.mark.campaign
def test_three_points_converge_with_order_four_to_the_beam_and_six_to_its_elements() -> None:
    counts = [4, 6, 8, 12]
    errors, apart = [], []
    for n in counts:
        model = beam(n)
        found = frequencies(ElementJacobian(model, points=3))
        errors.append(found / CANTILEVER - 1)
        apart.append(found / frequencies(Composite(model)) - 1)
    sizes = [1 / n for n in counts]
    for mode in range(3):
        assert exponent(sizes, [e[mode] for e in errors]) == pytest.approx(4.0, abs=0.2)
        # With 12 elements 1e-10 is left, where rounding shows.
        order = exponent(sizes[:-1], [e[mode] for e in apart[:-1]])
        assert order == pytest.approx(6.0, abs=0.1)


@cache
def fine(kind: str) -> Array:
    """Frequencies of the arm in many Hermite elements."""
    return frequencies(Composite(two_links(kind, 12)))


def measured_orders(kind: str, *, paper: bool = False, points: int | None = None) -> list[float]:
    """Exponents of the element size in the error of the two lowest frequencies."""
    counts = [2, 3, 4, 6]
    equations = [ElementJacobian(two_links(kind, n), paper=paper, points=points) for n in counts]
    found = [frequencies(equation) for equation in equations]
    errors = np.abs(np.array(found) / fine(kind) - 1)
    return [exponent([1 / n for n in counts], list(errors[:, mode])) for mode in range(2)]


@pytest.mark.campaign
@pytest.mark.few(1)
@pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=campaign_if(kind == "sliding prismatic")) for kind in JOINTS],
)
def test_arm_of_every_joint_kind_converges_with_order_four(kind: str) -> None:
    assert measured_orders(kind, points=3) == pytest.approx([4.0, 4.0], abs=0.2)


@pytest.mark.campaign
@pytest.mark.few(1)
@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=campaign_if("sliding" in kind)) for kind in JOINTS]
)
def test_one_point_converges_with_order_two_where_it_is_regular(kind: str) -> None:
    assert ElementJacobian.refusal(two_links(kind, 6), paper=True) is None
    assert measured_orders(kind, points=1) == pytest.approx([2.0, 2.0], abs=0.2)
    assert measured_orders(kind, paper=True) == pytest.approx([2.0, 2.0], abs=0.2)


@pytest.mark.parametrize(("n", "ratios"), [(2, (1.010, 0.924, 0.903)), (5, (1.0015, 0.980, 0.940))])
def test_one_point_gives_a_cantilever_frequencies_on_both_sides(
    n: int, ratios: tuple[float, ...]
) -> None:
    found = frequencies(ElementJacobian(beam(n), paper=True)) / CANTILEVER
    assert found == pytest.approx(ratios, abs=6e-4)


def scaled_spectrum(equation: Formulation) -> Array:
    """Eigenvalues of M about the undeformed arm, scaled to a unit diagonal."""
    mass = Values(equation).mass(undeformed(equation.model))
    scale = np.sqrt(np.maximum(np.diag(mass), 1e-300))
    return np.asarray(np.linalg.eigvalsh(mass / np.outer(scale, scale)))


@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("joint", [PIVOT, "{kind: prismatic, axis: [0, 1, 0]}"])
def test_an_end_link_without_payload_and_hub_is_refused_in_words(n: int, joint: str) -> None:
    model = beam(n, joint)
    least = scaled_spectrum(ElementJacobian(model, paper=True))
    assert abs(least[0]) < 1e-15
    assert least[1] > 1e-12
    reason = ElementJacobian.refusal(model, paper=True)
    assert reason is not None
    for words in (
        "the mass matrix is singular",
        "link1 carries nothing at its tip and its joint moves no hub",
        "joint1 and the nodes can move such that no element's centre moves or turns",
        "Give the arm a payload or the joint an outboard hub, or set paper=False",
    ):
        assert words in reason
    assert ElementJacobian.refusal(model, paper=False) is None
    assert scaled_spectrum(ElementJacobian(model, points=3))[0] > 1e-5


def test_the_first_example_of_the_paper_is_singular_without_the_motor_of_the_sample() -> None:
    sample = flexarm.example_arm("chu-example-1")
    assert ElementJacobian.refusal(build(sample), paper=True) is None
    first, second = sample.links
    joint = second.joint.model_copy(update={"hub": type(second.joint.hub)()})
    bare = sample.model_copy(update={"links": (first, second.model_copy(update={"joint": joint}))})
    reason = ElementJacobian.refusal(build(bare), paper=True)
    assert reason is not None
    assert "link2 carries nothing at its tip" in reason
    loaded = bare.model_copy(update={"payload": flexarm.example_arm("chu-example-2").payload})
    assert ElementJacobian.refusal(build(loaded), paper=True) is None


def test_the_hourglass_pattern_grows_by_five_plus_the_root_of_24_per_element() -> None:
    least = [scaled_spectrum(ElementJacobian(beam(n), paper=True))[0] for n in (2, 3, 4, 5)]
    for before, after in pairwise(least):
        assert before / after == pytest.approx((5 + np.sqrt(24)) ** 2, rel=0.05)
    assert ElementJacobian.refusal(beam(5), paper=True) is None
    reason = ElementJacobian.refusal(beam(9), paper=True)
    assert reason is not None
    assert (
        "a pattern of link1's nodes moves and turns its tip while every element's centre" in reason
    )
    assert "Take fewer elements or give the arm a payload" in reason
    assert ElementJacobian.refusal(beam(9, more=f"payload: {BODY}"), paper=True) is None


def test_a_coordinate_that_moves_nothing_is_not_blamed_on_the_elements() -> None:
    massless = "joint: {kind: revolute, axis: [1, 0, 0]}, length: 1"
    model = arm(massless, f"joint: {TURNED}, {link(2)}", massless)
    assert scaled_spectrum(ElementJacobian(model))[0] < 1e-15
    assert ElementJacobian.refusal(model, paper=True) is None


@pytest.mark.parametrize("n", [1, 2, 5])
def test_two_points_are_singular_too_and_say_so(n: int) -> None:
    shapes = beam(n).links[0].beam
    assert shapes is not None
    x, weight = (values.ravel() for values in panel_points(shapes.shapes.edges, 2))
    rows = np.column_stack([x, shapes.shapes.values("y", x)]) * np.sqrt(weight)[:, None]
    assert np.linalg.matrix_rank(rows) == 2 * n
    equation = Equation.of(ElementJacobian(beam(n, PIVOT), points=2))
    with pytest.raises(FlexarmError, match=r"mass matrix singular .* or set points=4"):
        equation.forward_dynamics(undeformed(equation.model), np.zeros(2 * n + 1), np.zeros(1))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"points": 0}, "points: must be a number of integration points per element >= 1, got 0"),
        (
            {"points": 2.0},
            "points: must be a number of integration points per element >= 1, got 2.0",
        ),
        (
            {"points": 3, "paper": True},
            "points: the published method has one integration point per element, got 3",
        ),
    ],
)
def test_other_numbers_of_points_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(FlexarmError, match=words):
        flexarm.formulation("element-jacobian", beam(2, TURNED), **options)


def test_points_are_of_element_jacobian_alone() -> None:
    with pytest.raises(
        FlexarmError, match="points: formulation 'composite' does not integrate at points"
    ):
        flexarm.formulation("composite", beam(2), points=3)


def rods(q: Array) -> tuple[Array, Array]:
    """Places (as complex numbers) and angles of hubs, elements and payload of example 2."""
    places, angles = [], []
    root, phi = 0j, 0.0
    for start, length in ((0, 0.8), (5, 0.3)):
        phi += q[start]
        places.append(root)
        angles.append(phi)
        nodes = [(0.0, 0.0), *q[start + 1 : start + 5].reshape(2, 2)]
        size = length / 2
        for k, ((w1, s1), (w2, s2)) in enumerate(pairwise(nodes)):
            w = (w1 + w2) / 2 + size * (s1 - s2) / 8
            places.append(root + np.exp(1j * phi) * ((k + 0.5) * size + 1j * w))
            angles.append(phi + 1.5 * (w2 - w1) / size - (s1 + s2) / 4)
        w, slope = nodes[-1]
        root, phi = root + np.exp(1j * phi) * (length + 1j * w), phi + slope
    return np.array([*places, root]), np.array([*angles, phi])


def test_an_element_across_stations_has_points_enough() -> None:
    """Where nodes are of the whole link, tangents reach farther than stations are apart."""
    model = build(loads(FULL.replace("bending_y: 2, bending_z: 1", "bending_y: 0, bending_z: 1")))
    ours, theirs = Values(ElementJacobian(model)), Values(Composite(model))
    few = Values(ElementJacobian(model, points=4))
    for s in states(model):
        assert compare(ours.mass(s.q), theirs.mass(s.q)).good
        assert not compare(few.mass(s.q), theirs.mass(s.q)).good


def test_one_point_mass_matrix_is_that_of_rods_at_the_element_centres() -> None:
    """Eq 25 by hand for the paper's second example, Jacobians by central differences."""
    model = build(flexarm.example_arm("chu-example-2"))
    s, step, mu = states(model)[0], 1e-5, 7850 * 3e-5
    sizes = np.array([0.4, 0.4, 0.15, 0.15])
    mass = np.concatenate(([0.0], mu * sizes[:2], [0.0], mu * sizes[2:], [0.05]))
    rotary = mu * sizes**3 / 12
    inertia = np.concatenate(([0.01], rotary[:2], [0.01], rotary[2:], [0.0]))
    ends = [(rods(s.q + step * e), rods(s.q - step * e)) for e in np.eye(model.size)]
    J_T, J_R = (np.array([b[k] - a[k] for b, a in ends]) / (2 * step) for k in range(2))
    expected = np.real((J_T * mass) @ J_T.conj().T) + (J_R * inertia) @ J_R.T
    got = Values(ElementJacobian(model, paper=True)).mass(s.q)
    scale = np.sqrt(np.diag(expected))
    assert np.abs((got - expected) / np.outer(scale, scale)).max() < 1e-8


@pytest.mark.few(2)
@pytest.mark.parametrize("name", ["chu-example-2", "tg-rrp-elements"])
@pytest.mark.parametrize("paper", [True, False])
def test_forces_are_those_of_the_summed_energies(name: str, paper: bool) -> None:
    """Power of the Coriolis force and the gradient of the weight, by central differences."""
    text = flexarm.example_arm(name).model_copy(update={"gravity": (1.0, -9.0, 2.0)})
    model = build(text)
    values, s, step = Values(ElementJacobian(model, paper=paper)), states(model)[0], 1e-5
    coriolis, gravity = (part.ravel() for part in values.call("parts", s.q, s.v)[:2])
    scale = np.sqrt(np.diag(values.mass(s.q)))

    def energies(q: Array) -> tuple[float, float]:
        kinetic, _, weight = values.call("energy", q, s.v)
        return float(kinetic[0, 0]), float(weight[0, 0])

    later, before = energies(s.q + step * s.v), energies(s.q - step * s.v)
    power = s.v * coriolis
    assert power.sum() == pytest.approx(
        (later[0] - before[0]) / (2 * step), abs=1e-7 * np.abs(power).sum()
    )
    slopes = [
        (energies(s.q + step * e)[1] - energies(s.q - step * e)[1]) / (2 * step)
        for e in np.eye(model.size)
    ]
    assert np.abs((gravity - slopes) / scale).max() < 1e-7 * np.abs(gravity / scale).max()


@cache
def modal_arm() -> Model:
    return build(flexarm.example_arm("tg-rr"))


def test_other_shapes_than_elements_are_refused() -> None:
    reason = ElementJacobian.refusal(modal_arm(), paper=False)
    assert reason is not None
    assert "link1 has shapes of kind 'clamped-free'" in reason
    assert "Write 'shapes: {kind: elements}'" in reason
    reduced = arm(
        "joint: {kind: revolute}, length: 1, section: {mass_per_length: 1, EIz: 1},"
        " shapes: {kind: elements, bending_y: 4, reduce: 2}"
    )
    reason = ElementJacobian.refusal(reduced, paper=False)
    assert reason is not None
    assert "'elements' reduced to modes" in reason


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (CASES["elements"], "the paper's links bend in one plane, and link1 moves in others"),
        (FULL.replace(", bending_z: 1", ", bending_z: 0"), "link1 has stations"),
        (
            CASES["free base"].replace("kind: clamped-free", "kind: elements"),
            "the paper's robots stand on a fixed base",
        ),
    ],
)
def test_paper_refuses_arms_that_it_does_not_have(text: str, words: str) -> None:
    model = build(loads(text))
    reason = ElementJacobian.refusal(model, paper=True)
    assert reason is not None
    assert words in reason
    assert ElementJacobian.refusal(model, paper=False) is None


def test_options_tell_compiled_functions_apart() -> None:
    model = beam(2, TURNED)
    q = np.linspace(0.1, 0.2, model.size)
    kinds = (ElementJacobian(model, points=3), ElementJacobian(model), Composite(model))
    three, four, composite = (Equation.of(kind) for kind in kinds)
    assert np.abs(three.mass_matrix(q) - four.mass_matrix(q)).max() > 1e-4
    assert np.allclose(three.mass_matrix(q), Values(three).mass(q), rtol=1e-13)
    assert np.allclose(four.mass_matrix(q), composite.mass_matrix(q), rtol=1e-12)


def test_sections_of_exact_elements_turn_with_their_rotary_inertia() -> None:
    section = "{mass_per_length: 1, EIz: 20, EIy: 10, GJ: 8, Jx: 0.01, Jy: 0.004, Jz: 0.006}"
    plane = "{mass_per_length: 1, EIz: 20, Jz: 0.01}"
    model = arm(
        f"joint: {PIVOT}, length: 1, section: {section},"
        " shapes: {kind: elements, bending_y: 1, bending_z: 1, torsion: 1}",
        f"joint: {PIVOT}, length: 1, section: {plane}, shapes: {{kind: elements, bending_y: 1}}",
    )
    model = build(model.arm, stiffening=True)
    elements, composite = (Equation.of(kind(model)) for kind in (ElementJacobian, Composite))
    q, v = 0.2 * np.random.default_rng(3).normal(size=(2, model.size))
    assert np.allclose(elements.mass_matrix(q), composite.mass_matrix(q), rtol=0, atol=1e-13)
    assert np.allclose(elements.bias(q, v), composite.bias(q, v), rtol=0, atol=1e-12)
