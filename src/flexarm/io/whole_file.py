"""Atomic writing of files: completely or not at all."""

import errno
import io
import os
import secrets
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from flexarm.arguments import refused, require_flag, require_path
from flexarm.errors import FlexarmError

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def require_writable(path: str | Path, *, force: bool) -> None:
    """Raise an error if a file will not be writable.

    Parameters
    ----------
    path
        The file to be written.
    force
        Whether an existing file may be overwritten.

    Raises
    ------
    FlexarmError
        If the file exists and `force` is false, or its folder is missing or not writable.
    """
    path = require_path("path", path)
    require_flag("force", force)
    _refuse_unreachable(path)
    folder = Path(os.path.realpath(path)).parent
    if path.is_dir():
        raise FlexarmError(f"{path}: is a folder. Name a file.")
    if path.exists() and not path.is_file():
        raise FlexarmError(f"{path}: is a device or pipe, not a regular file. Name a file.")
    if path.exists() and not force:
        raise FlexarmError(f"{path}: the file exists already. Use force (--force) to overwrite it.")
    if not folder.is_dir():
        raise FlexarmError(f"{path}: there is no folder {folder}. Make it first.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise FlexarmError(f"{path}: the folder {folder} is not writable. Choose another folder.")


def require_folder(folder: Path) -> None:
    """Raise an error if a folder cannot be created, or files cannot be written to it.

    Raises
    ------
    FlexarmError
        If a file has the folder's path, or the folder or its nearest parent is not writable.
    """
    _refuse_unreachable(folder)
    nearest = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not nearest.is_dir():
        raise FlexarmError(f"{folder}: the folder cannot be made, since {nearest} is a file")
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise FlexarmError(
            f"{folder}: the folder {nearest} is not writable. Choose another folder."
        )


def _refuse_unreachable(path: Path) -> None:
    """Raise an error for a path that the file system cannot look up, such as a circular link."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise FlexarmError(f"{path}: is a link that leads to itself. Name a file.") from None
        raise FlexarmError(f"{path}: cannot be written: {error.strerror}") from None


def require_apart(path: Path, inputs: Sequence[Path]) -> None:
    """Raise an error if an output file is the same file as one of the inputs."""
    for source in inputs:
        if os.path.exists(path) and os.path.exists(source) and path.samefile(source):
            raise FlexarmError(f"{path}: is the input file. Write to another file.")


def write_whole(path: str | Path, data: bytes, *, force: bool) -> None:
    """Write a file atomically: after a failure or interrupt, the old file is unchanged.

    Parameters
    ----------
    path
        The file.
    data
        Contents of the file.
    force
        Whether an existing file may be overwritten.

    Raises
    ------
    FlexarmError
        If the file exists and `force` is false, or it cannot be written.

    Notes
    -----
    The data are written and flushed to a temporary file in the same folder, which is then renamed.
    """
    require_writable(path, force=force)
    try:
        replace_file(Path(path), data)
    except OSError as error:
        reason = error.strerror or str(error)
        raise FlexarmError(f"{path}: the file cannot be written: {reason}") from None


def replace_file(path: Path, data: bytes) -> None:
    """Replace a file's contents atomically; if this fails, the file is unchanged."""
    with replacing(path) as temporary, temporary.open("xb") as file:
        file.write(data)


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Yield the path of a temporary file, which replaces ``path`` unless an error is raised."""
    target = Path(os.path.realpath(path))  # a symbolic link is kept
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, temporary)
        temporary.replace(target)
        _flush_folder(target.parent)
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def _flush_folder(folder: Path) -> None:
    """Flush a folder to the disk after a file in it was renamed, if the system can do so."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def write_figure(path: str | Path, figure: "Figure", *, force: bool) -> None:
    """Write a figure in the format of the file's suffix: png, svg or pdf."""
    kind = require_path("path", path).suffix[1:].lower() or "png"
    endings = figure.canvas.get_supported_filetypes()
    if kind not in endings:
        raise refused("path", path, f"a file that ends in one of {', '.join(endings)}")
    memory = io.BytesIO()
    figure.savefig(memory, dpi=150, format=kind)
    write_whole(path, memory.getvalue(), force=force)
