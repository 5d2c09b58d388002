"""Model files: load an arm with all mistakes reported, change values by key, save the arm."""

import difflib
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from ruamel.yaml import YAML
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from flexarm.arguments import (
    listed,
    refused,
    require_flag,
    require_kind,
    require_mapping,
    require_path,
)
from flexarm.arm import Arm
from flexarm.arm.side_files import SideFiles, files_of, read_at_most
from flexarm.errors import FlexarmError, ModelError
from flexarm.io.constants import LINE_WIDTH, MOST_MODEL_BYTES
from flexarm.io.explain import explain, explain_data
from flexarm.io.source import find_unprintable, read, report, shorten, show_path
from flexarm.io.whole_file import write_whole
from flexarm.samples import FOLDER, example_arm_names, sample_path
from flexarm.units import Unit

_TAG = "tag:yaml.org,2002:"
_PLAIN = re.compile(r"[A-Za-z_](?:[A-Za-z0-9_./ -]*[A-Za-z0-9_./-])?")
# Words that YAML 1.2 does not read as text, or that readers of YAML 1.1 do not read as text.
_RESERVED = {"null", "true", "false", "yes", "no", "on", "off", "y", "n"}


def emit(data: Mapping[str, Any] | BaseModel) -> str:
    """Return plain data, or the keys that were set in a part of an arm, as YAML text.

    Parameters
    ----------
    data
        Mappings, lists, text, numbers, booleans and None, or a pydantic object.

    Returns
    -------
    str
        YAML in block style; lists without mappings are in flow style, wrapped at the line width.
    """
    yaml, text = YAML(pure=True), StringIO()
    yaml.width = LINE_WIDTH
    yaml.indent(mapping=2, sequence=4, offset=2)
    yaml.serialize(_node(data), text)
    return text.getvalue()


def _node(value: Any) -> Node:
    """Return plain data as a tree of YAML nodes, each with its output style."""
    if isinstance(value, BaseModel):
        fields, stated = type(value).model_fields, value.model_fields_set
        # the key that names the kind comes first
        names = sorted(fields, key=lambda name: not _is_tag(fields[name]))
        names = [name for name in names if name in stated or _is_tag(fields[name])]
        return _node({name: getattr(value, name) for name in names})
    if isinstance(value, Mapping):
        pairs = [(_node(key), _node(item)) for key, item in value.items()]
        return MappingNode(f"{_TAG}map", pairs, flow_style=not pairs)
    if isinstance(value, list | tuple):
        nested = any(isinstance(item, Mapping | BaseModel) for item in value)
        return SequenceNode(f"{_TAG}seq", [_node(item) for item in value], flow_style=not nested)
    if isinstance(value, str):
        if character := find_unprintable(value):
            raise ModelError(
                f"{shorten(repr(value))}: a model file cannot contain {character}. Remove it."
            )
        is_plain = _PLAIN.fullmatch(value) and value.lower() not in _RESERVED
        is_block = "\n" in value and "\r" not in value  # a block would turn \r into a line break
        style = None if is_plain else "|" if is_block else '"'
        return ScalarNode(f"{_TAG}str", value, style=style)
    if isinstance(value, float):
        return ScalarNode(f"{_TAG}float", _number(value))
    kind = "null" if value is None else type(value).__name__
    return ScalarNode(_TAG + kind, "null" if value is None else str(value).lower())


def _number(value: float) -> str:
    """Return the shortest decimal text from which the same double is read back."""
    text = float.__repr__(value)
    mantissa, e, exponent = text.partition("e")
    # YAML 1.1 readers read a number with an exponent but no point as text.
    return f"{mantissa}.0e{exponent}" if e and "." not in mantissa else text


M = TypeVar("M", bound=BaseModel)


def load(path: str | Path, *, files: Sequence[str | Path] = ()) -> Arm:
    """Load an arm from a model file.

    Parameters
    ----------
    path
        A YAML or JSON file. Side files that it names must lie in its folder or below.
    files
        Further folders that may contain side files.

    Returns
    -------
    Arm
        The validated arm.

    Raises
    ------
    ModelError
        With one line ``file:line:column: key: message`` per mistake in the file.
    """
    path = require_path("path", path, ModelError)
    side_files = files_beside(path.parent, files)
    return parse(Arm, read_content(path), name=str(path), files=side_files)


def read_content(path: Path) -> bytes:
    """Return the bytes of a model file, at most one byte more than the permitted size."""
    return read_at_most(path, MOST_MODEL_BYTES)


def files_beside(folder: Path, files: Sequence[str | Path] = ()) -> SideFiles:
    """Return the source of the side files that a model file may name.

    Side files may be in the model file's folder and in the permitted folders ``files``.

    Raises
    ------
    ModelError
        If a folder among ``files`` does not exist.
    """
    items = listed(files)
    if items is None:
        raise refused("files", files, "a list of folders", ModelError)
    folders = tuple(require_path("files", item, ModelError) for item in items)
    for folder_path in folders:
        if not os.path.isdir(folder_path):
            raise ModelError(f"files (--allow-files): there is no folder {folder_path}")
    return SideFiles.beside(folder, folders)


