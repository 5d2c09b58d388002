"""Drive trains: friction, motor, and transmission with backlash, hysteresis and kinematic error."""

from typing import Annotated, Generic, Literal, Self

from pydantic import Field, model_validator
from typing_extensions import TypeVar as DefaultTypeVar

from flexarm.arm.part import Flag, NotNegative, Number, Part, Positive, fault, require_table
from flexarm.arm.servo import D, E, K, Q, S
from flexarm.units import Angle, Current, Inductance, Inertia, Ratio, Resistance, TorqueConstant

# Type of the gear ratio, which has the unit rad/m for joints that slide.
G = DefaultTypeVar("G", bound=float, default=Number, covariant=True)


class SpringTable(Part, Generic[Q, E]):
    """A spring's force or torque at given deflections; beyond the table its slopes continue."""

    deflection: Annotated[tuple[Q, ...], Field(min_length=2, max_length=1000)]
    effort: Annotated[tuple[E, ...], Field(min_length=2, max_length=1000)]

    @model_validator(mode="after")
    def _columns_match(self) -> Self:
        require_table(self, "deflection", "effort", "larger than the deflection")
        return self


class Friction(Part, Generic[S, E, K, D]):
    """Viscous and Coulomb friction.

    With ``smooth``, Coulomb friction is ``coulomb tanh(speed/smoothing)``. With ``dry``, stiction
    holds up to ``static``, and sliding friction is ``coulomb + (static - coulomb)
    exp(-(speed/stribeck_speed)^stribeck_exponent)``, or ``coulomb`` if no ``stribeck_speed`` is
    given. With ``lugre``, elastic bristles with damping transmit the friction (Canudas de Wit et
    al. 1995).
    """

    kind: Literal["smooth", "dry", "lugre"] = "smooth"
    viscous: NotNegative[D] | None = None
    coulomb: NotNegative[E] | None = None
    smoothing: Positive[S] | None = None
    static: E | None = None
    stribeck_speed: Positive[S] | None = None
    stribeck_exponent: Annotated[Number, Field(ge=1, le=10)] = 2.0
    bristle_stiffness: Positive[K] | None = None
    bristle_damping: NotNegative[D] | None = None

    @model_validator(mode="after")
    def _of_its_kind(self) -> Self:
        keys_of_kind = {
            "smooth": ("smoothing",),
            "dry": ("static", "stribeck_speed", "stribeck_exponent"),
            "lugre": ("static", "stribeck_speed", "stribeck_exponent", "bristle_stiffness",
                      "bristle_damping"),
        }  # fmt: skip
        allowed = {"kind", "viscous", "coulomb", *keys_of_kind[self.kind]}
        for name in sorted(self.model_fields_set - allowed):
            if getattr(self, name) is not None:
                kinds = " or ".join(kind for kind, keys in keys_of_kind.items() if name in keys)
                raise fault(
                    "'{key}' is for friction of 'kind: {kinds}'. Leave it out, or change the kind.",
                    name,
                    key=name,
                    kinds=kinds,
                )
        if self.kind == "smooth":
            return self
        if not self.coulomb:
            raise fault("{kind} friction needs coulomb > 0", "coulomb", kind=self.kind)
        if self.static is not None and self.static < self.coulomb:  # type: ignore[operator]
            raise fault("static friction must be >= coulomb", "static")
        if self.stribeck_speed is not None and self.static is None:
            raise fault("stribeck_speed is the speed over which friction falls from static to "
                        "coulomb. Give static too.",
                        "stribeck_speed")  # fmt: skip
        if self.kind == "lugre" and self.bristle_stiffness is None:
            raise fault(
                "lugre friction needs a bristle_stiffness. Give one, or choose another kind.",
                "bristle_stiffness",
            )
        if self.kind == "lugre" and self.static is not None and self.stribeck_speed is None:
            raise fault(
                "lugre friction that falls from static to coulomb needs stribeck_speed, "
                "the speed over which it falls. Give stribeck_speed too.",
                "static",
            )
        return self

    @property
    def holds(self) -> float:
        """Largest torque [N m] or force [N] with which stiction holds a joint at rest."""
        return float(self.coulomb if self.static is None else self.static)  # type: ignore[arg-type]


