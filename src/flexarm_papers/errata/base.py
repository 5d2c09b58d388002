"""What an erratum is: printed, right, and what is printed does, run where it can be run."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

from flexarm.spatial import Array
from flexarm_papers.runs import difference

STATES = 5  # random ones


@dataclass(frozen=True)
class Erratum:
    """A place where a paper is misprinted or wrong, approximates, or needs a word."""

    # paper, where: the paper, and the equation, table or step.
    paper: str
    where: str
    # printed, right: both, in words and symbols.
    printed: str
    right: str
    # Runs the misprint and says what it does; or words, where there is nothing to run.  In the
    # table it is the name of a function behind =, and what that takes behind colons.
    effect: Callable[[], str] | str
    # File under ``flexarm`` whose lines have the right form, marked ``erratum``; "" if none.
    code: str = ""
    # An error, which may be the print's; an approximation that the paper itself states; a
    # transcription that is damaged, where the paper has it right elsewhere; or a remark on what is
    # not defined, or can be read otherwise.
    kind: Literal["error", "approximation", "transcription", "remark"] = "error"

    @property
    def runs(self) -> bool:
        """Whether the misprint is run."""
        return callable(self.effect)


@cache
def measured(erratum: Erratum) -> str:
    """Say what a misprint does, by running it where it can be run."""
    return erratum.effect() if callable(erratum.effect) else erratum.effect


def wrong_by(pairs: Sequence[tuple[Array, ...]], what: str) -> str:
    """Say by how much something is wrong: largest entry of the difference over the largest."""
    off = [100 * difference(bad, good) for bad, good in pairs]
    low, high = (f"{x:.2g}" if x < 100 else f"{x:.0f}" for x in (min(off), max(off)))
    return f"{what} wrong by {low} %" if low == high else f"{what} wrong by {low} to {high} %"
