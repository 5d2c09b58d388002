"""FMPy on machines that it has no binaries for: where it looks for ours, and a solver of ours.

All else of a run in FMPy is its own: initialisation, events, discrete states, samples.
"""

import ctypes
import sys
import types
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from scipy.integrate import DOP853


def unpacked(path: Path, folder: Path) -> Path:
    """Unpack a unit, its binary also where FMPy looks for one on Linux."""
    with zipfile.ZipFile(path) as archive:
        archive.extractall(folder)
    for binary in list(folder.glob("binaries/*-linux/*.so")):
        for place in ("linux64", "x86_64-linux", "aarch64-linux"):
            (folder / "binaries" / place).mkdir(exist_ok=True)
            (folder / "binaries" / place / binary.name).write_bytes(binary.read_bytes())
    return folder


class Solver:
    """Model exchange by scipy's DOP853, which ends where an event indicator changes its sign."""

    def __init__(self, nx: int, nz: int, **given: Any) -> None:
        self.given, self.x, self.dx, self.z = given, np.zeros(nx), np.zeros(nx), np.zeros(nz)

    def _read(self, name: str, into: np.ndarray) -> np.ndarray:
        if into.size:
            pointer = into.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
            self.given[name](pointer, into.size)
        return into.copy()

    def _put(self, t: float, x: np.ndarray) -> None:
        self.given["set_time"](t)
        self.x[:] = x
        self.given["set_x"](self.x.ctypes.data_as(ctypes.POINTER(ctypes.c_double)), x.size)

    def _rate(self, t: float, x: np.ndarray) -> np.ndarray:
        self._put(t, x)
        return self._read("get_dx", self.dx)

    def _indicators(self, t: float, x: np.ndarray) -> np.ndarray:
        self._put(t, x)
        return self._read("get_z", self.z)

    def step(self, t: float, end: float) -> tuple[bool, np.ndarray, float]:
        """Step to a time, or to the first event."""
        tolerance = self.given["relativeTolerance"]
        method = DOP853(self._rate, t, self._read("get_x", self.x), end, rtol=tolerance,
                        atol=1e-3 * tolerance)  # fmt: skip
        sides = self._indicators(t, method.y) > 0
        while method.status == "running":
            method.step()
            within, late = method.dense_output(), method.t
            if (self._indicators(late, method.y) > 0).tolist() == sides.tolist():
                continue
            early = method.t_old
            for _ in range(60):
                middle = 0.5 * (early + late)
                same = ((self._indicators(middle, within(middle)) > 0) == sides).all()
                early, late = (middle, late) if same else (early, middle)
            turned = (self._indicators(late, within(late)) > 0) != sides
            return True, turned.astype(np.int32), late
        self._put(method.t, method.y)
        return False, np.zeros(self.z.size, dtype=np.int32), end

    def reset(self, t: float) -> None:
        """Nothing is kept from one step to the next."""


def use_our_solver() -> None:
    """Let FMPy take `Solver` in place of CVode."""
    module = types.ModuleType("fmpy.sundials")
    module.CVodeSolver = Solver  # type: ignore[attr-defined]
    sys.modules["fmpy.sundials"] = module
