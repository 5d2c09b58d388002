"""Files are written under names that can hold one, and nothing else is replaced."""

import os
import stat
from pathlib import Path

import pytest

from flexarm.errors import FlexarmError
from flexarm.io.whole_file import require_folder, write_whole


def test_a_pipe_is_not_replaced_by_a_file(tmp_path: Path) -> None:
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    for path in (pipe, link):
        with pytest.raises(FlexarmError, match=r"is a device or pipe, not a regular file"):
            write_whole(path, b"data", force=True)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_link_to_itself_is_told(tmp_path: Path) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    for force in (False, True):
        with pytest.raises(FlexarmError, match=r"loop: is a link that leads to itself"):
            write_whole(loop, b"data", force=force)
    assert loop.is_symlink()


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"old")
    (tmp_path / "link").symlink_to("file")
    write_whole(tmp_path / "link", b"new", force=True)
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_bytes() == b"new"


def test_names_that_the_system_cannot_take_are_told(tmp_path: Path) -> None:
    with pytest.raises(FlexarmError, match=r"cannot be written: File name too long"):
        write_whole(tmp_path / ("a" * 5000), b"data", force=False)
    for path in ("a\0b", "\ud800", b"bytes", None):
        with pytest.raises(FlexarmError, match=r"^path: must be the path of a file"):
            write_whole(path, b"data", force=False)  # type: ignore[arg-type]


def test_a_folder_that_could_not_be_made_is_told_before(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    for path in (tmp_path / "file", tmp_path / "file" / "a" / "b"):
        with pytest.raises(
            FlexarmError, match=r"the folder cannot be made, since .*file is a file"
        ):
            require_folder(path)
    require_folder(tmp_path)
    require_folder(tmp_path / "a" / "b")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_folder_in_one_that_is_not_writable_is_told_before(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(FlexarmError, match=r"is not writable. Choose another"):
        require_folder(tmp_path / "a")
    tmp_path.chmod(0o700)
