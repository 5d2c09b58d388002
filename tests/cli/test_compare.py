"""`flexarm compare`: every formulation that treats an arm gives the same equation."""

import json
from collections.abc import Iterable

import pytest

from flexarm.cli import main
from flexarm.formulations import FORMULATIONS

NO_MOTORS = ("--set", "links.1.joint.hub={}", "--set", "links.2.joint.hub={}")
ERRORS = ("mass_matrix_error", "bias_error", "acceleration_error")


def compared(
    capsys: pytest.CaptureFixture[str], *arguments: str, names: Iterable[str] = FORMULATIONS
) -> dict[str, dict[str, object]]:
    assert main(["compare", *arguments, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert list(document["formulations"]) == list(names)
    rows: dict[str, dict[str, object]] = document["formulations"]
    rows["about"] = {key: document[key] for key in ("arm", "coordinates", "states", "allowed")}
    return rows


def only(monkeypatch: pytest.MonkeyPatch, *names: str) -> list[str]:
    """Compare no more than some formulations; list them as they are registered."""
    some = {name: kind for name, kind in FORMULATIONS.items() if name in names}
    monkeypatch.setattr("flexarm.studies.compare.FORMULATIONS", some)
    return list(some)


def test_formulations_agree_and_say_why_they_refuse(capsys: pytest.CaptureFixture[str]) -> None:
    rows = compared(capsys, "korayem-two-link")
    allowed = rows["about"]["allowed"]
    for name in FORMULATIONS:
        if name == "element-jacobian":
            assert "Write 'shapes: {kind: elements}'" in str(rows[name]["refusal"])
            continue
        assert all(0 <= rows[name][error] <= allowed for error in ERRORS)  # type: ignore[operator]
        assert rows[name]["microseconds"] > 0  # type: ignore[operator]
        operations = rows[name]["operations"]
        assert operations["forward_dynamics"]["multiplications"] > 50  # type: ignore[index]


def test_papers_approximations_show(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    some = ("gibbs-appell", "lagrange")
    names = only(monkeypatch, "articulated", "composite", *some)
    rows = compared(capsys, "korayem-two-link", "--paper", names=names)
    assert rows["composite"]["bias_error"] == 0.0
    assert "no paper" in str(rows["articulated"]["refusal"])
    for name in some:
        assert 1e-6 < rows[name]["mass_matrix_error"] < 0.1  # type: ignore[operator]


@pytest.mark.campaign
def test_elements_agree_by_default_and_differ_with_fewer_points(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    names = only(monkeypatch, "composite", "element-jacobian")
    rows = compared(capsys, "chu-example-2", names=names)
    allowed = rows["about"]["allowed"]
    assert all(0 <= rows["element-jacobian"][error] <= allowed for error in ERRORS)  # type: ignore[operator]
    rows = compared(capsys, "chu-example-2", "--points", "3", names=names)
    assert rows["element-jacobian"]["mass_matrix_error"] == pytest.approx(0.038, abs=5e-4)


@pytest.mark.campaign
def test_nodes_bend_smoothly_and_errors_grow_with_the_power_of_the_deflection(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shares = ("0.005", "0.01", "0.02")
    names = only(monkeypatch, "composite", "element-jacobian", "lagrange", "recursive-lagrange")
    rows = compared(capsys, "chu-example-2", "--paper", "--deflection", *shares, names=names)
    for name in ("lagrange", "recursive-lagrange"):
        curve = [row["mass_matrix_error"] for row in rows[name]["by_deflection"]]  # type: ignore[attr-defined]
        assert len(curve) == 3
        assert 1e-3 < curve[0] < curve[1] < curve[2] < 0.02
        assert rows[name]["exponents"]["mass_matrix"] == pytest.approx(1.0, abs=0.02)  # type: ignore[index]
    assert rows["composite"]["exponents"]["mass_matrix"] is None  # type: ignore[index]
    # two elements of one point each: there without any deflection
    one = rows["element-jacobian"]["exponents"]
    assert one["mass_matrix"] == pytest.approx(0.0, abs=0.02)  # type: ignore[index]


@pytest.mark.campaign
def test_the_curve_is_printed_for_what_differs(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    only(monkeypatch, "composite", "gibbs-appell", "lagrange")
    assert main(["compare", "korayem-two-link", "--paper", "--deflection", "0.01", "0.02"]) == 0
    out = capsys.readouterr().out
    assert "tips deflected by 0.01, 0.02 of each link's length" in out
    table = out.partition("power that they grow with")[2].splitlines()
    powers = {line.split()[0]: float(line.split()[-1]) for line in table if " M " in line}
    assert powers == pytest.approx({"gibbs-appell": 2, "lagrange": 1}, abs=0.06)


@pytest.mark.campaign  # tests/formulations/test_singular.py says when there are none
def test_a_start_without_accelerations_is_told(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    names = only(monkeypatch, "element-jacobian", "lagrange")
    rows = compared(capsys, "chu-example-2", "--paper", *NO_MOTORS, names=names)
    assert "start: element-jacobian" in str(rows["element-jacobian"]["singular"])
    assert rows["lagrange"]["singular"] is None


@pytest.mark.campaign
def test_states_without_accelerations_have_no_error_of_them(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    names = only(monkeypatch, "lagrange", "kinematic-influence")
    arguments = ("tg-rrr-2planes", "--paper", "--seed", "1", "--deflection", "0.3")
    rows = compared(capsys, *arguments, names=names)
    assert rows["lagrange"]["acceleration_error"] is None
    assert "a state: lagrange" in str(rows["lagrange"]["singular"])
    assert "mass matrix indefinite" in str(rows["lagrange"]["singular"])
    assert 0 < rows["lagrange"]["mass_matrix_error"] < 1  # type: ignore[operator]
    assert rows["kinematic-influence"]["acceleration_error"] is not None


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ("--deflection", "0.1", "0"),
            "--deflection: must be fractions of a link's length above 0",
        ),
        (("--deflection", "nan"), "got nan"),
        (("--seed", "-1"), "--seed: must be a whole number, 0 or more, got -1"),
        (
            ("--points", "0"),
            "--points: must be a number of integration points per element >= 1, got 0",
        ),
    ],
)
def test_misuse_is_told_in_a_line(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], words: str
) -> None:
    assert main(["compare", "chu-example-2", *arguments]) == 2
    assert words in capsys.readouterr().err


def test_the_table_has_a_line_for_each_and_explains_its_columns(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    names = only(monkeypatch, "composite", "element-jacobian", "lagrange")
    assert main(["compare", "korayem-two-link"]) == 0
    lines = capsys.readouterr().out.splitlines()
    rows = [line.split()[0].rstrip(":") for line in lines[3 : 3 + len(names)]]
    assert sorted(rows) == sorted(names)
    footer = " ".join(lines[3 + len(names) :])
    assert "bias: Coriolis and gravity forces" in footer
    assert "acceleration: under them alone" in footer
    assert "Springs" in footer
