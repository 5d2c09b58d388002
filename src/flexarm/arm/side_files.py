"""Side files named in a model file: regular files of limited size in permitted folders."""

import os
import posixpath
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Self

from pydantic import (
    BaseModel,
    Field,
    ModelWrapValidatorHandler,
    PrivateAttr,
    ValidationInfo,
    model_validator,
)

from flexarm.arm.constants import MOST_FILE_BYTES, MOST_TOTAL_BYTES
from flexarm.arm.part import Number, Part, Positive, fault
from flexarm.errors import ModelError


@dataclass(frozen=True)
class SideFiles:
    """Source of the side files that a model file names: a folder on disk, or stored contents."""

    folder: Path = Path()  # folder to which names are relative
    # Folders that must contain a file, directly or in a subfolder; None permits any folder.
    allowed: tuple[Path, ...] | None = None
    # Contents stored with the model, by file name, so that no file is opened; None reads files.
    kept: Mapping[str, bytes] | None = None
    _read: dict[Path, bytes] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def beside(cls, folder: Path, other_folders: tuple[Path, ...] = ()) -> Self:
        """Return a source that permits files below a model file's folder and other folders."""
        return cls(folder, (folder, *other_folders))

    def read(self, name: str) -> "SideFile":
        """Return the side file of a given name, with its contents.

        A ModelError is raised if the file does not exist or is not permitted; the message does not
        quote the file.
        """
        if self.kept is not None:
            return SideFile(name, self._stored(self.kept, name), self)
        path = Path(os.path.realpath(self.folder / name))
        is_allowed = (
            path.is_relative_to(os.path.realpath(folder)) for folder in self.allowed or ()
        )
        if self.allowed is not None and not any(is_allowed):
            raise ModelError(
                f"{name} is not in the folder of this file ({self.folder}) or below it. Move it "
                "there, or allow its folder: on the command line by --allow-files DIR, in "
                "Python by load(..., files=[DIR])."
            )
        try:
            return SideFile(name, self._cached(path), self)
        except FileNotFoundError:
            raise ModelError(f"there is no file {name} in {self.folder}") from None
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise ModelError(f"{name} cannot be read: {reason}") from None

    def put(self, name: str, content: bytes) -> None:
        """Store the contents of a file that is not on disk yet, so that `read` returns them."""
        self._read[Path(os.path.realpath(self.folder / name))] = content

    def _cached(self, path: Path) -> bytes:
        if path not in self._read:
            content = read_regular(path)
            if len(content) + sum(map(len, self._read.values())) > MOST_TOTAL_BYTES:
                raise ValueError(
                    f"the files that a model names are more than {MOST_TOTAL_BYTES:,} bytes "
                    "together"
                )
            self._read[path] = content
        return self._read[path]

    def _stored(self, contents: Mapping[str, bytes], name: str) -> bytes:
        if name not in contents:
            raise ModelError(f"there is no file {name} among those stored for {self.folder}")
        return contents[name]


@dataclass(frozen=True)
class SideFile:
    """Side file of a model, with its contents at the time when it was read."""

    name: str  # name in the model file
    content: bytes
    files: SideFiles = field(compare=False)  # source that it was read from

    @property
    def path(self) -> Path:
        """Path of the side file."""
        return self.files.folder / self.name

    def read_beside(self, name: str) -> "SideFile":
        """Return another side file, which this file names, from a permitted folder."""
        relative_name = posixpath.join(posixpath.dirname(self.name), name)
        if self.files.kept is not None:
            return self.files.read(relative_name)
        folder = Path(os.path.realpath(self.path)).parent
        allowed = (folder, *(self.files.allowed or ()))
        beside = SideFiles(folder, allowed, _read=self.files._read)
        return SideFile(relative_name, beside.read(name).content, self.files)


def read_regular(path: Path) -> bytes:
    """Return the bytes of a regular file of limited size; raises the errors of `open_regular`."""
    with open_regular(path) as file:
        too_large = os.fstat(file.fileno()).st_size > MOST_FILE_BYTES
        content = b"" if too_large else file.read(MOST_FILE_BYTES + 1)
    if too_large or len(content) > MOST_FILE_BYTES:
        raise ValueError(f"the file is larger than {MOST_FILE_BYTES:,} bytes")
    return content


def read_at_most(path: Path, most: int) -> bytes:
    """Return the first bytes of a regular file, at most one more than ``most``.

    A ModelError is raised if there is no such file, or if it cannot be read.
    """
    try:
        with open_regular(path) as file:
            return file.read(most + 1)
    except FileNotFoundError:
        raise ModelError(f"{path}: there is no such file") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ModelError(f"{path}: the file cannot be read: {reason}") from None


def open_regular(path: Path) -> BinaryIO:
    """Open a regular file for reading, without blocking on a pipe or device.

    An OSError is raised if the file cannot be read.

    A ValueError is raised if the path is a device, a pipe or a folder.
    """
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    handle = os.open(path, flags)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise ValueError("the path is a folder, pipe or device, not a regular file")
    return os.fdopen(handle, "rb")


class BesideModel(Part):
    """Part of an arm stored in a separate file, named relative to the model file's folder."""

    file: Annotated[str, Field(min_length=1, max_length=1000)]
    _side_file: SideFile = PrivateAttr()

    @property
    def side_file(self) -> SideFile:
        """Side file with its contents at the time when the arm was created."""
        return self._side_file

    @model_validator(mode="wrap")
    @classmethod
    def _read(
        cls, value: Any, handler: ModelWrapValidatorHandler[Self], info: ValidationInfo
    ) -> Self:
        part = handler(value)
        context = info.context if isinstance(info.context, dict) else {}
        previous_file = value.side_file if isinstance(value, BesideModel) else None
        if previous_file is not None and previous_file.name == part.file and "files" not in context:
            part._side_file = previous_file  # validated a second time: the file is not read again
            return part
        files = context.get("files", SideFiles() if previous_file is None else previous_file.files)
        try:
            part._side_file = files.read(part.file)
        except ModelError as error:
            raise fault("{reason}", "file", reason=str(error)) from None
        return part


class Mesh(BesideModel):
    """A triangle mesh (STL, OBJ or DAE) that is displayed for a link or a base.

    The coordinates of the mesh are in the root frame; multiplied by ``scale`` they are in metres.
    """

    scale: Positive[Number] = 1.0


def parts_beside(part: Any) -> Iterator[BesideModel]:
    """Yield the parts of an arm that are stored in side files."""
    if isinstance(part, BesideModel):
        yield part
    if isinstance(part, BaseModel):
        part = [getattr(part, name) for name in type(part).model_fields]
    if isinstance(part, dict):
        part = list(part.values())
    if isinstance(part, list | tuple):
        for entry in part:
            yield from parts_beside(entry)


def files_of(part: Any) -> SideFiles:
    """Return the source of an arm's side files, without restriction to permitted folders."""
    for part_in_file in parts_beside(part):
        return replace(part_in_file.side_file.files, allowed=None)
    return SideFiles()
