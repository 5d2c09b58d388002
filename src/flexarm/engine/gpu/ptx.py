"""Compilation of a stream to PTX, NVIDIA's assembly language: one arm per thread.

Arms are interleaved in groups of `GROUP`, the threads of a warp: element k of an array of arm i is
at ``(i // GROUP * size + k) * GROUP + i % GROUP``, so that the threads of a warp access
neighbouring addresses.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import llvmlite.binding as llvm

from flexarm.engine.compile import Level, Target, fit, foreign_machine
from flexarm.engine.constants import UNSPLIT_OPERATIONS, WARP
from flexarm.engine.emit.kit import Dialect
from flexarm.engine.emit.llvm import emit_llvm
from flexarm.engine.stream import Port, Stream

GROUP = WARP
# Supported by all drivers since CUDA 11 and all GPUs since Volta.
CUDA = Target("nvptx64-nvidia-cuda", "sm_70", "+ptx70")
INTERLEAVED = Dialect(fused=True, libm=False, stride=GROUP)


@dataclass(frozen=True)
class PtxKernel:
    """A function as PTX that evaluates many arms, one per thread."""

    text: str  # PTX, for the driver
    # Name of the kernel: it takes the number of arms (i64), then pointers to each input, each
    # output and a work array of ``work_size`` doubles per arm, padded to whole groups.
    entry: str
    work_size: int
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]


def ptx_kernel(stream: Stream, *, level: Level = "fast") -> PtxKernel:
    """Return a stream of operations compiled to PTX; no GPU is needed.

    Raises
    ------
    FlexarmError
        If the installed llvmlite cannot write PTX, or an operation has no code for it.
    """
    how = fit(CUDA, level=level, width=1, operations=len(stream.operations))
    code = emit_llvm(stream, chunk=UNSPLIT_OPERATIONS, fit=how, dialect=INTERLEAVED)
    target = foreign_machine(CUDA, "GPU", level=level)
    entry = f"{code.entry}_arms"
    sizes = [port.size for port in (*stream.inputs, *stream.outputs)] + [code.work_size]
    # Internal functions, called on processors, are inlined on a GPU.
    text = code.text.replace(") noinline nounwind", ") alwaysinline nounwind")
    with read(f"{text}\n{_kernel(entry, code.entry, sizes)}", target) as module:
        made = target.emit_assembly(module)
    return PtxKernel(made, entry, code.work_size, stream.inputs, stream.outputs)


def read(text: str, target: llvm.TargetMachine, machine: Target = CUDA) -> llvm.ModuleRef:
    """Return the LLVM module of LLVM text, for a target machine, by default a GPU."""
    module = llvm.parse_assembly(text)
    module.triple = machine.triple
    module.data_layout = str(target.target_data)
    return module


def _kernel(entry: str, function: str, sizes: list[int]) -> str:
    """Return the LLVM kernel that calls a function with the array pointers of a thread's arm."""
    names = [f"%p{k}" for k in range(len(sizes))]
    lines = []
    for k, (name, size) in enumerate(zip(names, sizes, strict=True)):
        lines += [
            f"%g{k} = mul i64 %group, {size * GROUP}",
            f"%o{k} = add i64 %g{k}, %lane",
            f"%a{k} = getelementptr double, ptr addrspace(1) {name}, i64 %o{k}",
            f"%b{k} = addrspacecast ptr addrspace(1) %a{k} to ptr",
        ]
    arguments = ", ".join(f"ptr %b{k}" for k in range(len(sizes)))
    lines.append(f"call void @{function}({arguments})")
    return threads(entry, names, lines)


def threads(
    entry: str, pointers: Sequence[str], lines: Sequence[str], rooms: Sequence[str] = ()
) -> str:
    """Return the LLVM kernel that runs given lines for every arm, one thread per arm.

    The kernel takes the number of arms, %count, and pointers to global memory.

    Parameters
    ----------
    entry
        Name of the kernel.
    pointers
        Names of the pointers.
    lines
        LLVM lines for the thread's arm, %arm, with index %lane in group %group.
    rooms
        LLVM lines that allocate memory of the thread, which LLVM replaces by registers only here.
    """
    parameters = ", ".join(["i64 %count", *(f"ptr addrspace(1) {name}" for name in pointers)])
    places = ("ctaid", "ntid", "tid")
    reads = "\n".join(f"declare i32 @llvm.nvvm.read.ptx.sreg.{name}.x()" for name in places)
    values = "\n".join(f"%{name} = call i32 @llvm.nvvm.read.ptx.sreg.{name}.x()" for name in places)
    return f"""{reads}
define ptx_kernel void @{entry}({parameters}) {{
{chr(10).join([*rooms, values])}
%before = mul i32 %ctaid, %ntid
%number = add i32 %before, %tid
%arm = zext i32 %number to i64
%mine = icmp ult i64 %arm, %count
br i1 %mine, label %work, label %done
work:
%group = udiv i64 %arm, {GROUP}
%lane = urem i64 %arm, {GROUP}
{chr(10).join(lines)}
br label %done
done:
ret void
}}
"""
