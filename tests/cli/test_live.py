"""`flexarm live`: a page in which an arm runs."""

from pathlib import Path

import pytest

from flexarm.cli import main
from flexarm.io.model_file import load
from flexarm.model import build
from flexarm.viewer.live.module import prepare_live

STIFF = """
flexarm: 1
name: short and stiff
stiffening: false
links:
  - joint: {kind: revolute}
    length: 0.4
    section:
      material: {E: 200 GPa, density: 7800}
      shape: {kind: tube, diameter: 30 mm, thickness: 2 mm}
"""


def test_the_page_is_written_once_and_shapes_too_fast_for_real_time_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("stiff.yaml").write_text(STIFF)
    assert main(["live", "stiff.yaml"]) == 0
    said = capsys.readouterr().out
    assert "coordinates: shapes of links that vibrate at more than 240 Hz" in said
    assert said.endswith("page: stiff.html\n")
    page = Path("stiff.html").read_text(encoding="utf-8")
    assert said.splitlines()[0].removesuffix(" (--all-shapes keeps them)") in page
    assert "wasm-unsafe-eval" in page
    assert main(["live", "stiff.yaml"]) == 1
    assert "stiff.html" in capsys.readouterr().err
    assert {path.name for path in tmp_path.iterdir()} == {"stiff.yaml", "stiff.html"}
    model = build(load("stiff.yaml"))
    assert prepare_live(model, all_shapes=True).arm.model is model
