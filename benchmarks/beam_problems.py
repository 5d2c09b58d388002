"""Motions of flexible links that two codes compute: arms, the measure of errors, flexarm's runs.

Both links fall, or a hub drives one link that carries a payload. An error is the largest difference
of a link's tip deflection, in the frame of the tangent at its root, from that of a reference, at
the sampled times, over the deflection's range in the reference; of two links the worse one counts.
"""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

import flexarm
from flexarm.arm import Arm
from flexarm.io.model_file import loads
from flexarm.mechanics.deformed import tip_deflection
from flexarm.runs.run import Run

Array = npt.NDArray[np.float64]
# Stretch matters little, but a cable element needs it: that of steel, by mass per length.
STRETCH = 2e11 / 7850
COORDINATES = (1, 2, 3, 4, 5, 6)
TOLERANCES = (5e-2, 2e-2, 1e-2, 5e-3, 2e-3, 1e-3, 1e-4)
# What the model file of a basis says for so many coordinates per link, if it can have so many.
BASES: dict[str, Callable[[int], str | None]] = {
    "arm-modes": lambda m: f"kind: arm-modes, bending_y: {m}, stretch: 0",
    "loaded": lambda m: f"kind: loaded, root: free, bending_y: {m}, stretch: 0",
    "loaded + stretch": lambda m: (
        f"kind: loaded, root: free, bending_y: {m - 1}, stretch: 1" if m > 1 else None
    ),
    "clamped-free": lambda m: f"kind: clamped-free, bending_y: {m}, stretch: 0",
    "craig-bampton": lambda m: (
        f"kind: craig-bampton, bending_y: {m - 2}, stretch: 0" if m > 2 else None
    ),
    "elements": lambda m: (
        f"kind: elements, bending_y: {m // 2}, stretch: 0" if m % 2 == 0 else None
    ),
}


def tip_deflections(run: Run) -> Array:
    """Return the tip deflection of every link in its root's frame [m], (links, T)."""
    parts = [part for part in run.model.links if part.body.one_length]
    return np.array([tip_deflection(run.model, part, run.q)[:, 1] for part in parts])


def error(found: Array, reference: Array) -> float:
    """Return the largest error of a link's tip deflection in percent of its range."""
    if found.shape != reference.shape or not np.all(np.isfinite(found)):
        return float("inf")
    worst = np.abs(found - reference).max(axis=1) / np.ptp(reference, axis=1)
    return 100 * float(worst.max())


def simulate(problem: "Problem", choice: "Choice", *, repeats: int) -> tuple[Array, float, str]:
    """Return flexarm's deflections, the median of its solver's CPU times [s], and its method."""
    arm = problem.arm(choice.shapes)
    spent = []
    for _ in range(repeats + 1):  # the first one compiles
        run = flexarm.simulate(arm, t_end=problem.t_end, dt=problem.sample, rtol=choice.rtol)
        spent.append(run.statistics.cpu_seconds)
    return tip_deflections(run), statistics.median(spent[1:]), run.method


def choices(coordinates: Sequence[int], tolerances: Sequence[float]) -> list["Choice"]:
    """List the bases, coordinates per link and tolerances that flexarm is run with."""
    return [
        Choice(basis, m, rtol)
        for basis, shapes in BASES.items()
        for m in coordinates
        if shapes(m) is not None
        for rtol in tolerances
    ]


def _fall(shapes: str) -> Arm:
    link = f"""
  - joint: {{kind: revolute}}
    length: 1
    section: {{mass_per_length: 5, EIz: 1000, EA: {5 * STRETCH!r}}}
    shapes: {{{shapes}}}"""
    return loads("flexarm: 1\nname: fall\ngravity: [0, -9.81, 0]\nlinks:" + 2 * link)


def _driven(shapes: str, torque: float) -> Arm:
    return loads(f"""
flexarm: 1
name: driven link
gravity: [0, 0, 0]
links:
  - joint:
      kind: revolute
      hub: {{outboard: {{inertia: [0, 0, {HUB}]}}}}
      input: {{kind: bang-bang, amplitude: {torque}, times: [0, {SWITCHES[0]}, {SWITCHES[1]}]}}
    length: 1
    section: {{mass_per_length: 1, EIz: 10, EA: {STRETCH!r}}}
    shapes: {{{shapes}}}
payload: {{mass: {PAYLOAD}}}
""")


HUB = 0.1  # inertia [kg m^2]
PAYLOAD = 0.25  # [kg]
SWITCHES = (0.5, 1.0)  # when the torque turns round, and when it ends [s]


@dataclass(frozen=True)
class Problem:
    """A motion.

    Attributes
    ----------
    name, title
        What it is.
    t_end, sample
        Its duration and the interval of the times at which codes are compared [s].
    torque
        That drives the hub [N m]; None if two links fall.
    """

    name: str
    title: str
    t_end: float
    sample: float
    torque: float | None = None

    def arm(self, shapes: str) -> Arm:
        """Return flexarm's arm with a choice of shapes, as a model file says it."""
        return _fall(shapes) if self.torque is None else _driven(shapes, self.torque)


@dataclass(frozen=True)
class Choice:
    """A basis, its coordinates per link, and a tolerance."""

    basis: str
    coordinates: int
    rtol: float

    @property
    def shapes(self) -> str:
        """Return what the model file says."""
        said = BASES[self.basis](self.coordinates)
        assert said is not None
        return said

    @property
    def family(self) -> str:
        """Return what finer runs have in common with this one."""
        return self.basis

    @property
    def fineness(self) -> tuple[float, float]:
        """Return what grows in finer runs."""
        return self.coordinates, -self.rtol

    def __str__(self) -> str:
        """Say it shortly."""
        return f"{self.basis} {self.coordinates}, rtol {self.rtol:g}"


PROBLEMS = (
    Problem("fall", "Two links fall", 2.0, 0.005),
    Problem("driven", "A hub drives a link, sharply", 1.5, 0.01, torque=2.0),
    Problem("gentle", "A hub drives a link, gently", 1.5, 0.01, torque=0.2),
)
