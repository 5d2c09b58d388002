"""Loading of runs from NetCDF files, with protection against malicious contents.

The files are HDF5 files. Every size is checked before data are read. Variables are read by name,
and only if they are stored in the file itself. No link is followed, and no other file is opened.
"""

import json
import mmap
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast, get_args

import h5py  # type: ignore[import-untyped]
import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter

from flexarm.arguments import require_path
from flexarm.arm import Arm
from flexarm.arm.constants import MOST_FILE_BYTES, MOST_TOTAL_BYTES
from flexarm.arm.side_files import SideFiles
from flexarm.constants import DUST
from flexarm.errors import FlexarmError, ModelError, ShapeError
from flexarm.formulations import FORMULATIONS
from flexarm.io.model_file import parse
from flexarm.model import LinkTheory, Model, TipRotation, build
from flexarm.runs.constants import (
    LARGEST_NUMBER,
    MOST_READ_SAMPLES,
    MOST_TEXT,
    MOST_UNPACKED,
    MOST_WORDS,
    ROTATION_ERROR,
    UNPACKED_RATIO,
)
from flexarm.runs.contents import (
    CHECKSUMS,
    ENERGIES,
    FILE,
    FORMAT,
    IMPULSE,
    MOMENTUM,
    WORKS,
    attribute_checksum,
    input_units,
    reference_names,
    variable_checksum,
)
from flexarm.runs.data import DriveData, EventRecord, PendingEvent, RunPhase, Statistics
from flexarm.runs.run import Run
from flexarm.spatial import Array, Inertia

T = TypeVar("T")
REMEDY = "The file is damaged, or was not written by flexarm. Simulate the arm again."
KINDS = "It is cut off, damaged or of another kind. Runs are written by 'flexarm simulate --out'."
_FILTERS = {h5py.h5z.FILTER_DEFLATE, h5py.h5z.FILTER_SHUFFLE, h5py.h5z.FILTER_FLETCHER32}
_HEAP = b"GCOL\x01\0\0\0"
_ERRORS = (OSError, RuntimeError, ValueError, KeyError, TypeError, OverflowError, MemoryError)


