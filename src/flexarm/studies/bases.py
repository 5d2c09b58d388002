"""Variants of an arm with other shape functions, and the search for the smallest basis."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from flexarm.arm import Arm, Link
from flexarm.arm.shapes import (
    ClampedFree,
    Counted,
    CraigBampton,
    Elements,
    Loaded,
    Lumped,
    Polynomials,
    Tabulated,
)
from flexarm.constants import NEGLIGIBLE
from flexarm.errors import FlexarmError, ModelError
from flexarm.integrate.constants import DEFAULT_INTERVALS, TIGHTEST_RTOL
from flexarm.integrate.simulate import simulate_whole
from flexarm.links.base import DIRECTIONS, Counts, Direction, Shapes, Span
from flexarm.links.basis import MOTIONS
from flexarm.links.shape_counts import counts
from flexarm.mechanics.bodies import body_of
from flexarm.mechanics.deformed import tip_deflection
from flexarm.model import LinkModel, build
from flexarm.runs.run import Run
from flexarm.studies.constants import (
    LEFT_OUT,
    MARGIN,
    MARGIN_LATER,
    MOST_COORDINATES,
    NEEDED,
    REFERENCE_MODES,
    REMAINS,
    RTOLS,
    SHAPE_ERROR,
    SHAPE_RTOL,
)

MESHES = (Elements, Lumped)
HAVE_STATIC = (*MESHES, CraigBampton, Polynomials)


def next_member(arm: Arm) -> Arm:
    """Return the arm with one more shape function in every elastic direction that has shapes."""
    return _counted(arm, lambda _, n: n + 1)


def grown(arm: Arm, more: int = 1) -> Arm:
    """Return the arm with ``more`` additional shapes in each direction that has shapes.

    In links discretised by finite elements or lumped masses, the number of elements is doubled
    instead.
    """
    return _counted(arm, lambda choice, n: 2 * n if isinstance(choice, MESHES) else n + more)


def fewer(arm: Arm) -> Arm | None:
    """Return the arm with one shape function fewer per elastic direction, but at least one.

    Return None if a bending direction has only one shape function, or if no direction has shapes.
    """
    planes = [n for number in numbers(arm).values() for n in (number.y, number.z) if n]
    return _counted(arm, lambda _, n: max(n - 1, 1)) if min(planes, default=0) > 1 else None


def enriched(arm: Arm) -> Arm:
    """Return the arm with a larger basis: one more shape per direction, and static shapes.

    The existing shape functions are retained, so that initial amplitudes stay valid. Meshes get
    twice as many elements. Families that cannot include static shapes, such as the families of
    sliding links, get two further shape functions instead, or one if two cannot be built.
    """

    def more(choice: Counted, n: int) -> int:
        if isinstance(choice, MESHES):
            return 2 * n
        return n + (2 if isinstance(choice, HAVE_STATIC) else 1)

    next_arm_basis, next_basis = _counted(arm, lambda _, n: n + 2), next_member(arm)
    return _buildable(_counted(arm, more, static=True), next_arm_basis, next_basis)


def numbers(arm: Arm) -> dict[int, Counts]:
    """Return the shape-function counts per elastic direction, keyed by link index.

    Rigid links and links whose shape functions come from a file are omitted.
    """
    return {
        i: counts(arm, i, link.shapes)
        for i, link in enumerate(arm.links)
        if can_enrich(link) and isinstance(link.shapes, Counted)
    }


def recounted(arm: Arm, shape_counts: Mapping[int, Counts]) -> Arm:
    """Return the arm with the given shape-function counts, keyed by link index."""
    return _changed(arm, lambda choice, n: choice.model_copy(update=_keys(n)), shape_counts)


def stretched(arm: Arm) -> Arm | None:
    """Return the arm with one more axial shape in each link whose section has EA.

    Return None if EA is unknown for every link whose number of shape functions can be changed.
    """
    able = {i: n for i, n in numbers(arm).items() if _stiff(arm.links[i]).x}
    return recounted(arm, {i: n._replace(x=n.x + 1) for i, n in able.items()}) if able else None


def widened(arm: Arm, still: Collection[tuple[int, Direction]] = ()) -> Arm:
    """Return the arm with at least one shape in each direction whose stiffness a section has.

    Directions in ``still``, pairs (link index, direction), remain without shapes.
    """
    shape_counts = {}
    for i, number in numbers(arm).items():
        stiff = _stiff(arm.links[i])
        least = (0 if (i, d) in still else stiff.of(d) for d in DIRECTIONS)
        shape_counts[i] = Counts(*map(max, number, least))
    return recounted(arm, shape_counts)


def by_rule(arm: Arm) -> Arm:
    """Return the arm with loaded modes, as many as the automatic rule chooses.

    Loaded modes are the mode shapes of a link with inertias attached at its root and tip. An arm
    whose model file refers to individual modal amplitudes is returned unchanged.
    """
    if any(_names_amplitudes(link) for link in arm.links if link.beam):
        return arm

    def loaded(choice: Counted, _: Counts) -> Counted:
        return Loaded(root=choice.root if isinstance(choice, Loaded) else "auto")

    return _buildable(_changed(arm, loaded), arm)


def reference(arm: Arm) -> Arm:
    """Return the arm on the reference basis: eight mass-normalised loaded modes per direction.

    The modes are computed with locked joints and supplemented by static shapes. Static shapes are
    omitted if the model cannot be built with them, as for a link with a heavy tip body, whose
    loaded modes already span the static shapes.
    """

    def many(_: Counted, number: Counts, *, static: bool) -> Counted:
        number = Counts(*(REFERENCE_MODES * (n > 0) for n in number))
        return Loaded(root="held", static=static, normalise="mass", **_keys(number))

    return _buildable(*(_changed(arm, partial(many, static=static)) for static in (True, False)))


def families(arm: Arm) -> dict[str, Arm]:
    """Return variants of the arm with other families of shape functions, by name of the family.

    Each variant has as many shape functions as the arm. No variants are returned if the model file
    refers to individual modal amplitudes, which are undefined in other families.
    """
    flexible = [link for link in arm.links if link.beam]
    if any(_names_amplitudes(link) for link in flexible):
        return {}
    makers: dict[str, Callable[[Counted, Counts], Counted]] = {
        "loaded, root held": lambda _, n: Loaded(root="held", **_keys(n)),
        "loaded, root free": lambda _, n: Loaded(root="free", **_keys(n)),
        "loaded, root geared": lambda _, n: Loaded(root="geared", **_keys(n)),
        "clamped-free": lambda _, n: ClampedFree(kind="clamped-free", **_keys(n)),
        "craig-bampton": lambda _, n: CraigBampton(kind="craig-bampton", **_keys(_less(n))),
    }
    return {name: _changed(arm, make) for name, make in makers.items()}


def title(arm: Arm) -> str:
    """Return a description of the arm's shape functions, such as ``loaded, 4 bending y``."""
    titles = dict.fromkeys(_title(arm, i) for i, link in enumerate(arm.links) if link.beam)
    return "; ".join(titles)


