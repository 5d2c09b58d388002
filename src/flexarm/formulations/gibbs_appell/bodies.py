"""Links, rigid bodies and rotors of an arm, as terms of the Gibbs-Appell formulation.

Part of `gibbs_appell`, which has the table of symbols. Each part is expressed in the paper's
symbols, with the shape columns at the current deflection.
"""

from dataclasses import replace

import casadi as ca
import numpy as np

from flexarm.formulations.gibbs_appell.terms import (
    AccelerationEnergy,
    nothing,
    tilde,
    widened,
)
from flexarm.mechanics.bodies import body_of
from flexarm.mechanics.bodies.terms import (
    SectionMotion,
    Terms,
    attach,
    no_terms,
    rigid_terms,
)
from flexarm.mechanics.sections import own_values
from flexarm.model import LinkModel, Model, Rotor
from flexarm.spatial import Expr, Inertia, constant


def link_body(
    model: Model, part: LinkModel, q: Expr, v: Expr, tip: SectionMotion
) -> AccelerationEnergy:
    """Return the inertia terms of a link and its tip body about the origin of its root frame.

    ``tip`` describes the motion of the link's flexible tip.
    """
    omega = ca.SX.sym("omega", 3)
    terms = body_of(model, part).terms(q, v, omega)
    if part.tip_body.weighs:
        terms = attach(terms, part.tip_body, tip, omega)
    return of_terms(terms, own_values(part, v), omega)


def rigid(fixed: Inertia, m: int) -> AccelerationEnergy:
    """Return the inertia terms of a rigid body fixed in the link's frame (eqs. 25 and 42)."""
    omega = ca.SX.sym("omega", 3)
    return of_terms(rigid_terms(fixed, omega, m), ca.SX(m, 1), omega)


def rotor_body(rotor: Rotor, motion: SectionMotion, rate: Expr, speed: Expr) -> AccelerationEnergy:
    """Return the inertia terms of a rotor at a link's tip, whose angle is the last variable.

    Parameters
    ----------
    rotor, motion
        The rotor, and the motion of the tip that carries it.
    rate, speed
        Rates of the link's own m variables, (m,), and of the rotor's coordinate.
    """
    m = rate.shape[0]
    J, n = rotor.inertia, rotor.ratio
    rotor_energy = nothing(m + 1)
    sc, alpha, c, w = ca.SX(m + 1, m + 1), ca.SX(3, m + 1), ca.SX(3, m + 1), ca.SX(m + 1, 1)
    sc[m, m] = n**2 * J
    if rotor.axis is None:  # its spin does not act on its carrier
        return replace(rotor_energy, sc=sc)
    inertia = Inertia(0.0, np.zeros(3), J * np.outer(rotor.axis, rotor.axis))
    axis, A = motion.local.rotation @ constant(rotor.axis), motion.local.angular
    axis_rate = tilde(motion.spin) @ axis
    momentum = n * J * speed
    alpha[:, m] = n * J * axis
    if m:
        coupling = n * J * (axis.T @ A)
        sc[m, :m], sc[:m, m] = coupling, coupling.T
        c[:, :m] = -momentum / 2 * (tilde(axis) @ A)
        w[:m] = momentum * (A.T @ axis_rate)
    c[:, m] = -n * J / 2 * axis_rate
    w[m] = n * J * ca.dot(axis, motion.spin_bias)
    rotor_energy = replace(
        rotor_energy, sc=sc, alpha=alpha, c=c, w=w, h=momentum * axis, t=momentum * axis_rate
    )
    omega = ca.SX.sym("omega", 3)
    carrier_energy = of_terms(attach(no_terms(rate), inertia, motion, omega), rate, omega)
    return rotor_energy + widened(carrier_energy, 1)


def of_terms(terms: Terms, rate: Expr, omega: Expr) -> AccelerationEnergy:
    """Convert a link's inertia terms to the paper's symbols.

    Torque and efforts are quadratic in the angular velocity omega, (3,): their values and slopes at
    zero are ``t``, ``w``, ``B8`` and ``c``. ``beta`` is the efforts' curvature as an upper
    triangle, since only its quadratic form enters the equations.
    """
    effort_slope, torque_slope = ca.jacobian(terms.effort, omega), ca.jacobian(terms.torque, omega)
    curvatures = []
    for j in range(effort_slope.shape[0]):
        curvature: Expr = ca.jacobian(effort_slope[j, :].T, omega)
        curvatures.append(-(ca.triu(curvature, False) + 0.5 * ca.diag(ca.diag(curvature))))
    values = [terms.force, terms.torque, terms.effort, torque_slope, effort_slope]
    at_zero = ca.substitute(values, [omega], [ca.SX.zeros(3)])
    s, t, w, B8, c = (ca.sparsify(value) for value in at_zero)
    return AccelerationEnergy(
        M=terms.mass, B2=tilde(terms.linear @ rate), B3=tilde(terms.first), B8=0.5 * B8,
        B9=terms.second, eps=terms.linear, alpha=terms.angular, beta=tuple(curvatures),
        sc=terms.modal, c=-0.5 * c.T, h=ca.SX(3, 1), s=s, t=t, w=w,
    )  # fmt: skip
