"""Modal data of a body, the common form of all file formats, and the report on a file."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from flexarm.constants import DUST
from flexarm.errors import ModelError
from flexarm.io.source import Diagnostic, Path, Position, report, show_path
from flexarm.links.imported.constants import NOTE_ABOVE, REFUSE_ABOVE
from flexarm.links.integrals import Integrals
from flexarm.spatial import IDENTITY, Array, Pose, skew_matrix


def percent(ratio: float) -> str:
    """Return a ratio as text in per cent."""
    return f"{100 * ratio:.2g} %" if ratio < 1 else f"{100 * ratio:,.0f} %"


def triple(values: Iterable[float]) -> str:
    """Return numbers as text such as ``(1, 0, 0)``."""
    return "(" + ", ".join(f"{value + 0.0:.6g}" for value in values) + ")"


@dataclass
class Findings:
    """Facts, notes and errors found in a file of modal data; a file with errors is refused."""

    file: str  # name of the file
    title: str = ""  # name of the body
    # Names of the keys in the file; dictionary keys are their names in the plain form.
    keys: Mapping[str, str] = field(default_factory=dict)
    # Function that returns the position of a value in the file, if the file is text.
    place: Callable[[Path], Position] | None = None
    facts: list[tuple[str, str]] = field(default_factory=list)  # pairs of label and text
    notes: list[str] = field(default_factory=list)  # warnings
    problems: list[tuple[Path, str]] = field(default_factory=list)  # reasons to refuse the file

    def fact(self, label: str, text: str) -> None:
        """Add a line with a label and a text to the report."""
        self.facts.append((label, text))

    def refuse(self, path: Path, message: str) -> None:
        """Add an error about the value at ``path`` of the file, so that the file is refused."""
        self.problems.append((self._file_path(path), message))

    def judge(self, difference: float, path: Path, message: str) -> None:
        """Add an error for a relative difference above REFUSE_ABOVE, or a note above NOTE_ABOVE."""
        if not difference <= REFUSE_ABOVE:
            self.refuse(path, message)
        elif difference > NOTE_ABOVE:
            self.note(path, message)

    def note(self, path: Path, message: str) -> None:
        """Add a note about the value at ``path``, or about the whole file if the path is empty."""
        self.notes.append(f"{show_path(self._file_path(path))}: {message}" if path else message)

    @property
    def errors(self) -> list[str]:
        """Error messages ``file:line:column: key: reason``; empty if the file is accepted."""
        if self.place is None:
            return [f"{self.file}: {show_path(path)}: {message}" for path, message in self.problems]
        diagnostics = [
            Diagnostic(self.place(path), path, message) for path, message in self.problems
        ]
        return report(self.file, diagnostics).splitlines()

    def refusal(self) -> ModelError:
        """Return a ModelError that lists all errors."""
        return ModelError("\n".join(self.errors))

    def lines(self) -> list[str]:
        """Return the report as lines of text."""
        width = max((len(label) for label, _ in self.facts), default=0)
        return [
            f"{self.file}: {self.title}",
            *(f"  {label:<{width}}  {text}" for label, text in self.facts),
            *(f"  note: {note}" for note in self.notes),
            *(f"  error: {error}" for error in self.errors),
        ]

    def _file_path(self, path: Path) -> Path:
        return (self.keys.get(str(path[0]), path[0]), *path[1:]) if path else path


Integers = npt.NDArray[np.int64]
Units = tuple[float, float, float]  # units of length, mass and time, in SI units
Stated = tuple[float | None, Array | None, Array | None]  # mass, centre, inertia about the origin
Matrix = Any  # an array, or a SciPy sparse matrix, which has no type information
MASS_REQUIRED = (
    "is required, (N,), or mass_indptr, mass_indices, mass_data of the upper triangle of the "
    "consistent mass"
)


def no_nodes() -> Integers:
    """Return an empty array of node indices."""
    return np.zeros(0, dtype=np.int64)


def no_lines(corners: int = 2) -> Integers:
    """Return an empty array of node pairs, or with ``corners`` = 3 of triangles, (0, corners)."""
    return np.zeros((0, corners), dtype=np.int64)


def no_shapes() -> Array:
    """Return an empty array of nodal displacements, (0, 0, 3)."""
    return np.zeros((0, 0, 3))


@dataclass(frozen=True, eq=False)
class FrameData:
    """Named frame of a body at which a link can be carried, in the axes of the file."""

    # Pose of the frame; None for a frame at the mean of its nodes, in the axes of the hub.
    pose: Pose | None = None
    # indices of the nodes that move with the frame
    nodes: Integers = field(default_factory=no_nodes)
    shapes: Array | None = None  # displacement and rotation of the frame, (m, 6)


@dataclass(frozen=True, eq=False)
class ModalData:
    """Modal data of a body with N nodes and m shapes, in SI units and the axes of the file.

    A superelement has neither nodes nor shapes: the rows of its matrices are motions of hub (6) and
    tip (6), then fixed-interface modes. A finite-element model before reduction has nodes but no
    shapes: the rows of its matrices are displacements of the nodes. Optional attributes are None if
    the file does not contain them.
    """

    name: str
    names: tuple[str, ...]  # names of the shapes
    nodes: Array  # positions of the nodes [m], (N, 3)
    node_mass: Matrix = None  # masses of the nodes [kg], lumped (N,) or consistent (N, N)
    node_inertia: Array | None = None  # rotary inertia of the nodes [kg m^2], (N, 3, 3)
    # Whether node_mass and node_inertia are per length of the line through the nodes, and vary
    # linearly between nodes.
    per_length: bool = False
    shapes: Array = field(default_factory=no_shapes)  # displacement of the nodes, (m, N, 3)
    rotations: Array | None = None  # rotation of the nodes, (m, N, 3)
    stiffness: Matrix = None  # stiffness matrix K of the amplitudes, (m, m)
    mass: Array | None = None  # mass matrix M of the amplitudes, (m, m)
    damping: Array | None = None  # damping matrix D of the amplitudes, (m, m)
    hertz: Array | None = None  # frequencies [Hz] of shapes that are modes, in place of K, (m,)
    ratios: Array | None = None  # damping ratios of modes, in place of D, (m,)
    hub: Pose | None = None  # interface frame at the hub
    # Interface frame at the tip; None for a frame at the mean of the tip's nodes.
    tip: Pose | None = None
    hub_shapes: Array | None = None  # displacement and rotation of the hub frame, (m, 6)
    tip_shapes: Array | None = None  # displacement and rotation of the tip frame, (m, 6)
    # Indices of the nodes that move rigidly with the hub frame, or the tip frame; empty if unknown.
    hub_nodes: Integers = field(default_factory=no_nodes)
    tip_nodes: Integers = field(default_factory=no_nodes)
    # Named frames beside hub and tip.
    frames: Mapping[str, FrameData] = field(default_factory=dict)
    # Total mass, centre (3,) and inertia about the origin (3, 3) stated by the program.
    stated: Stated = (None, None, None)
    lines: Integers = field(default_factory=no_lines)  # pairs of nodes, drawn as lines, (k, 2)
    faces: Integers = field(default_factory=lambda: no_lines(3))  # triangles of nodes, (f, 3)
    strains: Array | None = None  # strain at P positions in the shapes, (m, P)
    k_sigma: Array | None = None  # stiffness due to the stress of each unit load, (18, m, m)
    k_u: Array | None = None  # stiffness due to the displacement by each unit load, (18, m, m)
    units: Units = (1.0, 1.0, 1.0)  # units of the file, in SI units

    def in_hub_frame(self) -> "ModalData":
        """Return the data in the axes of the hub frame, with the hub's position as origin."""
        hub = self.hub or IDENTITY
        rotation, (total, centre, inertia) = hub.rotation, self.stated
        tip = self._posed(self.tip, self.tip_nodes)
        frames = {
            name: FrameData(
                None if pose is None else hub.inverse() @ pose,
                frame.nodes,
                None if frame.shapes is None else turned_motions(frame.shapes, rotation),
            )
            for name, frame in self.frames.items()
            for pose in (self._posed(frame.pose, frame.nodes),)
        }
        return replace(
            self,
            nodes=(self.nodes - hub.position) @ rotation,
            node_inertia=None
            if self.node_inertia is None
            else np.einsum("ka,nkl,lb->nab", rotation, self.node_inertia, rotation, optimize=True),
            shapes=_turned(self.shapes, rotation),
            rotations=None if self.rotations is None else _turned(self.rotations, rotation),
            hub=IDENTITY,
            tip=None if tip is None else hub.inverse() @ tip,
            hub_shapes=None
            if self.hub_shapes is None
            else turned_motions(self.hub_shapes, rotation),
            tip_shapes=None
            if self.tip_shapes is None
            else turned_motions(self.tip_shapes, rotation),
            frames=frames,
            stated=(
                total,
                None if centre is None else (centre - hub.position) @ rotation,
                None
                if inertia is None or np.any(hub.position)
                else rotation.T @ inertia @ rotation,
            ),
        )

    def _posed(self, pose: Pose | None, nodes: Integers) -> Pose | None:
        """Return a frame's pose; without one, a pose at the mean of its nodes, if there are any."""
        if pose is not None or not len(nodes):
            return pose
        return Pose((self.hub or IDENTITY).rotation, self.nodes[nodes].mean(axis=0))

    def integrals(self) -> Integrals:
        """Compute the mass moments ``[1, X, phi_1 ..]^T m [1, X, phi_1 ..]`` and rotary inertia.

        The modal mass is computed from nodes and shapes; the stiffness in the result is 0.
        """
        shapes, count = self.shapes.transpose(1, 2, 0), len(self.nodes)
        angles = 0 * shapes if self.rotations is None else self.rotations.transpose(1, 2, 0)
        inertia = np.zeros((count, 3, 3)) if self.node_inertia is None else self.node_inertia
        return Integrals.of_points(self.node_mass, self.nodes, shapes, inertia, angles)


