"""What is found in modal data, and the link that they are compared with."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from flexarm.io.source import Path, show_path
from flexarm.links.imported.line_shapes import Array, Masses, ShapeTable

NOTE_ABOVE = 0.01  # relative difference that is worth a note
REFUSE_ABOVE = 0.2  # relative difference that no rounding, lumping or measurement explains


def percent(ratio: float) -> str:
    """Write a ratio in per cent."""
    return f"{100 * ratio:.2g} %" if ratio < 1 else f"{100 * ratio:,.0f} %"


def triple(values: Iterable[float]) -> str:
    """Write three numbers as ``(1, 0, 0)``."""
    return "(" + ", ".join(f"{value:.6g}" for value in values) + ")"


@dataclass
class Findings:
    """What the checks have found so far."""

    facts: list[tuple[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    problems: list[tuple[Path, str]] = field(default_factory=list)

    def fact(self, label: str, text: str) -> None:
        """Keep a line of the report."""
        self.facts.append((label, text))

    def refuse(self, path: Path, message: str) -> None:
        """Keep a reason to refuse the file, about the value at `path`."""
        self.problems.append((path, message))

    def judge(self, difference: float, path: Path, message: str) -> None:
        """Refuse, note or pass a relative difference."""
        if not difference <= REFUSE_ABOVE:
            self.refuse(path, message)
        elif difference > NOTE_ABOVE:
            self.note(path, message)

    def note(self, path: Path, message: str) -> None:
        """Keep what the user should know about the value at `path`."""
        self.notes.append(f"{show_path(path)}: {message}" if path else message)


@dataclass(frozen=True)
class Report:
    """What was read from a file of modal data, and what is odd or wrong about it."""

    title: str  # the file and what it holds
    facts: tuple[tuple[str, str], ...]  # what was found, as pairs of label and text
    notes: tuple[str, ...]  # what the user should know or look into
    # Why the file is refused, as ``file:line:column: what: why``; empty if it is not.
    errors: tuple[str, ...]

    def lines(self) -> list[str]:
        """Write the report as lines of text."""
        width = max((len(label) for label, _ in self.facts), default=0)
        return [
            self.title,
            *(f"  {label:<{width}}  {text}" for label, text in self.facts),
            *(f"  note: {note}" for note in self.notes),
            *(f"  error: {error}" for error in self.errors),
        ]


@dataclass(frozen=True)
class Reference:
    """The link that modal data are for."""

    length: float  # of the flexible span [m]
    # The span's mass at quadrature points, given panel edges [m] that the points must respect.
    masses: Callable[[Array], Masses]
    # Stiffness matrix (m, m) of shapes by the span's section; 0 where it is rigid.
    stiffness: Callable[[ShapeTable], Array]
