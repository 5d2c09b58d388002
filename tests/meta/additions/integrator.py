"""An integrator that is put into a copy of the package: Kutta's 3/8 rule."""

from flexarm.integrate.method import Method
from flexarm.integrate.methods.explicit import begin_explicit, explicit_step
from flexarm.integrate.tableau import Tableau

TABLEAU = Tableau(
    a=((1 / 3,), (-1 / 3, 1), (1, -1, 1)),
    b=(1 / 8, 3 / 8, 3 / 8, 1 / 8),
    c=(0, 1 / 3, 2 / 3, 1),
)
KUTTA = Method(
    name="kutta-3/8",
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
    stable=2.6,
)
