"""The registry: one discretisation for each kind that a model file can name."""

from functools import cache
from typing import get_args

import numpy as np
import pytest
import scipy.linalg
import scipy.optimize

from flexarm.arm.shapes import ShapeChoice
from flexarm.errors import ModelError, ShapeError
from flexarm.formulations import formulation
from flexarm.io.model_file import loads
from flexarm.links import DISCRETISATIONS, discretisation
from flexarm.model import Model, build
from tests.physics.cases import campaign_if

LENGTH = 0.9
ARM = """
flexarm: 1
name: one link
stiffening: false
links:
  - joint: {{kind: revolute, hub: {{outboard: {{mass: 1, inertia: [0.02, 0.02, 0.02]}}}}}}
    length: {length}
    section: {{mass_per_length: 1.2, EIz: 30, EIy: 20, GJ: 15, EA: 4e4, Jx: 0.01}}
    shapes: {{kind: {kind}, bending_y: {count}, bending_z: {across}, torsion: {count},
             stretch: {count}}}
payload: {{mass: 0.3, inertia: [0.004, 0.004, 0.004]}}
"""
FROM_COUNTS = [kind for kind in DISCRETISATIONS if kind != "table"]  # that comes from a file


def one_link(kind: str, count: int) -> Model:
    """Build the link; shapes that turn its root bend only where the joint lets the root turn."""
    text = {"kind": kind, "count": count, "length": LENGTH}
    try:
        return build(loads(ARM.format(across=count, **text)))
    except ModelError as refused:
        if "turn the root of the link about an axis that the joint holds" not in str(refused):
            raise
        return build(loads(ARM.format(across=0, **text)))


def frequencies(kind: str, count: int) -> dict[str, float]:
    """Give the lowest frequency of each direction of a link with hub and payload [rad/s]."""
    model = one_link(kind, count)
    elastic = model.links[0].beam
    assert elastic is not None
    K = np.zeros((model.size, model.size))
    K[1:, 1:] = elastic.shapes.stiffness
    mass = formulation("composite", model).function("mass_matrix")
    squares, modes = scipy.linalg.eigh(K, np.array(mass(np.zeros(model.size))))
    lowest: dict[str, float] = {}
    for square, mode in zip(squares[1:], modes.T[1:], strict=True):
        direction = _direction(model.names[int(np.argmax(mode * (K @ mode)))])
        lowest.setdefault(direction, float(np.sqrt(square)))
    return lowest


def _direction(name: str) -> str:
    """Read the direction off a coordinate's name, such as ``link1.node2.slope_y``."""
    word = name.rpartition(".")[2].rpartition("_")[2].rstrip("0123456789")
    return "stretch" if word == "x" else word


def rod(stiffness: float, density: float, tip: float) -> float:
    """Give the lowest frequency of a clamped rod with a body at its tip [rad/s]."""
    k = scipy.optimize.brentq(
        lambda k: density * np.cos(k * LENGTH) - tip * k * np.sin(k * LENGTH), 0, 1.57 / LENGTH
    )
    return float(k * np.sqrt(stiffness / density))


@cache
def exact_frequencies() -> dict[str, float]:
    """Bending by many elements, which converge with the fourth power; rods in closed form."""
    rods = {"twist": rod(15.0, 0.01, 0.004), "stretch": rod(4e4, 1.2, 0.3)}
    return frequencies("elements", 16) | rods


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=campaign_if(kind == "elements")) for kind in FROM_COUNTS]
)
def test_every_family_converges_to_one_link(kind: str) -> None:
    """Twice as many shapes come closer to the frequencies of the link that all describe."""
    coarse, fine = (
        {d: abs(w / exact_frequencies()[d] - 1) for d, w in frequencies(kind, n).items()}
        for n in (4, 8)
    )
    assert {"y", "twist", "stretch"} <= set(fine)
    assert all(error < 0.1 for error in fine.values()), fine
    assert all(fine[d] <= max(0.75 * coarse[d], 2e-6) for d in fine), (coarse, fine)


def test_every_choice_of_a_model_file_has_its_discretisation() -> None:
    union, _ = get_args(ShapeChoice)
    kinds = {get_args(choice.model_fields["kind"].annotation)[0] for choice in get_args(union)}
    assert set(DISCRETISATIONS) == kinds


@pytest.mark.parametrize("kind", DISCRETISATIONS)
def test_every_discretisation_states_its_facts(kind: str) -> None:
    found = discretisation(kind)
    assert found.name == kind
    assert found.summary
    assert found.citation


def test_unknown_kind_is_refused_with_those_there_are() -> None:
    with pytest.raises(ShapeError, match=r"no kind of shapes 'modal'. The kinds are arm-modes, "):
        discretisation("modal")
