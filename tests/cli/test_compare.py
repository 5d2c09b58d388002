"""`flexarm compare`: every formulation that treats an arm gives the same equation."""

import json

import pytest

from flexarm.cli import main
from flexarm.formulations import FORMULATIONS

ERRORS = ("mass_matrix_error", "bias_error", "acceleration_error")


def compared(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, dict[str, object]]:
    assert main(["compare", *arguments, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert list(document["formulations"]) == list(FORMULATIONS)
    rows: dict[str, dict[str, object]] = document["formulations"]
    rows["about"] = {key: document[key] for key in ("arm", "coordinates", "states", "allowed")}
    return rows


def test_formulations_agree_and_say_why_they_refuse(capsys: pytest.CaptureFixture[str]) -> None:
    rows = compared(capsys, "korayem-two-link")
    allowed = rows["about"]["allowed"]
    for name in FORMULATIONS:
        if name == "element-jacobian":
            assert "say 'shapes: {kind: elements}'" in str(rows[name]["refusal"])
            continue
        assert all(0 <= rows[name][error] <= allowed for error in ERRORS)  # type: ignore[operator]
        assert rows[name]["microseconds"] > 0  # type: ignore[operator]
        operations = rows[name]["operations"]
        assert operations["forward_dynamics"]["multiplications"] > 50  # type: ignore[index]


def test_papers_approximations_show(capsys: pytest.CaptureFixture[str]) -> None:
    rows = compared(capsys, "korayem-two-link", "--paper")
    assert rows["composite"]["bias_error"] == 0.0
    assert "no paper" in str(rows["articulated"]["refusal"])
    for name in ("gibbs-appell", "kinematic-influence", "lagrange", "recursive-lagrange"):
        assert 1e-6 < rows[name]["mass_matrix_error"] < 0.1  # type: ignore[operator]


def test_the_table_has_a_line_for_each_and_explains_its_columns(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["compare", "tg-rr-elements"]) == 0
    lines = capsys.readouterr().out.splitlines()
    last = 2 + len(FORMULATIONS)
    assert [line.split()[0] for line in lines[2:last]] == list(FORMULATIONS)
    footer = " ".join(lines[last:])
    assert "bias: Coriolis and gravity forces" in footer
    assert "acceleration: under them alone" in footer
    assert "Springs" in footer
