"""Events of a simulation, and free bodies that the arm can capture."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Self

from pydantic import Field, ValidationError, model_validator

from flexarm.arm.forces import AnyPoint, Point
from flexarm.arm.joint import AnyActuated
from flexarm.arm.part import (
    ONE_LINE,
    SENTENCES,
    Angles,
    Body,
    Flag,
    Name,
    NotNegative,
    Number,
    Part,
    Positive,
    Vector,
    fault,
    require_distinct,
    require_one,
)
from flexarm.arm.profile import LengthProfile
from flexarm.arm.side_files import BesideModel
from flexarm.units import AngularSpeed, ForceDamping, ForceStiffness, Length, Speed, Time

PAYLOAD = "payload"  # name of the body that the arm holds at the start
Names = tuple[str, ...]


class When(Part):
    """Condition of an event: a quantity above or below a value, in SI units."""

    quantity: Annotated[str, Field(min_length=1, max_length=100)]
    above: Number | None = None
    below: Number | None = None

    @model_validator(mode="after")
    def _has_a_value(self) -> Self:
        text = "an event by a quantity needs one threshold. Give 'above' or 'below'."
        require_one(self, ("above", "below"), text, "quantity")
        return self


class Tie(Part):
    """A spring and damper between a point of the arm and a berth: a point of the world or the arm.

    By default the berth is where ``point`` is when the spring is attached. ``path`` gives x, y and
    z of the berth as functions of the time since the spring was attached. With ``to`` the berth is
    fixed to a section of a link or to the base, and ``path`` is in the axes of that section.
    """

    name: Name
    point: AnyPoint = "tip"
    to: AnyPoint | None = None
    stiffness: Positive[ForceStiffness]
    damping: NotNegative[ForceDamping] = 0.0
    path: tuple[LengthProfile, LengthProfile, LengthProfile] | None = None

    @model_validator(mode="after")
    def _is_on_the_arm(self) -> Self:
        for key in ("point", "to"):
            given = getattr(self, key)
            if isinstance(given, Point) and given.world is not None:
                raise fault(
                    "must be a place on the arm. Give a place in the world by 'path'.", key, "world"
                )
        return self


class Event(Part):
    """An event: effects at a time ``at``, or when a quantity crosses a value (``when``).

    With ``when``, the quantity is monitored from the time ``after``.
    """

    name: Annotated[str, Field(max_length=100), ONE_LINE] = ""
    at: NotNegative[Time] | None = None
    when: When | None = None
    after: NotNegative[Time] = 0.0
    brake: Names = ()
    release: Names = ()
    servo: dict[str, dict[str, Any]] = {}
    capture: Name | None = None
    let_go: Name | None = None
    attach: Tie | None = None
    detach: Name | None = None
    end: Flag = False

    @model_validator(mode="after")
    def _happens(self) -> Self:
        text = "an event needs a time or a condition. Give 'at' or 'when'."
        require_one(self, ("at", "when"), text, "at")
        if self.at is not None and "after" in self.model_fields_set:
            raise fault("'after' is for events with 'when'. Leave it out.", "after")
        if not any(getattr(self, name) for name in ACTIONS):
            raise fault(
                "nothing happens at this event. Give one of {actions}.",
                "name",
                actions=", ".join(ACTIONS),
            )
        for name in self.brake:
            if name in self.release:
                raise fault(
                    "'{name}' is braked and released by the same event. Keep one of the two.",
                    "release",
                    name=name,
                )
        return self

    @property
    def earliest(self) -> float:
        """Earliest time [s] at which the event can happen."""
        return self.after if self.at is None else self.at

    @property
    def title(self) -> str:
        """Name of the event; without a name, a list of the event's actions."""
        if self.name:
            return self.name
        actions = [
            *(f"brake {name}" for name in self.brake),
            *(f"release {name}" for name in self.release),
            *(f"servo {name}" for name in self.servo),
            *([f"capture {self.capture}"] if self.capture else []),
            *([f"let go {self.let_go}"] if self.let_go else []),
            *([f"attach {self.attach.name}"] if self.attach else []),
            *([f"detach {self.detach}"] if self.detach else []),
            *(["end"] if self.end else []),
        ]
        return ", ".join(actions)


