"""Search for the smallest basis and the loosest tolerance that meet a requested error."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from flexarm.arm import Arm
from flexarm.constants import NEGLIGIBLE
from flexarm.errors import FlexarmError
from flexarm.integrate.constants import DEFAULT_INTERVALS, TIGHTEST_RTOL
from flexarm.integrate.simulate import simulate_whole
from flexarm.links.base import DIRECTIONS, Counts, Direction, Shapes
from flexarm.mechanics.bodies import body_of
from flexarm.mechanics.deformed import tip_deflection
from flexarm.model import LinkModel, build
from flexarm.runs.run import Run
from flexarm.studies.bases import can_enrich, enriched, grown, numbers, recounted, title, widened
from flexarm.studies.constants import (
    LEFT_OUT,
    MARGIN,
    MARGIN_LATER,
    MOST_COORDINATES,
    NEEDED,
    REMAINS,
    RTOLS,
    SHAPE_ERROR,
    SHAPE_RTOL,
)

Place = tuple[int, Direction, int]  # a link, a direction, and a shape's number from 1 on


@dataclass(frozen=True)
class Answer:
    """The basis of shape functions and the integration tolerance that a search found."""

    basis: str  # description of the shapes
    shapes: dict[str, dict[str, Any]]  # the key ``shapes`` of the model file, by link
    coordinates: int  # number of coordinates
    rtol: float  # tolerance to simulate with
    estimate: float  # upper estimate of the run's error, relative to the range of the deflections
    within: bool  # whether the estimate is within the requested error
    trials: int  # number of bases that were evaluated

    @property
    def changes(self) -> dict[str, Any]:
        """The shape functions as overrides for `flexarm.change_arm`."""
        return {f"links.{name}.shapes": choice for name, choice in self.shapes.items()}


class ShapeRuns:
    """Cache of simulations of one motion with different shape functions.

    Parameters
    ----------
    t_end
        Duration [s].
    wish
        Requested error; the tolerance of the runs is at most a hundredth of it.
    """

    def __init__(self, t_end: float, wish: float) -> None:
        self.t_end = t_end
        self.tolerance = max(min(SHAPE_RTOL, wish / 100), TIGHTEST_RTOL)
        self._made: list[tuple[Arm, float, Run]] = []

    def of(self, arm: Arm, rtol: float | None = None) -> Run:
        """Return the run of an arm at relative tolerance ``rtol``, simulated on first request."""
        rtol = rtol or self.tolerance
        for other, tolerance, run in self._made:
            if tolerance == rtol and other == arm:
                return run
        run = simulate_whole(arm, t_end=self.t_end, dt=self.t_end / DEFAULT_INTERVALS, rtol=rtol)
        self._made.append((arm, rtol, run))
        return run


def differences(run: Run, best: Run) -> dict[str, float]:
    """Return, by link, the largest tip deflection difference of two runs over its range.

    The range is taken from the run ``best``. Links that do not deflect are left out.
    """
    errors = {}
    for part, other in zip(run.model.links, best.model.links, strict=True):
        if not part.flexible:
            continue
        true = tip_deflection(best.model, other, best.q)
        spread = float(np.ptp(true, axis=0).max())
        if spread > 1e-12 * max(part.length, 1e-3):
            error = np.abs(tip_deflection(run.model, part, run.q) - true).max()
            errors[part.name] = float(error) / spread
    return errors


class ShapeSearch:
    """A search for the smallest basis of an arm within a requested discretisation error.

    Each candidate is compared with a reference run on an enriched basis.

    Parameters
    ----------
    runs
        The runs of the motion.
    want
        Requested error, relative to the range of the deflections.
    trials
        Largest number of bases to evaluate; unlimited if None.
    say
        Called with a description of the next run.
    """

    def __init__(
        self, runs: ShapeRuns, *, want: float, trials: int | None, say: Callable[[str], None]
    ) -> None:
        self.runs, self.want, self.trials, self.say = runs, want, trials, say
        self.count = 0  # number of bases evaluated so far
        self.best: Run | None = None  # the reference run
        self.margin = np.inf  # estimated error of the reference run
        self.settled = False  # whether the reference run is accurate enough
        self.beyond: list[Arm] = []  # arms whose error is too large

    @property
    def spent(self) -> bool:
        """Whether the allowed number of candidate bases has been evaluated."""
        return self.trials is not None and self.count >= self.trials

    def cheapest(self, start: Arm) -> Answer | None:
        """Find the smallest basis and the loosest tolerance within the requested error.

        Parameters
        ----------
        start
            The arm with a basis of the shape family to search in.

        Returns
        -------
        Answer or None
            The smallest basis within the requested error, or the best one found; None if no link
            deflects.
        """
        base, rich = self._reference(start)
        assert self.best is not None
        if not differences(self.best, self.best):
            return None
        if not self.settled:
            return self._answer(rich, self.runs.tolerance, self.margin)
        fewest = self._fewer(self._first(base) or self._first(rich) or rich)
        return self._answer(fewest, *self._loosest(fewest))

    def error(self, arm: Arm, rtol: float | None = None) -> float | None:
        """Return an upper estimate of a run's error, relative to the range of the deflections.

        The estimate is the difference from the reference run plus the estimated error of the
        reference run itself; None if either run is missing or ended early.
        """
        try:
            run = self.runs.of(arm, rtol)
        except FlexarmError:
            return None
        if self.best is None or run.status != "finished":
            return None
        return max(differences(run, self.best).values(), default=0.0) + self.margin

    def _reference(self, start: Arm) -> tuple[Arm, Arm]:
        """Return the last two bases of an enrichment that made the reference run accurate.

        Enrichment stops once the estimated error of the reference run is a fraction of the
        requested error, or when trials or coordinates are exhausted; the reference run and its
        error are stored.
        """
        base, more = start, 1
        rich = base
        last = (base, rich)
        still: set[Place] = set()
        while self.best is None or not self.spent:
            try:
                if self.best is not None and _size(rich) > MOST_COORDINATES:
                    break
                self._tell(rich)
                run = self.runs.of(rich)
            except FlexarmError:  # a basis that cannot be built, or a run that would take hours
                if self.best is None:
                    raise
                break
            if run.status != "finished" and self.best is None:
                raise FlexarmError(f"the run with {title(rich)} {run.status}: {run.reason}")
            if run.status != "finished":
                break
            left_out = run.errors.parts["stiffness"] or 0.0
            left = []
            if self.best is not None:
                left = [REMAINS * max(differences(self.best, run).values(), default=0.0)]
            last, self.best = (base, rich), run
            rest = left_out + self.runs.tolerance
            may = (MARGIN if more == 1 else MARGIN_LATER) * self.want
            self.settled = min(left, default=np.inf) + rest <= may
            self.margin = (min if self.settled else max)(left, default=np.inf) + rest
            if self.settled:
                break
            if rich is start:
                still = {place for place, size in self._tails(start).items() if size < NEGLIGIBLE}
                base = recounted(start, _without(start, still))
            else:
                base, more = grown(base, more), 2 * more
            if left_out > MARGIN * self.want / 4:
                base = widened(base, {(i, d) for i, d, _ in still})
            rich = enriched(base)
        return last

    def _first(self, base: Arm) -> Arm | None:
        """Return the arm without shapes of small contribution; the error stays as requested.

        Fewer shape functions are removed until the error is acceptable; None if even the full basis
        exceeds the requested error.
        """
        tails = self._tails(base)
        order = sorted(tails, key=lambda place: tails[place])
        count, back = sum(size <= LEFT_OUT * self.want for size in tails.values()), 1
        while True:
            arm = recounted(base, _without(base, set(order[:count])))
            if self._within(arm):
                return arm
            if not count:
                return None
            count, back = max(count - back, 0), 2 * back

    def _fewer(self, arm: Arm) -> Arm:
        """Return the arm after removing shapes one by one; the error stays as requested.

        In each step, the candidates are the last shape functions of all directions; the one with
        the smallest contribution is removed first.
        """
        tails, blocked = self._tails(arm), set()
        while True:
            last = {
                (i, d): tails.get((i, d, n.of(d)), np.inf)
                for i, n in numbers(arm).items()
                for d in DIRECTIONS
                if n.of(d) and (i, d) not in blocked
            }
            place = min(last, key=lambda key: last[key], default=None)
            if place is None or self.spent or last[place] > NEEDED * self.want:
                return arm
            i, d = place
            number = numbers(arm)[i]
            less = number._replace(**{d: number.of(d) - 1})
            fewer = recounted(arm, {i: less})
            if any(less) and self._within(fewer):
                arm = fewer
            else:
                blocked.add(place)

    def _loosest(self, arm: Arm) -> tuple[float, float]:
        """Return the loosest tolerance that meets the requested error, and the resulting error."""
        for rtol in (
            *(tolerance for tolerance in RTOLS if tolerance > self.runs.tolerance),
            self.runs.tolerance,
        ):
            self.say(f"tolerance {rtol:g}: {title(arm)}")
            error = self.error(arm, rtol)
            if error is not None and error <= self.want:
                break
        assert error is not None  # at the last tolerance it was judged before
        return rtol, error

    def _tails(self, arm: Arm) -> dict[Place, float]:
        """Return the contribution of shapes k and above, by (link, direction, k).

        The contribution is the largest tip displacement due to these shape functions in the
        reference run, relative to the range of the deflections.
        """
        assert self.best is not None
        tails: dict[Place, float] = {}
        for i in numbers(arm):
            part = self.best.model.links[i]
            size = max(
                float(np.ptp(tip_deflection(self.best.model, part, self.best.q), axis=0).max()),
                1e-300,
            )
            for d in DIRECTIONS:
                for k in range(1, numbers(arm)[i].of(d) + 1):
                    tails[i, d, k] = _added(self.best, part, d, k) / size
        return tails

    def _within(self, arm: Arm) -> bool:
        if self.spent or arm in self.beyond:
            return False
        self._tell(arm)
        error = self.error(arm)
        if error is not None and error <= SHAPE_ERROR * self.want:
            return True
        self.beyond.append(arm)
        return False

    def _tell(self, arm: Arm) -> None:
        self.count += 1
        self.say(f"trial {self.count}: {title(arm)}")

    def _answer(self, arm: Arm, rtol: float, estimate: float) -> Answer:
        shapes = {
            name: link.shapes.model_dump(mode="json", exclude_defaults=True)
            | {"kind": link.shapes.kind}
            for name, link in zip(arm.link_names, arm.links, strict=True)
            if can_enrich(link)
        }
        within = estimate <= self.want
        return Answer(title(arm), shapes, _size(arm), rtol, estimate, within, self.count)


def _size(arm: Arm) -> int:
    return build(arm, stiffening=False).size


def _without(arm: Arm, small: set[Place]) -> dict[int, Counts]:
    """Return shape-function counts by link index after removing the set ``small``.

    A link whose shape functions would all be removed is left unchanged.
    """
    left_counts = {}
    for i, number in numbers(arm).items():
        left = {d: sum((i, d, k) not in small for k in range(1, number.of(d) + 1))
                for d in DIRECTIONS}  # fmt: skip
        left_counts[i] = Counts(**left) if any(left.values()) else number
    return left_counts


def _added(run: Run, part: LinkModel, direction: Direction, first: int) -> float:
    """Return the largest tip displacement [m] in a run due to shapes ``first`` and above.

    Only one elastic direction is considered. A twist angle is converted to the displacement of a
    point at a distance of one link length from the axis.
    """
    shapes, length = _shapes(run, part)
    columns, tip = shapes.moving(direction)[first - 1 :], np.array([length])
    q = run.q[:, part.modes][:, columns]
    moved = q @ shapes.displacement(tip)[0][:, columns].T
    turned = length * (q @ shapes.rotation(tip)[0][0, columns])
    return max(float(np.abs(moved).max(initial=0.0)), float(np.abs(turned).max(initial=0.0)))


def _shapes(run: Run, part: LinkModel) -> tuple[Shapes, float]:
    """Return a link's shapes and its length [m]; of a sliding link the longest in the run."""
    q = run.q[-1].copy()
    if part.body.range is not None:
        q[part.exposed] = np.clip(run.q[:, part.exposed].max(), *part.body.range)
    shapes = body_of(run.model, part).shapes_at(q)
    assert shapes is not None
    return shapes, part.span_length(q)
