"""Natural vibrations of an arm held by its servos at a posture, and their excitation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from flexarm.constants import ACCUMULATED, NEGLIGIBLE
from flexarm.errors import FlexarmError
from flexarm.integrate.actuators import Servoed, servos
from flexarm.linear.equilibrium import settle_down
from flexarm.linear.modes import State, modes_about
from flexarm.linear.tangent import Tangent, moves
from flexarm.linear_model import Complex, LinearModel
from flexarm.model.profiles import pieces
from flexarm.planning.constants import DAMPED_RATIO, EXCITED_SHARE, SAME_SHAPE_COSINE
from flexarm.spatial import Array


@dataclass(frozen=True)
class Vibrations:
    """Natural vibrations of an arm whose joints are held by servos or prescribed."""

    frequency: Array  # natural frequencies [rad/s], slowest first, (k,)
    damping: Array  # damping ratios, (k,)
    names: tuple[str, ...]  # names, as of modes
    swing: Array  # tip amplitude [m] of each mode after all targets step by their range, (k,)
    lags: dict[str, complex]  # eigenvalues [1/s] of modes that decay without vibration, by name
    shapes: Complex  # mode shapes of unit kinetic energy, (n, k)

    @property
    def excited(self) -> npt.NDArray[np.int_]:
        """Indices of the modes that the motion excites, slowest first; all if the tip rests."""
        most = self.swing.max(initial=0.0)
        return np.flatnonzero(self.swing >= (EXCITED_SHARE * most if most > ACCUMULATED else 0.0))

    @property
    def order(self) -> npt.NDArray[np.int_]:
        """Indices of all modes in the order of input shaping: excited ones first."""
        others = np.setdiff1d(np.arange(len(self.frequency)), self.excited)
        return np.concatenate([self.excited, others])

    def first(self, count: int) -> list[tuple[float, float]]:
        """Return frequency [rad/s] and damping ratio of the first ``count`` modes to shape for.

        Raises
        ------
        FlexarmError
            If the arm has fewer vibration modes.
        """
        if len(self.frequency) < count:
            raise FlexarmError(
                f"modes: must be at most {len(self.frequency)}, the number of vibrations with "
                f"the joints held, got {count}"
            )
        shaped = self.order[:count]
        return list(
            zip(self.frequency[shaped].tolist(), self.damping[shaped].tolist(), strict=True)
        )


def line_up(at_postures: Sequence[Vibrations]) -> list[Vibrations]:
    """Return vibrations at postures along a motion, with modes ordered as at the last posture.

    Modes are matched by the similarity of their shapes, and take the names of their counterparts at
    the last posture. The tip amplitude of a mode (``swing``) is the largest over all postures. A
    mode without a counterpart is copied from the next posture.
    """
    from scipy.optimize import linear_sum_assignment  # takes long to import

    lined = [at_postures[-1]]
    for earlier in reversed(at_postures[:-1]):
        after = lined[-1]
        alike = np.abs(after.shapes.conj().T @ earlier.shapes)
        rows, columns = linear_sum_assignment(-alike)
        same = alike[rows, columns] >= SAME_SHAPE_COSINE
        rows, columns = rows[same], columns[same]
        frequency, damping = after.frequency.copy(), after.damping.copy()
        swing, shapes = np.zeros(len(frequency)), after.shapes.copy()
        frequency[rows], damping[rows] = earlier.frequency[columns], earlier.damping[columns]
        swing[rows], shapes[:, rows] = earlier.swing[columns], earlier.shapes[:, columns]
        lined.append(Vibrations(frequency, damping, after.names, swing, earlier.lags, shapes))
    most = np.max([earlier.swing for earlier in lined], axis=0)
    return [replace(earlier, swing=most) for earlier in reversed(lined)]


def vibrations(
    tangent: Tangent,
    at: Mapping[str, float],
    ways: Mapping[str, float] = MappingProxyType({}),
) -> Vibrations:
    """Return the natural vibrations of an arm held at given joint positions [rad], [m], by name.

    Joints with a servo are held by the servo's stiffness and damping. Other joints are held
    rigidly; elastic joints are held at their motor. Integral action, limits and sampling of servos
    are neglected. ``ways`` contains the range of each joint's motion by joint name.

    Notes
    -----
    A set-point r, the target of a servo or a prescribed coordinate, acts by a generalised force
    ``F(s) r`` at eigenvalue s. F is ``push (k + d s)`` for a servo with stiffness k, damping d and
    force direction ``push``, or ``push k`` if the target jumps. For a prescribed coordinate with
    unit vector e, F is ``-(M s^2 + D s + K) e`` with mass, damping and stiffness matrices M, D and
    K. After a unit step of r, a mode of shape x has the amplitude
    ``2 x x^T F / (s x^T (2 s M + D) x)``, which is exact for symmetric matrices.
    """
    model = tangent.model
    equilibrium = settle_down(tangent, at, {})
    point, served = equilibrium.point, {servo.name: servo for servo in servos(model)}
    states: dict[str, State] = {
        axis.name: "free" if axis.name in served else "locked" for axis in model.axes
    }
    full = tangent.matrices(point, np.zeros(model.size))
    stiffness, damping = full.stiffness.copy(), full.damping.copy()
    for servo in served.values():
        push, stiff, viscous = _servo(tangent, servo)
        stiffness += np.outer(push, servo.row) * stiff
        damping += np.outer(push, servo.row) * viscous
    whole = LinearModel(full.mass, stiffness, damping, model.names)
    found = modes_about(tangent, equilibrium, states, whole).elastic()
    values = np.array([mode.eigenvalue for mode in found], dtype=complex)
    names = np.array([mode.name for mode in found], dtype=object)
    shapes = np.array([mode.shape for mode in found]).reshape(len(found), model.size).T
    ratio = -values.real / np.abs(values)
    rings = (np.abs(values.imag) > NEGLIGIBLE * np.abs(values)) & (ratio < DAMPED_RATIO)
    speed, less = np.abs(values[rings]), np.maximum(ratio[rings], 0.0)
    moving, columns = moves(model, {name for name, state in states.items() if state == "locked"})
    linear, x, s = whole.along(moving, columns), shapes[moving][:, rings], values[rings]
    by_q = tangent.tip(point, np.zeros(model.size))[1]
    inertia = 2 * s * (linear.mass @ x) + linear.damping @ x
    moved = np.linalg.norm(np.abs(by_q[:3] @ shapes[:, rings]), axis=0)
    rung = 2 * moved / np.abs(s * np.einsum("ik,ik->k", x, inertia))
    driven = sum(
        (abs(way) * np.abs(np.einsum("ik,ik->k", x, columns.T @ _force(tangent, whole, name, s)))
         for name, way in ways.items()),
        np.zeros(len(s)),
    )  # fmt: skip
    lags = dict(zip(names[~rings].tolist(), values[~rings].tolist(), strict=True))
    sized = np.linalg.cholesky(linear.mass).T @ x
    sized /= np.linalg.norm(sized, axis=0)
    return Vibrations(speed, less, tuple(names[rings]), rung * driven, lags, sized)


def _servo(tangent: Tangent, servo: Servoed) -> tuple[Array, float, float]:
    """Return a servo's force direction, (n,), stiffness and damping."""
    push = tangent.inputs[:, servo.column] / servo.gain
    return push, servo.servo.stiffness or 0.0, servo.servo.damping or 0.0


def _force(tangent: Tangent, whole: LinearModel, name: str, s: Complex) -> Complex:
    """Return the generalised forces (n, k) due to a joint's unit set-point, at k eigenvalues s.

    The set-point is a servo's target or a prescribed coordinate.
    """
    for servo in servos(tangent.model):
        if servo.name == name:
            push, stiff, viscous = _servo(tangent, servo)
            jumps = servo.servo.target and not np.any(pieces(servo.servo.target)[:, 3:7])
            return np.asarray(np.outer(push, stiff + (0.0 if jumps else viscous) * s))
    i = next(axis.index for axis in tangent.model.axes if axis.name == name)
    mass, drag, stiffness = (m[:, i] for m in (whole.mass, whole.damping, whole.stiffness))
    return np.asarray(-(np.outer(mass, s**2) + np.outer(drag, s) + stiffness[:, None]))