def _turned(vectors: Array, rotation: Array) -> Array:
    """Return shape vectors (m, N, 3) in rotated axes, which are the columns of ``rotation``."""
    rotated = vectors @ rotation
    size = np.abs(rotated).max(axis=(1, 2), initial=0.0, keepdims=True)
    return np.where(np.abs(rotated) <= DUST * size, 0.0, rotated)


def turned_motions(motions: Array, rotation: Array) -> Array:
    """Return displacements and rotations (m, 6) of a frame in axes rotated by ``rotation``."""
    return np.asarray(motions @ np.kron(np.eye(2), rotation))


def rigid_columns(positions: Array) -> Array:
    """Return displacements of N points per translation and rotation about the origin, (N, 3, 6)."""
    columns = np.zeros((len(positions), 3, 6))
    columns[:, :, :3] = np.eye(3)
    for axis, unit in enumerate(np.eye(3)):
        columns[:, :, 3 + axis] = np.cross(unit, positions)
    return columns


def rigid_fit(positions: Array, origin: Array, displacements: Array) -> tuple[Array, Array]:
    """Fit rigid-body motions to displacements (m, n, 3) of n points (n, 3) by least squares.

    Returns
    -------
    motions, residuals
        Displacement of the origin and rotation, (m, 6); the largest residual per shape, (m,).
    """
    columns = rigid_columns(positions - origin).reshape(-1, 6)
    rows = displacements.reshape(len(displacements), -1)
    motions = np.linalg.lstsq(columns, rows.T, rcond=1e-10)[0]
    residuals = rows - (columns @ motions).T
    return np.asarray(motions.T, dtype=np.float64), np.abs(residuals).max(axis=1, initial=0.0)


def spans_a_frame(positions: Array) -> bool:
    """Return whether points (n, 3) determine a rotation: three at least, not collinear."""
    if len(positions) < 3:
        return False
    sizes = np.linalg.svd(positions - positions.mean(axis=0), compute_uv=False)
    return bool(sizes[1] > 1e-6 * max(float(sizes[0]), 1e-300))


def shifted(motions: Array, offset: Array) -> Array:
    """Return the motions (m, 6) of a point at an offset from a frame with motions (m, 6)."""
    translations = motions[:, :3] - motions[:, 3:] @ skew_matrix(offset).T
    return np.hstack([translations, motions[:, 3:]])
