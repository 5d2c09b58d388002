"""Tests of the engine keep what they compile in a folder of their own."""

from pathlib import Path

import pytest

from flexarm.engine.cache import VARIABLE


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Use an empty cache."""
    folder = tmp_path / "cache"
    monkeypatch.setenv(VARIABLE, str(folder))
    return folder
