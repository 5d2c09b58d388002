"""Random states by which amplitudes are tried are as small in many elements as in few."""

import numpy as np
import pytest

from flexarm.check.constants import RANDOM_DEFLECTION
from flexarm.check.excitation import _random_state
from flexarm.io.model_file import loads
from flexarm.model import build, start_state


@pytest.mark.parametrize("n", [2, 20])
def test_the_tip_moves_as_far_as_said_and_no_section_turns_much(n: int) -> None:
    model = build(
        loads(f"""
flexarm: 1
name: link
stiffening: false
links:
  - joint: {{kind: revolute}}
    length: 1
    section: {{mass_per_length: 1, EIz: 800}}
    shapes: {{kind: elements, bending_y: {n}}}
""")
    )
    pose, _ = start_state(model)
    q = _random_state(model, pose, [], np.random.default_rng(0)).q
    part = model.links[0]
    x = np.linspace(0.0, 1.0, 2001)
    turned = np.abs(part.beam.shapes.rotation(x) @ q[part.modes]).max()
    moved = np.abs(part.beam.shapes.displacement(np.ones(1)) @ q[part.modes]).max()
    assert moved == pytest.approx(RANDOM_DEFLECTION)
    assert turned < 1.5 * RANDOM_DEFLECTION
    assert np.all(np.abs(q[part.modes]) > 0)
