"""Study files: every mistake in a line with its place, and the command."""

import json
from pathlib import Path

import pytest

import flexarm
from flexarm.cli import main
from flexarm.errors import ModelError
from tests.studies.designs import ARM

FILE = """\
study: 1
name: twist
arm: arm.yaml
parameters:
  links.1.section.EIz: [40 N m^2, 60 N m^2]
  angle: {low: -10 deg, high: 10 deg, keys: [start.joint1]}
sampling: {kind: sobol, count: 2}
run: {t_end: 100 ms, dt: 10 ms, method: dop853}
quantities:
  peak: "link1 tip deflection y: peak"
  score: {function: "mine.py:score"}
  f1: {frequency: 1}
workers: 1
"""
# What is changed in the file, what it becomes, and what is said of it.
MISTAKES = [
    ("study: 1", "study: 2", ":1:8: study: must be 1"),
    ("name: twist", "nome: twist", ":2:1: nome: "),
    ("arm: arm.yaml", "arm: none.yaml", ":3:6: arm: no file and no sample arm"),
    ("[40 N m^2, 60", "[60 N m^2, 40", ":5:3: parameters.'links.1.section.EIz': the range is"),
    ("[40 N m^2, 60", "[40 N m, 60", "'links.1.section.EIz': links[1].section.EIz"),
    ("section.EIz:", "section.EIw:", ":5:3: parameters.'links.1.section.EIw'"),
    ("links.1.section", "links.9.section", "no '9' in links. There are link1; or 1 to 1"),
    ("keys: [start.joint1]", "keys: [start.elbow]", "parameters.angle: there is no coordinate '"),
    ("low: -10 deg, ", "", ":6:3: parameters.angle: a parameter"),
    ("-10 deg", "-10 mm", "parameters.angle: \"-10 mm\" is a length"),
    ("count: 2", "count: 3", "sampling.count: the count of designs must be a power of 2"),
    ("kind: sobol", "kind: lattice", ":7:18: sampling.kind: "),
    ("t_end: 100 ms", "t_end: -1", ":8:14: run.t_end: must be between 1e-12"),
    ("dt: 10 ms", "dt: 1.0e-12", "run.dt: 1e-12 s makes 1e+11 samples"),
    ("method: dop853", "formulation: lagrang", "run.formulation: must be one of articulated"),
    ("kind: sobol, count: 2", "count: 1000000000", ":7:19: sampling.count: a Latin hypercube"),
    ("frequency: 1", "frequency: 50", ":12:3: quantities.f1: frequency: must be at most 2"),
    ("arm: arm.yaml", "arm: still.yaml", ":6:3: parameters.angle: arm: 'start: equilibrium'"),
    ("method: dop853", "method: euler", ":8:41: run.method: must be one of auto"),
    ("run: {t_end: 100 ms, dt: 10 ms, method: dop853}", "", "run: the quantity 'peak' needs"),
    ("deflection y: peak", "deflection y: most", "reduce: must be one of peak, max"),
    ("link1 tip", "link7 tip", ":10:9: quantities.peak: no run has"),
    ("mine.py:score", "mine.py:scores", ":11:3: quantities.score: 'mine.py:scores' cannot"),
    ("mine.py:score", "theirs.py:score", "'theirs.py:score' cannot be imported: FileNotFoundError"),
    ("frequency: 1", "frequency: 0", ":12:19: quantities.f1.frequency: must be >= 1"),
    ("workers: 1", "workers: many", ":13:10: workers: must be a whole number"),
]  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "arm.yaml").write_text(ARM, encoding="utf-8")
    (tmp_path / "still.yaml").write_text(ARM + "start: equilibrium\n", encoding="utf-8")
    (tmp_path / "mine.py").write_text(
        "def score(run):\n    print('not an answer')\n    return run.t[-1]\n", encoding="utf-8"
    )
    (tmp_path / "twist.yaml").write_text(FILE, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(("old", "new", "said"), MISTAKES, ids=[each[1] for each in MISTAKES])
def test_a_mistake_is_told_with_its_place(folder: Path, old: str, new: str, said: str) -> None:
    path = folder / "wrong.yaml"
    assert old in FILE
    path.write_text(FILE.replace(old, new), encoding="utf-8")
    with pytest.raises(ModelError) as told:
        flexarm.study(path, out=folder / "out")
    assert said in str(told.value)
    assert not (folder / "out").exists()


def test_the_command_computes_says_how_far_it_is_and_draws(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, figure = str(folder / "twist.yaml"), folder / "effects.png"
    assert main(["study", file, "--status"]) == 1
    assert "contains no study" in capsys.readouterr().err
    assert main(["study", file, "--plot", str(figure), "--kind", "sobol"]) == 2
    assert (
        "--kind sobol: needs a study with sampling of kind 'saltelli', got 'sobol'"
        in capsys.readouterr().err
    )
    assert not (folder / "twist").exists()
    assert main(["study", file, "--plot", str(figure)]) == 0
    assert "2 of 2 designs" in capsys.readouterr().out.replace("not an answer\n", "")
    assert figure.stat().st_size > 5000
    assert main(["study", file, "--status", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["done"], told["total"], told["failures"]) == (2, 2, {})
    assert main(["study", file, "--status", "--plot", str(figure)]) == 1
    assert "the file exists already" in capsys.readouterr().err
    assert main(["study", file, "--status", "--plot", str(figure), "--kind", "sobol", "--force"])
    assert "sampling of kind 'saltelli'" in capsys.readouterr().err