class Motor(Part):
    """An electric motor on the rotor: its input is a current [A], or a voltage [V].

    The torque is ``torque_constant`` times the current; the same constant [V s/rad] times the
    rotor's speed is the induced voltage (back-EMF). Without ``inductance`` the current follows the
    voltage at once. The amplifier limits the current to ``current_limit``, also with a voltage
    input.
    """

    torque_constant: Positive[TorqueConstant]
    input: Literal["current", "voltage"] = "current"
    resistance: Positive[Resistance] | None = None
    inductance: Positive[Inductance] | None = None
    current_limit: Positive[Current] | None = None

    @model_validator(mode="after")
    def _has_a_winding(self) -> Self:
        if self.input == "voltage" and self.resistance is None:
            raise fault(
                "a motor with a voltage as input needs a resistance. Give its resistance [ohm].",
                "resistance",
            )
        if self.input == "current" and self.inductance is not None:
            raise fault(
                "inductance is used only where the input is a voltage. Write 'input: "
                "voltage', or leave inductance out.",
                "inductance",
            )
        return self


class Hysteresis(Part, Generic[E, K]):
    """Rate-independent loss of a transmission per cycle: Dahl's friction across its spring.

    Dahl's friction has the stiffness ``stiffness`` after each reversal, and saturates at the torque
    or force ``effort``.
    """

    effort: Positive[E]
    stiffness: Positive[K]


class KinematicError(Part, Generic[Q]):
    """Position error of a gear's output: ``amplitude sin(per_turn rotor + phase)``."""

    amplitude: Q
    per_turn: Annotated[Number, Field(gt=0, le=1e4)] = 2.0
    phase: Angle = 0.0


class Drive(Part, Generic[Q, S, E, K, D, G]):
    """Motor and transmission of a joint, as described in the model file.

    Without ``stiffness`` the transmission is rigid and the rotor adds ``gear_ratio^2
    rotor_inertia`` to the joint. With ``stiffness``, motor and link are two coordinates joined by a
    spring. ``rotor: simple`` includes only the energy of the rotor's spin (Chen, Zhang & Liu 2012);
    with ``rotor: full`` the rotor's spin momentum also acts on the link that carries the rotor.
    ``motor_torque: true`` means that inputs act on the motor's side of the gear.

    ``gear_ratio`` is the number of rotor turns per turn of the joint; for a sliding joint it is the
    rotor's angle per travel [rad/m].

    ``friction`` of the motor, ``backlash`` (the whole gap before the spring winds up),
    ``hysteresis`` and ``kinematic_error`` are given at the joint. At the joint, a torque of the
    rotor is multiplied by ``gear_ratio``, and an angle of the rotor is divided by ``gear_ratio``. A
    gear without losses has the ``efficiency`` 1.
    """

    rotor_inertia: NotNegative[Inertia] = 0.0
    gear_ratio: Annotated[G, Field(ge=-1e9, le=1e9)] = 1.0  # type: ignore[assignment]
    rotor: Literal["simple", "full"] = "simple"
    stiffness: Positive[K] | SpringTable[Q, E] | None = None
    damping: NotNegative[D] | None = None
    motor_torque: Flag = False
    motor: Motor | None = None
    friction: Friction[S, E, K, D] | None = None
    efficiency: Annotated[Ratio, Field(gt=0, le=1)] = 1.0
    backlash: Positive[Q] | None = None
    hysteresis: Hysteresis[E, K] | None = None
    kinematic_error: KinematicError[Q] | None = None

    @model_validator(mode="after")
    def _elastic_needs_rotor(self) -> Self:
        if self.gear_ratio == 0:
            raise fault("the gear ratio must not be 0", "gear_ratio")
        if self.stiffness is not None and self.rotor_inertia == 0:
            raise fault(
                "an elastic joint needs a rotor inertia > 0, else its motor side has no mass. "
                "For a passive spring without a motor use the joint's 'spring' instead.",
                "rotor_inertia" if "rotor_inertia" in self.model_fields_set else "stiffness",
            )
        if self.stiffness is None and self.damping is not None:
            raise fault(
                "damping acts across the transmission spring, but this drive has no "
                "spring. Give stiffness too.",
                "damping",
            )
        if self.motor is not None and self.motor_torque:
            raise fault(
                "motor_torque is for inputs that are torques, and the input of a motor "
                "is a voltage or current. Leave motor_torque or motor out.",
                "motor_torque",
            )
        for name in ("backlash", "hysteresis", "kinematic_error"):
            if getattr(self, name) is not None and self.stiffness is None:
                raise fault(
                    "only an elastic transmission can have '{key}'. Give the drive's stiffness "
                    "too.",
                    name,
                    key=name,
                )
        if self.efficiency < 1 and self.stiffness is None:
            raise fault("an efficiency below 1 needs an elastic transmission, since the loss "
                        "depends on its torque. Give the drive's stiffness too.",
                        "efficiency")  # fmt: skip
        return self
