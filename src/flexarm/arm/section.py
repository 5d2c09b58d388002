"""What a link is made of: stiffness, mass and rotary inertia along its length."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from flexarm.arm.part import Flag, Part, fault
from flexarm.units import (
    AxialStiffness,
    BendingStiffness,
    Density,
    Length,
    MassPerLength,
    Ratio,
    RotaryPerLength,
    Stress,
)

PositiveLength = Annotated[Length, Field(gt=0)]


class Properties(Part):
    """Section properties by number; a stiffness left out is rigid.

    Bending about the section's y axis (``EIy``) moves the link along z, bending about z
    (``EIz``) along y.  ``Jx, Jy, Jz`` are the rotary inertia per length about the section axes.
    """

    mass_per_length: Annotated[MassPerLength, Field(gt=0)] | None = None
    EIy: Annotated[BendingStiffness, Field(gt=0)] | None = None
    EIz: Annotated[BendingStiffness, Field(gt=0)] | None = None
    GJ: Annotated[BendingStiffness, Field(gt=0)] | None = None
    EA: Annotated[AxialStiffness, Field(gt=0)] | None = None
    Jx: Annotated[RotaryPerLength, Field(ge=0)] = 0.0
    Jy: Annotated[RotaryPerLength, Field(ge=0)] = 0.0
    Jz: Annotated[RotaryPerLength, Field(ge=0)] = 0.0


class Material(Part):
    """An isotropic material; give ``nu`` or ``G`` (nu = 0.3 if neither)."""

    E: Annotated[Stress, Field(gt=0)]
    density: Annotated[Density, Field(gt=0)]
    nu: Annotated[Ratio, Field(gt=-1, le=0.5)] | None = None
    G: Annotated[Stress, Field(gt=0)] | None = None

    @model_validator(mode="after")
    def _one_shear_modulus(self) -> Self:
        if self.nu is not None and self.G is not None:
            raise fault("give nu or G, not both: one follows from the other", "nu")
        return self


class Rectangle(Part):
    """Solid rectangle, ``width`` along y, ``height`` along z."""

    kind: Literal["rectangle"]
    width: PositiveLength
    height: PositiveLength


class Tube(Part):
    """Round tube; without ``thickness`` a solid rod."""

    kind: Literal["tube"]
    diameter: PositiveLength
    thickness: PositiveLength | None = None

    @model_validator(mode="after")
    def _wall_fits(self) -> Self:
        if self.thickness is not None and 2 * self.thickness > self.diameter:
            raise fault("is more than half the diameter", "thickness")
        return self


class Box(Part):
    """Rectangular tube, ``width`` along y, ``height`` along z, one wall thickness."""

    kind: Literal["box"]
    width: PositiveLength
    height: PositiveLength
    thickness: PositiveLength

    @model_validator(mode="after")
    def _wall_fits(self) -> Self:
        if 2 * self.thickness >= min(self.width, self.height):
            raise fault("leaves no hollow: use a rectangle", "thickness")
        return self


class IBeam(Part):
    """I-section: flanges of ``width`` along y, ``height`` along z overall."""

    kind: Literal["I"]
    width: PositiveLength
    height: PositiveLength
    flange: PositiveLength
    web: PositiveLength

    @model_validator(mode="after")
    def _parts_fit(self) -> Self:
        if 2 * self.flange >= self.height:
            raise fault("is half the height or more: no web is left", "flange")
        if self.web > self.width:
            raise fault("is wider than the flange", "web")
        return self


Outline = Annotated[Rectangle | Tube | Box | IBeam, Field(discriminator="kind")]


class Station(Properties):
    """Section properties at a distance ``at`` from the root of the flexible span."""

    at: Annotated[Length, Field(ge=0)]


class Section(Properties):
    """A link's section: numbers, or material and shape, or a table of stations.

    ``rotary_inertia: false`` leaves the bending rotary inertia (Jy, Jz) of a shape out, which is
    Euler-Bernoulli theory to the letter.
    """

    material: Material | None = None
    shape: Outline | None = None
    rotary_inertia: Flag = True
    stations: Annotated[tuple[Station, ...], Field(min_length=2, max_length=2000)] | None = None

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        numbers = sorted(self.model_fields_set & Properties.model_fields.keys())
        if (self.material is None) != (self.shape is None):
            missing = "shape" if self.shape is None else "material"
            raise fault("material and shape go together: {missing} is missing", missing=missing)
        forms = [bool(numbers), self.shape is not None, self.stations is not None]
        if sum(forms) != 1:
            raise fault(
                "give the section in one way: by numbers (mass_per_length, EIz, ...), "
                "by material and shape, or by stations"
            )
        if numbers and self.mass_per_length is None:
            raise fault("mass_per_length is required")
        self._check_stations()
        return self

    def _check_stations(self) -> None:
        if self.stations is None:
            return
        given = [s.model_fields_set for s in self.stations]
        for i, station in enumerate(self.stations):
            if station.mass_per_length is None:
                raise fault("mass_per_length is required at every station", "stations", i)
            if given[i] != given[0]:
                odd = sorted(given[i] ^ given[0])[0]
                raise fault("every station must give {odd}, or none", "stations", i, odd=odd)
            if i and station.at < self.stations[i - 1].at:
                raise fault("stations must be in order from the root", "stations", i, "at")
            if i > 1 and station.at == self.stations[i - 2].at:
                raise fault("at most two stations (a jump) at one place", "stations", i, "at")
        if self.stations[0].at != 0.0:
            raise fault("the first station must be at 0, the root", "stations", 0, "at")
