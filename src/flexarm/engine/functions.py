"""Tracing, differentiation and compilation of Python functions, with a cache on disk."""

import functools
import hashlib
import json
import os
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from weakref import WeakValueDictionary

import casadi
import llvmlite.binding as llvm

from flexarm.engine.cache import Cache, cache_folder
from flexarm.engine.compile import (
    EFFORT,
    Compiled,
    Level,
    MachineCode,
    Signature,
    chunk_size,
    host,
    object_code,
)
from flexarm.engine.emit.llvm import emit_llvm
from flexarm.engine.lower import lower
from flexarm.engine.operators import direct_operators
from flexarm.engine.stream import Port, Stream
from flexarm.errors import FlexarmError

_MATRICES = (casadi.SX, casadi.DM, float, int)
PACKAGE = Path(__file__).parents[1]
# Machine code in this process by cache key; entries vanish when no other object refers to them.
_LOADED = WeakValueDictionary[str, MachineCode]()


@direct_operators()
def trace(
    name: str,
    function: Callable[..., casadi.SX | Sequence[casadi.SX]],
    inputs: Mapping[str, int | tuple[int, int]],
    *,
    outputs: Sequence[str],
) -> casadi.Function:
    """Trace a Python function on CasADi symbols; return its operations as a CasADi function.

    Parameters
    ----------
    name
        Name of the result: letters, digits and single underscores.
    function
        Python function of one `SX` per input, which returns one `SX` or a sequence of `SX`.
    inputs
        Name and size of each input, in order. A size is a length, or a pair of rows and columns.
        Parameters that are to stay symbolic are additional inputs.
    outputs
        Name of each output, in order.

    Returns
    -------
    casadi.Function
        CasADi function of the inputs that returns the outputs.
    """
    for identifier in (name, *inputs, *outputs):
        if not casadi.Function.check_name(identifier):
            raise FlexarmError(
                f"function '{name}': the name '{identifier}' must be letters, digits and single "
                "underscores, a letter first, and no word of CasADi's (null, jac, hess)"
            )
    symbols = [
        casadi.SX.sym(symbol, *(size if isinstance(size, tuple) else (size,)))
        for symbol, size in inputs.items()
    ]
    returned = function(*symbols)
    results = [returned] if isinstance(returned, casadi.SX) else returned
    if not isinstance(results, Sequence) or not all(isinstance(r, _MATRICES) for r in results):
        raise FlexarmError(
            f"function '{name}': must return a casadi.SX or a sequence of casadi.SX, got "
            f"{type(returned).__name__}. Convert it with casadi.SX(...)."
        )
    results = list(results)
    if len(results) != len(outputs):
        raise FlexarmError(
            f"function '{name}': must return {len(outputs)} outputs ({', '.join(outputs)}), "
            f"got {len(results)}"
        )
    return casadi.Function(name, symbols, results, list(inputs), list(outputs))


def jacobian(function: casadi.Function, *, of: str, by: Sequence[str]) -> casadi.Function:
    """Return the exact Jacobian matrices of an output of a traced function.

    Parameters
    ----------
    function
        The traced function.
    of
        Name of the output.
    by
        Names of the inputs with respect to which to differentiate.

    Returns
    -------
    casadi.Function
        CasADi function of the same inputs. The first output is ``of`` itself, which shares most
        operations with its derivatives. One Jacobian matrix for each name in `by` follows, called
        `d_OF_d_BY`; the rows of the matrix belong to elements of the output, the columns to
        elements of the input.
    """
    for kind, requested, available in (
        ("output", [of], function.name_out()),
        ("input", by, function.name_in()),
    ):
        for name in requested:
            if name not in available:
                raise FlexarmError(
                    f"function '{function.name()}': has no {kind} '{name}'. There are "
                    f"{', '.join(available)}."
                )
    symbols = function.sx_in()
    value = function.call(symbols, True, False)[function.index_out(of)]
    results = [value, *(casadi.jacobian(value, symbols[function.index_in(name)]) for name in by)]
    names = [of, *(f"d_{of}_d_{name}" for name in by)]
    return casadi.Function(
        f"{function.name()}_jacobian", symbols, results, function.name_in(), names
    )


def compile_function(
    function: casadi.Function, *, level: Level = "fast", width: int = 1, cache: Cache | None = None
) -> Compiled:
    """Return the machine code of a traced function, compiled or loaded from the cache.

    Parameters
    ----------
    function
        The traced function.
    level
        Optimisation level: `quick` compiles five to seven times faster, `fast` runs 1.3 to 1.8
        times faster.
    width
        Number of arms evaluated at once, one per lane of a SIMD register. The machine has
        `flexarm.engine.compile.native_width` lanes.
    cache
        Cache of machine code; None for the user's cache folder.

    Returns
    -------
    Compiled
        The machine code in this process.
    """
    return compile_stream(lower(function), level=level, width=width, cache=cache)


