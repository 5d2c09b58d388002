"""The classical Runge-Kutta method of order 4, with a fixed step size."""

import numpy as np

from flexarm.integrate.method import Method
from flexarm.integrate.methods.explicit import begin_explicit, explicit_step
from flexarm.integrate.tableau import Tableau

# Largest stable product of a step and the size of an eigenvalue, for any damping.  The region of
# stability ends at 2.828 on the imaginary axis and at 2.785 on the real axis. Its narrowest place,
# 2.616 at a damping ratio of 0.54, is rounded down here.
STABLE = 2.6
TABLEAU = Tableau(
    a=((0.5,), (0, 0.5), (0, 0, 1)),
    b=np.array([1 / 6, 1 / 3, 1 / 3, 1 / 6]),
    c=np.array([0.0, 0.5, 0.5, 1.0]),
)


RK4 = Method(
    name="rk4",
    order=4,
    adaptive=False,
    citation="Kutta 1901",
    summary="small soft arms, in equal steps",
    step=explicit_step,
    sample=None,
    begin=begin_explicit,
    tableau=TABLEAU,
    work=lambda of: 4 * of.equations + 50 * of.n,
    vibration_steps=lambda of, damped: of.fastest,
    stable=STABLE,
    on_gpu=True,
)
