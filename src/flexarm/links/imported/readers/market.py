"""Reader of Matrix Market files that first compares the header with the size of the file.

SciPy's own reader (1.17) is not used because damaged files crash the process.
"""

import io
import re
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from flexarm.errors import ModelError
from flexarm.io.csv_table import read_number
from flexarm.links.imported.constants import LARGEST
from flexarm.links.imported.data import Integers
from flexarm.links.imported.readers.plain import content_of
from flexarm.links.imported.readers.superelements import whole_number
from flexarm.spatial import Array

BANNER = "%%MatrixMarket"
FIELDS = ("real", "double", "integer", "unsigned-integer")
# Bytes of the shortest entry, "1 1 1" or "1", with its line end.
ENTRY = {"coordinate": 6, "array": 2}


@dataclass(frozen=True)
class Head:
    """Header of a Matrix Market file: shape and storage format of the matrix."""

    shape: tuple[int, int]
    entries: int  # number of entries listed
    listed: bool  # whether each entry has its row and column, as in sparse matrices
    symmetric: bool  # whether the file contains the lower triangle only
    end: int  # length of the head in bytes


def is_market(content: bytes) -> bool:
    """Return whether a file is in Matrix Market format."""
    return content.startswith(BANNER.encode())


def market_head(content: bytes, name: str) -> Head:
    """Parse the header of a Matrix Market file.

    Raises
    ------
    ModelError
        If the file is no matrix of real numbers, is empty, or states more entries than it can hold.
    """
    lines = io.BytesIO(content)
    words = lines.readline().decode("ascii", errors="replace").split()
    kinds = [word.lower() for word in words[1:5]]
    if words[:1] != [BANNER] or len(kinds) < 4 or kinds[0] != "matrix" or kinds[1] not in ENTRY:
        raise ModelError(
            f"{name}: must begin with a line such as '{BANNER} matrix coordinate real general'"
        )
    if kinds[2] not in FIELDS or kinds[3] not in ("general", "symmetric"):
        raise ModelError(
            f"{name}: must be a real matrix, general or symmetric, got '{kinds[2]} {kinds[3]}'"
        )
    line = next(
        (text_line for text_line in lines if text_line.strip() and not text_line.startswith(b"%")),
        b"",
    )
    is_listed, symmetric = kinds[1] == "coordinate", kinds[3] == "symmetric"
    sizes = [whole_number(word, name) for word in line.decode("ascii", errors="replace").split()]
    if len(sizes) != (3 if is_listed else 2) or min(sizes[:2]) < 1:
        raise ModelError(
            f"{name}: must have a line with the numbers of rows and columns, both >= 1, got "
            f"{line[:40].decode('ascii', errors='replace').strip()!r}"
        )
    rows, columns = sizes[:2]
    if symmetric and rows != columns:
        raise ModelError(f"{name}: a symmetric matrix must be square, got {rows} x {columns}")
    full_count = rows * (rows + 1) // 2 if symmetric else rows * columns
    entries = sizes[2] if is_listed else full_count
    if not 0 <= entries * ENTRY[kinds[1]] <= len(content):
        raise ModelError(
            f"{name}: announces {entries:,} entries, more than {len(content):,} bytes can "
            "contain. Was the file cut off?"
        )
    return Head((rows, columns), entries, is_listed, symmetric, lines.tell())


def read_market(content: bytes, name: str) -> Any:
    """Return the matrix of a Matrix Market file.

    The matrix is sparse if the file lists entries by row and column.

    Raises
    ------
    ModelError
        If the file is truncated or invalid.
    """
    from scipy.sparse import coo_array

    head = market_head(content, name)
    entries = _numbers(content, head, name)
    if not head.listed:
        return _filled(entries[:, 0], head)
    indices = entries[:, :2]
    if np.any((indices < 1) | (indices > head.shape) | (indices != np.round(indices))):
        raise ModelError(
            f"{name}: row and column indices must be whole numbers of 1 to {head.shape[0]} and "
            f"1 to {head.shape[1]}"
        )
    (rows, columns), values = indices.T.astype(np.int64) - 1, entries[:, 2]
    if head.symmetric:
        off_diagonal = rows != columns
        if np.any(rows < columns) and np.any(rows > columns):
            raise ModelError(
                f"{name}: must list one triangle of a symmetric matrix, but has entries on both "
                "sides of the diagonal. If it lists the whole matrix, write 'general' in its "
                "first line."
            )
        rows, columns = (
            np.concatenate([rows, columns[off_diagonal]]),
            np.concatenate([columns, rows[off_diagonal]]),
        )
        values = np.concatenate([values, values[off_diagonal]])
    return coo_array((values, (rows, columns)), shape=head.shape)


