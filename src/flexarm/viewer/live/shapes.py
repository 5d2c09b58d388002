"""Fewer shapes for an arm whose fastest ones would keep a page from real time."""

from dataclasses import dataclass

import numpy as np

from flexarm.arm.shapes import Counted
from flexarm.errors import FlexarmError
from flexarm.integrate.task import InitialValueProblem
from flexarm.model import LinkModel, Model, build
from flexarm.studies.bases import of_family
from flexarm.viewer.live.equations import LiveArm
from flexarm.viewer.live.module import live_task
from flexarm.viewer.live.tuning import Tuning, tuning

OPERATION = 0.6e-9  # [s] of one operation in a browser, about
OPERATIONS = 700  # of a coordinate's share in the equations, about
SLOW = 0.25  # of a core, which is too much beside the drawing
SEEN = 240.0  # [Hz]: what vibrates faster is too fast for the eye
FEWEST = 2  # shapes that a direction of bending keeps
COUNTS = {"y": "bending_y", "z": "bending_z", "twist": "torsion", "stretch": "stretch"}


@dataclass(frozen=True)
class Prepared:
    """An arm that a page can run."""

    # arm, task, tuned: the arm, its start, and what was chosen for it.
    arm: LiveArm
    task: InitialValueProblem
    tuned: Tuning
    left_out: str = ""  # what was left out of it, in words; empty if nothing


def prepare_live(model: Model, *, all_shapes: bool) -> Prepared:
    """Return an arm for a page, without the shapes that are too fast unless all are requested."""
    found = _prepared(model)
    if _share(found) > SLOW and found.arm.programme.servos:
        held = _prepared(model, plays=False)
        found = held if _share(held) < _share(found) / 2 else found
    if all_shapes or _share(found) <= SLOW:
        return found
    try:
        fewer = _prepared(_fewer(found), plays=found.arm.plays)
    except FlexarmError:  # its start names a shape
        return found
    if fewer.arm.model.size == model.size:
        return found
    words = f"{fewer.arm.model.size} of {model.size} coordinates: shapes of links that vibrate at"
    return Prepared(
        fewer.arm,
        fewer.task,
        fewer.tuned,
        f"{words} more than {SEEN:g} Hz by themselves are left out",
    )


def _prepared(model: Model, *, plays: bool = True) -> Prepared:
    arm = LiveArm(model, plays)
    task = live_task(arm)
    return Prepared(arm, task, tuning(arm, task))


def _share(found: Prepared) -> float:
    """Estimate the share of a core that the arm takes in real time."""
    return 4 * OPERATIONS * found.arm.model.size * OPERATION / found.tuned.step


def _fewer(found: Prepared) -> Model:
    """Build an arm without its fast shapes."""
    model, task = found.arm.model, found.task
    anchor = (task.equation.anchor,) if model.attitudes else ()
    mass, stiffness, _ = task.equation.compiled("matrices").call(task.q, task.v, *anchor)
    n = model.size
    squares = np.diag(stiffness.reshape(n, n)) / np.diag(mass.reshape(n, n))
    fast = squares > (2 * np.pi * SEEN) ** 2
    links = []
    for part in model.links:
        link, choice = part.link, part.link.shapes
        if of_family(link) and isinstance(choice, Counted) and not choice.static:
            fewer = choice.model_copy(update=_counts(model, part, fast))
            link = link.model_copy(update={"shapes": fewer})
        links.append(link)
    arm = model.arm.model_copy(update={"links": type(model.arm.links)(links)})
    return build(
        arm, stiffening=model.stiffening, tip_rotation=model.tip_rotation, nodes=model.nodes
    )


def _counts(model: Model, part: LinkModel, fast: np.ndarray) -> dict[str, int]:
    """Count the shapes of a link that stay, by direction."""
    found: dict[str, int] = {}
    for direction, key in COUNTS.items():
        own = [
            bool(fast[k])
            for k in range(part.modes.start, part.modes.stop)
            if model.names[k].rpartition(".")[2].rstrip("0123456789") == direction
        ]
        least = FEWEST if direction in "yz" else 0
        found[key] = max(min(least, len(own)), own.count(False))
    return found
