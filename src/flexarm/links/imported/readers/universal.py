"""Reader of universal files of modal tests (by pyuff): nodes, shapes, frequencies and damping.

A universal file contains no masses; masses of the nodes are fitted to mass data of the body.
"""

from pathlib import Path
from typing import Any

import numpy as np

from flexarm.arm.constants import MOST_AMPLITUDES
from flexarm.errors import ModelError
from flexarm.links.imported.constants import LARGEST, MASS_WEIGHT
from flexarm.links.imported.data import Findings, rigid_columns
from flexarm.links.imported.readers.plain import ArrayReader
from flexarm.spatial import Array

NODES, SHAPES, UNITS = (15, 2411), (55, 2414), 164
MODAL = 2  # kind of analysis: normal modes


def read_universal(path: Path, keys: dict[str, Any]) -> dict[str, Any]:
    """Return the modes of a universal file as keys of the plain form.

    Parameters
    ----------
    path
        Path of the file.
    keys
        Data that universal files do not contain: total_mass, hub_nodes and tip_nodes (by number in
        the file), and preferably centre and inertia_about_origin.

    Raises
    ------
    ModelError
        If the file cannot be read, or required data are missing.
    """
    datasets = _datasets(path)
    numbers, positions = _nodes(datasets, path)
    row = {number: k for k, number in enumerate(numbers)}
    modes = [
        dataset
        for dataset in datasets
        if dataset["type"] in SHAPES and dataset.get("analysis_type") == MODAL
    ]
    if not modes:
        raise ModelError(f"{path}: has no modes (dataset 55 or 2414 of analysis type {MODAL})")
    modes = modes[:MOST_AMPLITUDES]
    shapes = np.array([_shape(dataset, row, ("r1", "r2", "r3"), path) for dataset in modes])
    turns = ("r4", "r5", "r6")
    rotations = np.array([
        _shape(dataset, row, turns, path) if all(key in dataset for key in turns) else 0 * positions
        for dataset in modes
    ])  # fmt: skip
    hertz, modal, ratios = (
        np.array([_value(dataset, key, path) for dataset in modes])
        for key in ("freq", "modal_m", "modal_damp_vis")
    )
    result: dict[str, Any] = {
        "name": path.stem, "nodes": positions, "shapes": shapes, "frequencies": hertz,
        "damping_ratios": ratios,
        "node_mass": fitted_masses(positions, shapes, modal, keys, path),
    }  # fmt: skip
    if np.any(rotations):
        result |= {"rotations": rotations}
    for key in ("hub_nodes", "tip_nodes"):
        if key in keys:
            result[key] = _rows(keys[key], row, key)
    return result


def _datasets(path: Path) -> list[dict[str, Any]]:
    """Return the datasets of nodes, shapes and units in a universal file."""
    try:
        import pyuff
    except ImportError:
        raise ModelError(
            f"{path}: universal files need the package pyuff. Run pip install 'flexarm[unv]'."
        ) from None
    kinds_read = (*NODES, *SHAPES, UNITS)
    try:
        file = pyuff.UFF(str(path))
        kinds = [int(kind) for kind in file.get_set_types()]
        indices = [k for k, kind in enumerate(kinds) if kind in kinds_read]
        datasets = [file.read_sets(k) for k in indices]
    except Exception as error:  # pyuff may raise errors of any type
        raise ModelError(f"{path}: is not a complete universal file: {error}") from None
    return [dataset for dataset in datasets if isinstance(dataset, dict) and "type" in dataset]


def _nodes(datasets: list[dict[str, Any]], path: Path) -> tuple[list[int], Array]:
    sets = [dataset for dataset in datasets if dataset["type"] in NODES]
    if not sets:
        raise ModelError(f"{path}: has no nodes (dataset 15 or 2411)")
    try:
        numbers = [n for dataset in sets for n in _integers(dataset["node_nums"])]
        positions = _require_bounded(np.concatenate(
            [np.stack([np.ravel(dataset[axis]) for axis in "xyz"], axis=1) for dataset in sets]
        ).astype(float))  # fmt: skip
    except (KeyError, TypeError, ValueError) as error:
        raise ModelError(f"{path}: the nodes are not complete: {error}") from None
    if len(numbers) != len(positions) or len(set(numbers)) != len(numbers):
        raise ModelError(f"{path}: the {len(positions)} nodes must have different numbers")
    unit = next(
        (dataset.get("length", 1.0) for dataset in datasets if dataset["type"] == UNITS), 1.0
    )
    if unit != 1.0:
        raise ModelError(
            f"{path}: must be in metres, but the file's unit of length is {unit} m. Convert it."
        )
    return numbers, positions