def _numbers(content: bytes, head: Head, name: str) -> Array:
    """Return the numbers after the header, one row per entry: (entries, 3) or (entries, 1)."""
    width = 3 if head.listed else 1
    if not content[head.end :].strip():
        numbers = np.zeros((0, width))
    else:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # the file has comments but no data
                numbers = np.loadtxt(io.BytesIO(content[head.end :]), comments="%", ndmin=2)
        except ValueError as error:
            raise ModelError(f"{name}: is not a complete Matrix Market file: {error}") from None
    if numbers.shape != (head.entries, width):
        raise ModelError(
            f"{name}: must have {head.entries:,} lines of {width} numbers, got "
            f"{len(numbers):,} of {numbers.shape[1]}. Was the file cut off?"
        )
    if not np.all(np.abs(numbers) <= LARGEST):
        raise ModelError(f"{name}: must have finite numbers of at most {LARGEST:.2g}")
    return numbers


def _filled(values: Array, head: Head) -> Array:
    """Return the dense matrix from values in column order; a symmetric one has a lower triangle."""
    if not head.symmetric:
        return values.reshape(head.shape, order="F")
    matrix = np.zeros(head.shape)
    columns, rows = np.triu_indices(head.shape[0])
    matrix[rows, columns] = matrix[columns, rows] = values
    return matrix


def dense(matrix: Any) -> Array:
    """Return a dense or sparse matrix as a dense array."""
    full = matrix if isinstance(matrix, np.ndarray) else matrix.toarray()
    return np.asarray(full, dtype=np.float64)


NODE = re.compile(r"0*[1-9][0-9]{0,17}")  # number of a node


def market_keys(stiffness: Path, mass: Path, nodes: Path) -> dict[str, Any]:
    """Return the plain-form keys of K and M from two files, and of nodes from a table."""
    from scipy.sparse import csr_array

    try:
        text = content_of(nodes).decode("utf-8").splitlines()
        rows = [line.replace(",", " ").split() for line in text if line.strip()]
        if rows and np.isnan(read_number(rows[0][0])):  # the first row has the names of the columns
            rows = rows[1:]
        positions = np.array([[float(word) for word in row[:3]] for row in rows])
        if positions.ndim != 2 or positions.shape[1] != 3:
            raise ValueError
    except ValueError:
        raise ModelError(f"{nodes}: must have three numbers per line, x, y and z") from None
    n = len(positions)
    K = _market_of(stiffness, n, (3 * n, 3 * n))
    M = _market_of(mass, n, (3 * n, 3 * n), (n, n), (n, 1))
    M = dense(M).ravel() if M.shape[1] == 1 else csr_array(M)
    return {"name": stiffness.stem, "nodes": positions, "K": csr_array(K), "node_mass": M}


def _market_of(path: Path, nodes: int, *shapes: tuple[int, int]) -> Any:
    """Return the matrix of a Matrix Market file, which must have one of the given shapes."""
    content = content_of(path)
    shape = market_head(content, str(path)).shape
    if shape not in shapes:
        raise ModelError(
            f"{path}: must have the shape {' or '.join(map(str, shapes))} for {nodes} nodes "
            f"with three unknowns each, got {shape}. Nodes with rotations (shells, beams) are "
            "not reduced here."
        )
    return read_market(content, str(path))


def listed_nodes(text: str, key: str, count: int) -> Integers:
    """Return node indices from 0 for a list of node numbers from 1, such as ``1-12,40``."""
    rows: list[int] = []
    for word in text.split(","):
        first, _, last = word.strip().partition("-")
        if not NODE.fullmatch(first) or not NODE.fullmatch(last or "1"):
            raise ModelError(
                f"{key}_nodes: must be a list of node numbers such as 1-12,40, got {word!r}"
            )
        if last and int(last) < int(first):
            raise ModelError(
                f"{key}_nodes: the range {word.strip()} runs backwards. Write {last}-{first}."
            )
        if int(last or first) > count:
            raise ModelError(
                f"{key}_nodes: must be numbers of the {count} nodes, got {word.strip()}"
            )
        rows.extend(range(int(first) - 1, int(last or first)))
    return np.array(rows, dtype=np.int64)
