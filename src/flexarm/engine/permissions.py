"""Checks that only the user who runs flexarm can write to certain files and folders.

Windows has no file modes and user numbers. On Windows, folders below the user's profile count as
private, and only the type of a file is checked.
"""

import os
import stat
import sys
from pathlib import Path

from flexarm.engine.constants import MOST_SYMBOLIC_LINKS
from flexarm.errors import FlexarmError

OTHERS = stat.S_IWGRP | stat.S_IWOTH
# Flags that prevent following a link and waiting for the other end of a pipe.
READING = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_BINARY", 0)
)


def check_is_private(folder: Path, remedy: str) -> None:
    """Check that no other user can write to a folder or replace a part of the path to it.

    Raises
    ------
    FlexarmError
        If the folder belongs to another user, or another user can write to it.
    PermissionError
        If a user other than root could replace a part of the path.
    OSError
        If the folder does not exist.
    """
    if sys.platform == "win32":
        return
    status, me = folder.stat(), os.geteuid()
    if not stat.S_ISDIR(status.st_mode):
        raise NotADirectoryError(f"'{folder}' is a file")
    if status.st_uid != me:
        raise FlexarmError(
            f"cache folder '{folder}': must belong to the user who runs flexarm (number {me}), "
            f"got user {status.st_uid}. {remedy}"
        )
    if status.st_mode & OTHERS:
        raise FlexarmError(
            f"cache folder '{folder}': must not be writable for others, got mode "
            f"{stat.S_IMODE(status.st_mode):03o}. Run chmod 700 on it. {remedy}"
        )
    _check_way(folder)


def _check_way(folder: Path) -> None:
    """Check that no other user can change part of the path to a folder, or a link in it."""
    _check_holder("/", os.lstat("/"))
    # str instead of Path for speed: this runs for every entry.
    resolved, remaining, links = "", _parts(os.path.join(os.getcwd(), folder)), 0
    while remaining:
        part = remaining.pop()
        if part == "..":
            resolved = resolved.rpartition("/")[0]
            continue
        path = f"{resolved}/{part}"
        status = os.lstat(path)
        _check_holder(path, status)
        if stat.S_ISLNK(status.st_mode):
            links += 1
            if links > MOST_SYMBOLIC_LINKS:
                raise OSError(f"'{path}' leads in a circle")
            target = os.readlink(path)
            resolved = "" if os.path.isabs(target) else resolved
            remaining += _parts(target)
        elif stat.S_ISDIR(status.st_mode):
            resolved = path
        else:
            raise NotADirectoryError(f"'{path}' is a file")


def _parts(path: str) -> list[str]:
    """Return the parts of a path, the last part first."""
    return [part for part in reversed(path.split("/")) if part not in ("", ".")]


def _check_holder(name: str, status: os.stat_result) -> None:
    """Raise an error if a user other than root could rename files in a folder."""
    mode = status.st_mode
    if status.st_uid not in (0, os.geteuid()):
        raise PermissionError(f"'{name}' belongs to user {status.st_uid}")
    if stat.S_ISLNK(mode) or mode & stat.S_ISVTX or not mode & OTHERS:
        return
    if mode & stat.S_IWOTH or not _is_own_group(status.st_gid):
        octal = f"{stat.S_IMODE(mode):03o}"
        raise PermissionError(f"'{name}' is writable for others (mode {octal})")


def _is_own_group(group: int) -> bool:
    """Return whether a user group is private: it has the user's number and no other members."""
    import grp
    import pwd

    try:
        members, name = grp.getgrgid(group).gr_mem, pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return False
    return group == os.geteuid() and set(members) <= {name}


def read_own(path: Path) -> bytes:
    """Return the contents of a regular file that no other user can have written.

    Owner and permissions are checked on the opened file, so that it cannot be replaced after the
    check.

    Raises
    ------
    OSError
        If the file cannot be read, is not a regular file, or could have been written by another
        user.
    """
    handle = os.open(path, READING)
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise PermissionError(f"'{path}' is no plain file")
        if sys.platform != "win32" and (
            status.st_uid != os.geteuid() or status.st_mode & OTHERS or status.st_nlink != 1
        ):
            raise PermissionError(f"'{path}' may have been written by another user")
        with open(handle, "rb", closefd=False) as file:
            return file.read()
    finally:
        os.close(handle)
