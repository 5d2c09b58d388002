"""Machine code kept on disk between runs, in a folder that only its user can write to."""

import hashlib
import os
import stat
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from flexarm.errors import FlexarmError

VARIABLE = "FLEXARM_CACHE"
MAGIC = b"flexarm cache 1\n"
SUFFIX = ".entry"
UNFINISHED = ".part"
LARGEST_TOTAL = 2**30  # [bytes]
# Of the largest total, so that not every new entry causes a cleaning.
SHARE_AFTER_CLEANING = 0.75
ABANDONED_AFTER = 3600.0  # [s] since an unfinished file was last written to


def cache_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the folder of the cache: what FLEXARM_CACHE says, or the system's usual place."""
    if environment.get(VARIABLE):
        return Path(environment[VARIABLE])
    if sys.platform == "win32":
        local = environment.get("LOCALAPPDATA")
        return (Path(local) if local else Path.home() / "AppData" / "Local") / "flexarm" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "flexarm"
    given = environment.get("XDG_CACHE_HOME", "")
    # The standard says to ignore a relative one.
    return (Path(given) if os.path.isabs(given) else Path.home() / ".cache") / "flexarm"


def _digest(key: str, data: bytes) -> bytes:
    """Return a checksum of an entry's contents under its own key, so that no other will do."""
    return hashlib.sha256(key.encode() + b"\n" + data).hexdigest().encode()


def _size(file: os.DirEntry[str]) -> int:
    try:
        return file.stat().st_size
    except OSError:  # another process has just deleted it
        return 0


def _refuse_if_others_can_write(folder: Path) -> None:
    """Refuse a folder from which another user could make us run their code."""
    if sys.platform == "win32":
        return  # folders below the user's own profile are private there
    status = folder.stat()
    if status.st_uid != os.geteuid():
        raise FlexarmError(
            f"cache folder '{folder}': must belong to the user who runs flexarm (number "
            f"{os.geteuid()}), got user {status.st_uid}: set {VARIABLE} to another folder"
        )
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise FlexarmError(
            f"cache folder '{folder}': must not be writable for others, got mode "
            f"{stat.S_IMODE(status.st_mode):03o}: run chmod 700 on it, or set {VARIABLE} to "
            f"another folder"
        )


@dataclass(frozen=True)
class Cache:
    """A folder of entries, each a file named by its key and read only if its checksum is right.

    Where the folder cannot be made or written to, there is simply nothing in the cache. Any
    number of processes may use it at once: a file appears under its name when it is complete.
    """

    folder: Path
    largest_total: int = LARGEST_TOTAL

    def get(self, key: str) -> bytes | None:
        """Return the contents of an entry, None if there is no good one."""
        path = self._path(key)
        try:
            _refuse_if_others_can_write(self.folder)
            raw = path.read_bytes()
        except OSError:
            return None
        head = len(MAGIC) + 65
        data = raw[head:]
        if raw[:head] != MAGIC + _digest(key, data) + b"\n":
            with suppress(OSError):
                path.unlink()
            return None
        with suppress(OSError):
            os.utime(path)  # the time of last use, by which old entries are dropped
        return data

    def put(self, key: str, data: bytes) -> None:
        """Keep an entry, and drop those not used for longest if there are too many."""
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            _refuse_if_others_can_write(self.folder)
            handle, name = tempfile.mkstemp(suffix=UNFINISHED, dir=self.folder)
        except OSError:
            return
        try:
            with open(handle, "wb") as file:
                file.write(MAGIC + _digest(key, data) + b"\n" + data)
            os.replace(name, self._path(key))
        except OSError:
            with suppress(OSError):
                os.unlink(name)
        self._clean()

    def entries(self) -> list[os.DirEntry[str]]:
        """List the files of the complete entries."""
        return [file for file in self._files() if file.name.endswith(SUFFIX)]

    def size(self) -> int:
        """Return the size of all complete entries [bytes]."""
        return sum(_size(file) for file in self.entries())

    def clear(self) -> int:
        """Delete every file of the cache and return the number of complete entries deleted.

        Raises
        ------
        FlexarmError
            If some cannot be deleted; the others are.
        """
        deleted, kept = 0, list[str]()
        for file in self._files():
            try:
                os.unlink(file)
                deleted += file.name.endswith(SUFFIX)
            except FileNotFoundError:  # another process has just deleted it
                pass
            except OSError as error:
                kept.append(f"'{file.name}' ({error.strerror})")
        if kept:
            raise FlexarmError(
                f"cache folder '{self.folder}': deleted {deleted} entries, but {len(kept)} cannot "
                f"be deleted, the first {kept[0]}: delete them by hand"
            )
        return deleted

    def check_folder(self) -> None:
        """Refuse a folder that is none, or that cannot be made: nothing can be kept there."""
        there = next(
            (p for p in (self.folder, *self.folder.absolute().parents) if p.exists()), None
        )
        if there is not None and not there.is_dir():
            reason = f"'{there}' is a file"
        elif there != self.folder and (there is None or not os.access(there, os.W_OK)):
            reason = f"it cannot be made in '{there}'"
        else:
            return
        raise FlexarmError(
            f"cache folder '{self.folder}': {reason}, so that nothing can be kept: set {VARIABLE} "
            "to another folder"
        )

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}{SUFFIX}"

    def _files(self) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(self.folder) as listing:
                return [file for file in listing if file.name.endswith((SUFFIX, UNFINISHED))]
        except OSError:
            return []

    def _clean(self) -> None:
        now = time.time()
        total = 0
        by_age: list[tuple[float, int, os.DirEntry[str]]] = []
        for file in self._files():
            with suppress(OSError):
                status = file.stat()
                if file.name.endswith(SUFFIX):
                    total += status.st_size
                    by_age.append((status.st_mtime, status.st_size, file))
                elif now - status.st_mtime > ABANDONED_AFTER:
                    os.unlink(file)
        if total <= self.largest_total:
            return
        for _, size, file in sorted(by_age, key=lambda entry: entry[0]):
            if total <= SHARE_AFTER_CLEANING * self.largest_total:
                break
            with suppress(OSError):
                os.unlink(file)
            total -= size
