"""The Rosenbrock method RODAS of order 4(3), with the exact Jacobian."""

from typing import Any

import numpy as np

from flexarm.integrate.method import Method, zeros
from flexarm.integrate.methods.rosenbrock import (
    STAGES,
    RosenbrockState,
    rosenbrock_sample,
    rosenbrock_step,
)
from flexarm.integrate.problem import table_of
from flexarm.integrate.tableau import coefficients
from flexarm.integrate.tolerance import RULES

GAMMA = 0.25
ALPHA = (0.0, 0.386, 0.21, 0.63, 1.0, 1.0)
D = (GAMMA, -0.1043, 0.1035, -0.0362, 0.0, 0.0)
A = (
    (),
    (1.544,),
    (0.9466785280815826, 0.2557011698983284),
    (3.314825187068521, 2.896124015972201, 0.9986419139977817),
    (1.221224509226641, 6.019134481288629, 12.53708332932087, -0.687886036105895),
    (1.221224509226641, 6.019134481288629, 12.53708332932087, -0.687886036105895, 1.0),
)
C = (
    (),
    (-5.6688,),
    (-2.430093356833875, -0.2063599157091915),
    (-0.1073529058151375, -9.594562251023355, -20.47028614809616),
    (7.496443313967647, -10.24680431464352, -33.99990352819905, 11.7089089320616),
    (8.083246795921522, -7.981132988064893, -31.52159432874371, 16.31930543123136,
     -6.058818238834054),
)  # fmt: skip
DENSE = (
    (10.12623508344586, -7.487995877610167, -34.80091861555747, -7.992771707568823,
     1.025137723295662),
    (-0.6762803392801253, 6.087714651680015, 16.43084320892478, 24.76722511418386,
     -6.594389125716872),
)  # fmt: skip


# Names of record fields for inputs and outputs of the derivatives, where the names differ.
FIELDS = {"a": "acceleration", "force_by_a": "mass", "force_by_q": "by_q", "force_by_v": "by_v"}


def _begin(shared: dict[str, Any]) -> RosenbrockState:
    n, size = shared["system"].n, shared["size"]
    motion, buffers = shared["problem"].motion, shared["buffers"]
    compiled = motion.slopes()
    arrays = zeros({port.name: port.size for port in compiled.outputs} | {"a": n})
    table, pointed = table_of(compiled, buffers | arrays)
    buffers["tangent work"] = pointed[-1]
    sizes = {"stages": STAGES * size, "rhs": size, "trial": size, "drift": size}
    return RosenbrockState(
        **shared,
        tangent=compiled.table_address,
        tangent_table=table,
        timely=int(motion.timely),
        gamma=GAMMA,
        alpha=np.array(ALPHA),
        d=np.array(D),
        a=coefficients(A, STAGES).ravel(),
        c=coefficients(C, STAGES).ravel(),
        dense=np.array(DENSE).ravel(),
        pivots=np.zeros(n, dtype=np.int64),
        **{FIELDS.get(name, name): array for name, array in arrays.items()},
        **zeros({"matrix": n * n, "polynomial": 2 * size} | sizes),
    )


def _proven(m: RosenbrockState) -> None:
    compiled = m.problem.motion.slopes("fast")
    names = ["a", *(port.name for port in compiled.outputs)]
    arrays = {name: getattr(m, FIELDS.get(name, name)) for name in names}
    m.tangent_table, pointed = table_of(compiled, m.buffers | arrays)
    m.tangent, m.buffers["tangent work"] = compiled.table_address, pointed[-1]


RODAS4 = Method(
    name="rodas4",
    order=4,
    adaptive=True,
    rule=RULES["rodas4"],
    citation="Hairer & Wanner, Solving Ordinary Differential Equations II, 1996",
    summary="slow damped arms, and stiffness outside the links (high-gain control)",
    step=rosenbrock_step,
    sample=rosenbrock_sample,
    carries_states=False,
    implicit=True,
    begin=_begin,
    proven=_proven,
    vibration_steps=lambda of, damped: (0.2 if damped else 2.0) * of.slowest,
    work=lambda of: 6 * of.equations + of.tangent + 3 * of.n**3 + 180 * of.n**2 + 500 * of.n,
)
