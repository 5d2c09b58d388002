"""A rigid root piece of a sliding link: the sleeve at whose end the beam leaves its hub."""

import numpy as np
import pytest

import flexarm
from flexarm.arm import Arm
from flexarm.errors import ModelError
from flexarm.io.model_file import loads
from tests.formulations.equation_values import Values, states

ARM = """
flexarm: 1
name: a beam out of a sleeve
gravity: [0.3, -9.81, 1.0]
links:
  - {{joint: {{kind: revolute, axis: [0, 1, 0]}}, length: 0.4, body: {{mass: 2, com: [0.2, 0, 0]}}}}
  - joint:
      kind: sliding
      start: {{position: 0.7, speed: 0.4}}
      spring: {{stiffness: 300, rest: 0.7}}
      limits: {{lower: 0.4, upper: 1.1}}
      {joint}
    length: {length}
    section: {{mass_per_length: 0.8, EIy: 300, EIz: 200, GJ: 90, Jx: 2.0e-3, Jy: 0.001, Jz: 0.001}}
    shapes: {{kind: clamped-free, bending_y: 1, bending_z: 1, torsion: 1}}
    damping: 0
    start: {{y1: 0.05, z1: -0.03}}
    tip_piece: {{length: 0.1, body: {{mass: 0.4, com: [0.05, 0, 0]}}}}
    {link}
"""
BODY = "{mass: 1.5, com: [0.1, 0.02, 0], inertia: [0.004, 0.02, 0.02]}"


def sleeve() -> Arm:
    return loads(
        ARM.format(joint="", length=1.5, link=f"root_piece: {{length: 0.2, body: {BODY}}}")
    )


def offset() -> Arm:
    """The same arm with a hub in place of the sleeve."""
    hub = BODY.replace("com: [0.1,", "com: [-0.1,")
    joint = f"before: {{position: [0.2, 0, 0]}}\n      hub: {{inboard: {hub}}}"
    return loads(ARM.format(joint=joint, length=1.3, link=""))


@pytest.mark.few(4)
@pytest.mark.parametrize("stiffening", [True, False])
@pytest.mark.parametrize("name", ["composite", "lagrange", "gibbs-appell", "kinematic-influence"])
def test_a_sleeve_is_a_hub_at_whose_end_the_beam_begins(name: str, stiffening: bool) -> None:
    one, other = (flexarm.build(arm, stiffening=stiffening) for arm in (sleeve(), offset()))
    mine, its = (Values(flexarm.formulation(name, model)) for model in (one, other))
    for state in states(one):
        assert mine.mass(state.q) == pytest.approx(its.mass(state.q), rel=1e-11, abs=1e-12)
        found, known = mine.inverse(state), its.inverse(state)
        assert np.abs(found - known).max() < 1e-11 * np.abs(known).max()


def test_a_beam_that_swings_out_of_a_sleeve_keeps_its_energy() -> None:
    run = flexarm.simulate(sleeve(), t_end=0.2, dt=0.02, rtol=1e-9)
    whole = run.energy.sum(axis=1)
    assert np.ptp(run.q[:, 1]) > 0.02  # it slides
    assert np.ptp(whole) < 1e-6 * np.ptp(run.energy, axis=0).max()


def test_a_rigid_link_that_slides_has_no_sleeve() -> None:
    link = f"root_piece: {{length: 0.2, body: {BODY}}}\n    rigid: true"
    text = ARM.format(joint="", length=1.5, link=link)
    lines = [
        line for line in text.splitlines() if line.strip()[:5] not in ("shape", "dampi", "start")
    ]
    with pytest.raises(ModelError, match="moves as a whole"):
        loads("\n".join(lines))
