"""Wrenches on a link that a CasADi function computes from time and state."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import casadi as ca
import numpy as np

from flexarm.arguments import is_word, refused, require_known, shown
from flexarm.arm import Arm, FreeBase, Wrench
from flexarm.arm.forces import At
from flexarm.errors import SimulationError
from flexarm.integrate.actuators import UNITS, Acting
from flexarm.io.model_file import validated
from flexarm.model import Model
from flexarm.model.spans import single_spans
from flexarm.runs.run import Run


@dataclass(frozen=True)
class StateWrench:
    """A wrench at a point of a link, as a function of time and state.

    Attributes
    ----------
    law
        CasADi function of time [s], coordinates and rates, (n,) each, that returns force [N], then
        torque [N m], (6,). The CasADi function is compiled into the equations of motion.
    link
        Name of the link, or ``base`` for a free base.
    at
        Point of the link at which the wrench acts: its distance x from the link's root [m], its
        coordinates ``(x, y, z)`` [m] with offsets y and z from the link's axis, ``tip``, ``root``
        or, on a modal body, the name of a frame.
    frame
        Axes of force and torque: ``world``, or ``link`` for the axes of the cross section that
        carries the point.
    """

    law: ca.Function
    link: str
    at: At = "tip"
    frame: Literal["world", "link"] = "world"

    def __post_init__(self) -> None:
        """Raise an error if law, link, point or frame is invalid."""
        if not isinstance(self.law, ca.Function):
            raise SimulationError(
                "StateWrench: law must be a CasADi function (t, q, v) that returns force and "
                f"torque, got {shown(self.law)}"
            )
        if not isinstance(self.link, str):
            raise refused("link", self.link, "the name of a link, or 'base'", SimulationError)
        if not is_word(self.frame, ("world", "link")):
            raise refused("frame", self.frame, "'world' or 'link'", SimulationError)
        at = self.at
        place = tuple(at) if isinstance(at, list | tuple) else (at,)
        are_numbers = [isinstance(x, int | float) and not isinstance(x, bool) for x in place]
        if not isinstance(at, str) and not (
            all(are_numbers) and len(place) in (1, 3) and np.all(np.isfinite(place))
        ):
            raise refused(
                "at",
                at,
                "a distance along the link [m], a point (x, y, z) [m] or the name of a place",
                SimulationError,
            )
        if not isinstance(at, str):
            numbers = [float(x) for x in place]
            object.__setattr__(self, "at", numbers[0] if len(numbers) == 1 else tuple(numbers))


def acting_on(arm: Arm, wrenches: Sequence[StateWrench] | None) -> tuple[Arm, tuple[Acting, ...]]:
    """Return the arm with six unit wrenches per wrench law, and each law with its first index.

    Raises
    ------
    SimulationError
        If a wrench is at a link that the arm does not have.
    """
    if wrenches is None:
        return arm, ()
    if not isinstance(wrenches, list | tuple) or not all(
        isinstance(x, StateWrench) for x in wrenches
    ):
        raise refused("wrenches", wrenches, "a list of flexarm.StateWrench", SimulationError)
    names = (*(("base",) if isinstance(arm.base, FreeBase) else ()), *arm.link_names)
    for wrench in wrenches:
        require_known(wrench.link, names, "link", where="wrenches: ", error=SimulationError)
    acting, first = [], 0
    wrenches_of = {}
    for name, own_wrenches in _wrenches_by_body(arm):
        added = [wrench for wrench in wrenches if wrench.link == name]
        acting += [Acting(x.law, first + len(own_wrenches) + 6 * k) for k, x in enumerate(added)]
        first += len(own_wrenches) + 6 * len(added)
        unit_wrenches = [Wrench(at=x.at, frame=x.frame, **unit) for x in added for unit in UNITS]
        wrenches_of[name] = (*own_wrenches, *unit_wrenches)
    return validated(_with(arm, wrenches_of)), tuple(acting)


def refuse_laws(acting: Sequence[Acting], model: Model) -> None:
    """Raise an error if arguments or result of a wrench law have the wrong size for the arm."""
    for wrench in acting:
        arguments = [wrench.law.size_in(k) for k in range(wrench.law.n_in())]
        results = [wrench.law.size_out(k) for k in range(wrench.law.n_out())]
        n = model.size
        if arguments != [(1, 1), (n, 1), (n, 1)] or results != [(len(UNITS), 1)]:
            raise SimulationError(
                f"StateWrench: law must be a function of t, q and v, columns of 1, {n} and {n} "
                "numbers, that returns force and torque as one column of 6, got one that takes "
                f"{arguments} and returns {results}"
            )


def record_wrenches(run: Run, acting: Sequence[Acting]) -> Run:
    """Return a run whose wrench laws are replaced by tables of their values at the samples."""
    if not acting:
        return run
    arm, place = run.model.arm, 0
    wrenches_of: dict[str, tuple[Wrench, ...]] = {}
    tables = dict(_tables(run, acting))
    for name, own_wrenches in _wrenches_by_body(arm):
        tabled = [
            x
            if place + k not in tables
            else Wrench(
                at=x.at, frame=x.frame, force=x.force, torque=x.torque, factor=tables[place + k]
            )
            for k, x in enumerate(own_wrenches)
        ]
        wrenches_of[name], place = tuple(tabled), place + len(own_wrenches)
    arm = _with(arm, wrenches_of)
    links = [
        replace(part, link=link)
        for part, link in zip(run.model.links, single_spans(arm).links, strict=True)
    ]
    return replace(run, model=replace(run.model, arm=arm, links=tuple(links)))


def _tables(run: Run, acting: Sequence[Acting]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the index of each wrench factor, and a table of its values at the samples."""
    for wrench in acting:
        values = np.array(wrench.law(run.t[None, :], run.q.T, run.v.T))
        finite = np.all(np.isfinite(values), axis=0)  # a run ends where a law has no value
        if not finite.any():
            values[:], finite[:1] = 0.0, True
        times = run.t[finite].tolist()
        for k, row in enumerate(values[:, finite].tolist()):
            yield wrench.first + k, {"kind": "table", "times": times, "values": row}


def _wrenches_by_body(arm: Arm) -> list[tuple[str, tuple[Wrench, ...]]]:
    """Return pairs of body name (base or link) and wrenches, in the order of the factors."""
    base = [("base", arm.base.wrenches)] if isinstance(arm.base, FreeBase) else []
    links = zip(arm.link_names, (link.wrenches for link in arm.links), strict=True)
    return [*base, *links]


def _with(arm: Arm, wrenches: dict[str, tuple[Wrench, ...]]) -> Arm:
    links = [
        link.model_copy(update={"wrenches": wrenches[name]})
        for name, link in zip(arm.link_names, arm.links, strict=True)
    ]
    changes: dict[str, Any] = {"links": tuple(links)}
    if isinstance(arm.base, FreeBase):
        changes["base"] = arm.base.model_copy(update={"wrenches": wrenches["base"]})
    return arm.model_copy(update=changes)  # keys that the file omits stay omitted
