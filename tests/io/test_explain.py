"""The explanations, on a small schema that has every construct that they must handle."""

from pathlib import Path
from typing import Annotated, Literal, Self

import pytest
from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, model_validator
from pydantic_core import PydanticCustomError

from flexarm.arm.side_files import SideFiles
from flexarm.errors import ModelError
from flexarm.io.model_file import parse
from flexarm.units import Angle, Length, Mass


class Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Round(Strict):
    kind: Literal["round"]
    radius: Annotated[Length, Field(gt=0)]


class Square(Strict):
    kind: Literal["square"]
    side: Annotated[Length, Field(gt=0, le=10)]
    turned: Angle = 0.0


class Curve(Strict):
    x: tuple[float, ...]
    y: tuple[float, ...]

    @model_validator(mode="after")
    def _match(self) -> Self:
        if len(self.x) != len(self.y):
            raise ValueError("x and y must have as many values")
        return self


class Weight(Strict):
    mass: Mass
    place: Length = 0.0


class Piece(Strict):
    length: Annotated[Length, Field(gt=0)]
    shape: Annotated[Round | Square, Field(discriminator="kind")]
    mass: Mass | Curve = 1.0
    weight: Weight | Curve | None = None
    inertia: tuple[float, float, float] | tuple[float, float, float, float, float, float] = (
        0,
        0,
        0,
    )
    count: StrictInt | Literal["auto"] = "auto"
    at: Length | Literal["tip", "root"] = "tip"
    solid: StrictBool = True
    axis: tuple[float, float, float] = (0, 0, 1)
    named: dict[Annotated[str, Field(max_length=3)], Length] = {}

    @model_validator(mode="after")
    def _rules(self) -> Self:
        if len(self.named) > 2:
            key = list(self.named)[2]
            raise PydanticCustomError("rule", "must be one of two", {"path": ("named", key)})
        return self


class Whole(Strict):
    name: Annotated[str, Field(min_length=1, max_length=5)]
    pieces: Annotated[tuple[Piece, ...], Field(min_length=1, max_length=3)]
    other: Piece | None = None


GOOD = "name: x\npieces:\n  - length: 1\n    shape: {kind: round, radius: 1}\n"

# What is added at the end of the first piece (line 5), and all that is said about it.
IN_PIECE = [
    (
        "    lenth: 1",
        ["5:5: pieces[1].lenth: unknown key; the keys here are length, shape, mass, "],
    ),
    ("    axs: [1, 2, 3]", ["5:5: pieces[1].axs: unknown key; did you mean 'axis'?"]),
    ("    place: 3", ["5:5: pieces[1].place: unknown key; it belongs in 'weight'"]),
    ("    solid: yes", ["5:12: pieces[1].solid: must be true or false, got 'yes'"]),
    ("    mass: x", ["5:11: pieces[1].mass: must be a number or a mapping, got 'x'"]),
    ("    mass: 3 m", ['5:11: pieces[1].mass: "3 m" is a length [m]; a mass [kg] is expected']),
    ("    mass: [1]", ["5:5: pieces[1].mass: must be a number or a mapping, got [1]"]),
    ("    mass: {x: [1, a], y: [1, 2]}", ["5:19: pieces[1].mass.x[2]: must be a number, got 'a'"]),
    ("    mass: {x: [1]}", ["5:5: pieces[1].mass.y: is required"]),
    ("    mass: {x: [1], y: []}", ["5:5: pieces[1].mass: x and y must have as many values"]),
    ("    weight: {mas: 1}", ["5:14: pieces[1].weight.mas: unknown key; did you mean 'mass'?"]),
    ("    weight: {x: [1], y: 2}", ["5:25: pieces[1].weight.y: must be a list, got 2"]),
    ("    weight: heavy", ["5:13: pieces[1].weight: must be a mapping, got 'heavy'"]),
    ("    inertia: [1, 2]", ["5:5: pieces[1].inertia: must have 3 or 6 items, got 2"]),
    ("    inertia: [1, b, 3]", ["5:18: pieces[1].inertia[2]: must be a number, got 'b'"]),
    ("    inertia: 3", ["5:14: pieces[1].inertia: must be a list, got 3"]),
    ("    count: 2.5", ["5:12: pieces[1].count: must be a whole number or 'auto', got 2.5"]),
    ("    count: aut", ["5:12: pieces[1].count: must be a whole number or 'auto', got 'aut'. Did"]),
    (
        "    at: tipp",
        ["5:9: pieces[1].at: must be a number or 'tip' or 'root', got 'tipp'. Did you"],
    ),
    ("    at: 3 kg", ['5:9: pieces[1].at: "3 kg" is a mass [kg]; a length [m] is expected']),
    ("    axis: [1, 2]", ["5:5: pieces[1].axis: must have 3 items, got 2"]),
    ("    axis: [1, 2, 3, 4]", ["5:5: pieces[1].axis: must have 3 items, got 4"]),
    ("    axis:", ["5:5: pieces[1].axis: must be a list, got nothing"]),
    ("    named: {a: 1, b: x}", ['5:22: pieces[1].named.b: "x" is not a number with a unit']),
    ("    named: {a: 1, b: 2, c: 3}", ["5:28: pieces[1].named.c: must be one of two"]),
    ("    named: {a: 1, long: 2}", ["5:19: pieces[1].named.long: the key must have at most 3"]),
    ("    named: 7", ["5:12: pieces[1].named: must be a mapping, got 7"]),
    ("    mass: .nan", ["5:11: pieces[1].mass: must be a finite number, got .nan"]),
    ("    length: 2", ["5:5: pieces[1].length: is given twice, first on line 3"]),
]

