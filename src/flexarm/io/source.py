"""Parser of YAML (or JSON) text into plain data, with the position of every key and value."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    CollectionStartEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from flexarm.errors import ModelError
from flexarm.io.constants import MOST_DIGITS, MOST_LEVELS, MOST_MISTAKES, MOST_MODEL_BYTES

Path = tuple[str | int, ...]
Position = tuple[int, int]


# Control characters, and line breaks that editors do not count as lines.
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]"
)
_HALVES = re.compile("[\ud800-\udfff]")  # surrogates, which cannot be written in a message
_LINE_BREAK = re.compile(r"\r\n|\r|\n")
_INTEGER = re.compile(r"[-+]?[0-9]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_WORDS = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
# Pairs of a text in the YAML parser's message and the sentence for the user. The first pair whose
# text occurs in the message is used.
_SYNTAX = {
    "'\\t'": "a tab is not allowed here; indent with spaces",
    "mapping values are not allowed": "unexpected ':'; check the indentation and that each ':' "
    "above has a space after it, or put text with ': ' in quotes",
    "sequence entries are not allowed": "unexpected '- '; start the list on a line of its own",
    "mapping keys are not allowed": "unexpected '?'; put text with '? ' in quotes",
    "could not find expected ':'": "a ': ' is missing after this key (colon and space)",
    "end of stream": "the quote that starts here is never closed",
    "escape": "no such escape after '\\'; write \\\\ for a backslash, or use single quotes",
    "expected the node content": "a value is missing before '{sign}'",
    "flow sequence": "the list that '[' opens on line {line} misses a ',' or its ']'",
    "flow mapping": "the mapping that '{{' opens on line {line} misses a ',' or its '}}'",
    "<block end>": "this line is not indented like those above it, or a ':' is missing",
    "scanning an alias": "text cannot start with '*'; put it in quotes",
    "scanning an reference_attitude": "text cannot start with '&'; put it in quotes",
    "scanning a block scalar": "text cannot start with '|' or '>'; put it in quotes",
    "cannot start any token": "text cannot start with '{sign}'; put it in quotes",
    "tag": "tags (!) are not allowed; put text that starts with '!' in quotes",
    "directive": "a line cannot start with '%'; put the text in quotes",
    "document": "a second document or stray '---'; a model file holds one arm",
}


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """A mistake in a model file: position, path of keys, and message."""

    position: Position  # line and column, both counted from 1
    path: Path  # keys and item indices that lead to the mistake
    message: str  # what is wrong and what to change

    def __str__(self) -> str:
        """Return path and message of the mistake, without the position."""
        return f"{show_path(self.path)}: {self.message}"


@dataclass(frozen=True, slots=True)
class Source:
    """Data of a file, with the position (line and column from 1) of each key and value."""

    data: dict[str, Any]
    keys: dict[Path, Position]
    values: dict[Path, Position]
    problems: tuple[Diagnostic, ...]

    def locate(self, path: Path) -> Position:
        """Return the position of the value at `path`, or of the nearest enclosing value.

        For a list or mapping, the position is that of its key.
        """
        while path not in self.values:
            path = path[:-1]
        nested = isinstance(self.at(path), dict | list)
        return self.keys.get(path, self.values[path]) if nested else self.values[path]

    def at(self, path: Path) -> Any:
        """Return the value of the file's data at ``path``; None if there is no such value."""
        value: Any = self.data
        for step in path:
            try:
                value = value[step]
            except (KeyError, IndexError, TypeError):
                return None
        return value


def read(content: str | bytes, name: str) -> Source:
    """Parse the text of a model file.

    Parameters
    ----------
    content
        YAML 1.2 or JSON; bytes are UTF-8.
    name
        Name of the file in messages.

    Returns
    -------
    Source
        Data, positions, and diagnostics of all mistakes that do not prevent reading the rest.

    Raises
    ------
    ModelError
        If the text is too large, not UTF-8, not YAML, or not a single mapping.
    """
    reader = _Reader(_events(content))
    try:
        data = reader.read()
    except _Fatal as fatal:
        raise ModelError(report(name, [*reader.problems, fatal.problem])) from None
    return Source(data, reader.keys, reader.values, tuple(reader.problems))


