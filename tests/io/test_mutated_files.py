"""Damaged model files: an arm or a readable refusal, never anything else."""

import json
import multiprocessing
import os
import random
import re
import traceback
from collections import Counter
from dataclasses import asdict
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import BaseModel
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from flexarm.check.check import check
from flexarm.errors import FlexarmError, ModelError
from flexarm.formulations import formulation
from flexarm.io.model_file import dumps, loads
from flexarm.model import build, start_state
from flexarm.samples import example_arm_names, sample_path
from tests.apart import outcome_apart
from tests.io.arms import RICH, SMALL
from tests.io.mutate import UNKNOWN, change_numbers, damage, insert_unknown_key

LINE = re.compile(r"arm\.yaml:\d+:\d+: .+")
REST = re.compile(r"arm\.yaml: and \d+ more")
FREE_KEYS = {"configuration", "powers", "start", "start_speed"}  # mappings by name of the user's
CAMPAIGN = 100_000
USED = 5_000  # files that are also used
MOST_CPU, MOST_MEMORY = 60, 3_000_000_000  # [s], [bytes] of address space that a used file may take


@cache
def originals() -> tuple[tuple[str, str, Path], ...]:
    """Name, text and folder of the files that are damaged."""
    own = (("rich", RICH, Path()), ("small", SMALL, Path()))
    paths = [sample_path(name) for name in example_arm_names()]
    return own + tuple((p.stem, p.read_text(encoding="utf-8"), p.parent) for p in paths)


@cache
def mappings(text: str, folder: Path) -> list[tuple[str | int, ...]]:
    """Paths of the mappings in a text whose keys the schema knows."""
    found = []

    def walk(value: Any, path: tuple[str | int, ...]) -> None:
        if isinstance(value, BaseModel):
            found.append(path)
            for name in value.model_fields_set:
                walk(getattr(value, name), (*path, name))
        elif isinstance(value, tuple):
            for i, item in enumerate(value):
                walk(item, (*path, i))

    walk(loads(text, folder=folder), ())
    return found


def refusal(content: str | bytes, folder: Path) -> str:
    """Load a text; return why it is refused, empty if it is not.

    An arm that comes out must come out again of the file that is written for it.
    """
    try:
        arm = loads(content, "arm.yaml", folder=folder)
    except ModelError as error:
        return str(error)
    assert loads(dumps(arm), folder=folder) == arm
    return ""


def has_unknown_key(content: str | bytes) -> bool:
    """Say whether another YAML reader sees the unknown key where no user's name may stand."""
    try:
        data = YAML(typ="safe", pure=True).load(content)
    except (YAMLError, ValueError, OverflowError, TypeError, RecursionError, NotImplementedError):
        # What that reader cannot read shows no key to anybody; whether flexarm refuses it without
        # a crash is asked elsewhere.
        return False
    pending: list[tuple[Any, Any]] = [("", data)]
    while pending:
        name, value = pending.pop()
        if isinstance(value, dict):
            if UNKNOWN in value and name not in FREE_KEYS:
                return True
            pending += value.items()
        elif isinstance(value, list):
            pending += [(name, item) for item in value]
    return False


def check_seed(seed: int) -> str:
    """Damage one file and load it; return what came of it, for counting."""
    rng = random.Random(seed)
    name, text, folder = rng.choice(originals())
    if rng.random() < 0.1:
        why = refusal(insert_unknown_key(text, rng, mappings(text, folder)), folder)
        assert f"{UNKNOWN}: unknown key" in why, (seed, name)
        return "unknown key refused"
    content = damage(text, rng)
    why = refusal(content, folder)
    for line in why.splitlines():
        assert LINE.fullmatch(line) or REST.fullmatch(line), (seed, name, line)
    if not why:
        assert not has_unknown_key(content), (seed, name)
    return "refused" if why else "accepted"


def use_seed(seed: int) -> str:
    """Change numbers of one file, check what is accepted, and say what came of it.

    Every tenth is built for a formulation too, and evaluated.
    """
    rng = random.Random(seed)
    _, text, folder = rng.choice(originals())
    content = change_numbers(text, rng) if rng.random() < 0.9 else damage(text, rng)
    try:
        arm = loads(content, "arm.yaml", folder=folder)
        with np.errstate(all="ignore"):
            json.dumps(asdict(check(arm)), allow_nan=False)
            if seed % 10 == 0:
                model = build(arm)
                formulation("composite", model).bias(*start_state(model))
    except FlexarmError as error:
        return "refused" if str(error).strip() else "refused without a word"
    return "used"


def used_apart(seed: int) -> str:
    """Use a changed file in a process of its own, its time and memory limited."""
    return outcome_apart(partial(use_seed, seed), cpu=MOST_CPU, memory=MOST_MEMORY)


def check_chunk(seeds: range) -> tuple[Counter[str], list[str]]:
    """Count the outcomes of some seeds, and list the seeds that went wrong."""
    outcomes: Counter[str] = Counter()
    failures = []
    for seed in seeds:
        try:
            outcomes[check_seed(seed)] += 1
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{Path(place.filename).name}:{place.lineno}"
            failures.append(f"seed {seed}: {type(error).__name__} in {where}: {error}"[:300])
    return outcomes, failures


def test_damaged_files_are_loaded_or_refused_with_a_place_for_each_mistake() -> None:
    outcomes, failures = check_chunk(range(60))
    assert failures == []
    assert outcomes["refused"] > 30
    assert outcomes["accepted"] > 3
    assert outcomes["unknown key refused"] > 3


def test_files_with_other_numbers_are_used_or_refused() -> None:
    check(loads(SMALL))  # what is imported here is not imported by every child
    outcomes = {seed: used_apart(seed) for seed in range(2_000_000, 2_000_003)}
    assert {seed: said for seed, said in outcomes.items() if said not in ("used", "refused")} == {}
    assert list(outcomes.values()).count("used") > 0


@pytest.mark.campaign
def test_thousands_of_files_with_other_numbers_are_used_or_refused() -> None:
    seeds = range(3_000_000, 3_000_000 + USED)
    with multiprocessing.get_context("spawn").Pool(os.cpu_count()) as pool:
        outcomes = dict(zip(seeds, pool.imap(used_apart, seeds, chunksize=20), strict=True))
    print(Counter(outcomes.values()).most_common(2))
    assert {seed: said for seed, said in outcomes.items() if said not in ("used", "refused")} == {}


@pytest.mark.campaign
def test_a_hundred_thousand_damaged_files() -> None:
    chunks = [range(i, i + 200) for i in range(1_000_000, 1_000_000 + CAMPAIGN, 200)]
    outcomes: Counter[str] = Counter()
    failures: list[str] = []
    with multiprocessing.get_context("spawn").Pool(os.cpu_count()) as pool:
        for counted, failed in pool.imap_unordered(check_chunk, chunks):
            outcomes += counted
            failures += failed
    print(dict(outcomes))
    assert failures == []
    assert outcomes.total() == CAMPAIGN
