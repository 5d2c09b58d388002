"""A stream as PTX, the code that NVIDIA's driver compiles: one arm per thread.

Arms stand side by side in groups of `GROUP`, the threads of a warp: element k of an array of arm i
is at ``(i // GROUP * size + k) * GROUP + i % GROUP``.  So the threads of a warp read neighbours.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import llvmlite.binding as llvm

from flexarm.engine.compile import Level, Target, fit, foreign_machine
from flexarm.engine.emit.keep import WARP
from flexarm.engine.emit.kit import Dialect
from flexarm.engine.emit.llvm import emit_llvm
from flexarm.engine.stream import Port, Stream

GROUP = WARP
# Any driver since CUDA 11 takes it, and any processor since Volta.
CUDA = Target("nvptx64-nvidia-cuda", "sm_70", "+ptx70")
INTERLEAVED = Dialect(fused=True, libm=False, stride=GROUP)
MOST = 1_000_000  # operations in one function: none is split


@dataclass(frozen=True)
class PtxKernel:
    """A function of many arms as PTX."""

    text: str  # PTX, for the driver
    # Name of the kernel: it takes the number of arms (i64), then pointers to each input, each
    # output and a work array of ``work_size`` doubles per arm, padded to whole groups.
    entry: str
    work_size: int
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]


def ptx_kernel(stream: Stream, *, level: Level = "fast") -> PtxKernel:
    """Compile a stream to PTX, on any machine.

    Raises
    ------
    FlexarmError
        If the installed llvmlite cannot write PTX, or an operation has no code for it.
    """
    how = fit(CUDA, level=level, width=1, operations=len(stream.operations))
    code = emit_llvm(stream, chunk=MOST, fit=how, dialect=INTERLEAVED)
    target = foreign_machine(CUDA, "GPU", level=level)
    entry = f"{code.entry}_arms"
    sizes = [port.size for port in (*stream.inputs, *stream.outputs)] + [code.work_size]
    # Internal functions are written for processors, which call them; here they are put in place.
    text = code.text.replace(") noinline nounwind", ") alwaysinline nounwind")
    with read(f"{text}\n{_kernel(entry, code.entry, sizes)}", target) as module:
        made = target.emit_assembly(module)
    return PtxKernel(made, entry, code.work_size, stream.inputs, stream.outputs)


def read(text: str, target: llvm.TargetMachine, machine: Target = CUDA) -> llvm.ModuleRef:
    """Read LLVM code for a machine, a GPU if none is named."""
    module = llvm.parse_assembly(text)
    module.triple = machine.triple
    module.data_layout = str(target.target_data)
    return module


def _kernel(entry: str, function: str, sizes: list[int]) -> str:
    """Write the kernel: where the arrays of a thread's arm are."""
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
    """Write a kernel that takes the number of arms, %count, and pointers to global memory.

    Parameters
    ----------
    entry
        Its name.
    pointers
        Names of the pointers.
    lines
        What a thread does for its arm, %arm, which is the %lane-th of the %group-th group.
    rooms
        Memory of the thread, which LLVM takes for registers only here.
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