def report(name: str, problems: Iterable[Diagnostic]) -> str:
    """Return mistakes as lines ``file:line:column: path: message``, sorted by position."""
    sorted_problems = sorted(problems, key=lambda problem: problem.position)
    lines = list(dict.fromkeys(
        f"{name}:{diagnostic.position[0]}:{diagnostic.position[1]}: "
        f"{diagnostic if diagnostic.path else diagnostic.message}"
        for diagnostic in sorted_problems
    ))  # fmt: skip
    hidden = len(lines) - MOST_MISTAKES
    return "\n".join(lines[:MOST_MISTAKES] + ([f"{name}: and {hidden} more"] if hidden > 0 else []))


def show_path(path: Path) -> str:
    """Return a path as text such as ``links[1].joint``, with indices from 1."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step + 1}]"
        else:
            is_plain = step.isprintable() and step and not set(step) & set(".[]: ")
            text += ("." if text else "") + shorten(step if is_plain else repr(step))
    return text


def read_place(text: str) -> Path:
    """Return the path that a text such as ``links[1].joint`` stands for."""
    steps = re.findall(r"\[(\d+)\]|([^.\[\]]+)", text)
    return tuple(int(number) - 1 if number else word for number, word in steps)


def find_unprintable(text: str) -> str:
    """Return text that names the first character not permitted in a model file, or ""."""
    match = _UNPRINTABLE.search(text)
    return f"the character U+{ord(match[0]):04X}" if match else ""


def shorten(text: str, limit: int = 60) -> str:
    """Return a text cut to at most ``limit`` characters, with an ellipsis if cut."""
    return text if len(text) <= limit else text[: limit - 3] + "..."


def _decode(content: str | bytes) -> str:
    if len(content) > MOST_MODEL_BYTES:
        raise _Fatal(
            (1, 1),
            f"the file is larger than {MOST_MODEL_BYTES:,} bytes. Put long tables into CSV files.",
        )
    try:
        text = content if isinstance(content, str) else content.decode("utf-8")
    except UnicodeDecodeError as error:
        message = (
            f"byte 0x{error.object[error.start]:02x} is not UTF-8 text; save the file as UTF-8"
        )
        valid_part = error.object[: error.start].decode("utf-8")
        raise _Fatal(_position(valid_part), message) from None
    text = text.removeprefix("\ufeff")
    match = _UNPRINTABLE.search(text)
    if match:
        message = f"{find_unprintable(text)} is not allowed; remove it"
        raise _Fatal(_position(text[: match.start()]), message)
    return text


def _position(text: str) -> Position:
    lines = _LINE_BREAK.split(text)
    return len(lines), len(lines[-1]) + 1


def _events(content: str | bytes) -> Iterator[Event]:
    text, event = _decode(content), None
    try:
        for event in YAML(typ="safe", pure=True).parse(text):
            yield event
    except MarkedYAMLError as error:
        # The parser notices an unclosed quote only at the end of the text; its start is reported.
        is_unclosed = any(clue in str(error.problem) for clue in ("expected ':'", "end of stream"))
        quote_position = _mark(error.context_mark if is_unclosed else error.problem_mark)
        raise _Fatal(quote_position, _sentence(error)) from None
    except (YAMLError, ValueError, OverflowError):
        # ValueError, OverflowError: raised for escapes that are no character, such as "\UFFFFFFFF".
        position = _mark(event.end_mark if event else None)
        raise _Fatal(
            position, "the text is not valid YAML after this place. Check quotes and ''."
        ) from None


def _mark(mark: Any) -> Position:
    return (mark.line + 1, mark.column + 1) if mark is not None else (1, 1)


def _sentence(error: MarkedYAMLError) -> str:
    text = f"{error.context}: {error.problem}"
    line = _mark(error.context_mark)[0]
    sign = text.rpartition("'")[0].rpartition("'")[2]
    for clue, sentence in _SYNTAX.items():
        if clue in text:
            return sentence.format(line=line, sign=sign)
    return f"not valid YAML: {error.problem}"


def _value(event: ScalarEvent) -> tuple[Any, str]:
    """Return the value of a YAML scalar by YAML's core schema, and an error message or ""."""
    text: str = event.value
    if event.style:  # quoted or block text
        character = find_unprintable(text)
        return _HALVES.sub("?", text), f"{character} is not allowed; remove it" if character else ""
    if text in _WORDS:
        return _WORDS[text], ""
    if _NOT_FINITE.fullmatch(text):
        return None, f"must be a finite number, got {text}"
    if not _FLOAT.fullmatch(text):
        return text, ""
    if len(text) > MOST_DIGITS:
        return None, f"a number of {len(text)} characters is too long"
    number = int(text) if _INTEGER.fullmatch(text) else float(text)
    if number in (float("inf"), float("-inf")):
        return None, f"is too large for a number, got {shorten(text)}"
    return number, ""