def loads(
    text: str | bytes,
    source: str = "<text>",
    *,
    folder: str | Path = ".",
    files: Sequence[str | Path] = (),
) -> Arm:
    """Load an arm from the text of a model file.

    Parameters
    ----------
    text
        YAML or JSON.
    source
        Name of the text in messages.
    folder
        Folder that contains the files that the text names.
    files
        Further folders that may contain side files.

    Returns
    -------
    Arm
        The validated arm.

    Raises
    ------
    ModelError
        With one line ``source:line:column: key: message`` per mistake in the text.
    """
    require_kind("text", text, (str, bytes), "the text of a model file", ModelError)
    require_kind("source", source, str, "a name for the text", ModelError)
    side_files = files_beside(require_path("folder", folder, ModelError), files)
    return parse(Arm, text, name=source, files=side_files)


def parse(model: type[M], content: str | bytes, *, name: str, files: SideFiles) -> M:
    """Parse YAML text into a pydantic object, with error messages in the style of `load`.

    Parameters
    ----------
    model
        Class of the instance.
    content
        YAML or JSON.
    name
        Name of the text in messages.
    files
        Files that the text may name.
    """
    source = read(content, name)
    problems = list(source.problems)
    try:
        result = model.model_validate(source.data, context={"files": files})
    except ValidationError as error:
        problems += explain(error, model, source)
    if problems:
        raise ModelError(report(name, problems))
    return result


def from_data(model: type[M], data: dict[str, Any], files: SideFiles | None = None) -> M:
    """Return plain data as an instance of a pydantic class.

    Raises
    ------
    ModelError
        With one line ``key: message`` per mistake.
    """
    try:
        return model.model_validate(data, context=None if files is None else {"files": files})
    except ValidationError as error:
        problems = explain_data(error, model, data)
    raise ModelError("\n".join(map(str, problems)))


def validated(arm: Arm) -> Arm:
    """Return a validated copy of an arm; pydantic does not validate copies made in Python.

    Raises
    ------
    ModelError
        If the argument is no `Arm`, or has mistakes, with one line per mistake.
    """
    if not isinstance(arm, Arm):
        raise ModelError(f"arm: must be an Arm, got {_arm_text(arm)}")
    if arm.is_validated:
        return arm
    try:
        return Arm.model_validate(arm)
    except ValidationError as error:
        data = arm.model_dump(exclude_unset=True, warnings=False)
        problems = explain_data(error, Arm, data)
    raise ModelError("\n".join(map(str, problems)))


def _arm_text(arm: object) -> str:
    if isinstance(arm, str | Path):
        return f"{str(arm)!r}. Read it with flexarm.load(path) or flexarm.example_arm(name) first"
    description = "None" if arm is None else f"a value of type {type(arm).__name__}"
    return f"{description}. Make one with flexarm.load, flexarm.example_arm or flexarm.Arm."


def save(arm: Arm, path: str | Path, *, force: bool = False) -> None:
    """Write an arm to a model file, atomically.

    Parameters
    ----------
    arm
        The arm; `load` returns an equal arm.
    path
        The file to write. Side files that the arm names are not copied; they must be in the file's
        folder or below.
    force
        Whether to overwrite an existing file.

    Raises
    ------
    ModelError
        If the arm is not valid, the file exists and `force` is false, or it cannot be written.
    """
    path = require_path("path", path, ModelError)
    require_flag("force", force, ModelError)
    write_text(path, dumps(validated(arm)), force=force)


def write_text(path: Path, text: str, *, force: bool) -> None:
    """Write text to a file atomically: complete or not at all.

    Raises
    ------
    ModelError
        If the file exists and `force` is false, or it cannot be written.
    """
    try:
        write_whole(path, text.encode("utf-8"), force=force)
    except FlexarmError as error:
        raise ModelError(str(error)) from None


def dumps(arm: BaseModel) -> str:
    """Return an arm as the text of a model file, with only the keys that were set.

    Parameters
    ----------
    arm
        The arm, or any part of an arm.

    Returns
    -------
    str
        YAML, in SI units.

    Raises
    ------
    ModelError
        If a text in the arm has a character that a model file cannot contain.
    """
    return emit(arm)


def _is_tag(field: FieldInfo) -> bool:
    """Return whether a field has a single literal value that selects a branch of a union."""
    return get_origin(field.annotation) is Literal and len(get_args(field.annotation)) == 1


def example_arm(name: str) -> Arm:
    """Load one of the example arms that come with flexarm.

    Parameters
    ----------
    name
        One of `flexarm.example_arm_names()`.

    Returns
    -------
    Arm
        The arm, as loaded from the example's model file.

    Raises
    ------
    ModelError
        If there is no example arm of that name.
    """
    return _load(sample_path(name))


