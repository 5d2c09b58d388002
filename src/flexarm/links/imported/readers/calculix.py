"""CalculiX: modes at nodes from an .frd file, sets and density from the .inp file beside it."""

from dataclasses import dataclass, field

import numpy as np

from flexarm.errors import ModelError
from flexarm.links.base import Array
from flexarm.links.imported.data import Integers
from flexarm.links.imported.drawing import outer_faces
from flexarm.links.imported.readers.labelled import number, whole_number
from flexarm.links.imported.readers.solids import SOLIDS


@dataclass
class Results:
    """Contents of an .frd file: nodes by number, elements by type, frequencies and shapes."""

    nodes: dict[int, tuple[float, float, float]] = field(default_factory=dict)
    elements: list[tuple[int, list[int]]] = field(default_factory=list)
    hertz: list[float] = field(default_factory=list)
    shapes: list[dict[int, tuple[float, float, float]]] = field(default_factory=list)


@dataclass
class NodeSet:
    """Numbers of nodes, and ranges of them, which are not written out."""

    nodes: set[int] = field(default_factory=set)
    ranges: set[range] = field(default_factory=set)

    def rows(self, numbers: Integers) -> Integers:
        """Return the rows of those of a mesh's nodes (N,) that are in the set."""
        inside = [n in self.nodes or any(n in each for each in self.ranges)
                  for n in numbers.tolist()]  # fmt: skip
        return np.flatnonzero(inside).astype(np.int64)


@dataclass
class Deck:
    """Node sets of an .inp file by name, and its densities [mass/length^3]."""

    sets: dict[str, NodeSet] = field(default_factory=dict)
    densities: set[float] = field(default_factory=set)


def read_frd(text: str, name: str) -> Results:
    """Read nodes, elements and modes.

    Raises
    ------
    ModelError
        If a line cannot be read, or there are no modes.
    """
    results, block, hertz = Results(), "", 0.0
    for k, line in enumerate(text.splitlines(), 1):
        where, key = f"{name}:{k}", line[:3].strip()
        if not key.startswith("-"):
            head = (line.split() or [""])[0]
            block = head[:4] if head[:4] in ("2C", "3C", "100C") else ""
            if block == "100C":
                hertz = number(line[12:24], where)
        elif key == "-4":
            block = "DISP" if "DISP" in line.split() else ""
            if block:
                results.hertz.append(hertz)
                results.shapes.append({})
        elif key == "-3":
            block = ""
        elif block == "2C":
            results.nodes[whole_number(line[3:13], where)] = _vector(line, where)
        elif block == "3C" and key == "-1":
            results.elements.append((whole_number(line[13:18], where), []))
        elif block == "3C" and results.elements:
            results.elements[-1][1].extend(whole_number(word, where) for word in line[3:].split())
        elif block == "DISP" and key == "-1":
            results.shapes[-1][whole_number(line[3:13], where)] = _vector(line, where)
    if not text.rstrip().endswith("9999"):
        raise ModelError(f"{name}: does not end as it should (9999): was the file cut off?")
    if not results.nodes or not results.shapes:
        raise ModelError(f"{name}: has no modes: ask for 'U' by *NODE FILE in a *FREQUENCY step")
    return results


def _vector(line: str, where: str) -> tuple[float, float, float]:
    x, y, z = (number(line[13 + 12 * i : 25 + 12 * i], where) for i in range(3))
    return x, y, z


def read_inp(text: str, name: str) -> Deck:
    """Read node sets and densities of an input file; included files are not read.

    Raises
    ------
    ModelError
        If a line of a set is no list of nodes, of sets before it, or no range.
    """
    deck, block, members = Deck(), "", NodeSet()
    generated = False
    for k, line in enumerate(text.splitlines(), 1):
        if line.startswith("**") or not line.strip():
            continue
        words = [word.strip() for word in line.split(",")]
        if line.startswith("*"):
            block = words[0].upper()
            options = dict(w.upper().replace(" ", "").split("=", 1) for w in words if "=" in w)
            generated = any(word.upper() == "GENERATE" for word in words)
            if block == "*NSET":
                members = deck.sets.setdefault(options.get("NSET", ""), NodeSet())
        elif block == "*NSET" and generated:
            members.ranges.add(_range(list(filter(None, words)), f"{name}:{k}"))
        elif block == "*NSET":
            for word in filter(None, words):
                if other := deck.sets.get(word.upper()):
                    members.nodes |= other.nodes
                    members.ranges |= other.ranges
                else:
                    members.nodes.add(whole_number(word, f"{name}:{k}"))
        elif block == "*DENSITY":
            deck.densities.add(number(words[0], f"{name}:{k}"))
    return deck


def _range(words: list[str], where: str) -> range:
    """Read a generated range of nodes: first, last and, where it is not 1, step."""
    first, last, step = ([whole_number(word, where) for word in words] + [1, 1, 1])[:3]
    if len(words) not in (2, 3) or step < 1 or last < first:
        raise ModelError(
            f"{where}: a generated set must be 'first, last' or 'first, last, step', the step 1 at "
            f"least, got {', '.join(words)[:40]!r}"
        )
    return range(first, last + 1, step)


def mesh_arrays(results: Results, name: str) -> tuple[Integers, Array, Array]:
    """Arrange numbers of nodes (N,), their places (N, 3) and shapes (m, N, 3).

    Raises
    ------
    ModelError
        If a mode lacks nodes, as of a file that was cut off.
    """
    numbers = np.array(sorted(results.nodes), dtype=np.int64)
    for k, shape in enumerate(results.shapes, 1):
        if shape.keys() != results.nodes.keys():
            raise ModelError(
                f"{name}: mode {k} has {len(shape)} of {len(numbers)} nodes: was the file cut off, "
                "or a set of nodes asked for? ask for all"
            )
    places = np.array([results.nodes[n] for n in numbers.tolist()])
    shapes = np.array([[shape[n] for n in numbers.tolist()] for shape in results.shapes])
    return numbers, places, shapes


def mesh_elements(results: Results, numbers: Integers) -> dict[int, Integers]:
    """Arrange the solid elements of a mesh by kind, as rows of nodes (E, n).

    Raises
    ------
    ModelError
        If there are none, or others.
    """
    row = {int(n): k for k, n in enumerate(numbers)}
    kinds: dict[int, list[list[int]]] = {}
    for kind, nodes in results.elements:
        if kind not in SOLIDS or len(nodes) != SOLIDS[kind].count or not set(nodes) <= row.keys():
            raise ModelError(
                f"elements: type {kind} with {len(nodes)} nodes is none of the solids that are "
                "weighed (4 and 10-node tetrahedra, 8 and 20-node bricks)"
            )
        kinds.setdefault(kind, []).append([row[n] for n in nodes])
    if not kinds:
        raise ModelError("elements: there are none to weigh: was the file cut off?")
    return {kind: np.array(rows, dtype=np.int64) for kind, rows in kinds.items()}


def mesh_faces(elements: dict[int, Integers]) -> Integers:
    """List triangles of the surface, as rows of nodes."""
    by_corners: dict[int, list[Integers]] = {}
    for kind, rows in elements.items():
        corners = len(SOLIDS[kind].corners)
        by_corners.setdefault(corners, []).append(rows[:, :corners])
    return np.concatenate([outer_faces(np.concatenate(each)) for each in by_corners.values()])
