"""Stated errors of frequencies are no less than the true ones, and not much more."""

import numpy as np
import pytest
import scipy.linalg
from numpy.polynomial import legendre

import flexarm
from flexarm.accuracy.frequencies import FrequencyErrors, frequency_lines
from flexarm.io.model_file import loads
from flexarm.linear.modes import Modes
from flexarm.spatial import Array
from tests.accuracy.motions import converged

E, DENSITY, NU = 70e9, 2700.0, 0.3
# Share of the error that remains since an exact link's shear follows its bending at once.
FOLLOWS = 1e-3


def tube(length: float, diameter: float, rotary: str = "") -> str:
    return (
        "flexarm: 1\nname: tube\ngravity: [0, 0, 0]\nlinks:\n  - joint: {kind: fixed}\n"
        f"    length: {length}\n    section:\n      material: {{E: 70e9, density: 2700, nu: 0.3}}\n"
        f"      shape: {{kind: tube, diameter: {diameter}}}{rotary}\n"
        "    shapes: {kind: loaded, bending_y: 6, bending_z: 0, torsion: 0, stretch: 0}\n"
    )


def timoshenko(length: float, diameter: float, count: int = 14) -> Array:
    """Find frequencies [rad/s] of a clamped solid round beam with shear by Ritz's method."""
    kappa = 6 * (1 + NU) / (7 + 6 * NU)
    area, second = np.pi * diameter**2 / 4, np.pi * diameter**4 / 64
    shear, bend = kappa * E / (2 * (1 + NU)) * area, E * second
    node, weight = legendre.leggauss(2 * count)
    x, w = (node + 1) / 2 * length, weight * length / 2
    series = legendre.legvander(node, count - 1)
    rise = np.stack([legendre.legval(node, legendre.legder(row)) for row in np.eye(count)], axis=1)
    value = series * x[:, None]
    rate = series + rise * (2 / length) * x[:, None]

    def product(a: Array, b: Array) -> Array:
        return np.asarray(a.T @ (w[:, None] * b))

    stiffness = np.block(
        [
            [shear * product(rate, rate), -shear * product(rate, value)],
            [-shear * product(value, rate),
             shear * product(value, value) + bend * product(rate, rate)],
        ]
    )  # fmt: skip
    none = np.zeros((count, count))
    mass = np.block(
        [[DENSITY * area * product(value, value), none],
         [none, DENSITY * second * product(value, value)]]
    )  # fmt: skip
    return np.asarray(np.sqrt(scipy.linalg.eigh(stiffness, mass, subset_by_index=[0, 3])[0]))


@pytest.mark.few(1)
@pytest.mark.parametrize("rotary", ["", "\n      rotary_inertia: false"])
@pytest.mark.parametrize("slenderness", [15, 30, 60])
def test_shear_and_rotary_inertia_left_out_are_judged(slenderness: float, rotary: str) -> None:
    found = flexarm.modes(loads(tube(1.0, 1 / slenderness, rotary)))
    exact = timoshenko(1.0, 1 / slenderness)
    for mode, errors, truth in zip(found.modes[:3], found.errors, exact, strict=False):
        assert errors is not None
        assert errors.model is not None
        true = mode.frequency_rad_s / truth - 1
        assert true <= errors.model + errors.shapes + FOLLOWS * true
        assert errors.model + errors.shapes <= 1.02 * true + 1e-8  # rounding of the reference


def vibrations(found: Modes) -> list[tuple[float, FrequencyErrors]]:
    """List frequencies [rad/s] of vibrations of links, with their errors."""
    pairs = zip(found.modes, found.errors, strict=True)
    return [(mode.frequency_rad_s, each) for mode, each in pairs if each is not None]


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["tg-rr", "korayem-two-link", "tg-rr-elements"])
def test_frequencies_of_few_shapes_are_judged(name: str) -> None:
    arm = flexarm.example_arm(name)
    found, truth = (vibrations(flexarm.modes(each)) for each in (arm, converged(arm)))
    for (omega, errors), (exact, _) in list(zip(found, truth, strict=False))[:2]:
        true = abs(omega / exact - 1)
        assert errors.model is not None
        assert true <= errors.model + errors.shapes + errors.solution <= 5 * true + 1e-6


def test_linear_models_state_the_same_errors() -> None:
    arm = flexarm.example_arm("tg-rr")
    modes = flexarm.modes(arm)
    errors = [each for each in modes.errors if each is not None]
    model = flexarm.linearise(arm)
    assert len(model.errors) == len(errors)
    for (omega, mine), mode, theirs in zip(model.errors, modes.elastic(), errors, strict=True):
        assert omega == pytest.approx(mode.frequency_rad_s, rel=1e-9)
        assert mine.shapes == pytest.approx(theirs.shapes, rel=1e-6)


def test_frequencies_of_an_arm_that_turns_are_judged() -> None:
    arm = flexarm.example_arm("spin-up-beam")
    found, truth = (
        vibrations(flexarm.modes(each, speeds={"joint1": 3.0})) for each in (arm, converged(arm))
    )
    for (omega, errors), (exact, _) in list(zip(found, truth, strict=False))[:2]:
        true = abs(omega / exact - 1)
        assert true <= errors.total
        assert errors.shapes <= 10 * true + 1e-6


def test_each_frequency_has_its_own_error() -> None:
    errors = [FrequencyErrors(0.01, 1e-3, 0.0), None, FrequencyErrors(0.0, 0.2, 0.0)]
    said = frequency_lines(errors)[-1]
    assert said == "all three, frequency by frequency: 1.1, 20 % or less"


def test_a_remedy_is_said_of_large_errors_only() -> None:
    model, shapes, solution = frequency_lines([FrequencyErrors(0.02, 1e-4, 1e-12), None])
    assert model.endswith("shapes in all directions")
    assert shapes.endswith("with all their shapes")
    assert solution.endswith("exact eigenvalues")
