"""JSON Schema of model files, for editors.

The command ``python -m flexarm.io.schema`` writes the schema file.
"""

import json
from collections import Counter
from importlib import resources
from pathlib import Path
from typing import Any

from pydantic.json_schema import GenerateJsonSchema

from flexarm.arm import Arm


class _WithoutTitles(GenerateJsonSchema):
    """Generator of a schema in which keys have no titles, since these only repeat the keys."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def schema() -> dict[str, Any]:
    """Return the JSON Schema of a model file, with one shared definition per quantity."""
    document: dict[str, Any] = _with_short_names(
        Arm.model_json_schema(schema_generator=_WithoutTitles)
    )
    quantities: dict[str, dict[str, Any]] = {}
    document = _with_shared_quantities(document, quantities)
    document["$defs"] |= {
        f"Quantity{n}": quantity for n, quantity in enumerate(quantities.values())
    }
    return {"$schema": "https://json-schema.org/draft/2020-12/schema"} | document


def _with_short_names(document: dict[str, Any]) -> dict[str, Any]:
    """Return a schema in which generic definitions have numbered names: Profile1, Profile2."""
    text, counts = json.dumps(document), Counter[str]()
    for name in [name for name in document["$defs"] if "_Annotated_" in name]:
        short_name = name.partition("_Annotated_")[0].rpartition("__")[2]
        counts[short_name] += 1
        text = text.replace(f'/{name}"', f'/{short_name}{counts[short_name]}"')
        text = text.replace(f'"{name}"', f'"{short_name}{counts[short_name]}"')
    return dict(json.loads(text))


def _with_shared_quantities(part: Any, quantities: dict[str, dict[str, Any]]) -> Any:
    """Replace quantities in a part of a schema by references to definitions.

    A quantity is a number with bounds and a unit.

    The definitions of new quantities are added to ``quantities``, keyed by their JSON text.
    """
    if isinstance(part, list):
        return [_with_shared_quantities(item, quantities) for item in part]
    if not isinstance(part, dict):
        return part
    if "x-unit" not in part:
        return {key: _with_shared_quantities(value, quantities) for key, value in part.items()}
    default = {"default": part["default"]} if "default" in part else {}
    quantity = {key: value for key, value in part.items() if key != "default"}
    quantities.setdefault(json.dumps(quantity), quantity)
    number = list(quantities).index(json.dumps(quantity))
    return {"$ref": f"#/$defs/Quantity{number}"} | default


def schema_text() -> str:
    """Return the JSON Schema as the text of the schema file, with one line per definition."""
    document = schema()
    definitions = document.pop("$defs").items()
    lines = ",\n".join(
        f"{json.dumps(name)}:{_compact(definition)}" for name, definition in definitions
    )
    return f'{_compact(document)[:-1]},\n"$defs":{{\n{lines}\n}}}}\n'


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def schema_path() -> Path:
    """Return the path of the JSON Schema file in the installed package."""
    return Path(str(resources.files("flexarm.io") / "arm.schema.json"))


if __name__ == "__main__":
    schema_path().write_text(schema_text(), encoding="utf-8")
