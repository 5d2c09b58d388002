"""Data of a page: arrays in single precision as base64, and JSON without HTML characters."""

import base64
import json
from typing import Any

import numpy as np

from flexarm.links.base import Array

# Characters of a user's text that could end the HTML element of the data.
ESCAPES = {ord(c): f"\\u{ord(c):04x}" for c in "<>&"}
LARGEST = float(np.finfo(np.float32).max)


class Arrays:
    """Arrays of a page in one block; each has a place in the block and a shape."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.size = 0

    def add(self, values: Array) -> dict[str, Any]:
        """Add an array, limited to the range of single precision; return its place and shape."""
        bounded = np.clip(np.nan_to_num(values), -LARGEST, LARGEST)
        part = np.ascontiguousarray(bounded, dtype="<f4")
        place = {"at": self.size, "shape": list(part.shape)}
        self.parts.append(part.tobytes())
        self.size += part.size
        return place

    def encode(self) -> str:
        """Return all arrays as base64."""
        return base64.b64encode(b"".join(self.parts)).decode("ascii")


def to_json(document: dict[str, Any]) -> str:
    """Return ASCII JSON that can stand inside an HTML element."""
    return json.dumps(document, allow_nan=False, separators=(",", ":")).translate(ESCAPES)
