"""Discretisation errors of frequencies and of a run, for several bases of shape functions."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from flexarm.accuracy.constants import REMEDY_ABOVE
from flexarm.arguments import (
    WithUnit,
    digits,
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
from flexarm.integrate.options import RunOptions
from flexarm.io.model_file import change_arm, validated
from flexarm.linear.tangent import linearise_elastic, lock_drives, trace
from flexarm.mechanics.weightless import require_inertia
from flexarm.model import Model, build, start_state
from flexarm.runs.run import Run
from flexarm.spatial import Array
from flexarm.studies.bases import (
    Answer,
    ShapeRuns,
    ShapeSearch,
    by_rule,
    can_enrich,
    differences,
    enriched,
    families,
    fewer,
    next_member,
    of_family,
    reference,
    stretched,
    title,
)
from flexarm.studies.constants import (
    COMPARED_MODES,
    LEAST_WANT,
    MOST_COORDINATES,
    MOST_WANT,
    TRIALS,
)
from flexarm.threads import one_blas_thread
from flexarm.units import quantity


@dataclass(frozen=True)
class Row:
    """Discretisation errors and computing cost of an arm on one basis of shape functions.

    Attributes
    ----------
    basis
        Description of the shape functions; the first row belongs to the shape functions of the
        model file.
    coordinates
        Number of coordinates.
    frequency_error_free, frequency_error_locked
        Largest relative error of the slow elastic frequencies with free joints and with locked
        joints, at the start and with all joints at 45 degrees.
    top_frequency
        Highest frequency at the start [rad/s].
    step
        Largest stable step of a Runge-Kutta method of order 4 [s].
    run_error
        Largest difference of a link's tip deflection from the run on the enriched basis, relative
        to the range of the deflection; None without a run, or if the run ended early.
    cpu_seconds
        CPU time of the run [s].
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
    """Discretisation error of an arm's shape functions in one motion, and advice.

    Attributes
    ----------
    t_end
        Duration of the runs [s].
    wish
        Acceptable error, relative to the range of the deflections.
    estimate
        Largest error of a link's tip deflection, relative to the range of this deflection. The
        error is the difference from a run with one more shape function of the family and the static
        shapes. None if no link deflects.
    step_of_family
        Difference of the tip deflections from a run with one more shape function of the family,
        without static shapes; None for meshes.
    by_link
        Error ``estimate`` of each link, keyed by link name.
    mismatch
        Whether the family lacks a shape function that the motion requires.
    slope
        Largest bending slope of a link in the run.
    model_error
        Estimated error of the bending theory (linear links against exact links), relative to the
        range of the deflections. 0 for exact links; None if unknown.
    stretch
        Change of the tip deflections, relative to their range, due to one more axial shape function
        in links with EA; None if no section has EA, or if the run ended early.
    rows
        Errors and costs of the original basis, the enriched basis, the bases with one more and one
        fewer shape function, and other families.
    answer
        Basis with an acceptable error, or else the best basis found. None if the original basis is
        acceptable, if no link deflects, or if no other bases were tried (``others`` is false).
    advice
        Recommendations as sentences.
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


@one_blas_thread
def converge(
    arm: Arm,
    *,
    t_end: WithUnit = 1.0,
    wish: WithUnit = REMEDY_ABOVE,
    want: float | str | None = None,
    others: bool = True,
    trials: int | None = None,
    progress: Callable[[str], None] | None = None,
) -> Convergence:
    """Estimate the discretisation error of an arm's shape functions and search for a better basis.

    Parameters
    ----------
    arm
        The arm, with the inputs and initial state of the motion to be assessed.
    t_end
        Duration of the runs [s].
    wish
        Acceptable discretisation error, relative to the range of the tip deflections. The model
        file's shape functions are retained if their error is acceptable.
    want
        Acceptable total error caused by shape functions and integration tolerance, such as 0.01 or
        ``"1%"``. With ``want`` instead of ``wish``, the smallest basis and the loosest tolerance
        within this error are searched for.
    others
        Whether to try fewer and more shape functions and other families, and to refine the best
        basis until its error is acceptable.
    trials
        Largest number of bases to evaluate in the search; if None, 8 with ``wish`` and unlimited
        with ``want``.
    progress
        Function called with a description of the next run.

    Returns
    -------
    Convergence
        Errors of the shape functions with their causes, and a sufficient basis.

    Raises
    ------
    FlexarmError
        If no link has a basis that can be enlarged, or a simulation cannot start.
    """
    arm = validated(arm)
    if not any(can_enrich(link) for link in arm.links):
        raise FlexarmError(
            "no link has shapes whose number can be raised, since links are rigid or take their "
            "shapes from a file. Give a link other shapes."
        )
    t_end, wish = RunOptions.of(t_end=t_end).t_end, require_positive("wish", wish)
    require_flag("others", others)
    require_function("progress", progress, "of what is run next")
    if trials is not None:
        require_count("trials", trials, 1)
    say = progress or (lambda text: None)
    if want is not None:
        if not others:
            raise FlexarmError(
                "others: must be True with 'want', which searches among other shapes, got False"
            )
        wish = read_want(want)
        search = ShapeSearch(ShapeRuns(t_end, wish), want=wish, trials=trials, say=say)
        return _wanted(arm, search)
    listed = _bases(arm, others=others)
    truth, _ = frequencies(reference(arm))
    say("enriched")
    runs = ShapeRuns(t_end, wish)
    best = runs.of(listed["enriched"])
    if best.status != "finished":
        raise FlexarmError(f"the run with additional shapes {best.status}: {best.reason}")
    rows = []
    for name, other in listed.items():
        say(name)
        rows.append(_row(name, other, runs.of(other), best, truth))
    given_run, grown = runs.of(arm), runs.of(listed["one more"])
    by_link = differences(given_run, best)
    estimate = max(by_link.values(), default=None)
    steps = None
    is_sequence = all(of_family(link) for link in arm.links if can_enrich(link))
    if is_sequence and grown.status == "finished":
        steps = max(differences(given_run, grown).values(), default=None)
    # In a convergent family of shapes, each additional shape at least halves the error.
    mismatch = bool(estimate and steps is not None and estimate > 2 * steps)
    validity = best.validity
    answer = None
    if others and estimate is not None and estimate > wish:
        search = ShapeSearch(runs, want=wish, trials=trials or TRIALS, say=say)
        answer = search.cheapest(_erring_least(listed, rows))
    say("one more stretch shape")
    result = Convergence(
        arm.name, t_end, wish, estimate, steps, by_link, mismatch, validity.slope,
        best.errors.parts["theory"], _stretch(arm, given_run, runs), tuple(rows), answer, (),
    )  # fmt: skip
    return replace(result, advice=tuple(advice(result, arm)))


def read_want(value: object) -> float:
    """Return the requested relative error as a number; text such as ``1%`` is converted.

    An error is raised for a number outside 1e-6 to 0.5.
    """
    try:
        share = quantity(value, "1")
    except ModelError:
        share = 0.0
    if not LEAST_WANT <= share <= MOST_WANT:
        expected = f"an error from {LEAST_WANT:g} to {MOST_WANT:g}, such as 0.01 or '1%'"
        raise refused("want", value, expected)
    return share


def _wanted(arm: Arm, search: ShapeSearch) -> Convergence:
    """Return the result of a search for the smallest basis within the requested error."""
    answer = search.cheapest(by_rule(arm))
    best, given_run = search.best, search.runs.of(arm)
    assert best is not None
    truth, _ = frequencies(reference(arm))
    rows = [_row(f"as given: {title(arm)}", arm, given_run, best, truth)]
    if answer is not None:
        changed = change_arm(arm, answer.changes)
        run = search.runs.of(changed, answer.rtol)
        rows.append(_row(f"answer: {answer.basis}", changed, run, best, truth))
    finished = given_run.status == "finished"
    result = Convergence(
        arm.name, search.runs.t_end, search.want, search.error(arm) if answer else None, None,
        differences(given_run, best) if finished else {}, False, best.validity.slope,
        best.errors.parts["theory"], None, tuple(rows), answer, (),
    )  # fmt: skip
    return replace(result, advice=tuple(advice_on_want(result)))


def frequencies(arm: Arm) -> tuple[dict[tuple[str, str], Array], float]:
    """Return elastic frequencies of the undeformed arm, and its fastest rate at the start [rad/s].

    Returns
    -------
    frequencies, rate
        Frequencies by posture (``start``, ``bent``) and state of the joints (``free``,
        ``locked``); magnitude of the largest eigenvalue at the start, with damping [rad/s].
    """
    model = build(arm, stiffening=False)  # straight links at rest have no stiffening
    traced = trace(model)
    open_ = [i for i in range(model.size) if i not in model.prescribed]
    result, rate = {}, 0.0
    for pose, q in _poses(model).items():
        linear = linearise_elastic(model, traced, q)
        free = linear.along(open_)
        require_inertia(model, free.mass, free.names, when=f"in the posture '{pose}'")
        result[pose, "free"] = free.elastic_modes().frequencies
        result[pose, "locked"] = lock_drives(model, linear).elastic_modes().frequencies
        if pose == "start":
            rate, _ = free.fastest_rate()
    return result, rate


def _stretch(arm: Arm, given_run: Run, runs: ShapeRuns) -> float | None:
    """Return the change of the tip deflections due to one more axial shape function.

    The change is the largest over all links, relative to the range of the link's deflection. Return
    None if no section has EA, or if a run fails or ends early.
    """
    other = stretched(arm)
    if other is None:
        return None
    try:
        run = runs.of(other)
    except FlexarmError:  # the link's family of shapes has no axial shapes
        return None
    if {run.status, given_run.status} != {"finished"}:
        return None
    return max(differences(given_run, run).values(), default=None)


def _erring_least(listed: Mapping[str, Arm], rows: list[Row]) -> Arm:
    """Return the variant of an arm with the least run error and no more coordinates than the arm.

    ``listed`` contains the variants by name. The first of ``rows`` belongs to the arm itself.
    """
    small = [row for row in rows if row.coordinates <= rows[0].coordinates]
    best = min(small, key=lambda row: math.inf if row.run_error is None else row.run_error)
    return listed[best.basis]


def _bases(arm: Arm, *, others: bool) -> dict[str, Arm]:
    """Return the variants of the arm to compare, keyed by a description of the shape functions.

    The variants are the original basis, the enriched basis, and the basis with one more shape
    function; with ``others`` also the basis with one fewer shape function, and other families.
    Duplicates are omitted.
    """
    listed = {
        f"as given: {title(arm)}": arm,
        "enriched": enriched(arm),
        "one more": next_member(arm),
    }
    if not others:
        return listed
    less = fewer(arm)
    listed |= {"one fewer": less} if less is not None else {}
    listed_shapes = {_same(other) for other in listed.values()}
    for name, other in families(arm).items():
        try:
            shapes = _same(other)
        except ModelError:  # the link cannot have shapes of this family
            continue
        if shapes not in listed_shapes:
            listed_shapes.add(shapes)
            listed[name] = other
    return listed


def _same(arm: Arm) -> bytes:
    """Return a key that is equal for arms whose shapes span the same space.

    The key is formed from modal stiffness matrices and tip rotations, rounded to six decimals.
    """
    rows = [
        np.concatenate([part.beam.integrals.stiffness.ravel(), part.beam.tip_angle.ravel()])
        for part in build(arm, stiffening=False).links
        if part.body.one_length
    ]
    return b"".join(np.round(row, 6).tobytes() for row in rows)


def _poses(model: Model) -> dict[str, Array]:
    start, _ = start_state(model)
    bent = start.copy()
    for axis in model.axes:
        if axis.turns and axis.link > 0:
            bent[[k for k in (axis.index, axis.motor) if k is not None]] = np.pi / 4
    return {"start": start, "bent": bent}


def _row(name: str, arm: Arm, run: Run, best: Run, truth: Mapping[tuple[str, str], Array]) -> Row:
    """Return a `Row`: frequency errors relative to ``truth``, run error relative to ``best``."""
    result, rate = frequencies(arm)
    model = run.model
    planes = 1 + any(name.split(".")[-1].startswith("z") for name in model.names)
    errors = {"free": 0.0, "locked": 0.0}
    for (pose, state), exact in truth.items():
        count = min(COMPARED_MODES * planes, len(result[pose, state]), len(exact))
        relative = np.abs(result[pose, state][:count] / exact[:count] - 1)
        errors[state] = max(errors[state], float(relative.max(initial=0.0)))
    top = float(result["start", "free"].max(initial=0.0))
    error = None
    if run.status == "finished" and run is not best:
        error = max(differences(run, best).values(), default=None)
    return Row(
        name, model.size, errors["free"], errors["locked"], top,
        RK4.stable / rate if rate else float("inf"), error, run.statistics.cpu_seconds,
    )  # fmt: skip


def advice(result: Convergence, arm: Arm) -> list[str]:
    """Return sentences on the discretisation error of an arm's basis and on how to reduce it."""
    if result.estimate is None:
        return [_still(result)]
    lines = [
        f"The given shapes cause an error of about {_percent(result.estimate)} of the "
        "tip deflection's range in this motion (worst: "
        f"{max(result.by_link, key=lambda n: result.by_link[n])})."
    ]
    if result.estimate <= result.wish:
        lines.append(f"That is within the requested {_percent(result.wish)}. Keep them.")
    elif result.mismatch:
        lines.append(
            "The family lacks a shape that this motion needs, since one more of its "
            "shapes changes the result by only "
            f"{_percent(result.step_of_family or 0.0)}. {_other_family(arm)}"
        )
    elif result.answer is None:
        lines.append("More shapes are needed. Run without --given-only to find them.")
    if result.answer is not None:
        lines.append(_answered(result.answer, result))
    return lines + _model_advice(result)


