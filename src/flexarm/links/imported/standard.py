"""Bodies from standard input data (SID) files: parsing, mass integrals and consistency."""

import re
from dataclasses import dataclass, field

import numpy as np

from flexarm.constants import NEGLIGIBLE
from flexarm.errors import ModelError
from flexarm.links.imported.body import (
    ReducedBody,
    SecondOrder,
    check_second_order,
    drawn_points,
    straight_axis,
)
from flexarm.links.imported.checks import check_matrix
from flexarm.links.imported.constants import NOTE_ABOVE
from flexarm.links.imported.data import Findings, no_lines, percent
from flexarm.links.imported.examine import finished
from flexarm.links.imported.readers.superelements import number, whole_number
from flexarm.links.integrals import Integrals
from flexarm.spatial import Array, Pose, axial_vectors

BLOCKS = ("mdCM", "J", "Ct", "Cr", "Me", "Gr", "Ge", "Oe", "ksigma", "Ke", "De")
NODE_BLOCKS = ("origin", "phi", "psi", "AP")
ENTRY = re.compile(r"m([01n])\s*\(([^)]*)\)\s*=\s*(\S+)", re.IGNORECASE)
SETTING = re.compile(r"(order|nrow|ncol|nq|nqn|structure)\s*=\s*(-?\d+)", re.IGNORECASE)
SYMMETRIC, UNIT = 2, 4


@dataclass
class Taylor:
    """Matrix of a SID block as a linear function of q amplitudes: value m0 and derivatives m1.

    The shapes are (r, c) and (q, r, c).
    """

    m0: Array
    m1: Array


@dataclass
class SidFile:
    """Contents of a SID file: blocks of the body, and blocks of each node by node number."""

    mass: float = float("nan")
    amplitudes: int = 0
    blocks: dict[str, Taylor] = field(default_factory=dict)
    nodes: dict[int, dict[str, Taylor]] = field(default_factory=dict)


class _Lines:
    """Sequential reader of the non-empty lines of a file, with line numbers."""

    def __init__(self, text: str, name: str) -> None:
        self.lines, self.at, self.name = text.splitlines(), 0, name

    def next(self, inside: str) -> str:
        """Return the next non-empty line; raise ModelError at the end of the file."""
        while self.at < len(self.lines):
            self.at += 1
            if line := self.lines[self.at - 1].strip():
                return line
        raise ModelError(f"{self.name}: the file ends inside '{inside}'. Was it cut off?")

    @property
    def where(self) -> str:
        """File name and number of the last line read, as ``file:line``."""
        return f"{self.name}:{self.at}"

    def refuse(self, reason: str) -> ModelError:
        """Return a ModelError about the last line read."""
        return ModelError(f"{self.where}: {reason}")


