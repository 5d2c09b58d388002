"""Tests of the engine compile at full effort, into a folder of their own."""

from pathlib import Path

import pytest

from flexarm.engine import compile as compiler
from flexarm.engine.cache import VARIABLE


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Use an empty cache, and LLVM's full effort."""
    monkeypatch.setitem(compiler.EFFORT, "fast", compiler.FULL)
    folder = tmp_path / "cache"
    monkeypatch.setenv(VARIABLE, str(folder))
    return folder
