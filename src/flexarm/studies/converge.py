"""How many shapes does an arm need, and which: errors of frequencies and of a run, and advice."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from flexarm.arguments import (
    WithUnit,
    refused,
    require_count,
    require_flag,
    require_function,
    require_positive,
)
from flexarm.arm import Arm
from flexarm.arm.summary import Summarised, Summary
from flexarm.errors import FlexarmError, ModelError
from flexarm.integrate.methods.rk4 import RK4
from flexarm.io.model_file import validated
from flexarm.io.overrides import change_arm
from flexarm.linear.elastic import linearise_elastic, lock_drives, trace
from flexarm.links.base import Array
from flexarm.mechanics.weightless import require_inertia
from flexarm.model import Model, build, start_state
from flexarm.runs.run import Run
from flexarm.studies.bases import (
    NamedArm,
    by_rule,
    can_enrich,
    enriched,
    families,
    fewer,
    next_member,
    of_family,
    reference,
    stretched,
    title,
)
from flexarm.studies.shape_search import (
    MOST_COORDINATES,
    TRIALS,
    Answer,
    ShapeRuns,
    ShapeSearch,
    differences,
)
from flexarm.units import quantity

PER_PLANE = 3  # elastic modes that are compared per plane of bending
LEAST, MOST = 1e-6, 0.5  # errors that can be wanted
BEND = np.radians(45)
MISMATCH = 2.0  # times the difference to the next member: more says that the family is wrong
SECOND_ORDER, UNDAMPED = 2.0, 5.0  # times slope^2; times that where errors of phase add up


@dataclass(frozen=True)
class Row:
    """What an arm on certain shapes is worth.

    Attributes
    ----------
    basis
        The shapes, in words; the first row has those of the model file.
    coordinates
        Number of coordinates.
    frequency_error_free, frequency_error_locked
        Largest relative error of the slow elastic modes, joints as they are and locked, at the
        start and with all joints bent by 45 degrees.
    top_frequency
        Highest frequency at the start [rad/s].
    step
        What a fixed-step Runge-Kutta method of order 4 can take [s].
    run_error
        Largest difference of a link's tip deflection from the enriched run, over its range; None
        without a run, or if it ended early.
    cpu_seconds
        What the run took.
    """

    basis: str
    coordinates: int
    frequency_error_free: float
    frequency_error_locked: float
    top_frequency: float
    step: float
    run_error: float | None
    cpu_seconds: float | None


@dataclass(frozen=True, repr=False)
class Convergence(Summarised):
    """How well an arm's shapes describe it.

    Attributes
    ----------
    t_end
        Duration of the runs [s].
    wish
        Error that is asked for.
    estimate
        Truncation error of the tip deflections over their range, worst link: the run against one
        with the next member of the family and the static shapes; None if nothing deflects.
    step_of_family
        The same against one more member alone; None for meshes.
    by_link
        The estimate per link.
    mismatch
        Whether the family lacks a shape that the motion needs.
    slope
        Largest slope of a link in the run.
    model_error
        What the model's own error is at such slopes, over the range: of exact links what their
        nodes leave.  By the series as measured against the exact beam; beyond the slopes of those
        measurements 2 slope^2, five times that where nothing damps the links and errors of phase
        add up.  None if unknown: without stiffening.
    stretch
        How much tip deflections change, over their range, if links that have EA stretch by one
        more shape; None if none has, or that run ended early.
    rows
        The given shapes, fewer, more, enriched, and other families.
    answer
        Shapes within the wish, or the nearest to it that were found; None if those given are, if
        nothing deflects, or if no others were to be tried.
    advice
        What to do, in words.
    """

    arm: str
    t_end: float
    wish: float
    estimate: float | None
    step_of_family: float | None
    by_link: dict[str, float]
    mismatch: bool
    slope: float
    model_error: float | None
    stretch: float | None
    rows: tuple[Row, ...]
    answer: Answer | None
    advice: tuple[str, ...]

    def _summary(self) -> Summary:
        rows = [
            (row.basis, str(row.coordinates), f"{row.frequency_error_locked:.2g}",
             "" if row.run_error is None else f"{row.run_error:.2g}")
            for row in self.rows
        ]  # fmt: skip
        columns = ("shapes", "coordinates", "error of frequencies", "error of the run")
        return Summary(
            f"Shapes of {self.arm}, runs of {self.t_end:g} s", self.advice, columns, rows
        )


def converge(
    arm: Arm,
    *,
    t_end: WithUnit = 1.0,
    wish: WithUnit = 0.01,
    want: float | str | None = None,
    others: bool = True,
    trials: int | None = None,
    progress: Callable[[str], None] | None = None,
) -> Convergence:
    """Estimate the error that an arm's shapes make, and find shapes that are good enough.

    Parameters
    ----------
    arm
        The arm, with the inputs and initial state that matter.
    t_end
        Duration of the runs [s].
    wish
        Error that would do, over the range of the deflections.  Shapes within it are kept, with
        whatever tolerance.
    want
        In place of ``wish``: error that shapes and tolerance together may make, such as 0.01 or
        ``"1%"``; the fewest shapes and the loosest tolerance within it are the answer.
    others
        Whether to try fewer and more shapes, and other families, and to go on with the best of
        them until they are within the wish.
    trials
        How many shapes are judged at most on the way to an answer; if None 8, but as many as it
        takes for what is wanted.
    progress
        Called with what is run next.

    Returns
    -------
    Convergence
        Errors of the shapes and their reasons, and which shapes would do.

    Raises
    ------
    FlexarmError
        If no link has shapes that can be added to, or a run cannot begin.
    """
    arm = validated(arm)
    if not any(can_enrich(link) for link in arm.links):
        raise FlexarmError(
            "no link has shapes that can be added to: links are rigid, or their shapes come from "
            "a file"
        )
    t_end, wish = require_positive("t_end", t_end, unit="s"), require_positive("wish", wish)
    require_flag("others", others)
    require_function("progress", progress, "of what is run next")
    if trials is not None:
        require_count("trials", trials, 1)
    say = progress or (lambda text: None)
    if want is not None:
        if not others:
            raise FlexarmError("others: must be True where an error is wanted, got False")
        wish = read_want(want)
        search = ShapeSearch(ShapeRuns(t_end, wish), want=wish, trials=trials, say=say)
        return _wanted(arm, search)
    listed = _bases(arm, others=others)
    truth, _ = frequencies(reference(arm))
    say("enriched")
    made = ShapeRuns(t_end, wish)
    best = made.of(listed[1].arm)
    if best.status != "finished":
        raise FlexarmError(f"the run with enriched shapes {best.status}: {best.reason}")
    runs, rows = [best], []
    for basis in listed:
        say(basis.name)
        run = made.of(basis.arm)
        runs.append(run)
        rows.append(_row(basis, run, best, truth))
    by_link = differences(runs[1], best)
    estimate = max(by_link.values(), default=None)
    steps = None
    if all(of_family(link) for link in arm.links if can_enrich(link)):
        grown = next((r for b, r in zip(listed, runs[1:], strict=True) if b is listed[2]), None)
        if grown is not None and grown.status == "finished":
            steps = max(differences(runs[1], grown).values(), default=None)
    mismatch = bool(estimate and steps is not None and estimate > MISMATCH * steps)
    validity = best.validity
    answer = None
    if others and estimate is not None and estimate > wish:
        search = ShapeSearch(made, want=wish, trials=trials or TRIALS, say=say)
        answer = search.cheapest(_erring_least(listed, rows))
    say("one more stretch shape")
    found = Convergence(
        arm.name, t_end, wish, estimate, steps, by_link, mismatch, validity.slope,
        _model_error(arm, best), _stretch(arm, runs[1], made), tuple(rows), answer, (),
    )  # fmt: skip
    return replace(found, advice=tuple(advice(found, arm)))


def read_want(value: object) -> float:
    """Read the error that is wanted, a number or a text such as ``1%``, or refuse it."""
    try:
        share = quantity(value, "1")
    except ModelError:
        share = 0.0
    if not LEAST <= share <= MOST:
        expected = f"an error from {LEAST:g} to {MOST:g}, such as 0.01 or '1%'"
        raise refused("want", value, expected)
    return share


def _wanted(arm: Arm, search: ShapeSearch) -> Convergence:
    """Find the cheapest shapes and tolerance for what is wanted, and compare with those given."""
    answer = search.cheapest(by_rule(arm))
    best, given = search.best, search.runs.of(arm)
    assert best is not None
    truth, _ = frequencies(reference(arm))
    listed = [(NamedArm(f"as given: {title(arm)}", arm), given)]
    if answer is not None:
        changed = change_arm(arm, answer.changes)
        run = search.runs.of(changed, answer.rtol)
        listed.append((NamedArm(f"answer: {answer.basis}", changed), run))
    finished = given.status == "finished"
    found = Convergence(
        arm.name, search.runs.t_end, search.want, search.error(arm) if answer else None, None,
        differences(given, best) if finished else {}, False, best.validity.slope,
        _model_error(arm, best), None, tuple(_row(b, r, best, truth) for b, r in listed), answer,
        (),
    )  # fmt: skip
    return replace(found, advice=tuple(advice_on_want(found)))


def frequencies(arm: Arm) -> tuple[dict[tuple[str, str], Array], float]:
    """Find elastic frequencies [rad/s] of straight links, and the fastest rate at the start.

    Returns
    -------
    found, rate
        Frequencies by pose (``start``, ``bent``) and state of the joints (``free``, ``locked``);
        largest eigenvalue at the start, damping included [rad/s].
    """
    model = build(arm, stiffening=False)  # which straight links at rest do not notice
    traced = trace(model)
    open_ = [i for i in range(model.size) if i not in model.prescribed]
    found, rate = {}, 0.0
    for pose, q in _poses(model).items():
        linear = linearise_elastic(model, traced, q)
        free = linear.along(open_)
        require_inertia(model, free.mass, free.names, when=f"in the posture '{pose}'")
        found[pose, "free"] = free.elastic_modes().frequencies
        found[pose, "locked"] = lock_drives(model, linear).elastic_modes().frequencies
        if pose == "start":
            rate, _ = free.fastest_rate()
    return found, rate


def _model_error(arm: Arm, run: Run) -> float | None:
    """Tell the model's own error at the slopes of a run, over the range of the deflections."""
    validity = run.validity
    if validity.model_error is not None or not run.model.stiffening:
        return validity.model_error
    damped = any(link.damped for link in arm.links if link.flexible)
    return SECOND_ORDER * validity.slope**2 * (1.0 if damped else UNDAMPED)