def advice_on_want(result: Convergence) -> list[str]:
    """Return sentences on the basis and tolerance that meet the requested error, if any do."""
    answer = result.answer
    if answer is None:
        return [_still(result)]
    lines = [_answered(answer, result)]
    if result.estimate is not None and math.isfinite(result.estimate):
        lines.append(f"The given shapes cause an error of {_percent(result.estimate)} or less.")
    return lines + _model_lines(result)


def _still(result: Convergence) -> str:
    return (
        f"Nothing deflects in {result.t_end:g} s. Give the arm inputs, gravity or an "
        "initial state, or a longer run; the frequencies below do not need one."
    )


def _answered(answer: Answer, result: Convergence) -> str:
    """Return sentences that recommend the basis found by a search, with its error and size."""
    size = f"{answer.coordinates} coordinates (as given: {result.rows[0].coordinates})"
    error = _percent(answer.estimate)
    if answer.within:
        return (
            f"Use '{answer.basis}' with --rtol {answer.rtol:g}. The error is {error} or less, "
            f"with {size}."
        )
    left = (
        f"may have an error of {error}. Every enrichment changes the motion by more than the "
        "requested error, or cannot be run. Request a larger error, or a shorter run if the "
        "motion is chaotic."
    )
    if not math.isfinite(answer.estimate):
        left = (
            "was run without a reference, so its error is unknown. Allow more trials, or a "
            "shorter run."
        )
    return (
        f"An error of {_percent(result.wish)} was not reached in {answer.trials} trials of up to "
        f"{MOST_COORDINATES} coordinates and an hour each. The best, '{answer.basis}', {size}, "
        f"{left}"
    )


