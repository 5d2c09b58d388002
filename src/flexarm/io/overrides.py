"""Changes of values in an arm by the keys of its model file, with validation of the changed arm."""

import copy
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

from pydantic import ValidationError

from flexarm.arguments import refused, require_mapping
from flexarm.arm import Arm
from flexarm.arm.side_files import files_of
from flexarm.errors import ModelError
from flexarm.io.explain import explain, explain_data
from flexarm.io.model_file import files_beside, parse, read_content, validated
from flexarm.io.source import read, shorten, show_path
from flexarm.units import Unit


@dataclass(frozen=True)
class Change:
    """A value for a key of a model file, such as ``links.forearm.section.EIy=900``."""

    text: str  # text of the change
    # Keys from the top of the file. Items of lists are numbers counted from 1; links, contacts and
    # springs may be given by name. ``joints`` followed by a joint's name or number is the joint of
    # a link.
    steps: tuple[str, ...]
    value: Any  # value as in a model file; None removes the key


def read_change(text: str) -> Change:
    """Parse ``KEY=VALUE``, with a value in YAML; ``KEY=`` removes the key.

    Raises
    ------
    ModelError
        If the text is not of this form.
    """
    key, sign, value = text.partition("=")
    steps = _steps(key)
    if not sign or not steps:
        raise ModelError(f"'{text}': must be KEY=VALUE, such as links.1.section.EIz=900")
    if not value.strip():
        return Change(text, steps, None)
    try:
        source = read(f"value: {value.strip()}", text)
    except ModelError:
        raise ModelError(
            f"'{text}': the value must be a number, a word, or YAML on one line"
        ) from None
    for problem in source.problems:
        raise ModelError(f"'{text}': {problem.message}")
    if set(source.data) != {"value"}:
        raise ModelError(f"'{text}': must be one value")
    return Change(text, steps, source.data["value"])


def load_changed(path: Path, changes: Sequence[Change], *, files: Sequence[str | Path] = ()) -> Arm:
    """Load an arm from a model file, with changed values.

    Parameters
    ----------
    path
        The model file, valid by itself.
    changes
        Changes, applied in this order.
    files
        Further folders whose files the arm may name, as for `load`.

    Raises
    ------
    ModelError
        If the file is not valid, or not with the changes; then the message names the change.
    """
    side_files, content = files_beside(path.parent, files), read_content(path)
    arm = parse(Arm, content, name=str(path), files=side_files)
    if not changes:
        return arm
    source = read(content, str(path))
    source = replace(source, data=copy.deepcopy(source.data))
    try:
        places = [_apply(source.data, change, present=True) for change in changes]
    except ModelError as error:
        raise ModelError(f"--set {error}") from None
    try:
        return Arm.model_validate(source.data, context={"files": side_files})
    except ValidationError as error:
        problems = explain(error, Arm, source)
    lines = []
    for problem in problems:
        pairs = zip(changes, places, strict=True)
        causes = [change for change, place in pairs if overlap(place, problem.path)]
        texts = ", ".join(change.text for change in causes or changes)
        lines.append(f"--set {texts}: {problem}")
    raise ModelError("\n".join(lines))


def _apply(data: dict[str, Any], change: Change, *, present: bool = False) -> tuple[str | int, ...]:
    """Set or remove the value of a key in nested data, and return the key's path.

    With ``present``, a key to be removed must exist.
    """
    container: Any = data
    path: tuple[str | int, ...] = ()
    steps = _through_links(data, change)
    for depth, step in enumerate(steps):
        is_last = depth == len(steps) - 1
        if isinstance(container, list):
            index = _index(container, step, change, path)
            path = (*path, index)
        elif isinstance(container, dict):
            path = (*path, step)
        else:
            raise ModelError(
                f"{change.text}: the value of {show_path(path)} is {shorten(repr(container))}, "
                f"which has no '{step}' in it"
            )
        key = path[-1]
        is_absent = isinstance(container, dict) and key not in container
        if is_absent and change.value is None and (present or not is_last):
            raise ModelError(f"{change.text}: the model file has no {show_path(path)}")
        if is_last and change.value is None:
            if not is_absent:
                del container[key]
            return path
        if is_last:
            container[key] = change.value
        elif isinstance(container, dict) and container.get(str(key)) is None:
            container[key] = {}
        container = container[key]
    return path


def _through_links(data: dict[str, Any], change: Change) -> tuple[str, ...]:
    """Return the path of a key, with ``joints.elbow`` expanded to ``links.2.joint``."""
    links = data.get("links")
    if change.steps[0] != "joints" or not isinstance(links, list | tuple):
        return change.steps
    joints = [link.get("joint") if isinstance(link, dict) else None for link in links]
    if len(change.steps) == 1:
        raise ModelError(f"{change.text}: must name a joint, such as joints.1.friction")
    index = _index(joints, change.steps[1], change, ("joints",))
    return ("links", str(index + 1), "joint", *change.steps[2:])


