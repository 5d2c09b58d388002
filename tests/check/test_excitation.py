"""Random states by which amplitudes are tried are as small in many elements as in few."""

import numpy as np
import pytest

from flexarm.check.constants import RANDOM_DEFLECTION
from flexarm.check.excitation import _random_state
from flexarm.io.model_file import loads
from flexarm.linear.tangent import linearise_elastic, trace
from flexarm.model import build, start_state


@pytest.mark.parametrize("n", [2, 20])
def test_no_section_turns_or_moves_further_than_said(n: int) -> None:
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
    linear = linearise_elastic(model, trace(model), pose)
    q = _random_state(model, linear, pose, [], np.random.default_rng(0)).q
    part = model.links[0]
    x = np.linspace(0.0, 1.0, 2001)
    turned = np.abs(part.beam.shapes.rotation(x) @ q[part.modes]).max()
    assert 0.5 * RANDOM_DEFLECTION < turned < 1.2 * RANDOM_DEFLECTION
    assert np.all(np.abs(q[part.modes]) > 0)
