"""Class of an arm: base, links, payload, contacts, springs and events."""

import math
from typing import Annotated, Literal, Self
from weakref import WeakValueDictionary

from pydantic import Field, ValidationInfo, model_validator

from flexarm.arm.constants import EARTH, NOTES_LENGTH
from flexarm.arm.forces import Contact, Point, PointSpring, Wrench, require_point_of_base
from flexarm.arm.joint import DH, Carriage, Sliding
from flexarm.arm.link import Link
from flexarm.arm.mission import Event, FreeBody, require_events_fit
from flexarm.arm.part import (
    ONE_LINE,
    Body,
    Flag,
    Frame,
    Part,
    Positive,
    fault,
    require_distinct,
    require_one,
)
from flexarm.arm.profile import AngleProfile, LengthProfile
from flexarm.arm.shapes import ClampedMass, Lumped
from flexarm.arm.side_files import Mesh
from flexarm.arm.summary import Summary, draw_chain
from flexarm.units import Acceleration, AngularSpeed, Length, Speed

_VALIDATED = WeakValueDictionary[int, "Arm"]()  # validated arms, by `id`


class Standing(Frame):
    """Position and attitude of a base in the world, and the surface mesh drawn for it."""

    mesh: Mesh | None = None


class FixedBase(Standing):
    """A base at rest."""

    kind: Literal["fixed"] = "fixed"


class BaseMotion(Part):
    """Prescribed motion of a base: profiles of its coordinates [m] and angles [rad], 0 if omitted.

    The base frame is at ``position + (x, y, z)``, rotated from ``rotation`` by
    ``Rx(rx) Ry(ry) Rz(rz)``.
    """

    x: LengthProfile | None = None
    y: LengthProfile | None = None
    z: LengthProfile | None = None
    rx: AngleProfile | None = None
    ry: AngleProfile | None = None
    rz: AngleProfile | None = None


class MovedBase(Standing):
    """A base that follows a prescribed motion."""

    kind: Literal["moved"]
    motion: BaseMotion


class Orbit(Part):
    """A circular orbit whose Hill frame is the world: x points away from the planet, z is normal.

    One of two keys is given: the ``altitude`` [m] above the Earth's equator, or the mean motion
    ``rate`` [rad/s] about any planet.
    """

    altitude: Positive[Length] | None = None
    rate: Positive[AngularSpeed] | None = None

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        text = "the orbit needs the altitude above the Earth or the rate. Give one of the two."
        require_one(self, ("altitude", "rate"), text, "rate")
        return self

    @property
    def mean_motion(self) -> float:
        """Angular speed of the orbit about the planet [rad/s]."""
        if self.rate is not None:
            return self.rate
        assert self.altitude is not None
        return math.sqrt(EARTH[0] / (EARTH[1] + self.altitude) ** 3)

    @property
    def radius(self) -> float:
        """Radius [m] of the orbit around the Earth with this mean motion."""
        return float(math.cbrt(EARTH[0] / self.mean_motion**2))


class FreeBase(Standing):
    """A floating base with its own body, velocity [m/s] and spin [rad/s] in the base frame.

    With ``orbit`` the world is the Hill frame of a circular orbit; velocity and spin of the base
    are relative to this frame.
    """

    kind: Literal["free"]
    body: Body
    velocity: tuple[Speed, Speed, Speed] = (0.0, 0.0, 0.0)
    spin: tuple[AngularSpeed, AngularSpeed, AngularSpeed] = (0.0, 0.0, 0.0)
    wrenches: tuple[Wrench, ...] = ()
    orbit: Orbit | None = None

    @property
    def mean_motion(self) -> float:
        """Mean motion of the base's orbit [rad/s]; 0 without an orbit."""
        return self.orbit.mean_motion if self.orbit is not None else 0.0

    @model_validator(mode="after")
    def _has_mass(self) -> Self:
        if self.body.mass == 0:
            raise fault("a free base needs a mass > 0", "body", "mass")
        for i, wrench in enumerate(self.wrenches):
            require_point_of_base(wrench.at, "wrenches", i, "at")
            if wrench.force_per_length is not None:
                raise fault(
                    "a base has no length. Give the force.", "wrenches", i, "force_per_length"
                )
        return self


Base = Annotated[FixedBase | MovedBase | FreeBase, Field(discriminator="kind")]


class Payload(Body):
    """A rigid body at the arm's tip, in the last link's tip frame."""


STARTS = ("stated", "equilibrium")


