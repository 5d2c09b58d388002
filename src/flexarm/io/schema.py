"""JSON Schema of model files, for editors; ``python -m flexarm.io.schema`` writes it anew."""

import json
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from flexarm.arm import Arm

FILE = "arm.schema.json"
_PLACE = "#/$defs/"


def schema() -> dict[str, Any]:
    """Make the JSON Schema of a model file."""
    document = Arm.model_json_schema()
    definitions = document.pop("$defs")
    names: dict[str, str] = {}
    _find_names(document, definitions, names)
    named = {new: _renamed(definitions[old], names) for old, new in names.items()}
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return {**head, **_renamed(document, names), "$defs": named}


def schema_text() -> str:
    """Write the schema as the text of the file that is shipped."""
    return json.dumps(schema(), indent=1, ensure_ascii=False) + "\n"


def schema_path() -> Path:
    """Find the file that is shipped."""
    return Path(str(resources.files("flexarm.io") / FILE))


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
