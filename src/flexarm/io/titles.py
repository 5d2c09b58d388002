"""Conversion of users' names to ASCII, for comments and headings of generated C and LaTeX."""

import re
import unicodedata

# All characters except printable ASCII, and * / \ ?, which can end comments, continue lines or form
# trigraphs in C.
_OTHERS = re.compile(r"[^ !-)+-.0->@-[\]-~]+")


def plain_title(text: str) -> str:
    """Return a text as one line of ASCII without comment delimiters or backslashes.

    Accents are removed. Each sequence of other characters that ASCII lacks becomes one underscore.
    """
    letters = unicodedata.normalize("NFKD", text)
    base_letters = "".join(c for c in letters if not unicodedata.combining(c))
    return _OTHERS.sub("_", base_letters)