def _stretch(arm: Arm, given: Run, made: ShapeRuns) -> float | None:
    """Find what one more shape of stretch changes in the tip deflections, over their range."""
    other = stretched(arm)
    if other is None:
        return None
    try:
        run = made.of(other)
    except FlexarmError:  # a family that has no such shapes
        return None
    if {run.status, given.status} != {"finished"}:
        return None
    return max(differences(given, run).values(), default=None)


def _erring_least(listed: list[NamedArm], rows: list[Row]) -> Arm:
    """Give the shapes that erred least with no more coordinates than those given."""
    known = [
        (row.run_error, row.coordinates, k) for k, row in enumerate(rows)
        if row.run_error is not None and row.coordinates <= rows[0].coordinates
    ]  # fmt: skip
    return listed[min(known, default=(0.0, 0, 0))[2]].arm


def _bases(arm: Arm, *, others: bool) -> list[NamedArm]:
    """List what is tried: as given, enriched, one more, and then fewer and other families."""
    listed = [
        NamedArm(f"as given: {title(arm)}", arm),
        NamedArm("enriched", enriched(arm)),
        NamedArm("one more", next_member(arm)),
    ]
    if not others:
        return listed
    less = fewer(arm)
    listed += [NamedArm("one fewer", less)] if less is not None else []
    known = {_same(each.arm) for each in listed}
    for basis in families(arm):
        try:
            build(basis.arm, stiffening=False)
        except ModelError:  # a family that this link cannot have
            continue
        if _same(basis.arm) not in known:
            known.add(_same(basis.arm))
            listed.append(basis)
    return listed


