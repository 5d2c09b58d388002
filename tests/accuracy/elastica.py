"""Inextensible elastica in a plane, computed without flexarm: equilibria and vibrations about them.

Curvatures are Legendre polynomials along each link; the tangent's angle is their integral, so that
the axis is exactly as long as it is.  The equilibrium is the least of elastic and gravitational
energy, the vibrations are those of its Hessian and of the mass matrix there.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.integrate
import scipy.linalg
import scipy.optimize
from numpy.polynomial import legendre

Array = npt.NDArray[np.float64]
NODES = 36
TERMS = 16
STAGES = 12  # in which the load is put on


@dataclass(frozen=True)
class Rod:
    """A uniform link: length [m], mass per length [kg/m], EI [N m^2], angle of its joint [rad]."""

    length: float
    mass: float
    stiffness: float
    angle: float
    torque: float = 0.0  # at its tip [N m]


@dataclass(frozen=True)
class Chain:
    """Rods one after the other, the first joint clamped, with a point mass at the end."""

    rods: tuple[Rod, ...]
    payload: float
    gravity: float  # [m/s^2], along -y

    def equilibrium(self) -> Array:
        """Find the amplitudes of all curvatures, (rods x TERMS,)."""
        c = np.zeros(len(self.rods) * TERMS)
        for stage in range(1, STAGES + 1):
            for _ in range(60):
                force, stiffness, _ = self._forces(c, stage / STAGES)
                step = np.linalg.solve(stiffness, force)
                c -= step
                if np.abs(step).max() < 1e-13 * max(1.0, np.abs(c).max()):
                    break
            else:
                raise ArithmeticError("no equilibrium")
        return c

    def tips(self, c: Array) -> Array:
        """Find how far each tip is from where a straight rod has it, in the axes of its root."""
        found = []
        for rod, angle, root in zip(self.rods, self._angles(c), self._roots(c), strict=True):
            turned = angle - root
            _, weight = _nodes(rod.length)
            found.append([weight @ np.cos(turned) - rod.length, weight @ np.sin(turned)])
        return np.array(found)

    def frequencies(self, c: Array) -> Array:
        """Find the frequencies about an equilibrium [rad/s], slowest first."""
        _, stiffness, mass = self._forces(c, 1.0)
        periods = scipy.linalg.eigh(mass, stiffness, eigvals_only=True)  # slow ones to all digits
        return np.asarray(1 / np.sqrt(np.maximum(periods[::-1], 1e-300)))

    def _rows(self) -> list[tuple[Array, Array]]:
        """List how angles depend on amplitudes, (NODES, n), and the tip's, (n,), rod by rod."""
        n = len(self.rods) * TERMS
        before, found = np.zeros(n), []
        for k, rod in enumerate(self.rods):
            own = np.zeros((NODES + 1, n))
            own[:, k * TERMS : (k + 1) * TERMS] = _angles(rod.length)
            found.append((before + own[:-1], before + own[-1]))
            before = before + own[-1]
        return found

    def _roots(self, c: Array) -> list[float]:
        tips = [float(tip @ c) for _, tip in self._rows()]
        turns = np.cumsum([rod.angle for rod in self.rods])
        return [float(turn) + tip for turn, tip in zip(turns, [0.0, *tips[:-1]], strict=True)]

    def _angles(self, c: Array) -> list[Array]:
        turns = np.cumsum([rod.angle for rod in self.rods])
        return [turn + rows @ c for turn, (rows, _) in zip(turns, self._rows(), strict=True)]

    def _forces(self, c: Array, share: float) -> tuple[Array, Array, Array]:
        """Return gradient and Hessian of the energy, and the mass matrix."""
        n = len(c)
        force, stiffness, mass = np.zeros(n), np.zeros((n, n)), np.zeros((n, n))
        root = (np.zeros((2, n)), np.zeros((n, n)))  # derivatives of x, y, and second ones of y
        rows, last = self._rows(), len(self.rods) - 1
        for k, (rod, angle) in enumerate(zip(self.rods, self._angles(c), strict=True)):
            x, weight = _nodes(rod.length)
            own = slice(k * TERMS, (k + 1) * TERMS)
            bend = legendre.legvander(2 * x / rod.length - 1, TERMS - 1)
            bend = rod.stiffness * bend.T @ (weight[:, None] * bend)
            force[own] += bend @ c[own]
            stiffness[own, own] += bend
            force -= share * rod.torque * rows[k][1]
            upto = np.vstack([_integrals(rod.length), weight])
            turn = rows[k][0]
            first = np.stack([upto @ (-np.sin(angle)[:, None] * turn),
                              upto @ (np.cos(angle)[:, None] * turn)])  # fmt: skip
            second = np.einsum("pg,gi,gj->pij", upto * -np.sin(angle), turn, turn, optimize=True)
            first, second = first + root[0][:, None], second + root[1]
            heavy = np.append(rod.mass * weight, self.payload if k == last else 0.0)
            force += share * self.gravity * heavy @ first[1]
            stiffness += share * self.gravity * np.einsum("p,pij->ij", heavy, second)
            mass += np.einsum("p,dpi,dpj->ij", heavy, first, first, optimize=True)
            root = (first[:, -1], second[-1])
        return force, stiffness, mass


