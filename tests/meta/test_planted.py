"""A wrong thing that enters a registry is caught by the tests that everything registered meets."""

import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# Each planted thing, and the tests that must fail of it.
CAUGHT = {
    "planted-heavy": (
        "test_identities.py::test_sample_obeys",
        "test_identities.py::test_random_arm_obeys",
        "test_against_reference.py::test_mass_matrix",
        "test_against_reference.py::test_forward_dynamics",
    ),
    "planted-swirling": (
        "test_identities.py::test_sample_obeys",
        "test_against_reference.py::test_inverse_dynamics",
        "test_against_reference.py::test_forward_dynamics",
    ),
    "planted-weighty": (
        "test_identities.py::test_sample_obeys",
        "test_against_reference.py::test_inverse_dynamics",
        "test_against_reference.py::test_forward_dynamics",
    ),
    "planted-trusting": ("test_tolerance.py::test_random_motions",),
    "planted-order": ("test_methods.py::test_measured_order",),
    "prismatic, oblique-composite": (
        "test_against_reference.py::test_mass_matrix",
        "test_against_reference.py::test_forward_dynamics",
    ),
    "reduced_bodies": (
        "test_reduced_bodies.py::test_equations_are_those",
        "test_reduced_bodies.py::test_a_beam_given",
    ),
    "captures_a_point_mass": ("test_events.py::test_a_rigid_arm_captures",),
    "mote_caught": ("test_jumps.py::test_a_mote_caught",),
    "polynomials": ("test_basis.py::test_every_basis",),
}
FILES = (
    "physics/test_identities.py",
    "physics/test_against_reference.py",
    "physics/test_reduced_bodies.py",
    "integrate/test_events.py",
    "integrate/test_methods.py",
    "integrate/test_tolerance.py",
    "links/test_basis.py",
    "gradients/test_jumps.py",
)
# A few of the checks that every formulation meets, and of its arms the smallest.
CHOSEN = (
    "(planted or kinematic-influence) and korayem-two or planted-heavy and 94"
    " or revolute-planted or revolute-kinematic-influence or prismatic and oblique-composite"
    " or point_masses or given_as_a_body or polynomials and every_basis"
    " or rigid_arm_captures or mote_caught and rk4"
    " or planted-order and measured or planted-trusting and random_motions and 92"
)
SOUND = "kinematic-influence"  # what the planted formulations are made of


@cache
def failures() -> list[str]:
    """Run the tests of what is planted, and list those that fail."""
    command = [sys.executable, "-m", "pytest", "-p", "tests.meta.planted", "-p", "no:cacheprovider",
               "-q", "--no-header", "-rf", "--tb=no", "-n0", "-k", CHOSEN,
               "-m", "not campaign or few",
               *(f"tests/{file}" for file in FILES)]  # fmt: skip
    environment = {key: value for key, value in os.environ.items() if "PYTEST" not in key}
    environment["FLEXARM_CACHE"] = os.devnull  # which knows bodies and joints by their kind alone
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 1, done.stdout + done.stderr
    return re.findall(r"^FAILED (\S.*)$", done.stdout, re.MULTILINE)


@pytest.mark.parametrize("planted", CAUGHT)
def test_what_is_planted_wrong_is_caught(planted: str) -> None:
    assert [line for line in failures() if SOUND in line] == []
    failed = [line for line in failures() if planted in line]
    for test in CAUGHT[planted]:
        assert any(test in line for line in failed), f"{test} passes {planted}: {failed}"
