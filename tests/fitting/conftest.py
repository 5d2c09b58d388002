"""The pendulum of all fits, in a file, and what perfect sensors measured of it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flexarm
from tests.fitting.pendulum import ARM, OFFSET, TRUTH


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("fitting") / "pendulum.yaml"
    path.write_text(ARM, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def exact(file: Path) -> dict[str, Any]:
    """What perfect sensors would have measured."""
    t = np.linspace(0, 4, 201)
    torque = 3 * np.sin(2 * np.pi * (0.3 * t + 0.15 * t**2))
    table = {"kind": "table", "times": t.tolist(), "values": torque.tolist()}
    arm = flexarm.change_arm(flexarm.load(file), TRUTH)
    run = flexarm.simulate(arm, t_end=4.0, dt=0.02, method="rk4", step=0.004,
                           inputs={"shoulder": table})  # fmt: skip
    return {"time_s": t, "torque_Nm": torque, "angle_deg": np.degrees(run.q[:, 0] + OFFSET)}
