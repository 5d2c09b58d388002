"""NPZ and JSON files: keys and arrays; an array's head is checked before memory is taken."""

import io
import json
import math
import zipfile
import zlib
from typing import Any

import numpy as np

from flexarm.errors import ModelError

MOST_BYTES = 400_000_000  # of all arrays of a file, unpacked


def read_arrays(content: bytes, name: str) -> dict[str, Any]:
    """Read the arrays of an NPZ file, or the keys of a JSON file; nothing in them is run.

    Raises
    ------
    ModelError
        If it is neither, is cut off, holds Python objects, or is too large.
    """
    if content[:2] == b"PK":
        return _npz(content, name)
    try:
        keys = json.loads(content.decode("utf-8"))
    except (UnicodeDecodeError, ValueError, RecursionError):
        raise ModelError(
            f"{name}: is no body: expected an NPZ file or a JSON object (flexarm import-body "
            "converts files of other programs)"
        ) from None
    if not isinstance(keys, dict):
        raise ModelError(f"{name}: must be a JSON object, got {type(keys).__name__}")
    return keys


def _npz(content: bytes, name: str) -> dict[str, Any]:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as packed:
            total = sum(each.file_size for each in packed.infolist())
            if total > MOST_BYTES:
                raise ModelError(f"{name}: holds {total:,} bytes of arrays, at most {MOST_BYTES:,}")
            return {
                each.filename.removesuffix(".npy"): _member(packed, each, name)
                for each in packed.infolist()
            }
    except (ValueError, SyntaxError, TypeError) as error:
        raise ModelError(f"{name}: cannot be read: {error}") from None
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, KeyError, RuntimeError) as error:
        raise ModelError(f"{name}: is cut off or damaged: {error}") from None


def _member(packed: zipfile.ZipFile, member: zipfile.ZipInfo, name: str) -> Any:
    """Read an array of an NPZ file; its head is checked before memory is taken for it."""
    with packed.open(member) as file:
        version = np.lib.format.read_magic(file)
        heads = np.lib.format.read_array_header_1_0, np.lib.format.read_array_header_2_0
        shape, _, kind = heads[version > (1, 0)](file)
        if kind.hasobject:
            raise ModelError(
                f"{name}: holds Python objects, which are not read: save plain arrays of numbers"
            )
        claimed, left = math.prod(shape) * kind.itemsize, member.file_size - file.tell()
        if claimed > left:
            raise ModelError(
                f"{name}: {member.filename} says that it has {claimed:,} bytes, but {left:,} are "
                "there: was the file cut off?"
            )
    with packed.open(member) as file:
        return np.lib.format.read_array(file, allow_pickle=False)
