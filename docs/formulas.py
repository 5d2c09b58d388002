"""Formulas of the pages as MathML, which browsers draw by themselves: mkdocs calls this."""

import re

from latex2mathml.converter import convert

_CODE = re.compile(r"(^```.*?^```$|`[^`\n]+`)", re.MULTILINE | re.DOTALL)
_FORMULA = re.compile(r"(\$\$?)([^$]+)\1")
_HIDDEN = re.compile(r"(shown|inline)formula([0-9a-f]+)end")


def on_page_markdown(markdown: str, **_about: object) -> str:
    """Hide the formulas of a page from Markdown, which would change them, but not what is code."""
    parts = _CODE.split(markdown)
    return "".join(part if k % 2 else _FORMULA.sub(_hide, part) for k, part in enumerate(parts))


def on_page_content(html: str, **_about: object) -> str:
    """Put the formulas back, as MathML."""
    return _HIDDEN.sub(_mathml, html)


def _hide(found: re.Match[str]) -> str:
    mark, formula = found.groups()
    return f"{'shown' if mark == '$$' else 'inline'}formula{formula.encode().hex()}end"


def _mathml(found: re.Match[str]) -> str:
    kind, code = found.groups()
    return str(convert(bytes.fromhex(code).decode(), display="block" if kind == "shown" else kind))
