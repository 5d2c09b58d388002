"""Parser of quantities with units: text such as "250 mm" to SI, with a check of the dimension."""

import difflib
import math
import re
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from numbers import Real
from typing import Annotated, Any, NamedTuple

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import PydanticCustomError, core_schema

from flexarm.constants import LARGEST_NUMBER, QUANTITY_LENGTH, SMALLEST_NUMBER
from flexarm.errors import ModelError


class Dimension(NamedTuple):
    """Physical dimension as exponents of kg, m, s, rad and A."""

    kg: int = 0
    m: int = 0
    s: int = 0
    rad: int = 0
    A: int = 0


class Scale(NamedTuple):
    """A unit as dimension and exact SI factor, so that "3 mm" is rounded only once."""

    factor: Fraction
    dimension: Dimension


_ONE, _MILLI, _DEGREE = Fraction(1), Fraction(1, 1000), Fraction(math.pi) / 180
_FORCE = Dimension(kg=1, m=1, s=-2)
_STRESS = Dimension(kg=1, m=-1, s=-2)
_PREFIXES = {"n": -9, "u": -6, "µ": -6, "m": -3, "c": -2, "d": -1, "k": 3, "M": 6, "G": 9, "T": 12}

_PREFIXED = {  # units that take an SI prefix
    "m": Scale(_ONE, Dimension(m=1)),
    "g": Scale(_MILLI, Dimension(kg=1)),
    "s": Scale(_ONE, Dimension(s=1)),
    "N": Scale(_ONE, _FORCE),
    "Nm": Scale(_ONE, Dimension(kg=1, m=2, s=-2)),
    "J": Scale(_ONE, Dimension(kg=1, m=2, s=-2)),
    "W": Scale(_ONE, Dimension(kg=1, m=2, s=-3)),
    "Pa": Scale(_ONE, _STRESS),
    "Hz": Scale(_ONE, Dimension(s=-1)),
    "rad": Scale(_ONE, Dimension(rad=1)),
    "A": Scale(_ONE, Dimension(A=1)),
    "V": Scale(_ONE, Dimension(kg=1, m=2, s=-3, A=-1)),
    "ohm": Scale(_ONE, Dimension(kg=1, m=2, s=-3, A=-2)),
    "H": Scale(_ONE, Dimension(kg=1, m=2, s=-2, A=-2)),
}

_UNITS = {
    **_PREFIXED,
    **{
        prefix + name: Scale(Fraction(10) ** tens * scale.factor, scale.dimension)
        for name, scale in _PREFIXED.items()
        for prefix, tens in _PREFIXES.items()
    },
    "1": Scale(_ONE, Dimension()),
    "%": Scale(Fraction(1, 100), Dimension()),
    "deg": Scale(_DEGREE, Dimension(rad=1)),
    "°": Scale(_DEGREE, Dimension(rad=1)),
    "rev": Scale(360 * _DEGREE, Dimension(rad=1)),
    "rpm": Scale(6 * _DEGREE, Dimension(rad=1, s=-1)),
    "min": Scale(Fraction(60), Dimension(s=1)),
    "h": Scale(Fraction(3600), Dimension(s=1)),
    "t": Scale(Fraction(1000), Dimension(kg=1)),
    "bar": Scale(Fraction(100_000), _STRESS),
    "in": Scale(Fraction("0.0254"), Dimension(m=1)),
    "ft": Scale(Fraction("0.3048"), Dimension(m=1)),
    "lb": Scale(Fraction("0.45359237"), Dimension(kg=1)),
    "lbf": Scale(Fraction("4.4482216152605"), _FORCE),
    "psi": Scale(Fraction("4.4482216152605") / Fraction("0.0254") ** 2, _STRESS),
}