_load = cache(load)


def arm_path(name: str) -> Path:
    """Return the path of the model file or example arm that a command's argument names.

    Raises
    ------
    ModelError
        If there is no such file or example; the message suggests the nearest name.
    """
    path = require_path("name", name, ModelError)
    if os.path.exists(path) and not os.path.isdir(path):
        return path
    names, neighbours = example_arm_names(), list[Path]()
    if name in names:
        return FOLDER / f"{name}.yaml"
    with suppress(OSError, ValueError):
        neighbours = sorted(path.parent.iterdir())
    files = [str(path.parent / path_beside.name) for path_beside in neighbours
             if path_beside.suffix in (".yaml", ".yml", ".json")]  # fmt: skip
    matches = difflib.get_close_matches(name, [*files, *names], n=1, cutoff=0.5)
    hint = f"Did you mean '{matches[0]}'? " if matches else ""
    raise ModelError(
        f"no file and no sample arm is called '{name}'. {hint}Give a model file, or a name that "
        "'flexarm arms' lists."
    )


@dataclass(frozen=True)
class Change:
    """New value of a key of a model file, such as ``links.forearm.section.EIy=900``."""

    text: str  # text of the change as the user wrote it
    # Keys from the top level of the file to the value. List items have numbers from 1; links,
    # contacts and springs may have their names instead. ``joints`` followed by a joint's name or
    # number stands for the joint of a link.
    steps: tuple[str, ...]
    value: Any  # value as in a model file; None removes the key


def read_change(text: str) -> Change:
    """Parse ``KEY=VALUE``, with a value in YAML; ``KEY=`` removes the key.

    Raises
    ------
    ModelError
        If the text does not have the form ``KEY=VALUE``.
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


def with_changes(arm: Arm, changes: Sequence[Change], files: SideFiles) -> Arm:
    """Apply changes to an arm in order, and return the validated arm.

    The changed arm may name the side files of the source ``files``.

    Raises
    ------
    ModelError
        If there is no such key, or the arm is not valid with its new value.
    """
    data = validated(arm).model_dump(exclude_unset=True, mode="json")
    for change in changes:
        if change.value is None:
            read_value(arm, ".".join(change.steps))  # raises an error for an impossible key
        _apply(data, change)
    return from_data(Arm, data, files)


def _apply(data: dict[str, Any], change: Change) -> tuple[str | int, ...]:
    """Set or remove the value of a key in nested data, and return the key's path."""
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
        if is_absent and change.value is None and not is_last:
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
    """Return the path of a key in which ``joints.elbow`` is expanded to ``links.2.joint``."""
    links = data.get("links")
    if change.steps[0] != "joints" or not isinstance(links, list | tuple):
        return change.steps
    joints = [link.get("joint") if isinstance(link, dict) else None for link in links]
    if len(change.steps) == 1:
        raise ModelError(f"{change.text}: must name a joint, such as joints.1.friction")
    index = _index(joints, change.steps[1], change, ("joints",))
    return ("links", str(index + 1), "joint", *change.steps[2:])


def _index(items: list[Any], step: str, change: Change, path: tuple[str | int, ...]) -> int:
    """Return the index of a list item from the item's number (from 1) or name."""
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
    """Return whether one of two paths is a prefix of the other."""
    length = min(len(place), len(path))
    return place[:length] == path[:length]


def change_arm(arm: Arm, values: Mapping[str, Any]) -> Arm:
    """Change values of an arm by their keys, such as ``links.1.section.EIz``.

    Parameters
    ----------
    arm
        The arm, which is not changed.
    values
        New values as in a model file, by key; None removes the key. Keys refer to links, contacts,
        springs and joints by name or by number from 1: ``joints.elbow.drive.stiffness`` can be the
        same as ``links.2.joint.drive.stiffness``.

    Returns
    -------
    Arm
        A validated copy of the arm with the changes.

    Raises
    ------
    ModelError
        If there is no such key, or the arm is not valid with its new value.
    """
    require_mapping("values", values, "new values by their keys", ModelError, optional=False)
    changes = []
    for key, value in values.items():
        if not _steps(key):
            raise refused(
                "values", key, "a mapping from keys of a model file to values", ModelError
            )
        changes.append(Change(f"{key}={'' if value is None else value}", _steps(key), value))
    return with_changes(arm, changes, files_of(validated(arm)))


def find_place(arm: Arm, key: str) -> tuple[str | int, ...]:
    """Return the path of a key in a model file; a link's number and its name give the same path.

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
    """Return the SI unit of the value at a key of an arm, or "" if it has no unit."""
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
    """Yield the symbols of the units that type annotations contain."""
    for annotation in annotations:
        if isinstance(annotation, Unit):
            yield annotation.symbol
        yield from _units(get_args(annotation))


def _steps(key: str) -> tuple[str, ...]:
    return tuple(step for step in re.split(r"[.\[\]]+", key.strip()) if step)