def can_enrich(link: Link) -> bool:
    """Return whether the link is flexible and the number of its shape functions can be changed."""
    return link.beam and isinstance(link.shapes, Counted)


def of_family(link: Link) -> bool:
    """Return whether shapes can be added to a link one at a time, unlike elements to a mesh."""
    return can_enrich(link) and not isinstance(link.shapes, MESHES)


def _buildable(*arms: Arm) -> Arm:
    """Return the first arm of a list of which a model can be built, or else the last arm."""
    for arm in arms[:-1]:
        try:
            build(arm, stiffening=False)
        except ModelError:
            continue
        return arm
    return arms[-1]


def _counted(arm: Arm, change: Callable[[Counted, int], int], *, static: bool = False) -> Arm:
    """Return the arm with the number n of shapes per direction replaced by ``change(shapes, n)``.

    The first argument of ``change`` is the link's choice of shapes. Directions without shape
    functions are unchanged. With ``static``, static shapes are added to shapes of the families that
    have this option.
    """

    def made(choice: Counted, number: Counts) -> Counted:
        values = _keys(Counts(*(change(choice, n) if n else 0 for n in number)))
        added = {"static": True} if static and not isinstance(choice, HAVE_STATIC) else {}
        return choice.model_copy(update=values | added)

    return _changed(arm, made)


def _changed(
    arm: Arm,
    make: Callable[[Counted, Counts], Counted],
    shape_counts: Mapping[int, Counts] | None = None,
) -> Arm:
    """Return the arm with the shapes of each link i replaced by ``make(shapes, counts[i])``.

    ``shape_counts`` maps link indices to counts; by default, each link whose number of shapes can
    be changed to its present count.
    """
    links = list(arm.links)
    for i, number in (numbers(arm) if shape_counts is None else shape_counts).items():
        choice = links[i].shapes
        assert isinstance(choice, Counted)
        links[i] = links[i].model_copy(update={"shapes": make(choice, number)})
    return arm.model_copy(update={"links": type(arm.links)(links)})


def _stiff(link: Link) -> Counts:
    """Return 1 for each direction in which the link's section states a stiffness, else 0."""
    assert link.section is not None
    span = Span.of(link.section, link.span)
    return Counts(*(int(span.has(MOTIONS[direction].stiffness)) for direction in DIRECTIONS))


def _keys(number: Counts) -> dict[str, int]:
    """Return shape-function counts keyed by their names in the model file."""
    return {MOTIONS[direction].key: number.of(direction) for direction in DIRECTIONS}


