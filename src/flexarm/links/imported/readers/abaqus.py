"""Abaqus matrices as text: ``node, direction, node, direction, value`` per line."""

from flexarm.errors import ModelError
from flexarm.links.imported.readers.labelled import Entries, Matrices, number, whole_number

TYPES = {"STIFFNESS": "K", "MASS": "M", "VISCOUSDAMPING": "D", "DAMPING": "D",
         "STRUCTURALDAMPING": "K4"}  # fmt: skip


def read_abaqus(text: str, name: str, matrices: Matrices) -> None:
    """Add matrices in `MATRIX INPUT` format; ``*MATRIX, TYPE=`` says which one follows.

    Raises
    ------
    ModelError
        If a line has not five fields, a matrix has no type, or there are two of a type.
    """
    current: Entries | None = None
    for k, line in enumerate(text.splitlines(), 1):
        where, words = f"{name}:{k}", [word.strip() for word in line.split(",")]
        if line.startswith("**") or not line.strip():
            continue
        if line.startswith("*"):
            options = dict(w.upper().replace(" ", "").split("=", 1) for w in words if "=" in w)
            kind = TYPES.get(options.get("TYPE", ""))
            current = matrices.begin(kind, f"TYPE={options['TYPE']}", where) if kind else None
            continue
        if current is None:
            raise ModelError(f"{where}: a '*MATRIX, TYPE=STIFFNESS' or 'MASS' must come before it")
        if len(words) < 5:
            raise ModelError(
                f"{where}: expected node, direction, node, direction, value (MATRIX INPUT format)"
            )
        a, b, c, d = (whole_number(word, where) for word in words[:4])
        current.add((a, b), (c, d), number(words[4], where), where)
