"""Texts of errors: at most three sentences, a subject, no chain of colons, no private words."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import flexarm

SOURCE = Path(flexarm.__file__).parent
# Helpers that put a place or an argument's name before a text.
PLACED = {"fault", "refuse", "wrong"}
PIECES = {"refused", "_refused", "_too_large"}  # these make a sentence of the text
# A place: a path, a key or an argument, of at most three words.
PLACE = re.compile(r"^(?:\S+(?: \S+){0,2}?: )+")
BARE = re.compile(r"^(?:is|are|was|has|have|needs|does|gives|makes|leaves|follows|belongs)\b")
ENDS = re.compile(r"[.?!](?= [A-Z'{])")
BANNED = re.compile(
    r"\b(?:what is|that is taken|goes? by|one of them each|nothing of|of its own kind"
    r"|looks? out|told|is kept|says that|in its place|of more|kept as)\b|\bSay '"
)


def messages(folder: Path) -> Iterator[tuple[str, str, str]]:
    """Yield place, function and text of every error that the source raises."""
    for path in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
                function = ast.unparse(node.exc.func).rpartition(".")[2]
                for argument in node.exc.args:
                    if (text := text_of(argument)) and " " in text:
                        yield f"{path.relative_to(folder)}:{node.lineno}", function, text


def text_of(node: ast.expr) -> str:
    """Return a text literal with {} for its values; empty for other expressions."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if not isinstance(node, ast.JoinedStr):
        return ""
    return "".join(
        str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values
    )


def mistakes(function: str, text: str) -> list[str]:
    """Return the rules that a text breaks."""
    text = re.sub(r"'[^']*'", "''", text)
    place = PLACE.match(text)
    body = text[place.end() :] if place else text
    broken = []
    if len(ENDS.findall(body)) > 2:
        broken.append("more than three sentences")
    if len(re.findall(": (?!{}$)", body)) > (0 if place else 1):
        broken.append("a chain of colons")
    if not place and function not in PLACED | PIECES and BARE.match(body):
        broken.append("no subject")
    if found := BANNED.search(body):
        broken.append(f"'{found[0]}'")
    return broken


def test_messages_are_whole_sentences() -> None:
    broken = [
        f"{place}: {', '.join(why)}: {text}"
        for place, function, text in messages(SOURCE)
        if (why := mistakes(function, text))
    ]
    assert not broken, "\n".join(broken)


def test_checker_finds_bad_messages() -> None:
    assert mistakes("FlexarmError", "is less than the mass") == ["no subject"]
    assert mistakes("FlexarmError", "A is. B is. C is. D is.") == ["more than three sentences"]
    assert mistakes("FlexarmError", "run.nc: the file is not whole: it is cut") == [
        "a chain of colons"
    ]
    assert mistakes("FlexarmError", "Say 'rigid: true'") == ["'Say ''"]
    assert not mistakes("FlexarmError", "arm: 'start: x' is not for a batch. Use simulate.")
    assert not mistakes("fault", "must be larger than the station before it")
