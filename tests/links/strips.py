"""A uniform clamped strip in closed form, as a file of modal data, for the tests about those."""

import copy
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from ruamel.yaml import YAML

from flexarm.arm.section import Section
from flexarm.arm.shapes import Tabulated
from flexarm.errors import ModelError
from flexarm.links.base import Counts, Ends, Shapes, Span
from flexarm.links.families.tabulated import TabulatedShapes

Array = npt.NDArray[np.float64]

DOC = Path(__file__).parents[2] / "docs" / "modal-data.md"
LENGTH, MASS_PER_LENGTH, BENDING = 1.2, 5.0, 1000.0
CLAMPED_FREE = (1.87510406871196, 4.69409113297418, 7.85475743823761)
FREE_FREE = (4.73004074486270, 7.85320462409584, 10.9956078380017)
ENDS = Ends(root_inertia=(math.inf,) * 3, tip_mass=0.0, tip_inertia=(0.0,) * 3)
COUNTS = Counts(y=0, z=0, twist=0, x=0)
SPAN = Span.of(
    Section(mass_per_length=MASS_PER_LENGTH, EIy=BENDING, EIz=BENDING, GJ=50.0, EA=1e6, Jx=0.01),
    LENGTH,
)


class ClampedFree:
    """Bending shape of a clamped-free beam, 1 at its tip: cosh - cos - s (sinh - sin)."""

    def __init__(self, lam: float, length: float = LENGTH) -> None:
        self.k = lam / length
        self.s = (math.cosh(lam) + math.cos(lam)) / (math.sinh(lam) + math.sin(lam))
        self.tip = 1.0
        self.tip = float(self(np.array([length]))[0])

    def __call__(self, x: Array, nu: int = 0) -> Array:
        z = self.k * x
        ch, sh, co, si = np.cosh(z), np.sinh(z), np.cos(z), np.sin(z)
        values = (
            ch - co - self.s * (sh - si),
            sh + si - self.s * (ch - co),
            ch + co - self.s * (sh + si),
            sh - si - self.s * (ch + co),
        )
        return np.asarray(self.k**nu * values[nu] / self.tip)


class FreeFree:
    """Bending shape of a free-free beam: cosh + cos - s (sinh + sin)."""

    def __init__(self, lam: float, length: float = LENGTH) -> None:
        self.k = lam / length
        self.s = (math.cosh(lam) - math.cos(lam)) / (math.sinh(lam) - math.sin(lam))

    def __call__(self, x: Array, nu: int = 0) -> Array:
        z = self.k * x
        ch, sh, co, si = np.cosh(z), np.sinh(z), np.cos(z), np.sin(z)
        values = (ch + co - self.s * (sh + si), sh - si - self.s * (ch + co))
        return np.asarray(self.k**nu * values[nu])


def hertz(lam: float) -> float:
    """Frequency of a bending mode of the strip [Hz]."""
    return lam**2 * math.sqrt(BENDING / (MASS_PER_LENGTH * LENGTH**4)) / (2 * math.pi)


def strip(stations: int = 9) -> dict[str, Any]:
    """Content of a file: first mode along y, first two along z, all of modal mass m/4."""
    x = np.linspace(0.0, LENGTH, stations)
    zero = 0 * x
    modes = []
    for name, lam in (("y1", CLAMPED_FREE[0]), ("z1", CLAMPED_FREE[0]), ("z2", CLAMPED_FREE[1])):
        shape = ClampedFree(lam)
        moved, turned = shape(x), shape(x, 1)
        along_y = name[0] == "y"
        rows = (zero, moved, zero) if along_y else (zero, zero, moved)
        angles = (zero, zero, turned) if along_y else (zero, -turned, zero)
        modes.append(
            {
                "name": name,
                "displacement": np.stack(rows, axis=1).tolist(),
                "rotation": np.stack(angles, axis=1).tolist(),
            }
        )
    return {
        "modal_data": 1,
        "name": "strip",
        "units": {"length": "m", "mass": "kg", "time": "s"},
        "stations": x.tolist(),
        "mass_per_length": MASS_PER_LENGTH,
        "modes": modes,
        "M": [MASS_PER_LENGTH * LENGTH / 4] * 3,
        "frequencies": [hertz(lam) for lam in (*CLAMPED_FREE[:1], *CLAMPED_FREE[:2])],
    }


def changed(content: dict[str, Any], **keys: Any) -> dict[str, Any]:
    """Copy the content of a file with some keys changed, or left out where None."""
    result = copy.deepcopy(content) | keys
    return {key: value for key, value in result.items() if value is not None}


def turned(content: dict[str, Any], turn: Array, origin: Array) -> dict[str, Any]:
    """Express all vectors of a file in other axes, in which the old origin is at `origin`."""
    stations = np.array([[x, 0.0, 0.0] for x in content["stations"]])
    modes = [
        {
            "name": mode["name"],
            "displacement": (np.array(mode["displacement"]) @ turn.T).tolist(),
            "rotation": (np.array(mode["rotation"]) @ turn.T).tolist(),
        }
        for mode in content["modes"]
    ]
    return changed(content, stations=(stations @ turn.T + origin).tolist(), modes=modes)


def write(folder: Path, content: dict[str, Any]) -> Path:
    """Write a file of modal data, one key per line."""
    path = folder / "strip.yaml"
    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = None
    yaml.sort_base_mapping_type_on_output = False  # type: ignore[assignment]
    with path.open("w", encoding="utf-8") as file:
        yaml.dump(content, file)
    return path


EXAMPLE = Path(__file__).with_name("strip.yaml")  # in axes of its own


def blocks(language: str) -> list[str]:
    """Code blocks of the page about the format."""
    return re.findall(rf"```{language}\n(.*?)```", DOC.read_text(encoding="utf-8"), re.DOTALL)


def read(path: Path, span: Span = SPAN) -> Shapes:
    """Read the shapes of a span from a file of modal data."""
    return TabulatedShapes().shapes(Tabulated(kind="table", file=str(path)), span, ENDS, COUNTS)


def refusal(path: Path, span: Span = SPAN) -> str:
    """Return why a file of modal data is refused."""
    with pytest.raises(ModelError) as caught:
        read(path, span)
    return str(caught.value)
