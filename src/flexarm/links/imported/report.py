"""Findings of the checks of modal data, which are the report on a file."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from flexarm.errors import ModelError
from flexarm.io.source import Diagnostic, Path, Position, report, show_path

NOTE_ABOVE = 0.01  # relative difference that is worth a note
REFUSE_ABOVE = 0.2  # relative difference that no rounding, lumping or measurement explains


def percent(ratio: float) -> str:
    """Write a ratio in per cent."""
    return f"{100 * ratio:.2g} %" if ratio < 1 else f"{100 * ratio:,.0f} %"


def triple(values: Iterable[float]) -> str:
    """Write three numbers as ``(1, 0, 0)``."""
    return "(" + ", ".join(f"{value + 0.0:.6g}" for value in values) + ")"


@dataclass
class Findings:
    """Report on a file of modal data: facts, notes and reasons to refuse it."""

    file: str  # its name
    title: str = ""  # name of the body
    # Names of keys in the file, by their names in the plain form.
    keys: Mapping[str, str] = field(default_factory=dict)
    # Function that returns the position of a value in the file, if the file is text.
    place: Callable[[Path], Position] | None = None
    facts: list[tuple[str, str]] = field(default_factory=list)  # pairs of label and text
    notes: list[str] = field(default_factory=list)  # doubts that do not stop the reading
    problems: list[tuple[Path, str]] = field(default_factory=list)  # reasons to refuse the file

    def fact(self, label: str, text: str) -> None:
        """Add a line of the report."""
        self.facts.append((label, text))

    def refuse(self, path: Path, message: str) -> None:
        """Add a reason to refuse the file, about the value at `path`."""
        self.problems.append((self._named(path), message))

    def judge(self, difference: float, path: Path, message: str) -> None:
        """Refuse, note or pass a relative difference."""
        if not difference <= REFUSE_ABOVE:
            self.refuse(path, message)
        elif difference > NOTE_ABOVE:
            self.note(path, message)

    def note(self, path: Path, message: str) -> None:
        """Add a note about the value at `path`."""
        self.notes.append(f"{show_path(self._named(path))}: {message}" if path else message)

    @property
    def errors(self) -> list[str]:
        """Reasons to refuse the file as ``file:line:column: key: why``; empty if it is not."""
        if self.place is None:
            return [f"{self.file}: {show_path(path)}: {why}" for path, why in self.problems]
        placed = [Diagnostic(self.place(path), path, why) for path, why in self.problems]
        return report(self.file, placed).splitlines()

    def refusal(self) -> ModelError:
        """Return the error that lists all reasons."""
        return ModelError("\n".join(self.errors))

    def lines(self) -> list[str]:
        """Write the report as lines of text."""
        width = max((len(label) for label, _ in self.facts), default=0)
        return [
            f"{self.file}: {self.title}",
            *(f"  {label:<{width}}  {text}" for label, text in self.facts),
            *(f"  note: {note}" for note in self.notes),
            *(f"  error: {error}" for error in self.errors),
        ]

    def _named(self, path: Path) -> Path:
        return (self.keys.get(str(path[0]), path[0]), *path[1:]) if path else path
