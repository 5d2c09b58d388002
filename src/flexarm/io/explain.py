"""Translation of pydantic's validation errors into one sentence per mistake, with its position."""

import difflib
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, TypeAdapter, ValidationError

from flexarm.arm.part import SENTENCES
from flexarm.io.source import Diagnostic, Path, Source, shorten

Node = Mapping[str, Any]  # a node of pydantic's core schema

_KINDS = {
    "float": "a number", "int": "a whole number", "str": "text", "bool": "true or false",
    "list": "a list", "tuple": "a list", "dict": "a mapping", "model": "a mapping",
    "tagged-union": "a mapping",
}  # fmt: skip
_CONTAINERS = {"model", "tagged-union", "tuple", "list", "dict"}
_REFUSALS = {"quantity_type"} | {kind for kind in SENTENCES if kind.endswith("_type")}
_TREE = "flexarm models links that carry each other, listed in 'links'"
# Keys of other programs for features that flexarm does not have.
_OUT_OF_SCOPE = {
    "branches": f"{_TREE}. Name the link that carries another as its 'parent'.",
    "loops": f"{_TREE}, and no closed loops. A stiff spring in 'springs' approximates one.",
    "constraints": f"{_TREE}, and no constraints. A stiff spring in 'springs' approximates one.",
    "arms": f"{_TREE}. For a further arm on the base write 'parent: base' at its first link.",
    "tension_only": "a spring pulls and pushes. There are no ropes, which go slack.",
}
_LENGTHS = {"missing", "too_short", "too_long"}


def explain(error: ValidationError, model: type[BaseModel], source: Source) -> list[Diagnostic]:
    """Return one diagnostic per mistake in data that pydantic rejected.

    Parameters
    ----------
    error
        Error that pydantic raised.
    model
        Pydantic class against which the data were validated.
    source
        The data, with the position of every key and value.

    Returns
    -------
    list of Diagnostic
        Mistakes, except at values for which ``source`` already contains a diagnostic.
    """
    schema: Node = TypeAdapter(model).core_schema
    definitions = {node["ref"]: node for node in schema.get("definitions", ())}
    faults = [
        _Fault(fault["loc"], fault["type"], fault["msg"], fault.get("ctx", {}))
        for fault in error.errors(include_url=False, include_input=False)
    ]
    reported = [problem.path for problem in source.problems if problem.path]
    return [
        problem
        for problem in _Explainer(source, definitions).explain(schema, (), faults)
        if not any(problem.path[: len(path)] == path for path in reported)
    ]


def explain_data(
    error: ValidationError, model: type[BaseModel], data: dict[str, Any]
) -> list[Diagnostic]:
    """Return one diagnostic per mistake in data without a file, all at position (1, 1)."""
    return explain(error, model, Source(data, {}, {(): (1, 1)}, ()))


def _value_text(value: object) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "a mapping"
    return shorten(repr(value))


def _must_be_one_of(value: object, expected: Sequence[object]) -> str:
    """Return text with the permitted words, and with the word nearest to a wrong value."""
    if len(expected) == 1:
        text = f"must be {expected[0]!r}, got {_value_text(value)}"
    else:
        text = f"must be one of {', '.join(map(str, expected))}; got {_value_text(value)}"
    return text + _hint(value, expected)


def _hint(value: object, expected: Sequence[object]) -> str:
    matches = difflib.get_close_matches(str(value), [str(word) for word in expected], n=1)
    return f". Did you mean '{matches[0]}'?" if matches and isinstance(value, str) else ""


def _fault_text(fault: "_Fault", value: object) -> str:
    template = SENTENCES.get(fault.kind)
    if template is None:
        text = str(fault.context.get("error", fault.message))
        is_scalar = value is not None and not isinstance(value, dict | list)
        is_complete = text.endswith(".") or {";", "("} & set(text)
        shows_value = " must be " in f" {text}" and is_scalar and not is_complete
        return f"{text}, got {_value_text(value)}" if shows_value else text
    text = template.format(**fault.context)
    if text.endswith((" 1 items", " 1 characters")):
        text = text[:-1]
    if fault.kind in _LENGTHS and isinstance(value, list | dict):
        return f"{text}, got {len(value)}"
    needs_quotes = fault.kind == "string_type" and isinstance(value, int | float)
    return f"{text}, got {_value_text(value)}{'; put it in quotes' if needs_quotes else ''}"


def _distance(faults: Sequence["_Fault"]) -> tuple[int, int]:
    """Return how badly data fit one branch of a union: unknown keys, and number of errors."""
    return sum(fault.kind == "extra_forbidden" for fault in faults), len(faults)


