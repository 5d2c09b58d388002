"""A study that is killed at any moment loses no row, and has none twice."""

import multiprocessing
import os
import random
import signal
import time
from pathlib import Path

import pytest

import flexarm
from tests.studies.designs import logged

CHUNK = 8
PLAN = {
    "parameters": {"x": [0, 1]},
    "sampling": {"kind": "sobol", "count": 256},
    "quantities": {"f": {"function": logged, "takes": "design"}},
    "chunk": CHUNK,
    "workers": 1,
}

pytestmark = pytest.mark.skipif(os.name != "posix", reason="SIGKILL is of POSIX")


def compute(out: str) -> None:
    """Compute the study in another process."""
    flexarm.study(PLAN, out=out)


@pytest.mark.parametrize(
    "moments", [2, pytest.param(50, marks=pytest.mark.campaign)], ids=["few", "many"]
)
def test_no_row_is_lost_or_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moments: int
) -> None:
    monkeypatch.setenv("STUDY_LOG", str(tmp_path / "log"))
    out, chance, killed = tmp_path / "out", random.Random(7), 0
    context = multiprocessing.get_context("fork")
    for k in range(moments):
        first = k == 0
        monkeypatch.setenv("STUDY_STICKS", "1" if first else "")
        process = context.Process(target=compute, args=(str(out),))
        process.start()
        if first:  # within a chunk, however fast the machine is
            while not (tmp_path / "log").exists():
                time.sleep(0.01)
        else:
            time.sleep(chance.uniform(0.0, 1.5 / moments**0.5))
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        killed += process.exitcode == -signal.SIGKILL
    assert killed > 0
    monkeypatch.setenv("STUDY_STICKS", "")
    before = flexarm.load_study(out).progress.done if (out / "study.json").exists() else 0
    compute(str(out))
    rows = flexarm.load_study(out).columns
    assert before % CHUNK == 0
    assert rows["index"].tolist() == list(range(256))
    assert len(set(rows["key"].tolist())) == 256
    assert rows["f"].tolist() == (2 * rows["x"]).tolist()
    asked = (tmp_path / "log").read_text(encoding="utf-8").split()
    assert 256 <= len(asked) <= 256 + killed * CHUNK