def read_sid(text: str, name: str) -> SidFile:
    """Parse the text of a SID file.

    Raises
    ------
    ModelError
        If the text is no SID file, is truncated, or has invalid numbers.
    """
    lines, sid = _Lines(text, name), SidFile()
    if not re.fullmatch(r"\d+\s+\d+.*", lines.next("head")) or lines.next("head") != "part":
        raise ModelError(
            f"{name}: is not a SID file. It must begin with numbers of nodes and amplitudes, "
            "then 'part'."
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
            raise lines.refuse(f"the line is not part of a SID: {line[:40]!r}")
    missing_blocks = [block for block in BLOCKS if block not in sid.blocks and block != "ksigma"]
    if missing_blocks:
        raise ModelError(f"{name}: has no {', '.join(missing_blocks)}. Was it cut off?")
    return sid


def _read_refmod(lines: _Lines, sid: SidFile) -> None:
    while (line := lines.next("refmod")) != "end refmod":
        key, _, value = (part.strip() for part in line.partition("="))
        if key == "mass":
            sid.mass = number(value, lines.where)
        elif key == "nelastq" and value != str(sid.amplitudes):
            raise lines.refuse(
                f"nelastq: must be {sid.amplitudes}, the number in the head of "
                f"the file, got {value}"
            )


def _read_node(lines: _Lines, sid: SidFile, head: str) -> None:
    node = sid.nodes.setdefault(whole_number(head.partition("=")[2], lines.where), {})
    while (line := lines.next("node")) != "end node":
        if line in NODE_BLOCKS:
            node[line] = _read_block(lines, line, sid.amplitudes)
        elif line == "sigma":
            _read_block(lines, line, sid.amplitudes)
        elif not line.startswith("rframe"):
            raise lines.refuse(f"the line is not part of a node: {line[:40]!r}")


def _read_block(lines: _Lines, name: str, amplitudes: int) -> Taylor:
    """Return the Taylor series of the block that starts at the next line; missing entries are 0."""
    settings = {"nrow": 0, "ncol": 0, "nq": 0, "structure": 3}
    entries: list[tuple[str, list[int], float]] = []
    while (line := lines.next(name)) != f"end {name}":
        if setting := SETTING.fullmatch(line):
            settings[setting[1].lower()] = whole_number(setting[2], lines.where)
        elif entry := ENTRY.fullmatch(line):
            indices = [whole_number(x, lines.where) for x in re.split(r"[,\s]+", entry[2].strip())]
            entries.append((entry[1], indices, number(entry[3], lines.where)))
        else:
            raise lines.refuse(f"the line is not an entry of {name}: {line[:40]!r}")
    rows, columns, largest = settings["nrow"], settings["ncol"], max(3 * amplitudes, 6)
    if not (0 <= rows <= largest and 0 <= columns <= largest):
        raise lines.refuse(f"{name}: is {rows} x {columns}, more than {largest} x {largest}")
    series = Taylor(np.zeros((rows, columns)), np.zeros((amplitudes, rows, columns)))
    if settings["structure"] == UNIT:
        np.fill_diagonal(series.m0, 1.0)
    for kind, indices, value in entries:
        shape = (rows, columns) if kind == "0" else (rows, amplitudes, columns)
        if kind.lower() == "n" or len(indices) != len(shape) or not _inside(indices, shape):
            raise lines.refuse(f"{name}: m{kind}{tuple(indices)} is outside of the shape {shape}")
        position = [k - 1 for k in indices]
        matrix = series.m0 if kind == "0" else series.m1[position.pop(1)]
        matrix[position[0], position[1]] = value
        if settings["structure"] == SYMMETRIC and _inside(indices[::-1], shape):
            matrix[position[1], position[0]] = value
    return series


def _inside(indices: list[int], shape: tuple[int, ...]) -> bool:
    return all(1 <= k <= n for k, n in zip(indices, shape, strict=True))


# Products of angular velocities, in the order of block Oe.
SPINS = ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (0, 2))
SHAPES = {"mdCM": (3, 1), "J": (3, 3), "Ct": (0, 3), "Cr": (0, 3), "Me": (0, 0), "Gr": (3, -3),
          "Ge": (0, -3), "Oe": (0, 6), "Ke": (0, 0), "De": (0, 0)}  # fmt: skip


def examine_sid(
    sid: SidFile, name: str, findings: Findings, hub: int | None, tip: int | None
) -> ReducedBody | None:
    """Check standard input data and return a body whose hub is the SID reference frame.

    Parameters
    ----------
    sid, name
        Contents of the file, and a name for the body.
    hub, tip
        Numbers of the interface nodes.  A ``hub`` node must be at rest at the reference frame;
        ``tip`` may be None if only one node is away from the reference frame.
    """
    if not _sizes(sid, findings) or not _interfaces(sid, findings, hub, tip):
        return None
    tip_node = sid.nodes[tip if tip is not None else max(sid.nodes, key=lambda k: _reach(sid, k))]
    frame = Pose(tip_node["AP"].m0 if "AP" in tip_node else np.eye(3), tip_node["origin"].m0[:, 0])
    integrals, second = _moments(sid, findings)
    if findings.problems:
        return None
    m = sid.amplitudes
    tips = np.vstack([tip_node["phi"].m0, tip_node["psi"].m0]).T
    second_order = SecondOrder(
        *second, *(_symmetric(tip_node[key].m1.transpose(1, 2, 0)) for key in ("phi", "psi"))
    )
    has_second_order = any(np.any(value) for value in vars(second_order).values())
    damping = check_matrix(findings, "De", sid.blocks["De"].m0, definite=False)
    positions = np.array([value["origin"].m0[:, 0] for value in sid.nodes.values()])
    shapes = np.array([value["phi"].m0 for value in sid.nodes.values()]).transpose(2, 0, 1)
    display = straight_axis(frame, tips)
    if len(positions) > 2:
        display = drawn_points(positions, shapes, no_lines(), no_lines(3), frame, tips)
    body = ReducedBody(
        name, tuple(f"mode{k}" for k in range(1, m + 1)), integrals, frame, tips[:, :3].T.copy(),
        tips[:, 3:].T.copy(), damping if np.any(damping) else None, False, display, None,
        second_order if has_second_order else None,
    )  # fmt: skip
    if has_second_order:
        check_second_order(findings, second_order, integrals, frame, complete=True)
    diagonal = np.diag(np.diag(integrals.stiffness))
    return finished(body, findings, ("Ke",), modal=bool(np.all(integrals.stiffness == diagonal)))


