"""Hostile run files: a page or one clear line, never a traceback, a long wait or much memory."""

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterable
from pathlib import Path

import pytest

import flexarm
from flexarm.runs.run import Run
from tests.integrate.hostile_runs import kinds, write_hostile
from tests.patience import HANGS

MEMORY = 4_000_000_000  # [bytes] of address space, most of which libraries take
CAMPAIGN = 10
ARM = """
flexarm: 1
name: a floating arm
base: {kind: free, body: {mass: 50, inertia: [4, 9, 6]}, spin: [0, 0.5, 0]}
links:
  - joint: {kind: revolute, input: {kind: csv, file: torque.csv}}
    length: 1
    section: {mass_per_length: 1, EIz: 100}
    shapes: {kind: loaded, bending_y: 1}
"""
# Files on its input, a line for each on its output: status, and what was said on stderr.
READER = """
import contextlib, io, json, resource, signal, sys, traceback
from flexarm.cli import main
from flexarm.viewer.serve import WatchedPage

main(["view", "--force", *sys.argv[3:]])  # what is imported is no file's fault
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[1]), -1))
signal.signal(signal.SIGALRM, lambda *_: sys.exit("too long"))
for line in sys.stdin:
    said = io.StringIO()
    signal.alarm(int(sys.argv[2]))
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
        try:
            status = main(["view", line.strip(), "--force", *sys.argv[4:]])
            WatchedPage([__import__("pathlib").Path(line.strip())]).page()
        except BaseException:
            status = traceback.format_exc()
    signal.alarm(0)
    print(json.dumps([status, said.getvalue()]), flush=True)
"""


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Save a run that has everything a run file can have."""
    folder = tmp_path_factory.mktemp("good")
    (folder / "torque.csv").write_text("time,value\n0,0\n2,3\n")
    (folder / "arm.yaml").write_text(ARM)
    run: Run = flexarm.simulate(flexarm.load(folder / "arm.yaml"), t_end=0.3, dt=0.05)
    run.save(folder / "good.nc")
    return folder / "good.nc"


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    """Make a pipe that nobody writes to: whoever opens it waits."""
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe"


def outcomes(good: Path, pipe: Path, seeds: Iterable[int]) -> list[str]:
    """Show hostile files in a process of its own; list what went wrong."""
    folder = pipe.parent
    page = ["--out", str(folder / "page.html")]
    command = [sys.executable, "-c", READER, str(MEMORY), str(int(HANGS)), str(good), *page]
    wrong: list[str] = []
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as reader:
        assert reader.stdin is not None
        assert reader.stdout is not None
        assert reader.stderr is not None
        assert reader.stdout.readline().startswith("page: ")
        for seed in seeds:
            path = folder / f"{seed}.nc"
            kind = write_hostile(seed, good, path, pipe)
            reader.stdin.write(f"{path}\n")
            reader.stdin.flush()
            patience = threading.Timer(2 * HANGS, reader.kill)  # nothing else ends a library
            patience.start()
            answer = reader.stdout.readline()
            patience.cancel()
            if not answer:
                return [
                    *wrong,
                    f"seed {seed}, {kind.name}: the reader died: {reader.stderr.read()}",
                ]
            wrong += _faults(f"seed {seed}, {kind.name}", kind.refused, path, *json.loads(answer))
            path.unlink()
        reader.stdin.close()
    return wrong


def _faults(name: str, refused: bool, path: Path, status: object, said: str) -> list[str]:
    clear = said.startswith(f"flexarm: error: {path}") and "Traceback" not in said
    if status not in (0, 1, 3) or (status != 0 and not clear) or (refused and status == 0):
        return [f"{name}: {status} {said}"]
    return []


def test_a_run_that_was_lengthened_is_refused_before_it_is_read(good: Path, tmp_path: Path) -> None:
    path = tmp_path / "long.nc"
    shutil.copyfile(good, path)
    os.truncate(path, 100_000_000_000)  # a hole: it takes no space
    with pytest.raises(flexarm.FlexarmError, match="bytes besides its variables"):
        flexarm.load_run(path)


def test_there_are_hundreds_of_kinds() -> None:
    assert len({kind.name for kind in kinds()}) == len(kinds()) > 700


def test_a_sample_of_hostile_files_is_shown_or_refused_in_a_line(good: Path, pipe: Path) -> None:
    every = len(kinds())
    assert outcomes(good, pipe, [*range(0, every, 160), *range(every - 4, every)]) == []


@pytest.mark.campaign
def test_every_kind_of_hostile_file_is_shown_or_refused_in_a_line(good: Path, pipe: Path) -> None:
    assert outcomes(good, pipe, range(CAMPAIGN * len(kinds()))) == []
