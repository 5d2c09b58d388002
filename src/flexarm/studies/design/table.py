"""Storage of a study's results: a folder with one file per chunk, each written atomically."""

import hashlib
import io
import json
import math
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, NotRequired

import numpy as np
from pydantic import PositiveInt, TypeAdapter
from typing_extensions import TypedDict

from flexarm.errors import FlexarmError
from flexarm.io.whole_file import replace_file
from flexarm.studies.design.evaluate import Columns, row_keys
from flexarm.studies.design.read import Study

ABOUT = "study.json"
UNFINISHED = re.compile(
    rf"\.{re.escape(ABOUT)}\.[0-9a-f]{{8}}\.part"
)  # temporary files of killed processes
FORMAT = 2  # version of the format; version 1 had no checksums
COLUMN = "column:"  # prefix of column names in an npz file, which allows any name
CHECKSUM = "checksum"
DESCRIPTION: TypeAdapter[Any] = TypeAdapter(
    TypedDict(  # type: ignore[operator]
        "Description",
        {
            "format": Literal[1, 2], "kind": Literal["npz", "parquet"], "count": PositiveInt,
            "chunk": PositiveInt, "digest": str, "name": str, "parts": dict[str, str],
            "sampling": dict[str, Any], "parameters": list[str], "quantities": list[str],
            "units": NotRequired[dict[str, str]], "logarithmic": NotRequired[list[str]],
        },
    )
)  # fmt: skip
AGAIN = "delete this chunk, and the same study computes it again"


def to_bytes(columns: Columns, kind: str) -> bytes:
    """Return the encoded ``parquet`` or ``npz`` file of the given columns and their checksum."""
    memory = io.BytesIO()
    if kind == "npz":
        named = {COLUMN + name: values for name, values in columns.items()}
        checksum = {CHECKSUM: np.array(checksum_of(columns))}
        np.savez_compressed(memory, allow_pickle=False, **named, **checksum)
    else:
        import pyarrow
        import pyarrow.parquet

        table = pyarrow.table(columns).replace_schema_metadata({CHECKSUM: checksum_of(columns)})
        pyarrow.parquet.write_table(table, memory)
    return memory.getvalue()


def of_file(path: Path) -> tuple[Columns, str]:
    """Return the columns and the checksum stored in a file; the checksum may be empty."""
    if path.suffix == ".npz":
        with np.load(path) as file:
            stated = str(file[CHECKSUM]) if CHECKSUM in file.files else ""
            names = [name for name in file.files if name != CHECKSUM]
            return {name.removeprefix(COLUMN): file[name] for name in names}, stated
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(path)
    columns = {name: table[name].to_numpy() for name in table.column_names}
    stated = (table.schema.metadata or {}).get(CHECKSUM.encode(), b"").decode()
    return {k: v.astype(str) if v.dtype == object else v for k, v in columns.items()}, stated


def checksum_of(columns: Columns) -> str:
    """Return a SHA-256 checksum of column names and values, independent of the file format."""
    digest = hashlib.sha256()
    for name, values in columns.items():
        texts = values.dtype.kind not in "biuf"
        digest.update(repr((name, "" if texts else values.dtype.str)).encode())
        digest.update(repr(values.tolist()).encode() if texts else values.tobytes())
    return digest.hexdigest()