# A whole text, and all that is said about it.
WHOLE = [
    ("a: 1\n", ["1:1: a: unknown key", "1:1: name: is required", "1:1: pieces: is required"]),
    ("nam: x\npieces: []\n", ["1:1: nam: unknown key; did", "2:1: pieces: must have at least 1"]),
    ("name: ''\npieces: 3\n", ["1:7: name: must have at least 1 char", "2:9: pieces: must be"]),
    ("name: abcdef\npieces: {}\n", ["1:7: name: must have at most 5", "2:1: pieces: must be"]),
    ("name: 12\npieces: []\n", ["1:7: name: must be text, got 12; put it in", "2:1: pieces"]),
    (
        "name: x\npieces:\n- length: -1\n  shape: {kind: oval}\n- {}\n",
        [
            "3:11: pieces[1].length: must be > 0, got -1",
            "4:17: pieces[1].shape.kind: must be one of round, square; got 'oval'",
            "5:3: pieces[2].length: is required",
            "5:3: pieces[2].shape: is required",
        ],
    ),
    (
        "name: x\npieces:\n- length: 1\n  shape: {knd: round}\n- length: 1\n  shape: 3\n",
        [
            "4:3: pieces[1].shape.kind: is required: one of round, square; is 'knd' meant to be",
            "6:10: pieces[2].shape: must be a mapping with 'kind', one of round, square; got 3",
        ],
    ),
    (
        "name: x\npieces:\n- length: 1\n  shape: {kind: square, side: 11, radius: 1, square: 2}\n",
        [
            "4:31: pieces[1].shape.side: must be <= 10, got 11",
            "4:35: pieces[1].shape.radius: unknown key",
            "4:46: pieces[1].shape.square: unknown key",
        ],
    ),
    ("name: x\npieces: [1, a, [], {}]\n", ["2:10", "2:13", "2:16", "2:20", "2:20"]),
]  # fmt: skip


def refusal(text: str) -> list[str]:
    with pytest.raises(ModelError) as caught:
        parse(Whole, text, name="f", files=SideFiles())
    return str(caught.value).splitlines()


def check(text: str, expected: list[str]) -> None:
    lines = refusal(text)
    assert len(lines) == len(expected), lines
    for start in expected:
        assert any(line.startswith(f"f:{start}") for line in lines), (start, lines)


def test_the_good_text_is_good() -> None:
    assert parse(Whole, GOOD, name="f", files=SideFiles()).pieces[0].length == 1.0


@pytest.mark.parametrize(("added", "expected"), IN_PIECE)
def test_one_mistake_gives_one_line_at_its_place(added: str, expected: list[str]) -> None:
    check(f"{GOOD}{added}\n", expected)


@pytest.mark.parametrize(("text", "expected"), WHOLE)
def test_all_mistakes_are_told_at_once_in_the_order_of_the_file(
    text: str, expected: list[str]
) -> None:
    check(text, expected)
    places = [tuple(map(int, line.split(":")[1:3])) for line in refusal(text)]
    assert places == sorted(places)


def test_long_values_are_cut() -> None:
    (line,) = refusal(f"{GOOD}    solid: {'y' * 5000}\n")
    assert len(line) < 150


def test_unprintable_text_is_escaped_in_messages() -> None:
    (line,) = refusal(f'{GOOD}    solid: "a\\tb\\nc"\n')
    assert line.endswith(r"got 'a\tb\nc'")


def test_only_the_first_fifty_of_many_mistakes_are_told() -> None:
    pieces = "".join(f"- {{length: {-i}}}\n" for i in range(1, 61))
    lines = refusal(f"name: x\npieces:\n{pieces}")
    assert len(lines) == 51
    assert lines[-1].startswith("f: and ")


def test_validators_get_the_folder_of_the_file() -> None:
    class Asks(Strict):
        a: int

        @model_validator(mode="after")
        def _check(self, info: object) -> Self:
            raise ValueError(f"looked in {info.context['files'].folder}")  # type: ignore[attr-defined]

    with pytest.raises(ModelError, match="f:1:1: looked in somewhere"):
        parse(Asks, "a: 1", name="f", files=SideFiles(Path("somewhere")))
