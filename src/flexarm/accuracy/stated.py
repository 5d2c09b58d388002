"""Error estimates of a run: error of the model, of the shapes and of the integration."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from flexarm.accuracy.defect import Motion, RicherArm
from flexarm.accuracy.integration import IntegrationError
from flexarm.accuracy.richer import can_grow, whats_fixed
from flexarm.accuracy.validity import LinkValidity, Validity
from flexarm.errors import FlexarmError
from flexarm.mechanics.deformed import flexible_links, tip_deflection
from flexarm.model import LinkModel, Model
from flexarm.spatial import ACCUMULATED

LARGE = 0.01  # relative error above which a remedy is printed
# Factors on estimates, which measured errors stay below:
SHAPES = 2.5  # on the change by more shapes in linear theory; measured errors: at most 1.7
NODES = 2.0  # on the effect of the nodes' error; falls of limp arms: half or less of the estimate
# Error of large slopes: STEEP times slope^2 over the cube of the number of shapes; above two shapes
# it falls with the fifth power.
STEEP = 0.5
# Share of the error of predicting every second sample: that of all samples is a quarter of it at
# corners, else a 16th.
UNSEEN = 0.5
MOST = 2.0  # largest relative error: two motions within a range do not differ by more
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
    """Error estimates of a run's deflections relative to their range, or to their size at rest.

    The values are upper estimates, or at rest differences from a refined arm; every value is the
    error of the worst link.

    Attributes
    ----------
    model
        Error against `MODEL_AGAINST`, the sum of ``parts``; None beyond the measured motions.
    shapes
        Error against more shapes; None for links that can have no more (sliding links, lumped
        springs, measured shapes, ``quadratic_shapes``), if a body was captured or released, and
        at rest if nothing bends or no refined arm is computed.
    solved
        Error against the exact solution of the same equations.
    parts
        Parts of the model's error: ``theory`` (nodes of exact links, which at rest count with the
        shapes; order of the series), ``stiffness`` (elastic directions without shapes), ``section``
        (shear, rotary inertia), ``strain``.
    why
        Why the error of the shapes is unknown; empty if it is known.
    cause
        Why the error of the model is unknown, or how to reduce it.
    """

    model: float | None
    shapes: float | None
    solved: IntegrationError
    parts: dict[str, float | None]
    why: str = ""
    cause: str = UNKNOWN

    @property
    def integration(self) -> float | None:
        """Error of the integration, relative to the range of the motion; None if unknown."""
        return self.solved.error

    @property
    def total(self) -> float | None:
        """Sum of the errors of model, shapes and integration; None if any is unknown."""
        three = (self.model, self.shapes, self.integration)
        return None if any(each is None for each in three) else sum(each or 0.0 for each in three)

    def lines(self, *, against: bool = True) -> list[str]:
        """Return three text lines on the errors of model, shapes and integration.

        A line has a remedy if the error is large. With ``against`` it names the reference solution.
        """
        worst = max(self.parts, key=lambda name: _size(self.parts[name]), default="theory")
        return [
            _line("model", self.model, MODEL_AGAINST if against else "",
                  self.cause if self.parts[worst] is None else PARTS[worst]),
            _line("shapes", self.shapes, SHAPES_AGAINST if against else "",
                  self.why or CONVERGE),
            _solved_line(self.solved, INTEGRATION_AGAINST if against else ""),
        ]  # fmt: skip


def _size(value: float | None) -> float:
    return np.inf if value is None else value


def _line(what: str, value: float | None, against: str, remedy: str) -> str:
    large = f"; {remedy}" if value is None or value > LARGE else ""
    return f"error of the {what}: {_share(value)}{_against(against)}{large}"


def _share(value: float | None, of: str = "deflections") -> str:
    if value is None:
        return "unknown"
    if value > 1:
        return f"may exceed 100 % of the {of} (a rough estimate)"
    return f"{100 * value:.2g} % of the {of} or less" if value else "none"


def _against(what: str) -> str:
    return f", against {what}" if what else ""


def _solved_line(solved: IntegrationError, against: str) -> str:
    """Return a text line on the error of the integration, with a remedy if it is large."""
    error, remedy = solved.error, "ask for a smaller --rtol (rk4: --step)"
    said = _share(error, "motion")
    if error is not None and solved.at_least:
        said = f"about {100 * error:.2g} % of the motion or more"
    if error is None and solved.rtol is not None:
        allowed = f"{100 * solved.rtol:.2g} %"
        return f"error of the integration: not computed, the tolerance is {allowed}"
    notes = [] if error is not None and error <= LARGE and not solved.beyond else [remedy]
    if solved.beyond:
        when = "" if solved.kept_until is None else f" after {solved.kept_until:.3g} s"
        notes = [f"beyond the tolerance{when}: {remedy}"]
    if error is not None and 0 < 0.5 * error <= solved.rounding:
        notes.append("most of it is rounding: angles have 16 digits, and joints wind up by few of "
                     "them")  # fmt: skip
    return f"error of the integration: {said}{_against(against)}" + "".join(
        f"; {note}" for note in notes
    )


def run_errors(
    model: Model,
    motion: Motion,
    validity: Validity,
    *,
    solved: IntegrationError,
    at_rest: Callable[[], RestErrors] | None = None,
    why: str = "",
    unseen: float = 0.0,
) -> RunErrors:
    """Estimate the errors of model and shapes of a motion.

    Parameters
    ----------
    model, motion, validity
        The arm, its motion, and the motion's slopes and strains.
    solved
        Error of the integration.
    at_rest
        Computes the errors of an arm at rest; None if they cannot be computed.
    why
        Why the errors of model and shapes are unknown; empty if they can be estimated.
    unseen
        Largest error of predicting every second sample from the others, relative to the range of
        deflections; a share of it counts as an error of the shapes, which are judged at samples.
    """
    tips = {part.name: tip_deflection(model, part, motion.q) for part in flexible_links(model)}
    ranges = {name: float(np.ptp(tip, axis=0).max()) for name, tip in tips.items()}
    lengths = {part.name: max(part.length, 1e-3) for part in model.links}
    moving = {name: size for name, size in ranges.items() if size > ACCUMULATED * lengths[name]}
    exact = RunErrors(0.0, 0.0, solved, dict.fromkeys(PARTS, 0.0))
    if not tips:
        return exact
    if not moving:
        sizes = {name: float(np.abs(tip).max()) for name, tip in tips.items()}
        bent = {name: size for name, size in sizes.items() if size > ACCUMULATED * lengths[name]}
        rest = _at_rest(bent, validity, at_rest, why)
        return replace(exact, model=rest.model, shapes=rest.shapes, parts=rest.parts, why=rest.why,
                       cause=rest.cause)  # fmt: skip
    slopes = {link.link: link.slope for link in validity.links}
    grown = [part for part in flexible_links(model) if can_grow(part) and not why]
    found = RicherArm(model).deviations(motion) if grown else {}

    def over(name: str, what: str) -> float:
        away = float(np.abs(getattr(found[name], what)).max()) if name in found else 0.0
        return min(away / moving[name], MOST)

    pairs = zip(flexible_links(model), validity.links, strict=True)
    judged = [pair for pair in pairs if pair[1].link in moving]
    parts = [_parts(*pair, over) for pair in judged]
    if why:
        parts = [each | {"theory": None} for each in parts]
    model_error = [_sum(each) for each in parts]
    worst = int(np.argmax([_size(each) for each in model_error]))
    shapes: float | None = None
    fixed = [f"{part.name}: {said}" if (said := whats_fixed(part)) else "" for part, _ in judged]
    most = max(parts[worst], key=lambda name: _size(parts[worst][name]))
    cause = PARTS[most] if parts[worst][most] is not None else why or fixed[worst] or UNKNOWN
    why = why or next(filter(None, fixed), "")
    if not why:
        shapes = max(
            SHAPES * over(part.name, "shapes") + _steep(part, slopes[part.name])
            for part in grown if part.name in moving
        )  # fmt: skip
        shapes = min(shapes + UNSEEN * unseen, MOST)
    return replace(
        exact, model=model_error[worst], shapes=shapes, parts=parts[worst], why=why, cause=cause
    )


def _at_rest(
    sizes: dict[str, float],
    validity: Validity,
    errors: Callable[[], RestErrors] | None,
    why: str,
) -> RunErrors:
    """Return the errors of an arm at rest relative to the deflections of its links [m]."""
    found = None
    if not why and not sizes:
        why = "no link bends: there is no deflection to compare"
    elif not why and errors is None:
        why = "at rest they are computed with the run: this one was read from a file"
    elif not why and errors is not None:
        try:
            found = errors().tips
        except FlexarmError as error:
            why = str(error)
    if found is None:
        return RunErrors(None, None, IntegrationError(None), dict.fromkeys(PARTS), why, why)
    strained = {link.link: link.strain or 0.0 for link in validity.links}
    parts = [
        {what: min(found[what][name] / size, MOST) for what in ("theory", "stiffness", "section")}
        | {"strain": strained[name]}
        for name, size in sizes.items()
    ]
    worst = max(parts, key=lambda each: sum(each.values()))
    shapes = max(found["shapes"][name] / size for name, size in sizes.items())
    return RunErrors(
        min(sum(worst.values()), MOST), min(shapes, MOST), IntegrationError(None), {**worst}
    )


def _parts(
    part: LinkModel, link: LinkValidity, over: Callable[[str, str], float]
) -> dict[str, float | None]:
    theory = link.model_error
    if part.exact is not None and theory is not None and can_grow(part):
        theory = NODES * over(link.link, "nodes")
    return {
        "theory": theory,
        "stiffness": SHAPES * over(link.link, "stiffness"),
        "section": over(link.link, "section"),
        "strain": link.strain or 0.0,
    }


def _sum(parts: dict[str, float | None]) -> float | None:
    if any(each is None for each in parts.values()):
        return None
    return min(sum(each or 0.0 for each in parts.values()), MOST)


def _steep(part: LinkModel, slope: float) -> float:
    """Return an estimate of the error of a link's shapes at slopes beyond linear theory."""
    shapes = part.beam.shapes
    counts = len(shapes.moving("y")), len(shapes.moving("z"))
    count = min((n for n in counts if n), default=1)
    return STEEP * slope**2 / count**3 * min(1.0, 2 / count) ** 2
