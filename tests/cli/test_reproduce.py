"""`flexarm reproduce` where the papers are not installed."""

import shutil
import subprocess
import sys
from pathlib import Path

import flexarm

PACKAGE = Path(flexarm.__file__).parent


def test_a_wheel_without_the_papers_says_where_they_are(tmp_path: Path) -> None:
    shutil.copytree(PACKAGE, tmp_path / "flexarm", ignore=shutil.ignore_patterns("built"))
    path = [str(tmp_path), *(each for each in sys.path if not (Path(each) / "flexarm").is_dir())]
    code = (
        f"import sys; sys.path = {path!r}; from flexarm.cli import main; "
        "sys.exit(main(['reproduce', 'chu', '--list']))"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ended.returncode == 1
    assert not ended.stdout
    assert "'flexarm_papers' is not installed" in ended.stderr
    assert "Traceback" not in ended.stderr
