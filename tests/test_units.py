import math
from fractions import Fraction
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from flexarm.arm import profile
from flexarm.errors import ModelError
from flexarm.units import Angle, AxialStiffness, Length, Ratio, Unit, quantity

# Exact by definition (NIST Special Publication 811, appendix B), or simple powers of ten.
EXACT = [
    ("250 mm", "m", 0.25),
    ("250mm", "m", 0.25),
    ("3 mm", "m", 0.003),
    ("-1.5e3 um", "m", -0.0015),
    ("5 µm", "m", 5e-6),
    ("5 μm", "m", 5e-6),
    ("12 in", "m", 0.3048),
    ("1 ft", "m", 0.3048),
    ("1 lb", "kg", 0.45359237),
    ("1.5 t", "kg", 1500.0),
    ("1 lbf", "N", 4.4482216152605),
    ("1 psi", "Pa", 6894.757293168361336722),
    ("70 GPa", "Pa", 7e10),
    ("1 bar", "Pa", 1e5),
    ("2 min", "s", 120.0),
    ("2 h", "s", 7200.0),
    ("2.7 g/cm^3", "kg/m^3", 2700.0),
    ("2.7 g/cm³", "kg/m^3", 2700.0),
    ("2.7 g/cm**3", "kg/m^3", 2700.0),
    ("12 kg m^2", "kg m^2", 12.0),
    ("12 kg*m^2", "kg m^2", 12.0),
    ("12 kg·m²", "kg m^2", 12.0),
    ("12 kg m2", "kg m^2", 12.0),
    ("0.3 kg/m", "kg/m", 0.3),
    ("0.3 kg m^-1", "kg/m", 0.3),
    ("9.81 m/s/s", "m/s^2", 9.81),
    ("1e3 N*m/rad", "N m/rad", 1000.0),
    ("1e3 Nm/rad", "N m/rad", 1000.0),
    ("1e3 N m", "N m/rad", 1000.0),
    ("5 kN mm", "N m", 5.0),
    ("5 J", "N m", 5.0),
    ("2 W s", "N m", 2.0),
    ("2 %", "1", 0.02),
    ("3 1/s", "Hz", 3.0),
    ("3 kHz", "Hz", 3000.0),
    ("0.25", "m", 0.25),
    ("  .5   m ", "m", 0.5),
    ("5. m", "m", 5.0),
    ("180 deg", "rad", math.pi),
    ("90°", "rad", math.pi / 2),
    ("1 rev", "rad", 2 * math.pi),
    ("200 rev/m", "rad/m", 400 * math.pi),
    ("30 rpm", "rad/s", math.pi),
    ("1 rev/s", "rad/s", 2 * math.pi),
    ("500 mrad", "rad", 0.5),
]

REFUSED = [
    ("3 kg", "m", 'is a mass [kg]; a length [m] is expected, e.g. "0.5 m" or "500 mm"'),
    ("90 deg", "m", "is an angle [rad]; a length [m] is expected"),
    ("5 deg", "1", "is an angle [rad]; a ratio [1] is expected"),
    ("2 %", "rad", "is a ratio [1]; an angle [rad] is expected"),
    ("5 Hz", "rad/s", "is a frequency [Hz]; an angular speed [rad/s] is expected"),
    ("30 rpm", "Hz", "is an angular speed [rad/s]; a frequency [Hz] is expected"),
    (
        "5 mm/rev",
        "rad/m",
        "the inverse of the expected unit; write 1 over it; a gear ratio of a sliding",
    ),
    (
        "200 1/m",
        "rad/m",
        "has the unit [1/m], which does not say whether radians, turns or degrees; a gear ratio",
    ),
    ("5 N m/rad", "N m", "[N m/rad]; a torque [N m] is expected"),
    ("5 kg m/s", "m", "has the unit [kg m/s]; a length [m]"),
    ("3 mmm", "m", "there is no unit 'mmm' (did you mean 'mm'?)"),
    ("3 meters", "m", "did you mean 'm'?"),
    ("5 Nmm", "N m", "did you mean 'N mm'?"),
    ("5 kgm^2", "kg m^2", "did you mean 'kg m'?"),
    ("70 gpa", "Pa", "did you mean 'GPa'?"),
    ("5 blorps", "m", "there is no unit 'blorps'; a length"),
    ("5 N/m s", "N/m", "can be read in two ways"),
    ("5 N/(m s)", "N/m", "parentheses are not understood"),
    ("5 m^22", "m", 'cannot be read from "2" on'),
    ("5 * m", "m", 'cannot be read from "* m" on'),
    ("1,5 m", "m", "write the number with a point"),
    ("1_000 m", "m", "write the number with a point"),
    ("", "m", '"" is not a number with a unit'),
    ("   ", "m", "is not a number with a unit"),
    ("mm", "m", "is not a number with a unit"),
    ("nan", "m", "is not a number with a unit"),
    ("inf m", "m", "is not a number with a unit"),
    ("1e400 m", "m", "is too large"),
    ("1e99999999999999999999 m", "m", "is too large"),
    ("1" * 101, "m", "text of 101 characters is not a number"),
    ("0x10 m", "m", "there is no unit 'x'"),
    ("__import__('os')", "m", "is not a number with a unit"),
    (True, "m", "true is not a number; a length [m] is expected"),
    (None, "m", "an empty value is not a number"),
    ([1], "m", "a list is not a number"),
    ({}, "m", "a mapping is not a number"),
    (math.nan, "m", "the number must be finite"),
    (-math.inf, "m", "the number must be finite"),
    (10**400, "m", "the number must be finite"),
]


