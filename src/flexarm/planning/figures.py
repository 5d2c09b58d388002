"""Write figures of plans, whole or not at all."""

import io
from pathlib import Path
from typing import TYPE_CHECKING

from flexarm.arguments import require_path
from flexarm.io.whole_file import write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def save_figure(figure: "Figure", path: str | Path, *, force: bool = False) -> None:
    """Write a figure; the file's suffix says which kind (png, svg, pdf)."""
    memory, kind = io.BytesIO(), require_path("path", path).suffix[1:].lower() or "png"
    figure.savefig(memory, dpi=150, format=kind)
    write_whole(path, memory.getvalue(), force=force)