class _Fatal(Exception):
    """Mistake that prevents reading the rest of a text."""

    def __init__(self, position: Position, message: str, path: Path = ()) -> None:
        super().__init__(message)
        self.problem = Diagnostic(position, path, message)


@dataclass(slots=True)
class _Reader:
    """Builder of plain data from YAML parser events, with positions and diagnostics."""

    events: Iterator[Event]
    keys: dict[Path, Position] = field(default_factory=dict)
    values: dict[Path, Position] = field(default_factory=dict)
    problems: list[Diagnostic] = field(default_factory=list)

    def read(self) -> dict[str, Any]:
        """Return the mapping at the top of a YAML text; raise an error for a second document."""
        root, documents = None, 0
        for event in self.events:
            if isinstance(event, DocumentStartEvent):
                documents, position = documents + 1, _mark(event.start_mark)
                if documents > 1:
                    raise _Fatal(
                        position,
                        "a second document begins here, and a model file holds one arm. Remove it.",
                    )
                if event.tags or event.version not in (None, (1, 2)):
                    message = "leave the '%' lines out; model files are YAML 1.2, no tags"
                    raise _Fatal(position, message)
            elif isinstance(event, NodeEvent):
                root = self._node(event, ())
        if not isinstance(root, dict):
            position = self.values.get((), (1, 1))
            description = {list: "a list", type(None): "nothing"}.get(type(root), "a single value")
            raise _Fatal(
                position, f"a model file must be a mapping of keys to values, got {description}"
            )
        return root

    def _node(self, event: Event, path: Path) -> Any:
        """Return the value that starts with a YAML event, including all values nested in it."""
        position, problem, value = _mark(event.start_mark), "", None
        if isinstance(event, AliasEvent):
            problem = "aliases (*) are not allowed; write the values out"
        elif isinstance(event, ScalarEvent):
            value, problem = _value(event)
            if not event.value and not event.style:
                # The parser puts an empty value at the start of the next token.
                position = self.keys.get(path, position)
        elif len(path) == MOST_LEVELS:
            raise _Fatal(
                position, f"the keys are nested deeper than {MOST_LEVELS} levels", path[:3]
            )
        self.values[path] = position
        if isinstance(event, ScalarEvent | CollectionStartEvent):
            self._check_plain(event, position, path)
        if problem:
            self._complain(position, path, problem)
        if isinstance(event, MappingStartEvent):
            data: dict[str, Any] = {}
            while not isinstance(inner := next(self.events), MappingEndEvent):
                key = self._key(inner, path)
                data[key] = self._node(next(self.events), (*path, key))
            return data
        if isinstance(event, SequenceStartEvent):
            items: list[Any] = []
            while not isinstance(inner := next(self.events), SequenceEndEvent):
                items.append(self._node(inner, (*path, len(items))))
            return items
        return value

    def _key(self, event: Event, above: Path) -> str:
        """Return the text of a mapping's key, and record the key's position and mistakes."""
        position = _mark(event.start_mark)
        if isinstance(event, AliasEvent):
            raise _Fatal(position, "an alias (*) is not allowed as a key. Write the key out.")
        if not isinstance(event, ScalarEvent):
            raise _Fatal(position, "a key must be a word, got a list or mapping")
        key = _HALVES.sub("?", event.value)
        path = (*above, key)
        self._check_plain(event, position, path)
        if not isinstance(_value(event)[0], str) or find_unprintable(event.value):
            self._complain(position, path, "a key must be a word; put it in quotes if it is one")
        elif path in self.keys:
            line = self.keys[path][0]
            self._complain(position, path, f"is given twice, first on line {line}; keep one")
        self.keys.setdefault(path, position)
        return key

    def _check_plain(
        self, event: ScalarEvent | CollectionStartEvent, position: Position, path: Path
    ) -> None:
        if event.anchor is not None:
            self._complain(
                position, path, "reference_attitudes (&) are not allowed; write the values out"
            )
        if event.tag is not None:
            tag = shorten(event.tag.replace("tag:yaml.org,2002:", "!!"))
            self._complain(position, path, f"tags are not allowed; remove {tag!r}")

    def _complain(self, position: Position, path: Path, message: str) -> None:
        self.problems.append(Diagnostic(position, path, message))
        if len(self.problems) > 2 * MOST_MISTAKES:
            raise _Fatal(position, "the file has too many mistakes. The rest of it is not read.")