ACTIONS = ("brake", "release", "servo", "capture", "let_go", "attach", "detach", "end")


class FreeBody(Part):
    """A body that drifts freely until the arm's tip captures it.

    ``position`` and ``rotation`` are the pose of the body's grapple fixture in the world at time 0;
    ``body`` is given in the fixture's frame. ``velocity`` is the fixture's velocity in world axes,
    ``spin`` the angular velocity in body axes. The arm can capture the body when the fixture is
    within ``reach`` of the tip.
    """

    name: Name
    body: Body
    position: Vector
    rotation: Angles = (0.0, 0.0, 0.0)
    velocity: tuple[Speed, Speed, Speed] = (0.0, 0.0, 0.0)
    spin: tuple[AngularSpeed, AngularSpeed, AngularSpeed] = (0.0, 0.0, 0.0)
    reach: Positive[Length] = 0.1

    @model_validator(mode="after")
    def _has_mass(self) -> Self:
        if self.body.mass == 0:
            raise fault("a free body needs a mass > 0", "body", "mass")
        if self.name == PAYLOAD:
            raise fault("'payload' is what the arm holds at the start. Use another name.", "name")
        return self


def require_events_fit(
    events: Sequence[Event],
    bodies: Sequence[FreeBody],
    axes: Mapping[str, AnyActuated],
    context: Any,
) -> None:
    """Raise a validation error for events that name missing parts, or for duplicate body names.

    Target files of servos are read from the source of files in pydantic's validation ``context``.
    """
    names = [body.name for body in bodies]
    require_distinct(names, "bodies")
    ties = [event.attach.name for event in events if event.attach is not None]
    for i, event in enumerate(events):
        if event.attach is not None and ties.count(event.attach.name) > 1:
            raise fault(
                "the name '{name}' is used twice. Give each attachment its own name.",
                "events",
                i,
                "attach",
                "name",
                name=event.attach.name,
            )
        if event.detach is not None and event.detach not in ties:
            raise fault(
                "nothing is attached under the name '{name}'",
                "events",
                i,
                "detach",
                name=event.detach,
            )
        for key in ("brake", "release"):
            for name in getattr(event, key):
                if name not in axes or axes[name].brake is None:
                    remedy = ". Give it 'brake: {closed: false}'." if name in axes else ""
                    message = "'{name}' is not a joint with a brake" + remedy
                    raise fault(message, "events", i, key, name=name)
        for name, changes in event.servo.items():
            _require_servo_fits(axes, i, name, changes, context)
        for key, existing in (("capture", names), ("let_go", [*names, PAYLOAD])):
            body_name = getattr(event, key)
            if body_name is not None and body_name not in existing:
                raise fault("there is no body '{name}'", "events", i, key, name=body_name)


def _require_servo_fits(
    axes: Mapping[str, AnyActuated], index: int, name: str, changes: dict[str, Any], context: Any
) -> None:
    servo = axes[name].servo if name in axes else None
    if servo is None:
        raise fault("'{name}' is not a joint with a servo", "events", index, "servo", name=name)
    try:
        changed = servo.changed(changes, context)
    except ValidationError as error:
        problem = error.errors()[0]
        error_path = (*problem["loc"], *problem.get("ctx", {}).get("path", ()))
        key_path = [part for part in error_path if part in changes]
        template = SENTENCES.get(problem["type"])
        text = (
            template.format(**problem["ctx"]) if template and "ctx" in problem else problem["msg"]
        )
        raise fault("{text}", "events", index, "servo", name, *key_path[:1], text=text) from None
    for key in ("target", "rate"):
        if key in changes and isinstance(getattr(changed, key), BesideModel):
            changes[key] = getattr(changed, key)
