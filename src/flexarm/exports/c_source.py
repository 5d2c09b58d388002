"""Export of an arm as C source: equations, integrators, and a program that simulates it."""

import importlib.resources
import math
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from flexarm.engine.emit.c import CSource, emit_c
from flexarm.engine.lower import lower
from flexarm.errors import FlexarmError
from flexarm.exports.plant import Plant
from flexarm.integrate.constants import MOST_SLIP_CHANGES
from flexarm.integrate.location import bisect_exit, choose_sides, locate, stop_at
from flexarm.integrate.loop import (
    BROKEN,
    EVENT_FOUND,
    FINISHED,
    LIMIT_REACHED,
    NO_STEP,
    RUNNING,
    limit_value,
    march,
    resolved_step,
)
from flexarm.integrate.methods import dop853, rk4
from flexarm.integrate.methods.explicit import explicit_sample, explicit_step
from flexarm.integrate.mission.transitions import OPEN, way_closed, way_moving, way_next
from flexarm.integrate.state import measure, widen
from flexarm.integrate.system import System, enter_pieces, prescribe, rates
from flexarm.io.constants import LINE_WIDTH
from flexarm.io.titles import plain_title
from flexarm.io.whole_file import require_folder, require_writable, write_whole
from flexarm.loops.c import print_c
from flexarm.spatial import Array

COMMON = ("equations.h", "equations.c", "example.c")  # files of every arm


