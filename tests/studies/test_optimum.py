"""The best design of a study is that of theory, and no design around it is better."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

import flexarm
from flexarm.cli import main
from flexarm.errors import FlexarmError, ModelError

BEAM = """
flexarm: 1
name: a clamped tube
stiffening: false
payload: {mass: 2}
gravity: [0, 0, 0]
links:
  - joint: {kind: fixed}
    length: 1
    section: {mass_per_length: 1, EIz: 30}
    shapes: {kind: loaded, bending_y: 1}
    wrenches: [{at: tip, force: [0, 1, 0]}]
    damping: 30 %
"""
STUDY: dict[str, Any] = {
    "arm": "beam.yaml",
    "parameters": {
        "links.1.section.mass_per_length": [0.2, 3.0],
        "links.1.section.EIz": {"low": 5, "high": 200, "scale": "log"},
    },
    "sampling": {"kind": "sobol", "count": 8},
    "quantities": {"weight": "mass", "first": {"frequency": 1}},
    "aim": {"maximise": "first"},
    "limits": {"weight": {"most": 3.5}},
}


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("beam.yaml").write_text(BEAM)


def test_a_sum_of_two_sides_is_least_for_a_square() -> None:
    found = flexarm.optimise(
        {
            "parameters": {"x": [0.1, 1.0], "y": [0.1, 1.0]},
            "sampling": {"kind": "sobol", "count": 4},
            "quantities": {
                "sum": {"function": lambda d: d["x"] + d["y"], "takes": "design"},
                "area": {"function": lambda d: d["x"] * d["y"], "takes": "design"},
            },
            "aim": {"minimise": "sum"},
            "limits": {"area": {"least": 0.25}},
        }
    )
    assert found.values == pytest.approx({"x": 0.5, "y": 0.5}, abs=1e-4)
    assert found.quantities["sum"] == pytest.approx(1.0, abs=1e-6)
    assert (found.kept, found.refuted, found.limits) == (True, 0.0, ("area",))


@pytest.mark.campaign
def test_the_lightest_link_that_is_stiff_enough_in_a_run() -> None:
    # A tip force bends a damped link to F L^3 / (3 EI); its weight is free to be the least.
    arm = flexarm.change_arm(flexarm.load("beam.yaml"), {"links.1.damping": 0.7})
    study = STUDY | {
        "arm": arm,
        "run": {"t_end": 1.5, "dt": 0.05, "method": "dop853", "rtol": 1e-6},
        "quantities": {
            "bent": {"of": "link1 tip deflection y", "reduce": "mean", "after": "1.4 s"},
            "cost": {
                "function": lambda d: (
                    d["links.1.section.EIz"] + d["links.1.section.mass_per_length"]
                ),
                "takes": "design",
            },
        },
        "aim": {"minimise": "cost"},
        "limits": {"bent": {"most": 0.01}},
    }
    found = flexarm.optimise(study)
    assert found.values["links.1.section.EIz"] == pytest.approx(1 / (3 * 0.01), rel=2e-3)
    assert found.values["links.1.section.mass_per_length"] == pytest.approx(0.2, abs=1e-6)
    assert found.limits == ("bent",)
    assert found.arm is not None
    assert found.arm.links[0].section.EIz == found.values["links.1.section.EIz"]  # type: ignore[union-attr]


def test_the_command_writes_the_arm_and_says_what_is_at_its_limit(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("best.json").write_text(json.dumps({"study": 1, **STUDY}))
    assert main(["optimise", "best.json", "--out", "best.yaml", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    # Stiffest and lightest: both at the ends of their ranges, far from the limit of weight.
    assert found["values"]["links.1.section.EIz"] == pytest.approx(200)
    assert found["values"]["links.1.section.mass_per_length"] == pytest.approx(0.2)
    assert found["quantities"]["weight"] == pytest.approx(2.2)
    omega = 2 * math.pi * found["quantities"]["first"]
    assert omega == pytest.approx(math.sqrt(3 * 200 / (2 + 0.2 * 33 / 140)), rel=2e-3)
    assert flexarm.load("best.yaml").links[0].length == 1


@pytest.mark.campaign
def test_limits_that_no_design_keeps_are_told_and_nothing_is_written(
    capsys: pytest.CaptureFixture[str],
) -> None:
    plan = {"study": 1, **STUDY, "limits": {"first": {"least": 50.0}}}
    Path("best.json").write_text(json.dumps(plan))
    assert main(["optimise", "best.json", "--out", "best.yaml"]) == 1
    assert "no design that keeps all limits" in capsys.readouterr().out
    assert not Path("best.yaml").exists()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"aim": None}, "an aim is missing"),
        ({"aim": {"minimise": "x"}}, "no quantity 'x'"),
        ({"aim": {}}, "either 'minimise' or 'maximise'"),
        ({"limits": {"first": {}}}, "'least', 'most' or both"),
        ({"limits": {"weight": {"least": 2, "most": 1}}}, "the limit 'least' must be below 'most'"),
        ({"parameters": {"payload.mass": {"values": [1.0, 2.0]}}}, "must have a range"),
        ({"quantities": {"first": {"frequency": 1, "after": 1}}}, "used only for a curve"),
    ],
)
def test_a_plan_without_a_best_design_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        flexarm.optimise(STUDY | changes)


def test_designs_that_all_fail_give_their_reason() -> None:
    study = STUDY | {
        "parameters": {"x": [0.0, 1.0]},
        "arm": None,
        "quantities": {"first": {"function": lambda d: d["y"], "takes": "design"}},
        "limits": {},
    }
    with pytest.raises(
        FlexarmError, match="none of the 8 designs could be computed: first: KeyError"
    ):
        flexarm.optimise(study)


def test_a_kink_in_which_the_search_is_caught_is_no_optimum() -> None:
    def kinked(d: dict[str, float]) -> float:
        return 1 + 30 * abs(d["x"] - d["y"] ** 2) + (d["x"] - 0.9) ** 2

    found = flexarm.optimise(
        {
            "parameters": {"x": [0.0, 1.0], "y": [0.0, 1.0]},
            "sampling": {"kind": "sobol", "count": 8},
            "quantities": {"f": {"function": kinked, "takes": "design"}},
            "aim": {"minimise": "f"},
        }
    )
    assert found.refuted > 0 or found.quantities["f"] < 1.002


def test_a_limit_of_0_is_kept_to_the_size_of_its_quantity() -> None:
    found = flexarm.optimise(
        {
            "parameters": {"x": [0.0, 1.0]},
            "sampling": {"kind": "sobol", "count": 4},
            "quantities": {
                "f": {"function": lambda d: d["x"], "takes": "design"},
                "g": {"function": lambda d: 1e-7 * (d["x"] - 0.5), "takes": "design"},
            },
            "aim": {"maximise": "f"},
            "limits": {"g": {"most": 0.0}},
        }
    )
    assert found.values["x"] == pytest.approx(0.5, abs=1e-5)
    assert (found.kept, found.limits) == (True, ("g",))


def test_a_quantity_that_is_no_number_is_told() -> None:
    study = STUDY | {
        "arm": None,
        "parameters": {"x": [0.0, 1.0]},
        "quantities": {
            "f": {"function": lambda d: d["x"], "takes": "design"},
            "g": {"function": lambda d: math.nan, "takes": "design"},
        },
        "aim": {"minimise": "f"},
        "limits": {"g": {"most": 1}},
    }
    with pytest.raises(FlexarmError, match="could be computed: g is no number"):
        flexarm.optimise(study)


def test_designs_of_a_grid_are_tried_all_over_it() -> None:
    found = flexarm.optimise(
        {
            "parameters": {n: {"low": 0.0, "high": 1.0, "levels": 100} for n in "xy"},
            "sampling": {"kind": "grid"},
            "quantities": {
                "f": {
                    "function": lambda d: (
                        -math.exp(-20 * ((d["x"] - 0.8) ** 2 + (d["y"] - 0.5) ** 2))
                    ),
                    "takes": "design",
                }
            },
            "aim": {"minimise": "f"},
        }
    )
    assert found.values == pytest.approx({"x": 0.8, "y": 0.5}, abs=1e-3)


def test_an_end_of_a_range_and_a_missing_aim_are_told() -> None:
    sides = {"function": lambda d: d["x"] - d["y"], "takes": "design"}
    study: dict[str, Any] = {
        "parameters": {"x": [0.1, 1.0], "y": [0.1, 1.0]},
        "sampling": {"kind": "sobol", "count": 4},
        "quantities": {"sides": sides},
        "aim": {"minimise": "sides"},
    }
    found = flexarm.optimise(study)
    assert found.ends == ("x", "y")
    assert "at the end of its range: x, y" in repr(found)
    Path("plain.yaml").write_text(
        json.dumps({k: v for k, v in (STUDY | {"study": 1}).items() if k != "aim"})
    )
    with pytest.raises(ModelError, match=r"plain\.yaml:1:1: an aim is missing"):
        flexarm.optimise("plain.yaml")
