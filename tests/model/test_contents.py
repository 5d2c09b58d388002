"""A built model cannot be written to, and its fingerprint follows every number that it holds."""

import copy
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flexarm
from flexarm.engine.cache import VARIABLE
from flexarm.links.families.tabulated import write_modal_data
from flexarm.model import Model, build, fingerprint

SAMPLES = ["korayem-two-link", "telescope", "tg-rr-elements", "canadarm-free-base", "chen-two-link"]
TABLE_ARM = """\
flexarm: 1
name: table
links:
  - joint: {kind: revolute}
    length: 1
    section: {mass_per_length: 1, EIz: 10}
    shapes: {kind: table, file: shapes.yaml}
"""


def arrays(value: Any) -> Iterator[Any]:
    """Go through all arrays that the dataclasses of a model hold."""
    if isinstance(value, np.ndarray):
        yield value
    held: Any = ()
    if is_dataclass(value):
        held = [getattr(value, field.name) for field in fields(value)]
    elif isinstance(value, tuple | list):
        held = value
    elif isinstance(value, dict):
        held = value.values()
    for each in held:
        yield from arrays(each)


@pytest.mark.parametrize("sample", SAMPLES)
def test_every_array_of_a_built_model_is_read_only(sample: str) -> None:
    found = list(arrays(build(flexarm.example_arm(sample))))
    assert len(found) > 20
    assert not any(array.flags.writeable for array in found)


def first_link(model: Model, **changes: Any) -> Model:
    """Change fields of the first link."""
    return replace(model, links=(replace(model.links[0], **changes), *model.links[1:]))


def first_elastic(model: Model, **changes: Any) -> Model:
    """Change fields of the first link's elastic part."""
    elastic = model.links[0].beam
    assert elastic is not None
    return first_link(model, body=replace(elastic, **changes))


def stiffer(model: Model) -> Model:
    """Change the stiffness that the first link's integrals hold."""
    elastic = model.links[0].beam
    assert elastic is not None
    integrals = replace(elastic.integrals, stiffness=2 * elastic.integrals.stiffness)
    return first_elastic(model, integrals=integrals)


def bent(model: Model) -> Model:
    """Give the first link other curves."""
    elastic = model.links[0].beam
    assert elastic is not None
    turn = np.eye(elastic.shapes.count)
    turn[0, 0] = 2.0
    return first_elastic(model, shapes=elastic.shapes.changed(turn))


def with_friction(model: Model) -> Model:
    """Change a joint in the first link, not in the arm."""
    link = model.links[0].link
    joint = type(link.joint).model_validate({"kind": "revolute", "friction": {"viscous": 3.0}})
    return first_link(model, link=link.model_copy(update={"joint": joint}))


