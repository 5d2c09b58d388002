"""Error estimates of a run: error of the model, of the shapes and of the integration."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from flexarm.accuracy.constants import (
    ADDED_SHAPES,
    CONVERGENT_RATIO,
    LARGEST_ERROR,
    MORE_ADDED_SHAPES,
    REMEDY_ABOVE,
    RESOLUTION,
)
from flexarm.accuracy.defect import Motion, RicherArm
from flexarm.accuracy.integration import IntegrationError, common_samples
from flexarm.accuracy.richer import can_grow, enriched, why_fixed
from flexarm.accuracy.validity import LinkValidity, Validity
from flexarm.constants import ACCUMULATED
from flexarm.errors import FlexarmError
from flexarm.mechanics.deformed import flexible_links, tip_deflection
from flexarm.model import LinkModel, Model
from flexarm.spatial import Array


@dataclass(frozen=True)
class ShapeComparison:
    """Error of the shapes of a run.

    Attributes
    ----------
    error
        Error of the link with the largest error of the tip deflection, relative to the larger of
        the deflection's range and size.
    tip
        Error of the arm's tip position [m].
    converged
        Whether the second addition of shapes changed the deflections by less than half as much as
        the first, or by less than the tolerance; otherwise the error may be larger.
    """

    error: float
    tip: float
    converged: bool


def compare(
    model: Model,
    motion: Motion,
    tip: Array,
    rtol: float,
    simulate: Callable[[Model], tuple[Motion, Array]],
) -> ShapeComparison:
    """Compute the error of the shapes of a motion from the motions of two richer arms.

    Shapes are added in two steps. The error is the change by the first step plus twice the change
    by the second. It is an upper bound if every further step at least halves the change.

    Parameters
    ----------
    model, motion, tip, rtol
        The arm, its motion, the positions of its tip (T, 3) and the tolerance.
    simulate
        Function that simulates the same motion of another arm, and returns this motion and the
        positions of its tip.
    """
    unloaded = RicherArm(model).unloaded_directions(motion, RESOLUTION * rtol)
    richer, richest = (
        enriched(model, number, unloaded).model for number in (ADDED_SHAPES, MORE_ADDED_SHAPES)
    )
    runs = [(motion_, *simulate(motion_)) for motion_ in (richer, richest)]
    rows = [common_samples(motion.t, motion_.t) for _, motion_, _ in runs]
    samples = np.intersect1d(rows[0][0], rows[1][0])
    other_samples = [
        rows_of_theirs[np.searchsorted(rows_of_ours, samples)]
        for rows_of_ours, rows_of_theirs in rows
    ]
    arms, qs, tip_positions = (model, richer, richest), [motion.q[samples]], [tip[samples]]
    for (_, other_motion, tip_position), sample_rows in zip(runs, other_samples, strict=True):
        qs.append(other_motion.q[sample_rows])
        tip_positions.append(tip_position[sample_rows])
    largest_error, converged = 0.0, True
    for index, part in enumerate(model.links):
        if not part.flexible:
            continue
        own, with_few, with_many = (
            tip_deflection(arm, arm.links[index], q) for arm, q in zip(arms, qs, strict=True)
        )
        size = max(float(np.ptp(with_many, axis=0).max()), float(np.abs(with_many).max()))
        if size <= ACCUMULATED * max(part.length, 1e-3):
            continue
        first, last = (
            float(np.abs(a - b).max()) / size for a, b in ((own, with_few), (with_few, with_many))
        )
        largest_error = max(largest_error, first + 2 * last)
        converged &= last <= max(CONVERGENT_RATIO * first, rtol)
    own, with_few, with_many = tip_positions
    tip_error = (
        np.linalg.norm(own - with_few, axis=1).max()
        + 2 * np.linalg.norm(with_few - with_many, axis=1).max()
    )
    return ShapeComparison(largest_error, float(tip_error), converged)


MODEL_AGAINST = "beams with every stiffness of their sections, and shear where EA is known"
SHAPES_AGAINST = "the same beams with all their shapes"
CONVERGE = "run flexarm converge to choose others"
INTEGRATION_AGAINST = "the exact solution of these equations"
UNKNOWN = "switch stiffening on, split the link, or leave out a paper's approximations"
PARTS = {
    "theory": "split the link in two, so that each half bends half as far",
    "stiffness": "give the link shapes in every direction whose stiffness its section has",
    "section": "the link is stubby; include its shear ('shear: true' of its shape, or GAy and GAz) "
    "or take fewer shapes",
    "strain": "few materials stay linear at such a strain",
}


@dataclass(frozen=True)
class RestErrors:
    """Errors of tip positions at rest, by comparison with a refined arm.

    Attributes
    ----------
    tips
        Error of each link's tip position [m], by part (``shapes``, ``theory``, ``stiffness``,
        ``section``) and link.
    """

    tips: dict[str, dict[str, float]]


@dataclass(frozen=True)
class RunErrors:
    """Estimated errors of a run's deflections, relative to the range of each or to its static size.

    For a motion the values are upper estimates; at rest they are differences from a refined arm.
    Each value is the error of the link with the largest error.

    Attributes
    ----------
    model
        Error of the model, the sum of ``parts``, relative to beams with all stiffnesses of their
        sections, and shear where EA is known; None for motions beyond the measured ones.
    shapes
        Error of the shapes, relative to a solution with more shapes; None for links that can have
        no more shapes (sliding links, lumped springs, measured shapes, ``quadratic_shapes``), if a
        body was captured or released, and at rest if nothing bends or no refined arm is computed.
    solved
        Error of the integration, relative to the exact solution of the same equations.
    parts
        Parts of the model's error: ``theory`` (order of the series; nodes of exact links count with
        the shapes), ``stiffness`` (elastic directions without shapes, which count with the shapes
        where these are computed), ``section`` (shear, rotary inertia), ``strain``.
    why
        Why the error of the shapes is unknown; empty if it is known.
    cause
        Reason why the error of the model is unknown, or way to reduce the error.
    compared
        Comparison with arms with more shapes; None if there was no comparison.
    estimated
        Whether the errors of shapes and stiffness are estimates, which may be too small.
    """

    model: float | None
    shapes: float | None
    solved: IntegrationError
    parts: dict[str, float | None]
    why: str = ""
    cause: str = UNKNOWN
    compared: ShapeComparison | None = None
    estimated: bool = False

    @property
    def integration(self) -> float | None:
        """Error of the integration, relative to the range of the motion; None if unknown."""
        return self.solved.error

    @property
    def total(self) -> float | None:
        """Sum of the errors of model, shapes and integration; None if any is unknown."""
        errors = (self.model, self.shapes, self.integration)
        return (
            None
            if any(error is None for error in errors)
            else sum(error or 0.0 for error in errors)
        )

    def lines(self, *, against: bool = True) -> list[str]:
        """Return three text lines on the errors of model, shapes and integration.

        A line has a remedy if the error is large. With ``against`` it names the reference solution.
        """
        largest_part = max(self.parts, key=lambda name: _size(self.parts[name]), default="theory")
        return [
            _line("model", self.model, MODEL_AGAINST if against else "",
                  self.cause if self.parts[largest_part] is None else PARTS[largest_part]),
            self._shapes_line(SHAPES_AGAINST if against else ""),
            _solved_line(self.solved, INTEGRATION_AGAINST if against else ""),
        ]  # fmt: skip

    def _shapes_line(self, against: str) -> str:
        """Return a text line on the error of the shapes, with a remedy if it is large."""
        text = f"error of the shapes: {_share(self.shapes)}"
        if self.estimated and self.shapes is not None and self.shapes <= 1:
            text = f"error of the shapes: about {100 * self.shapes:.1g} % of the deflections"
        is_small = self.shapes is not None and self.shapes <= REMEDY_ABOVE
        notes = [] if is_small else [self.why or CONVERGE]
        if self.compared is not None:
            text += f", {1e3 * self.compared.tip:.2g} mm at the tip"
        if self.compared is not None and not self.compared.converged:
            notes.insert(0, "not converged, it may be larger")
        if self.estimated and self.shapes is not None:
            notes.append("--errors computed finds it by richer runs")
        return "; ".join([text + _against(against), *notes])


def _size(value: float | None) -> float:
    return np.inf if value is None else value


def _line(kind: str, value: float | None, against: str, remedy: str) -> str:
    advice = f"; {remedy}" if value is None or value > REMEDY_ABOVE else ""
    return f"error of the {kind}: {_share(value)}{_against(against)}{advice}"


def _share(value: float | None, reference: str = "deflections") -> str:
    if value is None:
        return "unknown"
    if value > 1:
        return f"may exceed 100 % of the {reference} (a rough estimate)"
    return f"{100 * value:.2g} % of the {reference} or less" if value else "none"


def _against(reference: str) -> str:
    return f", against {reference}" if reference else ""


def _solved_line(solved: IntegrationError, against: str) -> str:
    """Return a text line on the error of the integration, with a remedy if it is large."""
    error, remedy = solved.error, "ask for a smaller --rtol (rk4: --step)"
    amount = _share(error, "motion")
    if error is not None and solved.at_least:
        amount = f"about {100 * error:.2g} % of the motion or more"
    if error is None and solved.rtol is not None:
        allowed = f"{100 * solved.rtol:.2g} %"
        return f"error of the integration: not computed, the tolerance is {allowed}"
    notes = [] if error is not None and error <= REMEDY_ABOVE and not solved.beyond else [remedy]
    if solved.beyond:
        when = "" if solved.kept_until is None else f" after {solved.kept_until:.3g} s"
        notes = [f"beyond the tolerance{when}: {remedy}"]
    if error is not None and 0 < 0.5 * error <= solved.rounding:
        notes.append("most of it is rounding: angles have 16 digits, and joints wind up by few of "
                     "them")  # fmt: skip
    return f"error of the integration: {amount}{_against(against)}" + "".join(
        f"; {note}" for note in notes
    )


def run_errors(
    model: Model,
    motion: Motion,
    validity: Validity,
    *,
    solved: IntegrationError,
    at_rest: Callable[[], RestErrors] | None = None,
    compare: Callable[[], ShapeComparison | None] = lambda: None,
    why: str = "",
) -> RunErrors:
    """Compute or estimate the errors of model and shapes of a motion.

    Parameters
    ----------
    model, motion, validity
        The arm, its motion, and the motion's slopes and strains.
    solved
        Error of the integration.
    at_rest
        Function that computes the errors of an arm at rest; None if they cannot be computed.
    compare
        Function that compares the motion with motions of arms with more shapes. If the function
        returns None, the error is estimated instead.
    why
        Why the errors of model and shapes cannot be estimated; empty if they can.
    """
    tips = {part.name: tip_deflection(model, part, motion.q) for part in flexible_links(model)}
    ranges = {name: float(np.ptp(tip, axis=0).max()) for name, tip in tips.items()}
    lengths = {part.name: max(part.length, 1e-3) for part in model.links}
    deflected = {name: size for name, size in ranges.items() if size > ACCUMULATED * lengths[name]}
    exact = RunErrors(0.0, 0.0, solved, dict.fromkeys(PARTS, 0.0))
    if not tips:
        return exact
    if not deflected:
        sizes = {name: float(np.abs(tip).max()) for name, tip in tips.items()}
        bent = {name: size for name, size in sizes.items() if size > ACCUMULATED * lengths[name]}
        static = _at_rest(bent, validity, at_rest, why)
        return replace(exact, model=static.model, shapes=static.shapes, parts=static.parts,
                       why=static.why, cause=static.cause)  # fmt: skip
    reasons = {
        part.name: why_fixed(part) for part in flexible_links(model) if part.name in deflected
    }
    compared = None
    if not any(reasons.values()):
        try:
            compared = compare()
        except FlexarmError as error:  # an arm with more shapes cannot be simulated
            why = f"the runs with more shapes failed: {error}"
    why = "" if compared is not None else why
    compared_links = [part for part in flexible_links(model) if can_grow(part) and not why]
    corrections = RicherArm(model).deviations(motion) if compared_links else {}

    def relative(name: str, cause_: str) -> float:
        displacement = (
            float(np.abs(corrections[name][cause_]).max()) if name in corrections else 0.0
        )
        return min(displacement / deflected[name], LARGEST_ERROR)

    pairs = zip(flexible_links(model), validity.links, strict=True)
    parts = {
        link.link: _parts(part, link, relative)
        | ({} if compared is None else {"stiffness": 0.0})
        | ({"theory": None} if why else {})
        for part, link in pairs
        if link.link in deflected
    }
    model_error = {name: _sum(errors) for name, errors in parts.items()}
    worst = max(parts, key=lambda name: _size(model_error[name]))
    main_part = max(parts[worst], key=lambda name: _size(parts[worst][name]))
    cause = PARTS[main_part] if parts[worst][main_part] is not None else why
    fixed = {name: f"{name}: {text}" for name, text in reasons.items() if text}
    cause, why = cause or fixed.get(worst, UNKNOWN), why or next(iter(fixed.values()), "")
    shapes = (
        None
        if why
        else max(relative(part.name, "shapes") for part in compared_links if part.name in deflected)
    )
    return replace(
        exact, model=model_error[worst], shapes=shapes if compared is None else compared.error,
        parts=parts[worst], why=why, cause=cause, compared=compared, estimated=compared is None,
    )  # fmt: skip


def errors_off() -> RunErrors:
    """Return a `RunErrors` in which all errors are unknown, for runs without error estimates."""
    off = "errors are off"
    return RunErrors(None, None, IntegrationError(None), dict.fromkeys(PARTS), off, off)


def _at_rest(
    sizes: dict[str, float],
    validity: Validity,
    errors: Callable[[], RestErrors] | None,
    why: str,
) -> RunErrors:
    """Return the errors of an arm at rest relative to the deflections of its links [m]."""
    tip_errors = None
    if not why and not sizes:
        why = "no link bends: there is no deflection to compare"
    elif not why and errors is None:
        why = "at rest they are computed with the run: this one was read from a file"
    elif not why and errors is not None:
        try:
            tip_errors = errors().tips
        except FlexarmError as error:
            why = str(error)
    if tip_errors is None:
        return RunErrors(None, None, IntegrationError(None), dict.fromkeys(PARTS), why, why)
    strains = {link.link: link.strain or 0.0 for link in validity.links}
    parts = [
        {
            part: min(tip_errors[part][name] / size, LARGEST_ERROR)
            for part in ("theory", "stiffness", "section")
        }
        | {"strain": strains[name]}
        for name, size in sizes.items()
    ]
    largest = max(parts, key=lambda errors_of_link: sum(errors_of_link.values()))
    shapes = max(tip_errors["shapes"][name] / size for name, size in sizes.items())
    return RunErrors(
        min(sum(largest.values()), LARGEST_ERROR),
        min(shapes, LARGEST_ERROR),
        IntegrationError(None),
        {**largest},
    )


def _parts(
    part: LinkModel, link: LinkValidity, relative: Callable[[str, str], float]
) -> dict[str, float | None]:
    return {
        "theory": 0.0 if part.exact is not None and can_grow(part) else link.model_error,
        "stiffness": relative(link.link, "stiffness"),
        "section": relative(link.link, "section"),
        "strain": link.strain or 0.0,
    }


def _sum(parts: dict[str, float | None]) -> float | None:
    if any(error is None for error in parts.values()):
        return None
    return min(sum(error or 0.0 for error in parts.values()), LARGEST_ERROR)