class Beam(BaseModel):
    model_config = ConfigDict(frozen=True)

    length: Annotated[Length, Field(gt=0)]
    width: Annotated[float, Field(gt=0), Unit("m")] = 1.0
    EA: AxialStiffness = 1.0


@pytest.mark.parametrize(("text", "unit", "expected"), EXACT)
def test_text_with_a_unit_is_read_as_the_nearest_double(
    text: str, unit: str, expected: float
) -> None:
    assert quantity(text, unit) == expected


@pytest.mark.parametrize(("value", "unit", "message"), REFUSED)
def test_what_is_no_such_quantity_is_refused_and_the_message_says_why(
    value: Any, unit: str, message: str
) -> None:
    with pytest.raises(ModelError) as caught:
        quantity(value, unit)
    assert message in str(caught.value)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("value", [0, -3, 2.5, 10**20])
def test_a_plain_number_is_in_si_units(value: float) -> None:
    result = quantity(value, "m")
    assert result == value
    assert type(result) is float


@given(st.floats(1e-30, 1e30) | st.floats(-1e30, -1e-30) | st.just(0.0))
def test_millimetres_and_inches_round_only_once(x: float) -> None:
    assert quantity(f"{x!r} mm", "m") == float(Fraction(repr(x)) / 1000)
    assert quantity(f"{x / 2!r} in", "m") == float(Fraction(repr(x / 2)) * 254 / 10000)


def test_what_a_computation_left_of_zero_is_zero() -> None:
    assert quantity(-1e-300, "m") == 0.0


@pytest.mark.parametrize("value", [1e300, -1e300, "1e-60 mm", "3e50 m"])
def test_a_size_that_no_arm_can_have_is_refused(value: float | str) -> None:
    with pytest.raises(ModelError, match="beyond the size of any arm"):
        quantity(value, "m")


def outcome(text: str, unit: str) -> float | str:
    try:
        return quantity(text, unit)
    except ModelError as error:
        return str(error)


@given(st.text(max_size=120))
def test_any_text_is_a_finite_number_or_refused_in_one_line(text: str) -> None:
    result = outcome(text, "N m/rad")
    assert "\n" not in result if isinstance(result, str) else math.isfinite(result)


@given(st.text(alphabet="0123456789.eE+- */^%°µ²1mgskNPaHzradinftlbpshJW()", max_size=60))
def test_text_that_looks_like_a_unit_is_a_finite_number_or_refused(text: str) -> None:
    result = outcome(text, "m")
    assert (
        "[m]" in result or "point" in result if isinstance(result, str) else math.isfinite(result)
    )


def test_a_field_takes_numbers_and_text_and_keeps_its_bounds() -> None:
    assert Beam(length="250 mm", width="1 in").length == 0.25
    with pytest.raises(ValidationError) as caught:
        Beam(length="-1 mm", width=-2)
    assert [error["type"] for error in caught.value.errors()] == ["greater_than", "greater_than"]


def test_a_field_passes_on_the_message_with_its_own_name_for_the_quantity() -> None:
    with pytest.raises(ValidationError) as caught:
        Beam(length=1, EA="3 m")
    message = caught.value.errors()[0]["msg"]
    assert message.startswith('"3 m" is a length [m]; an axial stiffness [N] is expected')


