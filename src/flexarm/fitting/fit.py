"""Result of a fit: numbers with intervals, tests, and the fitted arm."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from flexarm.arm import Arm
from flexarm.fitting.data import Estimate, FitData
from flexarm.fitting.excitation import Excitation, suggest
from flexarm.fitting.problem import measured, read_recordings, tests_of
from flexarm.fitting.report import draw, text, write_report
from flexarm.fitting.statistics import ResidualTest
from flexarm.io.model_file import save
from flexarm.io.overrides import change_arm

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NOTES = 20_000  # characters of notes that a model file may have
MARK = "Fitted by flexarm"


@dataclass(frozen=True)
class Fit(FitData):
    """A model fitted to measured runs; `FitData` has its fields."""

    def predict(self, data: object) -> tuple[ResidualTest, ...]:
        """Test the fitted model with runs that it was not fitted to.

        Parameters
        ----------
        data
            Files or mappings as for `flexarm.identify`, with the same columns.

        Returns
        -------
        tuple[ResidualTest, ...]
            Tests of the residuals of each sensor in each run.
        """
        problem = self.problem
        first = problem.runs[0]
        start = "model" if first.start is None else "measured"
        runs = [
            measured(first.runs, each, first.columns, problem.sensors, start)
            for each in read_recordings(data)
        ]
        other = replace(problem, runs=runs, _last={})
        return tests_of(other, np.array([each.value for each in self.estimates]))

    def excitation(self) -> tuple[Excitation, ...]:
        """Suggest inputs that would determine most of what these data leave open, best first."""
        return suggest(self)

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write the fitted arm to a model file, whole or not at all."""
        save(self.arm, path, force=force)

    def plot(self) -> "Figure":
        """Draw measured and fitted readings, and the residuals."""
        return draw(self)

    def report(self, path: str | Path, *, force: bool = False) -> None:
        """Write an HTML page with tables and a figure."""
        write_report(self, path, force=force)

    def __str__(self) -> str:
        """Return tables and judgement as text."""
        return text(self)


def fitted_arm(
    arm: Arm, estimates: tuple[Estimate, ...], keys: tuple[str, ...], runs: Mapping[str, str]
) -> Arm:
    """Return the arm with the fitted numbers, and their origin in its notes."""
    from importlib.metadata import version

    lines = [f"{MARK} {version('flexarm')} to measured runs:"]
    lines += [f"  {name} (sha256 {digest[:16] or 'none'})" for name, digest in runs.items()]
    lines.append("with 95 % intervals (what is not in this file is of inputs and sensors):")
    lines += [f"  {e.name}: {e.fitted}, {e.interval}; before {e.before:.6g}" for e in estimates]
    notes = "\n".join(filter(None, [arm.notes.rstrip(), *lines]))
    changed = {each.name: each.value for each in estimates if each.name in keys}
    return change_arm(arm, {**changed, "notes": notes[-NOTES:] + "\n"})
