"""Results of a study as rows, data frame or dataset, with Sobol indices and figures."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from flexarm.arguments import refused, require_count, require_number
from flexarm.arm.summary import Summarised, Summary
from flexarm.errors import FlexarmError
from flexarm.figures import COLOURS, drawable, panels
from flexarm.io.whole_file import write_figure
from flexarm.spatial import Array
from flexarm.studies.constants import (
    DRAWN_DESIGNS,
    LABEL_WIDTH,
    LEAST_GROUP,
    LEAST_SOBOL_POINTS,
    LISTED_REASONS,
    MOST_MEANS,
)
from flexarm.studies.design.evaluate import FINISHED, Columns
from flexarm.studies.design.table import Progress, StudyTable

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped]
    import xarray
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class SobolIndices:
    """First-order and total Sobol indices of one quantity, with bootstrap bounds.

    Attributes
    ----------
    parameters
        Names of the parameters.
    first, total
        First-order and total index of each parameter, shape (k,): the parameter's share of the
        variance without and with interactions.
    first_bounds, total_bounds
        Lower and upper bootstrap bounds of the indices, (2, k).
    """

    parameters: tuple[str, ...]
    first: Array
    total: Array
    first_bounds: Array
    total_bounds: Array


def sobol_indices(
    name: str,
    values: Array,
    parameters: Sequence[str],
    count: int,
    *,
    confidence: float,
    resamples: int,
) -> SobolIndices:
    """Estimate the Sobol indices of a quantity from the designs of a Saltelli sampling.

    Parameters
    ----------
    name
        Name of the quantity.
    values
        Values of the quantity at the points of A, of B, and of the k matrices A with one column
        replaced by that column of B, shape (count (k + 2),).
    parameters
        Names.
    count
        Number of rows of A.
    confidence, resamples
        Confidence level and number of resamples of the bootstrap bounds.

    Notes
    -----
    First-order indices follow Saltelli et al. 2010, total indices Jansen 1999. A design without a
    value excludes its group of k + 2 designs, where k is the number of parameters.
    """
    require_number("confidence", confidence, least=0.5, largest=0.9999)
    require_count("resamples", resamples, 10)
    blocks = np.asarray(values, dtype=float).reshape(-1, count)
    whole = blocks[:, np.isfinite(blocks).all(axis=0)]
    if whole.shape[1] < LEAST_SOBOL_POINTS:
        raise FlexarmError(
            f"sobol: '{name}' is a number at {whole.shape[1]} points, but {LEAST_SOBOL_POINTS} are "
            "needed. Take more points."
        )
    drawn = np.random.default_rng(0).integers(0, whole.shape[1], (resamples, whole.shape[1]))
    again = np.array([_estimate(whole[:, which]) for which in drawn])
    edges = [(1 - confidence) / 2, (1 + confidence) / 2]
    bounds = np.quantile(again, edges, axis=0)
    first, total = _estimate(whole)
    return SobolIndices(tuple(parameters), first, total, bounds[:, 0], bounds[:, 1])


def _estimate(blocks: Array) -> Array:
    """Return first-order and total Sobol indices, shape (2, k); 0 if the quantity is constant.

    ``blocks`` has one row each for A, B and the k mixed matrices of Saltelli's design.
    """
    a, b, ab = blocks[0], blocks[1], blocks[2:]
    variance = float(np.var(blocks[:2]))
    if not variance:
        return np.zeros((2, len(ab)))
    middle = blocks[:2].mean()
    first = np.mean((b - middle) * (ab - a), axis=1)
    total = np.mean((a - ab) ** 2, axis=1) / 2
    return np.stack([first, total]) / variance


def _axes(rows: int, columns: int) -> "tuple[Figure, Any]":
    size = (min(2.6 * columns + 0.6, 20), min(2.2 * rows + 0.6, 20))
    return panels(size, rows, columns, shared="both")


def _numbers(values: Any) -> Array:
    """Return a result column as floats; texts are replaced by their alphabetical rank."""
    if values.dtype.kind in "iuf":
        return np.asarray(values, dtype=float)
    return np.asarray(np.unique(values, return_inverse=True)[1], dtype=float)


def _some(columns: Columns) -> Columns:
    """Return the columns thinned out to about 4000 evenly spaced designs."""
    count = len(columns["index"])
    which = np.arange(0, count, max(1, count // DRAWN_DESIGNS))
    return {name: values[which] for name, values in columns.items()}


def effects(
    columns: Columns,
    parameters: Sequence[str],
    quantities: Sequence[str],
    logarithmic: Sequence[str],
) -> "Figure":
    """Draw each quantity over each parameter, with group means that show the main effects."""
    figure, axes = _axes(len(quantities), len(parameters))
    few = _some(columns)
    for i, quantity in enumerate(quantities):
        for k, parameter in enumerate(parameters):
            at: Axes = axes[i, k]
            at.plot(_numbers(few[parameter]), few[quantity], ".", ms=4, alpha=0.5, color="#9aa5b1")
            x = _numbers(columns[parameter])
            if parameter in logarithmic:
                x, y = means(np.log(x), columns[quantity])
                x = np.exp(x)
            else:
                x, y = means(x, columns[quantity])
            at.plot(x, y, "-o", ms=3, color=COLOURS[0])
            at.set_xlabel(parameter if i == len(quantities) - 1 else "")
            at.set_ylabel(quantity if k == 0 else "")
    return figure


def means(x: Array, y: Array) -> tuple[Array, Array]:
    """Return the means of x and y over groups of about equal size along x.

    Entries with non-finite y are omitted. If x has at most 12 distinct values, each value is a
    group.
    """
    from scipy.stats import rankdata

    finite = np.isfinite(y)
    x, y = x[finite], y[finite]
    if not len(x):
        return x, y
    kinds, group = np.unique(x, return_inverse=True)
    if len(kinds) > MOST_MEANS:
        count = max(2, min(MOST_MEANS, len(x) // LEAST_GROUP))
        group = count * rankdata(x, "ordinal").astype(int) // (len(x) + 1)
    sizes = np.bincount(group)
    return np.bincount(group, x) / sizes, np.bincount(group, y) / sizes


def scatter(
    columns: Columns,
    parameters: Sequence[str],
    quantities: Sequence[str],
    logarithmic: Sequence[str],
) -> "Figure":
    """Draw a scatter matrix of all parameters and quantities, with histograms on the diagonal."""
    names = [*parameters, *quantities]
    figure, axes = _axes(len(names), len(names))
    few = _some(columns)
    for i, row in enumerate(names):
        for k, column in enumerate(names):
            at: Axes = axes[i, k]
            x, y = _numbers(few[column]), _numbers(few[row])
            at.plot(x, y, " " if i == k else ".", ms=2, alpha=0.5, color=COLOURS[0])
            if i == k:
                x = x[np.isfinite(x)]
                bins = np.histogram_bin_edges(np.log(x) if column in logarithmic else x, 24)
                edges = (np.exp(bins) if column in logarithmic else bins).tolist()
                counts = at.twinx()  # the other panels of the row share the panel's own y axis
                counts.hist(x, edges, color=COLOURS[0])
                counts.set_axis_off()
            at.set_xlabel(column if i == len(names) - 1 else "")
            at.set_ylabel(row if k == 0 else "")
    return figure


def indices(indices_by_quantity: Mapping[str, SobolIndices]) -> "Figure":
    """Draw first-order and total Sobol indices of each quantity as bars with bootstrap bounds."""
    count, rows = (
        max(len(x.parameters) for x in indices_by_quantity.values()),
        len(indices_by_quantity),
    )
    figure, axes = panels((6.0, min(rows * (0.5 * count + 0.7) + 0.4, 20)), rows)
    for row, (name, sobol_indices) in enumerate(indices_by_quantity.items()):
        at: Axes = axes[row, 0]
        places = np.arange(len(sobol_indices.parameters))
        for shift, label, value, bounds in (
            (-0.2, "first order", sobol_indices.first, sobol_indices.first_bounds),
            (0.2, "total", sobol_indices.total, sobol_indices.total_bounds),
        ):
            error = np.abs(bounds - value)
            colour = COLOURS[0 if shift < 0 else 1]
            at.barh(places + shift, value, 0.38, xerr=error, label=label, color=colour, capsize=3)
        at.set_yticks(places, [_lines(parameter) for parameter in sobol_indices.parameters])
        at.invert_yaxis()
        at.set_xlabel(_lines(f"share of the variance of {name}", 2 * LABEL_WIDTH))
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return figure


def _lines(name: str, width: int = LABEL_WIDTH) -> str:
    """Break a user's text into lines for a figure, with model-file keys broken after dots."""
    lines = wrap(name.replace(".", ". "), width)
    return "\n".join(drawable(line.replace(". ", ".")) for line in lines)