_WORDS = {  # names of units, and the symbols to write instead
    "meter": "m", "metre": "m", "millimeter": "mm", "millimetre": "mm", "inch": "in", "feet": "ft",
    "foot": "ft", "gram": "g", "kilogram": "kg", "kilo": "kg", "pound": "lb", "tonne": "t",
    "ton": "t", "sec": "s", "second": "s", "minute": "min", "hour": "h", "hr": "h", "newton": "N",
    "pascal": "Pa", "joule": "J", "watt": "W", "hertz": "Hz", "degree": "deg", "radian": "rad",
    "turn": "rev", "revolution": "rev", "percent": "%", "ampere": "A", "volt": "V", "henry": "H",
}  # fmt: skip

_QUANTITIES = {  # SI unit: name of the quantity, and examples
    "1": ("ratio", ("0.02", "2 %")),
    "m": ("length", ("0.5 m", "500 mm")),
    "kg": ("mass", ("1.5 kg", "1500 g")),
    "s": ("time", ("0.5 s", "500 ms")),
    "rad": ("angle", ("1.2 rad", "90 deg")),
    "m/s": ("speed", ("0.5 m/s", "500 mm/s")),
    "rad/s": ("angular speed", ("1.2 rad/s", "30 rpm")),
    "m/s^2": ("acceleration", ("-9.81 m/s^2",)),
    "rad/s^2": ("angular acceleration", ("1.2 rad/s^2", "30 deg/s^2")),
    "Hz": ("frequency", ("2.5 Hz", "2.5 1/s")),
    "1/s": ("rate", ("5 1/s",)),
    "1/s^2": ("stiffness per inertia", ("25 1/s^2",)),
    "N": ("force", ("20 N", "0.02 kN")),
    "N m": ("torque", ("5 N m", "5000 N mm")),
    "N m/rad": ("stiffness of a turning joint", ("1e4 N m/rad", "200 N m/deg")),
    "N m s/rad": ("damping of a turning joint", ("0.3 N m s/rad",)),
    "N/m": ("stiffness of a sliding joint", ("1e5 N/m", "100 N/mm")),
    "N s/m": ("damping of a sliding joint", ("20 N s/m",)),
    "s/m": ("damping of a contact", ("0.5 s/m",)),
    "Pa": ("stress", ("7e10 Pa", "70 GPa")),
    "kg/m^3": ("density", ("2700 kg/m^3", "2.7 g/cm^3")),
    "kg/m": ("mass per length", ("0.3 kg/m", "300 g/m")),
    "kg m^2": ("inertia", ("0.02 kg m^2", "200 kg cm^2")),
    "kg m": ("rotary inertia per length", ("1e-4 kg m",)),
    "N m^2": ("bending stiffness", ("120 N m^2",)),
    "A": ("current", ("2 A", "500 mA")),
    "V": ("voltage", ("24 V",)),
    "ohm": ("resistance", ("0.8 ohm", "800 mohm")),
    "H": ("inductance", ("1e-3 H", "1 mH")),
    "N m/A": ("torque constant", ("0.05 N m/A", "50 mN m/A")),
    "rad/m": ("gear ratio of a sliding joint", ("1257 rad/m", "200 rev/m")),
    "m^2": ("area", ("1e-4 m^2", "100 mm^2")),
    "m^4": ("second moment of area", ("1e-8 m^4", "10000 mm^4")),
}

_BOUNDS = {
    "gt": "exclusiveMinimum", "ge": "minimum", "lt": "exclusiveMaximum", "le": "maximum"
}  # fmt: skip
_SYMBOL = "flexarm_unit"  # key of the unit in the metadata of a schema
_NUMBER = re.compile(r"([-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))(?:[eE]([-+]?[0-9]+))?")
_FACTOR = re.compile(r" ?([*/]?) ?([A-Za-zµ°%]+|1(?![0-9]))(?: ?\^ ?([-+]?[0-9])|([-+]?[0-9]))?")
_SPELLINGS = str.maketrans(
    {"·": "*", "⋅": "*", "μ": "µ", "−": "-", "²": "^2", "³": "^3", "⁴": "^4"}
)


