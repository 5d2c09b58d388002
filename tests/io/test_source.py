import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from flexarm.errors import ModelError
from flexarm.io.constants import MOST_LEVELS, MOST_MODEL_BYTES
from flexarm.io.source import Diagnostic, read, report, show_path
from tests.io.arms import RICH

# Text, line and column of the mistake, and a piece of the sentence.
FATAL: list[tuple[str | bytes, int, int, str]] = [
    ("", 1, 1, "got nothing"),
    ("# only a comment\n", 1, 1, "got nothing"),
    ("just words", 1, 1, "got a single value"),
    ("- a\n- b\n", 1, 1, "got a list"),
    ("a: 1\n---\nb: 2\n", 2, 1, "a second document"),
    ("a: 1\n...\nb: 2\n", 3, 1, "a second document"),
    ("%YAML 1.1\n---\na: 1\n", 2, 1, "leave the '%' lines out"),
    ("%TAG ! tag:x,2000:\n---\na: 1\n", 2, 1, "leave the '%' lines out"),
    ("a:\n  b: 1\n\tc: 2\n", 3, 1, "a tab is not allowed here; indent with spaces"),
    ("a:\tb\n", 1, 3, "a tab is not allowed here"),
    ("a: 'x\nb: 2\n", 1, 4, "the quote that starts here is never closed"),
    ("a: [1, 2\nb: 3\n", 2, 2, "the list that '[' opens on line 1 misses a ',' or its ']'"),
    ("a: {x: 1\nb: 3\n", 2, 2, "the mapping that '{' opens on line 1 misses"),
    ("a: [1,, 2]\n", 1, 7, "a value is missing before ','"),
    ("a: 1\n  b: 2\n", 2, 4, "unexpected ':'; check the indentation"),
    ("a:1\nb: 2\n", 2, 2, "each ':' above has a space after it"),
    ("a:\n    b: 1\n  c: 2\n", 3, 3, "this line is not indented like those above it"),
    ("a: 1\nb\n", 2, 1, "a ': ' is missing after this key"),
    ("a: @x\n", 1, 4, "text cannot start with '@'; put it in quotes"),
    ('a: "\\q"\n', 1, 6, "no such escape after '\\'"),
    ('a: 1\nb: "\\UFFFFFFFF"\n', 2, 2, "Check quotes"),
    ("? [a]\n: 1\n", 1, 3, "a key must be a word, got a list or mapping"),
    ("*x : 1\n", 1, 1, "an alias (*) is not allowed as a key"),
    ("a: x\x00y\n", 1, 5, "the character U+0000 is not allowed"),
    ("a: 1\nb: \x1b[31m\n", 2, 4, "the character U+001B is not allowed"),
    ("a: 1\u2028b: 2\n", 1, 5, "the character U+2028 is not allowed"),
    (b"a: 1\nb: \xc3\xa9\xff\n", 2, 5, "byte 0xff is not UTF-8"),
    (b"a" * (MOST_MODEL_BYTES + 1), 1, 1, "Put long tables into CSV files"),
]

# The same for mistakes that do not keep the rest from being read; there are two each time.
COLLECTED = [
    ("a: 1\na: 2\nb: .nan\n", (2, 1), ("a",), "is given twice, first on line 1"),
    ("x:\n  a: {b: 1, b: 2}\nb: .nan\n", (2, 13), ("x", "a", "b"), "is given twice"),
    ("1: x\nb: .nan\n", (1, 1), ("1",), "a key must be a word"),
    ("true: x\nb: .nan\n", (1, 1), ("true",), "a key must be a word"),
    ('"\\0": x\nb: .nan\n', (1, 1), ("\x00",), "a key must be a word"),
    ("a: .inf\nb: .nan\n", (1, 4), ("a",), "must be a finite number, got .inf"),
    ("a: [1, 1e999]\nb: .nan\n", (1, 8), ("a", 1), "is too large for a number, got 1e999"),
    ("a: " + "9" * 5000 + "\nb: .nan\n", (1, 4), ("a",), "a number of 5000 characters"),
    ("a: !!python/name:os.system x\nb: .nan\n", (1, 4), ("a",), "'!!python/name:os.system'"),
    ("a: !shape {x: 1}\nb: .nan\n", (1, 4), ("a",), "tags are not allowed; remove '!shape'"),
    ("a: &x 1\nb: .nan\n", (1, 4), ("a",), "reference_attitudes (&) are not allowed"),
    ("a: *x\nb: .nan\n", (1, 4), ("a",), "aliases (*) are not allowed; write the values out"),
    ('a: "\\ud800"\nb: .nan\n', (1, 4), ("a",), "U+D800 is not allowed"),
]


@pytest.mark.parametrize(("text", "line", "column", "message"), FATAL)
def test_text_that_is_no_model_file_is_refused_where_it_is_wrong(
    text: str | bytes, line: int, column: int, message: str
) -> None:
    with pytest.raises(ModelError) as caught:
        read(text, "arm.yaml")
    assert str(caught.value).startswith(f"arm.yaml:{line}:{column}: ")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("text", "position", "path", "message"), COLLECTED)
def test_reading_goes_on_after_a_mistake_in_one_value(
    text: str, position: tuple[int, int], path: tuple[str | int, ...], message: str
) -> None:
    problems = read(text, "arm.yaml").problems
    assert len(problems) == 2
    assert (problems[0].position, problems[0].path) == (position, path)
    assert message in problems[0].message
    assert problems[1].path == ("b",)