def front_among(columns: Columns, front: Columns, names: Sequence[str]) -> "Figure":
    """Draw a Pareto front among all designs, over two quantities or parameters."""
    figure, axes = panels((6.0, 4.5))
    at: Axes = axes[0, 0]
    few = _some(columns)
    at.plot(*(_numbers(few[name]) for name in names), ".", ms=4, alpha=0.5, color="#9aa5b1")
    at.plot(*(_numbers(front[name]) for name in names), "-o", ms=4, color=COLOURS[0])
    at.set_xlabel(names[0])
    at.set_ylabel(names[1])
    return figure


Kind = Literal["effects", "scatter", "sobol", "pareto"]


@dataclass(frozen=True, repr=False)
class StudyResult(Summarised):
    """The results of a study as read from its folder.

    Attributes
    ----------
    table
        The table of stored results.
    """

    table: StudyTable

    @property
    def parameters(self) -> list[str]:
        """Names of the study's parameters."""
        return list(self.table.about["parameters"])

    @property
    def quantities(self) -> list[str]:
        """Names of the study's quantities."""
        return list(self.table.about["quantities"])

    @property
    def progress(self) -> Progress:
        """Numbers of computed and of all designs, rate of computation, and remaining time."""
        return self.table.progress

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
        failed, done = self.failures(), self.progress.done
        if done and sum(failed.values()) == done:
            raise FlexarmError(
                f"none of the {done} designs could be computed, so there is nothing to "
                f"draw. The first failure: {next(iter(failed))}"
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
        progress = self.progress
        if progress.done < progress.total:
            raise FlexarmError(
                f"sobol: only {progress.done} of {progress.total} designs are computed. Run the "
                "study to its end."
            )
        columns = self.columns
        count = int(self.table.about["sampling"]["count"])
        return {
            name: sobol_indices(name, columns[name], self.parameters, count,
                                confidence=confidence, resamples=resamples)
            for name in self.quantities
        }  # fmt: skip

    def pareto(self, *, minimise: Sequence[str] = (), maximise: Sequence[str] = ()) -> Columns:
        """Return the Pareto front: finished designs for which no other is better in all aims.

        Parameters
        ----------
        minimise, maximise
            Names of numeric quantities or parameters.

        Returns
        -------
        dict[str, ndarray]
            The columns of the designs on the front, sorted by the first aim.
        """
        columns, names = self.columns, [*minimise, *maximise]
        for name in names:
            if name not in (*self.parameters, *self.quantities):
                listed = ", ".join((*self.parameters, *self.quantities))
                raise refused("pareto", name, f"one of {listed}")
        if len(names) < 2 or len(set(names)) < len(names):
            expected = "two or more different quantities by minimise and maximise"
            raise FlexarmError(f"pareto: name {expected}")
        signs = [1.0] * len(minimise) + [-1.0] * len(maximise)
        aims = np.stack(
            [s * _numbers(columns[name]) for s, name in zip(signs, names, strict=True)], axis=1
        )
        usable = np.flatnonzero((columns["status"] == FINISHED) & np.isfinite(aims).all(axis=1))
        front: list[int] = []
        for k in usable[np.lexsort(aims[usable].T[::-1])].tolist():
            if not (aims[front] <= aims[k]).all(axis=1).any():
                front.append(k)
        return {name: values[front] for name, values in columns.items()}

    def plot(
        self,
        path: str | Path | None = None,
        *,
        kind: Kind = "effects",
        minimise: Sequence[str] = (),
        maximise: Sequence[str] = (),
        force: bool = False,
    ) -> "Figure":
        """Draw main effects, a scatter matrix, Sobol indices or a Pareto front; save if asked.

        Parameters
        ----------
        path
            File for the figure (png, svg or pdf); the figure is not saved if None.
        kind
            ``effects``: each quantity over each parameter, with means of groups of equal size;
            ``scatter``: all columns over each other; ``sobol``; ``pareto``: the Pareto front of two
            aims among all designs.
        minimise, maximise
            Aims of a Pareto front, as for `pareto`.
        force
            Whether to overwrite an existing file.

        Returns
        -------
        Figure
            The Matplotlib figure.
        """
        self._require_numbers()
        drawings = {"effects": effects, "scatter": scatter}
        if kind == "sobol":
            figure = indices(self.sobol())
        elif kind == "pareto":
            front = self.pareto(minimise=minimise, maximise=maximise)
            figure = front_among(self.columns, front, [*minimise, *maximise][:2])
        elif kind in drawings:
            logarithmic = self.table.about.get("logarithmic", ())
            figure = drawings[kind](self.columns, self.parameters, self.quantities, logarithmic)
        else:
            raise refused("kind", kind, "effects, scatter, sobol or pareto")
        self._label(figure)
        if path is not None:
            write_figure(path, figure, force=force)
        return figure

    def _label(self, figure: "Figure") -> None:
        """Label the axes of a figure with units; set log scales for logarithmic parameters."""
        from matplotlib.ticker import MaxNLocator

        about, columns = self.table.about, self.columns
        units, logarithmic = about.get("units", {}), about.get("logarithmic", ())
        for panel in figure.axes:
            for axis in (panel.xaxis, panel.yaxis):
                name = axis.get_label_text()
                if name in logarithmic:
                    axis.axes.set(**{f"{axis.axis_name}scale": "log"})
                kind = columns[name].dtype.kind if name in columns else "f"
                if kind not in "iuf":
                    words = [
                        _lines(str(word), LABEL_WIDTH // 2) for word in np.unique(columns[name])
                    ]
                    axis.set_ticks(range(len(words)), words)
                elif kind != "f" and name not in logarithmic:
                    axis.set_major_locator(MaxNLocator(integer=True))
                unit = units.get(name, "")
                if name in columns:
                    axis.set_label_text(
                        _lines(f"{name} [{unit}]" if unit not in ("", "1") else name)
                    )

    def _summary(self) -> Summary:
        description, progress = self.table.about, self.progress
        computed = progress.done
        failed = self.failures()
        reasons = list(failed.items())[:LISTED_REASONS]
        none = ": none has finished" if computed and sum(failed.values()) == computed else ""
        lines = [
            f"{progress} in {self.table.folder}{none}",
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
