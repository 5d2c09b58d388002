"""Sections of links: outline, stiffness, mass and rotary inertia along the length."""

import math
from typing import Annotated, Any, Literal, Self

from pydantic import Field, ValidationError, model_validator

from flexarm.arm.constants import MOST_CHANGE, MOST_SECTION_STATIONS
from flexarm.arm.part import Flag, NotNegative, Part, Positive, fault
from flexarm.units import (
    AxialStiffness,
    BendingStiffness,
    Density,
    Length,
    MassPerLength,
    Ratio,
    RotaryPerLength,
    Stress,
    Time,
)


class Rectangle(Part):
    """Solid rectangle, ``width`` along y, ``height`` along z."""

    kind: Literal["rectangle"]
    width: Positive[Length]
    height: Positive[Length]


class Tube(Part):
    """Round tube; without ``thickness`` a solid rod."""

    kind: Literal["tube"]
    diameter: Positive[Length]
    thickness: Positive[Length] | None = None

    @model_validator(mode="after")
    def _wall_fits(self) -> Self:
        if self.thickness is not None and 2 * self.thickness > self.diameter:
            raise fault(
                "the wall is thicker than half the diameter. Give a smaller thickness.", "thickness"
            )
        return self


class RectangularTube(Part):
    """Rectangular tube, ``width`` along y, ``height`` along z; all walls have ``thickness``."""

    kind: Literal["box"]
    width: Positive[Length]
    height: Positive[Length]
    thickness: Positive[Length]

    @model_validator(mode="after")
    def _wall_fits(self) -> Self:
        if 2 * self.thickness >= min(self.width, self.height):
            raise fault(
                "the walls leave no hollow inside. Use a rectangle, or a smaller thickness.",
                "thickness",
            )
        return self


class IBeam(Part):
    """I-section: flanges of ``width`` along y, ``height`` along z overall."""

    kind: Literal["I"]
    width: Positive[Length]
    height: Positive[Length]
    flange: Positive[Length]
    web: Positive[Length]

    @model_validator(mode="after")
    def _parts_fit(self) -> Self:
        if 2 * self.flange >= self.height:
            raise fault(
                "two flanges of this thickness leave no web between them. Give a flange "
                "below half the height.",
                "flange",
            )
        if self.web > self.width:
            raise fault("the web is wider than the flange. Give a smaller web.", "web")
        return self


Outline = Annotated[Rectangle | Tube | RectangularTube | IBeam, Field(discriminator="kind")]


def rectangle_torsion(width: float, height: float) -> float:
    """Compute the Saint-Venant torsion constant [m^4] of a solid rectangle.

    The constant contains the series over odd n of tanh(n pi a/2b)/n^5 (Timoshenko & Goodier, Theory
    of Elasticity), with long side a and short side b. The series is computed as 31 zeta(5)/32 plus
    the sum of (tanh(n pi a/2b) - 1)/n^5, which converges fast.
    """
    import numpy as np

    a, b = max(width, height), min(width, height)
    orders = np.arange(1, 41, 2)
    correction = np.sum((np.tanh(orders * math.pi * a / (2 * b)) - 1) / orders**5)
    series = 31 / 32 * 1.0369277551433699 + float(correction)
    return a * b**3 / 3 * (1 - 192 / math.pi**5 * b / a * series)


def section_numbers(shape: "Outline") -> tuple[float, float, float, float]:
    """Compute area [m^2], second moments about y and z, and torsion constant [m^4] of a shape."""
    if isinstance(shape, Rectangle):
        b, h = shape.width, shape.height
        return b * h, b * h**3 / 12, h * b**3 / 12, rectangle_torsion(b, h)
    if isinstance(shape, Tube):
        outer = shape.diameter
        inner = 0.0 if shape.thickness is None else outer - 2 * shape.thickness
        second = math.pi / 64 * (outer**4 - inner**4)
        return math.pi / 4 * (outer**2 - inner**2), second, second, 2 * second
    if isinstance(shape, RectangularTube):
        b, h, t = shape.width, shape.height, shape.thickness
        bi, hi = b - 2 * t, h - 2 * t
        bm, hm = b - t, h - t
        torsion = 2 * t * (bm * hm) ** 2 / (bm + hm)  # Bredt's formula for a thin closed wall
        return b * h - bi * hi, (b * h**3 - bi * hi**3) / 12, (h * b**3 - hi * bi**3) / 12, torsion
    b, h, f, w = shape.width, shape.height, shape.flange, shape.web
    web_height = h - 2 * f
    area = 2 * b * f + web_height * w
    about_y = (b * h**3 - (b - w) * web_height**3) / 12
    about_z = (2 * f * b**3 + web_height * w**3) / 12
    torsion = (2 * b * f**3 + web_height * w**3) / 3  # thin open wall
    return area, about_y, about_z, torsion