def _length(node: Node) -> int | None:
    """Return the number of items in the schema of a fixed-length tuple; None for other schemas."""
    fixed_length = node["type"] == "tuple" and node.get("variadic_item_index") is None
    return len(node["items_schema"]) if fixed_length else None


@dataclass(frozen=True, slots=True)
class _Fault:
    """A pydantic error, with the part of its path that lies below the current schema node."""

    steps: Path  # part of the error's location that has not been followed yet
    kind: str
    message: str
    context: Mapping[str, Any]

    def inner(self) -> "_Fault":
        return _Fault(self.steps[1:], self.kind, self.message, self.context)


@dataclass(frozen=True, slots=True)
class _Explainer:
    """Translator of pydantic's errors, whose paths it follows through the core schema."""

    source: Source
    definitions: Mapping[str, Node]

    def explain(self, node: Node, path: Path, faults: Sequence[_Fault]) -> Iterator[Diagnostic]:
        """Yield diagnostics of the errors of the data at a path and below it."""
        node = self._bare(node)
        if node["type"] == "union":
            yield from self._union_diagnostics(node, path, faults)
            return
        if node["type"] == "model":
            faults = yield from self._key_diagnostics(node, path, faults)
        nested: dict[str | int, list[_Fault]] = {}
        at_node = []
        for fault in faults:
            if self._is_here(node, fault):
                at_node.append(fault)
            else:
                nested.setdefault(fault.steps[0], []).append(fault.inner())
        for fault in at_node:
            # Pydantic reports a list with only invalid items as too short, although a reader sees
            # items in it.
            if not (fault.kind == "too_short" and nested):
                yield self._diagnostic(node, path, fault)
        for step, nested_faults in nested.items():
            is_tagged = node["type"] == "tagged-union"
            yield from self.explain(
                self._child(node, step), path if is_tagged else (*path, step), nested_faults
            )

    def _bare(self, node: Node | tuple[Node, str]) -> Node:
        """Return the schema without wrappers, such as defaults, validators and references."""
        inner: Node = node[0] if isinstance(node, tuple) else node  # union branches may have labels
        while True:
            if inner["type"] == "definition-ref":
                inner = self.definitions[inner["schema_ref"]]
            elif "schema" in inner and inner["type"] != "model":
                inner = inner["schema"]
            else:
                return inner

    def _fields(self, node: Node) -> Mapping[str, Node]:
        fields_node = self._bare(node["schema"]) if node["type"] == "model" else node
        fields: Mapping[str, Node] = fields_node.get("fields", {})
        return fields

    def _child(self, node: Node, step: str | int) -> Node:
        any_node: Node = {"type": "any"}
        if node["type"] == "model":
            child: Node = self._fields(node).get(str(step), any_node)
        elif node["type"] == "tagged-union":
            child = node["choices"].get(step, any_node)
        elif node["type"] == "tuple" and isinstance(step, int):
            items, variadic = node["items_schema"], node.get("variadic_item_index")
            child = items[variadic if variadic is not None else min(step, len(items) - 1)]
        else:
            child = node.get("items_schema") or node.get("values_schema") or any_node
        return child

    def _is_here(self, node: Node, fault: _Fault) -> bool:
        if not fault.steps or node["type"] not in _CONTAINERS:
            return True
        # An item that is missing from a fixed-length tuple is a mistake of the tuple itself.
        return node["type"] == "tuple" and fault.kind == "missing" and len(fault.steps) == 1

    def _key_diagnostics(
        self, node: Node, path: Path, faults: Sequence[_Fault]
    ) -> Generator[Diagnostic, None, list[_Fault]]:
        """Yield diagnostics of unknown and missing keys of a mapping; return the other errors."""
        fields = self._fields(node)
        value = self.source.at(path)
        missing_keys = [name for name in fields if not isinstance(value, dict) or name not in value]
        suggested = set()
        for fault in faults:
            if fault.kind == "extra_forbidden" and len(fault.steps) == 1:
                key = fault.steps[0]
                message, suggestion = self._unknown(str(key), fields, missing_keys)
                suggested.add(suggestion)
                key_path = (*path, key)
                position = self.source.keys.get(key_path, self.source.locate(path))
                yield Diagnostic(position, key_path, message)
        remaining = []
        for fault in faults:
            if fault.kind == "missing" and len(fault.steps) == 1:
                key_path = (*path, fault.steps[0])
                if fault.steps[0] not in suggested:
                    yield Diagnostic(self.source.locate(key_path), key_path, "is required")
            elif fault.kind != "extra_forbidden" or len(fault.steps) != 1:
                remaining.append(fault)
        return remaining

    def _unknown(
        self, key: str, fields: Mapping[str, Node], missing_keys: Sequence[str]
    ) -> tuple[str, str]:
        if key in _OUT_OF_SCOPE:
            return _OUT_OF_SCOPE[key], ""
        matches = difflib.get_close_matches(key, missing_keys, n=1)
        if matches:
            return f"unknown key; did you mean '{matches[0]}'?", matches[0]
        parents = []
        for name, field in fields.items():
            inner = self._bare(field)
            choices = inner["choices"] if inner["type"] == "union" else [inner]
            if any(key in self._fields(self._bare(choice)) for choice in choices):
                parents.append(repr(name))
        if parents:
            return f"unknown key; it belongs in {' or '.join(parents)}", ""
        return f"unknown key; the keys here are {shorten(', '.join(fields), 200)}", ""

    def _diagnostic(self, node: Node, path: Path, fault: _Fault) -> Diagnostic:
        value = self.source.at(path)
        if fault.kind.startswith("union_tag"):
            return self._tag_diagnostic(node, path, fault)
        if fault.steps == ("[key]",):  # pydantic's mark for a mapping's key
            message = f"the key {_fault_text(fault, path[-1])}"
            return Diagnostic(self.source.keys.get(path, self.source.locate(path)), path, message)
        if fault.kind == "model_attributes_type" and node["type"] == "tagged-union":
            key, tags = node["discriminator"], ", ".join(map(str, node["choices"]))
            message = f"must be a mapping with '{key}', one of {tags}; got {_value_text(value)}"
        elif fault.kind == "literal_error" and node["type"] == "literal":
            message = _must_be_one_of(value, node["expected"])
        elif fault.kind in _LENGTHS and _length(node) is not None and isinstance(value, list):
            message = f"must have {_length(node)} items, got {len(value)}"
        else:
            path = (*path, *fault.context.get("path", ()))
            message = _fault_text(fault, self.source.at(path))
        return Diagnostic(self.source.locate(path), path, message)

    def _tag_diagnostic(self, node: Node, path: Path, fault: _Fault) -> Diagnostic:
        key = str(fault.context["discriminator"]).strip("'")
        tag_path = (*path, key)
        value, tags = self.source.at(path), list(node["choices"])
        if fault.kind == "union_tag_invalid":
            message = _must_be_one_of(self.source.at(tag_path), tags)
        else:
            matches = difflib.get_close_matches(
                key, map(str, value) if isinstance(value, dict) else (), n=1
            )
            hint = f"; is '{matches[0]}' meant to be '{key}'?" if matches else ""
            message = f"is required: one of {', '.join(map(str, tags))}{hint}"
        return Diagnostic(self.source.locate(tag_path), tag_path, message)

    def _union_diagnostics(
        self, node: Node, path: Path, faults: Sequence[_Fault]
    ) -> Iterator[Diagnostic]:
        """Yield diagnostics for the union branch that fits the data best, or list all branches."""
        choices = node["choices"]
        groups: dict[str | int, list[_Fault]] = {}
        for fault in faults:
            if fault.steps:
                groups.setdefault(fault.steps[0], []).append(fault.inner())
            else:
                yield self._diagnostic(node, path, fault)
        # pydantic lists the errors of all branches, in the order of the branches.
        branches = list(zip(choices, groups.values(), strict=False))
        candidates = [
            branch for branch in branches if self._has_type_of(*branch, self.source.at(path))
        ]
        if candidates:
            choice, branch_faults = min(candidates, key=lambda branch: _distance(branch[1]))
            yield from self.explain(choice, path, branch_faults)
        elif branches:
            yield Diagnostic(self.source.locate(path), path, self._all_branches(choices, path))

    def _has_type_of(self, choice: Node, faults: Sequence[_Fault], value: object) -> bool:
        """Return whether data have the type and length that a union branch requires.

        The items of the data are not compared.
        """
        kind = self._bare(choice)["type"]
        if kind == "literal" or any(f.kind in _REFUSALS and not f.steps for f in faults):
            return False
        if kind == "tuple":
            return not any(f.kind in _LENGTHS and len(f.steps) <= 1 for f in faults)
        is_word = isinstance(value, str) and value.strip()[:1] not in set("+-.0123456789")
        return not (kind == "float" and is_word)

    def _all_branches(self, choices: Sequence[Node], path: Path) -> str:
        value = self.source.at(path)
        nodes = [self._bare(choice) for choice in choices]
        lengths = [_length(node) for node in nodes if node["type"] in ("list", "tuple")]
        if isinstance(value, list) and lengths and None not in lengths:
            return f"must have {' or '.join(map(str, lengths))} items, got {len(value)}"
        words = [word for node in nodes for word in node.get("expected", ())]
        kinds = [_KINDS[node["type"]] for node in nodes if node["type"] in _KINDS]
        expected = " or ".join(dict.fromkeys([*kinds, *map(repr, words)]))
        return f"must be {expected}, got {_value_text(value)}{_hint(value, words)}"
