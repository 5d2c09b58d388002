"""How good an arm's shapes are, as plain data."""

from dataclasses import dataclass

from flexarm.arm.summary import Summarised, Summary
from flexarm.studies.shape_search import Answer


@dataclass(frozen=True)
class Row:
    """What an arm on certain shapes is worth.

    Attributes
    ----------
    basis
        The shapes, in words; the first row has those of the model file.
    coordinates
        Number of coordinates.
    frequency_error_free, frequency_error_locked
        Largest relative error of the slow elastic modes, joints as they are and locked, at the
        start and with all joints bent by 45 degrees.
    top_frequency
        Highest frequency at the start [rad/s].
    step
        What a fixed-step Runge-Kutta method of order 4 can take [s].
    run_error
        Largest difference of a link's tip deflection from the enriched run, over its range; None
        without a run, or if it ended early.
    cpu_seconds
        What the run took.
    """

    basis: str
    coordinates: int
    frequency_error_free: float
    frequency_error_locked: float
    top_frequency: float
    step: float
    run_error: float | None
    cpu_seconds: float | None


@dataclass(frozen=True, repr=False)
class Convergence(Summarised):
    """How well an arm's shapes describe it.

    Attributes
    ----------
    t_end
        Duration of the runs [s].
    wish
        Error that is asked for.
    estimate
        Truncation error of the tip deflections over their range, worst link: the run against one
        with the next member of the family and the static shapes; None if nothing deflects.
    step_of_family
        The same against one more member alone; None for meshes.
    by_link
        The estimate per link.
    mismatch
        Whether the family lacks a shape that the motion needs.
    slope
        Largest slope of a link in the run.
    model_error
        What the model's own error is at such slopes, over the range: of exact links what their
        nodes leave.  By the series as measured against the exact beam; beyond the slopes of those
        measurements 2 slope^2, five times that where nothing damps the links and errors of phase
        add up.  None if unknown: without stiffening.
    stretch
        How much tip deflections change, over their range, if links that have EA stretch by one
        more shape; None if none has, or that run ended early.
    rows
        The given shapes, fewer, more, enriched, and other families.
    answer
        Shapes within the wish, or the nearest to it that were found; None if those given are, if
        nothing deflects, or if no others were to be tried.
    advice
        What to do, in words.
    """

    arm: str
    t_end: float
    wish: float
    estimate: float | None
    step_of_family: float | None
    by_link: dict[str, float]
    mismatch: bool
    slope: float
    model_error: float | None
    stretch: float | None
    rows: tuple[Row, ...]
    answer: Answer | None
    advice: tuple[str, ...]

    def _summary(self) -> Summary:
        rows = [
            (row.basis, str(row.coordinates), f"{row.frequency_error_locked:.2g}",
             "" if row.run_error is None else f"{row.run_error:.2g}")
            for row in self.rows
        ]  # fmt: skip
        columns = ("shapes", "coordinates", "error of frequencies", "error of the run")
        return Summary(
            f"Shapes of {self.arm}, runs of {self.t_end:g} s", self.advice, columns, rows
        )