class Arm(Part):
    """An arm: base, links, payload, contacts, springs and events.

    Each link's joint is at the tip of the previous link, or on the link or base that its ``parent``
    names; the arm's tip is that of the last link. With ``start: equilibrium``, simulations start at
    the equilibrium for the joints' initial speeds instead of at the initial positions of links and
    joints.
    """

    flexarm: Literal[1]
    name: Annotated[str, Field(min_length=1, max_length=200), ONE_LINE]
    notes: Annotated[str, Field(max_length=NOTES_LENGTH)] = ""
    gravity: tuple[Acceleration, Acceleration, Acceleration] = (0.0, 0.0, -9.81)
    stiffening: Flag = True
    start: Literal["stated", "equilibrium"] = "stated"
    base: Base = FixedBase()
    links: Annotated[tuple[Link, ...], Field(min_length=1, max_length=1000)]
    payload: Payload | None = None
    bodies: Annotated[tuple[FreeBody, ...], Field(max_length=100)] = ()
    events: Annotated[tuple[Event, ...], Field(max_length=1000)] = ()
    contacts: Annotated[tuple[Contact, ...], Field(max_length=1000)] = ()
    springs: Annotated[tuple[PointSpring, ...], Field(max_length=1000)] = ()

    def __repr__(self) -> str:
        """Return a summary of the arm; `flexarm.io.model_file.dumps` returns its model file."""
        return self._summary().text()

    __str__ = __repr__

    def _repr_html_(self) -> str:
        # The length of a body with modes is in its file; pictures show that of the longest link
        # instead.
        longest = max([link.length for link in self.links]) or 1.0
        parts = [
            (name, link.joint.kind, link.length if link.modal is None else longest, link.flexible)
            for name, link in zip(self.link_names, self.links, strict=True)
        ]
        return self._summary().html(draw_chain(parts))

    def _summary(self) -> Summary:
        g = ", ".join(f"{component:g}" for component in self.gravity)
        payload_mass = self.payload.mass if self.payload is not None else 0.0
        line = f"base {self.base.kind}, gravity ({g}) m/s^2, payload {payload_mass:g} kg"
        joints = [
            " on ".join(filter(None, (f"{joint} {link.joint.kind}", self.place_of_joint(i))))
            for i, (joint, link) in enumerate(zip(self.joint_names, self.links, strict=True))
        ]
        rows = [
            (name, joint,
             f"{link.length:g} m" if link.modal is None else f"of {link.modal.file}",
             "flexible" if link.flexible else "rigid")
            for name, joint, link in zip(self.link_names, joints, self.links, strict=True)
        ]  # fmt: skip
        return Summary(f"Arm: {self.name}", (line,), ("link", "joint", "length", "kind"), rows)

    @property
    def link_names(self) -> tuple[str, ...]:
        """Names of the links; ``link1`` and so on for links without a name."""
        return tuple(link.name or f"link{i}" for i, link in enumerate(self.links, 1))

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints; ``joint1`` and so on for joints without a name."""
        return tuple(link.joint.name or f"joint{i}" for i, link in enumerate(self.links, 1))

    @property
    def parents(self) -> tuple[int, ...]:
        """Index of the link that carries each link's joint; -1 is the base."""
        links = enumerate(self.links)
        if all(link.parent is None for link in self.links):
            return tuple(i - 1 for i, _ in links)
        indices = {"base": -1} | {name: i for i, name in enumerate(self.link_names)}
        return tuple(i - 1 if link.parent is None else indices[link.parent] for i, link in links)

    def carried_links(self, index: int) -> list[int]:
        """Return the indices of all links that a link carries, directly or by other links."""
        carried, parents = {index}, self.parents
        for k in range(index + 1, len(parents)):
            if parents[k] in carried:
                carried.add(k)
        return sorted(carried - {index})

    def place_of_joint(self, index: int) -> str:
        """Return the place of a joint as text, such as ``boom at 0.5``.

        The text is empty if the joint is at the tip of the previous link in the model file.
        """
        link, parent = self.links[index], self.parents[index]
        if parent == index - 1 and link.at == "tip":
            return ""
        name = "base" if parent < 0 else self.link_names[parent]
        return name if link.at == "tip" else f"{name} at {link.at}"

    def axis_names(self, index: int) -> tuple[str, ...]:
        """Return the names of a joint's coordinates: the joint's own name, or one name per axis."""
        joint = self.links[index].joint
        labels, name = joint.axes, joint.name or f"joint{index + 1}"
        return tuple(".".join(filter(None, (name, label))) for label in labels)

    @property
    def contact_names(self) -> tuple[str, ...]:
        """Names of the contacts; ``contact1`` and so on for contacts without a name."""
        return tuple(contact.name or f"contact{i}" for i, contact in enumerate(self.contacts, 1))

    @property
    def spring_names(self) -> tuple[str, ...]:
        """Names of the springs between points; ``spring1`` and so on for springs without a name."""
        return tuple(spring.name or f"spring{i}" for i, spring in enumerate(self.springs, 1))

    @model_validator(mode="after")
    def _rules_of_an_arm(self, info: ValidationInfo) -> Self:
        if isinstance(self.base, FreeBase) and self.base.orbit is not None:
            self._check_orbit()
        self._check_names()
        self._check_parents()
        if self.contacts or self.springs:
            self._check_points()
        for i, link in enumerate(self.links):
            if isinstance(link.joint, Carriage):
                self._check_carriage(i, link.joint)
        if self.events or self.bodies:
            self._check_events(info.context)
        for i, link in enumerate(self.links):
            if link.joint.dh is not None and link.joint.dh.a is not None:
                self._check_dh_length(i, link.joint.dh, link.joint.dh.a)
        for i, link in enumerate(self.links):
            if isinstance(link.shapes, ClampedMass):
                self._check_configuration(i, link.shapes)
        _VALIDATED[id(self)] = self
        return self

    @property
    def is_validated(self) -> bool:
        """Whether this object was validated; copies with other values need a new validation."""
        return _VALIDATED.get(id(self)) is self

    def _check_orbit(self) -> None:
        if any(self.gravity):
            raise fault(
                "an arm in orbit falls freely, so gravity must be zero. Write gravity: [0, 0, 0].",
                "gravity",
            )
        if self.start == "equilibrium":
            raise fault(
                "an equilibrium cannot be computed for a base in orbit, since a base at rest "
                "need not stay there. Write 'start: stated'.",
                "start",
            )

    def _check_points(self) -> None:
        require_distinct(self.contact_names, "contacts")
        require_distinct(self.spring_names, "springs")
        for i, contact in enumerate(self.contacts):
            self._check_point(contact.point, "contacts", i, "point")
            fixed = isinstance(self.base, FixedBase)
            if fixed and contact.point != "tip" and contact.point.link == "base":
                raise fault(
                    "the contact point must be on a link, since the base does not move",
                    "contacts",
                    i,
                    "point",
                    "link",
                )
            if contact.obstacle.on is not None:
                self._check_point(contact.obstacle.on, "contacts", i, "obstacle", "on")
        for i, spring in enumerate(self.springs):
            for k, point in enumerate(spring.between):
                self._check_point(point, "springs", i, "between", k)

    def _check_point(self, point: Point | Literal["tip"], *path: str | int) -> None:
        if point == "tip" or point.link is None:
            return
        if point.link == "base":
            require_point_of_base(point.at, *path, "at")
            return
        if point.link not in self.link_names:
            raise fault(
                "there is no link '{name}'. The names are {names} and base.",
                *path, "link", name=point.link, names=", ".join(self.link_names),
            )  # fmt: skip
        link = self.links[self.link_names.index(point.link)]
        link.check_place("tip" if point.at is None else point.at, *path, "at")

    def _check_parents(self) -> None:
        """Raise a validation error if a joint is not on an earlier link, or beyond its end."""
        for i, link in enumerate(self.links):
            known = ("base", *self.link_names[:i])
            if link.parent is not None and link.parent not in known:
                raise fault(
                    "{mistake}. Give the base or a link that stands before this one: {names}.",
                    "links", i, "parent",
                    mistake=self._mistake_of_parent(i, link.parent), names=", ".join(known),
                )  # fmt: skip
        for i, (link, parent) in enumerate(zip(self.links, self.parents, strict=True)):
            if link.at == "tip":
                continue
            if parent < 0:
                raise fault(
                    "a joint on the base is placed by joint.before. Leave 'at' out.",
                    "links", i, "at",
                )  # fmt: skip
            if link.joint.rides:
                raise fault(
                    "a carriage is at the station that its joint gives. Leave 'at' out.",
                    "links", i, "at",
                )  # fmt: skip
            self._check_mount(i, parent)

    def _mistake_of_parent(self, i: int, parent: str) -> str:
        """Return the reason why a link cannot be carried by the link that it names as parent."""
        if parent == self.link_names[i]:
            return "a link cannot carry itself"
        if parent in self.link_names:
            return f"'{parent}' stands after this link in the list, so it cannot carry this link"
        return f"there is no link '{parent}'"

    def _check_mount(self, i: int, parent: int) -> None:
        """Raise a validation error if a link's joint is at no place of the link that carries it."""
        at, path = self.links[i].at, ("links", i, "at")
        if isinstance(at, float) and not 0 <= at <= 1:
            raise fault(
                "the place of the joint is beyond the ends of {name}. Give a fraction of the "
                "length, from 0 at the root to 1 at the tip.",
                *path, name=self.link_names[parent],
            )  # fmt: skip
        self.links[parent].check_place(0.0 if isinstance(at, float) else at, *path)

    def _check_carriage(self, i: int, joint: Carriage) -> None:
        parent = self.parents[i]
        rail = self.links[parent] if parent >= 0 else None
        self._check_rail(rail, "links", i, "joint", "kind")
        assert rail is not None
        for k, other in enumerate(self.links[:i]):
            if isinstance(other.joint, Carriage) and self.parents[k] == parent:
                raise fault(
                    "a rail carries one carriage, and this is the second. Give each carriage a "
                    "rail of its own.",
                    "links",
                    i,
                    "joint",
                    "kind",
                )
        self._check_stations(joint, rail, "links", i, "joint")

    def _check_rail(self, rail: Link | None, *path: str | int) -> None:
        """Raise a validation error if a carriage cannot ride on a link."""
        if rail is None or rail.modal is not None or rail.span == 0:
            raise fault(
                "a carriage rides on a beam, but the link that carries this one is not a beam. "
                "Give that link a section and a length.",
                *path,
            )
        if isinstance(rail.joint, Sliding):
            raise fault(
                "a carriage cannot ride on a beam that slides out of its hub. Make the rail's "
                "joint prismatic.",
                *path,
            )
        if rail.spans > 1:
            raise fault("a carriage cannot pass from span to span. Give the rail one span.", *path)
        if isinstance(rail.shapes, Lumped):
            raise fault(
                "a carriage cannot pass the kinks of lumped shapes. Choose other shapes for the "
                "rail.",
                *path,
            )
        if rail.quadratic_shapes:
            raise fault(
                "a carriage cannot ride on a link with quadratic_shapes. Leave them out of the "
                "rail.",
                *path,
            )
        if rail.section is not None and rail.section.shears:
            raise fault(
                "a carriage cannot ride on a link that shears. Leave the rail's shear stiffness "
                "out.",
                *path,
            )

    def _check_stations(self, joint: Carriage, rail: Link, *path: str | int) -> None:
        """Raise a validation error if start or limits of a carriage are not on the rail's span."""
        ends = rail.span_ends
        stations: dict[tuple[str, str], float | None] = {
            ("start", "position"): joint.start.position
        }
        if joint.limits is not None:
            stations["limits", "lower"] = joint.limits.lower
            stations["limits", "upper"] = joint.limits.upper
        for key, value in stations.items():
            required = key[0] == "start" and joint.actuation != "prescribed"
            off_span = value is not None and not ends[0] <= value <= ends[1]
            if off_span or (required and value is None):
                raise fault(
                    "the carriage must be on the flexible span of the link that carries it, {low} "
                    "to {high} m from the root of that link",
                    *path, *key, low=ends[0], high=ends[1],
                )  # fmt: skip

    def _check_names(self) -> None:
        owners: dict[str, int] = {}
        for i, pair_of_names in enumerate(zip(self.link_names, self.joint_names, strict=True)):
            for name in pair_of_names:
                if name == "base" or name in owners:
                    raise fault(
                        "the name '{name}' is used twice. Names must differ.",
                        "links",
                        i,
                        "name",
                        name=name,
                    )
                owners[name] = i

    def _check_events(self, context: object) -> None:
        axes = [
            named_axis
            for i, link in enumerate(self.links)
            for named_axis in zip(self.axis_names(i), link.joint.axes.values(), strict=True)
        ]
        require_events_fit(self.events, self.bodies, dict(axes), context)
        for i, event in enumerate(self.events):
            for key in ("point", "to") if event.attach is not None else ():
                point = getattr(event.attach, key)
                if point is not None:
                    self._check_point(point, "events", i, "attach", key)

    def _check_dh_length(self, i: int, dh: DH, a: float) -> None:
        parent = self.parents[i]
        previous = self.links[parent].length if parent >= 0 else 0.0
        length = self.links[i].length if dh.convention == "standard" else previous
        if abs(a - length) > 1e-12 * max(1.0, abs(length)):
            owner = "this link's" if dh.convention == "standard" else "the previous link's"
            raise fault(
                "must be {owner} length, {length} m, by the {convention} DH convention. Leave "
                "'a' out.",
                "links", i, "joint", "dh", "a",
                owner=owner, length=length, convention=dh.convention,
            )  # fmt: skip

    def _check_configuration(self, i: int, shapes: ClampedMass) -> None:
        outboard_joints = [name for k in self.carried_links(i) for name in self.axis_names(k)]
        for name in shapes.configuration:
            if name not in outboard_joints:
                raise fault(
                    "'{name}' is not a moving joint outboard of this link",
                    "links", i, "shapes", "configuration", name, name=name,
                )  # fmt: skip