CHANGES: dict[str, Callable[[Model], Model]] = {
    "gravity": lambda m: replace(m, gravity=np.zeros(3)),
    "base": lambda m: replace(m, base_pose=replace(m.base_pose, position=np.ones(3))),
    "prescribed": lambda m: replace(m, prescribed=(0,)),
    "stiffening": lambda m: replace(m, stiffening=not m.stiffening),
    "tip body": lambda m: first_link(m, tip_body=replace(m.links[0].tip_body, mass=7.0)),
    "length": lambda m: first_link(m, length=9.0),
    "damping": lambda m: first_elastic(m, damping=np.eye(1)),
    "stiffness": stiffer,
    "curves": bent,
    "friction": with_friction,
    "shape of an array": lambda m: replace(m, gravity=m.gravity.reshape(1, 3)),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_field_gives_another_fingerprint(change: str) -> None:
    model = build(flexarm.example_arm("korayem-two-link"))
    assert fingerprint(CHANGES[change](model)) != fingerprint(model)


def test_a_written_number_gives_another_fingerprint() -> None:
    model = build(flexarm.example_arm("korayem-two-link"))
    other = replace(model, gravity=model.gravity.copy())
    other.gravity[1] += 1.0
    assert fingerprint(other) != fingerprint(model)
    assert fingerprint(replace(model, gravity=model.gravity.copy())) == fingerprint(model)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_and_arrays_that_may_be_written_have_digests_of_their_own(
    copied: Callable[[Model], Model],
) -> None:
    model = build(flexarm.example_arm("korayem-two-link"))
    kept = fingerprint(model)
    assert fingerprint(model) == kept
    other = copied(model)
    assert fingerprint(other) == kept
    other.gravity[1] += 1.0
    assert fingerprint(other) != kept
    whole = np.zeros(6)
    viewed = replace(model, gravity=whole[:3])
    before = fingerprint(viewed)
    whole[1] = -9.81
    assert fingerprint(viewed) != before


def test_name_and_notes_of_the_arm_do_not_count() -> None:
    arm = flexarm.example_arm("korayem-two-link")
    other = arm.model_copy(update={"name": "another", "notes": "other notes"})
    assert fingerprint(build(other)) == fingerprint(build(arm))


PRINT = """
import sys, flexarm
for sample in sys.argv[1:]:
    print(flexarm.model.fingerprint(flexarm.build(flexarm.example_arm(sample))))
"""


def test_the_fingerprint_is_the_same_in_every_process() -> None:
    """Of this one, the order of sets is by chance; of the other, it is another."""
    samples = SAMPLES[:1]
    expected = [fingerprint(build(flexarm.example_arm(sample))) for sample in samples]
    environment = {**os.environ, "PYTHONHASHSEED": "1"}
    command = [sys.executable, "-c", "import flexarm.model\n" + PRINT, *samples]
    assert subprocess.check_output(command, env=environment, text=True).split() == expected


def test_a_changed_model_leaves_the_cache_of_the_arm_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    model = build(flexarm.example_arm("korayem-two-link"))
    q = np.array([0.3, 0.01, 0.2, 0.01])
    light = replace(model, gravity=np.zeros(3))
    assert not np.any(flexarm.formulation("composite", light).gravity(q))
    assert flexarm.formulation("composite", model).gravity(q)[0] > 50


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Write an arm with shapes in a file beside it."""
    monkeypatch.setenv(VARIABLE, str(tmp_path / "cache"))
    (tmp_path / "arm.yaml").write_text(TABLE_ARM)
    write_shapes(tmp_path, 10.0)
    return tmp_path


def write_shapes(folder: Path, stiffness: float) -> None:
    """Write the shapes of a beam of given EI [N m^2]."""
    section = {"mass_per_length": 1.0, "EIz": stiffness}
    link = {"joint": {"kind": "revolute"}, "length": 1.0, "section": section}
    link["shapes"] = {"kind": "clamped-free", "bending_y": 2}
    arm = flexarm.Arm.model_validate({"flexarm": 1, "name": "a", "links": [link]})
    elastic = build(arm).links[0].beam
    assert elastic is not None
    (folder / "shapes.yaml").unlink(missing_ok=True)
    write_modal_data(folder / "shapes.yaml", elastic.shapes, elastic.span)


def elastic_force(model: Model) -> float:
    """Evaluate the first amplitude's elastic force."""
    q = np.array([0.3, 0.01, 0.002])
    parts = flexarm.formulation("composite", model).parts(q, 0 * q)
    return float(parts["elastic"][1])


def test_shapes_whose_file_changes_after_the_build_are_cached_as_they_were_built(
    table: Path,
) -> None:
    model = build(flexarm.load(table / "arm.yaml"))
    write_shapes(table, 40.0)
    before = elastic_force(model)
    after = elastic_force(build(flexarm.load(table / "arm.yaml")))
    assert after == pytest.approx(4 * before, rel=1e-3)


def test_nothing_needs_the_file_of_shapes_after_the_build(table: Path) -> None:
    model = build(flexarm.load(table / "arm.yaml"))
    (table / "shapes.yaml").unlink()
    assert elastic_force(model) > 0
