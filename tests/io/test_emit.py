from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from flexarm.io.constants import LINE_WIDTH
from flexarm.io.model_file import emit
from flexarm.io.source import find_unprintable, read

texts = st.text(max_size=30).filter(lambda text: not find_unprintable(text))
prose = st.lists(texts, max_size=4).map("\n".join)
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(10**9), 10**9)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts
    | prose
)
data = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=10,
)


@given(st.dictionaries(texts, data, max_size=5))
def test_any_data_read_back_the_same(value: dict[str, Any]) -> None:
    found = read(emit(value), "x")
    assert found.data == value
    assert not found.problems
    assert YAML(typ="safe", pure=True).load(emit(value)) == value  # as another reader has it


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=100))
def test_a_long_list_is_wrapped_and_reads_back_the_same(values: list[float]) -> None:
    text = emit({"values": values})
    assert read(text, "x").data == {"values": values}
    assert max(map(len, text.splitlines())) <= LINE_WIDTH + 26  # a number, ', ' and ']'


@pytest.mark.parametrize("number", [0.1, 1e-5, 1e22, 5e-324, 1.7976931348623157e308, -0.0, 1 / 3])
def test_a_float_keeps_every_bit(number: float) -> None:
    (again,) = read(emit({"x": number}), "x").data.values()
    assert float(again).hex() == number.hex()


def test_the_text_looks_hand_written() -> None:
    value: dict[str, Any] = {
        "name": "two link",
        "notes": "First line: yes.\n\nSecond.\n",
        "axis": [0.0, 0.0, 1.0],
        "links": [{"length": 1e-5, "joint": {"kind": "revolute"}}, {"on": "off", "n": 3}],
        "empty": {},
        "nothing": None,
        "flag": True,
        "file": "data/torque 1.csv",
        "odd": "a: b",
    }
    assert emit(value) == (
        "name: two link\n"
        "notes: |\n"
        "  First line: yes.\n"
        "\n"
        "  Second.\n"
        "axis: [0.0, 0.0, 1.0]\n"
        "links:\n"
        "  - length: 1.0e-05\n"
        "    joint:\n"
        "      kind: revolute\n"
        '  - "on": "off"\n'
        '    "n": 3\n'
        "empty: {}\n"
        "nothing: null\n"
        "flag: true\n"
        "file: data/torque 1.csv\n"
        'odd: "a: b"\n'
    )
