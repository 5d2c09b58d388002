"""Random admissible states of an arm, and how two of its vectors are compared."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from flexarm.model import Axis, LinkModel, Model

Array = npt.NDArray[np.float64]
TOLERANCE = 1e-10
EPS = float(np.finfo(float).eps)
SLOPE = 0.06  # [rad] that one amplitude at most turns a section by


@dataclass(frozen=True)
class State:
    """Coordinates, rates, accelerations of an arm and what acts on it.

    Attributes
    ----------
    q, v, a
        Coordinates, rates and arbitrary accelerations, (n,) each.
    u, factors, given
        Inputs, factors of the wrenches, accelerations of the prescribed coordinates.
    """

    q: Array
    v: Array
    a: Array
    u: Array
    factors: Array
    given: Array


@dataclass(frozen=True)
class Verdict:
    """How far two results are apart, relative to the larger one, and how far they may be.

    ``rule`` says which bound applied.
    """

    error: float
    allowed: float
    rule: str

    @property
    def good(self) -> bool:
        """Whether the error is allowed (a NaN never is)."""
        return self.error <= self.allowed

    def __str__(self) -> str:
        return f"error {self.error:.3g}, allowed {self.allowed:.3g} ({self.rule})"


def random_state(model: Model, seed: int, *, inputs: int, wrenches: int) -> State:
    """Draw a state: any joint angle, deflections of a few hundredths of the length.

    Parameters
    ----------
    model, seed
        The arm and the number that determines the state.
    inputs, wrenches
        How many of each the arm has.
    """
    random = np.random.default_rng(seed)
    q, v, a = np.zeros(model.size), np.zeros(model.size), np.zeros(model.size)
    if model.base_moves:
        q[:3], q[3:6] = random.uniform(-1, 1, 3), random.uniform(-1.2, 1.2, 3)
        v[:6], a[:6] = random.uniform(-1, 1, (2, 6))
    for part in model.links:
        for axis in part.axes:
            q[axis.index] = _position(part, axis, random)
            v[axis.index], a[axis.index] = random.uniform(-2, 2, 2)
            if axis.motor is not None:
                q[axis.motor] = q[axis.index] + random.uniform(-0.1, 0.1)
                v[axis.motor] = v[axis.index] + random.uniform(-0.5, 0.5)
                a[axis.motor] = a[axis.index] + random.uniform(-0.5, 0.5)
        length = None if part.body.range is None else float(q[part.exposed])
        size = amplitudes(part, length)
        for target, factor in ((q, 1.0), (v, 5.0), (a, 25.0)):
            target[part.modes] = factor * size * random.uniform(-1, 1, len(size))
    return State(
        q,
        v,
        a,
        random.uniform(-5, 5, inputs),
        random.uniform(0.5, 2.0, wrenches),
        random.uniform(-3, 3, len(model.prescribed)),
    )


def amplitudes(part: LinkModel, length: float | None) -> Array:
    """Give each amplitude of a link the size at which it strains the small-deflection model.

    No section turns by more than SLOPE [rad] or moves by more than that part of the length.
    """
    if part.body.range is not None:
        assert length is not None
        shapes, span = part.sliding_beam.shapes.at(length), length
    elif part.body.one_length:
        shapes, span = part.beam.shapes, part.beam.span.length
    else:
        return np.zeros(0)
    x = np.linspace(0.0, span, 41)
    turned = np.abs(shapes.rotation(x)).max(axis=(0, 1))
    moved = np.abs(shapes.displacement(x)).max(axis=(0, 1)) / span
    return np.asarray(SLOPE / np.maximum(turned, moved) / np.sqrt(len(turned)))


def compare(
    got: npt.ArrayLike,
    expected: npt.ArrayLike,
    *,
    size: npt.ArrayLike | None = None,
    condition: float = 1.0,
) -> Verdict:
    """Compare two results, scaled by the caller, by the largest entry (or by ``size``'s).

    Allowed is 1e-10, or 100 eps cond(M) where that is larger: ``condition`` is that of the mass
    matrix in coordinates scaled by sqrt(diag M), where rounding is amplified by it.
    """
    x, y = np.atleast_1d(np.asarray(got)), np.atleast_1d(np.asarray(expected))
    measure = np.abs(np.atleast_1d(expected if size is None else size)).max(initial=0.0)
    error = np.abs(x - y).max(initial=0.0)
    relative = float(error / measure) if measure > 0 else float(error)
    rounding = 100 * EPS * condition
    if rounding > TOLERANCE:
        return Verdict(relative, rounding, "100 eps cond(M)")
    return Verdict(relative, TOLERANCE, "1e-10")


def _position(part: LinkModel, axis: Axis, random: np.random.Generator) -> float:
    """Draw a joint's coordinate inside its limits."""
    if len(part.axes) == 3:  # angles of a ball, away from where two of them are one
        return float(random.uniform(-1.2, 1.2))
    if axis.turns:
        return float(random.uniform(-np.pi, np.pi))
    low, high = -0.5, 0.5
    if part.range is not None:
        low, high = part.range
    limits = axis.acts.limits
    if limits is not None:
        low = low if limits.lower is None else max(low, limits.lower)
        high = high if limits.upper is None else min(high, limits.upper)
    if part.body.range is None and part.link.joint.kind == "sliding":
        low, high = 0.2 * part.length, part.length
    # near its shortest a following shape changes fastest: stay clear of the end of its range
    return float(random.uniform(low + 0.2 * (high - low), high - 0.05 * (high - low)))
