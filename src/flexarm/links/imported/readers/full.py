"""Full matrices of a finite-element model as Matrix Market files, with a table of its nodes."""

import re
from pathlib import Path
from typing import Any

import numpy as np

from flexarm.errors import ModelError
from flexarm.links.imported.data import Integers
from flexarm.links.imported.imports import content_of
from flexarm.links.imported.readers.market import dense, market_head, read_market

NODE = re.compile(r"0*[1-9][0-9]{0,17}")  # number of a node


def market_keys(stiffness: Path, mass: Path, nodes: Path) -> dict[str, Any]:
    """Read K and M from Matrix Market files, and nodes from a table, as the plain form has them."""
    from scipy.sparse import csr_array

    try:
        text = content_of(nodes).decode("utf-8").splitlines()
        rows = [line.replace(",", " ").split() for line in text if line.strip()]
        if rows and not _is_number(rows[0][0]):
            rows = rows[1:]
        places = np.array([[float(word) for word in row[:3]] for row in rows])
        if places.ndim != 2 or places.shape[1] != 3:
            raise ValueError
    except ValueError:
        raise ModelError(f"{nodes}: must be three numbers per line, x, y, z") from None
    n = len(places)
    K = _market_of(stiffness, n, (3 * n, 3 * n))
    M = _market_of(mass, n, (3 * n, 3 * n), (n, n), (n, 1))
    M = dense(M).ravel() if M.shape[1] == 1 else csr_array(M)
    return {"name": stiffness.stem, "nodes": places, "K": csr_array(K), "node_mass": M}


def _market_of(path: Path, nodes: int, *shapes: tuple[int, int]) -> Any:
    """Read a Matrix Market file of one of some shapes; its head is read first."""
    content = content_of(path)
    shape = market_head(content, str(path)).shape
    if shape not in shapes:
        raise ModelError(
            f"{path}: must be {' or '.join(map(str, shapes))} for {nodes} nodes with three "
            f"unknowns each, got {shape}: nodes with rotations (shells, beams) are not reduced here"
        )
    return read_market(content, str(path))


def listed_nodes(text: str, key: str, count: int) -> Integers:
    """Read a list of so many nodes, which count from 1, such as ``1-12,40``, as rows."""
    rows: list[int] = []
    for word in text.split(","):
        first, _, last = word.strip().partition("-")
        if not NODE.fullmatch(first) or not NODE.fullmatch(last or "1"):
            raise ModelError(f"{key}_nodes: must be numbers of nodes such as 1-12,40, got {word!r}")
        if last and int(last) < int(first):
            raise ModelError(f"{key}_nodes: {word.strip()} runs backwards: write {last}-{first}")
        if int(last or first) > count:
            raise ModelError(f"{key}_nodes: must be among the {count} nodes, got {word.strip()}")
        rows.extend(range(int(first) - 1, int(last or first)))
    return np.array(rows, dtype=np.int64)


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
