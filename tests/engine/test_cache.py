"""The cache gives back what was put into it, or nothing."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexarm.cli import main
from flexarm.engine import permissions
from flexarm.engine.cache import VARIABLE, Cache, cache_folder
from flexarm.engine.constants import ABANDONED_AFTER
from flexarm.errors import FlexarmError
from tests.patience import HANGS


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    """Make an empty cache."""
    return Cache(tmp_path / "a" / "b")


def only_file(cache: Cache) -> Path:
    """Return the file of the only entry."""
    (file,) = cache.entries()
    return Path(file.path)


def test_what_was_put_in_comes_out(cache: Cache) -> None:
    assert cache.get("key") is None
    cache.put("key", b"machine code")
    assert cache.get("key") == b"machine code"
    assert cache.get("other") is None
    cache.put("key", b"")
    assert cache.get("key") == b""


def test_the_folder_is_made_for_its_user_only(cache: Cache) -> None:
    cache.put("key", b"data")
    assert cache.folder.stat().st_mode & 0o777 == 0o700
    assert only_file(cache).stat().st_mode & 0o077 == 0


@given(place=st.integers(0, 10**6), change=st.integers(1, 255))
def test_any_changed_byte_is_noticed_and_the_entry_deleted(
    tmp_path_factory: pytest.TempPathFactory, place: int, change: int
) -> None:
    cache = Cache(tmp_path_factory.mktemp("cache"))
    cache.put("key", bytes(range(200)))
    file = only_file(cache)
    raw = bytearray(file.read_bytes())
    raw[place % len(raw)] ^= change
    file.write_bytes(raw)
    assert cache.get("key") is None
    assert not file.exists()


@pytest.mark.parametrize("kept", [0, 1, 20, 80, 90])
def test_a_truncated_entry_is_noticed_and_deleted(cache: Cache, kept: int) -> None:
    cache.put("key", bytes(100))
    file = only_file(cache)
    file.write_bytes(file.read_bytes()[:kept])
    assert cache.get("key") is None
    assert not file.exists()


def test_a_good_entry_under_another_name_is_not_taken(cache: Cache) -> None:
    cache.put("one", b"data")
    only_file(cache).rename(cache.folder / "two.entry")
    assert cache.get("two") is None


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o720, 0o702])
def test_a_folder_that_others_can_write_to_is_refused(cache: Cache, mode: int) -> None:
    cache.put("key", b"data")
    cache.folder.chmod(mode)
    message = f"got mode {mode:o}. Run chmod 700 on it. Set"
    with pytest.raises(FlexarmError, match=message):
        cache.get("key")
    with pytest.raises(FlexarmError, match=message):
        cache.put("key", b"")


def test_a_folder_of_another_user_is_refused(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.put("key", b"data")
    monkeypatch.setattr(os, "geteuid", lambda: cache.folder.stat().st_uid + 1)
    with pytest.raises(FlexarmError, match=r"must belong to the user .* Set FLEXARM_CACHE"):
        cache.get("key")


def test_where_no_folder_can_be_made_there_is_nothing_in_the_cache(tmp_path: Path) -> None:
    # A file in the way stops every user; a mode would not stop root.
    (tmp_path / "file").write_text("")
    cache = Cache(tmp_path / "file" / "cache")
    cache.put("key", b"data")
    assert cache.get("key") is None
    assert cache.entries() == []
    assert cache.clear() == 0


def test_where_no_file_can_be_written_the_rest_goes_on(
    cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(source: str, target: Path) -> None:
        raise OSError(28, "No space left on device")

    cache.put("old", b"data")
    monkeypatch.setattr(os, "replace", full)
    cache.put("new", b"data")
    assert cache.get("new") is None
    assert cache.get("old") == b"data"
    assert [path.name for path in cache.folder.iterdir()] == ["old.entry"]


def test_entries_not_used_for_longest_go_first_when_there_is_too_much(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache", largest_total=5000)
    for k in range(4):
        cache.put(f"key{k}", bytes(1000))
        os.utime(cache.folder / f"key{k}.entry", (1000.0 + k, 1000.0 + k))
    assert cache.get("key0") is not None  # which makes it the latest
    cache.put("key4", bytes(1000))
    kept = {file.name for file in cache.entries()}
    assert kept == {"key0.entry", "key3.entry", "key4.entry"}
    assert cache.size() <= 0.75 * 5000


def test_unfinished_files_are_left_alone_until_they_are_old(cache: Cache) -> None:
    cache.folder.mkdir(mode=0o700, parents=True)
    old, new = cache.folder / "old.part", cache.folder / "new.part"
    for file in (old, new):
        file.write_bytes(b"half")
    past = new.stat().st_mtime - ABANDONED_AFTER - 60
    os.utime(old, (past, past))
    cache.put("key", b"data")
    assert not old.exists()
    assert new.exists()


@pytest.mark.parametrize(("largest", "most"), [(10_000_000, 1), (400_000, 10), (100_000, 100)])
def test_all_entries_are_looked_at_seldom_and_never_too_late(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, largest: int, most: int
) -> None:
    looks: list[Cache] = []
    files = Cache._files

    def listed(cache: Cache) -> list[os.DirEntry[str]]:
        looks.append(cache)
        return files(cache)

    monkeypatch.setattr(Cache, "_files", listed)
    cache = Cache(tmp_path / "cache", largest_total=largest)
    for k in range(400):
        cache.put(f"key{k}", bytes(1000))
        assert k % 10 or sum(file.stat().st_size for file in cache.folder.iterdir()) <= largest
    assert 1 <= len(looks) <= most


def test_clearing_deletes_the_files_of_the_cache_and_no_others(cache: Cache) -> None:
    cache.put("one", b"data")
    cache.put("two", b"data")
    (cache.folder / "thesis.tex").write_text("precious")
    (cache.folder / "x.part").write_text("")
    assert cache.clear() == 2
    assert [path.name for path in cache.folder.iterdir()] == ["thesis.tex"]


def test_clearing_tells_of_what_cannot_be_deleted_and_deletes_the_rest(
    cache: Cache, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cache.put("one", b"data")
    (cache.folder / "two.entry").mkdir()
    cache.put("three", b"data")
    monkeypatch.setenv(VARIABLE, str(cache.folder))
    assert main(["cache", "--clear"]) == 1
    said = capsys.readouterr().err
    assert "deleted 2 entries, but 1 cannot be deleted, the first 'two.entry'" in said
    assert [path.name for path in cache.folder.iterdir()] == ["two.entry"]


@pytest.mark.parametrize("mode", [0o600, 0o666])
def test_in_a_file_in_place_of_the_folder_nothing_is_kept(tmp_path: Path, mode: int) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "file").chmod(mode)
    cache = Cache(tmp_path / "file")
    cache.put("key", b"data")
    assert cache.get("key") is None
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize("below", ["", "a/b"])
def test_a_file_in_place_of_the_folder_is_told(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    below: str,
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(VARIABLE, str(tmp_path / "file" / below))
    for arguments in (["cache"], ["cache", "--clear"], ["cache", "--json"]):
        assert main(arguments) == 1
        said = capsys.readouterr()
        assert "is a file, so nothing can be stored. Set FLEXARM_CACHE" in said.err
        assert said.out == ""


posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows has other permissions")
as_root = pytest.mark.skipif(
    sys.platform == "win32" or os.geteuid() != 0, reason="only root can give files away"
)
STRANGER = 12345


@posix
def test_every_folder_that_is_made_is_for_its_user_only(tmp_path: Path) -> None:
    before = os.umask(0o002)
    try:
        Cache(tmp_path / "a" / "b" / "c").put("key", b"data")
    finally:
        os.umask(before)
    assert {(tmp_path / p).stat().st_mode & 0o777 for p in ("a", "a/b", "a/b/c")} == {0o700}


def replaced(cache: Cache) -> bool:
    """Tell whether an entry is not taken, and made again."""
    if cache.get("key") is not None:
        return False
    cache.put("key", b"new")
    return cache.get("key") == b"new"


@posix
@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_an_entry_that_others_can_write_to_is_made_again(cache: Cache, mode: int) -> None:
    cache.put("key", b"data")
    only_file(cache).chmod(mode)
    assert replaced(cache)


@as_root
def test_an_entry_of_another_user_is_made_again(cache: Cache) -> None:
    cache.put("key", b"data")
    os.chown(only_file(cache), STRANGER, STRANGER)
    assert replaced(cache)


@posix
def test_an_entry_that_lies_elsewhere_too_is_made_again(cache: Cache, tmp_path: Path) -> None:
    cache.put("key", b"data")
    os.link(only_file(cache), tmp_path / "other")
    assert replaced(cache)


@posix
def test_an_entry_that_is_a_link_is_made_again(cache: Cache, tmp_path: Path) -> None:
    cache.put("key", b"data")
    file = only_file(cache)
    elsewhere = file.rename(tmp_path / "elsewhere")
    file.symlink_to(elsewhere)
    assert replaced(cache)
    assert elsewhere.read_bytes().endswith(b"data")


@posix
@pytest.mark.parametrize("what", ["pipe", "link"])
def test_an_entry_that_never_ends_is_not_waited_for(cache: Cache, what: str) -> None:
    cache.put("other", b"data")
    file = cache.folder / "key.entry"
    if what == "pipe":
        os.mkfifo(file)
    else:
        file.symlink_to("/dev/zero")
    assert replaced(cache)


def test_entries_that_changed_places_are_made_again(cache: Cache) -> None:
    cache.put("key", b"data")
    cache.put("other", b"date")
    one, other, room = (cache.folder / name for name in ("key.entry", "other.entry", "room"))
    one.rename(room)
    other.rename(one)
    room.rename(other)
    assert cache.get("other") is None
    assert replaced(cache)


@posix
@pytest.mark.parametrize(("mode", "used"), [(0o777, False), (0o757, False), (0o1777, True)])
def test_a_folder_that_others_could_exchange_is_not_used(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    mode: int,
    used: bool,
) -> None:
    cache = Cache(tmp_path / "above" / "inner" / "cache")
    cache.put("key", b"data")
    (tmp_path / "above").chmod(mode)
    assert cache.get("key") == (b"data" if used else None)
    cache.put("key", b"new")
    (tmp_path / "above").chmod(0o755)
    assert cache.get("key") == (b"new" if used else b"data")
    (tmp_path / "above").chmod(mode)
    monkeypatch.setenv(VARIABLE, str(cache.folder))
    assert main(["cache"]) == (0 if used else 1)
    assert ("cannot be used: '" in capsys.readouterr().err) != used
    assert main(["cache", "--clear"]) == 0


@as_root
def test_a_folder_below_that_of_another_user_is_not_used(cache: Cache) -> None:
    cache.put("key", b"data")
    os.chown(cache.folder.parent, STRANGER, STRANGER)
    assert cache.get("key") is None
    os.chown(cache.folder.parent, 0, 0)
    assert cache.get("key") == b"data"


@posix
def test_a_group_of_the_user_alone_may_write_above_the_folder(
    cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.put("key", b"data")
    cache.folder.parent.chmod(0o775)
    for own in (True, False):
        monkeypatch.setattr(permissions, "_is_own_group", lambda group, own=own: own)
        assert cache.get("key") == (b"data" if own else None)


@posix
def test_a_link_to_the_folder_is_followed_if_its_way_is_safe(tmp_path: Path, cache: Cache) -> None:
    cache.put("key", b"data")
    open_to_all = tmp_path / "open"
    open_to_all.mkdir()
    for place in (tmp_path, open_to_all):
        (place / "link").symlink_to(os.path.relpath(cache.folder, place))
        assert Cache(place / "link").get("key") == b"data"
    open_to_all.chmod(0o777)
    assert Cache(open_to_all / "link").get("key") is None
    (tmp_path / "round").symlink_to("round")
    assert Cache(tmp_path / "round").get("key") is None


@as_root
def test_a_link_of_another_user_is_not_followed(tmp_path: Path, cache: Cache) -> None:
    cache.put("key", b"data")
    link = tmp_path / "link"
    link.symlink_to(cache.folder)
    os.chown(link, STRANGER, STRANGER, follow_symlinks=False)
    assert Cache(link).get("key") is None


def test_a_folder_that_is_a_file_holds_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cache = Cache(tmp_path / "file")
    cache.put("key", b"data")
    assert cache.get("key") is None


def test_a_folder_that_cannot_be_written_to_is_read(
    cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    cache.put("key", b"data")
    for module, name in ((tempfile, "mkstemp"), (os, "utime"), (os, "unlink")):
        monkeypatch.setattr(module, name, denied)
    assert cache.get("key") == b"data"
    cache.put("other", b"data")
    assert cache.get("other") is None


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
def test_on_a_full_disk_nothing_is_kept(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(suffix: str, dir: Path) -> tuple[int, str]:
        name = dir / f"x{suffix}"
        name.touch()
        return os.open("/dev/full", os.O_WRONLY), str(name)

    cache.put("old", b"data")
    monkeypatch.setattr(tempfile, "mkstemp", full)
    cache.put("key", b"data")
    assert [path.name for path in cache.folder.iterdir()] == ["old.entry"]
    assert cache.get("old") == b"data"


def test_without_numbers_of_users_plain_files_are_read(
    cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.delattr(os, "geteuid", raising=False)
    cache.put("key", b"data")
    assert cache.get("key") == b"data"
    (cache.folder / "folder.entry").mkdir()
    assert cache.get("folder") is None


WRITER = """
import sys
from pathlib import Path
from flexarm.engine.cache import Cache
cache = Cache(Path(sys.argv[1]), largest_total=40_000)
for round in range(15):
    for key in range(10):
        expected = str(key).encode() * 2000
        found = cache.get(str(key))
        assert found in (None, expected), (key, len(found))
        cache.put(str(key), expected)
