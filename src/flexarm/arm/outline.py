"""Outlines of a link's section, and their areas and moments."""

import math
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from flexarm.arm.part import Part, fault
from flexarm.units import Length

PositiveLength = Annotated[Length, Field(gt=0)]


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


def rectangle_torsion(width: float, height: float) -> float:
    """Saint-Venant torsion constant [m^4] of a solid rectangle.

    Notes
    -----
    Timoshenko & Goodier, Theory of Elasticity: the series in odd n of tanh(n pi a/2b)/n^5, summed
    as its limit 31 zeta(5)/32 and what tanh falls short of 1.
    """
    import numpy as np

    a, b = max(width, height), min(width, height)
    odd = np.arange(1, 41, 2)
    short = np.sum((np.tanh(odd * math.pi * a / (2 * b)) - 1) / odd**5)
    series = 31 / 32 * 1.0369277551433699 + float(short)
    return a * b**3 / 3 * (1 - 192 / math.pi**5 * b / a * series)


def section_numbers(shape: "Outline") -> tuple[float, float, float, float]:
    """Area [m^2], second moments about y and z and torsion constant [m^4] of a shape."""
    if isinstance(shape, Rectangle):
        b, h = shape.width, shape.height
        return b * h, b * h**3 / 12, h * b**3 / 12, rectangle_torsion(b, h)
    if isinstance(shape, Tube):
        outer = shape.diameter
        inner = 0.0 if shape.thickness is None else outer - 2 * shape.thickness
        second = math.pi / 64 * (outer**4 - inner**4)
        return math.pi / 4 * (outer**2 - inner**2), second, second, 2 * second
    if isinstance(shape, Box):
        b, h, t = shape.width, shape.height, shape.thickness
        bi, hi = b - 2 * t, h - 2 * t
        bm, hm = b - t, h - t
        torsion = 2 * t * (bm * hm) ** 2 / (bm + hm)  # Bredt, thin closed wall
        return b * h - bi * hi, (b * h**3 - bi * hi**3) / 12, (h * b**3 - hi * bi**3) / 12, torsion
    b, h, f, w = shape.width, shape.height, shape.flange, shape.web
    web_height = h - 2 * f
    area = 2 * b * f + web_height * w
    about_y = (b * h**3 - (b - w) * web_height**3) / 12
    about_z = (2 * f * b**3 + web_height * w**3) / 12
    torsion = (2 * b * f**3 + web_height * w**3) / 3  # thin open wall
    return area, about_y, about_z, torsion
