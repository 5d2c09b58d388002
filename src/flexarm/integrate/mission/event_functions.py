"""Event functions: scalar quantities of an arm that trigger an event at a threshold."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from flexarm.arm.mission import When
from flexarm.constants import ACCUMULATED
from flexarm.errors import SimulationError
from flexarm.mechanics.kinematics import end_frame, end_jacobian, frames
from flexarm.mechanics.loads import windup
from flexarm.mechanics.point_forces import touches
from flexarm.model import Model
from flexarm.runs.contents import equation_of
from flexarm.runs.data import RunData
from flexarm.spatial import Array, Expr

XYZ = ("x", "y", "z")
Vector = tuple[float, float, float]
Complex = NDArray[np.complex128]


@dataclass(frozen=True)
class EventArguments:
    """Arguments of event functions: time, state, actuator states, and efforts that hold an axis."""

    model: Model
    t: Expr
    q: Expr
    v: Expr
    x: dict[str, Expr]
    effort: Expr


@dataclass(frozen=True)
class FixturePath:
    """Path of the fixture of a free body: polynomial in time since `begin`, plus waves."""

    begin: float  # time from which the path counts [s]
    powers: tuple[Vector, ...]  # polynomial coefficients [m], [m/s], [m/s^2]
    # Rates [rad/s], and the amplitudes of cosine and sine [m].
    waves: tuple[tuple[float, Vector, Vector], ...] = ()

    @classmethod
    def of(
        cls, begin: float, powers: Sequence[Array], waves: Mapping[float, Complex]
    ) -> "FixturePath":
        """Build the path from polynomial coefficients and complex wave amplitudes by rate.

        Waves whose amplitudes are at rounding level are left out.
        """
        size = max((float(np.abs(vector).max()) for vector in waves.values()), default=0.0)
        significant = {
            rate: vector
            for rate, vector in waves.items()
            if np.abs(vector).max() > ACCUMULATED * size
        }
        return cls(
            begin,
            tuple(_vector(vector) for vector in powers),
            tuple(
                (rate, _vector(vector.real), _vector(-vector.imag))
                for rate, vector in significant.items()
            ),
        )

    @property
    def fastest(self) -> float:
        """Largest angular rate of the path's waves [rad/s]; 0 without waves."""
        return max((rate for rate, _, _ in self.waves), default=0.0)

    def trace(self, t: Expr) -> Expr:
        """Return an expression of the fixture's position [m] at T times [s], (3, T)."""
        elapsed = t - self.begin
        basis = [elapsed**k for k in range(len(self.powers))]
        columns = [ca.DM(coefficients) for coefficients in self.powers]
        for rate, cosine, sine in self.waves:
            basis += [ca.cos(rate * elapsed), ca.sin(rate * elapsed)]
            columns += [ca.DM(cosine), ca.DM(sine)]
        return ca.horzcat(*columns) @ ca.vertcat(*basis)


def _vector(values: Array) -> Vector:
    x, y, z = values.tolist()
    return x, y, z


