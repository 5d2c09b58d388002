"""Where an approximation leaves M singular or indefinite, the equation says so at that posture."""

from typing import Any

import numpy as np
import pytest

import flexarm
from flexarm.errors import FlexarmError
from flexarm.formulations.equation import Equation
from flexarm.integrate.simulate import simulate
from flexarm.model import build
from flexarm_papers.runs import changed
from tests.formulations.equation_values import Array

PRINTED: dict[str, Any] = {
    "links.1.joint.hub": {},
    "links.2.joint.hub": {},
}  # the paper has no motor inertia


def printed() -> Equation:
    """The paper's second example as it is printed, with its own mass matrix."""
    return flexarm.formulation(
        "element-jacobian", build(changed("chu-example-2", PRINTED)), paper=True
    )


def at(equation: Equation, elbow: float) -> tuple[Array, Array, Array]:
    q = np.zeros(equation.model.size)
    q[equation.model.names.index("joint2")] = elbow
    return q, np.zeros_like(q), np.array([1.0, 0.5])


def test_the_second_example_as_printed_is_refused_when_straight_and_only_then() -> None:
    equation = printed()
    bent = at(equation, 0.5)
    a = equation.forward_dynamics(*bent)
    needed = equation.mass_matrix(bent[0]) @ a + equation.bias(bent[0], bent[1])
    expected = np.zeros(len(a))
    expected[[equation.model.names.index(name) for name in ("joint1", "joint2")]] = bent[2]
    assert needed == pytest.approx(expected, abs=1e-9)
    straight = at(equation, 0.0)
    assert np.linalg.matrix_rank(equation.mass_matrix(straight[0])) == 9  # of 10
    for ask in (equation.forward_dynamics, equation.reaction, equation.motion):
        with pytest.raises(FlexarmError, match=r"matrix singular at these.*joint2.*paper=False"):
            ask(*straight)
    assert np.all(np.isfinite(equation.inverse_dynamics(*straight[:2], np.ones(len(a)))))


def test_a_row_of_a_batch_without_accelerations_is_refused_as_if_alone() -> None:
    equation = printed()
    (q, v, u), straight = at(equation, 0.5), at(equation, 0.0)[0]
    assert np.all(np.isfinite(equation.forward_dynamics(np.array([q, q]), v, u)))
    with pytest.raises(FlexarmError, match=r"matrix singular at these.*joint2.*paper=False"):
        equation.forward_dynamics(np.array([q, straight]), v, u)


def test_an_input_that_is_no_number_is_not_blamed_on_the_mass_matrix() -> None:
    equation = printed()
    q, v, u = at(equation, 0.5)
    assert np.all(np.isnan(equation.forward_dynamics(q, v, u * np.nan)))


def test_a_run_does_not_start_where_the_paper_has_no_accelerations() -> None:
    arm = changed("chu-example-2", PRINTED)
    with pytest.raises(FlexarmError, match="mass matrix singular at these coordinates"):
        simulate(arm, formulation="element-jacobian", t_end=0.1, dt=0.05, paper=True)


@pytest.mark.few(1)
@pytest.mark.parametrize("method", ["dop853", "rk4"])
def test_a_run_stops_where_first_order_tips_make_m_indefinite(method: str) -> None:
    arm = changed("tg-rrr-2planes-elements", {"gravity": [0, 0, -3000]})
    run = simulate(arm, formulation="lagrange", t_end=0.1, dt=0.1, paper=True, method=method)
    assert run.status == "stopped"
    assert "lagrange: its approximation leaves the mass matrix" in run.reason
    assert "link2.node2.slope_z" in run.reason


def bent(equation: Equation, amplitude: float) -> Array:
    """All joints at 1 rad, nodes or modes of every link at some share of its length."""
    q = np.zeros(equation.model.size)
    for part in equation.model.links:
        q[part.modes] = amplitude * part.length
        q[list(part.coordinates)] = 1.0
    return q


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("name", "kind", "options", "small", "large"),
    [
        ("tg-rrr-2planes", "lagrange", {"paper": True}, 1e-3, 0.3),
        ("tg-rrr-2planes", "recursive-lagrange", {"paper": True}, 1e-3, 0.3),
        ("count-6-6-3", "gibbs-appell", {"paper": True, "delta_squared": False}, 1e-3, 0.3),
    ],
)
def test_paper_whose_mass_matrix_turns_indefinite_says_so(
    name: str, kind: str, options: dict[str, Any], small: float, large: float
) -> None:
    equation = flexarm.formulation(kind, build(flexarm.example_arm(name)), **options)
    v, u = np.zeros(equation.model.size), np.zeros(len(equation.input_names))
    assert np.all(np.isfinite(equation.forward_dynamics(bent(equation, small), v, u)))
    mass = equation.mass_matrix(bent(equation, large))
    assert np.linalg.eigvalsh(mass)[0] < 0
    with pytest.raises(FlexarmError, match="mass matrix indefinite at these coordinates"):
        equation.forward_dynamics(bent(equation, large), v, u)


def test_first_order_tips_without_a_paper_say_how_to_be_rid_of_them() -> None:
    arm = flexarm.example_arm("tg-rrr-2planes")
    equation = flexarm.formulation("lagrange", build(arm, tip_rotation="first-order"))
    v, u = np.zeros(equation.model.size), np.zeros(len(equation.input_names))
    with pytest.raises(FlexarmError, match="tip_rotation='cayley'"):
        equation.forward_dynamics(bent(equation, 0.3), v, u)