def _checksum_of_about(about: dict[str, Any]) -> str:
    """Return a SHA-256 checksum of a study's description without its checksum entry."""
    stated = {key: value for key, value in about.items() if key != CHECKSUM}
    return hashlib.sha256(json.dumps(stated, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class Progress:
    """Progress of a study.

    Attributes
    ----------
    done, total
        Numbers of computed designs and of all designs.
    rate
        Designs per second since the start of the last call; NaN if none was computed since then.
    remaining
        Estimated time for the remaining designs at this rate [s]; NaN if the rate is unknown.
    """

    done: int
    total: int
    rate: float
    remaining: float

    @classmethod
    def of(cls, done: int, total: int, fresh: int, seconds: float) -> "Progress":
        """Return the progress after computing ``fresh`` designs in ``seconds`` [s]."""
        rate = fresh / seconds if fresh and seconds > 0 else math.nan
        return cls(done, total, rate, (total - done) / rate)

    def __str__(self) -> str:
        """Return text with the number of computed designs, their rate, and the remaining time."""
        text = f"{self.done:,} of {self.total:,} designs"
        if self.done == self.total or math.isnan(self.rate):
            return text
        minutes, seconds = divmod(round(self.remaining), 60)
        return f"{text}, {self.rate:.3g}/s, {minutes // 60}:{minutes % 60:02d}:{seconds:02d} left"


@dataclass(frozen=True)
class StudyTable:
    """The stored results of a study, in a folder with a description and chunk files."""

    folder: Path  # folder of the results
    about: dict[str, Any]  # description of the study: digests, columns, number of designs

    @classmethod
    def of(cls, folder: Path, study: Study) -> "StudyTable":
        """Return the new or unfinished table of a study in a folder, without writing to it.

        Raises
        ------
        FlexarmError
            If the folder contains anything except this study, or cannot be written to.
        """
        plan = study.plan
        if (folder / ABOUT).exists():
            begun = cls.open(folder)
            if not os.access(folder, os.W_OK | os.X_OK):
                raise FlexarmError(f"{folder}: cannot be written to. Choose another folder.")
            theirs = begun.about["parts"]
            other = [k for k, part in study.parts.items() if theirs.get(k) != part]
            if not other:
                return begun
            if begun.done:
                difference = study.resume_refusal or f"other {', '.join(other)}"
                raise FlexarmError(
                    f"{folder}: contains another study ({difference}), which is left unchanged. "
                    "Give another folder."
                )
        about = {
            "format": FORMAT,
            "name": plan.name,
            "digest": study.digest,
            "parts": study.parts,
            "count": study.count,
            "chunk": study.chunk,
            "kind": "parquet" if find_spec("pyarrow") else "npz",
            "sampling": plan.sampling.model_dump(),
            "parameters": list(plan.parameters),
            "quantities": list(plan.quantities),
            "units": study.units,
            "logarithmic": [axis.name for axis in study.axes if axis.kind == "log"],
        }
        about[CHECKSUM] = _checksum_of_about(about)
        return cls(folder, about)

    def begin(self) -> None:
        """Create the folder and write the study's description, unless it is there already.

        Raises
        ------
        FlexarmError
            If the folder contains anything except this study (which is not changed), or cannot be
            written to.
        """
        folder = self.folder
        begun = (folder / ABOUT).exists()
        if begun and self._holds():
            os.utime(folder / ABOUT)  # start time for `progress`
            return
        try:
            folder.mkdir(parents=True, exist_ok=True)
            parts = [file for file in folder.iterdir() if UNFINISHED.fullmatch(file.name)]
            if len(parts) < len([*folder.iterdir()]) and not begun:
                raise FlexarmError(f"{folder}: is neither empty nor a study. Give another folder.")
            for part in parts:
                part.unlink(missing_ok=True)
            replace_file(folder / ABOUT, json.dumps(self.about, indent=1).encode())
        except OSError as error:
            reason = error.strerror or str(error)
            raise FlexarmError(f"{folder}: cannot be written to: {reason}") from None

    @classmethod
    def open(cls, folder: Path) -> "StudyTable":
        """Open the stored results of a study.

        Raises
        ------
        FlexarmError
            If the folder contains no study, or the description was changed.
        """
        try:
            about = json.loads((folder / ABOUT).read_bytes())
            DESCRIPTION.validate_python(about, strict=True)
            if about["kind"] == "parquet" and find_spec("pyarrow") is None:
                raise FlexarmError(
                    f"{folder}: has Parquet files, which need the package pyarrow. Run pip "
                    "install 'flexarm[parquet]'."
                )
        except FileNotFoundError:
            raise FlexarmError(f"{folder}: contains no study, since there is no {ABOUT}") from None
        except (OSError, ValueError, RecursionError):
            raise FlexarmError(
                f"{folder / ABOUT}: cannot be read as the description of a study"
            ) from None
        if about["format"] == FORMAT and about.get(CHECKSUM) != _checksum_of_about(about):
            raise FlexarmError(
                f"{folder / ABOUT}: was changed since flexarm wrote it. Restore it, or compute "
                "the study in another folder."
            )
        return cls(folder, about)

    def _holds(self) -> bool:
        """Return whether the folder still contains this study with this chunk size."""
        there = self.open(self.folder).about
        return all(there[key] == self.about[key] for key in ("digest", "chunk"))

    @property
    def count(self) -> int:
        """Number of designs in the study."""
        return int(self.about["count"])

    @property
    def chunks(self) -> int:
        """Number of chunks in the study."""
        return -(-self.count // int(self.about["chunk"]))

    def size(self, number: int) -> int:
        """Return the number of designs in a chunk."""
        chunk = int(self.about["chunk"])
        return min(chunk, self.count - number * chunk)

    @property
    def done(self) -> list[int]:
        """Sorted numbers of the chunks that are stored.

        Raises
        ------
        FlexarmError
            If the folder contains a chunk beyond the last one of the study.
        """
        there = self.folder.iterdir() if self.folder.is_dir() else ()
        matches = ((path, re.fullmatch(r"chunk-(\d{6,})", path.stem)) for path in there)
        numbers = sorted(int(m[1]) for path, m in matches if m and path == self._path(int(m[1])))
        if numbers and numbers[-1] >= self.chunks:
            raise FlexarmError(
                f"{self._path(numbers[-1])}: does not belong to this study, which has "
                f"{self.chunks} chunks. Delete it."
            )
        return numbers

    @property
    def progress(self) -> Progress:
        """Progress of the study by its files, with the rate of the last call of `study`."""
        begun = (self.folder / ABOUT).stat().st_mtime
        stored = self.done
        times = {number: self._path(number).stat().st_mtime for number in stored}
        fresh = sum(self.size(number) for number, time in times.items() if time > begun)
        seconds = max(times.values(), default=begun) - begun
        return Progress.of(sum(map(self.size, stored)), self.count, fresh, seconds)

    def _path(self, number: int) -> Path:
        return self.folder / f"chunk-{number:06d}.{self.about['kind']}"

    def write(self, number: int, data: bytes) -> None:
        """Write the encoded result file of a chunk, atomically."""
        if not self._holds():
            raise FlexarmError(
                f"{self.folder}: another study was started in this folder. Give another folder."
            )
        try:
            replace_file(self._path(number), data)
        except OSError as error:
            reason = error.strerror or str(error)
            raise FlexarmError(f"{self._path(number)}: cannot be written: {reason}") from None

    def chunks_read(self) -> Iterator[Columns]:
        """Yield the columns of the stored chunks, in order of their numbers.

        Raises
        ------
        FlexarmError
            If a chunk cannot be read, belongs to another number, or was changed.
        """
        for number in self.done:
            try:
                columns, stated = of_file(self._path(number))
            except Exception as error:  # NumPy, zipfile and pyarrow raise errors of many types
                why = " ".join(str(error).split()) or type(error).__name__
                raise self._damaged(number, f"cannot be read: {why}") from None
            if fault := self._fault(number, columns, stated):
                raise self._damaged(number, fault)
            yield columns

    def _damaged(self, number: int, fault: str) -> FlexarmError:
        return FlexarmError(f"{self._path(number)}: {fault}: {AGAIN}")

    def _fault(self, number: int, columns: Columns, stated: str) -> str:
        """Return why a stored chunk is invalid, or an empty string if it is valid."""
        about, size = self.about, self.size(number)
        first = number * int(about["chunk"])
        names = ["index", "key", *about["parameters"], *about["quantities"], "status", "reason"]
        if list(columns) != names:
            return "has other columns than the study"
        if any(values.shape != (size,) for values in columns.values()):
            return f"has {len(np.atleast_1d(columns['index']))} rows instead of {size}"
        if columns["index"].tolist() != list(range(first, first + size)):
            return f"has other rows than {first} to {first + size - 1}"
        values = {name: columns[name] for name in about["parameters"]}
        if columns["key"].tolist() != row_keys(about["digest"], values):
            return "has rows of another study, or changed ones"
        if checksum_of(columns) != stated and (stated or about["format"] > 1):
            return "was changed since it was written"
        return ""
