"""Script, style and HTML frame of the pages, as they were built from `viewer/`."""

import base64
import hashlib
import html
import re
import zlib
from functools import cache
from pathlib import Path

from flexarm.errors import FlexarmError

BUILT = Path(__file__).parent / "built"


def fill_page(title: str, data: str, *, live: bool = False, runs: bool = False) -> str:
    """Return the HTML of a page with its data.

    Parameters
    ----------
    title
        Text of the window's title.
    data
        JSON that can stand inside an element.
    live
        Whether the page may request newer data from its server.
    runs
        Whether its data contain WebAssembly that it may run.
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
    # In one pass, so that fields in the data are not replaced.
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], built("page.html"))


@cache
def built(name: str) -> str:
    """Read a file of the bundle.

    Raises
    ------
    FlexarmError
        If this flexarm was installed without it.
    """
    try:
        return (BUILT / name).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise FlexarmError(
            f"viewer: {name} has not been built: in a checkout run 'make setup', which builds it; "
            "else install flexarm again"
        ) from None


@cache
def _packed(name: str) -> str:
    """Return a file of the bundle compressed, as text."""
    return base64.b64encode(zlib.compress(built(name).encode("utf-8"), 9)).decode("ascii")


def _policy(scripts: list[str], style: str, *, live: bool, runs: bool) -> str:
    """Return a content policy that allows the page's own script and style alone."""
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
