"""Steps that do not pass through what an arm may touch: the way of a trial step is looked along."""

import math
from dataclasses import dataclass

import numpy as np

from flexarm.formulations.equation import Equation
from flexarm.integrate.problem import table_of
from flexarm.links.base import Array
from flexarm.loops.kernel import kernel
from flexarm.loops.language import Ints, Record, run_equations

FAR = 1.0 / 64.0  # of a step: looks are as near as this where nothing comes closer
# Of the deepest that a contact can be: the way between looks that come closer, the way into it that
# a step made again has, and the most that one may have.
LOOK, SHARE, MOST = 0.2, 0.4, 0.6
STILL = 1e-30  # [m/s]


@dataclass
class Obstacles(Record):
    """Contacts along a step."""

    # count, n: number of contacts, none if there is nothing to look at, and of coordinates.
    count: int
    n: int
    # equations, table: address of the compiled distances and the table of the pointers that they
    # take.
    equations: int
    table: Ints
    # q, v, distance, closing, speed: their inputs and outputs: how far each contact is from
    # touching [m], how fast that falls and how fast its point moves [m/s].
    q: Array
    v: Array
    distance: Array
    closing: Array
    speed: Array
    # stiffness, exponent: of each contact.
    stiffness: Array
    exponent: Array
    touched: int = 0  # whether any was closed along the last step


def obstacles_of(equation: Equation, buffers: dict[str, Array]) -> Obstacles:
    """Make ready to look along steps of an arm; what the machine code uses goes to the buffers."""
    contacts, n = equation.model.arm.contacts, equation.model.size
    names = ("q", "v", "distance", "closing", "speed")
    mine = {name: np.zeros(n if name in "qv" else len(contacts)) for name in names}
    address, table = 0, np.zeros(1, dtype=np.int64)
    if contacts:
        compiled = equation.compiled("nearness")
        table, kept = table_of(compiled, {**buffers, **mine})
        address, buffers["nearness"] = compiled.table_address, kept[-1]
    return Obstacles(
        len(contacts),
        n,
        address,
        table,
        mine["q"],
        mine["v"],
        mine["distance"],
        mine["closing"],
        mine["speed"],
        np.array([float(each.stiffness) for each in contacts]),
        np.array([float(each.exponent) for each in contacts]),
    )


@kernel
def look(o: Obstacles, y: Array, y_new: Array, h: float, x: float) -> None:
    """Evaluate distances at a part x of a step from y to y_new, by a cubic."""
    for i in range(o.n):
        before = h * y[o.n + i]
        after = h * y_new[o.n + i]
        change = y_new[i] - y[i]
        inner = (1.0 - x) * (before - change) + x * (change - after)
        o.q[i] = y[i] + x * (change + (1.0 - x) * inner)
        o.v[i] = y[o.n + i] + x * (y_new[o.n + i] - y[o.n + i])
    run_equations(o.equations, o.table)


@kernel
def seen_step(o: Obstacles, y: Array, y_new: Array, h: float, energy: float) -> float:
    """Give the step [s], h at most, that goes no deeper into a contact than it can be seen in.

    Between looks no point comes nearer than the least distance: it is passed at its speed.  The
    deepest that a contact can be is where it stores the kinetic energy [J].
    """
    x = 0.0
    allowed = h
    o.touched = 0
    while x < 1.0 and allowed >= h:
        look(o, y, y_new, h, x)
        ahead = 1.0
        for c in range(o.count):
            power = o.exponent[c] + 1.0
            deepest = math.pow(power * energy / o.stiffness[c], 1.0 / power)
            time = deepest / max(o.closing[c], STILL)
            if o.distance[c] > 0.0:
                way = o.distance[c] / max(o.speed[c], STILL)
                ahead = min(ahead, max(way, min(FAR * h, LOOK * time)) / h)
            else:
                o.touched = 1
                if (1.0 - x) * h > MOST * time:
                    allowed = min(allowed, x * h + SHARE * time)
        x += ahead
    return allowed
