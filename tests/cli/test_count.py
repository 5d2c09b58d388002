"""`flexarm count`: operations as a reader with a pencil would count them."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

import flexarm
from flexarm.cli import main
from flexarm.engine.emit.c import emit_c
from flexarm.engine.lower import lower
from flexarm.formulations import formulation
from flexarm.io.model_file import loads
from flexarm.model import build
from flexarm.studies.compare import operation_counts
from tests.physics.cases import CORE

KINDS = ("multiplications", "additions", "divisions", "functions")

PENDULUM = """
flexarm: 1
name: pendulum
gravity: [0, -9.81, 0]
links:
  - joint: {kind: revolute}
    length: 1
    body: {mass: 2, com: [0.5, 0, 0], inertia: [0, 0.2, 0.2]}
"""

BEAM = """
flexarm: 1
name: beam
gravity: [0, 0, 0]
links:
  - joint: {kind: revolute}
    length: 1
    section: {mass_per_length: 5, EIz: 1000}
    shapes: {kind: clamped-free, bending_y: 1}
"""


def counted(capsys: pytest.CaptureFixture[str], *argv: str) -> dict[str, Any]:
    """Run the command and return its document."""
    assert main(["count", *argv, "--json"]) == 0
    return dict(json.loads(capsys.readouterr().out))


def numbers(found: dict[str, Any]) -> tuple[int, ...]:
    """Return multiplications, additions, divisions and functions."""
    return tuple(found[kind] for kind in KINDS)


def chain(links: int) -> str:
    """Write a chain of equal flexible links whose joints are turned by 30 degrees each."""
    link = """
  - joint: {kind: revolute, dh: {convention: modified, alpha: 30 deg}}
    length: 1
    section: {mass_per_length: 5, EIy: 1000, EIz: 1000}
    shapes: {kind: clamped-free, bending_y: 1, bending_z: 1}"""
    return f"flexarm: 1\nname: chain\nstiffening: false\nlinks:{link * links}\n"


@pytest.mark.parametrize("name", CORE)
def test_the_counts_of_a_pendulum_are_those_found_by_hand(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "pendulum.yaml"
    path.write_text(PENDULUM)
    found = counted(capsys, str(path), "--formulation", name)
    assert numbers(found["forward_dynamics"]) == (2, 1, 0, 1)  # (u - mgl cos q) * (1/I)
    assert numbers(found["mass_matrix"]) == (0, 0, 0, 0)
    assert numbers(found["bias"]) == (1, 0, 0, 1)


@pytest.mark.parametrize("name", CORE)
def test_the_mass_matrix_of_a_beam_with_one_mode_is_as_found_by_hand(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "beam.yaml"
    path.write_text(BEAM)
    found = counted(capsys, str(path), "--formulation", name, "--stiffening", "off")
    assert numbers(found["mass_matrix"]) == (2, 1, 0, 0)  # I + (m d) d; the others are constants


@pytest.mark.few(3)
@pytest.mark.parametrize("name", ["forward_dynamics", "bias"])
@pytest.mark.parametrize("arm", ["count-2-2-2", "count-3-2-2", "puma-560"])
def test_the_counts_are_those_of_the_operators_in_the_c_that_is_written(
    arm: str, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    function = formulation("articulated", build(flexarm.example_arm(arm))).function(name)
    source = emit_c(lower(function)).source
    lines = re.findall(r"= (.*);", source[source.index("static void") :])  # after its own sine
    text = "\n".join(lines).replace("e-", "e").replace("e+", "e").replace("(-", "(")
    for quarter, turn in enumerate(("sin", "cos")):
        text = re.sub(rf"flexarm_sine\((.+), {quarter}\)", rf"{turn}(\1)", text)
    calls = re.findall(r"\b(sin|cos|tan|sqrt|tanh|exp|atan2)\(", text)
    expected = (
        text.count(" * "),
        text.count(" + ") + text.count(" - "),
        text.count(" / "),
        len(calls),
    )
    found = counted(capsys, arm)[name]
    assert numbers(found) == expected
    assert found["by_function"] == {call: calls.count(call) for call in set(calls)}


def test_of_the_mass_matrix_the_upper_triangle_is_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "chain.yaml"
    path.write_text(chain(3))
    found = counted(capsys, str(path), "--formulation", "composite")["mass_matrix"]
    function = formulation("composite", build(flexarm.load(path))).function("mass_matrix")
    stream = lower(function)
    below = {(9 * i + j) for i in range(9) for j in range(i)}
    needed = {store.value for store in stream.stores if store.element not in below}
    for k in range(len(stream.operations) - 1, -1, -1):
        if stream.first_operation + k in needed:
            needed.update(stream.operations[k].operands)
    ops = [
        operation.op
        for k, operation in enumerate(stream.operations)
        if stream.first_operation + k in needed
    ]
    assert found["multiplications"] == ops.count("mul")
    assert found["additions"] == ops.count("add") + ops.count("sub")


@pytest.mark.parametrize(
    ("arm", "limit"), [("count-2-2-2", 300), ("count-3-2-2", 1450), ("count-6-6-3", 6600)]
)
def test_forward_dynamics_takes_no_more_operations_than_intended(
    arm: str, limit: int, capsys: pytest.CaptureFixture[str]
) -> None:
    found = counted(capsys, arm, "--stiffening", "off")["forward_dynamics"]
    assert found["multiplications"] + found["additions"] + found["divisions"] <= limit


def test_each_further_link_takes_the_same_number_of_operations() -> None:
    totals = []
    for links in (3, 4, 5, 8):
        eq = formulation("articulated", build(loads(chain(links))))
        found = operation_counts(eq, "forward_dynamics")
        totals.append(found.multiplications + found.additions + found.divisions)
    further = totals[1] - totals[0]
    assert totals[2] - totals[1] == further
    assert totals[3] - totals[2] == 3 * further


@pytest.mark.parametrize(("choice", "expected"), [("on", True), ("off", False)])
def test_stiffening_is_switched_and_said(
    choice: str, expected: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    found = counted(capsys, "count-2-2-2", "--stiffening", choice)
    assert found["stiffening"] is expected
    other = counted(capsys, "count-2-2-2")
    assert other["stiffening"] is False  # as the sample says
    more = found["bias"]["multiplications"] > other["bias"]["multiplications"]
    assert more is expected


def test_the_document_names_arm_formulation_and_size(capsys: pytest.CaptureFixture[str]) -> None:
    found = counted(capsys, "count-2-2-2", "--formulation", "composite")
    names = {"arm", "formulation", "stiffening", "coordinates"}
    assert set(found) == names | {"forward_dynamics", "mass_matrix", "bias"}
    assert found["formulation"] == "composite"
    assert found["coordinates"] == 6


def test_the_table_has_a_row_per_function_and_says_what_is_counted_of_the_mass_matrix(
    capsys: pytest.CaptureFixture[str],
) -> None:
    expected = counted(capsys, "count-2-2-2")
    assert main(["count", "count-2-2-2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].endswith("6 coordinates, articulated, stiffening off")
    assert lines[2].split() == ["function", *KINDS]
    rows = {line.split()[0]: tuple(map(int, line.split()[1:])) for line in lines[3:6]}
    assert rows == {name: numbers(expected[name]) for name in rows}
    assert list(rows) == ["forward_dynamics", "mass_matrix", "bias"]
    assert "upper triangle" in lines[6]


def test_an_unknown_formulation_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["count", "count-2-2-2", "--formulation", "recursive"]) == 2
    assert "invalid choice: 'recursive' (choose from 'articulated'" in capsys.readouterr().err


def test_an_unknown_arm_is_an_invalid_model(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["count", "kount-2-2-2"]) == 3
    assert "Did you mean 'count-2-2-2'" in capsys.readouterr().err
