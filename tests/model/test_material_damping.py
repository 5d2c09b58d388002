"""Damping of a link's material, and of modes by their names, against what a beam loses."""

import numpy as np
import pytest

import flexarm
from flexarm.arm import Arm
from flexarm.check.check import check
from flexarm.errors import ModelError
from flexarm.io.model_file import loads
from flexarm.links.base import Direction


def beam(damping: str, *, joint: str = "brake: {closed: true}", payload: str = "") -> Arm:
    """Make a beam that bends both ways, twists and stretches."""
    return loads(
        f"flexarm: 1\nname: beam\ngravity: [0, 0, 0]\nlinks:\n"
        f"  - joint: {{kind: revolute, {joint}}}\n    length: 1\n    {damping}\n"
        "    section: {mass_per_length: 2, EIy: 300, EIz: 100, GJ: 40, EA: 1e5, Jx: 0.01}\n"
        "    shapes: {kind: clamped-free, bending_y: 2, bending_z: 1, torsion: 1, stretch: 1}\n"
        f"{payload}"
    )


def ratios(arm: Arm) -> dict[str, tuple[float, float]]:
    """Give frequency [rad/s] and damping ratio of every mode, by the amplitude that leads it."""
    space = flexarm.linearise(arm)
    n = len(space.A) // 2
    values, vectors = np.linalg.eig(space.A)
    found = {}
    for value, vector in zip(values, vectors.T, strict=True):
        if value.imag > 0:
            name = space.states[int(np.argmax(np.abs(vector[:n])))].removeprefix("link1.")
            found[name] = (float(np.abs(value)), float(-value.real / np.abs(value)))
    return found


def test_kelvin_voigt_damps_every_mode_by_half_its_frequency_times_the_time() -> None:
    found = ratios(beam("material_damping: {time: 0.1 ms}"))
    assert sorted(found) == ["stretch1", "twist1", "y1", "y2", "z1"]
    for omega, ratio in found.values():
        assert ratio == pytest.approx(1e-4 * omega / 2, rel=1e-9)


def test_a_loss_factor_is_twice_the_ratio_of_every_mode() -> None:
    for _, ratio in ratios(beam("material_damping: {loss_factor: 3 %}")).values():
        assert ratio == pytest.approx(0.015, rel=1e-9)


def test_directions_have_losses_of_their_own() -> None:
    given = "{time: 1 ms, bending_z: {loss_factor: 4 %}, torsion: {time: 2 ms}, stretch: {}}"
    found = ratios(beam(f"material_damping: {given}"))
    for name, time in (("y1", 1e-3), ("y2", 1e-3), ("twist1", 2e-3), ("stretch1", 0.0)):
        omega, ratio = found[name]
        assert ratio == pytest.approx(time * omega / 2, rel=1e-9, abs=1e-12)
    assert found["z1"][1] == pytest.approx(0.02, rel=1e-9)


def test_what_a_bent_link_loses_is_the_integral_of_its_strain_rates() -> None:
    """A Kelvin-Voigt beam loses time EI curvature-rate^2 along it."""
    arm = beam("material_damping: {time: 5 ms}", payload="payload: {mass: 1}\n")
    model = flexarm.build(arm)
    rates = np.random.default_rng(4).standard_normal(model.size)
    rates[0] = 0.0
    q = np.zeros(model.size)
    lost = rates @ flexarm.formulation("composite", model).parts(q, rates)["dissipative"]
    elastic = model.links[0].beam
    assert elastic is not None
    x, weights = np.polynomial.legendre.leggauss(40)
    x, weights = (x + 1) / 2, weights / 2
    amplitudes = rates[model.links[0].modes]
    along: tuple[tuple[Direction, int, float], ...] = (
        ("y", 2, 100.0), ("z", 2, 300.0), ("twist", 1, 40.0), ("x", 1, 1e5),
    )  # fmt: skip
    expected = 0.0
    for direction, order, stiffness in along:
        strained = elastic.shapes.values(direction, x, order) @ amplitudes
        expected += 5e-3 * stiffness * float(weights @ strained**2)
    assert lost == pytest.approx(expected, rel=1e-9)


def test_modes_are_damped_by_name_above_critical_too() -> None:
    """An overdamped mode has two real eigenvalues of product omega^2."""
    bare = {name: omega for name, (omega, _) in ratios(beam("rigid: false")).items()}
    arm = beam("damping: {y1: 1.5, z1: 2 %}")
    found = ratios(arm)
    assert found["z1"][1] == pytest.approx(0.02, rel=1e-9)
    assert found["y2"][1] == pytest.approx(0.0, abs=1e-9)
    assert "y1" not in found
    values = np.linalg.eigvals(flexarm.linearise(arm).A)
    real = np.sort(values[(np.abs(values.imag) < 1e-9) & (values.real < -1e-6)].real)
    omega = bare["y1"]
    expected = -omega * (1.5 + np.array([1, -1]) * np.sqrt(1.5**2 - 1))
    np.testing.assert_allclose(real, expected, rtol=1e-8)
    run = flexarm.simulate(flexarm.change_arm(arm, {"links.1.start": {"y1": 0.01}}), t_end=0.2)
    assert run.status == "finished", run.reason
    decay = run.q[:, 1]
    assert decay.min() > -1e-6  # it creeps back and never swings through


@pytest.mark.usefixtures("without_costs")
def test_modes_that_are_not_there_are_named() -> None:
    with pytest.raises(
        ModelError, match=r"links\[1\].damping: there is no mode 'y3'. link1 has y1, .*z1"
    ):
        flexarm.build(beam("damping: {y3: 1 %}"))
    assert any(each.code == "large-damping" for each in check(beam("damping: {y1: 1.5}")).notices)
