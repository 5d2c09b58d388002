"""`import flexarm` and `flexarm --help` stay quick: nothing heavy is imported for them."""

import json
import subprocess
import sys

import pytest

HEAVY = {"casadi", "matplotlib", "numba", "pandas", "pydantic", "scipy", "xarray"}
HELP = "from flexarm.cli import main; main(['--help'])"


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