class Properties(Part):
    """Section properties given as numbers; omitted stiffnesses are infinite.

    Bending about the section's y axis (``EIy``) moves the link along z, bending about z
    (``EIz``) along y.  ``GAy, GAz`` are the shear stiffnesses kappa G A along y and z (Timoshenko);
    ``Jx, Jy, Jz`` are the rotary inertia per length about the section axes.
    """

    mass_per_length: Positive[MassPerLength] | None = None
    EIy: Positive[BendingStiffness] | None = None
    EIz: Positive[BendingStiffness] | None = None
    GJ: Positive[BendingStiffness] | None = None
    EA: Positive[AxialStiffness] | None = None
    GAy: Positive[AxialStiffness] | None = None
    GAz: Positive[AxialStiffness] | None = None
    Jx: NotNegative[RotaryPerLength] = 0.0
    Jy: NotNegative[RotaryPerLength] = 0.0
    Jz: NotNegative[RotaryPerLength] = 0.0


# Young's modulus, density and Poisson's ratio of named materials, in the format of a model file.
MATERIALS = {
    "aluminium": "{E: 69 GPa, density: 2700, nu: 0.33}",
    "steel": "{E: 210 GPa, density: 7850, nu: 0.3}",
    "titanium": "{E: 114 GPa, density: 4430, nu: 0.34}",
    "carbon": "{E: 120 GPa, density: 1600, nu: 0.3}",
}


class Material(Part):
    """An isotropic material, with ``nu`` or ``G``; if neither is given, nu = 0.3."""

    E: Positive[Stress]
    density: Positive[Density]
    nu: Annotated[Ratio, Field(gt=-1, le=0.5)] | None = None
    G: Positive[Stress] | None = None

    @model_validator(mode="before")
    @classmethod
    def _is_no_name(cls, value: Any) -> Any:
        if isinstance(value, str):
            numbers = MATERIALS.get(value.strip().lower().replace("aluminum", "aluminium"))
            example = f", for {value} {numbers}" if numbers else ": {E: 69 GPa, density: 2700}"
            raise fault(
                "a material is given by its numbers, not by a name{example}", example=example
            )
        return value

    @model_validator(mode="after")
    def _one_shear_modulus(self) -> Self:
        if self.nu is not None and self.G is not None:
            raise fault(
                "nu and G are both given, and each follows from the other and E. Give one of them.",
                "nu",
            )
        return self


def shear_coefficient(shape: Outline, nu: float, *, along_y: bool) -> float:
    """Return the shear coefficient kappa of a section for a shear force along y or z.

    The coefficient is 5/6 for a rectangle and Cowper's value (1966) for a round tube. For
    thin-walled sections the coefficient is the area of the walls along the force divided by the
    whole area.
    """
    if isinstance(shape, Rectangle):
        return 5 / 6
    if isinstance(shape, Tube):
        ratio = 0.0 if shape.thickness is None else 1 - 2 * shape.thickness / shape.diameter
        square = (1 + ratio**2) ** 2
        return 6 * (1 + nu) * square / ((7 + 6 * nu) * square + (20 + 12 * nu) * ratio**2)
    if isinstance(shape, RectangularTube):
        along, across = (shape.width, shape.height) if along_y else (shape.height, shape.width)
        return along / (along + across - 2 * shape.thickness)
    flanges, web = 2 * shape.flange * shape.width, shape.web * (shape.height - 2 * shape.flange)
    return (5 / 6 * flanges if along_y else web) / (flanges + web)


def shape_properties(
    material: Material, shape: Outline, *, rotary: bool, shear: bool | float = False
) -> Properties:
    """Return the section properties of a material and an outline.

    Shear stiffness is included if requested by ``shear``. A ValidationError is raised if a property
    is implausible for an arm, or is 0 due to rounding.
    """
    area, about_y, about_z, torsion = section_numbers(shape)
    nu = 0.3 if material.nu is None else material.nu
    rigidity = material.E / (2 * (1 + nu)) if material.G is None else material.G
    shear_stiffnesses: dict[str, float] = {}
    for name, along_y in (("GAy", True), ("GAz", False)) if shear else ():
        kappa = shear_coefficient(shape, nu, along_y=along_y) if shear is True else shear
        shear_stiffnesses[name] = kappa * rigidity * area
    properties: dict[str, Any] = shear_stiffnesses | {
        "mass_per_length": material.density * area,
        "EIy": material.E * about_y,
        "EIz": material.E * about_z,
        "GJ": rigidity * torsion,
        "EA": material.E * area,
        "Jx": material.density * (about_y + about_z),
        "Jy": material.density * about_y if rotary else 0.0,
        "Jz": material.density * about_z if rotary else 0.0,
    }
    return Properties(**properties)


class Station(Properties):
    """Section properties at a distance ``at`` from the root of the flexible span."""

    at: NotNegative[Length]


