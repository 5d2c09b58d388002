"""Numbers and text in a page: arrays as base64 of single precision, JSON that no name breaks."""

import base64
import json
from typing import Any

import numpy as np

from flexarm.links.base import Array

# Nothing in a page's data may end its element, whatever a model file says.
ESCAPES = {ord(c): f"\\u{ord(c):04x}" for c in "<>&"}
LARGEST = float(np.finfo(np.float32).max)


class Arrays:
    """Arrays that go into a page one behind the other; each is referred to by place and shape."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.size = 0

    def add(self, values: Array) -> dict[str, Any]:
        """Add an array in single precision and say where it is; what is beyond it is its last."""
        bounded = np.clip(np.nan_to_num(values), -LARGEST, LARGEST)
        part = np.ascontiguousarray(bounded, dtype="<f4")
        place = {"at": self.size, "shape": list(part.shape)}
        self.parts.append(part.tobytes())
        self.size += part.size
        return place

    def encode(self) -> str:
        """Give all arrays as base64."""
        return base64.b64encode(b"".join(self.parts)).decode("ascii")


def to_json(document: dict[str, Any]) -> str:
    """Write JSON in ASCII that can stand inside an element of a page."""
    return json.dumps(document, allow_nan=False, separators=(",", ":")).translate(ESCAPES)