def _same(arm: Arm) -> bytes:
    """Tell arms apart by the shapes that they end up with."""
    parts = [
        part.elastic for part in build(arm, stiffening=False).links if part.elastic is not None
    ]
    return b"".join(
        np.round(np.concatenate([p.integrals.stiffness.ravel(), p.tip_angle.ravel()]), 6).tobytes()
        for p in parts
    )


def _poses(model: Model) -> dict[str, Array]:
    start, _ = start_state(model)
    bent = start.copy()
    for axis in model.axes:
        if axis.turns and axis.link > 0:
            bent[[k for k in (axis.index, axis.motor) if k is not None]] = BEND
    return {"start": start, "bent": bent}


def _row(basis: NamedArm, run: Run, best: Run, truth: dict[tuple[str, str], Array]) -> Row:
    found, rate = frequencies(basis.arm)
    model = run.model
    planes = 1 + any(name.split(".")[-1].startswith("z") for name in model.names)
    errors = {"free": 0.0, "locked": 0.0}
    for (pose, state), exact in truth.items():
        count = min(PER_PLANE * planes, len(found[pose, state]), len(exact))
        relative = np.abs(found[pose, state][:count] / exact[:count] - 1)
        errors[state] = max(errors[state], float(relative.max(initial=0.0)))
    top = float(found["start", "free"].max(initial=0.0))
    error = None
    if run.status == "finished" and run is not best:
        error = max(differences(run, best).values(), default=None)
    return Row(
        basis.name, model.size, errors["free"], errors["locked"], top,
        RK4.stable / rate if rate else float("inf"), error, run.statistics.cpu_seconds,
    )  # fmt: skip


