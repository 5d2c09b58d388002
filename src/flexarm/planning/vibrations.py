"""The vibrations that a motion excites: those of the arm at a posture, under its own servos."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from flexarm.errors import FlexarmError
from flexarm.integrate.actuators import Servoed, servos
from flexarm.linear.at_start import Linear, moves
from flexarm.linear.eigen import Complex, eigen
from flexarm.linear.equilibrium import settle_down
from flexarm.linear.names import OSCILLATES, mode_names, place_energies, strain_groups
from flexarm.linear.tangent import Tangent
from flexarm.links.base import Array
from flexarm.model.profiles import pieces

RINGS = 0.5  # damping ratio from which on a motion is no vibration to be shaped for
EXCITED = 0.01  # of what the tip swings most in a vibration: one with less is not shaped for
STILL = 1e-12  # [m] that a tip does not swing by


@dataclass(frozen=True)
class Vibrations:
    """Vibrations of an arm whose joints are held by servos, or are where they are told."""

    # frequency, damping: natural frequencies [rad/s], slowest first, and damping ratios, (k,) each.
    frequency: Array
    damping: Array
    names: tuple[str, ...]  # what each is, as modes are named
    tip: Array  # how far the tip swings in each after all targets jumped by their whole way [m]
    # What comes to rest without ringing: eigenvalues [1/s] by name.
    lags: dict[str, complex]

    @property
    def excited(self) -> npt.NDArray[np.int_]:
        """Places of those that the motion excites, slowest first; all, if none moves the tip."""
        most = self.tip.max(initial=0.0)
        return np.flatnonzero(self.tip >= (EXCITED * most if most > STILL else 0.0))

    def first(self, count: int) -> list[tuple[float, float]]:
        """List the slowest that the motion excites, each a frequency [rad/s] and a damping ratio.

        Raises
        ------
        FlexarmError
            If there are fewer.
        """
        if len(self.excited) < count:
            raise FlexarmError(
                f"modes: must be at most {len(self.excited)}, the vibrations that the motion "
                f"excites with its joints held, got {count}"
            )
        kept = self.excited[:count]
        return list(zip(self.frequency[kept].tolist(), self.damping[kept].tolist(), strict=True))


def vibrations(
    tangent: Tangent, at: Mapping[str, float], ways: Mapping[str, float] | None = None
) -> Vibrations:
    """Find the vibrations of an arm with joints at given places [rad], [m], by name.

    Joints with a servo are held by its stiffness and damping, the others rigidly; of an elastic
    joint without a servo its motor is.  Integrals, limits and sampling of servos are left out.
    Names, lags and how far the tip swings are found where it is said how far joints are moved.

    Notes
    -----
    A target or a prescribed coordinate r acts by a force ``F(s) r``: ``push (k + d s)`` of a servo
    (``push k`` where its target has jumps alone, whose rate nobody knows),
    ``-(M s^2 + D s + K) e`` of a coordinate.  After a step of it a mode x of eigenvalue s rings by
    ``2 x x^T F / (s x^T (2 s M + D) x)``, exactly where the matrices are symmetric.
    """
    model = tangent.model
    point = settle_down(tangent, at, {}).point
    served = {each.name: each for each in servos(model)}
    kept, columns = moves(model, {axis.name for axis in model.axes if axis.name not in served})
    full = tangent.matrices(point, np.zeros(model.size))
    stiffness, damping = full.stiffness.copy(), full.damping.copy()
    for each in served.values():
        push, stiff, viscous = _servo(tangent, each)
        stiffness += np.outer(push, each.row) * stiff
        damping += np.outer(push, each.row) * viscous
    whole = Linear(full.mass, stiffness, damping, model.names)
    linear = whole.keep(kept, columns)
    found = eigen(linear)
    values, ratio = found.values, -found.values.real / np.abs(found.values)
    rings = (np.abs(values.imag) > OSCILLATES * np.abs(values)) & (ratio < RINGS)
    speed, less = np.abs(values[rings]), np.maximum(ratio[rings], 0.0)
    if ways is None:
        return Vibrations(speed, less, (), np.zeros(len(speed)), {})
    shapes = columns @ found.vectors
    groups = strain_groups(model, tangent.elastic(point), point.q)
    energies = place_energies(groups, values, shapes, linear.mass, kept)
    names = np.array(mode_names(model, groups, energies, values, shapes, full.mass), dtype=object)
    by_q = tangent.tip(point, np.zeros(model.size))[1]
    x, s = found.vectors[:, rings], values[rings]
    inertia = 2 * s * (linear.mass @ x) + linear.damping @ x
    moved = np.linalg.norm(np.abs(by_q[:3] @ shapes[:, rings]), axis=0)
    rung = 2 * moved / np.abs(s * np.einsum("ik,ik->k", x, inertia))
    tip = sum(
        (abs(way) * np.abs(np.einsum("ik,ik->k", x, columns.T @ _force(tangent, whole, name, s)))
         for name, way in ways.items()),
        np.zeros(len(s)),
    )  # fmt: skip
    lags = dict(zip(names[~rings].tolist(), values[~rings].tolist(), strict=True))
    return Vibrations(speed, less, tuple(names[rings]), rung * tip, lags)


def _servo(tangent: Tangent, each: Servoed) -> tuple[Array, float, float]:
    """Give where a servo acts, (n,), its stiffness and its damping."""
    push = tangent.inputs[:, each.column] / each.gain
    return push, each.servo.stiffness or 0.0, each.servo.damping or 0.0


def _force(tangent: Tangent, whole: Linear, name: str, s: Complex) -> Complex:
    """Give the force per target or prescribed coordinate of a joint at rates s (k,), (n, k)."""
    for each in servos(tangent.model):
        if each.name == name:
            push, stiff, viscous = _servo(tangent, each)
            jumps = each.servo.target and not np.any(pieces(each.servo.target)[:, 3:7])
            return np.asarray(np.outer(push, stiff + (0.0 if jumps else viscous) * s))
    i = next(axis.index for axis in tangent.model.axes if axis.name == name)
    mass, drag, stiffness = (m[:, i] for m in (whole.mass, whole.damping, whole.stiffness))
    return np.asarray(-(np.outer(mass, s**2) + np.outer(drag, s) + stiffness[:, None]))
