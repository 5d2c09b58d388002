"""Results of a study: rows, data frame, dataset, Sobol indices, figures."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from flexarm.arguments import refused, require_path
from flexarm.arm.summary import Summarised, Summary
from flexarm.errors import FlexarmError
from flexarm.io.whole_file import write_figure
from flexarm.studies.constants import LISTED_REASONS
from flexarm.studies.design.evaluate import FINISHED, Columns
from flexarm.studies.design.sensitivity import SobolIndices, sobol_indices
from flexarm.studies.design.table import StudyTable

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped]
    import xarray
    from matplotlib.figure import Figure

Kind = Literal["effects", "scatter", "sobol"]


@dataclass(frozen=True, repr=False)
class StudyResult(Summarised):
    """The results of a study as read from its folder.

    Attributes
    ----------
    table
        The table of stored results.
    """

    table: StudyTable

    @classmethod
    def open(cls, folder: str | Path) -> "StudyResult":
        """Open the results in a folder, of a finished study or one still in progress."""
        return cls(StudyTable.open(require_path("folder", folder)))

    @property
    def parameters(self) -> list[str]:
        """Names of the parameters."""
        return list(self.table.about["parameters"])

    @property
    def quantities(self) -> list[str]:
        """Names of the quantities."""
        return list(self.table.about["quantities"])

    @property
    def done(self) -> int:
        """Number of computed designs."""
        return sum(map(self.table.size, self.table.done))

    @property
    def columns(self) -> Columns:
        """Result columns: ``index``, ``key``, parameters, quantities, ``status`` and ``reason``.

        All stored designs are read at once; `StudyTable.chunks_read` yields one chunk at a time.
        """
        parts = list(self.table.chunks_read())
        if not parts:
            raise FlexarmError(
                f"{self.table.folder}: no chunk of results is there yet. Run the study first."
            )
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def to_pandas(self) -> "pandas.DataFrame":
        """Return all result rows as a pandas data frame, indexed by design number."""
        import pandas

        return pandas.DataFrame(self.columns).set_index("index")

    @property
    def dataset(self) -> "xarray.Dataset":
        """All rows as an xarray dataset along ``design``; parameters are coordinates."""
        import xarray

        columns = {name: ("design", values) for name, values in self.columns.items()}
        labels = ["index", *self.parameters]
        dataset = xarray.Dataset(columns, attrs={"name": self.table.about["name"]})
        return dataset.set_coords(labels)

    def failures(self) -> dict[str, int]:
        """Return the number of failed designs by reason, most frequent first."""
        counted: Counter[str] = Counter()
        for part in self.table.chunks_read():
            wrong = part["status"] != FINISHED
            counted.update(map(str, part["reason"][wrong]))
        return dict(counted.most_common())

    def _require_numbers(self) -> None:
        """Raise an error if all computed designs failed, so that there is nothing to draw."""
        failed = self.failures()
        if self.done and sum(failed.values()) == self.done:
            raise FlexarmError(
                f"none of the {self.done} designs could be computed, so there is nothing to "
                f"draw. The first one: {next(iter(failed))}"
            )

    def sobol(self, *, confidence: float = 0.95, resamples: int = 200) -> dict[str, SobolIndices]:
        """Estimate Sobol indices of each quantity, with bootstrap bounds.

        Returns
        -------
        dict[str, SobolIndices]
            First-order and total Sobol indices with bootstrap bounds, keyed by quantity.

        Raises
        ------
        FlexarmError
            If the sampling is not ``saltelli``, or rows are missing or have no numbers.
        """
        if self.table.about["sampling"]["kind"] != "saltelli":
            raise FlexarmError("sobol: needs a study with sampling of kind 'saltelli'")
        if self.done < self.table.count:
            raise FlexarmError(
                f"sobol: only {self.done} of {self.table.count} designs are computed. Run the "
                "study to its end."
            )
        columns = self.columns
        count = int(self.table.about["sampling"]["count"])
        return {
            name: sobol_indices(name, columns[name], self.parameters, count,
                                confidence=confidence, resamples=resamples)
            for name in self.quantities
        }  # fmt: skip

    def plot(self, path: str | Path | None = None, *, kind: Kind = "effects",
             force: bool = False) -> "Figure":  # fmt: skip
        """Draw main effects, a scatter matrix or Sobol indices; save the figure if asked.

        Parameters
        ----------
        path
            The file, png, svg or pdf.
        kind
            ``effects``: each quantity over each parameter, with the mean of equal parts;
            ``scatter``: all columns over each other; ``sobol``.
        force
            Whether to overwrite an existing file.

        Returns
        -------
        Figure
            The Matplotlib figure.
        """
        from flexarm.studies.design import plot

        self._require_numbers()
        drawings = {"effects": plot.effects, "scatter": plot.scatter}
        if kind == "sobol":
            figure = plot.indices(self.sobol())
        elif kind in drawings:
            figure = drawings[kind](self.columns, self.parameters, self.quantities)
        else:
            raise refused("kind", kind, "effects, scatter or sobol")
        if path is not None:
            write_figure(path, figure, force=force)
        return figure

    def _summary(self) -> Summary:
        description = self.table.about
        computed, count = self.done, self.table.count
        failed = self.failures()
        reasons = list(failed.items())[:LISTED_REASONS]
        none = ": none has finished" if computed and sum(failed.values()) == computed else ""
        lines = [
            f"{computed:,} of {count:,} designs in {self.table.folder}{none}",
            f"{description['sampling']['kind']} over {', '.join(self.parameters)}",
            *(f"{number} without numbers: {reason}" for reason, number in reasons),
        ]
        rows = []
        if computed:
            columns = self.columns
            for name in (*self.parameters, *self.quantities):
                rows.append((name, *_spread(columns[name])))
        header = ("column", "least", "median", "most")
        return Summary(f"Study {description['name']}", tuple(lines), header, rows)


def _spread(values: "np.ndarray[tuple[int], np.dtype[np.float64]]") -> tuple[str, str, str]:
    """Return the minimum, median and maximum of a column as texts."""
    if values.dtype.kind not in "iuf":
        kinds = sorted(set(map(str, values)))
        return kinds[0], "", kinds[-1]
    finite = values[np.isfinite(values)]
    if not len(finite):
        return "", "", ""
    least, middle, most = (f"{x:.6g}" for x in (finite.min(), np.median(finite), finite.max()))
    return least, middle, most
