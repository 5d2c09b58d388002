"""Every formulation against Lagrange's equations by automatic differentiation, option by option.

Coordinates are scaled by sqrt(diag M); max|x - y| <= 1e-10 max|x|.
"""

import zlib
from collections.abc import Iterable, Sequence
from functools import lru_cache

import casadi as ca
import numpy as np
import numpy.typing as npt
import pytest

from flexarm.arm import Frame
from flexarm.formulations import FORMULATIONS
from flexarm.io.model_file import loads
from flexarm.model import Model, build
from tests.physics.cases import CORE, campaign_if, pairs, skip_if_refused
from tests.physics.options import CASES, NODES, NODES_EACH, NODES_MANY
from tests.physics.placement import frame_pose
from tests.physics.reference import Reference
from tests.physics.survey import Equations

Array = npt.NDArray[np.float64]
TOLERANCE = 1e-10
TOGETHER = "case"  # model, reference and traces of a case serve all its tests


@lru_cache(maxsize=1)
def prepared(case: str) -> tuple[Model, Reference]:
    """Model and reference of a case."""
    many = case.startswith("carriage") or "following" in case
    nodes = NODES_MANY if many else NODES
    nodes = NODES_EACH if case.startswith("elements") else nodes
    model = build(loads(CASES[case]), nodes=nodes)
    return model, Reference(model)


@lru_cache(maxsize=1)
def equations(case: str) -> Equations:
    """The formulations of a case; those that have a function in common share it."""
    return Equations(prepared(case)[0], 0)


def call(name: str, case: str, function: str, *arguments: Array) -> list[Array]:
    """Evaluate one function of a formulation; angles are measured from where the file says."""
    skip_if_refused(name, prepared(case)[0])
    run = equations(case)[name].traced(function)
    if run.n_in() > len(arguments):
        arm = prepared(case)[0].arm
        starts = [link.joint.start for link in arm.links if link.joint.kind == "spherical"]
        turned = [frame_pose(Frame(rotation=start.rotation)) for start in starts]
        turned = [*([frame_pose(arm.base)] if arm.base.kind == "free" else []), *turned]
        arguments = (*arguments, np.vstack([np.array(pose.rotation) for pose in turned]))
    results = run.call([ca.DM(argument) for argument in arguments])
    return [np.array(ca.densify(result)) for result in results]


def state(case: str, number: int) -> tuple[Array, Array]:
    """Random coordinates and rates, deflections about a fiftieth of the length."""
    model = prepared(case)[0]
    random = np.random.default_rng(zlib.crc32(case.encode()) + number)
    q, v = random.normal(size=(2, model.size))
    for part in model.links:
        q[part.modes] *= 0.02
        if part.link.joint.kind == "sliding":
            q[part.exposed] = random.uniform(0.4, 1.1)
        if part.link.joint.kind == "carriage":
            q[part.exposed] = part.link.joint.start.position
    return q, v


def loads_of(case: str) -> tuple[Array, Array]:
    """Inputs and wrench factors."""
    inputs, wrenches = prepared(case)[1].loads
    return np.linspace(3.0, -5.0, inputs), np.linspace(0.5, 2.0, wrenches)


def scale(case: str, q: Array) -> Array:
    """Scale of the coordinates."""
    return np.sqrt(np.diag(prepared(case)[1].mass_matrix(q)))


def assert_close(got: npt.ArrayLike, expected: npt.ArrayLike) -> None:
    """Compare with the largest entry expected."""
    size = np.abs(expected).max()
    error = np.abs(np.asarray(got) - np.asarray(expected)).max()
    assert error <= TOLERANCE * size, f"error {error:.3g} of {size:.3g}"


# Every kind of joint, base, drive, body, shape and load once; campaigns take the other cases.
CHECKED = (
    "revolute", "prismatic, oblique", "rigid attachment", "screw", "screw with a drive",
    "universal with all that acts", "spherical, damped, under another", "standard DH",
    "all directions", "tapered with a jump",
    "no stiffening, rotary inertia and quadratic shapes", "free base",
    "moved base", "prescribed joint", "elastic joint, table", "full rotor on a free base",
    "spring table", "damping", "pinned-free, spring and friction", "lumped", "elements in a plane",
    "quadratic shapes", "elastic energy and force", "wrench in link axes",
    "sliding", "sliding, following shapes", "sliding, elastic joint", "carriage, linear",
)  # fmt: skip
# A few for every formulation.
LIGHT = ("revolute", "prismatic, oblique", "free base", "elements in a plane")
# Of these, some for M and for forces by themselves: accelerations have all of both in them.
FEW = ("revolute", "prismatic, oblique")
# Every kind of spring, friction and damping.
PARTED = (
    "revolute", "screw", "spherical, damped, under another", "elastic joint, table", "spring table",
    "damping", "pinned-free, spring and friction", "tapered with a jump", "quadratic shapes",
    "elastic energy and force", "free base",
)  # fmt: skip
PLACED = ("revolute", "standard DH", "rigid attachment", "lumped", "tapered with a jump", "sliding")
# Tracing a sliding link takes seconds: M and c are checked by the accelerations that they give.
constant_length = [case for case in CASES if not case.startswith("sliding")]


