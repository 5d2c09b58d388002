"""Links of an arm: joint, length, section, shape functions, damping and initial deformation."""

from typing import Annotated, Literal, Self

from pydantic import Discriminator, Field, StrictInt, Tag, model_validator

from flexarm.arm.constants import (
    MOST_DAMPING,
    MOST_SLIDING_ELEMENTS,
    MOST_SPANS,
    MOST_STATION_SHAPES,
)
from flexarm.arm.forces import At, Wrench
from flexarm.arm.joint import Joint, Sliding
from flexarm.arm.part import (
    Body,
    Flag,
    Name,
    NotNegative,
    Number,
    Part,
    Positive,
    Terse,
    fault,
    require_table,
)
from flexarm.arm.section import MaterialDamping, Section, Station
from flexarm.arm.shapes import (
    ArmModes,
    ClampedMass,
    Counted,
    Elements,
    FreeFree,
    Lumped,
    ModalBody,
    PinnedFree,
    PinnedPinned,
    ShapeChoice,
    StartCurve,
    Tabulated,
)
from flexarm.arm.side_files import Mesh
from flexarm.units import Length, Ratio


class RigidPiece(Part):
    """A rigid end piece of a link: length along x, and body in the frame at its inboard end."""

    length: Positive[Length]
    body: Body = Body()


class EnergyTerm(Part):
    """``coefficient`` times a product of powers of amplitudes, added to the elastic energy [J]."""

    coefficient: Number
    powers: Annotated[dict[str, Annotated[StrictInt, Field(ge=1, le=8)]], Field(min_length=1)]


class ForceTable(Part):
    """An elastic force as a table over one amplitude, added to the linear elastic force."""

    coordinate: str
    amplitude: Annotated[tuple[Number, ...], Field(min_length=2, max_length=1000)]
    force: Annotated[tuple[Number, ...], Field(min_length=2, max_length=1000)]

    @model_validator(mode="after")
    def _columns_match(self) -> Self:
        require_table(self, "amplitude", "force", "larger than the amplitude")
        return self


class QuadraticShape(Part):
    """A displacement of the link proportional to the product of two amplitudes.

    ``values`` are the displacements [m] along ``direction`` at ``stations`` per product of the two
    amplitudes; a cubic spline interpolates them. The displacement is added to the axial shortening
    by bending.
    """

    direction: Literal["x", "y", "z"]
    amplitudes: tuple[str, str]
    stations: Annotated[tuple[Length, ...], Field(min_length=3, max_length=2000)]
    values: Annotated[tuple[Number, ...], Field(min_length=3, max_length=2000)]

    @model_validator(mode="after")
    def _columns_match(self) -> Self:
        require_table(self, "stations", "values", "larger than the station")
        if self.values[0] != 0.0:
            raise fault(
                "the displacement at the first station must be 0, since the joint holds the root",
                "values", 0,
            )  # fmt: skip
        return self


def _kind_of_body(value: object) -> str:
    """Return ``modal`` for the data of a modal body, else ``rigid``."""
    if isinstance(value, dict):
        return "modal" if "kind" in value or "file" in value else "rigid"
    return "modal" if isinstance(value, ModalBody) else "rigid"


LinkBody = Annotated[
    Annotated[Body, Tag("rigid")] | Annotated[ModalBody, Tag("modal")], Discriminator(_kind_of_body)
]


