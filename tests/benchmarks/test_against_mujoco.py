"""Servos, friction and contact of a rigid arm are those of MuJoCo, but for its steps' error."""

from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


def test_what_differs_from_mujoco_falls_with_its_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """RK4's error of 1e-5 at 1 ms falls by 16 at half of it, or less where the tip lands."""
    pytest.importorskip("mujoco")
    monkeypatch.syspath_prepend(str(FOLDER))
    peer = import_module("against_mujoco")
    angles, pressed = peer.ours(1e-10)
    assert pressed.max() > 100  # it lands, and leans on the floor
    coarse, fine = (np.abs(peer.theirs(step)[0] - angles).max() for step in peer.STEPS)
    assert fine < 3e-6
    assert coarse > 8 * fine
    force = peer.theirs(peer.STEPS[1])[1]
    assert np.abs(force - pressed).max() < 1e-5 * pressed.max()