def compile_recipe(
    recipe: str,
    make: Callable[[], Stream],
    *,
    level: Level = "fast",
    width: int = 1,
    cache: Cache | None = None,
) -> Compiled:
    """Return machine code from the cache, or build and compile a stream if it is not there.

    Parameters
    ----------
    recipe
        Text that identifies the function: within one version of flexarm's source, calls with equal
        texts must mean the same function.
    make
        Function that builds the stream of operations.
    level, width, cache
        As for `compile_function`.

    Returns
    -------
    Compiled
        The machine code in this process.
    """
    cache = cache or Cache(cache_folder())
    recipe_key = _recipe_key(recipe, _settings(level, width))
    key = (cache.get(recipe_key) or b"").decode()
    loaded = _LOADED.get(key)
    if loaded is not None:
        return Compiled(loaded)
    entry = cache.get(key) if key else None
    if entry is not None:
        return _loaded(key, entry)
    stream = make()
    cache.put(recipe_key, _stream_key(stream, level, width).encode())
    return compile_stream(stream, level=level, width=width, cache=cache)


def noted(recipe: str) -> str | None:
    """Return the text stored in the cache for a recipe; None if there is none.

    The recipe is a text that identifies the stored text, such as all parameters of a computation.
    """
    note = Cache(cache_folder()).get(_recipe_key(recipe, b"note"))
    return None if note is None else note.decode()


def keep_note(recipe: str, note: str) -> None:
    """Store a text in the cache; the recipe is another text that identifies it."""
    Cache(cache_folder()).put(_recipe_key(recipe, b"note"), note.encode())


def _recipe_key(recipe: str, settings: bytes) -> str:
    tracer = [source_version(PACKAGE), casadi.CasadiMeta.version()]
    text = recipe.encode(errors="backslashreplace")
    return _key(text, json.dumps(tracer).encode(), settings)


def compile_stream(
    stream: Stream, *, level: Level = "fast", width: int = 1, cache: Cache | None = None
) -> Compiled:
    """Return the machine code of a stream of operations, compiled or loaded from the cache."""
    cache, key = cache or Cache(cache_folder()), _stream_key(stream, level, width)
    entry = cache.get(key)
    if entry is None:
        chunk, ordered = chunk_size(host(), width), EFFORT.get(level) != EFFORT["quick"]
        code = emit_llvm(stream, width=width, chunk=chunk, ordered=ordered)
        signature = Signature(
            code.entry, code.table_entry, stream.inputs, stream.outputs, width, code.work_size,
            len(stream.operations),
        )  # fmt: skip
        header = json.dumps(asdict(signature)).encode()
        entry = header + b"\n" + object_code(code, level=level, target=host())
        cache.put(key, entry)
    return _loaded(key, entry)


def _loaded(key: str, entry: bytes) -> Compiled:
    """Return the machine code for a cache key, loaded from the cache if necessary."""
    header, _, code = entry.partition(b"\n")
    fields = json.loads(header)
    for side in ("inputs", "outputs"):
        fields[side] = tuple(Port(*port) for port in fields[side])
    loaded = _LOADED.get(key) or MachineCode(Signature(**fields), code)
    return Compiled(_LOADED.setdefault(key, loaded))


def _key(*parts: bytes) -> str:
    sha = hashlib.sha256()
    for part in parts:
        sha.update(b"%d:" % len(part) + part)
    return sha.hexdigest()


def _settings(level: Level, width: int) -> bytes:
    """Return the part of a cache key for CPU, versions, optimisation level and SIMD lanes."""
    if not isinstance(width, int) or width < 1 or width & (width - 1):
        # LLVM pads vectors whose number of lanes is no power of 2.
        raise FlexarmError(
            f"width: must be a number of SIMD lanes that is a power of two, got {width!r}"
        )
    versions = [source_version(PACKAGE / "engine"), llvm.llvm_version_info]
    return json.dumps([asdict(host()), versions, level, width]).encode()


def _stream_key(stream: Stream, level: Level, width: int) -> str:
    """Return the cache key of the machine code of a stream."""
    names = [stream.name, stream.inputs, stream.outputs, [op for op, _, _ in stream.operations]]
    tables = (
        array("d", stream.constants),
        array("q", chain.from_iterable(stream.loads)),
        array("q", chain.from_iterable((a, b) for _, a, b in stream.operations)),
        array("q", chain.from_iterable(stream.stores)),
    )
    contents = [json.dumps(names).encode(), *(table.tobytes() for table in tables)]
    return _key(*contents, _settings(level, width))


@functools.cache
def source_version(folder: Path) -> str:
    """Return a checksum of all Python files in a folder."""
    sha = hashlib.sha256()
    for place, folders, files in os.walk(folder):  # texts are faster than hundreds of Path objects
        folders[:] = sorted(name_ for name_ in folders if name_ != "__pycache__")
        for name in sorted(name_ for name_ in files if name_.endswith(".py")):
            path = f"{place}/{name}"
            with open(path, "rb") as file:
                content = file.read()
            sha.update(f"{path[len(str(folder)) :]}\n{len(content)}\n".encode() + content)
    return sha.hexdigest()
