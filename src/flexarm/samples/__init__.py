"""Example arms that come with flexarm, as model files."""

import difflib
from importlib import resources
from pathlib import Path

from flexarm.arguments import require_kind
from flexarm.errors import ModelError

# A path, not any Traversable, since model files may name other files beside them.
FOLDER = Path(str(resources.files(__name__)))
COUNTED = ("count-", "tg-")  # prefixes of the arms on which operations are counted


def example_arm_names() -> tuple[str, ...]:
    """List the names of the example arms in alphabetical order.

    Returns
    -------
    tuple[str, ...]
        Names that `flexarm.example_arm` accepts.
    """
    return tuple(sorted(path.stem for path in FOLDER.glob("*.yaml")))


def shown_names() -> tuple[str, ...]:
    """List the names of the example arms, except arms that only serve to count operations."""
    return tuple(name for name in example_arm_names() if not name.startswith(COUNTED))


def sample_path(name: str) -> Path:
    """Return the path of the model file of an example arm.

    Raises
    ------
    ModelError
        If there is no example arm of that name.
    """
    names = example_arm_names()
    require_kind("name", name, str, "the name of a sample", ModelError)
    if name not in names:
        close = difflib.get_close_matches(name, names, n=1)
        hint = f"Did you mean '{close[0]}'? " if close else ""
        raise ModelError(
            f"there is no sample arm '{name}'. {hint}The sample arms are {', '.join(names)}."
        )
    return FOLDER / f"{name}.yaml"


def sample_text(name: str) -> str:
    """Return the text of the model file of an example arm.

    Raises
    ------
    ModelError
        If there is no example arm of that name.
    """
    return sample_path(name).read_text(encoding="utf-8")
