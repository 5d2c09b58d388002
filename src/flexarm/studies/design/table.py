"""A study's results on disk: a folder with a file per chunk, each written whole."""

import io
import json
import os
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from flexarm.errors import FlexarmError
from flexarm.io.whole_file import replace_file
from flexarm.studies.design.evaluate import Columns
from flexarm.studies.design.read import Study

ABOUT = "study.json"
UNFINISHED = re.compile(
    rf"\.{re.escape(ABOUT)}\.[0-9a-f]{{8}}\.part"
)  # of a process that was killed
FORMAT = 1
COLUMN = "column:"  # before the names of columns in an npz, so that any name will do


def to_bytes(columns: Columns, kind: str) -> bytes:
    """Write columns as the contents of a file, ``parquet`` or ``npz``."""
    memory = io.BytesIO()
    if kind == "npz":
        named = {COLUMN + name: values for name, values in columns.items()}
        np.savez_compressed(memory, allow_pickle=False, **named)
    else:
        import pyarrow
        import pyarrow.parquet

        pyarrow.parquet.write_table(pyarrow.table(columns), memory)
    return memory.getvalue()


def of_file(path: Path) -> Columns:
    """Read columns from a file."""
    if path.suffix == ".npz":
        with np.load(path) as found:
            return {name.removeprefix(COLUMN): found[name] for name in found.files}
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(path)
    columns = {name: table[name].to_numpy() for name in table.column_names}
    return {k: v.astype(str) if v.dtype == object else v for k, v in columns.items()}


@dataclass(frozen=True)
class Table:
    """The results of a study in a folder."""

    folder: Path  # where they lie
    about: dict[str, Any]  # what is said of the study: its digest, parts, columns, counts

    @classmethod
    def of(cls, folder: Path, study: Study) -> "Table":
        """Find the table of a study, begun or not; nothing is written yet.

        Raises
        ------
        FlexarmError
            If the folder holds anything else, or cannot be written to.
        """
        plan = study.plan
        if (folder / ABOUT).exists():
            found = cls.open(folder)
            if not os.access(folder, os.W_OK | os.X_OK):
                raise FlexarmError(f"{folder}: cannot be written to: choose another folder")
            theirs = found.about["parts"]
            other = [k for k, part in study.parts.items() if theirs.get(k) != part]
            if not other:
                return found
            if found.done:
                why = study.untold or f"other {', '.join(other)}"
                raise FlexarmError(
                    f"{folder}: holds another study ({why}), which is left as it is: give another "
                    "folder"
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
        }
        return cls(folder, about)

    def begin(self) -> None:
        """Begin the table, unless that is done already.

        Raises
        ------
        FlexarmError
            If the folder holds anything else, which is left as it is, or cannot be written to.
        """
        folder = self.folder
        begun = (folder / ABOUT).exists()
        if begun and self._holds():
            return
        try:
            folder.mkdir(parents=True, exist_ok=True)
            parts = [each for each in folder.iterdir() if UNFINISHED.fullmatch(each.name)]
            if len(parts) < len([*folder.iterdir()]) and not begun:
                raise FlexarmError(f"{folder}: is not empty and no study: give another folder")
            for part in parts:
                part.unlink(missing_ok=True)
            replace_file(folder / ABOUT, json.dumps(self.about, indent=1).encode())
        except OSError as error:
            reason = error.strerror or str(error)
            raise FlexarmError(f"{folder}: cannot be written to: {reason}") from None

    @classmethod
    def open(cls, folder: Path) -> "Table":
        """Open the table of a study that was begun.

        Raises
        ------
        FlexarmError
            If there is none.
        """
        try:
            about = json.loads((folder / ABOUT).read_bytes())
            if about["format"] != FORMAT or about["kind"] not in ("npz", "parquet"):
                raise ValueError
            if about["kind"] == "parquet" and find_spec("pyarrow") is None:
                raise FlexarmError(
                    f"{folder}: its files are Parquet, which needs pyarrow: pip install "
                    "'flexarm[parquet]'"
                )
            int(about["count"]), int(about["chunk"]), about["digest"], dict(about["parts"])
        except FileNotFoundError:
            raise FlexarmError(f"{folder}: holds no study: there is no {ABOUT}") from None
        except (OSError, ValueError, KeyError, TypeError):
            raise FlexarmError(f"{folder / ABOUT}: cannot be read as that of a study") from None
        return cls(folder, about)

    def _holds(self) -> bool:
        """Whether the folder is still that of this study, in the same chunks."""
        there = self.open(self.folder).about
        return all(there[key] == self.about[key] for key in ("digest", "chunk"))

    @property
    def count(self) -> int:
        """Number of designs."""
        return int(self.about["count"])

    @property
    def chunks(self) -> int:
        """Number of chunks."""
        return -(-self.count // int(self.about["chunk"]))

    def size(self, number: int) -> int:
        """Count the designs of a chunk."""
        chunk = int(self.about["chunk"])
        return min(chunk, self.count - number * chunk)

    @property
    def done(self) -> list[int]:
        """Numbers of the chunks that are there."""
        pattern = rf"chunk-(\d{{6,}})\.{self.about['kind']}"
        there = self.folder.iterdir() if self.folder.is_dir() else ()
        found = (re.fullmatch(pattern, each.name) for each in there)
        return sorted(int(match[1]) for match in found if match)

    def _path(self, number: int) -> Path:
        return self.folder / f"chunk-{number:06d}.{self.about['kind']}"

    def write(self, number: int, data: bytes) -> None:
        """Write a chunk, whole or not at all."""
        if not self._holds():
            raise FlexarmError(f"{self.folder}: another study was begun in it: give another folder")
        try:
            replace_file(self._path(number), data)
        except OSError as error:
            reason = error.strerror or str(error)
            raise FlexarmError(f"{self._path(number)}: cannot be written: {reason}") from None

    def chunks_read(self) -> Iterator[Columns]:
        """Read chunk after chunk of those that are there."""
        for number in self.done:
            try:
                yield of_file(self._path(number))
            except (OSError, ValueError, KeyError, EOFError, BadZipFile, zlib.error) as error:
                raise FlexarmError(
                    f"{self._path(number)}: cannot be read: {error}: delete this chunk, and the "
                    "same study computes it again"
                ) from None
