"""Other libraries' forward dynamics of rigid chains, ready to be timed."""

import math
from importlib import import_module
from importlib.metadata import version
from typing import Any

import numpy as np

from chains import GRAVITY, INERTIA, LENGTH, MASS, Array, twist
from timing import Contender, Repeat

BATCH = 64
AGREEMENT = 1e-6  # of accelerations, relative to the largest; long chains are ill-conditioned
# What forward dynamics of a chain without contacts, tendons and actuators is made of.
MUJOCO_STAGES = (
    "mj_kinematics",
    "mj_comPos",
    "mj_makeM",
    "mj_factorM",
    "mj_comVel",
    "mj_passive",
    "mj_rne",
    "mj_fwdAcceleration",
)


def versions() -> dict[str, str]:
    """Return the versions of the libraries."""
    return {"pinocchio": version("pin"), "mujoco": version("mujoco")}


def contenders(q: Array, v: Array, u: Array, expected: Array) -> list[Contender]:
    """Return every library's way to the accelerations of a rigid chain in a state.

    Parameters
    ----------
    q, v, u
        Angles [rad], rates [rad/s] and torques [N m], (n,) each.
    expected
        Accelerations that flexarm finds [rad/s^2], (n,): a library that finds others is not
        solving the same problem, and the run ends.
    """
    return [*_pinocchio(q, v, u, expected), *_mujoco(q, v, u, expected)]


def _imported(module: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        raise SystemExit(
            f"{module} cannot be imported: install the peers with pip install 'flexarm[bench]', or "
            "run with --quick"
        ) from error


def _check(name: str, found: Array, expected: Array) -> None:
    error = np.abs(found - expected).max() / np.abs(expected).max()
    if not error < AGREEMENT:
        raise SystemExit(f"{name}: finds other accelerations than flexarm, by {error:.1e}")


def _pinocchio(q: Array, v: Array, u: Array, expected: Array) -> list[Contender]:
    pin = _imported("pinocchio")
    n = len(q)
    model = pin.Model()
    model.gravity.linear = np.array(GRAVITY)
    body = pin.Inertia(MASS, np.array([LENGTH / 2, 0.0, 0.0]), np.diag(INERTIA))
    for k in range(n):
        place = np.array([LENGTH if k else 0.0, 0.0, 0.0])
        pose = pin.SE3(pin.utils.rotate("x", twist(k)), place)
        joint = model.addJoint(k, pin.JointModelRZ(), pose, f"joint{k + 1}")
        model.appendBodyToJoint(joint, body, pin.SE3.Identity())
    data = model.createData()
    _check("pinocchio", pin.aba(model, data, q, v, u), expected)
    nothing = pin.Model()
    empty_data, none = nothing.createData(), np.zeros(0)

    def call(model: Any, data: Any, arrays: tuple[Array, ...], way: Any) -> Repeat:
        aba = pin.aba

        def run(times: int) -> None:
            for _ in range(times):
                aba(model, data, *arrays, way)

        return run

    found = [
        Contender(
            f"pinocchio aba {way}",
            n,
            call(model, data, (q, v, u), way),
            call(nothing, empty_data, (none, none, none), way),
        )
        for way in (pin.Convention.LOCAL, pin.Convention.WORLD)
    ]
    return [*found, _pinocchio_batch(pin, model, (q, v, u), expected)]


def _pinocchio_batch(pin: Any, model: Any, arrays: tuple[Array, ...], expected: Array) -> Contender:
    """Time pinocchio inside its own compiled loop over states, on one thread."""
    pool = pin.ModelPool(model, 1)
    columns = [np.asfortranarray(np.tile(array[:, None], BATCH)) for array in arrays]
    result = np.asfortranarray(np.zeros_like(columns[0]))

    def run(times: int) -> None:
        for _ in range(times):
            pin.abaInParallel(1, pool, *columns, result)

    run(1)
    _check("pinocchio, batch", result[:, -1], expected)
    return Contender("pinocchio abaInParallel", len(expected), run, batch=BATCH)


def _mujoco(q: Array, v: Array, u: Array, expected: Array) -> list[Contender]:
    mujoco = _imported("mujoco")
    n = len(q)
    model = mujoco.MjModel.from_xml_string(_mujoco_xml(n))
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:], data.qfrc_applied[:] = q, v, u
    mujoco.mj_forward(model, data)
    _check("mujoco, mj_forward", data.qacc, expected)
    stages = [getattr(mujoco, name) for name in MUJOCO_STAGES]
    fluid = [
        (stage, (model, data, 0, data.qfrc_bias) if stage is mujoco.mj_rne else (model, data))
        for stage in stages
    ]
    nothing = mujoco.MjModel.from_xml_string("<mujoco><worldbody/></mujoco>")
    empty_data = mujoco.MjData(nothing)

    def forward(times: int) -> None:
        for _ in range(times):
            mujoco.mj_forward(model, data)

    def needed(times: int) -> None:
        for _ in range(times):
            for stage, arguments in fluid:
                stage(*arguments)

    def empty(calls: int) -> Repeat:
        # Without bodies this returns at once.
        stage, arguments = mujoco.mj_comVel, (nothing, empty_data)

        def run(times: int) -> None:
            for _ in range(times):
                for _ in range(calls):
                    stage(*arguments)

        return run

    data.qacc_smooth[:] = 0.0
    needed(1)
    _check("mujoco, needed stages", data.qacc_smooth, expected)
    return [
        Contender("mujoco mj_forward", n, forward, empty(1)),
        Contender("mujoco needed stages", n, needed, empty(len(stages))),
    ]


def _mujoco_xml(links: int) -> str:
    inertia = " ".join(map(repr, INERTIA))
    bodies = ""
    for k in range(links):
        half = twist(k) / 2
        bodies += (
            f'<body pos="{LENGTH if k else 0.0} 0 0" '
            f'quat="{math.cos(half)!r} {math.sin(half)!r} 0 0">'
            '<joint type="hinge" axis="0 0 1"/>'
            f'<inertial pos="{LENGTH / 2} 0 0" mass="{MASS}" diaginertia="{inertia}"/>'
        )
    gravity = " ".join(map(repr, GRAVITY))
    return (
        f'<mujoco><option gravity="{gravity}"><flag contact="disable" constraint="disable"/>'
        f"</option><worldbody>{bodies}{'</body>' * links}</worldbody></mujoco>"
    )