class Section(Properties):
    """A link's section: numbers, or material and shape, or a table of stations.

    ``rotary_inertia: false`` omits the rotary inertia of bending (Jy, Jz) of a shape, as in
    Euler-Bernoulli theory. ``shear: true`` adds the shear stiffness of a shape, as in Timoshenko
    theory; a number is the shear coefficient kappa.
    """

    material: Material | None = None
    shape: Outline | None = None
    rotary_inertia: Flag = True
    shear: Flag | Annotated[Ratio, Field(gt=0, le=1)] = False
    stations: (
        Annotated[tuple[Station, ...], Field(min_length=2, max_length=MOST_SECTION_STATIONS)] | None
    ) = None

    @property
    def shears(self) -> bool:
        """Whether the section deforms in shear."""
        properties = self if self.stations is None else self.stations[0]
        return bool(self.shear) or (properties.GAy, properties.GAz) != (None, None)

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        numbers = sorted(self.model_fields_set & Properties.model_fields.keys())
        if (self.material is None) != (self.shape is None):
            missing = "shape" if self.shape is None else "material"
            raise fault(
                "a section by material and shape needs both. Give {missing} too.", missing=missing
            )
        forms = [bool(numbers), self.shape is not None, self.stations is not None]
        if sum(forms) != 1:
            raise fault(
                "give the section in one way: by numbers (mass_per_length, EIz, ...), "
                "by material and shape, or by stations"
            )
        if numbers and self.mass_per_length is None:
            raise fault("the section needs mass_per_length")
        if self.shear and self.shape is None:
            raise fault(
                "'shear' is for a section by material and shape. Give the shear "
                "stiffnesses GAy and GAz by number instead.",
                "shear",
            )
        if self.material is not None and self.shape is not None:
            self._check_shape(self.material, self.shape)
        if self.stations is not None:
            self._check_stations(self.stations)
        return self

    def _check_shape(self, material: Material, shape: Outline) -> None:
        """Raise a validation error if the section properties are implausible for an arm."""
        try:
            shape_properties(material, shape, rotary=self.rotary_inertia, shear=self.shear)
        except ValidationError as error:
            problem = error.errors(include_url=False)[0]
            raise fault(
                "the shape and material give {name} = {value}, which is beyond the size "
                "of any arm. Check the dimensions and their units.",
                "shape",
                name=problem["loc"][0],
                value=f"{problem['input']:g}",
            ) from None

    def _check_stations(self, stations: tuple[Station, ...]) -> None:
        keys_by_station = [
            {name for name in Station.model_fields if getattr(s, name) is not None}
            for s in stations
        ]
        for i, station in enumerate(stations):
            if station.mass_per_length is None:
                raise fault("every station of a section needs mass_per_length", "stations", i)
            if keys_by_station[i] != keys_by_station[0]:
                key = sorted(keys_by_station[i] ^ keys_by_station[0])[0]
                raise fault(
                    "{odd} is given at some stations only. Give it at every station, or at none.",
                    "stations",
                    i,
                    odd=key,
                )
            if i and station.at < stations[i - 1].at:
                raise fault(
                    "the stations of a section must be in order from the root to the tip",
                    "stations",
                    i,
                    "at",
                )
            if i > 1 and station.at == stations[i - 2].at:
                raise fault(
                    "at most two stations of a section may be at the same place, where it jumps",
                    "stations",
                    i,
                    "at",
                )
        if stations[0].at != 0.0:
            raise fault(
                "the first station of a section must be at 0, the root", "stations", 0, "at"
            )
        for name in sorted(keys_by_station[0] - {"at"}):
            values = [getattr(station, name) for station in stations]
            smallest = min((value for value in values if value), default=0.0)
            if max(values) > MOST_CHANGE * smallest:
                raise fault(
                    "'{key}' is more than {most} times that of another station. "
                    "Split the link into several, or make a part of it rigid.",
                    "stations",
                    values.index(max(values)),
                    name,
                    key=name,
                    most=f"{MOST_CHANGE:g}",
                )


class Loss(Part):
    """Damping of a material in one direction: Kelvin-Voigt time constant [s], or loss factor.

    With the time constant ``time``, stress is ``E (strain + time strain rate)``. With a
    ``loss_factor`` eta, every mode has the damping ratio eta/2.
    """

    time: NotNegative[Time] | None = None
    loss_factor: Annotated[Ratio, Field(ge=0, lt=1)] | None = None

    @model_validator(mode="after")
    def _says_one(self) -> Self:
        if self.time is not None and self.loss_factor is not None:
            raise fault(
                "the damping is given twice. Give time or loss_factor, not both.", "loss_factor"
            )
        return self


class MaterialDamping(Loss):
    """Damping of a link's material, for all directions of deformation or for single ones."""

    bending_y: Loss | None = None
    bending_z: Loss | None = None
    torsion: Loss | None = None
    stretch: Loss | None = None

    def along(self, direction: Literal["x", "y", "z", "twist"]) -> Loss:
        """Return the material damping for one direction of deformation."""
        losses = {
            "x": self.stretch,
            "y": self.bending_y,
            "z": self.bending_z,
            "twist": self.torsion,
        }
        return losses[direction] or self