def quantity(value: object, unit: str, *, name: str = "") -> float:
    """Return a number, or text with a number and a unit, as a number in an SI unit.

    value: a number in SI units, or text such as ``"250 mm"`` or ``"1e3 N*m/rad"``.

    unit: expected SI unit, such as ``"m"`` or ``"N m/rad"``.

    name: name of the quantity in messages; if empty, the name that belongs to the unit.

    Returns the value in `unit`.

    ModelError: if the value is no number, not finite, or has a unit of another dimension.

    Radians may be omitted from a longer unit ("N m" for "N m/rad"), but not added. Radians must not
    be omitted from angles and angular rates: "5 Hz" is not accepted for 5 rad/s.
    """
    if isinstance(value, str):
        number = _read(value, unit, name)
    elif isinstance(value, bool) or not isinstance(value, Real):
        raise ModelError(f"{_kind(value)} is not a number; {_expected(unit, name)}")
    else:
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            raise ModelError(f"the number must be finite; {_expected(unit, name)}")
        if abs(number) < SMALLEST_NUMBER:
            return 0.0  # the result is 0 except for rounding
    if number and not SMALLEST_NUMBER <= abs(number) <= LARGEST_NUMBER:
        raise ModelError(f"{number:g} is beyond the size of any arm; {_expected(unit, name)}")
    return number


def _read(text: str, unit: str, name: str) -> float:
    if len(text) > QUANTITY_LENGTH:
        raise ModelError(
            f"a text of {len(text)} characters is not a number; {_expected(unit, name)}"
        )
    tidy = " ".join(text.translate(_SPELLINGS).split())
    match = _NUMBER.match(tidy)
    if match is None:
        raise ModelError(f"{_quoted(text)} is not a number with a unit; {_expected(unit, name)}")
    rest = tidy[match.end() :].strip()
    if rest.startswith((",", "_", "'")):
        raise ModelError(
            f"{_quoted(text)}: write the number with a point and no separators, like 1250.5"
        )
    factor = _factor(text, rest, unit, name) if rest else _ONE
    # With at most 100 characters, every number beyond these exponents is 0 or infinite.
    exponent = max(-1000, min(int(match[2] or 0), 1000))
    try:
        return float(Fraction(match[1]) * Fraction(10) ** exponent * factor)
    except OverflowError:
        raise ModelError(f"{_quoted(text)} is too large; {_expected(unit, name)}") from None


def _factor(text: str, written: str, unit: str, name: str) -> Fraction:
    expected_dimension = _scale(unit).dimension
    try:
        factor, dimension = _scale(written)
    except ValueError as error:
        hint = _suggestion(error.args[1], expected_dimension) if len(error.args) > 1 else ""
        raise ModelError(
            f"{_quoted(text)}: {error.args[0]}{hint}; {_expected(unit, name)}"
        ) from None
    # Radians may be omitted only in the denominator beside a mass or a length, as in N m/rad. In
    # rad/m they distinguish radians from turns.
    left_out = (
        dimension.rad == 0
        and expected_dimension.rad < 0
        and (expected_dimension.kg, expected_dimension.m) != (0, 0)
    )
    if dimension[:3] == expected_dimension[:3] and (
        dimension.rad == expected_dimension.rad or left_out
    ):
        return factor
    quantity = next((_named(u) for u in _QUANTITIES if _scale(u).dimension == dimension), None)
    is_what = f"is {quantity}" if quantity else f"has the unit [{written}]"
    if (
        quantity is None
        and expected_dimension.rad > 0
        and dimension == expected_dimension._replace(rad=0)
    ):
        is_what += ", which does not say whether radians, turns or degrees"
    if all(a == -b for a, b in zip(dimension, expected_dimension, strict=True)) and any(
        expected_dimension
    ):
        is_what += ", the inverse of the expected unit; write 1 over it"
    raise ModelError(f"{_quoted(text)} {is_what}; {_expected(unit, name)}")


