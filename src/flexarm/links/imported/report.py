"""Report on a file of modal data: facts, notes and errors from the checks."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from flexarm.errors import ModelError
from flexarm.io.source import Diagnostic, Path, Position, report, show_path
from flexarm.links.imported.constants import NOTE_ABOVE, REFUSE_ABOVE


def percent(ratio: float) -> str:
    """Return a ratio as text in per cent."""
    return f"{100 * ratio:.2g} %" if ratio < 1 else f"{100 * ratio:,.0f} %"


def triple(values: Iterable[float]) -> str:
    """Return numbers as text such as ``(1, 0, 0)``."""
    return "(" + ", ".join(f"{value + 0.0:.6g}" for value in values) + ")"


@dataclass
class Findings:
    """Facts, notes and errors on a file of modal data; with errors the file is refused."""

    file: str  # name of the file
    title: str = ""  # name of the body
    # Names of the keys in the file, by name of the key in the plain form.
    keys: Mapping[str, str] = field(default_factory=dict)
    # Function that returns the position of a value in the file, if the file is text.
    place: Callable[[Path], Position] | None = None
    facts: list[tuple[str, str]] = field(default_factory=list)  # pairs of label and text
    notes: list[str] = field(default_factory=list)  # warnings
    problems: list[tuple[Path, str]] = field(default_factory=list)  # reasons to refuse the file

    def fact(self, label: str, text: str) -> None:
        """Add a line with a label and a text to the report."""
        self.facts.append((label, text))

    def refuse(self, path: Path, message: str) -> None:
        """Add an error about the value at `path`, for which the file is refused."""
        self.problems.append((self._file_path(path), message))

    def judge(self, difference: float, path: Path, message: str) -> None:
        """Add an error or a note if a relative difference exceeds REFUSE_ABOVE or NOTE_ABOVE."""
        if not difference <= REFUSE_ABOVE:
            self.refuse(path, message)
        elif difference > NOTE_ABOVE:
            self.note(path, message)

    def note(self, path: Path, message: str) -> None:
        """Add a note about the value at `path`, or about the whole file if the path is empty."""
        self.notes.append(f"{show_path(self._file_path(path))}: {message}" if path else message)

    @property
    def errors(self) -> list[str]:
        """Error messages ``file:line:column: key: reason``; empty if the file is accepted."""
        if self.place is None:
            return [f"{self.file}: {show_path(path)}: {message}" for path, message in self.problems]
        diagnostics = [
            Diagnostic(self.place(path), path, message) for path, message in self.problems
        ]
        return report(self.file, diagnostics).splitlines()

    def refusal(self) -> ModelError:
        """Return a ModelError that lists all errors."""
        return ModelError("\n".join(self.errors))

    def lines(self) -> list[str]:
        """Return the report as lines of text."""
        width = max((len(label) for label, _ in self.facts), default=0)
        return [
            f"{self.file}: {self.title}",
            *(f"  {label:<{width}}  {text}" for label, text in self.facts),
            *(f"  note: {note}" for note in self.notes),
            *(f"  error: {error}" for error in self.errors),
        ]

    def _file_path(self, path: Path) -> Path:
        return (self.keys.get(str(path[0]), path[0]), *path[1:]) if path else path