def _other_family(arm: Arm) -> str:
    joints_held = all(
        acts.actuation == "prescribed" for link in arm.links for acts in link.joint.axes.values()
    )
    if joints_held:
        return "The joints are held. Use loaded modes with 'root: held'."
    return (
        "The boundary conditions of the shapes do not match the joints. Use loaded "
        "modes: 'root: held' if a controller or a gear holds the joints, 'root: free' "
        "if torques move them freely; or 'static: true'."
    )


def _model_lines(result: Convergence) -> list[str]:
    """Return sentences on the beam theory's error, which more shape functions do not reduce."""
    if result.model_error is None:
        lines = [
            f"Slopes reach {result.slope:.2g} rad, too much for a model without "
            "stiffening. Switch stiffening on before adding shapes."
        ]
    else:
        lines = [
            f"The beam theory's error at slopes up to {result.slope:.2g} rad is about "
            f"{_percent(result.model_error)} or less."
        ]
        if result.model_error > result.wish:
            lines.append(
                "That exceeds the requested error. Split the link, since more shapes do not help."
            )
    return lines


def _model_advice(result: Convergence) -> list[str]:
    """Return sentences on errors that more bending shapes do not reduce: beam theory, stretch."""
    lines = _model_lines(result)
    if result.stretch is None:
        lines.append("Stretch was not tried, since no section has EA.")
    elif result.stretch <= result.wish:
        lines.append(
            "One more shape of stretch changes the deflections by "
            f"{_percent(result.stretch)}. Leave it out."
        )
    else:
        lines.append(
            "One more shape of stretch changes the deflections by "
            f"{_percent(result.stretch)}. Set 'stretch' in the shapes one higher."
        )
    return lines


def _percent(value: float) -> str:
    return f"{digits(100 * value)} %"
