"""Write plain data as YAML that a person would have written."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

WIDTH = 96  # characters of a line
_PLAIN = re.compile(r"[A-Za-z_](?:[A-Za-z0-9_./ -]*[A-Za-z0-9_./-])?")
# Words that are no text in YAML 1.2, or in YAML 1.1, which other readers still follow.
_RESERVED = {"null", "true", "false", "yes", "no", "on", "off", "y", "n"}


def emit(data: Mapping[str, Any]) -> str:
    """Write a mapping of plain data as YAML text.

    Parameters
    ----------
    data
        Mappings, lists, text, numbers, truth values and None.

    Returns
    -------
    str
        Block style, except that short lists of single values stand on one line.
    """
    return "".join(f"{line}\n" for line in _mapping(data, 0)) or "{}\n"


def _mapping(data: Mapping[str, Any], indent: int) -> Iterator[str]:
    for key, value in data.items():
        head = f"{' ' * indent}{_text(key)}:"
        if isinstance(value, Mapping) and value:
            yield head
            yield from _mapping(value, indent + 2)
        elif isinstance(value, Sequence) and not isinstance(value, str) and value:
            yield from _sequence(head, value, indent + 2)
        elif isinstance(value, str) and _is_prose(value):
            yield f"{head} {'|' if value.endswith(chr(10)) else '|-'}"
            for line in value.removesuffix("\n").split("\n"):
                yield f"{' ' * (indent + 2)}{line}".rstrip(" ")
        else:
            yield f"{head} {_inline(value)}"


def _sequence(head: str, items: Sequence[Any], indent: int) -> Iterator[str]:
    pad = " " * indent
    if all(not isinstance(item, Mapping) for item in items):
        line = f"{head} {_inline(items)}"
        if len(line) <= WIDTH:
            yield line
        else:
            yield head
            yield from _wrapped([_inline(item) for item in items], pad)
        return
    yield head
    for item in items:
        lines = _mapping(item, indent + 2) if isinstance(item, Mapping) else iter(())
        first = next(lines, None)
        yield f"{pad}- {_inline(item) if first is None else first.lstrip(' ')}"
        yield from lines


def _wrapped(items: Sequence[str], pad: str) -> Iterator[str]:
    line = f"{pad}[{items[0]}"
    for item in items[1:]:
        if len(line) + len(item) + 3 > WIDTH:
            yield f"{line},"
            line = f"{pad} {item}"
        else:
            line += f", {item}"
    yield f"{line}]"


def _inline(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_text(k)}: {_inline(v)}" for k, v in value.items()) + "}"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Sequence):
        return "[" + ", ".join(map(_inline, value)) + "]"
    if isinstance(value, float):
        return _number(value)
    return "null" if value is None else str(value).lower()


def _number(value: float) -> str:
    """Write the shortest text that reads back as the same double."""
    text = float.__repr__(value)
    mantissa, e, exponent = text.partition("e")
    # YAML 1.1 readers read a number with an exponent but no point as text.
    return f"{mantissa}.0e{exponent}" if e and "." not in mantissa else text


def _text(text: str) -> str:
    plain = _PLAIN.fullmatch(text) and text.lower() not in _RESERVED
    return text if plain else json.dumps(text, ensure_ascii=False)


def _is_prose(text: str) -> bool:
    """Return whether text has several lines and reads back unchanged from a block."""
    lines = text.removesuffix("\n").split("\n")
    ragged = any(line != line.rstrip() or "\t" in line or "\r" in line for line in lines)
    ends = lines[0][:1] in ("", " ") or not lines[-1]
    return len(lines) > 1 and not ragged and not ends
