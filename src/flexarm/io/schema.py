"""JSON Schema of model files, for editors; ``python -m flexarm.io.schema`` regenerates the file."""

import json
from importlib import resources
from pathlib import Path
from typing import Any

from flexarm.arm import Arm


def schema() -> dict[str, Any]:
    """Return the JSON Schema of a model file."""
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return head | Arm.model_json_schema()


def schema_text() -> str:
    """Return the JSON Schema as the text of the file in the package."""
    return json.dumps(schema(), ensure_ascii=False, indent=1) + "\n"


def schema_path() -> Path:
    """Return the path of the JSON Schema file in the package."""
    return Path(str(resources.files("flexarm.io") / "arm.schema.json"))


if __name__ == "__main__":
    schema_path().write_text(schema_text(), encoding="utf-8")