def _nodes(length: float) -> tuple[Array, Array]:
    node, weight = legendre.leggauss(NODES)
    return (node + 1) / 2 * length, weight / 2 * length


def _integrals(length: float) -> Array:
    """Matrix that integrates a function from the root to each node, (NODES, NODES)."""
    node, _ = legendre.leggauss(NODES)
    values = np.linalg.inv(legendre.legvander(node, NODES - 1))
    rise = [legendre.legval(node, legendre.legint(row, lbnd=-1)) for row in np.eye(NODES)]
    return np.asarray(np.stack(rise, axis=1) @ values * length / 2)


def _angles(length: float) -> Array:
    """Angles per amplitude at the nodes and at the tip, (NODES + 1, TERMS)."""
    node = np.append(legendre.leggauss(NODES)[0], 1.0)
    rise = [legendre.legval(node, legendre.legint(row, lbnd=-1)) for row in np.eye(TERMS)]
    return np.asarray(np.stack(rise, axis=1) * length / 2)


def rod_tip(
    length: float,
    mass: float,
    stiffness: tuple[float, float, float, float],
    payload: float,
    gravity: Array,
) -> Array:
    """Find how far the tip of a clamped Kirchhoff rod in space is from that of a straight one [m].

    By shooting for the moment at its root along x.  The stiffnesses are GJ, EIy, EIz and EA;
    gravity is in the axes of the root.
    """
    torsion, about_y, about_z, axial = stiffness

    def change(s: float, state: Array, share: float) -> Array:
        turn, moment = state[3:12].reshape(3, 3), state[12:]
        force = (mass * (length - s) + payload) * share * gravity
        bend = turn.T @ moment / np.array([torsion, about_y, about_z])
        x, y, z = bend
        tangent = turn[:, 0] * (1 + force @ turn[:, 0] / axial)
        spin = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
        return np.concatenate([tangent, (turn @ spin).ravel(), -np.cross(tangent, force)])

    def end(moment: Array, share: float) -> Array:
        start = np.concatenate([np.zeros(3), np.eye(3).ravel(), moment])
        found = scipy.integrate.solve_ivp(
            change, (0.0, length), start, rtol=1e-10, atol=1e-12, args=(share,), method="DOP853"
        )
        return np.asarray(found.y[:, -1], dtype=np.float64)

    def free(moment: Array, share: float) -> Array:
        return end(moment, share)[12:]

    root = np.zeros(3)
    for share in (0.25, 0.5, 0.75, 1.0):
        root = scipy.optimize.fsolve(free, root, args=(share,), xtol=1e-12)
    return np.asarray(end(root, 1.0)[:3] - np.array([length, 0.0, 0.0]), dtype=np.float64)
