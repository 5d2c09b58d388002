"""An arm with functions of time of every kind, and its exports as compiled C."""

import ctypes
import shutil
import subprocess
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from flexarm.arm import Arm
from flexarm.exports.c_source import write_c
from flexarm.exports.plant import Plant
from flexarm.io.model_file import loads
from flexarm.spatial import Array

STRICT = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Wmissing-prototypes", "-Werror"]
# A prescribed swing, a servo with an integral, a step, a wrench in time, limits, a link that bends.
ARM = """
flexarm: 1
name: 'Every "kind" of input?'
links:
  - joint: {kind: revolute, axis: [0, 1, 0], actuation: prescribed,
            motion: {kind: cycloid, start: 0, end: 0.5, duration: 0.35}}
    length: 0.3
    body: {mass: 2, com: [0.15, 0, 0], inertia: [0.001, 0.02, 0.02]}
  - joint: {name: elbow, kind: revolute, axis: [0, 1, 0], limits: {lower: -2, upper: 3},
            servo: {stiffness: 30, damping: 1, integral_time: 0.5}, friction: {viscous: 0.1}}
    length: 0.6
    section: {mass_per_length: 0.5, EIy: 40}
    shapes: {kind: clamped-free, bending_z: 1}
    damping: 1 %
    wrenches: [{force: [0, 0, 1], factor: {kind: sine, amplitude: 2, frequency: 3}}]
  - joint: {name: wrist, kind: revolute, axis: [0, 1, 0],
            input: {kind: step, value: 0.1, time: 0.2}}
    length: 0.2
    body: {mass: 0.3, com: [0.1, 0, 0], inertia: [1.0e-4, 1.0e-3, 1.0e-3]}
"""


def every_kind() -> Arm:
    return loads(ARM)


def compiler() -> str:
    found = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if found is None:
        pytest.skip("there is no C compiler")
    return found


@pytest.fixture(scope="module", autouse=True)
def quickly() -> Iterator[None]:
    """Compile units without optimisation: they are run for a moment."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("flexarm.exports.fmu.OPTIMISED", "-O0")
        yield


def built(plant: Plant, folder: Path) -> Path:
    """Compile the exported C strictly, and give its example program."""
    files = [str(path) for path in write_c(plant, folder) if path.suffix == ".c"]
    program = folder / "example"
    exact = ["-O1", "-ffp-contract=off", "-fPIC", "-c"]
    subprocess.run([compiler(), *STRICT, *exact, *files], check=True, cwd=folder)
    objects = [str(path) for path in folder.glob("*.o")]
    for given in ([str(program)], [str(folder / "arm.so"), "-shared"]):
        subprocess.run([compiler(), "-o", *given, *objects, "-lm"], check=True)
    return program


def table(program: Path, *words: str) -> Array:
    """Run the example, and read the states that it prints."""
    done = subprocess.run([program, *words], capture_output=True, text=True, check=True)
    return np.array([[float(word) for word in line.split(",")] for line in done.stdout.split()])


class Unit:
    """A unit of FMI 2.0 or 3.0, by the functions of its binary."""

    def __init__(self, path: Path, folder: Path, token: str) -> None:
        with zipfile.ZipFile(path) as archive:
            name = next(each for each in archive.namelist() if each.startswith("binaries/"))
            archive.extract(name, folder)
        self.binary = ctypes.CDLL(str(folder / name))
        self.three = hasattr(self.binary, "fmi3GetVersion")
        self.token = token.encode()
        self.at = ctypes.c_void_p()

    def begin(self, tolerance: float) -> None:
        """Instantiate it for co-simulation, and initialise it at time 0."""
        name = b"arm"
        if self.three:
            make = self.binary.fmi3InstantiateCoSimulation
            rest = [None, 0, 0, 0, 0, None, ctypes.c_size_t(0), None, None, None]
            made = [name, self.token, *rest]
        else:
            make = self.binary.fmi2Instantiate
            made = [name, 1, self.token, None, None, 0, 0]
        make.restype = ctypes.c_void_p
        self.at = ctypes.c_void_p(make(*made))
        assert self.at.value is not None
        end = [0, ctypes.c_double(0)]
        start = [1, ctypes.c_double(tolerance), ctypes.c_double(0), *end]
        if self.three:
            assert self.binary.fmi3EnterInitializationMode(self.at, *start) == 0
        else:
            assert self.binary.fmi2SetupExperiment(self.at, *start) == 0
        assert self._call("ExitInitializationMode") == 0

    def _call(self, name: str, *arguments: object) -> int:
        function = getattr(self.binary, f"fmi{3 if self.three else 2}{name}")
        return int(function(self.at, *arguments))

    def get(self, references: Sequence[int]) -> Array:
        """Get variables."""
        wanted, values = np.array(references, dtype=np.uint32), np.zeros(len(references))
        count = ctypes.c_size_t(len(references))
        more = [count] if self.three else []
        name = "GetFloat64" if self.three else "GetReal"
        assert self._call(name, _pointer(wanted), count, _pointer(values), *more) == 0
        return values

    def set(self, references: Sequence[int], values: Array) -> None:
        """Set variables."""
        wanted, given = np.array(references, dtype=np.uint32), np.array(values, dtype=float)
        count = ctypes.c_size_t(len(references))
        more = [count] if self.three else []
        name = "SetFloat64" if self.three else "SetReal"
        assert self._call(name, _pointer(wanted), count, _pointer(given), *more) == 0

    def change(self, unknowns: Sequence[int], known: int) -> Array:
        """Get derivatives by one variable."""
        wanted, by = np.array(unknowns, dtype=np.uint32), np.array([known], dtype=np.uint32)
        values, seed = np.zeros(len(unknowns)), np.ones(1)
        one, count = ctypes.c_size_t(1), ctypes.c_size_t(len(unknowns))
        sizes = ([one], [count]) if self.three else ([], [])
        given = [_pointer(wanted), count, _pointer(by), one, _pointer(seed), *sizes[0]]
        done = self._call("GetDirectionalDerivative", *given, _pointer(values), *sizes[1])
        assert done == 0
        return values

    def step(self, t: float, h: float) -> None:
        """Step in co-simulation."""
        given = [ctypes.c_double(t), ctypes.c_double(h), 1]
        flags, last = np.zeros(8, dtype=np.uint8), np.zeros(1)
        if self.three:
            given += [_pointer(flags[k:]) for k in range(3)] + [_pointer(last)]
        assert self._call("DoStep", *given) == 0
        assert not flags.any()


def _pointer(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)