@lru_cache(maxsize=256)
def _scale(expression: str) -> Scale:
    text = expression.replace("**", "^")
    factor, dimension, position, divided = _ONE, Dimension(), 0, False
    while position < len(text):
        match = _FACTOR.match(text, position)
        if match is None or (match[1] == "*" and position == 0):
            raise ValueError(_misread(text[position:]))
        if divided and match[1] != "/":
            raise ValueError(
                "a product after a '/' can be read in two ways; put the product first (N m "
                "s/rad), or every divisor after its own '/' (N/m/s)"
            )
        divided = match[1] == "/"
        if match[2] not in _UNITS:
            raise ValueError(f"there is no unit '{match[2]}'", match[2])
        unit = _UNITS[match[2]]
        power = int(match[3] or match[4] or 1) * (-1 if divided else 1)
        factor *= unit.factor**power
        old, new = dimension, unit.dimension
        dimension = Dimension(*(a + power * b for a, b in zip(old, new, strict=True)))
        position = match.end()
    return Scale(factor, dimension)


def _misread(rest: str) -> str:
    if rest.lstrip(" */").startswith(("(", ")")):
        return "parentheses are not understood; write every divisor after its own '/', like kg/m/s"
    return f"the unit cannot be read from {_quoted(rest.strip())} on; write it like N m/rad"


def _suggestion(name: str, dimension: Dimension) -> str:
    """Return text that suggests a unit for a misspelt one, if possible of the right dimension."""
    fitting = [unit for unit, scale in _UNITS.items() if scale.dimension == dimension]
    guesses = [
        [word for word in (_WORDS.get(name.lower().removesuffix("s")),) if word],
        [unit for unit in fitting if unit.lower() == name.lower()],
        _pieces(name)[:1],
        difflib.get_close_matches(name, fitting, n=1),
        difflib.get_close_matches(name, _UNITS, n=1),
    ]
    best = next((guess for guess in guesses if guess), [])
    return " (did you mean " + " or ".join(f"'{unit}'" for unit in best[:2]) + "?)" if best else ""


def _pieces(name: str) -> list[str]:
    """Return the ways to split a name into two units of different dimensions."""
    return [
        f"{name[:i]} {name[i:]}"
        for i in range(1, len(name))
        if name[:i] in _UNITS
        and name[i:] in _UNITS
        and _UNITS[name[:i]].dimension != _UNITS[name[i:]].dimension
    ]


def _expected(unit: str, name: str) -> str:
    quantity_name, examples = _QUANTITIES.get(unit, ("", (f"1 {unit}",)))
    shown = " or ".join(f'"{example}"' for example in examples)
    return f"{_named(unit, name or quantity_name)} is expected, e.g. {shown}"


def _named(unit: str, name: str = "") -> str:
    name = name or _QUANTITIES[unit][0]
    article = "an" if name[:1] in set("aeiou") else "a"
    return f"{article} {name} [{unit}]"


def _quoted(text: str) -> str:
    short = text if len(text) <= 60 else text[:57] + "..."
    return f'"{short}"' if short.isprintable() else repr(short)


def _kind(value: object) -> str:
    if value is None or isinstance(value, bool):
        return {None: "an empty value", True: "true", False: "false"}[value]
    kinds = ((dict, "a mapping"), (list | tuple, "a list"))
    return next((kind for types, kind in kinds if isinstance(value, types)), type(value).__name__)


