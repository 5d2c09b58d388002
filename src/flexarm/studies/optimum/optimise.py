"""Find the best design of a study: `flexarm.optimise`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from flexarm.arguments import require_function
from flexarm.arm import Arm
from flexarm.arm.summary import Summarised, Summary
from flexarm.errors import FlexarmError, ModelError
from flexarm.io.model_file import save
from flexarm.io.overrides import change_arm
from flexarm.links.base import Array
from flexarm.studies.design.read import START, Study, read_study
from flexarm.studies.design.sampling import shares
from flexarm.studies.optimum.search import AGAIN, NEAR, Designs, Found, search

EDGE = 1e-3  # of a range: so near to its end is at it
FIRST = 64  # designs that are tried first, at most


@dataclass(frozen=True, repr=False)
class Optimum(Summarised):
    """The best design that was found.

    Attributes
    ----------
    name
        Of the study.
    values
        Of the parameters, in SI.
    quantities
        Of the design, in SI, from its own run.
    first
        Values and quantities of the design that the search began with.
    limits, ends
        Names of quantities at a limit, and of parameters at an end of their range.
    kept
        Whether all limits are kept.
    refuted
        What a design near it gains of the aim: 0 if none of those tried is better.
    designs
        Number of designs that were computed.
    arm
        The arm with these values.
    """

    name: str
    values: dict[str, float]
    quantities: dict[str, float]
    first: dict[str, float]
    limits: tuple[str, ...]
    ends: tuple[str, ...]
    kept: bool
    refuted: float
    designs: int
    arm: Arm | None

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write the arm to a model file, whole or not at all."""
        if self.arm is None:
            raise FlexarmError("the study has no arm that could be written")
        save(self.arm, path, force=force)

    def to_dict(self) -> dict[str, Any]:
        """Give everything but the arm."""
        names = [each.name for each in fields(self) if each.name != "arm"]
        return {name: getattr(self, name) for name in names}

    def _summary(self) -> Summary:
        rows = [
            (name, f"{self.first[name]:.6g}", f"{value:.6g}")
            for name, value in (self.values | self.quantities).items()
        ]
        return Summary(f"Optimum {self.name}", tuple(self._said()), ("", "first", "best"), rows)

    def _said(self) -> list[str]:
        said = [f"{self.designs} designs were computed"]
        if not self.kept:
            said.append("no design that keeps all limits was found: widen ranges or limits")
        elif self.refuted:
            said.append(
                f"no optimum: after {AGAIN} searches a design near it is still better by "
                f"{100 * self.refuted:.2g} %: take a smaller rtol, or narrow the ranges"
            )
        else:
            said.append(f"none of those within {100 * NEAR:g} % of the ranges around it is better")
        if self.limits:
            said.append(f"at its limit: {', '.join(self.limits)}")
        if self.ends:
            said.append(f"at the end of its range: {', '.join(self.ends)}: widen it to go on")
        return said


def optimise(
    plan: str | Path | Mapping[str, Any], *, progress: Callable[[str], None] | None = None
) -> Optimum:
    """Make a quantity of an arm as small, or as large, as limits allow.

    Parameters
    ----------
    plan
        A study file with ``aim`` and ``limits``, or a mapping of its contents.  The designs that
        its sampling names, 64 at most, are tried first; the search begins at the best of them.
    progress
        Called with a line after each step.

    Returns
    -------
    Optimum
        Its numbers come from its own run.  Designs around it are computed too: `refuted` says if
        one of them is better.

    Raises
    ------
    ModelError
        If the plan is wrong, or has no aim.
    FlexarmError
        If no design can be computed.

    Examples
    --------
    >>> found = optimise({
    ...     "parameters": {"x": [0.1, 1.0], "y": [0.1, 1.0]},
    ...     "sampling": {"kind": "sobol", "count": 4},
    ...     "quantities": {
    ...         "sum": {"function": lambda d: d["x"] + d["y"], "takes": "design"},
    ...         "area": {"function": lambda d: d["x"] * d["y"], "takes": "design"},
    ...     },
    ...     "aim": {"minimise": "sum"},
    ...     "limits": {"area": {"least": 0.25}},
    ... })
    >>> print(f"{found.values['x']:.4f} {found.values['y']:.4f}", found.limits)
    0.5000 0.5000 ('area',)
    """
    require_function("progress", progress, "of a line")
    study = read_study(plan)
    _require(study, f"{plan}:1:1" if isinstance(plan, str | Path) else "plan")
    designs = Designs(study)
    places = _first(study)
    aims, margins = designs.judged(places)
    begin = places[designs.best(aims, margins)]
    aim = study.plan.aim
    assert aim is not None

    def tell(step: int, value: float) -> None:
        if progress is not None:
            progress(f"step {step}: {aim.quantity} {value:.6g}, {designs.count} designs")

    found = search(designs, np.asarray(begin), tell)
    return _result(study, designs, begin, found)


def _first(study: Study) -> Array:
    """Place the designs that are tried first; of a large grid, some from all over it."""
    count, sampling = min(study.count, FIRST), study.plan.sampling
    if sampling.kind != "grid":
        return shares(sampling, study.axes, 0, count)
    numbers = np.linspace(0, study.count - 1, count).round().astype(int).tolist()
    return np.vstack([shares(sampling, study.axes, k, k + 1) for k in numbers])


def _require(study: Study, where: str) -> None:
    """Refuse a study that has no best design."""
    if study.plan.aim is None:
        raise ModelError(
            f"{where}: aim: is missing: name the quantity that is to be small or large, such as "
            "'aim: {minimise: weight}'"
        )
    for axis in study.axes:
        if axis.kind not in ("linear", "log"):
            raise ModelError(
                f"{where}: parameters: {axis.name}: must be a range [low, high] to be searched"
            )


def _result(study: Study, designs: Designs, begin: Array, found: Found) -> Optimum:
    """Compute the first and the best design once more, and put the best into the arm."""
    columns = designs.at(np.stack([begin, found.place]))
    names = [axis.name for axis in study.axes]
    numbers = {name: float(columns[name][1]) for name in names}
    keys = {key: numbers[axis.name] for axis in study.axes for key in axis.keys}
    arm = study.arm
    if arm is not None:
        arm = change_arm(arm, {k: v for k, v in keys.items() if not k.startswith(START)})
    first = {name: float(columns[name][0]) for name in (*names, *study.plan.quantities)}
    best = {name: float(columns[name][1]) for name in study.plan.quantities}
    near = np.abs(found.margins) <= 1e-3
    active = tuple(
        dict.fromkeys(name for (name, _, _), at in zip(designs.bounds, near, strict=True) if at)
    )
    edge = np.abs(found.place - 0.5) >= 0.5 - EDGE
    ends = tuple(name for name, at in zip(names, edge, strict=True) if at)
    return Optimum(
        study.plan.name, numbers, best, first, active, ends, found.kept, found.refuted,
        designs.count, arm,
    )  # fmt: skip
