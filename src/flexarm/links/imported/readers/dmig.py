"""Nastran's DMIG entries in a punch file: superelement matrices by grid and direction."""

from flexarm.errors import ModelError
from flexarm.links.imported.readers.labelled import (
    Entries,
    Label,
    Matrices,
    number,
    whole_number,
)

# How names of matrices begin: KAAX, MAAX, BAAX, and K4AAX of structural damping.
NAMES = {"K4": "K4", "K": "K", "M": "M", "B": "D"}
SYMMETRIC = 6
WIDE = 16  # characters of a field where the entry has a star


def read_dmig(text: str, name: str) -> Matrices:
    """Read the symmetric matrices of a punch file; those of no kind that is used are left out.

    Raises
    ------
    ModelError
        If a line is no DMIG entry, a matrix is not symmetric and real, or there are two of a kind.
    """
    matrices, titled = Matrices(), dict[str, Entries | None]()
    current, column = "", (0, 0)
    for k, line in enumerate(text.splitlines(), 1):
        where = f"{name}:{k}"
        if not line.strip() or line.startswith("$"):
            continue
        fields = _fields(line)
        if line.startswith("DMIG") and not line.startswith("DMIG*"):
            if fields[2].strip() == "0":
                _require_real(fields, where)
                title = fields[1].strip()
                kind = next((NAMES[key] for key in NAMES if title.startswith(key)), None)
                titled[title] = matrices.begin(kind, title, where) if kind else None
                continue
            raise ModelError(f"{where}: expected DMIG* with fields of {WIDE} characters")
        if line.startswith("DMIG*"):
            current, column = fields[1].strip(), _label(fields[2], fields[3], where)
        elif line.startswith("*"):
            if current not in titled:
                raise ModelError(f"{where}: an entry before the head of its matrix")
            if (entries := titled[current]) is not None:
                row = _label(fields[1], fields[2], where)
                entries.add(row, column, number(fields[3], where), where)
        else:
            raise ModelError(f"{where}: is no DMIG entry: {line[:40]!r}")
    if not titled:
        raise ModelError(f"{name}: has no DMIG matrices")
    return matrices


def _fields(line: str) -> list[str]:
    """Cut a line into its name of 8 characters and its fields, of 16 where it has a star."""
    size = WIDE if "*" in line[:8] else 8
    body = line[8:72]
    return [
        line[:8],
        *(body[i : i + size] for i in range(0, max(len(body), 4 * size), size)),
        *[""] * 4,
    ]


def _require_real(fields: list[str], where: str) -> None:
    if fields[3].strip() != str(SYMMETRIC) or fields[4].strip() not in ("1", "2"):
        raise ModelError(f"{where}: must be a symmetric real matrix (form 6, type 1 or 2)")


def _label(node: str, direction: str, where: str) -> Label:
    return whole_number(node, where), whole_number(direction.strip() or "0", where)
