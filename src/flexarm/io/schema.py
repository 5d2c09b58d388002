"""JSON Schema of model files, for editors; ``python -m flexarm.io.schema`` writes the file."""

import json
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from flexarm.arm import Arm

FILE = "arm.schema.json"
_PLACE = "#/$defs/"
WIDTH = 100  # [characters] of a line of the file, where the text has breaks


def schema() -> dict[str, Any]:
    """Build the JSON Schema of a model file."""
    document = Arm.model_json_schema()
    definitions = document.pop("$defs")
    names: dict[str, str] = {}
    _find_names(document, definitions, names)
    named = {new: _renamed(definitions[old], names) for old, new in names.items()}
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    quantities = _Quantities()
    whole: dict[str, Any] = quantities.shared({**head, **_renamed(document, names), "$defs": named})
    whole["$defs"] |= quantities.definitions
    return whole


def schema_text() -> str:
    """Return the text of the shipped file."""
    return _written(schema()) + "\n"


def schema_path() -> Path:
    """Return the path of the shipped file."""
    return Path(str(resources.files("flexarm.io") / FILE))


def _written(value: Any, indent: int = 0) -> str:
    """Return JSON whose objects and lists are on one line where they fit."""
    text = json.dumps(value, ensure_ascii=False)
    if indent + len(text) <= WIDTH or not isinstance(value, dict | list):
        return text
    keys, items, (start, end) = [""] * len(value), list(value), "[]"
    if isinstance(value, dict):
        keys, items = [f"{json.dumps(key)}: " for key in value], list(value.values())
        start, end = "{}"
    space = " " * (indent + 1)
    rows = (space + key + _written(x, indent + 1) for key, x in zip(keys, items, strict=True))
    return start + "\n" + ",\n".join(rows) + "\n" + space[1:] + end


class _Quantities:
    """Definitions of the quantities with a unit, each distinct one written once."""

    def __init__(self) -> None:
        self.definitions: dict[str, Any] = {}  # by name
        self._names: dict[str, str] = {}  # by the text of the definition

    def shared(self, value: Any, *, keys: bool = False) -> Any:
        """Return a schema with references to quantities, without keys that editors ignore.

        Titles repeat the keys, and discriminators repeat the choices of `oneOf`.  ``keys`` says
        that the keys of this object are those of model files, not of JSON Schema.
        """
        if isinstance(value, list):
            return [self.shared(item) for item in value]
        if not isinstance(value, dict):
            return value
        kept = {
            key: self.shared(item, keys=key in ("properties", "$defs"))
            for key, item in value.items()
            if keys or key not in ("title", "discriminator")
        }
        return kept if keys or "x-unit" not in kept else self._reference(kept)

    def _reference(self, quantity: dict[str, Any]) -> dict[str, Any]:
        default = {key: quantity.pop(key) for key in ("default",) if key in quantity}
        text = json.dumps(quantity)
        if text not in self._names:
            base = quantity["description"].split(" [")[0].replace(" ", "-")
            count = sum(name.rstrip("0123456789") == base for name in self._names.values())
            self._names[text] = f"{base}{count + 1}" if count else base
            self.definitions[self._names[text]] = quantity
        return {"$ref": _PLACE + self._names[text], **default}


def _find_names(value: Any, definitions: Mapping[str, Any], names: dict[str, str]) -> None:
    """Name definitions after their classes, in the order of their use.

    pydantic's own names for generic classes are long, and number them by its version.
    """
    if isinstance(value, dict):
        for item in value.values():
            _find_names(item, definitions, names)
    elif isinstance(value, list):
        for item in value:
            _find_names(item, definitions, names)
    elif isinstance(value, str) and value.startswith(_PLACE):
        old = value.removeprefix(_PLACE)
        if old not in names:
            base = definitions[old].get("title", old).split("[")[0]
            count = sum(name.rstrip("0123456789") == base for name in names.values())
            names[old] = f"{base}{count + 1}" if count else base
            _find_names(definitions[old], definitions, names)


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _renamed(item, names) for key, item in value.items()}
    if isinstance(value, list):
        return [_renamed(item, names) for item in value]
    if isinstance(value, str) and value.startswith(_PLACE):
        return _PLACE + names[value.removeprefix(_PLACE)]
    return value


if __name__ == "__main__":
    schema_path().write_text(schema_text(), encoding="utf-8")
