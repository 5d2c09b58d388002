"""Single-file HTML pages: the viewer's script, style sheet and frame, with the page's data."""

import base64
import hashlib
import html
import json
import re
import zlib
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from flexarm.errors import FlexarmError
from flexarm.spatial import Array

# Characters of a user's text that could end the HTML element of the data.
ESCAPES = {ord(c): f"\\u{ord(c):04x}" for c in "<>&"}
LARGEST = float(np.finfo(np.float32).max)


class Arrays:
    """Arrays of an HTML page, stored as one block of single-precision numbers."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.size = 0

    def add(self, values: Array) -> dict[str, Any]:
        """Append an array to the page's block; return its offset and shape."""
        bounded = np.clip(np.nan_to_num(values), -LARGEST, LARGEST)
        numbers = np.ascontiguousarray(bounded, dtype="<f4")
        location = {"at": self.size, "shape": list(numbers.shape)}
        self.parts.append(numbers.tobytes())
        self.size += numbers.size
        return location

    def encode(self) -> str:
        """Return the block of all arrays of the page as base64 text."""
        return base64.b64encode(b"".join(self.parts)).decode("ascii")


def to_json(document: dict[str, Any]) -> str:
    """Return a mapping as ASCII JSON, escaped for use inside an HTML element."""
    return json.dumps(document, allow_nan=False, separators=(",", ":")).translate(ESCAPES)


BUILT = Path(__file__).parent / "built"


def fill_page(title: str, data: str, *, live: bool = False, runs: bool = False) -> str:
    """Return the HTML of a page with its data.

    Parameters
    ----------
    title
        Title of the browser window.
    data
        Data of the page as JSON, escaped for use inside an HTML element.
    live
        Whether the page may ask its server for newer data.
    runs
        Whether the page's data contain WebAssembly code to run.
    """
    script, style = built("unpack.js"), built("viewer.css")
    parts = {
        "title": html.escape(title),
        "policy": _policy([script, built("viewer.js")], style, live=live, runs=runs),
        "style": style,
        "script": script,
        "packed": _packed("viewer.js"),
        "data": data,
    }
    # All fields are replaced in one pass, so that texts in the data that look like fields are kept.
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], built("page.html"))


@cache
def built(name: str) -> str:
    """Return the text of a file of the viewer's script bundle.

    Raises
    ------
    FlexarmError
        If flexarm was installed without the viewer's script bundle.
    """
    try:
        return (BUILT / name).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise FlexarmError(
            f"viewer: {name} has not been built. In a checkout run 'make setup', which builds "
            "it. Otherwise install flexarm again."
        ) from None


@cache
def _packed(name: str) -> str:
    """Return a file of the viewer's script bundle, compressed by zlib, as base64 text."""
    return base64.b64encode(zlib.compress(built(name).encode("utf-8"), 9)).decode("ascii")


def _policy(scripts: list[str], style: str, *, live: bool, runs: bool) -> str:
    """Return a content security policy that allows only the page's own script and style."""
    rules = [
        "default-src 'none'",
        " ".join(["script-src", *map(_hash, scripts)]) + (" 'wasm-unsafe-eval'" if runs else ""),
        f"style-src {_hash(style)}",
        "img-src data: blob:",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    if live:
        rules.append("connect-src 'self'")
    return "; ".join(rules)


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"