def _index(items: list[Any], step: str, change: Change, path: tuple[str | int, ...]) -> int:
    """Return the index of a list item from its number (from 1) or its name."""
    names = []
    if path in (("links",), ("joints",), ("contacts",), ("springs",)):
        names = [
            str((isinstance(item, dict) and item.get("name")) or f"{str(path[0])[:-1]}{k}")
            for k, item in enumerate(items, 1)
        ]
        if step in names:
            return names.index(step)
    if step.isdecimal() and 1 <= int(step) <= len(items):
        return int(step) - 1
    choices = f"{', '.join(names)}; or 1 to {len(items)}" if names else f"1 to {len(items)}"
    raise ModelError(
        f"{change.text}: there is no '{step}' in {show_path(path)}. There are {choices}."
    )


def overlap(place: tuple[str | int, ...], path: tuple[str | int, ...]) -> bool:
    """Return whether one path is a prefix of the other."""
    length = min(len(place), len(path))
    return place[:length] == path[:length]


def change_arm(arm: Arm, values: Mapping[str, Any]) -> Arm:
    """Change values of an arm by their keys, such as ``links.1.section.EIz``.

    Parameters
    ----------
    arm
        The arm, which is not changed.
    values
        New values as in a model file, by key; None removes the key.  Links, contacts and springs
        have their names or numbers from 1, and joints too: ``joints.elbow.drive.stiffness`` equals
        ``links.2.joint.drive.stiffness``.

    Returns
    -------
    Arm
        The changed arm, validated whole.

    Raises
    ------
    ModelError
        If there is no such key, or the arm is not valid with its new value.
    """
    require_mapping("values", values, "new values by their keys", ModelError, optional=False)
    data = validated(arm).model_dump(exclude_unset=True, mode="json")
    for key, value in values.items():
        if not _steps(key):
            raise refused(
                "values", key, "a mapping from keys of a model file to values", ModelError
            )
        if value is None:
            read_value(arm, key)  # raises an error for a key that no file can have
        _apply(data, Change(f"{key}={'' if value is None else value}", _steps(key), value))
    try:
        return Arm.model_validate(data, context={"files": files_of(arm)})
    except ValidationError as error:
        problems = explain_data(error, Arm, data)
    raise ModelError("\n".join(map(str, problems)))


def find_place(arm: Arm, key: str) -> tuple[str | int, ...]:
    """Return the path of a key in a model file; a link's number and name give equal paths.

    Raises
    ------
    ModelError
        If there is no such key.
    """
    data = arm.model_dump(exclude_unset=True, mode="json")
    return _apply(data, Change(key, _steps(key), 0.0))


def read_value(arm: Arm, key: str) -> Any:
    """Return the value of an arm at a key such as ``links.1.section.EIz``.

    Raises
    ------
    ModelError
        If there is no such key in the arm.
    """
    value: Any = arm.model_dump(mode="json")
    path: tuple[str | int, ...] = ()
    change = Change(key, _steps(key), None)
    for step in _through_links(value, change) if change.steps else ():
        if isinstance(value, list):
            index = _index(value, step, change, path)
            value, path = value[index], (*path, index)
        elif isinstance(value, dict) and step in value:
            value, path = value[step], (*path, step)
        else:
            choices = f": there are {', '.join(value)}" if isinstance(value, dict) else ""
            raise ModelError(
                f"'{key}': there is no '{step}' in {show_path(path) or 'the arm'}{choices}"
            )
    return value


def unit_of(arm: Arm, key: str) -> str:
    """Return the SI unit of the value at a key of an arm, or an empty text if it has none."""
    part: Any = arm
    for step in find_place(arm, key):
        if isinstance(part, list | tuple):
            part = part[int(step)]
        elif isinstance(part, Mapping):
            part = part.get(step)
        elif step in getattr(type(part), "model_fields", ()):
            field, part = type(part).model_fields[str(step)], getattr(part, str(step))
            found = _units((field.annotation, *field.metadata))
        else:
            return ""
    return next(found, "")


def _units(annotations: Iterable[Any]) -> Iterator[str]:
    """Yield the units within type annotations."""
    for annotation in annotations:
        if isinstance(annotation, Unit):
            yield annotation.symbol
        yield from _units(get_args(annotation))


def _steps(key: str) -> tuple[str, ...]:
    return tuple(step for step in re.split(r"[.\[\]]+", key.strip()) if step)
