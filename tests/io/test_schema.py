import json
from typing import Any

from flexarm.io.schema import schema, schema_path, schema_text
from flexarm.io.source import read
from tests.io.arms import RICH


def test_the_shipped_schema_is_the_one_of_this_version() -> None:
    """If this fails, run ``python -m flexarm.io.schema``."""
    assert schema_path().read_text(encoding="utf-8") == schema_text()


def test_every_reference_in_the_schema_leads_somewhere() -> None:
    document = json.loads(schema_text())
    references: list[str] = []

    def walk(value: Any) -> None:
        if isinstance(value, dict):
            references.extend([value["$ref"]] if "$ref" in value else [])
            for item in value.values():
                walk(item)
        elif isinstance(value, list):
            for item in value:
                walk(item)

    walk(document)
    assert references
    for reference in references:
        assert reference.removeprefix("#/$defs/") in document["$defs"]


def test_an_editor_learns_keys_units_and_choices_from_the_schema() -> None:
    document = schema()
    assert set(read(RICH, "").data) <= set(document["properties"])
    assert document["additionalProperties"] is False
    link = document["$defs"]["Link"]["properties"]
    length = document["$defs"][link["length"]["$ref"].rpartition("/")[2]]
    assert length["x-unit"] == "m"
    assert length["anyOf"][0] == {"type": "number", "minimum": 0}
    kinds = {each["$ref"] for each in link["joint"]["oneOf"]}
    assert {"#/$defs/Revolute", "#/$defs/Sliding"} <= kinds
    assert document["$defs"]["Revolute"]["properties"]["kind"]["const"] == "revolute"
