"""Error estimates of natural frequencies, by cause: model, shapes and rounding."""

from collections.abc import Sequence
from dataclasses import dataclass

from flexarm.accuracy.constants import FIRST_FREQUENCIES, PRINTED_SUMS, REMEDY_ABOVE
from flexarm.accuracy.stated import CONVERGE, MODEL_AGAINST, SHAPES_AGAINST
from flexarm.arguments import digits

AGAINST = {
    "model": (
        MODEL_AGAINST,
        "take fewer modes of a stubby link, or give links shapes in all directions",
    ),
    "shapes": (SHAPES_AGAINST, CONVERGE),
    "solution": ("exact eigenvalues", "leave out the stiffest shapes"),
}


@dataclass(frozen=True)
class FrequencyErrors:
    """Estimated relative errors of a natural frequency, from a refined model of the arm.

    Attributes
    ----------
    model
        Error of the beam theory: of linear beams relative to geometrically exact beams, of
        Euler-Bernoulli beams relative to Timoshenko beams, and of elastic directions that have no
        shapes.
    shapes
        Error relative to the same arm with more shape functions.
    solution
        Rounding error of the eigenvalue.
    """

    model: float
    shapes: float
    solution: float

    @property
    def total(self) -> float:
        """Sum of the errors of model, shapes and rounding."""
        return self.model + self.shapes + self.solution


def frequency_lines(errors: Sequence[FrequencyErrors | None]) -> list[str]:
    """Return text lines with the largest error of each cause among the first frequencies.

    The last line has, for each frequency, the sum of its three errors.
    """
    estimates = [error for error in errors if error is not None]
    first = estimates[:FIRST_FREQUENCIES]
    if not first:
        return ["errors of the frequencies: unknown where the arm turns or links can have no more "
                "shapes"]  # fmt: skip
    scope = f"of the first {len(first)} frequencies" if len(first) > 1 else "of the frequency"
    lines = []
    for kind, (against, remedy) in AGAINST.items():
        values = [getattr(error, kind) for error in first]
        advice = f"; {remedy}" if max(values) > REMEDY_ABOVE else ""
        amount = (
            f"{digits(100 * max(values), up=True)} % {scope} or less" if max(values) else "none"
        )
        lines.append(f"error of the {kind}: {amount}, against {against}{advice}")
    if len(estimates) > 1:
        sums = ", ".join(digits(100 * error.total, up=True) for error in estimates[:PRINTED_SUMS])
        ellipsis = ", ..." if len(estimates) > PRINTED_SUMS else ""
        lines.append(f"all three, frequency by frequency: {sums}{ellipsis} % or less")
    return lines
