"""Error estimates of a run, by cause: model, shape functions, integration."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from flexarm.accuracy.constants import (
    ADDED_SHAPES,
    CONVERGENT_RATIO,
    LARGEST_ERROR,
    MORE_SHAPES,
    REMEDY_ABOVE,
    RESOLUTION,
)
from flexarm.accuracy.defect import Motion, RicherArm
from flexarm.accuracy.integration import IntegrationError, common_samples
from flexarm.accuracy.momentum import largest_norm
from flexarm.accuracy.richer import can_grow, enriched, is_complete, why_fixed
from flexarm.accuracy.validity import LinkValidity, Validity
from flexarm.arguments import digits
from flexarm.constants import ACCUMULATED
from flexarm.errors import FlexarmError
from flexarm.mechanics.deformed import flexible_links, tip_deflection
from flexarm.model import LinkModel, Model
from flexarm.spatial import Array


@dataclass(frozen=True)
class RicherRuns:
    """Errors of a run, from simulations of refined arms.

    Attributes
    ----------
    error
        Error caused by too few shapes: the largest error of a link's tip deflection, relative to
        the larger of the range and the size of this deflection.
    tip
        Error of the arm's tip position [m].
    converged
        Whether the second addition of shapes changed the deflections by less than half as much as
        the first, or by less than the tolerance; otherwise the error may be larger.
    model
        Error of the beam theory, relative to the same size as ``error``; None if the theory is
        complete.
    """

    error: float
    tip: float
    converged: bool
    model: float | None = None


def compare(
    model: Model,
    motion: Motion,
    tip: Array,
    rtol: float,
    simulate: Callable[[Model], tuple[Motion, Array]],
) -> RicherRuns:
    """Compute the error of a motion from simulations of refined arms.

    Shape functions are added in two steps. The error of the shapes is the change caused by the
    first step plus twice the change caused by the second, which is an upper bound if every further
    step would at least halve the change. The error of the beam theory is the change caused by
    geometrically exact links with shear and rotary inertia.

    Parameters
    ----------
    model, motion, tip, rtol
        The arm, its motion, the positions of its tip (T, 3) and the tolerance.
    simulate
        Function that simulates another arm under the same conditions, and returns its motion and
        tip positions.
    """
    theory = not is_complete(model)
    unloaded = RicherArm(model).unloaded_directions(motion, RESOLUTION * rtol)
    counts = [(ADDED_SHAPES, False), (MORE_SHAPES, False)] + [(ADDED_SHAPES, True)] * theory
    arms = [model]
    arms += [enriched(model, added, unloaded, complete=full).model for added, full in counts]
    runs = [(motion, tip), *map(simulate, arms[1:])]
    times = runs[-1][0].t
    for other, _ in runs[:-1]:
        times = times[common_samples(times, other.t)[0]]
    rows = [common_samples(times, other.t)[1] for other, _ in runs]
    qs = [other.q[each] for (other, _), each in zip(runs, rows, strict=True)]
    own, few, many, *exact = [tips[each] for (_, tips), each in zip(runs, rows, strict=True)]
    off = (
        largest_norm(own - few)
        + 2 * largest_norm(few - many)
        + sum(largest_norm(few - x) for x in exact)
    )
    largest, by_theory, converged = 0.0, 0.0, True
    for index, part in enumerate(model.links):
        if not part.flexible:
            continue
        own, few, many, *exact = (
            tip_deflection(arm, arm.links[index], q) for arm, q in zip(arms, qs, strict=True)
        )
        size = max(float(np.ptp(many, axis=0).max()), float(np.abs(many).max()))
        if size <= ACCUMULATED * max(part.length, 1e-3):
            continue
        first, last, *beyond = (
            float(np.abs(a - b).max()) / size
            for a, b in ((own, few), (few, many), *((few, x) for x in exact))
        )
        largest, by_theory = max(largest, first + 2 * last), max([by_theory, *beyond])
        converged &= last <= max(CONVERGENT_RATIO * first, rtol)
    return RicherRuns(largest, off, converged, by_theory if theory else None)


MODEL_AGAINST = "beams with every stiffness of their sections, and shear where EA is known"
SHAPES_AGAINST = "the same beams with all their shapes"
CONVERGE = "run flexarm converge to choose others"
INTEGRATION_AGAINST = "the exact solution of these equations"
UNKNOWN = "switch stiffening on, split the link, or leave out a paper's approximations"
PARTS = {
    "theory": "switch stiffening on, or split the link in two",
    "stiffness": "give the link shapes in every direction whose stiffness its section has",
    "section": "the link is stubby; include its shear ('shear: true' of its shape, or GAy and GAz) "
    "or take fewer shapes",
    "strain": "few materials stay linear at such a strain",
}


@dataclass(frozen=True)
class RestErrors:
    """Errors of tip positions of an arm at rest, by comparison with a refined arm.

    Attributes
    ----------
    tips
        Error of each link's tip position [m], by cause (``shapes``, ``theory``, ``stiffness``,
        ``section``) and link.
    sizes
        Largest component of each link's deflection in the refined arm [m].
    """

    tips: dict[str, dict[str, float]]
    sizes: dict[str, float]


@dataclass(frozen=True)
class RunErrors:
    """Estimated errors of a run, relative to the range of deflections or their static size.

    For an arm in motion the errors are upper estimates; at rest they are differences from a refined
    arm. The link with the largest error counts.

    Attributes
    ----------
    model
        Error of the beam theory, the sum of ``parts``, relative to geometrically exact beams with
        all stiffnesses of their sections, and shear where EA is known; None for bodies without such
        a theory.
    shapes
        Error caused by too few shapes, relative to a solution with more shapes. None if more shapes
        are not possible (sliding links, lumped springs, measured shapes, ``quadratic_shapes``), if
        a body was captured or released, and for an arm at rest if nothing bends or no refined arm
        was computed.
    solved
        Error of the integration, relative to the exact solution of the same equations.
    parts
        Errors of the beam theory by cause: ``theory`` (linear instead of exact beams),
        ``stiffness`` (elastic directions without shapes, unless ``shapes`` includes these),
        ``section`` (no shear or rotary inertia) and ``strain``. Too few nodes of an exact beam are
        an error of the shapes.
    why
        Reason why the error of the shapes is unknown; empty if the error is known.
    cause
        Reason why the error of the beam theory is unknown, or advice to reduce this error.
    compared
        Comparison with simulations of refined arms; None if there was none.
    estimated
        Whether the errors of beam theory and shapes are estimates, which may be too small.
    """

    model: float | None
    shapes: float | None
    solved: IntegrationError
    parts: dict[str, float | None]
    why: str = ""
    cause: str = UNKNOWN
    compared: RicherRuns | None = None
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
        """Return three text lines: errors of the model, of the shapes and of the integration.

        If an error is large, its line says what to do. With ``against``, each line names the
        solution to which the error is relative.
        """
        largest_part = max(self.parts, key=lambda name: _size(self.parts[name]), default="theory")
        references = [
            f", against {reference}" if against else ""
            for reference in (MODEL_AGAINST, SHAPES_AGAINST, INTEGRATION_AGAINST)
        ]
        advice = self.cause if self.parts[largest_part] is None else PARTS[largest_part]
        is_small = self.model is not None and self.model <= REMEDY_ABOVE
        return [
            f"error of the model: {_share(self.model, about=self.estimated)}{references[0]}"
            + ("" if is_small else f"; {advice}"),
            self._shapes_line(references[1]),
            _solved_line(self.solved, references[2]),
        ]

    def _shapes_line(self, against: str) -> str:
        """Return a text line on the error of the shapes, with advice if the error is large."""
        text = f"error of the shapes: {_share(self.shapes, about=self.estimated)}"
        is_small = self.shapes is not None and self.shapes <= REMEDY_ABOVE
        notes = [] if is_small else [self.why or CONVERGE]
        if self.compared is not None:
            text += f", {digits(1e3 * self.compared.tip, up=True)} mm at the tip"
        if self.compared is not None and not self.compared.converged:
            notes.insert(0, "not converged, it may be larger")
        if self.estimated and self.shapes is not None:
            notes.append("--errors computed finds it by richer runs")
        return "; ".join([text + against, *notes])


def _size(value: float | None) -> float:
    return np.inf if value is None else value


def _share(value: float | None, reference: str = "deflections", *, about: bool = False) -> str:
    if value is None:
        return "unknown"
    if value > 1:
        return f"may exceed 100 % of the {reference} (a rough estimate)"
    if about and value:
        return f"about {digits(100 * value, 1)} % of the {reference}"
    return f"{digits(100 * value, up=True)} % of the {reference} or less" if value else "none"


def _solved_line(solved: IntegrationError, against: str) -> str:
    """Return a text line on the error of the integration, with advice if the error is large."""
    error, remedy = solved.error, "ask for a smaller --rtol (rk4: --step)"
    amount = _share(error, "motion")
    if error is not None and solved.at_least:
        amount = f"about {digits(100 * error)} % of the motion or more"
    if error is None and solved.rtol is not None:
        allowed = f"{digits(100 * solved.rtol)} %"
        return f"error of the integration: not computed, the tolerance is {allowed}"
    notes = [] if error is not None and error <= REMEDY_ABOVE and not solved.beyond else [remedy]
    if solved.beyond:
        when = "" if solved.kept_until is None else f" after {solved.kept_until:.3g} s"
        notes = [f"beyond the tolerance{when}: {remedy}"]
    if error is not None and 0 < 0.5 * error <= solved.rounding:
        notes.append("most of it is rounding: angles have 16 digits, and joints wind up by few of "
                     "them")  # fmt: skip
    return "; ".join([f"error of the integration: {amount}{against}", *notes])


def run_errors(
    model: Model,
    motion: Motion,
    validity: Validity,
    *,
    solved: IntegrationError,
    at_rest: Callable[[], RestErrors] | None = None,
    compare: Callable[[], RicherRuns] | None = None,
    why: str = "",
) -> RunErrors:
    """Compute or estimate the errors of a motion, by cause.

    Parameters
    ----------
    model, motion, validity
        The arm, its motion, and the largest slopes and strains of this motion.
    solved
        Error of the integration of the motion.
    at_rest
        Function that computes the errors of the arm at rest; None if they cannot be computed.
    compare
        Function that compares the motion with simulations of refined arms; None to estimate the
        errors.
    why
        Reason why the errors of beam theory and shapes cannot be estimated; '' if they can.
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
    grown = [part for part in flexible_links(model) if can_grow(part) and not why]
    corrections = RicherArm(model).deviations(motion) if grown else {}

    def relative(name: str, cause_: str) -> float:
        displacement = (
            float(np.abs(corrections[name][cause_]).max()) if name in corrections else 0.0
        )
        return min(displacement / deflected[name], LARGEST_ERROR)

    compared = None
    if compare is not None and not any(reasons.values()):
        try:
            compared, why = compare(), ""
        except FlexarmError as error:  # a richer arm cannot be simulated
            why = f"the runs of better arms failed: {error}"
    parts = {
        link.link: _parts(part, link, relative, compared) | ({"theory": None} if why else {})
        for part, link in zip(flexible_links(model), validity.links, strict=True)
        if link.link in deflected
    }
    model_error = {name: _sum(errors) for name, errors in parts.items()}
    worst = max(parts, key=lambda name: _size(model_error[name]))
    main_part = max(parts[worst], key=lambda name: _size(parts[worst][name]))
    cause = PARTS[main_part] if parts[worst][main_part] is not None else why
    fixed = {name: f"{name}: {text}" for name, text in reasons.items() if text}
    cause, why = cause or fixed.get(worst, UNKNOWN), why or next(iter(fixed.values()), "")
    shapes = None if why else max(relative(part.name, "shapes") for part in grown
                                  if part.name in deflected)  # fmt: skip
    return replace(
        exact, model=model_error[worst], shapes=shapes if compared is None else compared.error,
        parts=parts[worst], why=why, cause=cause, compared=compared, estimated=compared is None,
    )  # fmt: skip


