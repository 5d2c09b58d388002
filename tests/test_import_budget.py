"""`import flexarm` and `flexarm --help` stay quick: nothing heavy is imported for them."""

import json
import os
import subprocess
import sys

import pytest

HEAVY = {"casadi", "matplotlib", "numba", "pandas", "pydantic", "scipy", "xarray"}
BUDGET = 0.5  # [s] of CPU time, start of the interpreter included
HELP = "from flexarm.cli import main; main(['--help'])"


def cpu_seconds(code: str) -> float:
    """Measure the CPU time of a fresh interpreter that runs some code [s]."""
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return usage.ru_utime + usage.ru_stime


def heavy_modules_after(code: str) -> set[str]:
    """List the heavy packages that a fresh interpreter has imported after running some code."""
    report = "import json, sys; sys.stderr.write(json.dumps(sorted(sys.modules)))"
    result = subprocess.run(
        [sys.executable, "-c", f"{code}; {report}"], capture_output=True, text=True, check=True
    )
    return HEAVY & set(json.loads(result.stderr))


@pytest.mark.parametrize("code", ["import flexarm", HELP])
def test_nothing_heavy_is_imported(code: str) -> None:
    assert heavy_modules_after(code) == set()


def test_the_check_for_heavy_modules_sees_one() -> None:
    assert heavy_modules_after("import pydantic") == {"pydantic"}


def test_help_takes_less_than_its_budget_of_cpu_time() -> None:
    # Other work on the machine only ever adds: one of a few runs within the budget is enough.
    assert any(cpu_seconds(HELP) < BUDGET for _ in range(5))