class Link(Terse):
    """One link with the joint that carries it; the link's axis is the x axis of its root frame.

    ``length`` is the length along x, rigid ends included; for a sliding link the total length of
    the beam. A link is flexible if its section has a stiffness (unless ``rigid``) or if its body is
    a modal body, whose file gives the length. ``spans: n`` divides the flexible span into n equal
    spans, joined rigidly, each with its own shapes, so that the bending angles of the spans add up.

    The joint is at the tip of the previous link, or on ``parent``, the name of an earlier link or
    ``base``; ``at`` is the parent's ``tip``, its ``root``, a fraction of its length or, on a modal
    body, the name of a frame in the body's file. ``payload`` is a rigid body in the frame at the
    link's tip.
    """

    name: Name | None = None
    parent: Name | None = None
    at: Annotated[Ratio | Literal["tip", "root"] | Name, Field(union_mode="left_to_right")] = "tip"
    joint: Joint
    length: NotNegative[Length] = 0.0
    section: Section | None = None
    body: LinkBody | None = None
    rigid: Flag = False
    root_piece: RigidPiece | None = None
    tip_piece: RigidPiece | None = None
    spans: Annotated[StrictInt, Field(ge=1, le=MOST_SPANS)] = 1
    shapes: ShapeChoice = ArmModes()
    damping: (
        Annotated[Ratio, Field(ge=0, lt=1)]
        | Annotated[tuple[Annotated[Ratio, Field(ge=0, lt=1)], ...], Field(max_length=400)]
        | Annotated[
            dict[str, Annotated[Ratio, Field(ge=0, le=MOST_DAMPING)]], Field(max_length=400)
        ]
    ) = 0.0
    material_damping: MaterialDamping | None = None
    elastic_energy: tuple[EnergyTerm, ...] = ()
    elastic_force: tuple[ForceTable, ...] = ()
    quadratic_shapes: tuple[QuadraticShape, ...] = ()
    wrenches: tuple[Wrench, ...] = ()
    payload: Body | None = None
    start: dict[str, Number] = {}
    start_speed: dict[str, Number] = {}
    start_curve: StartCurve | None = None
    mesh: Mesh | None = None

    @property
    def flexible(self) -> bool:
        """Whether the link has elastic coordinates."""
        return self.beam or self.modal is not None

    @property
    def beam(self) -> bool:
        """Whether the link is a flexible beam, that is, has a section and is not ``rigid``."""
        return not self.rigid and self.section is not None

    @property
    def root_length(self) -> float:
        """Length of the rigid piece at the root [m]."""
        return 0.0 if self.root_piece is None else self.root_piece.length

    @property
    def tip_length(self) -> float:
        """Length of the rigid piece at the tip [m]."""
        return 0.0 if self.tip_piece is None else self.tip_piece.length

    @property
    def modal(self) -> ModalBody | None:
        """Modal body that forms the link; None for other links."""
        return self.body if isinstance(self.body, ModalBody) else None

    @property
    def rigid_body(self) -> Body | None:
        """Rigid body that forms the link; None for other links."""
        return self.body if isinstance(self.body, Body) else None

    @property
    def damping_ratios(self) -> tuple[float, ...]:
        """Damping ratios as a tuple, from the number, list or mapping in the model file."""
        ratios = self.damping
        if isinstance(ratios, dict):
            return tuple(ratios.values())
        return ratios if isinstance(ratios, tuple) else (ratios,)

    @property
    def damped(self) -> bool:
        """Whether the link has modal or material damping."""
        return any(self.damping_ratios) or self.material_damping is not None

    @property
    def span(self) -> float:
        """Length of the flexible span [m]: the link's length without its rigid ends."""
        return self.length - self.tip_length - self.root_length

    @property
    def span_ends(self) -> tuple[float, float]:
        """Ends of the flexible span, as distances from the link's root [m]."""
        return self.root_length, self.length - self.tip_length

    @model_validator(mode="after")
    def _rules_of_a_link(self) -> Self:
        if self.modal is not None:
            self._check_modal()
        if self.section is not None and self.length == 0:
            raise fault("a link with a section needs a length > 0", "length")
        if self.span < 0 or (self.section is not None and self.span == 0):
            raise fault("the rigid ends of the link leave no flexible span between them", "length")
        if self.section is not None and self.body is not None:
            raise fault(
                "a link with a section has the section's mass, so it takes no 'body'. Put a "
                "further body in joint.hub.",
                "body",
            )
        if self.section is None and "shapes" in self.model_fields_set:
            raise fault(
                "a link without a section cannot bend, so it takes no shapes. Give its section.",
                "shapes",
            )
        if self.root_piece is not None and isinstance(self.shapes, PinnedFree | PinnedPinned):
            raise fault(
                "these shapes have a pinned root, which a rigid root piece does not allow. "
                "Leave root_piece out, or choose other shapes.",
                "root_piece",
            )
        if self.rigid and "shapes" in self.model_fields_set:
            raise fault("a rigid link has no shapes. Leave 'rigid' or 'shapes' out.", "shapes")
        if self.section is not None:
            self._check_section(self.section)
        if isinstance(self.joint, Sliding):
            self._check_sliding(self.joint)
        elif isinstance(self.shapes, ClampedMass) and self.shapes.follow:
            raise fault(
                "'follow' is for a sliding link, whose length changes. Leave it out.",
                "shapes",
                "follow",
            )
        for i, shape in enumerate(self.quadratic_shapes):
            ends = shape.stations[0], shape.stations[-1]
            if ends[0] != 0.0 or abs(ends[1] - self.span) > 1e-9 * self.span:
                raise fault(
                    "the stations of quadratic_shapes must run from 0 to the end of the "
                    "flexible span, {span} m",
                    "quadratic_shapes",
                    i,
                    "stations",
                    span=self.span,
                )
        if self.start_curve is not None:
            self._check_start_curve(self.start_curve)
        if not self.flexible:
            self._check_rigid()
        if self.spans > 1:
            self._check_spans()
        for i, wrench in enumerate(self.wrenches):
            self.check_place(wrench.at, "wrenches", i, "at")
            if wrench.force_per_length is not None and (self.modal is not None or self.span == 0):
                raise fault(
                    "a force per length needs a link with a length along which it acts",
                    "wrenches", i, "force_per_length",
                )  # fmt: skip
        return self

    def _check_modal(self) -> None:
        """Raise a validation error for keys that conflict with the file of a modal body."""
        for name in (
            "length", "section", "rigid", "root_piece", "tip_piece", "shapes", "quadratic_shapes",
        ):  # fmt: skip
            if name in self.model_fields_set and getattr(self, name) is not None:
                raise fault(
                    "the link is a body with modes, which its file describes "
                    "completely. Leave this out.",
                    name,
                )
        if self.start_curve is not None:
            raise fault("a body with modes has no start_curve. Give its amplitudes by 'start'.",
                        "start_curve")  # fmt: skip
        if isinstance(self.joint, Sliding):
            raise fault(
                "a body with modes cannot slide out of a hub. Make the joint prismatic.", "joint"
            )
        if self.joint.dh is not None and self.joint.dh.a is not None:
            raise fault(
                "the file of the body gives the place of its tip. Leave 'a' out.",
                "joint",
                "dh",
                "a",
            )

    def check_place(self, at: At, *path: str | int) -> None:
        """Raise a validation error for a point that is not on the link."""
        if at == "tip":
            return
        if isinstance(self.joint, Sliding):
            raise fault("a point of a sliding link can only be its tip", *path)
        if self.modal is not None:
            if isinstance(at, str):
                return  # the body's file, which is read when the model is built, has the frames
            raise fault(
                "a point of a body with modes is its tip, its root or a frame that its file names",
                *path,
            )
        if isinstance(at, str) and at != "root":
            raise fault(
                "there is no place '{at}' on this link. Give tip, root or a number.", *path, at=at
            )
        distance = 0.0 if isinstance(at, str) else at if isinstance(at, float) else at[0]
        if not 0 <= distance <= self.length:
            raise fault("the point is beyond the link's length", *path)

    def _check_section(self, section: Section) -> None:
        properties = section if section.stations is None else section.stations[0]
        has_stiffness = section.shape or any(
            (properties.EIy, properties.EIz, properties.GJ, properties.EA)
        )
        if not (has_stiffness or self.rigid):
            raise fault(
                "the section has no stiffness. Give EIz, EIy, GJ or EA, or write 'rigid: true'.",
                "section",
            )
        if section.stations is not None:
            self._check_stations(section.stations)

    def _check_stations(self, stations: tuple[Station, ...]) -> None:
        """Raise a validation error if stations do not reach the tip, or are too many."""
        if abs(stations[-1].at - self.span) > 1e-9 * self.span:
            raise fault(
                "the last station of the section must be at the end of the flexible span, {span} m",
                "section",
                "stations",
                len(stations) - 1,
                "at",
                span=self.span,
            )
        if not isinstance(self.shapes, Counted):
            return
        names = ("bending_y", "bending_z", "torsion", "stretch")
        counts = [getattr(self.shapes, name) for name in names]
        largest_count = max([2, *(count for count in counts if isinstance(count, int))])
        if len(stations) * largest_count > MOST_STATION_SHAPES:
            raise fault(
                "{count} stations with {most} shapes in a direction are too many together. Take "
                "fewer stations or fewer shapes.",
                "section",
                "stations",
                count=len(stations),
                most=largest_count,
            )

    def _check_sliding(self, joint: Sliding) -> None:
        if self.section is None:
            raise fault(
                "a sliding link needs a section for the beam that comes out of its hub. Give one."
            )
        if len(self.section.stations or ()) > 2:
            raise fault(
                "a sliding link takes stations at its two ends only, between which its section "
                "changes linearly. A station between them would pass the mouth of the hub. Leave "
                "it out, or describe the beam by several sliding links.",
                "section",
                "stations",
            )
        if self.section.shears:
            raise fault(
                "a sliding link cannot shear, since its shapes have no shear deflection. Leave the "
                "shear stiffness out.",
                "section",
            )
        if self.root_piece is not None and not self.flexible:
            raise fault(
                "a rigid link that slides moves as a whole, so it has no root piece. Leave "
                "root_piece out.",
                "root_piece",
            )
        if isinstance(self.shapes, Tabulated):
            raise fault(
                "tabulated shapes are for one length, and a sliding link changes its "
                "length. Choose other shapes.",
                "shapes",
            )
        if isinstance(self.shapes, Lumped | PinnedFree | PinnedPinned):
            raise fault(
                "{kind} shapes do not fit a beam that is clamped where it leaves its hub. "
                "Choose other shapes.",
                "shapes",
                kind=self.shapes.kind,
            )
        if isinstance(self.shapes, Elements):
            for name in ("bending_y", "bending_z", "torsion", "stretch"):
                count = getattr(self.shapes, name)
                if count != "auto" and count > MOST_SLIDING_ELEMENTS:
                    raise fault(
                        "a sliding link takes at most {most} elements in a direction, since its "
                        "elements are reduced to modes at many lengths",
                        "shapes",
                        name,
                        most=MOST_SLIDING_ELEMENTS,
                    )
        if self.quadratic_shapes:
            raise fault(
                "quadratic_shapes are for links of constant length. Leave them out.",
                "quadratic_shapes",
            )
        self._check_exposed_range(joint)
        start = joint.start.position
        if joint.actuation != "prescribed" and (start is None or not 0 < start <= self.span):
            raise fault(
                "the exposed length must start above 0 and at most at {span} m. Give "
                "joint.start.position.",
                "joint",
                "start",
                "position",
                span=self.span,
            )

    def _check_exposed_range(self, joint: Sliding) -> None:
        limits = joint.limits
        if limits is None:
            return
        if limits.upper is not None and limits.upper > self.span * (1 + 1e-12):
            raise fault(
                "the upper limit is beyond the length of the sliding beam",
                "joint",
                "limits",
                "upper",
            )
        if limits.lower is not None and not 0 <= limits.lower < self.span:
            raise fault(
                "the lower limit must be between 0 and the length of the sliding beam",
                "joint",
                "limits",
                "lower",
            )
        start = joint.start.position
        low, high = limits.lower or 0.0, self.span if limits.upper is None else limits.upper
        if start is not None and not low <= start <= high:
            raise fault("the start is outside the joint's limits", "joint", "start", "position")

    def _check_spans(self) -> None:
        """Raise a validation error for keys that a link of several spans cannot have."""
        if isinstance(self.joint, Sliding):
            raise fault(
                "a sliding link is one span, since its length changes. Leave 'spans' out.", "spans"
            )
        if self.modal is not None:
            raise fault("a body with modes has no spans. Leave 'spans' out.", "spans")
        if isinstance(self.shapes, FreeFree | Lumped | PinnedFree | PinnedPinned | Tabulated):
            raise fault(
                "{kind} shapes do not fit spans that are joined rigidly. Choose other shapes.",
                "shapes",
                kind=self.shapes.kind,
            )
        for name in ("elastic_energy", "elastic_force", "quadratic_shapes", "mesh"):
            if getattr(self, name):
                raise fault(
                    "'{key}' is for a link of one span. Leave '{key}' or 'spans' out.",
                    name,
                    key=name,
                )
        losses = self.material_damping
        by_mode = losses is not None and any(
            losses.along(direction).loss_factor for direction in ("x", "y", "z", "twist")
        )
        if any(self.damping_ratios) or by_mode:
            raise fault(
                "damping ratios and loss factors are of the modes of a whole link, which its spans "
                "do not have. Give material_damping by 'time'.",
                "material_damping" if by_mode else "damping",
            )
        for key in ("start", "start_speed"):
            for name in getattr(self, key):
                number = name.partition(".")[0]
                if not (number.isdecimal() and 1 <= int(number) <= self.spans and "." in name):
                    raise fault(
                        "amplitudes of a link of {count} spans begin with the number of the span, "
                        "such as 2.y1",
                        key,
                        name,
                        count=self.spans,
                    )

    def _check_start_curve(self, curve: StartCurve) -> None:
        if isinstance(self.joint, Sliding):
            raise fault(
                "a start_curve is for links that do not slide. Give 'start' instead.", "start_curve"
            )
        if self.start:
            raise fault(
                "the start is given by amplitudes already. Leave 'start' or 'start_curve' out.",
                "start_curve",
            )
        if max(curve.stations) > self.span:
            raise fault("the stations of a start_curve must lie along the flexible span of "
                        "{span} m", "start_curve", "stations",
                        span=f"{self.span:g}")  # fmt: skip

    def _check_rigid(self) -> None:
        """Raise a validation error for keys that only flexible links have."""
        for name in (
            "damping",
            "material_damping",
            "elastic_energy",
            "elastic_force",
            "quadratic_shapes",
            "start",
            "start_speed",
            "start_curve",
            "spans",
        ):
            if name in self.model_fields_set:
                raise fault(
                    "'{key}' is for flexible links only. Leave it out, or give the link a section.",
                    name,
                    key=name,
                )
