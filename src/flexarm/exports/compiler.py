"""A C compiler of this machine: its own, or that of the package ziglang."""

import importlib.util
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from flexarm.errors import FlexarmError

OWN = ("cc", "gcc", "clang")
ENDINGS = {"linux": ".so", "windows": ".dll", "darwin": ".dylib"}


def find_compiler() -> list[str] | None:
    """Give the command of a C compiler, or None where there is none."""
    own = next((found for name in OWN if (found := shutil.which(name))), None)
    if own is not None:
        return [own]
    missing = importlib.util.find_spec("ziglang") is None
    return None if missing else [sys.executable, "-m", "ziglang", "cc"]


def system() -> tuple[str, str]:
    """Name processor and system as FMI 3.0 does: ``x86_64``, ``linux``."""
    machine = {"amd64": "x86_64", "arm64": "aarch64"}
    processor = platform.machine().lower()
    return machine.get(processor, processor), platform.system().lower()


def shared_library(command: list[str], sources: dict[str, str], name: str) -> bytes:
    """Compile C files to a shared library.

    Raises
    ------
    FlexarmError
        With the first lines that the compiler says.
    """
    with tempfile.TemporaryDirectory() as folder:
        for file, text in sources.items():
            Path(folder, file).write_text(text, encoding="utf-8")
        listed = [file for file in sources if file.endswith(".c")]
        flags = ["-std=c99", "-O2", "-shared", "-fPIC", "-fvisibility=hidden", "-o", name]
        call = [*command, *flags, *listed, "-lm"]
        done = subprocess.run(call, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            said = "\n".join(done.stderr.splitlines()[:5])
            raise FlexarmError(f"{' '.join(command)}: cannot compile the exported C:\n{said}")
        return Path(folder, name).read_bytes()
