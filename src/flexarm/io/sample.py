"""Sample arms by name, and the model files of commands: a path or a sample."""

import difflib
import os
from functools import cache
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

    Returns
    -------
    Arm
        The arm, as `flexarm.load` reads one.

    Raises
    ------
    ModelError
        If there is no sample of that name.
    """
    return _load(sample_path(name))


@cache
def _load(path: Path) -> Arm:
    return load(path)


def arm_path(name: str) -> Path:
    """Return the model file of a command's argument: an existing path, else a sample by name.

    Raises
    ------
    ModelError
        If there is neither, with the nearest name.
    """
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
    """List the model files in the folder of a path."""
    try:
        beside = sorted(each.name for each in path.parent.iterdir())
    except (OSError, ValueError):
        return []
    suffixes = (".yaml", ".yml", ".json")
    return [str(path.parent / each) for each in beside if each.endswith(suffixes)]
