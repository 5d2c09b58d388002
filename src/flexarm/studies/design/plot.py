"""Figures of the results of a study: main effects, scatter matrix, Sobol indices."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from flexarm.figures import COLOURS, drawable, panels
from flexarm.spatial import Array
from flexarm.studies.constants import DRAWN_DESIGNS, LEAST_GROUP, MOST_MEANS
from flexarm.studies.design.evaluate import Columns
from flexarm.studies.design.sensitivity import SobolIndices

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def _axes(rows: int, columns: int) -> "tuple[Figure, Any]":
    return panels((min(2.6 * columns + 0.6, 20), min(2.2 * rows + 0.6, 20)), rows, columns)


def _numbers(values: Any) -> Array:
    """Return a result column as floats; texts are replaced by their alphabetical rank."""
    if values.dtype.kind in "iuf":
        return np.asarray(values, dtype=float)
    return np.asarray(np.unique(values, return_inverse=True)[1], dtype=float)


def _some(columns: Columns) -> Columns:
    """Return the columns thinned to about 4000 evenly spaced designs for drawing."""
    count = len(columns["index"])
    which = np.arange(0, count, max(1, count // DRAWN_DESIGNS))
    return {name: values[which] for name, values in columns.items()}


def effects(columns: Columns, parameters: Sequence[str], quantities: Sequence[str]) -> "Figure":
    """Draw each quantity over each parameter, with group means that show the main effects."""
    figure, axes = _axes(len(quantities), len(parameters))
    few = _some(columns)
    for i, quantity in enumerate(quantities):
        for k, parameter in enumerate(parameters):
            at: Axes = axes[i, k]
            at.plot(_numbers(few[parameter]), few[quantity], ".", ms=4, alpha=0.5, color="#9aa5b1")
            x, y = means(_numbers(columns[parameter]), columns[quantity])
            at.plot(x, y, "-o", ms=3, color=COLOURS[0])
            at.set_xlabel(drawable(parameter) if i == len(quantities) - 1 else "")
            at.set_ylabel(drawable(quantity) if k == 0 else "")
    return figure


def means(x: Array, y: Array) -> tuple[Array, Array]:
    """Return the means of x and y over groups of about equal size along x.

    Entries with non-finite y are left out; up to 12 distinct values of x form one group each.
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


def scatter(columns: Columns, parameters: Sequence[str], quantities: Sequence[str]) -> "Figure":
    """Draw a scatter matrix of all parameters and quantities, with histograms on the diagonal."""
    names = [*parameters, *quantities]
    figure, axes = _axes(len(names), len(names))
    few = _some(columns)
    for i, row in enumerate(names):
        for k, column in enumerate(names):
            at: Axes = axes[i, k]
            x, y = _numbers(few[column]), _numbers(few[row])
            if i == k:
                at.hist(x[np.isfinite(x)], bins=24, color=COLOURS[0])
            else:
                at.plot(x, y, ".", ms=2, alpha=0.5, color=COLOURS[0])
            at.set_xlabel(drawable(column) if i == len(names) - 1 else "")
            at.set_ylabel(drawable(row) if k == 0 else "")
    return figure


def indices(indices_by_quantity: Mapping[str, SobolIndices]) -> "Figure":
    """Draw first-order and total Sobol indices of each quantity as bars with bootstrap bounds."""
    figure, axes = _axes(len(indices_by_quantity), 1)
    for row, (name, sobol_indices) in enumerate(indices_by_quantity.items()):
        at: Axes = axes[row, 0]
        places = np.arange(len(sobol_indices.parameters))
        for shift, label, value, bounds in (
            (-0.2, "first order", sobol_indices.first, sobol_indices.first_bounds),
            (0.2, "total", sobol_indices.total, sobol_indices.total_bounds),
        ):
            error = np.abs(bounds - value)
            colour = COLOURS[0 if shift < 0 else 1]
            at.bar(places + shift, value, 0.38, yerr=error, label=label, color=colour, capsize=3)
        at.set_xticks(places, [drawable(parameter) for parameter in sobol_indices.parameters])
        at.set_ylabel(f"share of the variance of\n{drawable(name)}")
    axes[0, 0].legend()
    return figure