"""


def test_processes_that_use_it_at_once_see_whole_entries_only(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(folder)], stderr=subprocess.PIPE)
        for _ in range(3)
    ]
    for writer in writers:
        _, errors = writer.communicate(timeout=HANGS)
        assert (writer.returncode, errors) == (0, b"")
    assert {Path(file.path).suffix for file in Cache(folder).entries()} == {".entry"}
    assert list(folder.glob("*.part")) == []


@pytest.mark.parametrize(
    ("platform", "environment", "expected"),
    [
        ("linux", {"FLEXARM_CACHE": "/somewhere", "XDG_CACHE_HOME": "/x"}, "/somewhere"),
        ("linux", {"XDG_CACHE_HOME": "/x"}, "/x/flexarm"),
        ("linux", {"XDG_CACHE_HOME": "relative"}, "~/.cache/flexarm"),
        ("linux", {"FLEXARM_CACHE": ""}, "~/.cache/flexarm"),
        ("darwin", {"XDG_CACHE_HOME": "/x"}, "~/Library/Caches/flexarm"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/flexarm/Cache"),
        ("win32", {}, "~/AppData/Local/flexarm/Cache"),
    ],
)
def test_the_folder_is_where_the_system_keeps_such_things(
    monkeypatch: pytest.MonkeyPatch, platform: str, environment: dict[str, str], expected: str
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    assert cache_folder(environment) == Path(expected).expanduser()
