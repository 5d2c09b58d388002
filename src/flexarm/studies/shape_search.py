"""Look for the fewest shapes and the loosest tolerance that err no more than is wanted."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from flexarm.arm import Arm
from flexarm.errors import FlexarmError
from flexarm.integrate.options import TIGHTEST
from flexarm.integrate.simulate import simulate_whole
from flexarm.integrate.task import SAMPLES
from flexarm.links.base import DIRECTIONS, Counts, Direction, Shapes
from flexarm.mechanics.bodies import body_of
from flexarm.model import LinkModel, build
from flexarm.runs.plot import tip_deflection
from flexarm.runs.run import Run
from flexarm.spatial import NEGLIGIBLE
from flexarm.studies.bases import can_enrich, enriched, grown, numbers, recounted, title, widened

TOLERANCE = 1e-5  # of the runs: far below what shapes are to be judged by
TRIALS = 8
MOST_COORDINATES = 100
# Of what is wanted: by how much the run that shapes are judged by may err, that of the first
# enrichment and those after it, of motions in which errors fall off slowly.
MARGIN, MARGIN_LATER = 0.25, 0.5
REMAINS = 1.5  # times what the last enrichment changed: more than what all further ones do
SHAPES = 0.9  # of what is wanted: what shapes may take, the tolerance gets the rest
FIRST = 0.5  # of what is wanted: shapes that add less are left out at first
RTOLS = tuple(float(f"{digit}e-{power}") for power in range(2, 10) for digit in (10, 5, 2))
HOPELESS = 4.0  # times what is wanted: a shape that adds so much is not tried without

Place = tuple[int, Direction, int]  # a link, a direction, and a shape's number from 1 on


@dataclass(frozen=True)
class Answer:
    """The shapes and the tolerance that a search came to."""

    basis: str  # the shapes, in words
    shapes: dict[str, dict[str, Any]]  # what to write as ``shapes`` in the model file, by link
    coordinates: int  # number of coordinates
    rtol: float  # tolerance to simulate with
    estimate: float  # the error of such a run or more, over the range of the deflections
    within: bool  # whether that is within the wish
    trials: int  # how many shapes were judged

    @property
    def changes(self) -> dict[str, Any]:
        """The shapes as `flexarm.change_arm` takes them."""
        return {f"links.{name}.shapes": choice for name, choice in self.shapes.items()}


class ShapeRuns:
    """One motion of an arm on different shapes, each run made once.

    Parameters
    ----------
    t_end
        Duration [s].
    wish
        Error that would do, which the runs' tolerance must be well below.
    """

    def __init__(self, t_end: float, wish: float) -> None:
        self.t_end = t_end
        self.tolerance = max(min(TOLERANCE, wish / 100), TIGHTEST)
        self._made: list[tuple[Arm, float, Run]] = []

    def of(self, arm: Arm, rtol: float | None = None) -> Run:
        """Run an arm, or give its run again."""
        rtol = rtol or self.tolerance
        for known, tolerance, run in self._made:
            if tolerance == rtol and known == arm:
                return run
        run = simulate_whole(arm, t_end=self.t_end, dt=self.t_end / SAMPLES, rtol=rtol)
        self._made.append((arm, rtol, run))
        return run


def differences(run: Run, best: Run) -> dict[str, float]:
    """Compare the tip deflections of two runs, per link that deflects, over their range."""
    found = {}
    for part, other in zip(run.model.links, best.model.links, strict=True):
        if not part.flexible:
            continue
        true = tip_deflection(best, other)
        spread = float(np.ptp(true, axis=0).max())
        if spread > 1e-12 * max(part.length, 1e-3):
            error = np.abs(tip_deflection(run, part) - true).max()
            found[part.name] = float(error) / spread
    return found


class ShapeSearch:
    """Shapes of an arm in one motion, judged by a run with richer ones.

    Parameters
    ----------
    runs
        Where runs are made.
    want
        Error that would do.
    trials
        How many shapes are judged at most; None for as many as it takes.
    say
        Called with what is run next.
    """

    def __init__(
        self, runs: ShapeRuns, *, want: float, trials: int | None, say: Callable[[str], None]
    ) -> None:
        self.runs, self.want, self.trials, self.say = runs, want, trials, say
        self.count = 0
        self.best: Run | None = None
        self.margin = np.inf
        self.settled = False
        self.beyond: list[Arm] = []

    @property
    def spent(self) -> bool:
        """Whether no more shapes may be judged."""
        return self.trials is not None and self.count >= self.trials

    def cheapest(self, start: Arm) -> Answer | None:
        """Find few shapes of a family, and a tolerance, that are within what is wanted.

        Parameters
        ----------
        start
            The arm on some shapes of the family.

        Returns
        -------
        Answer or None
            The nearest that was found if nothing is within; None if nothing deflects.
        """
        base, rich = self._reference(start)
        assert self.best is not None
        if not differences(self.best, self.best):
            return None
        if not self.settled:
            return self._answer(rich, self.runs.tolerance, self.margin)
        found = self._fewer(self._first(base) or self._first(rich) or rich)
        return self._answer(found, *self._loosest(found))

    def error(self, arm: Arm, rtol: float | None = None) -> float | None:
        """Judge shapes: the difference to the reference and what that may err; None if unknown."""
        try:
            run = self.runs.of(arm, rtol)
        except FlexarmError:
            return None
        if self.best is None or run.status != "finished":
            return None
        return max(differences(run, self.best).values(), default=0.0) + self.margin

    def _reference(self, start: Arm) -> tuple[Arm, Arm]:
        """Enrich shapes until what is left to gain is little; give them before and after that."""
        base, more = start, 1
        rich = base
        found = (base, rich)
        still: set[Place] = set()
        while self.best is None or not self.spent:
            try:
                if self.best is not None and _size(rich) > MOST_COORDINATES:
                    break
                self._tell(rich)
                run = self.runs.of(rich)
            except FlexarmError:  # shapes that there are not, or a run that would take hours
                if self.best is None:
                    raise
                break
            if run.status != "finished" and self.best is None:
                raise FlexarmError(f"the run with {title(rich)} {run.status}: {run.reason}")
            if run.status != "finished":
                break
            shapes, left_out = run.errors.shapes, run.errors.parts["stiffness"] or 0.0
            left = [] if shapes is None else [shapes]
            if self.best is not None:
                left.append(REMAINS * max(differences(self.best, run).values(), default=0.0))
            found, self.best = (base, rich), run
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
        return found

    def _first(self, base: Arm) -> Arm | None:
        """Leave out shapes that add little, fewer of them until the rest is within, if ever."""
        tails = self._tails(base)
        order = sorted(tails, key=lambda place: tails[place])
        count, back = sum(size <= FIRST * self.want for size in tails.values()), 1
        while True:
            arm = recounted(base, _without(base, set(order[:count])))
            if self._within(arm):
                return arm
            if not count:
                return None
            count, back = max(count - back, 0), 2 * back

    def _fewer(self, arm: Arm) -> Arm:
        """Leave shapes out one by one, those that add least first, as long as that is within."""
        tails, blocked = self._tails(arm), set()
        while True:
            last = {
                (i, d): tails.get((i, d, n.of(d)), np.inf)
                for i, n in numbers(arm).items()
                for d in DIRECTIONS
                if n.of(d) and (i, d) not in blocked
            }
            place = min(last, key=lambda each: last[each], default=None)
            if place is None or self.spent or last[place] > HOPELESS * self.want:
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
        """Find the loosest tolerance that keeps shapes within what is wanted, and their error."""
        for rtol in (*(each for each in RTOLS if each > self.runs.tolerance), self.runs.tolerance):
            self.say(f"tolerance {rtol:g}: {title(arm)}")
            error = self.error(arm, rtol)
            if error is not None and error <= self.want:
                break
        assert error is not None  # at the last tolerance it was judged before
        return rtol, error

    def _tails(self, arm: Arm) -> dict[Place, float]:
        """Say by link, direction and number what that shape and those after it add to the tips.

        They are the largest amounts in the reference's motion, over the range of the deflections.
        """
        assert self.best is not None
        found: dict[Place, float] = {}
        for i in numbers(arm):
            part = self.best.model.links[i]
            size = max(float(np.ptp(tip_deflection(self.best, part), axis=0).max()), 1e-300)
            for d in DIRECTIONS:
                for k in range(1, numbers(arm)[i].of(d) + 1):
                    found[i, d, k] = _added(self.best, part, d, k) / size
        return found

    def _within(self, arm: Arm) -> bool:
        if self.spent or arm in self.beyond:
            return False
        self._tell(arm)
        error = self.error(arm)
        if error is not None and error <= SHAPES * self.want:
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
    """Count shapes without some, each of which takes those after it along; a link keeps one."""
    found = {}
    for i, number in numbers(arm).items():
        left = {d: sum((i, d, k) not in small for k in range(1, number.of(d) + 1))
                for d in DIRECTIONS}  # fmt: skip
        found[i] = Counts(**left) if any(left.values()) else number
    return found


def _added(run: Run, part: LinkModel, direction: str, first: int) -> float:
    """Find the most that shapes of a direction, from one on, add to a link's tip [m].

    Twist, which does not move the tip, counts by what it does at a link's length from the axis.
    """
    shapes, length = _shapes(run, part)
    own = [k for k, each in enumerate(shapes.shapes) if direction in each.curves]
    columns, tip = own[first - 1 :], np.array([length])
    q = run.q[:, part.modes][:, columns]
    moved = q @ shapes.displacement(tip)[0][:, columns].T
    turned = length * (q @ shapes.rotation(tip)[0][0, columns])
    return max(float(np.abs(moved).max(initial=0.0)), float(np.abs(turned).max(initial=0.0)))


def _shapes(run: Run, part: LinkModel) -> tuple[Shapes, float]:
    """Give the shapes of a link and its length [m]; of one that slides, as far out as it came."""
    q = run.q[-1].copy()
    if part.body.range is not None:
        q[part.exposed] = np.clip(run.q[:, part.exposed].max(), *part.body.range)
    shapes = body_of(run.model, part).shapes_at(q)
    assert shapes is not None
    return shapes, float(part.span_length(q))