def _sizes(sid: SidFile, findings: Findings) -> bool:
    """Return whether all blocks have the sizes that the amplitudes require; add errors if not.

    Empty blocks are replaced by zeros.
    """
    m = sid.amplitudes
    shapes_of_blocks = {
        key: tuple({0: m, -3: 3 * m}.get(n, n) for n in shape) for key, shape in SHAPES.items()
    }
    for key, shape in shapes_of_blocks.items():
        block = sid.blocks[key]
        if block.m0.shape == (0, 0) or (key == "De" and block.m0.shape != shape):
            sid.blocks[key] = Taylor(np.zeros(shape), np.zeros((m, *shape)))
        elif block.m0.shape != shape:
            findings.refuse((key,), f"must have {shape} entries, got {block.m0.shape}")
    for node_number, node in sid.nodes.items():
        for key, shape in (("origin", (3, 1)), ("phi", (3, m)), ("psi", (3, m))):
            if key not in node or node[key].m0.shape != shape:
                findings.refuse((f"node {node_number}", key), f"must be there with {shape} entries")
    return not findings.problems


def _reach(sid: SidFile, number: int) -> float:
    return float(np.linalg.norm(sid.nodes[number]["origin"].m0))


def _interfaces(sid: SidFile, findings: Findings, hub: int | None, tip: int | None) -> bool:
    """Return whether hub and tip nodes exist, the hub is at rest and the tip is unambiguous."""
    numbers = ", ".join(map(str, sorted(sid.nodes)[:12]))
    for key, node_number in (("--hub-node", hub), ("--tip-node", tip)):
        if node_number is not None and node_number not in sid.nodes:
            findings.refuse(
                (key,), f"must be a node of the file, got {node_number}: there are {numbers}"
            )
    if tip is None and sum(_reach(sid, k) > 0 for k in sid.nodes) != 1:
        findings.refuse(("--tip-node",), f"is required: there are nodes {numbers}")
    if findings.problems or hub is None:
        return not findings.problems
    size = max(float(np.abs(node["phi"].m0).max()) for node in sid.nodes.values())
    hub_moves = float(np.abs(sid.nodes[hub]["phi"].m0).max()) > NEGLIGIBLE * size
    if hub_moves or _reach(sid, hub) > NEGLIGIBLE * max(_reach(sid, k) for k in sid.nodes):
        findings.refuse(
            ("--hub-node",),
            f"node {hub} moves, or is away from the reference frame. Export the body "
            "with its frame fixed to the hub (tangent frame, hub held).",
        )
    return not findings.problems


def _moments(sid: SidFile, findings: Findings) -> tuple[Integrals, tuple[Array, Array]]:
    """Return the mass integrals of a SID body, and two first moments of displacements X.

    The displacements X are of second order in the amplitudes.
    """
    b, m = sid.blocks, sid.amplitudes
    shape = b["Ct"].m0.T.copy()
    _agree(findings, "mdCM", b["mdCM"].m1[:, :, 0].T, shape, "Ct")
    cross = -b["Gr"].m0.reshape(3, m, 3).transpose(1, 0, 2) / 2  # int r~ phi~
    _agree(findings, "J", b["J"].m1, -cross - cross.transpose(0, 2, 1), "Gr")
    products = [cross[:, a, b] + (cross[:, b, a] if a != b else 0.0) for a, b in SPINS]
    _agree(findings, "Oe", b["Oe"].m0, np.stack(products, axis=1), "Gr")
    position = _product(cross)
    _agree(findings, "Cr", b["Cr"].m0, axial_vectors(position), "Gr")
    total = _symmetric_parts(b["Oe"].m1) + _antisymmetric_parts(b["Cr"].m1)
    pairs = _shape_pairs(sid, findings, total)
    modal = check_matrix(findings, "Me", b["Me"].m0, definite=True)
    stiffness = check_matrix(findings, "Ke", b["Ke"].m0, definite=False)
    if not sid.mass > 0:
        findings.refuse(("mass",), f"must be > 0, got {sid.mass:g}")
    inertia = (b["J"].m0 + b["J"].m0.T) / 2
    integrals = Integrals(
        sid.mass, b["mdCM"].m0[:, 0].copy(), np.trace(inertia) / 2 * np.eye(3) - inertia, shape,
        position, pairs, np.zeros((3, 3)), (b["Cr"].m0 - axial_vectors(position)).T,
        modal - np.einsum("ijaa->ij", pairs), modal, stiffness,
    )  # fmt: skip
    first = _symmetric(b["Ct"].m1.transpose(2, 1, 0))
    return integrals, (first, _symmetric((total - pairs).transpose(3, 2, 0, 1)))