def _less(number: Counts) -> Counts:
    """Return the numbers of fixed-interface modes for ``number`` Craig-Bampton shapes in total.

    The other Craig-Bampton shapes are the static shapes of the tip: two per bending direction, one
    for twist and one for stretch. At least one fixed-interface mode remains.
    """
    beams = [max(n - 2, 1) if n else 0 for n in (number.y, number.z)]
    rods = [max(n - 1, 1) if n else 0 for n in (number.twist, number.x)]
    return Counts(*beams, *rods)


def _names_amplitudes(link: Link) -> bool:
    terms = (link.start, link.start_speed, link.elastic_energy, link.elastic_force)
    return any(terms) or bool(link.quadratic_shapes) or isinstance(link.shapes, Tabulated)


def _title(arm: Arm, index: int) -> str:
    choice = arm.links[index].shapes
    if not isinstance(choice, Counted):
        return choice.kind
    number = counts(arm, index, choice)
    parts = [f"{n} {name.replace('_', ' ')}" for name, n in _keys(number).items() if n]
    root = f", root {choice.root}" if isinstance(choice, Loaded) and choice.root != "auto" else ""
    static = " and static shapes" if choice.static else ""
    return f"{choice.kind}{root}, {', '.join(parts)}{static}"


Place = tuple[int, Direction, int]  # link index, direction, and number of a shape from 1 on


@dataclass(frozen=True)
class Answer:
    """The basis of shape functions and the integration tolerance that a search found."""

    basis: str  # description of the shapes
    shapes: dict[str, dict[str, Any]]  # the key ``shapes`` of the model file, by link
    coordinates: int  # number of coordinates
    rtol: float  # tolerance to simulate with
    estimate: float  # upper estimate of the error, relative to the deflections' range
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
        Requested error; the tolerance of the runs is at most a hundredth of this error.
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
    """Return the largest differences of the links' tip deflections between two runs, by link name.

    Differences are relative to the range of the deflection in the run ``best``. Links that do not
    deflect are omitted.
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
        Cache of the runs of the motion.
    want
        Requested error, relative to the range of the deflections.
    trials
        Largest number of bases to evaluate; unlimited if None.
    say
        Function that is called with a description of each next run.
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
        """Find the smallest basis and the loosest tolerance that meet the requested error.

        Parameters
        ----------
        start
            The arm, with shapes of the family in which to search.

        Returns
        -------
        Answer or None
            The smallest basis within the requested error, else the best basis found; None if no
            link deflects.
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
        """Enrich a basis until the reference run is accurate; return the last two bases.

        Enrichment stops as soon as the estimated error of the reference run is small relative to
        the requested error, or when the limit of trials or of coordinates is reached. The reference
        run and its error are stored.
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
            except FlexarmError:  # the basis cannot be built, or its run would take hours
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
        """Return the arm without shapes of small contribution, within the requested error.

        If the error is too large, fewer shape functions are removed. Return None if even the full
        basis exceeds the requested error.
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
        """Return the arm after removing shapes one by one, within the requested error.

        In each step the candidates are the last shape functions of all directions. The candidate
        with the smallest contribution is tried first.
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
        assert error is not None  # computed before, for the same arm
        return rtol, error

    def _tails(self, arm: Arm) -> dict[Place, float]:
        """Return how much all shapes from number k on move the tip, by (link, direction, k).

        The dictionary has the largest tip displacement due to these shape functions in the
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
    """Return shape-function counts by link index without the shapes in ``small``.

    A link that would lose all its shape functions keeps all of them.
    """
    left_counts = {}
    for i, number in numbers(arm).items():
        left = {d: sum((i, d, k) not in small for k in range(1, number.of(d) + 1))
                for d in DIRECTIONS}  # fmt: skip
        left_counts[i] = Counts(**left) if any(left.values()) else number
    return left_counts


def _added(run: Run, part: LinkModel, direction: Direction, first: int) -> float:
    """Return the largest tip displacement [m] in a run due to shapes from ``first`` on.

    Only shapes of one elastic direction are considered. A twist angle is converted to the
    displacement of a point at a distance of one link length from the axis.
    """
    shapes, length = _shapes(run, part)
    columns, tip = shapes.moving(direction)[first - 1 :], np.array([length])
    q = run.q[:, part.modes][:, columns]
    moved = q @ shapes.displacement(tip)[0][:, columns].T
    turned = length * (q @ shapes.rotation(tip)[0][0, columns])
    return max(float(np.abs(moved).max(initial=0.0)), float(np.abs(turned).max(initial=0.0)))


def _shapes(run: Run, part: LinkModel) -> tuple[Shapes, float]:
    """Return a link's shapes and length [m]; a sliding link has its greatest length in the run."""
    q = run.q[-1].copy()
    if part.body.range is not None:
        q[part.exposed] = np.clip(run.q[:, part.exposed].max(), *part.body.range)
    shapes = body_of(run.model, part).shapes_at(q)
    assert shapes is not None
    return shapes, part.span_length(q)
