"""Sample arms by name, and arms by whatever a user calls them."""

import difflib
import os
from collections.abc import Sequence
from pathlib import Path

from flexarm.arguments import require_path
from flexarm.arm import Arm
from flexarm.errors import ModelError
from flexarm.io.model_file import load
from flexarm.samples import sample_names, sample_path


def sample(name: str) -> Arm:
    """Load one of the arms that come with flexarm.

    Parameters
    ----------
    name
        One of `flexarm.sample_names()`.

    Raises
    ------
    ModelError
        If there is no sample of that name.
    """
    return load(sample_path(name))


def open_arm(name: str, *, files: Sequence[Path] = ()) -> Arm:
    """Load the arm that a command is given: a model file, or a sample by its name.

    Parameters
    ----------
    name
        Path of a model file, which wins, or one of `flexarm.sample_names()`.
    files
        Further folders whose files it may name, as for `load`.

    Raises
    ------
    ModelError
        If there is neither, with the nearest name; or with all mistakes in the file.
    """
    return load(arm_path(name), files=files)


def arm_path(name: str) -> Path:
    """Find the model file that a command is given, as for `open_arm`."""
    path = require_path("name", name, ModelError)
    if os.path.exists(path) and not os.path.isdir(path):
        return path
    names = sample_names()
    if name in names:
        return sample_path(name)
    close = difflib.get_close_matches(name, [*_model_files(path), *names], n=1, cutoff=0.5)
    hint = f"did you mean '{close[0]}'? " if close else ""
    raise ModelError(
        f"no file and no sample is named '{name}': {hint}give a model file, or a name that "
        "'flexarm samples' lists"
    )


def _model_files(path: Path) -> list[str]:
    """List the model files beside a path, as its user would write them."""
    try:
        beside = sorted(each.name for each in path.parent.iterdir())
    except (OSError, ValueError):
        return []
    suffixes = (".yaml", ".yml", ".json")
    return [str(path.parent / each) for each in beside if each.endswith(suffixes)]
