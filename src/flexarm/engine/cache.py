"""Cache of machine code on disk, in a folder that only its user can write to."""

import hashlib
import os
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from flexarm.engine.constants import ABANDONED_AFTER, CACHE_SIZE, CLEANED_SHARE
from flexarm.engine.permissions import check_is_private, read_own
from flexarm.errors import FlexarmError

VARIABLE = "FLEXARM_CACHE"
REMEDY = f"Set {VARIABLE} to another folder."
MAGIC = b"flexarm cache 1\n"
SUFFIX = ".entry"
UNFINISHED = ".part"


def cache_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the folder of the cache: FLEXARM_CACHE, or the standard folder for caches.

    If the environment variable FLEXARM_CACHE is the null device, `os.devnull`, there is no cache.
    """
    if environment.get(VARIABLE):
        return Path(environment[VARIABLE])
    if sys.platform == "win32":
        local = environment.get("LOCALAPPDATA")
        return (Path(local) if local else Path.home() / "AppData" / "Local") / "flexarm" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "flexarm"
    xdg_folder = environment.get("XDG_CACHE_HOME", "")
    # The XDG standard requires that relative paths are ignored.
    return (Path(xdg_folder) if os.path.isabs(xdg_folder) else Path.home() / ".cache") / "flexarm"


def _checksum(key: str, data: bytes) -> bytes:
    """Return a checksum of a cache entry's key and contents."""
    return hashlib.sha256(key.encode() + b"\n" + data).hexdigest().encode()


def _size(file: os.DirEntry[str]) -> int:
    try:
        return file.stat(follow_symlinks=False).st_size
    except OSError:  # another process has just deleted the file
        return 0


@dataclass(frozen=True)
class Cache:
    """A folder with one file per cache entry; entries with a wrong checksum are ignored.

    If the folder cannot be created or written to, or if another user could have changed it, it is
    not used and the cache is empty. Several processes may use the cache at once, since a file gets
    its final name only when it is complete.
    """

    folder: Path
    largest_total: int = CACHE_SIZE

    @property
    def off(self) -> bool:
        """Whether the user has turned the cache off."""
        return str(self.folder) == os.devnull

    def get(self, key: str) -> bytes | None:
        """Return the contents of the cache entry of a key; None if there is no valid entry."""
        path = self.folder / f"{key}{SUFFIX}"
        try:
            check_is_private(self.folder, REMEDY)
            content = read_own(path)
        except OSError:
            return None
        header_length = len(MAGIC) + 65
        data = content[header_length:]
        if content[:header_length] != MAGIC + _checksum(key, data) + b"\n":
            with suppress(OSError):
                path.unlink()
            return None
        with suppress(OSError):
            os.utime(path)  # time of last use, by which old entries are deleted
        return data

    def put(self, key: str, data: bytes) -> None:
        """Store a cache entry; delete the entries unused for longest if the cache is too large."""
        try:
            self._make_folder()
            check_is_private(self.folder, REMEDY)
            handle, name = tempfile.mkstemp(suffix=UNFINISHED, dir=self.folder)
        except OSError:
            return
        raw = MAGIC + _checksum(key, data) + b"\n" + data
        try:
            with open(handle, "wb") as file:
                file.write(raw)
            os.replace(name, self.folder / f"{key}{SUFFIX}")
        except OSError:
            with suppress(OSError):
                os.unlink(name)
        self._clean_if_due(len(raw))

    def entries(self) -> list[os.DirEntry[str]]:
        """Return the files of all complete cache entries."""
        return [file for file in self._files() if file.name.endswith(SUFFIX)]

    def size(self) -> int:
        """Return the total size of all complete cache entries [bytes]."""
        return sum(_size(file) for file in self.entries())

    def clear(self) -> int:
        """Delete every file of the cache; return the number of complete entries deleted.

        Raises
        ------
        FlexarmError
            If some files of the cache cannot be deleted. All others are then deleted nevertheless.
        """
        deleted, not_deleted = 0, list[str]()
        for file in self._files():
            try:
                os.unlink(file)
                deleted += file.name.endswith(SUFFIX)
            except FileNotFoundError:  # another process has just deleted the file
                pass
            except OSError as error:
                not_deleted.append(f"'{file.name}' ({error.strerror})")
        if not_deleted:
            raise FlexarmError(
                f"cache folder '{self.folder}': deleted {deleted} entries, but "
                f"{len(not_deleted)} cannot be deleted, the first {not_deleted[0]}. Delete them by "
                "hand."
            )
        return deleted

    def check_folder(self) -> None:
        """Raise an error if the cache folder cannot be created or is a file."""
        if self.off:
            return
        existing = next(
            (p for p in (self.folder, *self.folder.absolute().parents) if p.exists()), None
        )
        if existing is not None and not existing.is_dir():
            reason = f"'{existing}' is a file"
        elif existing != self.folder and (existing is None or not os.access(existing, os.W_OK)):
            reason = f"it cannot be made in '{existing}'"
        else:
            return
        raise FlexarmError(
            f"cache folder '{self.folder}': {reason}, so nothing can be stored. {REMEDY}"
        )

    def check_private(self) -> None:
        """Raise an error if the cache folder is ignored because other users can write to it."""
        try:
            check_is_private(self.folder, REMEDY)
        except PermissionError as error:
            raise FlexarmError(
                f"cache folder '{self.folder}': cannot be used: {error}. {REMEDY}"
            ) from None
        except OSError:
            return

    def _make_folder(self) -> None:
        """Create the cache folder and its parents, with access for the user only."""
        if not self.folder.is_dir():
            for folder in (*reversed(self.folder.parents), self.folder):
                folder.mkdir(mode=0o700, exist_ok=True)

    def _files(self) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(self.folder) as listing:
                return [file for file in listing if file.name.endswith((SUFFIX, UNFINISHED))]
        except OSError:
            return []

    def _clean_if_due(self, added: int) -> None:
        """Clean the cache after this process has filled half of the space free before."""
        free_bytes = _ROOM.get(self, 0) - added
        _ROOM[self] = free_bytes if free_bytes > 0 else (self.largest_total - self._clean()) // 2

    def _clean(self) -> int:
        """Delete excess and abandoned files of the cache; return the size of the rest [bytes]."""
        now = time.time()
        total = 0
        by_age: list[tuple[float, int, os.DirEntry[str]]] = []
        for file in self._files():
            with suppress(OSError):
                status = file.stat(follow_symlinks=False)
                if file.name.endswith(SUFFIX):
                    total += status.st_size
                    by_age.append((status.st_mtime, status.st_size, file))
                elif now - status.st_mtime > ABANDONED_AFTER:
                    os.unlink(file)
        if total <= self.largest_total:
            return total
        for _, size, file in sorted(by_age, key=lambda entry: entry[0]):
            if total <= CLEANED_SHARE * self.largest_total:
                break
            with suppress(OSError):
                os.unlink(file)
            total -= size
        return total


# Bytes that this process may store in a cache before the next check of the total size.
_ROOM: dict[Cache, int] = {}
