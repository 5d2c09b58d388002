"""By how much the frequencies of a model are wrong: by its shapes, by its theory, by rounding."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.linalg

from flexarm.accuracy.defect import Motion, RicherArm
from flexarm.accuracy.richer import can_grow
from flexarm.accuracy.stated import MODEL_AGAINST, SHAPES_AGAINST
from flexarm.links.base import Array
from flexarm.mechanics.deformed import flexible_links
from flexarm.model import Model, undeformed

Complex = npt.NDArray[np.complex128]
SHAPES = 1.5  # times what more shapes change
SLOW = 1e-6  # of the highest frequency: no vibration
SAME = 0.5  # of a mode's inertia: less is another mode
LARGE = 0.01
FIRST, SAID = 3, 12  # frequencies whose worst error is said, and whose sums are
AGAINST = {
    "model": (
        MODEL_AGAINST,
        "take fewer modes of a stubby link, give links shapes in all their directions",
    ),
    "shapes": (SHAPES_AGAINST, "flexarm converge says which to take"),
    "solution": ("exact eigenvalues", "leave the stiffest shapes out"),
}


@dataclass(frozen=True)
class FrequencyErrors:
    """Upper estimates of the relative error of a mode's frequency.

    Attributes
    ----------
    model
        Of Euler's and Bernoulli's beams against Timoshenko's, and of directions that have no
        shapes though the section gives them a stiffness.
    shapes
        Against more shapes.
    solution
        Of the eigenvalue, by rounding.
    """

    model: float
    shapes: float
    solution: float

    @property
    def total(self) -> float:
        """The sum of the three."""
        return self.model + self.shapes + self.solution


def frequency_errors(
    model: Model, q: Array, v: Array, anchors: Array, columns: Array, modes: Sequence[Complex]
) -> tuple[FrequencyErrors | None, ...]:
    """Estimate the errors of the frequencies of modes about a state.

    Parameters
    ----------
    model
        The arm.
    q, v
        The state, (n,) each.  About one that moves nothing is known: speed asks for more shapes.
    anchors
        Attitudes that its angles count from, (3 k, 3).
    columns
        How all coordinates move with those that are free, (n, k).
    modes
        How all coordinates move in each mode, (n,).

    Returns
    -------
    tuple
        None of what is no vibration of links at rest, and if a link can have no more shapes.
    """
    unknown = not all(can_grow(part) for part in flexible_links(model))
    if np.any(v) or unknown or not flexible_links(model):
        return (None,) * len(modes)
    arm = RicherArm(model)
    straight = undeformed(model, q)
    motion = Motion(
        np.zeros(1), straight[None], 0 * straight[None], np.zeros((1, 0)), anchors[None]
    )
    full, _ = arm.mass_and_bias(motion, np.zeros(1, dtype=np.int_))
    pair = (full[0], arm.stiffness_and_damping(straight)[0])
    own = np.zeros((arm.model.size, columns.shape[1]))
    own[arm.kept] = columns
    more, left_out = (np.eye(arm.model.size)[:, list(group)]
                      for group in (arm.rich.more, arm.rich.left_out))  # fmt: skip
    M, K = (own.T @ each @ own for each in pair)
    squares, vectors = scipy.linalg.eigh(K, M)
    with_more = np.hstack([own, more])
    richer = scipy.linalg.eigh(*(with_more.T @ each @ with_more for each in pair[::-1]))[0]
    soft, heavy = arm.section()
    shapes_error = 1 - np.sqrt(np.maximum(richer[: len(squares)], 0) / np.maximum(squares, 1e-300))
    found: list[FrequencyErrors | None] = []
    for mode in modes:
        inner = np.abs(vectors.T @ columns.T @ pair[0][np.ix_(arm.kept, arm.kept)] @ mode) ** 2
        k = int(np.argmax(inner))
        if squares[k] <= (SLOW**2) * squares.max() or inner[k] < SAME * inner.sum():
            found.append(None)
            continue
        shape = columns @ vectors[:, k]
        sheared = shape @ soft @ shape / squares[k] + shape @ heavy @ shape
        stiffer = _left_out(pair, left_out, own @ vectors[:, k], squares[k])
        theory = 1 - 1 / np.sqrt(1 + sheared) + SHAPES * stiffer
        rounding = len(squares) * np.finfo(float).eps * float(squares.max() / squares[k])
        found.append(FrequencyErrors(theory, SHAPES * float(abs(shapes_error[k])), rounding))
    return tuple(found)


def _left_out(pair: tuple[Array, Array], left_out: Array, shape: Array, square: float) -> float:
    """Estimate what directions without shapes change in a frequency, relative."""
    if not left_out.shape[1]:
        return 0.0
    dynamic = pair[1] - square * pair[0]
    left = left_out.T @ dynamic @ shape
    return float(abs(left @ np.linalg.solve(left_out.T @ dynamic @ left_out, left)) / (2 * square))


def frequency_lines(errors: Sequence[FrequencyErrors | None]) -> list[str]:
    """Say the errors of the first frequencies that have some: the worst of each kind.

    And the sum of the three of each frequency, in their order.
    """
    all_known = [each for each in errors if each is not None]
    known = all_known[:FIRST]
    if not known:
        return ["errors of the frequencies: unknown where the arm turns or links can have no more "
                "shapes"]  # fmt: skip
    whose = f"of the first {len(known)} frequencies" if len(known) > 1 else "of the frequency"
    lines = []
    for what, (against, remedy) in AGAINST.items():
        value = max(float(getattr(each, what)) for each in known)
        large = f"; {remedy}" if value > LARGE else ""
        lines.append(f"error of the {what}: {100 * value:.2g} % {whose} or less, against {against}"
                     + large)  # fmt: skip
    if len(all_known) > 1:
        sums = ", ".join(f"{100 * each.total:.2g}" for each in all_known[:SAID])
        more = ", ..." if len(all_known) > SAID else ""
        lines.append(f"all three, frequency by frequency: {sums}{more} % or less")
    return lines