def write_c(plant: Plant, folder: Path, *, force: bool = False) -> list[Path]:
    """Write the C files of an arm to a folder, created if missing, and return their paths.

    Raises
    ------
    FlexarmError
        If a file exists and ``force`` is false, or if a file cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FlexarmError(f"{folder}: the folder cannot be made: {error.strerror}") from None
    files = c_files(plant, example=True)
    for name in files:
        require_writable(folder / name, force=force)
    for name, text in files.items():
        write_whole(folder / name, text.encode(), force=force)
    return [folder / name for name in files]


def require_c_folder(folder: Path, *, force: bool) -> None:
    """Raise an error, before any computation, if C files could not be written to a folder.

    Raises
    ------
    FlexarmError
        If the folder cannot be created or written to, or contains an exported arm and ``force`` is
        false.
    """
    require_folder(folder)
    for name in COMMON if folder.exists() else ():
        require_writable(folder / name, force=force)


def c_files(plant: Plant, *, example: bool = False) -> dict[str, str]:
    """Return the C files of an arm as text, by file name; any C99 compiler can compile them."""
    functions = [plant.rates(), plant.outputs(), plant.tangent()]
    functions += [plant.anew()] if plant.model.attitudes else []
    functions += [plant.servos()] if plant.switches.sampled else []
    emitted = [emit_c(lower(function)) for function in functions]
    words = _words(plant, emitted)
    files = {
        f"{plant.name}.h": template("arm.h", words),
        f"{plant.name}.c": template("arm.c", words),
        "equations.h": "\n".join(source.header for source in emitted),
        "equations.c": "\n".join(
            source.source.replace("#include <math.h>\n", "#include <math.h>\n" if k == 0 else "")
            for k, source in enumerate(emitted)
        ),
    }
    return files | ({"example.c": template("example.c", words)} if example else {})


def template(name: str, words: dict[str, str]) -> str:
    """Return a template from the folder `sources` with its placeholders ``@WORD@`` replaced.

    All placeholders are replaced at once: inserted text that looks like a placeholder is not
    replaced again.
    """
    text = importlib.resources.files("flexarm.exports").joinpath(f"sources/{name}").read_text()
    return re.sub(r"@([A-Z]+)@", lambda placeholder: words[placeholder[1]], text)


def _words(plant: Plant, emitted: Sequence[CSource]) -> dict[str, str]:
    name = plant.name
    sizes = {
        "STATES": len(plant.start), "COORDINATES": len(plant.open), "INPUTS": len(plant.inputs),
        "OUTPUTS": len(plant.output_names), "BOUNDS": len(plant.bounds),
        "JUMPS": len(plant.jumps), "ATTITUDES": len(plant.model.attitudes),
        "HOLDERS": len(plant.switches.holders), "EVENTS": len(plant.switches.events),
        "LOOKS": len(plant.switches.corners), "INDICATORS": len(plant.indicators),
        "SAMPLED": len(plant.switches.sampled), "WAITING": plant.switches.waiting,
        "WORK": max(source.work_size for source in emitted),
    }  # fmt: skip
    defines = [f"#define {name}_{key} {value}" for key, value in sizes.items()]
    kernels = print_c(
        [march, locate, bisect_exit, stop_at, choose_sides, way_moving, way_closed, way_next],
        called_by_field={"step": explicit_step, "sample": explicit_sample},
        outside={
            rates: f"{name}_rate", System: f"struct {name}", measure: "nominal_error",
            limit_value: "limit_margin", enter_pieces: "pass_pieces",
            prescribe: "keep_prescribed", widen: "keep_sizes", resolved_step: "whole_step",
        },
    )  # fmt: skip
    rules = {
        "OPEN": OPEN, "MOST_AT_ONCE": MOST_SLIP_CHANGES, "MOST_STEPS": 1_000_000,
        "RUNNING": RUNNING, "FINISHED": FINISHED, "BROKEN": BROKEN, "NO_STEP": NO_STEP,
        "LIMIT_REACHED": LIMIT_REACHED, "EVENT_FOUND": EVENT_FOUND,
    }  # fmt: skip
    return {
        "RULES": "\n".join(f"#define {key} {value}" for key, value in rules.items()),
        "DEFINES": "\n".join(defines), "TABLES": _tables(plant), "METHODS": _methods(),
        "RECORDS": kernels.records, "KERNELS": kernels.functions,
        "TITLE": plain_title(plant.model.arm.name), "FILE": name, "NAME": name,
    }  # fmt: skip


def _tables(plant: Plant) -> str:
    name, linear = plant.name, plant.linear()
    largest_step = 6.0 / max(
        plant.task.vibration.largest, 1e-12
    )  # dop853 is stable for any damping
    bounds = [np.append(row, number) for row, number, _ in plant.bounds]
    limits = len(bounds) + len(plant.model.attitudes)
    parts = [
        numbers("static const", "start", plant.start),
        numbers("const", f"{name}_usual", plant.usual),
        f"static const double largest_step = {largest_step!r};",
        numbers("static const", "bounds", np.array(bounds).ravel()),
        numbers("static const", "bound_low", np.zeros(limits)),
        numbers("static const", "bound_high", np.full(limits, np.inf)),
        *(numbers("static const", key, row) for key, row in plant.tables.items()),
        numbers("const", f"{name}_jumps", plant.jumps, size=len(plant.jumps) + 1),
        *(numbers("const", f"{name}_{key}", getattr(linear, key).ravel()) for key in "ABCD"),
        texts(f"{name}_state_names", [name_ for name_, _ in plant.states]),
        texts(f"{name}_state_units", [unit for _, unit in plant.states]),
        texts(f"{name}_input_names", [name_ for name_, _ in plant.inputs]),
        texts(f"{name}_output_names", [name_ for name_, _ in plant.output_names]),
        texts(f"{name}_indicator_names", plant.indicators),
        texts(f"{name}_linear_states", linear.states),
        texts(f"{name}_linear_outputs", linear.outputs),
    ]
    return "\n".join(parts)


def _methods() -> str:
    tables: dict[str, Array] = {}
    for name, tableau in (("rk4", rk4.TABLEAU), ("dop853", dop853.TABLEAU)):
        tables[f"{name}_a"], tables[f"{name}_b"] = tableau.table.ravel(), tableau.weights[0]
        tables[f"{name}_c"] = np.array([*tableau.nodes, *tableau.extra])
    tables["dop853_e"], tables["dop853_e3"] = dop853.TABLEAU.weights[1:]
    tables["dop853_d"] = dop853.TABLEAU.dense.ravel()
    return "\n".join(numbers("static const", key, value) for key, value in tables.items())


def numbers(kind: str, name: str, values: Array, *, size: int | None = None) -> str:
    """Return the C definition of an array of doubles, with at least one element."""
    words = [_number(value) for value in values.tolist()] or ["0.0"]
    return f"{kind} double {name}[{size or len(words)}] = {{\n{_wrapped(words)}\n}};"


def texts(name: str, values: Sequence[str]) -> str:
    """Return the C definition of an array of strings that ends with a null pointer."""
    words = [f'"{_escaped(value)}"' for value in values] + ["0"]
    return f"const char *const {name}[{len(words)}] = {{\n{_wrapped(words)}\n}};"


def _number(value: float) -> str:
    if math.isinf(value):
        return "HUGE_VAL" if value > 0 else "-HUGE_VAL"
    return repr(float(value))


def _escaped(text: str) -> str:
    """Return text as the contents of a C string, with special and non-ASCII bytes in octal."""
    characters = (chr(b) if 32 <= b < 127 and chr(b) not in '"\\?' else f"\\{b:03o}"
             for b in text.encode())  # fmt: skip
    return "".join(characters)


def _wrapped(words: Sequence[str]) -> str:
    lines, line = [], "   "
    for word in words:
        if len(line) + len(word) + 2 > LINE_WIDTH:
            lines.append(line)
            line = "   "
        line += f" {word},"
    return "\n".join([*lines, line])
