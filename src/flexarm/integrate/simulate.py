"""Simulate an arm: from its model file to a run."""

from collections.abc import Callable

import numpy as np
from scipy.integrate import DOP853

from flexarm.arm import Arm, Moving
from flexarm.errors import SimulationError
from flexarm.formulations import formulation
from flexarm.formulations.base import Formulation
from flexarm.integrate.run import Run
from flexarm.links.base import Array
from flexarm.model import Model, build, prescribed_motion, start_state
from flexarm.profiles import breakpoints, evaluate
from flexarm.spatial import base_rotation_matrix, base_spin

_ANCHOR_LIMIT = 1.0  # [rad] of the middle angle, whose singularity is at pi/2


def simulate(
    arm: Arm,
    *,
    t_end: float,
    dt: float | None = None,
    rtol: float = 1e-8,
    atol: float = 1e-10,
    progress: Callable[[float], None] | None = None,
) -> Run:
    """Simulate an arm from its initial state under the inputs that its model file gives.

    Parameters
    ----------
    arm
        The arm.
    t_end
        Duration [s].
    dt
        Interval of the samples that are kept [s]; a 500th of the duration if None.
    rtol, atol
        Tolerances of the adaptive integrator (Dormand-Prince 8(5,3)), per step.
    progress
        Called with the time reached [s].

    Raises
    ------
    SimulationError
        If the motion cannot be continued.
    """
    model = build(arm)
    steps = 500 if dt is None else max(round(t_end / dt), 1)
    times = np.linspace(0.0, t_end, steps + 1)
    motion = _Motion(model, formulation("articulated", model))
    rows = motion.integrate(times, rtol, atol, progress or (lambda t: None))
    return motion.run(times, rows)


class _Motion:
    """One simulation: what moves, and where a free base's angles are anchored."""

    def __init__(self, model: Model, equation: Formulation) -> None:
        self.model, self.equation = model, equation
        self.known = list(model.prescribed)
        self.anchors: list[Array] = []
        self.inputs = [
            part.link.joint.input
            for part in model.links
            if isinstance(part.link.joint, Moving) and part.link.joint.actuation == "torque"
        ]

    def input_at(self, t: float) -> Array:
        """Evaluate the inputs at a time [s]."""
        return np.array([0.0 if p is None else evaluate(p, t)[0] for p in self.inputs])

    def rate(self, t: float, y: Array) -> Array:
        """Give the rates of (q, v, work)."""
        n = self.model.size
        q, v = y[:n].copy(), y[n : 2 * n].copy()
        u = self.input_at(t)
        if self.known:
            q[self.known], v[self.known], _ = prescribed_motion(self.model, t)
        a, power = self.equation.motion(q, v, u, t)
        return np.concatenate([v, a, [sum(power[:3]) - power[3]]])

    def integrate(
        self, times: Array, rtol: float, atol: float, progress: Callable[[float], None]
    ) -> Array:
        """Step from sample to sample; input jumps are step boundaries."""
        q, v = start_state(self.model)
        y = np.concatenate([q, v, [0.0]])
        rows = [y]
        self.anchors.append(self.model.base_pose.rotation)
        jumps = sorted({b for p in self.inputs if p is not None for b in breakpoints(p)})
        t, index = float(times[0]), 1
        while index < len(times):
            stop = min([b for b in jumps if b > t + 1e-12] + [float(times[-1])])
            solver = DOP853(self.rate, t, y, stop, rtol=rtol, atol=atol)
            while solver.status == "running":
                solver.step()
                if not np.all(np.isfinite(solver.y)):
                    raise SimulationError(f"the motion became infinite at t = {solver.t:.6g} s")
                dense = solver.dense_output()
                while index < len(times) and times[index] <= solver.t + 1e-12:
                    rows.append(np.asarray(dense(times[index])))
                    self.anchors.append(self.equation.anchor)
                    index += 1
                progress(float(solver.t))
                if self._needs_anchor(solver.y):
                    break
            if solver.status == "failed":
                raise SimulationError(
                    f"the integrator found no step at t = {solver.t:.6g} s: "
                    "the motion is too fast there for the tolerance"
                )
            t, y = float(solver.t), self._anchored(np.asarray(solver.y))
        return np.array(rows)

    def _needs_anchor(self, y: Array) -> bool:
        return self.model.floats and abs(float(y[4])) > _ANCHOR_LIMIT

    def _anchored(self, y: Array) -> Array:
        """Measure a free base's angles from where it is now, before they near their singularity."""
        if not self._needs_anchor(y):
            return y
        n = self.model.size
        turned = self.equation.anchor @ base_rotation_matrix(y[3:6])
        spin = base_spin(y[3:6], y[n + 3 : n + 6])
        self.equation = self.equation.anchored(turned)
        y = y.copy()
        y[3:6], y[n + 3 : n + 6] = 0.0, spin
        return y

    def run(self, times: Array, rows: Array) -> Run:
        """Evaluate what a run keeps at every sample."""
        n = self.model.size
        tips, energies = [], []
        for t, row, anchor in zip(times, rows, self.anchors, strict=True):
            if self.known:
                row[self.known], row[[n + k for k in self.known]], _ = prescribed_motion(
                    self.model, float(t)
                )
            equation = self.equation.anchored(anchor)
            tips.append(equation.tip_pose(row[:n])[1])
            energies.append(equation.energy(row[:n], row[n : 2 * n]))
        return Run(
            self.model,
            times,
            rows[:, :n],
            rows[:, n : 2 * n],
            np.array(tips),
            np.array(energies),
            rows[:, 2 * n],
            np.array(self.anchors),
        )
