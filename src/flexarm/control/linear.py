"""Small motions about a state: of the arm, and of the arm under the decoupling law."""

from dataclasses import dataclass

import numpy as np

from flexarm.control.drives import Drives, drives
from flexarm.formulations import formulation
from flexarm.formulations.loads import wrench_list
from flexarm.integrate.method import Motion
from flexarm.links.base import Array
from flexarm.model import Model


@dataclass(frozen=True)
class Linear:
    """Small motions ``x' = A x + B w`` with x the changes of q and v.

    Attributes
    ----------
    A, B
        Matrices, (2n, 2n) and (2n, k).
    """

    A: Array
    B: Array


class Linearised:
    """An arm whose small motions are asked for at many states.

    Derivatives are exact: the compiled tangent of the equations, the one that `rodas4` steps with.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.drives: Drives = drives(model)
        self._equation = formulation("articulated", model)
        self._motion = Motion(self._equation)

    def at(self, q: Array, v: Array | None = None, u: Array | None = None) -> Linear:
        """Linearise about a state and inputs, torques w in; at rest and without inputs if None."""
        n, k = self.model.size, len(self.drives.names)
        v = np.zeros(n) if v is None else v
        u = np.zeros(k) if u is None else u
        given = (np.zeros(len(wrench_list(self.model))), np.zeros(0))
        by_q, by_v = self._motion.tangent().call(q, v, u, *given)[:2]
        # Accelerations are affine in the inputs: differences are exact.
        still = self._equation.forward_dynamics(q, v, np.zeros(k))
        columns = [self._equation.forward_dynamics(q, v, row) - still for row in np.eye(k)]
        slope = np.hstack([by_q.reshape(n, n), by_v.reshape(n, n)])
        A = np.vstack([np.hstack([np.zeros((n, n)), np.eye(n)]), slope])
        return Linear(A, np.vstack([np.zeros((n, k)), np.array(columns).T]))

    def decoupled(self, q: Array, effort: Array) -> Linear:
        """Linearise about an equilibrium held by inputs, under the decoupling law.

        w are the accelerations of the driven coordinates that the law is asked for.
        """
        n = self.model.size
        open_ = self.at(q, None, effort)
        rows = self.drives.motors
        inputs = open_.B[n:]
        back = inputs @ np.linalg.inv(rows @ inputs)
        A = open_.A.copy()
        A[n:] -= back @ rows @ open_.A[n:]
        return Linear(A, np.vstack([np.zeros_like(back), back]))
