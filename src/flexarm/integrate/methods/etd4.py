"""Krogstad's exponential Runge-Kutta method of order 4 in renewed elastic modes."""

import math

import numpy as np

from flexarm.integrate.methods.base import Beginning, Method, zeros
from flexarm.integrate.methods.exponential import exponential_sample, exponential_step
from flexarm.integrate.methods.oscillator import RESPONSES
from flexarm.integrate.methods.reactions import ExponentialMarch
from flexarm.integrate.problem import table_of

# Tries of steps, also those that fail, for which a basis is kept: on a GPU all arms renew at once.
RENEWAL = 24


def _begin(beginning: Beginning) -> ExponentialMarch:
    n, known, size = beginning.system.n, beginning.system.known, len(beginning.y)
    compiled = beginning.motion.matrices()
    names = {"M": "mass", "K": "stiffness", "D": "damping", "q": "matrix_q", "v": "matrix_v"}
    arrays = zeros({"M": n * n, "K": n * n, "D": n * n, "q": n, "v": n})
    table, kept = table_of(compiled, beginning.buffers | arrays)
    beginning.buffers["matrices work"] = kept[-1]
    sizes = {
        "modes": n * n, "inverse": n * n, "measured": n * n, "squares": n, "losses": n,
        "half": RESPONSES * n, "whole": RESPONSES * n, "part": RESPONSES * n, "x": 2 * n,
        "g": 5 * n, "p": 5 * (size - 2 * n), "masses": 3 * known * n, "pulls": 4 * n,
        "swings": 4 * n, "modal": 2 * n, "before": n, "ended": 2 * n, "trial": size, "k": size,
        "e": size, "room": n, "stages": 2 * n,
    }  # fmt: skip
    fields = {names[key]: array for key, array in arrays.items()} | zeros(sizes)
    return ExponentialMarch(
        **beginning.fields,
        matrices=compiled.table_address,
        matrix_table=table,
        renewal=RENEWAL,
        age=RENEWAL,
        table_h=0.0,
        renewals=0,
        masses_at=np.full(3, np.inf),
        passed=0,
        servoed=int(beginning.motion.actuators.answers),
        **fields,
    )


def _restart(m: ExponentialMarch) -> None:
    m.age = m.renewal
    m.masses_at[:] = np.inf


def _per_step(wanted: float, damped: bool) -> float:
    # Long steps see too little of fast modes that hardly matter in deflections, but in rates.
    lasting = min(wanted, math.sqrt(1e-3 * wanted))
    return 0.08 * lasting if damped else 1.2e-5 * (wanted / 1e-3) ** 1.2


ETD4 = Method(
    name="etd4",
    order=4,
    adaptive=True,
    citation="Krogstad, Journal of Computational Physics 203, 2005",
    summary="stiff links, many modes: steps past the fastest modes",
    per_step=_per_step,
    step=exponential_step,
    sample=exponential_sample,
    begin=_begin,
    work=lambda of: (4 + of.motion.actuators.answers) * of.equations + 60 * of.n**2 + 350 * of.n,
    vibration_steps=lambda of, damped: (
        (0.4 if damped else 2.0) * math.sqrt(of.slowest * of.fastest)
    ),
    renewed_after=RENEWAL,
    renewal=lambda of: of.matrices + 12.0 * of.n**3,
    # Its modes are those of the arm without the law: what it errs there, a law that holds the
    # joints to a motion sees in the joints.
    under_law=0.01,
    # Its error estimate takes forces to be smooth and soft.
    under_friction=0.1,
    under_contact=0.01,
    under_bounces=0.2,
    solves_vibrations=True,
    on_gpu=True,
    restart=_restart,
)
