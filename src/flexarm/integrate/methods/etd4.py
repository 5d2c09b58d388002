"""The exponential Runge-Kutta method etd4, of order 4, in modes of the current state.

Stages, weights and nodes are those of Butcher's Runge-Kutta method of order 5 with six stages
(Journal of the Australian Mathematical Society 4, 1964), which integrates the quartic through the
forces at the quarters of a step. In etd4 the force up to each stage is a polynomial in time with
the same integral as in Butcher's method, for which the equations of the modal oscillators are
solved exactly. The error estimate uses an embedded cubic that leaves out the force in the middle of
the step.
"""

import math
from typing import Any

import numpy as np

from flexarm.integrate.constants import MODES_RENEWAL
from flexarm.integrate.method import Method, zeros
from flexarm.integrate.methods.exponential import exponential_sample, exponential_step
from flexarm.integrate.methods.oscillator import POWERS, RESPONSES
from flexarm.integrate.methods.reactions import ERROR, NEW, STAGES, ExponentialState
from flexarm.integrate.problem import table_of
from flexarm.integrate.tableau import Tableau
from flexarm.integrate.tolerance import RULES
from flexarm.spatial import Array

# Nodes of the stages, of the new state and of the error estimate, as fractions of the step.
NODES = np.array([0.0, 0.25, 0.25, 0.5, 0.75, 1.0, 1.0, 1.0])


def _through(*stages: int) -> Array:
    """Return the coefficients of Lagrange polynomials through stages, (STAGES, POWERS).

    Row j contains the coefficients of the polynomial in the step fraction that multiplies the value
    at stage j.
    """
    polynomials = np.zeros((STAGES, POWERS))
    powers = np.vander(NODES[list(stages)], increasing=True)
    polynomials[list(stages), : len(stages)] = np.linalg.inv(powers).T
    return polynomials


# Polynomials of the force up to each stage, the new state and the error, (ERROR + 1, STAGES,
# POWERS). The axes are the row of the tableau, the stage whose force is multiplied, and the power
# of the step fraction.
FORCES = np.zeros((ERROR + 1, STAGES, POWERS))
FORCES[1], FORCES[2], FORCES[4] = _through(0), _through(0, 1), _through(0, 2, 3)
FORCES[3] = 2 * _through(0, 2)
FORCES[3, [0, 1]] = _through(0, 1)[[0, 1]] * [[1], [-1]]
# A linear polynomial added to the cubic makes its integral equal to that of Butcher's fifth stage.
FORCES[5] = _through(0, 2, 3, 4)
FORCES[5, :5, 1] += 2 * np.array([-9, 6, 22, -29, 10]) / 21
FORCES[NEW] = _through(0, 2, 3, 4, 5)
FORCES[ERROR] = FORCES[NEW] - _through(0, 2, 4, NEW)
_POWERS = np.arange(1, POWERS + 1)
# Integrals of FORCES, (stages, STAGES): weights of the Runge-Kutta method for further states.
WEIGHTS = np.einsum("ijk,ik->ij", FORCES, NODES[:, None] ** _POWERS / _POWERS)
TABLEAU = Tableau(
    a=tuple(WEIGHTS[k, :k] for k in range(1, NEW)),
    b=WEIGHTS[NEW, :NEW],
    c=NODES[:NEW],
    forces=FORCES[: NEW + 1, :NEW],
)


def _begin(shared: dict[str, Any]) -> ExponentialState:
    n, prescribed, size = shared["system"].n, shared["system"].prescribed, shared["size"]
    motion, buffers = shared["problem"].motion, shared["buffers"]
    compiled = motion.matrices()
    names = {"M": "mass", "K": "stiffness", "D": "damping", "q": "matrix_q", "v": "matrix_v"}
    arrays = zeros({"M": n * n, "K": n * n, "D": n * n, "q": n, "v": n})
    table, pointed = table_of(compiled, buffers | arrays)
    buffers["matrices work"] = pointed[-1]
    sizes = {
        "modes": n * n, "inverse": n * n, "error_modes": n * n, "squares": n, "losses": n,
        "responses": 4 * RESPONSES * n, "sample_responses": RESPONSES * n, "x": 2 * n,
        "g": STAGES * n, "p": STAGES * (size - 2 * n), "masses": 2 * prescribed * n, "pulls": 3 * n,
        "swings": STAGES * n, "modal": 2 * n, "end_modal": 2 * n, "trial": size, "k": size,
        "e": size, "scratch": n,
    }  # fmt: skip
    fields = {names[key]: array for key, array in arrays.items()} | zeros(sizes)
    return ExponentialState(
        **shared,
        matrices=compiled.table_address,
        matrix_table=table,
        renewal=MODES_RENEWAL,
        age=MODES_RENEWAL,
        table_h=0.0,
        renewals=0,
        masses_at=np.full(2, np.inf),
        forces=FORCES.ravel(),
        weights=WEIGHTS.ravel(),
        nodes=NODES,
        has_pulls=0,
        servoed=int(motion.actuators.answers),
        **fields,
    )


def _restart(m: ExponentialState) -> None:
    m.age = m.renewal
    m.masses_at[:] = np.inf


ETD4 = Method(
    name="etd4",
    order=4,
    adaptive=True,
    rule=RULES["etd4"],
    citation="Butcher, Journal of the Australian Mathematical Society 4, 1964, as ETD",
    summary="stiff links, many modes: steps past the fastest modes",
    step=exponential_step,
    sample=exponential_sample,
    begin=_begin,
    tableau=TABLEAU,
    work=lambda of: (6 + of.motion.actuators.answers) * of.equations + 90 * of.n**2 + 700 * of.n,
    vibration_steps=lambda of, damped: (
        (0.3 if damped else 1.4) * math.sqrt(of.slowest * of.fastest)
    ),
    renewed_after=MODES_RENEWAL,
    renewal=lambda of: of.matrices + 12.0 * of.n**3,
    solves_vibrations=True,
    on_gpu=True,
    restart=_restart,
)
