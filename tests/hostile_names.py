"""Names that try to be code, markup or format of some generated file; the same for a seed."""

import keyword
import random
import unicodedata
from dataclasses import dataclass
from typing import Any

from flexarm.exports.plant import TAKEN

LONGEST_WORD, LONGEST_TITLE = 60, 200
FRAGMENTS = (
    # C: ends of comments, line continuation, trigraphs, code that runs when it is loaded
    "*/", "*\\", "\\", "/*", "//", "??/", "*??/", "\\\n", "%s%n", '"', "'", '", 0}; ', "#error x",
    'static __attribute__((constructor)) void e(void){system("touch ran");}', '__asm__(".err");',
    '_Pragma("GCC error")', "(", ")", ";", "\\x41", "\\u0041",
    # fields of templates, here and in other languages
    "@TITLE@", "@NAME@", "@TABLES@", "@TOKEN@", "@", "{{title}}", "{{data}}", "{0}", "{name}",
    "%(x)s",
    # XML, HTML, SVG, JSON
    "<script>x()</script>", "</script>", "</title>", "<!--", "-->", "]]>", "<![CDATA[", "&amp;",
    "&#0;", "&", "<", ">", "<b onload=x()>", "javascript:x()", "\\u003c",
    # Python, YAML
    '"""', "'''", '__import__("os").system("touch ran")', "#", " # x", ": ", "- ",
    "!!python/object:x", "*a", "&a", "|", "? ", "---", "...", "[", "]", "{", "}", "~", "null",
    "1e5", "0x1f", "=1+1",
    # TeX and figures
    "\\input{x}", "\\write18{touch ran}", "\\end{document}", "^^5c", "^", "_", "$", "$x$",
    "$\\frac$",
    # control characters, directions of text, letters that decompose to others
    "\n", "\r", "\t", "\x00", "\x1b[31m", "\x7f", "\x85", "\u2028", "\u202e", "\u2066", "\ufeff",
    "\ufffe", "\u200b", "\u00a0", "é", "e\u0301", "ﬁ", "\uff0f", "\uff0a", "\uff3c", "\u5de5",
    "\U0001f916", "\u0635", "½", "µ",
)  # fmt: skip
WORDS = (
    *sorted(TAKEN), *keyword.kwlist, "np", "sin", "cos", "q", "v", "q_dot", "q_2", "M", "entire",
    "x_q", "factorial", "time", "der(q)", "der", "indicator1", "holder", "method", "event info",
    "data", "main", "start", "memset", "flexarm", "base", "tip", "energy", "link1", "joint2",
)  # fmt: skip
FORBIDDEN_IN_WORDS = ".[]=,:"
ODD = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}


@dataclass(frozen=True)
class Names:
    """Names of an arm, of its two links and joints and of its event."""

    arm: str
    links: tuple[str, str]
    joints: tuple[str, str]
    event: str

    @property
    def refused(self) -> bool:
        """Whether no arm may be called so."""
        words = (*self.links, *self.joints)
        titles = (self.arm, self.event)
        return (
            any(map(has_control, (*words, *titles)))
            or any(c.isspace() or c in FORBIDDEN_IN_WORDS for word in words for c in word)
            or len(set(words)) < len(words)
            or "base" in words
        )

    def data(self) -> dict[str, Any]:
        """Return the arm's description."""
        bodies = [{"mass": m, "com": [m / 4, 0, 0], "inertia": [0.01, 0.02, 0.02]} for m in (2, 1)]
        links = [
            {"name": link, "length": 0.5, "body": body,
             "joint": {"name": joint, "kind": "revolute", "axis": [0, 1, 0]}}
            for link, joint, body in zip(self.links, self.joints, bodies, strict=True)
        ]  # fmt: skip
        event = {"name": self.event, "when": {"quantity": self.joints[0], "above": 3}, "end": True}
        return {"flexarm": 1, "name": self.arm, "links": links, "events": [event]}


def has_control(text: str) -> bool:
    """Say whether a text has a character that steers instead of being shown."""
    return any(
        unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp")
        or unicodedata.bidirectional(c) in ODD
        or c in "\ufeff\ufffe\uffff"
        for c in text
    )


def hostile(seed: int) -> Names:
    """Make names by chance; in most cases such that the arm is not refused."""
    rng = random.Random(seed)
    harmless = rng.random() < 0.8

    def title(limit: int, *, word: bool) -> str:
        parts = (rng.choice(FRAGMENTS) for _ in range(rng.randint(1, 5)))
        text = rng.choice(WORDS) if rng.random() < 0.25 else rng.choice(("", " ")).join(parts)
        if rng.random() < 0.2:
            text += chr(rng.choice((rng.randrange(32, 0x3000), rng.randrange(0xE000, 0x1FFFF))))
        if harmless:
            text = "".join(c for c in text if not has_control(c))
        if harmless and word:
            text = "".join(c for c in text if not c.isspace() and c not in FORBIDDEN_IN_WORDS)
        return text[:limit] or "a"

    words = [title(LONGEST_WORD, word=True) for _ in range(4)]
    if harmless:
        words = [
            word if words.count(word) == 1 else f"{word[:50]}{k}" for k, word in enumerate(words)
        ]
    return Names(
        title(LONGEST_TITLE, word=False), (words[0], words[1]), (words[2], words[3]),
        title(100, word=False),
    )  # fmt: skip