def errors_off() -> RunErrors:
    """Return a `RunErrors` with unknown errors, for runs without error estimates."""
    off = "errors are off"
    return RunErrors(None, None, IntegrationError(None), dict.fromkeys(PARTS), off, off)


def _at_rest(
    sizes: dict[str, float],
    validity: Validity,
    errors: Callable[[], RestErrors] | None,
    why: str,
) -> RunErrors:
    """Return the errors of an arm at rest, relative to the deflections of its links."""
    tip_errors = None
    if not why and not sizes:
        why = "no link bends: there is no deflection to compare"
    elif not why and errors is None:
        why = "at rest they are computed with the run: this one was read from a file"
    elif not why and errors is not None:
        try:
            refined = errors()
            tip_errors = refined.tips
            sizes = {name: min(size, refined.sizes[name]) for name, size in sizes.items()}
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
    part: LinkModel,
    link: LinkValidity,
    relative: Callable[[str, str], float],
    compared: RicherRuns | None,
) -> dict[str, float | None]:
    """Return the errors of a link's beam theory by cause, from a refined arm where possible."""
    parts = {name: relative(link.link, name) for name in ("theory", "stiffness", "section")}
    if compared is not None:
        parts["stiffness"] = 0.0  # included in the error of the shapes
    if compared is not None and compared.model is not None:
        exact = part.exact is not None
        parts |= {"theory": 0.0 if exact else compared.model}
        parts |= {"section": compared.model if exact else 0.0}
    unknown: dict[str, float | None] = {} if part.body.sectioned else {"theory": None}
    return {**parts, "strain": link.strain or 0.0} | unknown


def _sum(parts: dict[str, float | None]) -> float | None:
    if any(error is None for error in parts.values()):
        return None
    return min(sum(error or 0.0 for error in parts.values()), LARGEST_ERROR)
