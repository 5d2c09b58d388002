"""Runs made of given coordinates, without a simulation: what the page draws is then known."""

import casadi as ca
import numpy as np

from flexarm.arm import Arm
from flexarm.mechanics.deformed import deformed
from flexarm.mechanics.kinematics import end_frame
from flexarm.model import Model, build, start_state
from flexarm.runs.contents import input_units
from flexarm.runs.data import Statistics
from flexarm.runs.run import Run
from flexarm.spatial import Array, rotation_from_angles

SLOPE = 0.15  # of the steepest section, about


def random_run(
    arm: Arm,
    samples: int,
    *,
    seed: int = 0,
    stiffening: bool | None = None,
    nodes: int | None = None,
) -> Run:
    """Move an arm at random: joints anywhere, links well bent, a free base anywhere."""
    model = build(arm, stiffening=stiffening, nodes=nodes)
    rng = np.random.default_rng(seed)
    q = np.array([random_pose(model, rng) for _ in range(samples)])
    steady = np.broadcast_to(model.base_pose.rotation, (samples, 3, 3))
    count = len(model.attitudes)
    turned = [rotation_from_angles(tuple(rng.uniform(-1, 1, 3))) for _ in range(samples * count)]
    return run_of(model, q, np.array(turned).reshape(samples, -1, 3) if count else steady.copy())


def random_pose(model: Model, rng: np.random.Generator) -> Array:
    """Draw coordinates that bend every link by about `SLOPE`."""
    q = start_state(model)[0]
    if model.base_moves:
        q[:6] = rng.uniform(-1, 1, 6)
    for part in model.links:
        for axis in part.axes:
            if axis.turns:
                q[axis.index] = rng.uniform(-np.pi, np.pi)
            else:
                grown = rng.uniform(0.55, 0.8) * (part.range or (0.0, 0.5))[1]
                q[axis.index] = grown if part.range else rng.uniform(0, 0.3)
        q[part.modes] = rng.uniform(-1, 1, part.modes.stop - part.modes.start)
        if part.flexible:
            link = deformed(model, part, q[None])
            places = np.linspace(0, link.beam.span.length, 9)
            steepest = max(float(np.abs(link.values(d, places, 1)).max()) for d in ("y", "z"))
            q[part.modes] *= SLOPE / max(steepest, SLOPE)
    return q


def run_of(model: Model, q: Array, reference_attitudes: Array, t: Array | None = None) -> Run:
    """Make a run of coordinates; rates, energies and work integrals are 0."""
    samples = len(q)
    symbol = ca.SX.sym("q", model.size)
    reference_attitude = ca.SX.sym("reference_attitude", *model.start_references.shape)
    free = model.with_reference(reference_attitude) if model.attitudes else model
    tip = ca.Function("tip", [symbol, reference_attitude], list(end_frame(free, symbol)))
    ends = [
        [np.array(each) for each in tip(*pair)] for pair in zip(q, reference_attitudes, strict=True)
    ]
    return Run(
        model=model,
        t=np.linspace(0.0, 1.0, samples) if t is None else t,
        q=q,
        v=np.zeros_like(q),
        u=np.zeros((samples, len(input_units(model)))),
        tip=np.array([position.ravel() for _, position in ends]),
        tip_rotation=np.array([rotation for rotation, _ in ends]),
        energy=np.zeros((samples, 3)),
        work_integrals=np.zeros((samples, 5)),
        reference_attitudes=reference_attitudes,
        status="finished",
        reason="",
        method="none",
        why="given",
        rtol=1e-3,
        statistics=Statistics(0, 0, 0, 0.0),
    )
