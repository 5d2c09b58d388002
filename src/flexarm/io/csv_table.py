"""Reader of CSV text, with the line and column of each cell."""

import io
import math
import re
from collections.abc import Iterator

from flexarm.arm.side_files import SideFile
from flexarm.errors import ModelError
from flexarm.io.constants import MOST_CELLS

Cell = tuple[int, str]  # column, counted from 1, and text of a cell
Row = tuple[int, list[Cell]]  # line, counted from 1, and its cells

_QUOTED = re.compile(r'[ \t]*"((?:[^"]|"")*)"[ \t]*')


def read_rows(file: SideFile) -> Iterator[Row]:
    """Yield the rows of a CSV file, each as a line number and cells.

    Parameters
    ----------
    file
        UTF-8 text. Cells are separated by semicolons if the first line contains semicolons and no
        comma, else by commas. Empty lines and lines that start with ``#`` are skipped.

    Raises
    ------
    ModelError
        If the file is not UTF-8 text, or a line has too many cells.
    """
    try:
        text = file.content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ModelError(f"{file.path}: is not UTF-8 text. Save it as CSV in UTF-8.") from None
    separator = ""
    for number, line in enumerate(io.StringIO(text, newline=None), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        separator = separator or (";" if ";" in line and "," not in line else ",")
        if line.count(separator) >= MOST_CELLS:
            raise ModelError(f"{file.path}:{number}: has more than {MOST_CELLS:,} cells")
        yield number, _cells(line.rstrip("\n"), separator)


def read_number(text: str) -> float:
    """Return the finite decimal number in a text; NaN for other text, such as ``1_0``, ``inf``."""
    try:
        number = float(text) if text.isascii() and "_" not in text else math.nan
    except ValueError:
        return math.nan
    return number if math.isfinite(number) else math.nan


def _cells(line: str, separator: str) -> list[Cell]:
    cells, start = [], 0
    while start <= len(line):
        quoted = _QUOTED.match(line, start) if '"' in line else None
        end = line.find(separator, quoted.end() if quoted else start)
        end = len(line) if end < 0 else end
        cell = line[start:end]
        content = quoted[1].replace('""', '"') if quoted and quoted.end() == end else cell
        cells.append((start + 1 + len(cell) - len(cell.lstrip()), content.strip()))
        start = end + 1
    return cells
