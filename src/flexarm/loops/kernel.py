"""Kernels (typed Python functions) compiled to machine code, with a cache on disk."""

import ctypes
import functools
import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm

from flexarm.engine.cache import Cache, cache_folder
from flexarm.engine.compile import EFFORT, host, load_object, machine
from flexarm.engine.functions import source_version
from flexarm.errors import FlexarmError
from flexarm.loops.language import Array, Ints, LoopSource, Record, address_of
from flexarm.loops.translate import translate

PACKAGE = Path(__file__).parents[1]


class Kernel(LoopSource):
    """A Python function compiled to machine code; ``.python`` is the original function.

    The decorator `kernel` builds a `Kernel` from a Python function with annotated types.
    """

    _engine: llvm.ExecutionEngine

    @functools.cached_property
    def address(self) -> int:
        """Memory address of the machine code, which is compiled when first needed."""
        # If two threads compile at once, both use the engine of the first, since code is valid only
        # while its engine exists.
        engine = self.__dict__.setdefault("_engine", load_object(self._object_code()))
        return int(engine.get_function_address(f"kernel_{self.name}"))

    def __call__(self, *arguments: Any) -> Any:
        """Run the machine code and return its result; records in the arguments are modified."""
        *kinds, result = self.hints.values()
        names = list(self.hints)[: len(kinds)]
        if len(arguments) != len(kinds) or bool in (*kinds, result):
            raise FlexarmError(
                f"kernel '{self.name}': takes {', '.join(names)}, and without bools as "
                f"arguments or result when called from Python, got {len(arguments)} arguments"
            )
        typed_arguments = list(zip(arguments, kinds, names, strict=True))
        values = [_argument(*argument) for argument in typed_arguments]
        result_type: Any = {float: ctypes.c_double, int: ctypes.c_int64}.get(result)
        call = ctypes.CFUNCTYPE(result_type, *map(type, values))(self.address)
        returned = call(*values)
        for value in arguments:
            if isinstance(value, Record):
                value.unpack()
        return returned

    def _object_code(self) -> bytes:
        """Return the kernel's object file, from the cache or newly compiled."""
        cache = Cache(cache_folder())
        dependencies = [
            sorted(self._parts({})),
            asdict(host()),
            source_version(PACKAGE),
            [llvm.llvm_version_info, EFFORT["fast"]],
        ]
        key = hashlib.sha256(b"kernel" + json.dumps(dependencies).encode()).hexdigest()
        code = cache.get(key)
        if code is None:
            code = object_of(translate(self))
            cache.put(key, code)
        return code

    def _parts(self, visited: dict[int, "Kernel"]) -> list[list[str]]:
        """Return the data that determine the machine code, as the key of the cache.

        For the kernel and all kernels that it calls, the key contains the source text (in flexarm's
        own files the line number), the constants that the code may read, and the memory layouts of
        its records. A checksum of flexarm's source code is added elsewhere.
        """
        visited[id(self)] = self
        code = self.python.__code__
        globals_ = {name: self.globals.get(name) for name in code.co_names}
        constants = [f"{k}={v!r}" for k, v in globals_.items() if isinstance(v, (int, float))]
        kinds = self.hints.values()
        records = [k.layout().text for k in kinds if isinstance(k, type) and issubclass(k, Record)]
        in_package = Path(code.co_filename).is_relative_to(PACKAGE)
        text = str(code.co_firstlineno) if in_package else self.source
        parts = [[self.name, text, *constants, *records]]
        for called in globals_.values():
            if isinstance(called, Kernel) and id(called) not in visited:
                parts += called._parts(visited)
        return parts


kernel = Kernel


def object_of(text: str) -> bytes:
    """Return the object file of a kernel's LLVM code, optimised for this CPU."""
    with llvm.parse_assembly(text) as module:
        module.verify()
        target = machine(host(), EFFORT["fast"])
        if EFFORT["fast"] == EFFORT["quick"]:
            tidy(module, target)
        else:
            optimise(module, target, quick=True)
        return bytes(target.emit_object(module))


def tidy(module: llvm.ModuleRef, target: llvm.TargetMachine) -> None:
    """Run a few effective LLVM passes, which take a tenth of the time of all passes."""
    builder = llvm.create_pass_builder(target, llvm.create_pipeline_tuning_options(speed_level=0))
    passes = llvm.create_new_module_pass_manager()
    passes.add_sroa_pass()
    passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    passes.add_loop_rotate_pass()
    passes.add_instruction_combine_pass()
    passes.run(module, builder)


def optimise(module: llvm.ModuleRef, target: llvm.TargetMachine, *, quick: bool = False) -> None:
    """Run LLVM's optimisation passes on the code of kernels.

    With ``quick``, loops are not unrolled and fewer functions are inlined. On a CPU, compilation
    then takes half the time, and the code is as fast, since most time is spent in the equations of
    motion that the loops call.
    """
    options = llvm.create_pipeline_tuning_options(speed_level=1 if quick else 2)
    options.loop_vectorization = True
    if quick:
        options.loop_unrolling = False
        options.inlining_threshold = 25
    builder = llvm.create_pass_builder(target, options)
    builder.getModulePassManager().run(module, builder)


def _argument(value: Any, kind: Any, name: str) -> Any:
    """Return the ctypes value of an argument, or raise an error for a wrong type."""
    if kind is float:
        return ctypes.c_double(value)
    if kind is int:
        if not -(2**63) <= value < 2**63:
            raise FlexarmError(f"kernel argument '{name}': must be an int of 64 bits, got {value}")
        return ctypes.c_int64(value)
    if kind in (Array, Ints):
        return ctypes.c_void_p(address_of(value, kind, name))
    if not isinstance(value, kind):
        expected, received = kind.__name__, type(value).__name__
        raise FlexarmError(f"kernel argument '{name}': must be a {expected}, got {received}")
    return ctypes.c_void_p(value.pack())
