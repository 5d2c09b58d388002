"""Whether files and folders are in the hands of the user who runs flexarm alone.

Windows keeps no modes and no numbers of users; there, folders below the user's own profile are
private, and nothing is asked here but that files are files.
"""

import os
import stat
import sys
from pathlib import Path

from flexarm.errors import FlexarmError

OTHERS = stat.S_IWGRP | stat.S_IWOTH
LINKS = 40  # symbolic links on a way; more are taken for a circle
# Without following a link or waiting for the other end of a pipe.
READING = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_BINARY", 0)
)


def check_folder_is_private(folder: Path, remedy: str) -> None:
    """Refuse a folder that is not the user's own or that others can write to.

    Raises
    ------
    FlexarmError
        If it is one of these.
    OSError
        If there is no such folder.
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


def check_way(folder: Path) -> None:
    """Follow the way to a folder, link by link.

    Raises
    ------
    PermissionError
        If another user than root could put something else in the place of a part of it.
    OSError
        If there is no such folder.
    """
    if sys.platform == "win32":
        return
    _check_holder("/", os.lstat("/"))
    # Text, not Path: this is done for every entry.
    place, ahead, links = "", _parts(os.path.join(os.getcwd(), folder)), 0
    while ahead:
        part = ahead.pop()
        if part == "..":
            place = place.rpartition("/")[0]
            continue
        here = f"{place}/{part}"
        status = os.lstat(here)
        _check_holder(here, status)
        if stat.S_ISLNK(status.st_mode):
            links += 1
            if links > LINKS:
                raise OSError(f"'{here}' leads in a circle")
            target = os.readlink(here)
            place = "" if os.path.isabs(target) else place
            ahead += _parts(target)
        elif stat.S_ISDIR(status.st_mode):
            place = here
        else:
            raise NotADirectoryError(f"'{here}' is a file")


def _parts(path: str) -> list[str]:
    """Split a path into its parts, the last part first."""
    return [part for part in reversed(path.split("/")) if part not in ("", ".")]


def _check_holder(name: str, status: os.stat_result) -> None:
    """Check that only root and the user can rename what is in a folder, or move a link."""
    mode = status.st_mode
    if status.st_uid not in (0, os.geteuid()):
        raise PermissionError(f"'{name}' belongs to user {status.st_uid}")
    if stat.S_ISLNK(mode) or mode & stat.S_ISVTX or not mode & OTHERS:
        return
    if mode & stat.S_IWOTH or not _is_own_group(status.st_gid):
        octal = f"{stat.S_IMODE(mode):03o}"
        raise PermissionError(f"'{name}' is writable for others (mode {octal})")


def _is_own_group(group: int) -> bool:
    """Return whether a group is the user's own: same number, no other members."""
    import grp
    import pwd

    try:
        members, name = grp.getgrgid(group).gr_mem, pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return False
    return group == os.geteuid() and set(members) <= {name}


def read_own(path: Path) -> bytes:
    """Read a plain file that nobody but the user can have written.

    What is asked is asked of the opened file, so that nothing can take its place in between.

    Raises
    ------
    OSError
        If it cannot be read, is none, or is not the user's alone.
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
