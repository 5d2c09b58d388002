"""Standard input data of a flexible body (SID), as text.

Wallrapp 1993: integrals of a body as Taylor series in its amplitudes, in blocks of entries
``m0 (row, column)`` and ``m1 (row, amplitude, column)``.
"""

import re
from dataclasses import dataclass, field

import numpy as np

from flexarm.errors import ModelError
from flexarm.links.base import Array
from flexarm.links.imported.readers.superelements import number, whole_number

BLOCKS = ("mdCM", "J", "Ct", "Cr", "Me", "Gr", "Ge", "Oe", "ksigma", "Ke", "De")
NODE_BLOCKS = ("origin", "phi", "psi", "AP")
ENTRY = re.compile(r"m([01n])\s*\(([^)]*)\)\s*=\s*(\S+)", re.IGNORECASE)
SETTING = re.compile(r"(order|nrow|ncol|nq|nqn|structure)\s*=\s*(-?\d+)", re.IGNORECASE)
SYMMETRIC, UNIT = 2, 4


@dataclass
class Taylor:
    """A matrix at rest (r, c), and its slope by each amplitude (q, r, c)."""

    m0: Array
    m1: Array


@dataclass
class SidFile:
    """The blocks of a file: of the body, and of its nodes by their numbers."""

    mass: float = float("nan")
    amplitudes: int = 0
    blocks: dict[str, Taylor] = field(default_factory=dict)
    nodes: dict[int, dict[str, Taylor]] = field(default_factory=dict)


class _Lines:
    """Lines of a file, read one after the other, with their numbers."""

    def __init__(self, text: str, name: str) -> None:
        self.lines, self.at, self.name = text.splitlines(), 0, name

    def next(self, inside: str) -> str:
        """Return the next line that is not empty."""
        while self.at < len(self.lines):
            self.at += 1
            if line := self.lines[self.at - 1].strip():
                return line
        raise ModelError(f"{self.name}: ends inside '{inside}': was it cut off?")

    @property
    def where(self) -> str:
        """File and number of the line that was read last."""
        return f"{self.name}:{self.at}"

    def refuse(self, why: str) -> ModelError:
        """Return the error for the line that was read last."""
        return ModelError(f"{self.where}: {why}")


def read_sid(text: str, name: str) -> SidFile:
    """Read a file.

    Raises
    ------
    ModelError
        If it is none, is cut off, or has numbers that are none.
    """
    lines, sid = _Lines(text, name), SidFile()
    if not re.fullmatch(r"\d+\s+\d+.*", lines.next("head")) or lines.next("head") != "part":
        raise ModelError(
            f"{name}: is no SID: expected numbers of nodes and amplitudes, then 'part'"
        )
    sid.amplitudes = whole_number(text.split()[1], name)
    if not 1 <= sid.amplitudes <= 100:
        raise ModelError(f"{name}: must have 1 to 100 amplitudes, got {sid.amplitudes}")
    while (line := lines.next("part")) != "end part":
        if line == "refmod":
            _read_refmod(lines, sid)
        elif line.startswith("new node"):
            _read_node(lines, sid, line)
        elif line in BLOCKS:
            sid.blocks[line] = _read_block(lines, line, sid.amplitudes)
        elif not line.startswith(("new modal", "end modal", "frame", "end frame")):
            raise lines.refuse(f"is no part of a SID: {line[:40]!r}")
    missing = [block for block in BLOCKS if block not in sid.blocks and block != "ksigma"]
    if missing:
        raise ModelError(f"{name}: has no {', '.join(missing)}: was it cut off?")
    return sid


def _read_refmod(lines: _Lines, sid: SidFile) -> None:
    while (line := lines.next("refmod")) != "end refmod":
        key, _, value = (part.strip() for part in line.partition("="))
        if key == "mass":
            sid.mass = number(value, lines.where)
        elif key == "nelastq" and value != str(sid.amplitudes):
            raise lines.refuse(f"nelastq: must be {sid.amplitudes} as in the head, got {value}")


def _read_node(lines: _Lines, sid: SidFile, head: str) -> None:
    node = sid.nodes.setdefault(whole_number(head.partition("=")[2], lines.where), {})
    while (line := lines.next("node")) != "end node":
        if line in NODE_BLOCKS:
            node[line] = _read_block(lines, line, sid.amplitudes)
        elif line == "sigma":
            _read_block(lines, line, sid.amplitudes)
        elif not line.startswith("rframe"):
            raise lines.refuse(f"is no part of a node: {line[:40]!r}")


def _read_block(lines: _Lines, name: str, amplitudes: int) -> Taylor:
    """Read the matrices of a block; missing entries are zero."""
    size = {"nrow": 0, "ncol": 0, "nq": 0, "structure": 3}
    entries: list[tuple[str, list[int], float]] = []
    while (line := lines.next(name)) != f"end {name}":
        if setting := SETTING.fullmatch(line):
            size[setting[1].lower()] = whole_number(setting[2], lines.where)
        elif entry := ENTRY.fullmatch(line):
            at = [whole_number(x, lines.where) for x in re.split(r"[,\s]+", entry[2].strip())]
            entries.append((entry[1], at, number(entry[3], lines.where)))
        else:
            raise lines.refuse(f"is no entry of {name}: {line[:40]!r}")
    rows, columns, most = size["nrow"], size["ncol"], max(3 * amplitudes, 6)
    if not (0 <= rows <= most and 0 <= columns <= most):
        raise lines.refuse(f"{name}: is {rows} x {columns}, at most {most} x {most}")
    series = Taylor(np.zeros((rows, columns)), np.zeros((amplitudes, rows, columns)))
    if size["structure"] == UNIT:
        np.fill_diagonal(series.m0, 1.0)
    for kind, at, value in entries:
        shape = (rows, columns) if kind == "0" else (rows, amplitudes, columns)
        if kind.lower() == "n" or len(at) != len(shape) or not _inside(at, shape):
            raise lines.refuse(f"{name}: m{kind}{tuple(at)} is outside of {shape}")
        where = [k - 1 for k in at]
        matrix = series.m0 if kind == "0" else series.m1[where.pop(1)]
        matrix[where[0], where[1]] = value
        if size["structure"] == SYMMETRIC and _inside(at[::-1], shape):
            matrix[where[1], where[0]] = value
    return series


def _inside(at: list[int], shape: tuple[int, ...]) -> bool:
    return all(1 <= k <= n for k, n in zip(at, shape, strict=True))
