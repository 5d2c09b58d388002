"""The classical Runge-Kutta method of order 4, in equal steps."""

import numpy as np

from flexarm.integrate.methods.base import Beginning, Method, zeros
from flexarm.integrate.methods.explicit import ExplicitMarch, explicit_step, table_of_rows

# Largest product of a step and an eigenvalue's size, whatever its damping: 2.83 where there is
# none, 2.79 for a pure decay, least between them (2.616, damping ratio 0.54).
STABLE = 2.6
A: tuple[dict[int, float], ...] = ({}, {0: 0.5}, {1: 0.5}, {2: 1.0}, {})
B, C = (1 / 6, 1 / 3, 1 / 3, 1 / 6), (0.0, 0.5, 0.5, 1.0)


def _begin(beginning: Beginning) -> ExplicitMarch:
    size = len(beginning.y)
    return ExplicitMarch(
        **beginning.fields,
        stages=4,
        extra=0,
        a=table_of_rows(A, 5),
        b=np.array([*B, 0.0]),
        c=np.array([*C, 1.0]),
        terms=3,
        **zeros({"e": 5, "e3": 5, "d": 1, "k": 5 * size, "polynomial": 3 * size, "trial": size}),
    )


def _per_step(wanted: float, damped: bool) -> float:
    return wanted


RK4 = Method(
    name="rk4",
    order=4,
    adaptive=False,
    citation="Kutta 1901",
    summary="small soft arms, in equal steps",
    per_step=_per_step,
    step=explicit_step,
    sample=None,
    begin=_begin,
    work=lambda of: 4 * of.equations + 50 * of.n,
    vibration_steps=lambda of, damped: of.fastest,
    stable=STABLE,
    on_gpu=True,
)
