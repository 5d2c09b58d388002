"""GPU functions in PTX, NVIDIA's assembly language: one arm per thread.

The arrays of different arms are interleaved in groups of `GROUP` arms, as many as threads in a
warp: element k of an array of arm i is at index ``(i // GROUP * size + k) * GROUP + i % GROUP``, so
that the threads of a warp access neighbouring addresses.
"""

from collections.abc import Sequence

import llvmlite.binding as llvm

from flexarm.engine.compile import Target
from flexarm.engine.constants import WARP

GROUP = WARP
# All drivers since CUDA 11 and all GPUs since Volta support this target.
CUDA = Target("nvptx64-nvidia-cuda", "sm_70", "+ptx70")


def read(text: str, target: llvm.TargetMachine, machine: Target = CUDA) -> llvm.ModuleRef:
    """Parse LLVM text to an LLVM module for a target machine, by default a GPU."""
    module = llvm.parse_assembly(text)
    module.triple = machine.triple
    module.data_layout = str(target.target_data)
    return module


def threads(
    entry: str, pointers: Sequence[str], lines: Sequence[str], allocations: Sequence[str] = ()
) -> str:
    """Return LLVM code of a GPU function that executes given lines once per arm.

    The arguments of the GPU function are the number of arms, %count, and pointers to global memory.

    Parameters
    ----------
    entry
        Name of the GPU function.
    pointers
        Names of the arguments that point to global memory.
    lines
        LLVM lines for one arm, whose index is %arm; it is arm %lane of group %group.
    allocations
        LLVM lines that allocate memory of the thread. Allocations are at the start of the GPU
        function, since only there LLVM can replace memory by registers.
    """
    parameters = ", ".join(["i64 %count", *(f"ptr addrspace(1) {name}" for name in pointers)])
    registers = ("ctaid", "ntid", "tid")
    reads = "\n".join(f"declare i32 @llvm.nvvm.read.ptx.sreg.{name}.x()" for name in registers)
    values = "\n".join(
        f"%{name} = call i32 @llvm.nvvm.read.ptx.sreg.{name}.x()" for name in registers
    )
    return f"""{reads}
define ptx_kernel void @{entry}({parameters}) {{
{chr(10).join([*allocations, values])}
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