def test_a_fields_message_may_hold_braces() -> None:
    with pytest.raises(ValidationError, match=r"\{reason\}"):
        Beam(length="{reason}")


def test_the_json_schema_says_number_or_text_with_unit_and_bounds() -> None:
    for name in ("length", "width"):
        field = Beam.model_json_schema()["properties"][name]
        assert field["x-unit"] == "m"
        assert field["anyOf"][0] == {"type": "number", "exclusiveMinimum": 0}
        assert field["anyOf"][1]["type"] == "string"
        assert "length [m]" in field["description"]


@pytest.mark.parametrize(
    ("kind", "rate", "acceleration", "found"),
    [
        ("Angle", "30 deg/s", "60 deg/s^2", (math.pi / 6, math.pi / 3)),
        ("Angle", "30 deg", "60 deg", (math.pi / 6, math.pi / 3)),
        ("Angle", "10 rpm", "2 rev/s^2", (math.pi / 3, 4 * math.pi)),
        ("Angle", 0.5, "2", (0.5, 2.0)),
        ("Length", "250 mm/s", "1 m/s^2", (0.25, 1.0)),
        ("Length", "250 mm", 1, (0.25, 1.0)),
        ("Torque", "3 kN m/s", "5 N m/s^2", (3000.0, 5.0)),
        ("Force", "3 kN/s", "5 N/s^2", (3000.0, 5.0)),
        ("AngularSpeed", "30 deg/s^2", "3 rad/s^3", (math.pi / 6, 3.0)),
        ("Speed", "4 m/s", "3 m/s^3", (4.0, 3.0)),
        ("Ratio", "20 %/s", "2 1/s^2", (0.2, 2.0)),
    ],
)
def test_rates_of_a_profile_have_their_unit_and_may_leave_the_seconds_out(
    kind: str, rate: str, acceleration: str, found: tuple[float, float]
) -> None:
    read = TypeAdapter(getattr(profile, f"{kind}Profile")).validate_python
    way = {"kind": "trapezoid", "start": 0, "end": 1, "rate": rate, "acceleration": acceleration}
    assert (read(way).rate, read(way).acceleration) == found
    assert read({"kind": "spin-up", "rate": rate, "duration": "2 s"}).rate == found[0]


@pytest.mark.parametrize(
    ("kind", "key", "value", "said"),
    [
        ("Angle", "rate", "30 m/s", '"30 m/s" is a speed [m/s]; a rate [rad/s] is expected'),
        ("Angle", "rate", "30 mm", '"30 mm" is a length [m]; a rate [rad/s] is expected'),
        ("Angle", "rate", "2 deg/s^2", '"2 deg/s^2" is an angular acceleration [rad/s^2]; a rate'),
        ("Angle", "rate", "2 Hz", '"2 Hz" is a frequency [Hz]; a rate [rad/s] is expected'),
        ("Angle", "acceleration", "3 deg/s",
         '"3 deg/s" is an angular speed [rad/s]; an acceleration [rad/s^2] is expected, '
         'e.g. "1.2 rad/s^2" or "30 deg/s^2"'),
        ("Length", "rate", "30 deg/s", '"30 deg/s" is an angular speed [rad/s]; a rate [m/s]'),
        ("Length", "rate", [1], "a list is not a number; a rate [m/s] is expected"),
    ],
)  # fmt: skip
def test_a_rate_of_something_else_is_refused(kind: str, key: str, value: Any, said: str) -> None:
    way = {"kind": "trapezoid", "start": 0, "end": 1, "rate": 1, "acceleration": 1, key: value}
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(getattr(profile, f"{kind}Profile")).validate_python(way)
    assert [error["msg"][: len(said)] for error in caught.value.errors()] == [said]


def test_the_json_schema_says_the_units_of_rates() -> None:
    found = TypeAdapter(profile.AngleProfile).json_schema()["$defs"]
    fields = next(each["properties"] for name, each in found.items() if "Trapezoid" in name)
    units = [fields[key]["anyOf"][0]["x-unit"] for key in ("rate", "acceleration")]
    assert (fields["start"]["x-unit"], *units) == ("rad", "rad/s", "rad/s^2")


@pytest.mark.parametrize("alias", [Length, Angle, Ratio])
def test_an_alias_accepts_its_own_examples(alias: Any) -> None:
    unit = alias.__metadata__[0]
    with pytest.raises(ModelError) as caught:
        quantity("?", unit.symbol)
    for example in str(caught.value).split("e.g. ")[1].replace('"', "").split(" or "):
        quantity(example, unit.symbol)
