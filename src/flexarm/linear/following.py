"""Clamped-mass shapes that follow the configuration of the joints outboard of a link.

What a link carries at its tip changes as the arm outboard of it folds: of M, J and D in the
frequency equation, J_L and M_DL of Theodore & Ghosal 1995 (eqs 11, 38).  Frequencies and studies
may take the shapes of each posture; in motion they stay those of one configuration, since else
outboard joints would move inboard points.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from numpy.polynomial import chebyshev

from flexarm.arm import Arm
from flexarm.arm.shapes import ClampedMass
from flexarm.errors import FlexarmError
from flexarm.links.base import Array
from flexarm.links.beams.classical import beam_roots, clamped_mass
from flexarm.links.beams.frequency import TipBody, follow_root
from flexarm.links.ends import clamped_ends, outboard_inertia
from flexarm.links.span import Span

DEGREES = (16, 32, 64, 128)  # of the Chebyshev series of a path, tried until it has converged
TAIL = 1e-11  # of M, J, D: how well their series in time have converged
Path = Callable[[float], Mapping[str, float]]
Body = Callable[[float], TipBody]


def shapes_following(arm: Arm, at: Mapping[str, float]) -> Arm:
    """Give clamped-mass links the shapes of a posture: joints by name, others at their start.

    Raises
    ------
    FlexarmError
        If no link has such shapes.
    """
    posture = {
        name: float(at.get(name, axis.start.position or 0.0))
        for index, link in enumerate(arm.links)
        for name, axis in zip(arm.axis_names(index), link.joint.axes.values(), strict=True)
    }
    links, some = list(arm.links), False
    for index, link in enumerate(links):
        shapes = link.shapes
        if isinstance(shapes, ClampedMass) and shapes.tip == "auto" and not shapes.follow:
            outboard = {n for k in range(index + 1, len(links)) for n in arm.axis_names(k)}
            seen = {name: value for name, value in posture.items() if name in outboard}
            shapes = shapes.model_copy(update={"configuration": seen})
            links[index], some = link.model_copy(update={"shapes": shapes}), True
    if not some:
        raise FlexarmError(
            "following: no link has shapes of kind clamped-mass with tip: auto, which alone follow "
            "the joints outboard"
        )
    return arm.model_copy(update={"links": tuple(links)})


@dataclass(frozen=True)
class FollowedRoots:
    """Roots of a link's frequency equation while the arm outboard of it moves.

    Attributes
    ----------
    times
        Of the path [s], (T,).
    bodies
        M, J, D over the link's own mass and powers of its length, (T, 3).
    states
        Roots as states of equation 40, from those of the first instant, (T, k).
    roots
        Roots found anew at every time, (T, k).
    hertz
        The link's own frequencies by these, root clamped [Hz], (T, k).
    """

    times: Array
    bodies: Array
    states: Array
    roots: Array
    hertz: Array


def follow_configuration(
    arm: Arm,
    link: str,
    path: Path,
    times: npt.ArrayLike,
    *,
    count: int = 2,
    plane: Literal["y", "z"] = "y",
) -> FollowedRoots:
    """Follow the clamped-mass roots of a uniform link along a path of the outboard joints.

    Parameters
    ----------
    arm, link
        The arm, and a link of it by name.
    path
        Positions of outboard joints by name at a time [s]; others stand at 0.
    times
        Increasing times [s], (T,).
    count
        How many roots.
    plane
        The direction that the link bends in.

    Notes
    -----
    Theodore & Ghosal 1995, eqs 38 to 44.
    """
    if link not in arm.link_names:
        raise FlexarmError(f"no link '{link}': there are {', '.join(arm.link_names)}")
    index = arm.link_names.index(link)
    section = arm.links[index].section
    if section is None or section.stations is not None:
        raise FlexarmError(f"{link}: has no uniform section, of which the frequency equation is")
    span = Span.of(section, arm.links[index].span)
    own = float(span.at("mass_per_length", np.zeros(1))[0]) * span.length
    bends = float(span.at("EIz" if plane == "y" else "EIy", np.zeros(1))[0])

    def weigh(time: float) -> TipBody:
        ends = clamped_ends(outboard_inertia(arm, index, dict(path(time))))
        inertia = ends.tip_inertia[2 if plane == "y" else 1]
        moment = ends.tip_mass * ends.tip_offset
        return (ends.tip_mass / own, inertia / own / span.length**2, moment / own / span.length)

    grid = np.asarray(times, dtype=float)
    bodies = np.array([weigh(float(t)) for t in grid])
    roots = np.array([beam_roots(clamped_mass(*row), count) for row in bodies])
    body, rate = _series(weigh, float(grid[0]), float(grid[-1]))
    states = np.array([follow_root(float(x), body, rate, grid) for x in roots[0]]).T
    hertz = roots**2 * np.sqrt(bends / own / span.length**3) / (2 * np.pi)
    return FollowedRoots(grid, bodies, states, roots, hertz)


def _series(weigh: Callable[[float], TipBody], start: float, end: float) -> tuple[Body, Body]:
    """Give M, J, D and their rates as Chebyshev series of the time."""
    for degree in DEGREES:
        at = chebyshev.chebpts1(degree + 1)
        values = [weigh(start + (end - start) * (1 + x) / 2) for x in at.tolist()]
        series = np.asarray(chebyshev.chebfit(at, np.array(values), degree), dtype=np.float64)
        if np.abs(series[-3:]).max() <= TAIL * np.abs(series).max():
            break
    else:
        raise FlexarmError(f"path: must be smooth, but {DEGREES[-1]} terms in time do not give it")
    slope = np.asarray(chebyshev.chebder(series), dtype=np.float64) * 2 / (end - start)

    def seen(coefficients: Array) -> Body:
        def value(time: float) -> TipBody:
            where = 2 * (time - start) / (end - start) - 1
            found = np.asarray(chebyshev.chebval(where, coefficients))
            return float(found[0]), float(found[1]), float(found[2])

        return value

    return seen(series), seen(slope)
