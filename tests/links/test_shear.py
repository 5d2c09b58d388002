"""Beams that shear: frequencies of solids, Timoshenko's statics, what is refused."""

import numpy as np
import pytest

import flexarm
from flexarm.arm import Arm
from flexarm.check.check import check
from flexarm.errors import ModelError
from flexarm.formulations import FORMULATIONS
from flexarm.io.model_file import loads
from tests.physics.cases import skip_if_refused

SOLIDS = (58.169, 353.21, 945.31)  # [Hz]: the tube by 144 bricks with 20 nodes
WITHIN = (2e-3, 2.5e-3, 4e-3)
FORCE = 1e-3
TUBE = """material: {E: 210 GPa, density: 7850, nu: 0.3},
      shape: {kind: tube, diameter: 60 mm, thickness: 3 mm}"""


def arm_of(section: str, shapes: str, *, stiffening: bool = False) -> Arm:
    """Make a cantilever of 1 m with a small force at its tip."""
    return loads(
        f"flexarm: 1\nname: beam\ngravity: [0, 0, 0]\nstiffening: {str(stiffening).lower()}\n"
        f"links:\n  - joint: {{kind: fixed}}\n    length: 1\n    section: {{{section}}}\n"
        f"    shapes: {{{shapes}}}\n    wrenches: [{{force: [0, 0, {FORCE}]}}]\n"
    )


def bending(arm: Arm) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Find the first three frequencies along z [Hz]."""
    found = [mode.frequency_hz for mode in flexarm.modes(arm).modes if "bending z" in mode.name]
    return np.array(found[:3])


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", ["arm-modes", "loaded", "craig-bampton"])
def test_tube_has_the_frequencies_of_solids(kind: str) -> None:
    shapes = f"kind: {kind}, bending_y: 0, bending_z: 4, torsion: 0, stretch: 0"
    error = bending(arm_of(f"{TUBE}, shear: true", shapes)) / SOLIDS - 1
    assert np.all(np.abs(error) < WITHIN), error
    without = bending(arm_of(TUBE, shapes)) / SOLIDS - 1
    assert np.all(without > np.array([2e-3, 0.02, 0.06])), without


@pytest.mark.parametrize("how", ["tip", "none"])
def test_tip_gives_way_by_bending_and_shear_and_its_section_by_bending_alone(how: str) -> None:
    section = "mass_per_length: 2, EIy: 300, GAz: 4000, EIz: 900, GAy: 1e4"
    normalised = f", normalise: {how}" if how == "none" else ""
    shapes = f"kind: craig-bampton, bending_y: 0, bending_z: 1{normalised}"
    model = flexarm.build(arm_of(section, shapes))
    elastic = model.links[0].beam
    assert elastic is not None
    bent = flexarm.equilibrium(model).point.q
    assert elastic.tip_shape[2] @ bent == pytest.approx(FORCE * (1 / 3 / 300 + 1 / 4000), rel=1e-9)
    assert -elastic.tip_angle[1] @ bent == pytest.approx(FORCE / 2 / 300, rel=1e-9)


@pytest.mark.few(3)
@pytest.mark.parametrize("name", [name for name in FORMULATIONS if name != "composite"])
def test_every_formulation_has_the_same_mass(name: str) -> None:
    section = "mass_per_length: 2, EIy: 300, GAz: 4000, Jy: 0.01"
    model = flexarm.build(arm_of(section, "kind: loaded, bending_z: 3"))
    skip_if_refused(name, model)
    q = np.array([0.01, -0.004, 0.002])
    known, found = (flexarm.formulation(n, model).mass_matrix(q) for n in ("composite", name))
    assert np.abs(found - known).max() < 1e-12 * np.abs(known).max()


@pytest.mark.parametrize(
    ("section", "shapes", "stiffening", "words"),
    [
        (f"{TUBE}, shear: true", "kind: elements", False, "jumps of curvature"),
        (f"{TUBE}, shear: true", "kind: lumped", False, "jumps of curvature"),
        ("mass_per_length: 2, EIy: 300, shear: true", "kind: loaded", False, "GAy and GAz"),
    ],
)
def test_what_cannot_shear_is_refused(
    section: str, shapes: str, stiffening: bool, words: str
) -> None:
    with pytest.raises(ModelError, match=words):
        flexarm.build(arm_of(section, shapes, stiffening=stiffening))


def test_the_series_of_the_papers_does_not_shear() -> None:
    with pytest.raises(ModelError, match="Write 'stiffening: false'"):
        flexarm.build(arm_of(f"{TUBE}, shear: 0.5", "kind: loaded", stiffening=True), series=True)


@pytest.mark.parametrize(
    "shapes",
    [
        "y: 0, bending_z: 2, torsion: 0",
        pytest.param("y: 1, bending_z: 1, torsion: 1", marks=pytest.mark.campaign),
    ],
)
def test_exact_link_vibrates_as_the_linear_one_and_keeps_its_energy(shapes: str) -> None:
    shapes = f"kind: craig-bampton, stretch: 0, bending_{shapes}"
    arms = [arm_of(f"{TUBE}, shear: true", shapes, stiffening=s) for s in (True, False)]
    hertz = [[mode.frequency_hz for mode in flexarm.modes(arm).modes] for arm in arms]
    assert np.allclose(hertz[0], hertz[1], rtol=1e-10, atol=0)
    exact = flexarm.formulation("articulated", flexarm.build(arms[0]))
    q, v = (np.random.default_rng(k).normal(0, s, exact.model.size) for k, s in ((0, 0.02), (1, 9)))
    h = 1e-7
    before, beyond = (exact.energy(q + s * v, v) for s in (-h, h))
    rate = (sum(beyond) - sum(before)) / (2 * h)  # at the same speeds
    assert v @ exact.inverse_dynamics(q, v, 0 * v) == pytest.approx(rate, rel=1e-6)


@pytest.mark.usefixtures("without_costs")
def test_check_tells_of_shear_until_it_is_there() -> None:
    shapes = "kind: loaded, bending_y: 0, bending_z: 4, torsion: 0, stretch: 0"
    for section, told in ((TUBE, True), (f"{TUBE}, shear: true", False)):
        notices = check(arm_of(section, shapes)).notices
        assert any(each.code == "stubby-link" for each in notices) == told
