"""Runs computed one after the other in compiled code, in one reused block of memory."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from flexarm.integrate.loop import RUNNING
from flexarm.integrate.state import IntegratorState
from flexarm.loops.kernel import kernel
from flexarm.loops.language import INTEGER, Array, Ints, Record, run_kernel
from flexarm.loops.threads import ThreadRecord

VALUE = 2  # column of a channel's pieces with the value of a constant
COUNTS = 4  # integers stored per run: return code of `march`, and three statistics


@dataclass
class RunSeries(Record):
    """Record of consecutive runs whose memory differs only in its first numbers."""

    m: IntegratorState  # integration of the present run
    restart: int  # address of the kernel that resets the memory for a run
    march: int  # address of the kernel that integrates a run
    memory: Array  # memory of `m` and its arrays
    first: Array  # content of the memory before a run
    numbers: int  # count of numbers at the beginning of the memory that are reset for each run
    places: Ints  # indices in the memory of the numbers that differ from run to run
    given: int  # count of these numbers
    values: Array  # these numbers, (count, given)
    lanes: int  # number of runs integrated together
    size: int  # length of the state of each run
    begin: int  # index of the first sample that is stored
    rows: int  # number of samples stored per run
    samples: Array  # stored samples, (count, lanes, rows, size)
    counts: Ints  # return code, steps, rejections and evaluations, (count, COUNTS)
    run: int = 0  # index of the present run
    count: int = 0  # number of runs
    going: int = 0  # 1 within a run, else 0


@kernel
def restart(r: RunSeries) -> int:
    """Reset the memory to the start of a run; return 0."""
    for i in range(r.numbers):
        r.memory[i] = r.first[i]
    for j in range(r.given):
        r.memory[r.places[j]] = r.values[r.run * r.given + j]
    return 0


@kernel
def keep_run(r: RunSeries) -> None:
    """Copy samples and statistics of the current run to the results."""
    row = r.run * COUNTS
    r.counts[row + 1] = r.m.steps
    r.counts[row + 2] = r.m.rejections
    r.counts[row + 3] = r.m.system.evaluations
    for lane in range(r.lanes):
        first = (r.run * r.lanes + lane) * r.rows
        for s in range(r.begin, r.m.recorded):
            for i in range(r.size):
                value = r.m.samples[(s * r.size + i) * r.lanes + lane]
                r.samples[(first + s - r.begin) * r.size + i] = value


@kernel
def march_series(r: RunSeries) -> int:
    """Integrate runs up to index `count`; return `RUNNING` if one needs more trial steps."""
    while r.run < r.count:
        if r.going == 0:  # by address: the kernels share memory hidden from this one
            run_kernel(r.restart, r)
        code = run_kernel(r.march, r.m)
        r.going = 1 if code == RUNNING else 0
        if code == RUNNING:
            return RUNNING
        r.counts[r.run * COUNTS] = code
        keep_run(r)
        r.run += 1
    return 1


def gather_memory(record: Record, arrays: Sequence[Array | Ints], last: Array) -> Array:
    """Move a record and its arrays to one block of memory; return the block.

    Parameters
    ----------
    record
        The record; its fields become views of the block, and its pointer tables point to it.
    arrays
        Arrays that pointer tables refer to and no field is; others stay where they are.
    last
        The array that comes last in the block.
    """
    thread = ThreadRecord(record, arrays)
    by_address = {address: member for address, member in thread.by_address.items() if member.size}
    by_address[last.ctypes.data] = by_address.pop(last.ctypes.data)  # now the last one
    slots = sum(len(member.layout().types) for member in thread.records)
    block = np.zeros(slots + sum(member.size for member in by_address.values()))
    views, end = dict[int, Array | Ints](), slots
    for address, array in by_address.items():
        view: Any = block[end : end + array.size].view(array.dtype)
        view[:], end = array.ravel(), end + array.size
        views[address] = view
    addresses = {address: view.ctypes.data for address, view in views.items()}
    end = 0
    for member in thread.records:
        layout = member.layout()
        for _, name in layout.arrays:
            array = getattr(member, name)
            setattr(member, name, views.get(array.ctypes.data, array))
        for _, name in layout.arrays:
            table = getattr(member, name)
            if table.dtype == INTEGER:
                table[:] = [addresses.get(address, address) for address in table.tolist()]
        member.move_to(block[end : end + len(layout.types)])
        end += len(layout.types)
    return block
