"""Damage model files at random, always in the same way for the same seed."""

import json
import random
import re
from collections.abc import Callable
from typing import Any

from flexarm.io.model_file import emit
from flexarm.io.source import read

UNKNOWN = "zz_unknown"
NASTY = [
    "", "~", "true", "no", "0", "-1", "1e999", "-1e-320", "5e-324", "1e308", ".nan", "-.inf", "NaN",
    "9" * 400, "1" * 5000, "0x1F", "1_000", "1:30", "2020-01-01", "''", '""', "'", '"', "[]", "{}",
    "[", "]", "{", "}", "[[[[[[[[", "- ", "? x", ": ", "3 kg", "500 mm", "90 deg", "-5 m", "2 %",
    "1e400 m", "3 mmm", "% x", "@x", "`x`", "&a x", "*a", "<<: x", "!!python/object/apply:os.abort",
    "!!binary aGk=", "!x y", "|", ">", "|9", "---", "...", "# x", "a: b", "a: b: c", "a, b",
    "{a: 1}", "[1, 2, 3]", "[1, [2, [3]]]", "../../../../etc/passwd", "/dev/zero", "\\x00",
    '"\\0"', '"\\uD800"', '"\\UFFFFFFFF"', '"\\q"', "é", "\U0001f600", "\u2028", "\ufeff",
    "\x00", "\x1b[31m", "\t", "{reason}", "%s", "revolute", "tip", "auto", "table", "csv", "base",
    "x" * 2000,
]  # fmt: skip


def damage(text: str, rng: random.Random) -> str | bytes:
    """Apply one to three random kinds of damage to a text."""
    if rng.random() < 0.15:
        text = json.dumps(read(text, "").data, indent=rng.choice([None, 1, "\t"]))
    for _ in range(rng.randint(1, 3)):
        text = rng.choice(DAMAGES)(text, rng)
    return _break_bytes(text, rng) if rng.random() < 0.05 else text


def insert_unknown_key(text: str, rng: random.Random, mappings: list[tuple[str | int, ...]]) -> str:
    """Write the text anew with an unknown key in one of the given mappings."""
    data = read(text, "").data
    target: Any = data
    for step in rng.choice(mappings):
        target = target[step]
    items = list(target.items())
    items.insert(rng.randint(0, len(items)), (UNKNOWN, rng.choice([1, None, "x", [1], {"a": 1}])))
    target.clear()
    target.update(items)
    return emit(data) if rng.random() < 0.7 else json.dumps(data)


def _lines(change: Callable[[list[str], int, random.Random], None]) -> "Damage":
    def apply(text: str, rng: random.Random) -> str:
        lines = text.split("\n")
        change(lines, rng.randrange(len(lines)), rng)
        return "\n".join(lines)

    return apply


def _delete(lines: list[str], i: int, rng: random.Random) -> None:
    del lines[i : i + rng.randint(1, 3)]


def _repeat(lines: list[str], i: int, rng: random.Random) -> None:
    lines[i:i] = lines[i : i + rng.randint(1, 3)]


def _swap(lines: list[str], i: int, rng: random.Random) -> None:
    j = rng.randrange(len(lines))
    lines[i], lines[j] = lines[j], lines[i]


def _indent(lines: list[str], i: int, rng: random.Random) -> None:
    bare = lines[i].lstrip(" ")
    lines[i] = rng.choice(["", " ", "  ", "   ", "\t", " " * 9, " " * 200]) + bare


def _replace_value(lines: list[str], i: int, rng: random.Random) -> None:
    key, colon, _ = lines[i].partition(": ")
    lines[i] = f"{key}{colon or ': '}{rng.choice(NASTY)}"


def _replace_number(text: str, rng: random.Random) -> str:
    numbers = list(re.finditer(r"-?\d[\d.e+-]*", text))
    if not numbers:
        return text
    match = rng.choice(numbers)
    return text[: match.start()] + rng.choice(NASTY) + text[match.end() :]


def _scale_number(text: str, rng: random.Random) -> str:
    """Make a number larger or smaller, by any power of ten: most of what comes out is accepted."""
    numbers = list(re.finditer(r"(?<![\w.])-?\d+(?:\.\d*)?(?:e[-+]?\d+)?(?![\w.])", text))
    if not numbers:
        return text
    match = rng.choice(numbers)
    sizes = (rng.uniform(-3, 3), rng.uniform(-15, 15), rng.uniform(-39, 39))
    scaled = float(match.group()) * 10 ** rng.choice(sizes)
    return f"{text[: match.start()]}{scaled!r}{text[match.end() :]}"


def _replace_count(text: str, rng: random.Random) -> str:
    """Change a whole number for another."""
    numbers = list(re.finditer(r"(?<![\w.])\d+(?![\w.])", text))
    if not numbers:
        return text
    match = rng.choice(numbers)
    count = rng.choice([0, 1, 2, 3, 5, 8, 13, 30, 31, 60, 99, 100, 101, 200, 1000])
    return f"{text[: match.start()]}{count}{text[match.end() :]}"


def change_numbers(text: str, rng: random.Random) -> str:
    """Change a few numbers of a text and nothing else."""
    for _ in range(rng.choice([1, 1, 2, 3])):
        text = rng.choice([_scale_number, _scale_number, _replace_count])(text, rng)
    return text


def _rename_key(text: str, rng: random.Random) -> str:
    keys = list(re.finditer(r"[A-Za-z_]+(?=:)", text))
    if not keys:
        return text
    match = rng.choice(keys)
    word, other = match.group(), rng.choice(keys).group()
    i = rng.randrange(len(word))
    new = rng.choice([word[:i] + word[i + 1 :], word[:i] + "x" + word[i:], word.upper(), other])
    return text[: match.start()] + new + text[match.end() :]


def _insert_key(lines: list[str], i: int, rng: random.Random) -> None:
    indent = re.match(r" *(?:- )?", lines[i])
    width = len(indent[0]) if indent else 0
    lines.insert(i + 1, f"{' ' * width}{UNKNOWN}: {rng.choice(['1', 'x', '[1]', '', '{a: 1}'])}")


def _truncate(text: str, rng: random.Random) -> str:
    return text[: rng.randrange(len(text) + 1)]


def _insert_sign(text: str, rng: random.Random) -> str:
    i = rng.randrange(len(text) + 1)
    sign = rng.choice(":-?,[]{}#&*!|>'\"%@`\\ \n\t~=<é\u200b" + chr(rng.randrange(0xD800)))
    return text[:i] + sign * rng.choice([1, 1, 1, 2, 60]) + text[i:]


def _delete_sign(text: str, rng: random.Random) -> str:
    i = rng.randrange(len(text) + 1)
    return text[:i] + text[i + 1 :]


def _break_bytes(text: str, rng: random.Random) -> bytes:
    content = bytearray(text.encode("utf-8", "surrogatepass"))
    for _ in range(rng.randint(1, 4)):
        content.insert(rng.randrange(len(content) + 1), rng.randrange(256))
    return bytes(content)


Damage = Callable[[str, random.Random], str]
DAMAGES: list[Damage] = [
    *map(_lines, (_delete, _repeat, _swap, _indent, _replace_value, _insert_key)),
    _replace_number, _scale_number, _replace_count, _rename_key, _truncate, _insert_sign,
    _delete_sign,
]  # fmt: skip