@contextmanager
def open_stored(path: Path) -> Iterator["Stored"]:
    """Open a NetCDF file for a ``with`` block; use it within `explained`.

    Raises
    ------
    FlexarmError
        If the file is no NetCDF file, or cannot be read.
    """
    with explained(path):
        if not path.is_file():
            raise FlexarmError(f"{path}: there is no such file")
        file = h5py.File(path, "r")
    with file:
        stored = Stored(path, file, path.stat().st_size)
        with explained(path):
            stored.refuse_ballast()  # before other parts of the file are read
            _check_heaps(path)
        yield stored


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Convert errors of HDF5 in a ``with`` block into a `FlexarmError` of one line."""
    try:
        yield
    except PermissionError:
        raise FlexarmError(
            f"{path}: the file cannot be read, since you have no permission"
        ) from None
    except _ERRORS:
        raise FlexarmError(f"{path}: cannot be read as a NetCDF file. {KINDS}") from None


def _check_heaps(path: Path) -> None:
    """Raise an error for an HDF5 global heap that would make the library loop endlessly.

    Raises
    ------
    ValueError
        If a heap has free space of size 0, or heaps overlap.

    Notes
    -----
    A global heap collection of the HDF5 file format, III.E, starts with its signature, version and
    size; each object in it with index, references and size. Free space has index 0 and a size that
    includes its header, so that HDF5 never advances past free space of size 0.
    """
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        objects_left = len(data) // 16  # objects that fit into the file, once each
        start = data.find(_HEAP)
        while start >= 0:
            offset, end = (
                start + 16,
                start + int.from_bytes(data[start + 8 : start + 16], "little"),
            )
            while offset + 16 <= min(end, len(data)):
                index = int.from_bytes(data[offset : offset + 2], "little")
                size = int.from_bytes(data[offset + 8 : offset + 16], "little")
                if not index and size < 16:
                    raise ValueError("a collection does not end")
                objects_left -= 1
                if objects_left < 0:
                    raise ValueError("collections overlap")
                offset += size if not index else 16 + (size + 7) // 8 * 8
            start = data.find(_HEAP, start + 1)


@dataclass(frozen=True)
class Stored:
    """An open NetCDF file with its path and size [bytes]."""

    path: Path
    file: Any
    size: int

    def refuse_ballast(self) -> None:
        """Raise an error if a large part of the file belongs to no variable.

        Texts are stored outside the variables and are read before their sizes are known, so such
        data could exhaust the memory.
        """
        hard = h5py.HardLink
        members = [self.file[name] for name in self.file
                   if isinstance(self.file.get(name, getlink=True), hard)]  # fmt: skip
        stored_size = sum(
            member.id.get_storage_size() for member in members if isinstance(member, h5py.Dataset)
        )
        if self.size - stored_size > MOST_UNPACKED:
            raise FlexarmError(
                f"{self.path}: has {self.size - stored_size:,} bytes besides its variables. "
                f"{REMEDY}"
            )

    def has(self, name: str) -> bool:
        """Return whether the file has a variable named ``name``."""
        return name in self.file

    def is_run(self, version: int) -> bool:
        """Return whether the file is a run in a given version of the format."""
        try:
            return self.number("flexarm_run", whole=True) == version
        except FlexarmError:
            return False

    def numbers(self, name: str, shape: Sequence[int]) -> Array:
        """Return a variable of finite numbers; raise an error if it has another shape."""
        variable = self._variable(name)
        if variable.shape != tuple(shape):
            raise self.wrong(name, f"must be numbers of shape {tuple(shape)}, got {variable.shape}")
        if variable.dtype.kind != "f" or variable.dtype.itemsize not in (4, 8):
            raise self.wrong(name, f"must be floating-point numbers, got {variable.dtype}")
        self._check_storage(name, variable)
        values = np.array(variable[...], dtype=float)
        if not (np.abs(values) <= LARGEST_NUMBER).all():
            raise self.wrong(name, f"must be finite numbers within +-{LARGEST_NUMBER:g}")
        return values

    def rotations(self, name: str, count: int) -> Array:
        """Return a variable of rotation matrices, (count, 3, 3); raise an error for any other."""
        matrices = self.numbers(name, (count, 3, 3))
        is_bounded = np.abs(matrices).max() <= 2  # so that nothing overflows
        deviation = matrices @ matrices.transpose(0, 2, 1) - np.eye(3) if is_bounded else np.ones(1)
        if np.abs(deviation).max() > ROTATION_ERROR or np.linalg.det(matrices).min() < 0:
            raise self.wrong(name, "must be rotation matrices")
        return matrices

    def count(self, name: str) -> int:
        """Return the length of a list variable; raise an error if empty or too long."""
        shape = self._variable(name).shape
        if shape is None or len(shape) != 1 or shape[0] < 1:
            raise self.wrong(name, f"must be a list of at least one number, got {shape}")
        if shape[0] > MOST_READ_SAMPLES:
            raise self.wrong(
                name, f"must be at most {MOST_READ_SAMPLES:,} numbers, got {shape[0]:,}"
            )
        return int(shape[0])

    def bytes_of(self, name: str, most_bytes: int) -> bytes:
        """Return the bytes of a side file that is stored as a variable."""
        variable = self._variable(name)
        if variable.dtype != np.uint8 or variable.shape is None or len(variable.shape) != 1:
            raise self.wrong(
                name, f"must be a list of bytes, got {variable.dtype} {variable.shape}"
            )
        if variable.shape[0] > most_bytes:
            raise self.wrong(
                name, f"must be at most {most_bytes:,} bytes, got {variable.shape[0]:,}"
            )
        self._check_storage(name, variable)
        return bytes(np.asarray(variable[...]).tobytes())

    def require_words(self, name: str, words: Sequence[str]) -> None:
        """Raise an error unless a variable equals a list of texts, which is read text by text."""
        variable = self._variable(name)
        if variable.shape != (len(words),) or h5py.check_string_dtype(variable.dtype) is None:
            raise self.wrong(
                name, f"must be {len(words)} words, got {variable.dtype} {variable.shape}"
            )
        self._check_storage(name, variable, of_words=True)
        for k, word in enumerate(words):
            if variable[k] != word.encode():
                raise self.wrong(
                    name, f"entry {k + 1} must be '{word}', as the model file in this run has it"
                )

    def text(self, name: str, owner: str = "") -> str:
        """Return a text attribute of the file, or of the variable ``owner``."""
        attrs, attribute = self._attribute(name, owner)
        if attribute.shape != () or h5py.check_string_dtype(attribute.dtype) is None:
            raise self.wrong(name, f"must be one text, got {attribute.dtype} {attribute.shape}")
        if attribute.get_storage_size() > MOST_TEXT:
            raise self.wrong(name, f"must be at most {MOST_TEXT:,} characters")
        value = attrs[name]
        text = value.decode() if isinstance(value, bytes) else str(value)
        if len(text) > MOST_TEXT:
            raise self.wrong(name, f"must be at most {MOST_TEXT:,} characters, got {len(text):,}")
        return text

    def word(self, name: str, words: Iterable[str]) -> str:
        """Return a text attribute of the file; raise an error unless it is one of given words."""
        word = self.text(name)
        if word not in words:
            raise self.wrong(name, f"must be one of {', '.join(words)}")
        return word

    def listed(self, name: str, item: type[T], expected: str) -> tuple[T, ...]:
        """Return an attribute that is a JSON list of items of a type."""
        try:
            return TypeAdapter(tuple[item, ...]).validate_json(self.text(name))  # type: ignore[valid-type]
        except ValueError:
            raise self.wrong(name, f"must be {expected}") from None

    def number(self, name: str, *, whole: bool = False, kinds: str = "") -> float:
        """Return a nonnegative number attribute of the file; raise an error for other values.

        ``kinds`` are the NumPy kind codes of the types allowed.
        """
        attrs, attribute = self._attribute(name)
        kinds = kinds or ("iu" if whole else "f")
        if attribute.shape not in ((), (1,)) or attribute.dtype.kind not in kinds:
            kind = "a whole number" if whole else "a number"
            raise self.wrong(name, f"must be {kind}, got {attribute.dtype} {attribute.shape}")
        value = float(np.ravel(attrs[name])[0])
        if not 0 <= value < np.inf:
            raise self.wrong(name, f"must be >= 0 and finite, got {value}")
        return value

    def require_unchanged(self) -> None:
        """Raise an error if the checksum of a variable or attribute does not match its contents.

        Data may be recompressed, and other variables added.
        """
        checksums_by_name = json.loads(self.text(CHECKSUMS))
        bytes_left = max(MOST_UNPACKED, UNPACKED_RATIO * self.size)
        for name, checksum in dict(checksums_by_name["variables"]).items():
            variable = self._variable(name)
            bytes_left -= variable.id.get_type().get_size() * prod(variable.shape or (0,))
            if bytes_left < 0:
                raise self.wrong(name, "announces more data than the file can contain")
            unit = self.text("units", name) if "units" in variable.attrs else ""
            meaning = unit, self.text("long_name", name)
            if variable_checksum(self._values(name, variable), *meaning) != checksum:
                raise self.wrong(name, "was changed since the file was written")
        for name, checksum in dict(checksums_by_name["attributes"]).items():
            is_text = h5py.check_string_dtype(self._attribute(name)[1].dtype) is not None
            value = self.text(name) if is_text else self.number(name, kinds="iuf")
            if attribute_checksum(value) != checksum:
                raise self.wrong(name, "was changed since the file was written")

    def _values(self, name: str, variable: Any) -> NDArray[Any]:
        """Return a variable of numbers, bytes or texts; texts are read one at a time."""
        of_words = h5py.check_string_dtype(variable.dtype) is not None
        self._check_storage(name, variable, of_words=of_words)
        if not of_words:
            if variable.dtype.kind != "f" and variable.dtype != np.uint8:
                raise self.wrong(name, f"must be numbers, bytes or words, got {variable.dtype}")
            return np.asarray(variable[...])
        if len(variable.shape) != 1 or variable.shape[0] > MOST_WORDS:
            raise self.wrong(name, f"must be a list of at most {MOST_WORDS:,} words")
        return np.array([variable[k].decode() for k in range(variable.shape[0])], dtype=object)

    def wrong(self, name: str, why: str) -> FlexarmError:
        """Return the error for an invalid variable or attribute of the file."""
        return FlexarmError(f"{self.path}: the entry '{name}' {why}. {REMEDY}")

    def _variable(self, name: str) -> Any:
        link = self.file.get(name, getlink=True)
        if link is None:
            raise self.wrong(name, "is missing")
        if not isinstance(link, h5py.HardLink):
            raise self.wrong(name, "must lie in this file, not behind a link")
        variable = self.file[name]
        if not isinstance(variable, h5py.Dataset):
            raise self.wrong(name, "must be a variable")
        return variable

    def _attribute(self, name: str, owner: str = "") -> tuple[Any, Any]:
        """Return the attributes of the file or a variable, and a named attribute, still unread."""
        attrs = (self._variable(owner) if owner else self.file).attrs
        if name not in attrs:
            raise self.wrong(name, "is missing")
        return attrs, attrs.get_id(name)

    def _check_storage(self, name: str, variable: Any, *, of_words: bool = False) -> None:
        """Raise an error for data stored in another file, or larger than the file can contain."""
        properties = variable.id.get_create_plist()
        if properties.get_layout() == h5py.h5d.VIRTUAL or properties.get_external_count():
            raise self.wrong(name, "must lie in this file, not in another")
        filters = {properties.get_filter(k)[0] for k in range(properties.get_nfilters())}
        if not filters <= _FILTERS:
            raise self.wrong(name, f"must be plain or compressed by deflate, got filters {filters}")
        width = variable.id.get_type().get_size()
        unpacked, packed = width * prod(variable.shape), variable.id.get_storage_size()
        if not filters and not of_words and variable.chunks is None:
            fits = unpacked == packed <= self.size
        else:
            chunk = width * prod(variable.chunks or (0,))
            most_bytes = max(MOST_UNPACKED, UNPACKED_RATIO * self.size)
            fits = max(unpacked, chunk) <= most_bytes and (packed > 0 or not unpacked)
        if not fits:
            raise self.wrong(
                name, f"announces {unpacked:,} bytes, but {packed:,} bytes are in the file"
            )


STATUSES = ("finished", "stopped", "interrupted", "running")


def load_run(path: str | Path) -> Run:
    """Load a run from its NetCDF file.

    Parameters
    ----------
    path
        The file.

    Returns
    -------
    Run
        The run, as `flexarm.simulate` returned it.

    Raises
    ------
    FlexarmError
        If the file cannot be read, holds no run, or was changed since it was written.
    ModelError
        If the model file in it is not valid in this version of flexarm.
    """
    path = require_path("path", path)
    with open_stored(path) as stored:
        with explained(path):
            if not stored.is_run(FORMAT):
                message = "is not a run of flexarm, or has the format of another version"
                raise FlexarmError(f"{path}: {message}. Simulate the arm again.")
            text, files = stored.text("model_file"), _kept_files(stored)
            name = stored.word("formulation", FORMULATIONS)
            paper = bool(stored.number("paper", whole=True))
            tips = stored.word("tip_rotation", get_args(TipRotation))
            series = stored.word("link_theory", get_args(LinkTheory)) == "series"
            nodes = int(stored.number("nodes", whole=True)) or None  # 0 if not specified
        try:
            arm = parse(Arm, text, name=f"{path}, model_file", files=SideFiles(path, kept=files))
            model = build(arm, tip_rotation=cast(TipRotation, tips), series=series, nodes=nodes)
            model = FORMULATIONS[name].paper_model(model) if paper else model
        except (ModelError, ShapeError) as error:
            raise ModelError(
                f"{path}: the model file in this run is not valid in this version of "
                f"flexarm:\n{error}"
            ) from None
        with explained(path):
            run = replace(_assemble(model, stored), formulation=name, paper=paper)
            stored.require_unchanged()
            return run


Triple = tuple[float, float, float]


class _Phase(NamedTuple):
    """A phase of a run as stored in a file."""

    first: int
    held: tuple[int, ...]
    tip: tuple[float, Triple, tuple[Triple, Triple, Triple]] | None
    jump: tuple[float, ...]


def _assemble(model: Model, stored: "Stored") -> Run:
    """Return the run that a file contains, after checks of its variables."""
    samples = stored.count("time")
    stored.require_words("coordinate", model.names)
    t = stored.numbers("time", (samples,))
    if not np.all(np.diff(t) > DUST * np.abs(t).max()):
        raise stored.wrong("time", "must increase")
    reference_attitudes = [stored.rotations(name, samples) for name, _ in reference_names(model)]
    if not reference_attitudes:
        reference_attitudes = [np.broadcast_to(model.base_pose.rotation, (samples, 3, 3))]
    losses, drives = _drives(stored, model, samples)
    event_records = stored.listed(
        "event_records", EventRecord, "a list of time, what and energy lost"
    )
    pending = stored.listed("pending", PendingEvent, "a list of name, reason, value and time")
    return Run(
        model=model,
        t=t,
        q=stored.numbers("q", (samples, model.size)),
        v=stored.numbers("v", (samples, model.size)),
        u=_columns(stored, "u", samples, len(input_units(model))),
        tip=stored.numbers("tip_position", (samples, 3)),
        tip_rotation=stored.rotations("tip_rotation", samples),
        energy=np.stack([stored.numbers(name, (samples,)) for name in ENERGIES], axis=1),
        work_integrals=np.stack([stored.numbers(name, (samples,)) for name in WORKS], axis=1),
        reference_attitudes=np.concatenate(reference_attitudes, axis=1),
        momentum=_momenta(stored, samples, MOMENTUM),
        impulse=_momenta(stored, samples, IMPULSE),
        status=stored.word("status", STATUSES),
        reason=stored.text("reason"),
        method=stored.text("method"),
        why=stored.text("why"),
        rtol=stored.number("rtol"),
        event_records=event_records,
        pending=pending,
        phases=_phases(stored, model, samples),
        losses=losses,
        drives=drives,
        kept=stored.text("method") != "rk4",  # a user may have set rk4's steps
        own=bool(stored.number("own_inputs", whole=True)),
        statistics=Statistics(
            int(stored.number("steps", whole=True)),
            int(stored.number("rejections", whole=True)),
            int(stored.number("evaluations", whole=True)),
            stored.number("cpu_seconds"),
        ),
    )


def _columns(stored: "Stored", name: str, samples: int, count: int) -> Array:
    """Return a variable of numbers, (samples, count); empty for count 0, which files omit."""
    return stored.numbers(name, (samples, count)) if count else np.zeros((samples, 0))


def _momenta(stored: "Stored", samples: int, names: Iterable[str]) -> Array:
    """Return momenta or impulses per sample, (samples, 3 k); k = 0 without a free base."""
    if not stored.has("impulse"):
        return np.zeros((samples, 0))
    return np.hstack([stored.numbers(name, (samples, 3)) for name in names])


def _phases(stored: "Stored", model: Model, samples: int) -> tuple[RunPhase, ...]:
    """Return the phases of the run."""
    phases = stored.listed("phases", _Phase, "a list of the phases of the run")
    for phase in phases:
        is_valid = 0 <= phase.first < samples and all(0 <= i < model.size for i in phase.held)
        if not is_valid or len(phase.jump) not in (0, model.size):
            raise stored.wrong("phases", "must be a list of the phases of the run")
    firsts = [phase.first for phase in phases]
    if firsts and (firsts[0] != 0 or firsts != sorted(set(firsts))):
        raise stored.wrong("phases", "must be phases in order of time, the first at sample 0")
    return tuple(
        RunPhase(
            first,
            held,
            None if tip is None else Inertia(tip[0], np.array(tip[1]), np.array(tip[2])),
            jump,
        )
        for first, held, tip, jump in phases
    )


def _drives(
    stored: "Stored", model: Model, samples: int
) -> tuple[dict[str, Array], DriveData | None]:
    """Return energy losses by name, and forces, energies and states of drive trains, or None."""
    names = stored.listed("drives", list[str], "two lists of names")
    if len(names) != 2:
        raise stored.wrong("drives", "must be two lists of names")

    def by_name(variable: str, words: Iterable[str]) -> dict[str, Array]:
        words = list(words)
        return dict(zip(words, _columns(stored, variable, samples, len(words)).T, strict=True))

    losses = by_name("lost", names[0])
    if not stored.has("drive_push"):
        return losses, None
    push = stored.numbers("drive_push", (samples, model.size))
    energy = stored.numbers("drive_energy", (samples,))
    return losses, DriveData(push, energy, by_name("drive", names[1]))


def _kept_files(stored: "Stored") -> dict[str, bytes]:
    """Return the contents of the side files stored with a run, by their names in the model file."""
    files: dict[str, bytes] = {}
    bytes_left = MOST_TOTAL_BYTES
    while stored.has(name := f"{FILE}{len(files) + 1}"):
        content = stored.bytes_of(name, min(MOST_FILE_BYTES, bytes_left))
        bytes_left -= len(content)
        path = stored.text("long_name", name)
        if path in files:
            raise stored.wrong(name, "is in the file twice")
        files[path] = content
    return files