def some(cases: Iterable[str], checked: Sequence[str]) -> pytest.MarkDecorator:
    """Take some of the cases, and leave the others to campaigns."""
    params = [pytest.param(case, marks=campaign_if(case not in checked)) for case in cases]
    return pytest.mark.parametrize("case", params)


# Of what is not light, "articulated", which has a recursion of its own, gives accelerations.
LEFT = [case for case in CASES if case not in CHECKED]
masses = pytest.mark.parametrize(("name", "case"), pairs(constant_length, FEW, (), LEFT))
forces = pytest.mark.parametrize(("name", "case"), pairs(constant_length, FEW, (), LEFT))
accelerations = pytest.mark.parametrize(("name", "case"), pairs(CASES, LIGHT, CORE[:1], LEFT))
DEFAULT = next(iter(FORMULATIONS))


@masses
def test_mass_matrix_is_the_second_derivative_of_the_kinetic_energy(case: str, name: str) -> None:
    for number in range(3):
        q, _ = state(case, number)
        size = scale(case, q)
        (got,) = call(name, case, "mass_matrix", q)
        expected = prepared(case)[1].mass_matrix(q)
        assert_close(got / np.outer(size, size), expected / np.outer(size, size))


@forces
def test_inverse_dynamics_is_inertia_and_bias_less_the_wrenches(case: str, name: str) -> None:
    reference = prepared(case)[1]
    u, factors = loads_of(case)
    for number in range(3):
        q, v = state(case, number)
        a, _ = state(case, number + 1)
        expected = reference.mass_matrix(q) @ a + reference.bias(q, v)
        expected -= reference.applied(q, 0 * u, factors)
        size = scale(case, q)
        (got,) = call(name, case, "inverse_dynamics", q, v, a, factors)
        assert_close(got.ravel() / size, expected / size)


@accelerations
def test_forward_dynamics_balances_every_coordinate(case: str, name: str) -> None:
    model, reference = prepared(case)
    u, factors = loads_of(case)
    given = np.linspace(1.0, -2.0, len(model.prescribed))
    for number in range(3):
        q, v = state(case, number)
        results = call(name, case, "forward_dynamics", q, v, u, factors, given)
        a, effort = (result.ravel() for result in results)
        assert np.array_equal(a[list(model.prescribed)], given)
        assert not np.any(np.delete(effort, model.prescribed))
        size = scale(case, q)
        load = reference.applied(q, u, factors) - reference.bias(q, v) + effort
        assert_close(reference.mass_matrix(q) @ a / size, load / size)


@some(constant_length, PARTED)
def test_parts_of_the_bias_follow_from_the_energies_and_the_work_of_the_forces(case: str) -> None:
    reference = prepared(case)[1]
    for number in range(3):
        q, v = state(case, number)
        size = scale(case, q)
        expected = (
            reference.coriolis(q, v),
            reference.gravity(q),
            reference.elastic(q),
            reference.dissipative(q, v),
        )
        for got, part in zip(call(DEFAULT, case, "parts", q, v), expected, strict=True):
            assert_close(got.ravel() / size, part / size)


# M and the parts of the bias are their derivatives.
@some((*constant_length, "sliding", "sliding, rigid"), PLACED)
def test_energies_are_sums_over_the_material(case: str) -> None:
    reference = prepared(case)[1]
    q, v = state(case, 0)
    expected = (reference.kinetic(q, v), *reference.potential(q))
    got = call(DEFAULT, case, "energy", q, v)
    assert_close([float(energy[0, 0]) for energy in got], expected)


@some(CASES, PLACED)
def test_tip_is_where_the_frames_lead(case: str) -> None:
    q, _ = state(case, 0)
    rotation, position = call(DEFAULT, case, "tip_pose", q)
    expected = prepared(case)[1].tip(q)
    assert_close(rotation, expected[0])
    assert_close(position.ravel(), expected[1])