def _shape(
    mode: dict[str, Any], row: dict[int, int], keys: tuple[str, str, str], path: Path
) -> Array:
    """Return a mode's displacements or rotations at all nodes, (N, 3); 0 where not given."""
    shape = np.zeros((len(row), 3))
    try:
        values = np.stack([np.ravel(mode[key]) for key in keys], axis=1)
        rows = [row[number] for number in _integers(mode["node_nums"])]
        shape[rows] = _require_bounded(_real(values))
    except (KeyError, TypeError, ValueError) as error:
        raise ModelError(
            f"{path}: a mode is incomplete ({error!s:.60}). Is a node unknown, or was the file "
            "cut off?"
        ) from None
    return shape


def _integers(numbers: Any) -> list[int]:
    """Return node numbers as integers; raise ValueError for noninteger numbers."""
    values = np.ravel(numbers).astype(float)  # integers below 2^53 are exact
    if not np.all(np.abs(values) < 2.0**53) or np.any(values != np.round(values)):
        raise ValueError("node numbers must be whole numbers")
    return [int(value) for value in values]


def _require_bounded(values: Array) -> Array:
    """Return the given numbers; raise ValueError if one is not finite or is too large."""
    if not np.all(np.abs(values) <= LARGEST):
        raise ValueError(f"all numbers must be finite and at most {LARGEST:.2g}")
    return values


def _real(values: Any) -> Array:
    """Return real shapes; a complex shape is taken at the phase with the largest real part."""
    if not np.iscomplexobj(values):
        return np.asarray(values, dtype=float)
    angle = np.angle(np.sum(values**2)) / 2
    return np.asarray(np.real(values * np.exp(-1j * angle)), dtype=float)


def _value(mode: dict[str, Any], key: str, path: Path) -> float:
    try:
        return float(_require_bounded(np.asarray(np.real(mode[key]), dtype=float)))
    except (KeyError, TypeError, ValueError):
        raise ModelError(
            f"{path}: {key}: is missing in a mode, or is not a finite number"
        ) from None


def _rows(numbers: Any, row: dict[int, int], key: str) -> Array:
    """Return node indices, counted from 1, for node numbers of the file."""
    try:
        return np.array([row[n] + 1 for n in _integers(numbers)])
    except (KeyError, TypeError, ValueError):
        raise ModelError(f"{key}: must be node numbers of the file") from None


def fitted_masses(
    positions: Array, shapes: Array, modal: Array, keys: dict[str, Any], path: Path
) -> Array:
    """Fit nonnegative node masses, (N,), to a body's mass moments and modal masses.

    Total mass, centre and inertia have the highest weight in the least-squares fit. The other
    conditions of the fit are that modes are orthogonal and have the modal masses of the file.
    """
    from scipy.optimize import nnls

    findings = Findings(str(path))
    total, centre, inertia = ArrayReader(keys, findings).stated()
    if findings.problems:
        raise findings.refusal()
    if total is None or not total > 0:
        raise ModelError(
            f"{path}: a universal file has no masses. Give total_mass in --frames, and if "
            "possible centre and inertia_about_origin."
        )
    rows, targets = [MASS_WEIGHT * np.ones(len(positions)) / total], [MASS_WEIGHT]
    reach = float(np.abs(positions).max())
    if centre is not None:
        rows += list(MASS_WEIGHT * positions.T / total / reach)
        targets += (MASS_WEIGHT * centre / reach).tolist()
    if inertia is not None:
        if not np.trace(inertia) > 0:
            raise ModelError(f"{path}: inertia_about_origin: must have a trace > 0")
        inertias = np.einsum("naj,nak->njk", *[rigid_columns(positions)[:, :, 3:]] * 2)
        for a, b in ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (0, 2)):
            rows.append(MASS_WEIGHT * inertias[:, a, b] / np.trace(inertia))
            targets.append(MASS_WEIGHT * inertia[a, b] / np.trace(inertia))
    for i in range(len(shapes)):
        for j in range(i + 1):
            size = np.sqrt(abs(modal[i] * modal[j])) or 1.0
            rows.append(np.einsum("na,na->n", shapes[i], shapes[j]) / size)
            targets.append(float(i == j))
    masses = nnls(np.array(rows), np.array(targets))[0]
    return np.asarray(masses, dtype=float)