@dataclass(frozen=True, slots=True)
class Unit:
    """Pydantic annotation that gives a float a unit: ``Annotated[float, Unit("m")]``."""

    symbol: str  # SI unit of the number, such as "m" or "N m/rad"
    name: str = ""  # name of the quantity in messages; by default from the unit

    def _validate(self, value: object) -> float:
        try:
            return quantity(value, self.symbol, name=self.name)
        except ModelError as error:
            kind = "quantity" if isinstance(value, str) else "quantity_type"
            raise PydanticCustomError(kind, "{reason}", {"reason": str(error)}) from None

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        """Return the schema of a float that is parsed as a quantity first."""
        return core_schema.no_info_before_validator_function(
            self._validate, handler(source), metadata={_SYMBOL: self.symbol}
        )

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Return the JSON schema of a number, or of text with a unit."""
        # Bounds that follow the unit in an ``Annotated`` type have pydantic's names in the schema.
        number = {_BOUNDS.get(key, key): value for key, value in handler(schema).items()}
        return {
            "anyOf": [number, {"type": "string", "maxLength": QUANTITY_LENGTH}],
            **self._described(),
        }

    def _described(self) -> JsonSchemaValue:
        quantity_name, examples = _QUANTITIES.get(self.symbol, ("", (f"1 {self.symbol}",)))
        name = self.name or quantity_name
        return {
            "description": f"{name} [{self.symbol}]: a number, or text like '{examples[-1]}'",
            "x-unit": self.symbol,
        }


@dataclass(frozen=True, slots=True)
class PerSecond:
    """Pydantic annotation of the rate of a quantity: ``Annotated[Angle, PerSecond()]`` in rad/s.

    Text may omit the seconds, as in "30 deg" for "30 deg/s".
    """

    times: int = 1  # 1 for a rate, 2 for an acceleration

    def _unit(self, symbol: str) -> Unit:
        power = self.times + symbol.endswith("/s")
        name = {1: "rate", 2: "acceleration"}[self.times]
        return Unit(f"{symbol.removesuffix('/s')}/s{f'^{power}' if power > 1 else ''}", name)

    def _validate(self, value: object, symbol: str) -> float:
        if isinstance(value, str):
            with suppress(ModelError):
                return quantity(value, symbol)
        return self._unit(symbol)._validate(value)

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        """Return the schema of a rate: text is parsed in its unit, if the quantity has a unit."""
        schema = handler(source)
        symbol = schema.get("metadata", {}).get(_SYMBOL)
        if symbol is None:
            return schema
        read = partial(self._validate, symbol=symbol)
        return core_schema.no_info_before_validator_function(read, schema)

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Return the JSON schema of a quantity, with unit and description of its rate."""
        base = handler(schema)
        return base | self._unit(base["x-unit"])._described() if "x-unit" in base else base


Ratio = Annotated[float, Unit("1")]
Length = Annotated[float, Unit("m")]
Mass = Annotated[float, Unit("kg")]
Time = Annotated[float, Unit("s")]
Angle = Annotated[float, Unit("rad")]
Speed = Annotated[float, Unit("m/s")]
AngularSpeed = Annotated[float, Unit("rad/s")]
Acceleration = Annotated[float, Unit("m/s^2")]
Frequency = Annotated[float, Unit("Hz")]
Force = Annotated[float, Unit("N")]
Torque = Annotated[float, Unit("N m")]
ForceStiffness = Annotated[float, Unit("N/m")]
TorqueStiffness = Annotated[float, Unit("N m/rad")]
ForceDamping = Annotated[float, Unit("N s/m")]
TorqueDamping = Annotated[float, Unit("N m s/rad")]
ContactDamping = Annotated[float, Unit("s/m")]
Stress = Annotated[float, Unit("Pa")]
Density = Annotated[float, Unit("kg/m^3")]
MassPerLength = Annotated[float, Unit("kg/m")]
Inertia = Annotated[float, Unit("kg m^2")]
RotaryPerLength = Annotated[float, Unit("kg m")]
BendingStiffness = Annotated[float, Unit("N m^2")]
Current = Annotated[float, Unit("A")]
Resistance = Annotated[float, Unit("ohm")]
Inductance = Annotated[float, Unit("H")]
TorqueConstant = Annotated[float, Unit("N m/A")]
SlidingGearRatio = Annotated[float, Unit("rad/m")]
ForcePerLength = Annotated[float, Unit("N/m", "force per length")]
AxialStiffness = Annotated[float, Unit("N", "axial stiffness")]