def test_mistakes_before_a_syntax_error_are_reported_with_it() -> None:
    with pytest.raises(ModelError) as caught:
        read("a: 1\na: 2\nb: [1\n", "arm.yaml")
    lines = str(caught.value).splitlines()
    assert lines[0].startswith("arm.yaml:2:1: a: is given twice")
    assert lines[1].startswith("arm.yaml:4:1: the list that '[' opens on line 3")


@pytest.mark.parametrize(
    ("opening", "levels"),
    [("[", 1), ("{a: ", 1), ("- ", 1), ("[a, ", 1), ("a:\n", 1), ('{"a":[', 2)],
)
def test_nesting_that_would_exhaust_the_stack_is_refused_where_it_is_too_deep(
    opening: str, levels: int
) -> None:
    text, line, column = opening * 10_000, 1, len(opening) * MOST_LEVELS // levels + 1
    if opening == "a:\n":
        text = "".join(f"{' ' * i}a:\n" for i in range(300))
        line = column = MOST_LEVELS + 1
    with pytest.raises(ModelError, match=rf"arm.yaml:{line}:{column}: .* nested deeper than"):
        read(text, "arm.yaml")


def test_an_alias_bomb_is_refused_line_by_line() -> None:
    lines = ["a0: &a0 [x, x]"] + [f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]" for i in range(1, 30)]
    assert len(read("\n".join(lines), "arm.yaml").problems) == 30 + 58


def test_reading_stops_when_there_are_too_many_mistakes() -> None:
    with pytest.raises(ModelError) as caught:
        read("a: .nan\n" * 5000, "arm.yaml")
    assert len(str(caught.value).splitlines()) == 51


def test_scalars_follow_the_core_schema_of_yaml_1_2() -> None:
    numbers = "1, -2, +3, 007, 2.5, 1e3, .5, 5."
    words = "~, null, true, False, yes, on, 0x10, 1:30, 2 mm, '1'"
    assert read(f"a: [{numbers}]\nb: [{words}]\nc:\n", "").data == {
        "a": [1, -2, 3, 7, 2.5, 1000.0, 0.5, 5.0],
        "b": [None, None, True, False, "yes", "on", "0x10", "1:30", "2 mm", "1"],
        "c": None,
    }


def test_the_data_are_those_that_another_reader_finds() -> None:
    assert read(RICH, "").data == YAML(typ="safe", pure=True).load(RICH)


def test_json_is_read_the_same_way_tabs_included() -> None:
    assert read('{\n\t"a": [1, 2.5e-3, true, null],\n\t"b": {"c": "x"}\n}', "").data == {
        "a": [1, 0.0025, True, None],
        "b": {"c": "x"},
    }


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_keys_and_values_are_found_where_they_stand(newline: str) -> None:
    text = "# é\na: 1\nb:\n  - c: 'x'\n    d: [1, 2]\n  - 7\n".replace("\n", newline)
    source = read(("\ufeff" + text).encode(), "")
    assert source.values == {
        (): (2, 1),
        ("a",): (2, 4),
        ("b",): (4, 3),
        ("b", 0): (4, 5),
        ("b", 0, "c"): (4, 8),
        ("b", 0, "d"): (5, 8),
        ("b", 0, "d", 0): (5, 9),
        ("b", 0, "d", 1): (5, 12),
        ("b", 1): (6, 5),
    }
    assert source.keys == {
        ("a",): (2, 1),
        ("b",): (3, 1),
        ("b", 0, "c"): (4, 5),
        ("b", 0, "d"): (5, 5),
    }


def test_what_is_not_there_is_located_at_what_surrounds_it() -> None:
    source = read("a: 1\nb:\n  - c: 2\n", "")
    assert source.locate(("b", 0, "missing")) == (3, 5)
    assert source.locate(("b", 5, "missing", 3)) == (2, 1)
    assert source.locate(("missing",)) == (1, 1)
    assert source.at(("b", 0, "c")) == 2
    assert source.at(("b", 0, "c", "d", 0)) is None


def test_a_report_is_sorted_and_cut_after_fifty_lines() -> None:
    problems = [Diagnostic((line, 1), ("links", line), "bad") for line in range(60, 0, -1)]
    lines = report("arm.yaml", problems).splitlines()
    assert lines[0] == "arm.yaml:1:1: links[2]: bad"
    assert lines[49].startswith("arm.yaml:50:")
    assert lines[50:] == ["arm.yaml: and 10 more"]


def test_a_path_counts_from_one_and_quotes_odd_keys() -> None:
    assert show_path(("links", 0, "joint", "axis", 2)) == "links[1].joint.axis[3]"
    assert show_path(("a", "b.c", "\x1b[31m", "")) == r"a.'b.c'.'\x1b[31m'.''"


def refusal(content: str | bytes) -> str:
    try:
        read(content, "arm.yaml")
    except ModelError as error:
        return str(error)
    return ""


@given(st.one_of(st.binary(max_size=60), st.text(max_size=60)))
def test_any_text_is_read_or_refused_with_a_place(content: str | bytes) -> None:
    lines = refusal(content).splitlines()
    assert all(re.match(r"arm\.yaml:\d+:\d+: ", line) for line in lines)


@given(st.text(alphabet="ab:-?,[]{}#&*!|>'\"%@`\\ \n\t01.~<=", max_size=80))
def test_any_heap_of_yaml_signs_is_read_or_refused_with_a_place(text: str) -> None:
    lines = refusal(text).splitlines()
    assert all(re.match(r"arm\.yaml:\d+:\d+: ", line) for line in lines)