def _shape_pairs(sid: SidFile, findings: Findings, total: Array) -> Array:
    """Return ``int phi_i phi_j^T dm``, (m, m, 3, 3), from Gr, or else from Oe and the modal mass.

    Gr and Oe are blocks of the SID file.
    """
    m, b = sid.amplitudes, sid.blocks
    angular = b["Ge"].m0.reshape(m, m, 3).transpose(1, 0, 2) / 2
    if np.any(b["Gr"].m1):
        cross = -b["Gr"].m1.reshape(m, 3, m, 3).transpose(0, 2, 1, 3) / 2
        pairs = _product(cross)
        _agree(findings, "Ge", angular, axial_vectors(pairs), "Gr")
        size = np.sqrt(np.maximum(np.diag(b["Me"].m0), 1e-300))
        asymmetry = np.abs(pairs - pairs.transpose(1, 0, 3, 2)).max(axis=(2, 3)) / np.outer(
            size, size
        )
        difference = float(asymmetry.max())
        findings.judge(
            difference, ("Gr",), f"m1 is {percent(difference)} of Me off being symmetric in the "
                            "amplitudes. Is the file complete?",
        )  # fmt: skip
        return pairs
    symmetric_part = (total + total.swapaxes(2, 3)) / 2
    remainder = b["Me"].m0 - np.einsum("ijaa->ij", symmetric_part)
    if np.abs(remainder).max() > NOTE_ABOVE * np.abs(b["Me"].m0).max():
        findings.note(
            ("Gr",),
            "has no m1, so the stiffening by loads cannot be separated in Oe. It is "
            "included with 'stiffening: false' too.",
        )
    return np.asarray(
        symmetric_part + remainder[:, :, None, None] * np.eye(3) / 3 + _antisymmetric_parts(angular)
    )


def _agree(findings: Findings, key: str, block: Array, expected: Array, other: str) -> None:
    """Add a note or an error if a block of the file contradicts values from another block."""
    size = max(float(np.abs(expected).max(initial=0.0)), 1e-300)
    difference = float(np.abs(block - expected).max(initial=0.0)) / size
    if np.any(block) and difference > NOTE_ABOVE:
        findings.judge(
            difference,
            (key,),
            f"is {percent(difference)} off what {other} says. Are rows and columns as in the "
            "standard, and is the file complete?",
        )


def _product(cross: Array) -> Array:
    """Return ``int a b^T``, (.., 3, 3), from ``int a~ b~ = int b a^T - (a.b) 1``.

    Here ``a~`` is the cross-product matrix of the vector a.
    """
    trace = -np.trace(cross, axis1=-2, axis2=-1) / 2
    return np.asarray(cross.swapaxes(-1, -2) + trace[..., None, None] * np.eye(3))


def _symmetric_parts(products: Array) -> Array:
    """Convert coefficients of velocity products, (q, m, 6), to symmetric mass integrals."""
    symmetric_part = np.zeros((*products.shape[:2], 3, 3))
    xx, yy, zz = (products[:, :, k] for k in range(3))
    for k, others in enumerate((yy + zz, zz + xx, xx + yy)):
        symmetric_part[:, :, k, k] = (products[:, :, k] - others) / 2
    for k, (a, b) in enumerate(SPINS[3:], 3):
        symmetric_part[:, :, a, b] = symmetric_part[:, :, b, a] = products[:, :, k] / 2
    return symmetric_part


def _antisymmetric_parts(angular: Array) -> Array:
    """Convert angular momentum coefficients, (q, m, 3), to antisymmetric mass integrals."""
    antisymmetric_part = np.zeros((*angular.shape[:2], 3, 3))
    for axis in range(3):
        a, b = (axis + 1) % 3, (axis + 2) % 3
        antisymmetric_part[:, :, a, b] = angular[:, :, axis] / 2
        antisymmetric_part[:, :, b, a] = -angular[:, :, axis] / 2
    return antisymmetric_part


def _symmetric(x: Array) -> Array:
    """Return the part of an array (.., m, m) that is symmetric in the amplitudes."""
    return np.asarray((x + x.swapaxes(-1, -2)) / 2)
