"""Films of runs: what is in their pictures, and what is said where one cannot be made."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

from flexarm.errors import FlexarmError
from flexarm.spatial import Array
from flexarm.viewer import movie
from flexarm.viewer.movie import Film, save_movie, save_picture
from tests.viewer.test_outlook import catcher, swing


def pictures(path: Path) -> list[Array]:
    """Read all pictures of a gif: red, green, blue of 0 to 255."""
    with Image.open(path) as film:
        found = []
        for k in range(getattr(film, "n_frames", 1)):
            film.seek(k)
            found.append(np.asarray(film.convert("RGB"), float))
    return found


def test_a_gif_moves_and_has_the_tip_where_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(movie, "PICTURE_RATE", 1)  # 9 pictures of 8 s
    path = tmp_path / "run.gif"
    save_movie([catcher(), swing(0.01)], path, ["caught", "bent"])
    made = pictures(path)
    assert len(made) == 9
    assert np.abs(made[0] - made[4]).max() > 100
    film = Film.of([catcher(), swing(0.01)], ["caught", "bent"])
    (low, high), (tall, wide) = film.room, made[0].shape[:2]
    for i in (0, 8):
        for line, colour in zip(film.lines, ((0, 114, 178), (213, 94, 0)), strict=True):
            x, y = (line[i, -1] - low) / (high - low) * [wide, tall]
            near = made[i][round(tall - y) - 3 : round(tall - y) + 4, round(x) - 3 : round(x) + 4]
            assert np.abs(near - colour).max(axis=2).min() < 40


def test_a_picture_is_that_of_the_film_without_its_speed(tmp_path: Path) -> None:
    run = swing(0.01)
    film = Film.of([run], [""])
    i = len(film.times) // 3
    save_picture([run], tmp_path / "run.png", at=f"{film.times[i]} s")
    (made,) = pictures(tmp_path / "run.png")
    (low, high), (tall, wide) = film.room, made.shape[:2]
    x, y = (film.lines[0][i, -1] - low) / (high - low) * [wide, tall]
    near = made[round(tall - y) - 3 : round(tall - y) + 4, round(x) - 3 : round(x) + 4]
    assert np.abs(near - (0, 114, 178)).max(axis=2).min() < 40
    with pytest.raises(FlexarmError, match="path: must be a file that ends in one of"):
        save_picture([run], tmp_path / "run.gif3")


def test_a_picture_shows_the_sample_nearest_to_its_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = swing(0.01)
    seen: list[tuple[float, Array]] = []

    def stage(film: Film) -> Any:
        return Figure(), lambda i: seen.append((float(film.times[i]), film.runs[0].q[i]))

    monkeypatch.setattr(movie, "PICTURE_RATE", 1)  # pictures of a film a second apart
    monkeypatch.setattr(movie, "_stage", stage)
    k = len(run.t) // 3
    for at in (run.t[k], run.t[k] + 1e-6, None):
        save_picture([run], tmp_path / "run.png", at=at, force=True)
    for (t, q), i in zip(seen, (k, k, -1), strict=True):
        assert t == pytest.approx(run.t[i], abs=1e-12)
        assert q == pytest.approx(run.q[i], abs=1e-12)
    for wrong in (run.t[-1] + 0.01, -0.01):
        with pytest.raises(FlexarmError, match="at: must be between 0 and"):
            save_picture([run], tmp_path / "late.png", at=wrong)
    assert not (tmp_path / "late.png").exists()


def test_a_body_that_is_held_goes_with_the_tip_as_it_is_drawn() -> None:
    film = Film.of([catcher()], ["caught"])
    held = (film.times > 0.55) & (film.times < 0.75)
    away = film.bodies[0][0][held] - film.lines[0][held, -1]
    sizes = np.linalg.norm(away, axis=1)
    assert sizes == pytest.approx(np.full(len(sizes), sizes[0]), rel=0.02)  # the camera is tilted
    assert film.seen.scale == 1


@pytest.mark.parametrize("kind", ["webm", "mp4"])
def test_a_film_that_needs_ffmpeg_says_so_without_it(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(FlexarmError, match=r"needs the program ffmpeg.* ends in \.gif"):
        save_movie([swing(0.1)], tmp_path / f"run.{kind}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="there is no ffmpeg")
def test_ffmpeg_writes_mp4(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(movie, "PICTURE_RATE", 1)
    swing(0.1).to_movie(tmp_path / "run.mp4")
    assert b"ftyp" in (tmp_path / "run.mp4").read_bytes()[:16]
