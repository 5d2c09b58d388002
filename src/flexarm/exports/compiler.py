"""Search for a C compiler: the system's, or the one in the package ziglang."""

import importlib.util
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from flexarm.errors import FlexarmError

OWN = ("cc", "gcc", "clang")
OPTIMISED = "-O2"
ENDINGS = {"linux": ".so", "windows": ".dll", "darwin": ".dylib"}


def find_compilers() -> list[list[str]]:
    """Return the commands of the C compilers of this machine, in the order to try them."""
    commands = [[path] for name in OWN if (path := shutil.which(name))]
    if importlib.util.find_spec("ziglang") is not None:
        commands.append([sys.executable, "-m", "ziglang", "cc"])
    return commands


def system() -> tuple[str, str]:
    """Return processor and operating system in FMI 3.0's terms, such as ``x86_64``, ``linux``."""
    machine = {"amd64": "x86_64", "arm64": "aarch64"}
    processor = platform.machine().lower()
    return machine.get(processor, processor), platform.system().lower()


def shared_library(sources: dict[str, str], name: str) -> tuple[bytes | None, str]:
    """Return a shared library compiled from C files by the first compiler that succeeds.

    Returns
    -------
    library, said
        The library and the compiler's command; or None and the reason for the failure.
    """
    failures = []
    for command in find_compilers():
        command_line = " ".join(command)
        try:
            return _compiled(command, sources, name), command_line
        except (OSError, FlexarmError) as error:
            failures.append(f"{command_line}: {error}")
    if failures:
        return None, f"no C compiler works here ({'; '.join(failures)})"
    return None, "no C compiler is here"


def _compiled(command: list[str], sources: dict[str, str], name: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        for file, text in sources.items():
            Path(folder, file).write_text(text, encoding="utf-8")
        c_files = [file for file in sources if file.endswith(".c")]
        flags = ["-std=c99", OPTIMISED, "-shared", "-fPIC", "-fvisibility=hidden", "-o", name]
        call = [*command, *flags, *c_files, "-lm"]
        process = subprocess.run(call, cwd=folder, capture_output=True, text=True, check=False)
        if process.returncode or not Path(folder, name).is_file():
            lines = process.stderr.splitlines() or ["says nothing"]
            raise FlexarmError(next((line for line in lines if "error" in line), lines[0]))
        return Path(folder, name).read_bytes()
