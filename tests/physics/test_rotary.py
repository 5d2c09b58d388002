"""Rotary inertia of sections of links bent in space: a published motion, and the mass matrix.

That every formulation has it as sections turned by rotation matrices do is in
`test_against_reference`, that those turn as they should in `test_exact_reference`.
"""

import numpy as np
import pytest

import flexarm
from flexarm.io.model_file import loads
from flexarm.model import Model, build
from tests.physics.exact_convergence import bent_state
from tests.physics.traced import Traced

# Simo & Vu-Quoc 1988.
RIGHT_ANGLE = """
flexarm: 1
name: right-angle cantilever
gravity: [0, 0, 0]
links:
  - joint: {kind: fixed}
    length: 10
    section: SECTION
    shapes: SHAPES
    wrenches:
      - {at: tip, force: [0, 0, 50], factor: TRIANGLE}
  - joint: {kind: fixed, before: {rotation: [0, 0, 90 deg]}}
    length: 10
    section: SECTION
    shapes: SHAPES
"""
TRIANGLE = "{kind: table, times: [0, 1, 2, 10], values: [0, 1, 0, 0]}"
FRAME = "{mass_per_length: 1, EIy: 1e3, EIz: 1e3, GJ: 1e3, EA: 1e6, Jx: 20, Jy: 10, Jz: 10}"
# Tip by shear-flexible elements of another code, extrapolated from 20 and 40 of them.
TIP = {
    2: (10.1064, 9.3079, 0.0694), 3: (10.7886, 8.9384, 1.5069), 5: (9.4598, 8.9379, 5.4787),
    7: (8.9732, 7.5596, 8.0050), 8: (10.0239, 7.3548, 7.9607), 10: (10.0049, 8.0298, 4.4632),
}  # fmt: skip
LARGEST = 8.44  # displacement of the tip [m]


@pytest.mark.usefixtures("little_effort")
@pytest.mark.parametrize(
    ("counts", "until", "within"),
    [
        ((4, 4, 3, 1), 2, 2e-4),
        pytest.param((4, 4, 3, 1), 3, 2e-4, marks=pytest.mark.campaign),
        pytest.param((4, 4, 3, 1), 10, 1.5e-3, marks=pytest.mark.campaign),
        pytest.param((6, 6, 4, 2), 10, 6e-4, marks=pytest.mark.campaign),
    ],
)
def test_right_angle_cantilever(counts: tuple[int, ...], until: int, within: float) -> None:
    names = ("bending_y", "bending_z", "torsion", "stretch")
    shapes = {"kind": "loaded"} | dict(zip(names, counts, strict=True))
    text = RIGHT_ANGLE.replace("SECTION", FRAME).replace("SHAPES", str(shapes))
    text = text.replace("TRIANGLE", TRIANGLE)
    run = flexarm.simulate(loads(text), t_end=until, dt=1.0, rtol=1e-5)
    for time, tip in TIP.items():
        if time <= until:
            error = np.linalg.norm(run.dataset["tip_position"].sel(time=time) - tip)
            assert error < within * LARGEST
    assert run.energy_balance < 1e-5


def bent(shapes: str, inertia: tuple[float, float, float], more: str = "") -> Model:
    """Two links of a payload that turn about axes across each other."""
    J = "".join(f", J{axis}: {value}" for axis, value in zip("xyz", inertia, strict=True))
    section = f"{{mass_per_length: 1, EIy: 10, EIz: 14, GJ: 6, EA: 400{J}{more}}}"
    links = [
        f"{{joint: {{kind: revolute, axis: {axis}}}, length: {length}, section: {section},"
        f" shapes: {{kind: loaded, {shapes}}}}}"
        for axis, length in (("[0, 0, 1]", 1.0), ("[0, 1, 0]", 0.7))
    ]
    listed = f"links: [{', '.join(links)}]\npayload: {{mass: 1}}"
    return build(loads(f"flexarm: 1\nname: bent\ngravity: [0, 0, 0]\n{listed}"))


@pytest.mark.few(3)
@pytest.mark.parametrize(
    "states", [12, pytest.param(500, marks=pytest.mark.campaign)], ids=["few", "all"]
)
@pytest.mark.parametrize("shear", ["", ", GAy: 100, GAz: 120"], ids=["", "shears"])
@pytest.mark.parametrize("inertia", [(0.3, 0.29, 0.02), (0.02, 0.01, 0.01), (1.0, 0.5, 0.6)])
@pytest.mark.parametrize("count", [2, 4])
def test_mass_matrix_is_positive_definite_at_slopes_to_two_and_a_half(
    count: int, inertia: tuple[float, float, float], shear: str, states: int
) -> None:
    shapes = f"bending_y: {count}, bending_z: {count}, torsion: {count - 1}, stretch: 1"
    model = bent(shapes, inertia, shear)
    traced = Traced("composite", model, {})
    for seed in range(states):
        q, _ = bent_state(model, 2.5 * (seed + 1) / states, seed)
        mass = traced("mass_matrix", q)[0]
        size = np.sqrt(np.diag(mass))
        assert np.linalg.eigvalsh(mass / np.outer(size, size))[0] > 0


def test_links_have_as_many_nodes_as_their_rotary_inertia_takes() -> None:
    shapes = "bending_y: 4, bending_z: 4, torsion: 1, stretch: 0"
    models = [bent(shapes, (2 * J, J, J)) for J in (1e-6, 1e-4, 0.1)]
    nodes = [model.links[0].exact for model in models]
    assert [each.count for each in nodes if each is not None] == [6, 6, 7]