@dataclass(frozen=True)
class EventFunction:
    """A scalar quantity of an arm, monitored for leaving its bounds."""

    # ``place`` or ``speed`` of a coordinate, ``effort`` that holds a coordinate at rest, ``tip``
    # along an axis, ``tip speed``, ``distance`` of the tip from a body's fixture, normal force of a
    # ``contact``, ``wind-up`` of a transmission, a ``state`` of servos and drive trains.
    kind: Literal[
        "place", "speed", "effort", "tip", "tip speed", "distance", "contact", "wind-up", "state",
    ]  # fmt: skip
    index: int = 0  # index of the coordinate, axis or contact
    body: str = ""  # name of a body, or of a state
    path: FixturePath | None = None  # path of a body's fixture
    # Value at which the equations have a corner: steps end there, without an event.
    corner: float | None = field(default=None, repr=False)  # has no effect on expressions

    @classmethod
    def of(cls, model: Model, quantity: str) -> "EventFunction":
        """Build the event function of a quantity, given by a name that `quantities` lists."""
        name, _, part = quantity.rpartition(".")
        if name == "distance":
            return cls("distance", body=part)
        if name == "contact":
            return cls("contact", model.arm.contact_names.index(part))
        if name == "tip" and (part in XYZ or part == "speed"):
            return cls("tip speed") if part == "speed" else cls("tip", XYZ.index(part))
        if quantity in model.names:
            return cls("place", model.names.index(quantity))
        if quantity in currents(model):
            return cls("state", body=quantity)
        return cls("speed", model.names.index(name))

    @property
    def squared(self) -> bool:
        """Whether the event function is the square of the quantity, since that is smooth at 0."""
        return self.kind in ("tip speed", "distance")

    @property
    def fastest(self) -> float:
        """Largest angular rate [rad/s] at which a tumbling body oscillates the quantity, or 0."""
        return 0.0 if self.path is None else self.path.fastest

    @property
    def smooth(self) -> bool:
        """Whether the time derivative of the event function is known from the accelerations."""
        return self.kind != "effort"

    def bounds(self, when: When) -> tuple[float, float]:
        """Return the low and the high bound between which the event does not happen.

        The bounds are squared, with their signs kept, if the event function is the square of the
        quantity.
        """
        low = -math.inf if when.below is None else float(when.below)
        high = math.inf if when.above is None else float(when.above)
        return (low * abs(low), high * abs(high)) if self.squared else (low, high)

    def trace(self, at: EventArguments) -> Expr:
        """Return an expression of the quantity, or of its square if `squared`."""
        if self.kind == "tip speed":
            return ca.sumsqr(end_jacobian(at.model, at.q)[0] @ at.v)
        if self.kind == "tip":
            return end_frame(at.model, at.q)[1][self.index]
        if self.kind == "distance":
            assert self.path is not None
            return ca.sumsqr(end_frame(at.model, at.q)[1] - self.path.trace(at.t))
        if self.kind == "contact":
            touch = touches(at.model, at.q, frames(at.model, at.q))[self.index]
            return touch.forces(at.v)[0]
        if self.kind == "wind-up":
            return windup(at.model, at.model.axes[self.index], at.q)
        if self.kind == "state":
            return at.x[self.body]
        return {"place": at.q, "speed": at.v, "effort": at.effort}[self.kind][self.index]

    def values(self, run: RunData) -> Array:
        """Return the quantity at the T samples of a run, (T,)."""
        if self.kind == "tip speed":
            speeds = equation_of(run).tip_velocity(run.q, run.v)[:, :3]
            return np.asarray(np.linalg.norm(speeds, axis=1))
        if self.kind == "distance":
            assert self.path is not None
            fixture = np.array(self.path.trace(ca.DM(run.t).T)).T
            return np.asarray(np.linalg.norm(run.tip - fixture, axis=1))
        if self.kind == "contact":
            return np.asarray(equation_of(run).contacts(run.q, run.v).normal[:, self.index])
        if self.kind == "state":
            assert run.drives is not None
            return run.drives.states[self.body]
        return {"tip": run.tip, "place": run.q, "speed": run.v}[self.kind][:, self.index]

    def unit(self, model: Model) -> str:
        """Return the unit of the quantity."""
        if self.kind in ("place", "speed"):
            return model.units[self.index] + ("/s" if self.kind == "speed" else "")
        return {"tip": "m", "distance": "m", "tip speed": "m/s", "contact": "N"}.get(self.kind, "A")


def currents(model: Model) -> tuple[str, ...]:
    """Return the names of motor currents that are states, because of a winding inductance."""
    drives = [(x.name, x.acts.drive) for x in model.axes if x.driven]
    motors = [(name, drive.motor) for name, drive in drives if drive is not None]
    return tuple(
        f"{name}.current" for name, motor in motors if motor is not None and motor.inductance
    )


def quantities(model: Model) -> tuple[str, ...]:
    """Return the names of the quantities of a model that events can monitor."""
    # Attitude angles are left out, since they are relative to a reference attitude that changes.
    angles = {model.names[k + i] for k in model.attitudes for i in range(3)}
    places = [name for name in model.names if name not in angles]
    tip = [f"tip.{axis}" for axis in XYZ]
    tip += [f"distance.{body.name}" for body in model.arm.bodies]
    tip += [f"contact.{name}" for name in model.arm.contact_names]
    return (*places, *(f"{name}.speed" for name in places), *currents(model), *tip, "tip.speed")


def require_quantities(model: Model) -> None:
    """Raise an error if an event monitors a quantity that the arm does not have.

    Raises
    ------
    SimulationError
        If an event of the model file monitors a quantity that does not exist in this arm.
    """
    available = quantities(model)
    for i, event in enumerate(model.arm.events):
        if event.when is not None and event.when.quantity not in available:
            raise SimulationError(
                f"events[{i + 1}].when: there is no quantity '{event.when.quantity}'. The "
                f"quantities are {', '.join(available)}."
            )