def advice(found: Convergence, arm: Arm) -> list[str]:
    """Say in words how good the shapes of an arm are and what to do."""
    if found.estimate is None:
        return [_still(found)]
    lines = [
        f"The shapes as given are off by about {_percent(found.estimate)} of the tip deflection's "
        f"range in this motion (worst: {max(found.by_link, key=lambda n: found.by_link[n])})."
    ]
    if found.estimate <= found.wish:
        lines.append(f"That is within the {_percent(found.wish)} asked for: keep them.")
    elif found.mismatch:
        lines.append(
            "The family lacks a shape that this motion needs: one more member of it changes only "
            f"{_percent(found.step_of_family or 0.0)}. {_other_family(arm)}"
        )
    elif found.answer is None:
        lines.append("More shapes are needed: they are looked for if others may be tried.")
    if found.answer is not None:
        lines.append(_answered(found.answer, found))
    return lines + _model_advice(found)


def advice_on_want(found: Convergence) -> list[str]:
    """Say in words which shapes and tolerance give the error that is wanted, or why none do."""
    answer = found.answer
    if answer is None:
        return [_still(found)]
    size = f"{answer.coordinates} coordinates (as given: {found.rows[0].coordinates})"
    if answer.within:
        lines = [f"Take '{answer.basis}' with --rtol {answer.rtol:g}: off by "
                 f"{_percent(answer.estimate)} or less, with {size}."]  # fmt: skip
    else:
        lines = [
            f"{_percent(found.wish)} was not reached in {answer.trials} trials, up to "
            f"{MOST_COORDINATES} coordinates and an hour each: '{answer.basis}', {size}, "
            f"{_left(answer)}"
        ]
    if found.estimate is not None and math.isfinite(found.estimate):
        lines.append(f"The shapes as given are off by {_percent(found.estimate)} or less.")
    return lines + _model_lines(found)


def _left(answer: Answer) -> str:
    """Say how far off what was found may be, and what to do."""
    if not math.isfinite(answer.estimate):
        return "was run alone, which does not tell its error: allow more trials, or a shorter run."
    return (
        f"may still be off by {_percent(answer.estimate)}. Each enrichment changes the motion by "
        "more than is wanted, or cannot be run: ask for a larger error, or for a shorter run if "
        "the motion is chaotic."
    )


def _still(found: Convergence) -> str:
    return (
        f"Nothing deflects in {found.t_end:g} s: give the arm inputs, gravity or an initial "
        "state, or a longer run; the frequencies below do not need one."
    )


def _answered(answer: Answer, found: Convergence) -> str:
    """Say what the search came to."""
    size = f"{answer.coordinates} coordinates (as given: {found.rows[0].coordinates})"
    if answer.within:
        error = _percent(answer.estimate)
        return f"Take '{answer.basis}': off by {error} or less, with {size}."
    return (
        f"No shapes within {_percent(found.wish)} were found (trials: {answer.trials}, up to "
        f"{MOST_COORDINATES} coordinates each): '{answer.basis}', {size}, {_left(answer)}"
    )


def _other_family(arm: Arm) -> str:
    held = all(
        acts.actuation == "prescribed" for link in arm.links for acts in link.joint.axes.values()
    )
    if held:
        return "The joints are held: take loaded modes with 'root: held'."
    return (
        "The joints do not match the shapes: take loaded modes, 'root: held' if a controller or a "
        "gear holds the joints, 'root: free' if torques move them freely, or 'static: true'."
    )


def _model_lines(found: Convergence) -> list[str]:
    """Say what no shapes mend: the model's own error."""
    if found.model_error is None:
        lines = [
            f"Slopes reach {found.slope:.2g}, more than a model without stiffening bears: switch "
            "it on before adding shapes."
        ]
    else:
        lines = [
            f"The model's own error at slopes of {found.slope:.2g} is about "
            f"{_percent(found.model_error)} or less."
        ]
        if found.model_error > found.wish:
            lines.append("That is more than is asked for: split the link; shapes do not help.")
    return lines


def _model_advice(found: Convergence) -> list[str]:
    """Say what shapes of bending do not mend: the model's own error, and stretch."""
    lines = _model_lines(found)
    if found.stretch is None:
        lines.append("Stretch was not tried: it needs EA in a section.")
    elif found.stretch <= found.wish:
        lines.append(f"One more shape of stretch changes {_percent(found.stretch)}: leave it out.")
    else:
        lines.append(
            f"One more shape of stretch changes {_percent(found.stretch)}: set 'stretch' in the "
            "shapes one higher."
        )
    return lines


def _percent(value: float) -> str:
    return f"{100 * value:.2g} %"
