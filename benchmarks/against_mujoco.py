"""A servoed rigid arm that rubs and touches the floor, against MuJoCo.

``python benchmarks/against_mujoco.py`` prints how far MuJoCo's RK4 is from flexarm at its step and
half of it: what differs is the step's error, which falls by 16.  Servos, rotor inertia and viscous
friction are MuJoCo's own; Coulomb friction and the contact spring are given to it as passive
forces, written down here once more.
"""

import json
from typing import Any

import numpy as np
import numpy.typing as npt

import flexarm
from flexarm.arm import Arm
from flexarm.io.model_file import loads

Array = npt.NDArray[np.float64]
T_END = 1.5  # [s]
SAMPLES = 30
STEPS = (1e-3, 5e-4)  # [s]
LENGTHS, MASSES = (0.5, 0.4, 0.3), (3.0, 2.0, 1.0)
INERTIAS = ((0.01, 0.06, 0.065), (0.005, 0.03, 0.028), (0.002, 0.01, 0.009))
AXES = ((0, 0, 1), (0, 1, 0), (0, 1, 0))
STARTS, TARGETS = (0.0, -0.4, 0.6), (0.8, 0.5, 0.3)
STIFFNESS, DAMPING = (60.0, 80.0, 40.0), (8.0, 9.0, 4.0)
ARMATURE, VISCOUS = 0.05, 0.2  # [kg m^2], [N m s/rad]
COULOMB, SMOOTHING = 1.5, 0.05  # [N m], [rad/s]
FLOOR, PRESS, EXPONENT, LOSS = -0.25, 2e4, 1.5, 0.3  # [m], [N/m^1.5], [s/m]
RUB, CREEP = 0.3, 0.02  # friction's coefficient, [m/s]


def arm() -> Arm:
    """Describe the arm to flexarm."""
    links = [
        {
            "joint": {
                "kind": "revolute",
                "axis": AXES[k],
                "start": {"position": STARTS[k]},
                "drive": {"rotor_inertia": ARMATURE / 25, "gear_ratio": 5},
                "friction": {"viscous": VISCOUS, "coulomb": COULOMB, "smoothing": SMOOTHING},
                "servo": {
                    "stiffness": STIFFNESS[k],
                    "damping": DAMPING[k],
                    "target": {"kind": "constant", "value": TARGETS[k]},
                },
            },
            "length": LENGTHS[k],
            "body": {"mass": MASSES[k], "com": [LENGTHS[k] / 2, 0, 0], "inertia": INERTIAS[k]},
        }
        for k in range(3)
    ]
    floor = {"kind": "plane", "point": [0, 0, FLOOR], "normal": [0, 0, 1]}
    contact = {
        "obstacle": floor, "stiffness": PRESS, "exponent": EXPONENT, "damping": LOSS,
        "friction": {"coefficient": RUB, "smoothing": CREEP},
    }  # fmt: skip
    return loads(json.dumps({"flexarm": 1, "name": "peer", "links": links, "contacts": [contact]}))


def ours(rtol: float) -> tuple[Array, Array]:
    """Simulate by flexarm: angles (T, 3) [rad], and the floor's normal force (T,) [N]."""
    run = flexarm.simulate(arm(), t_end=T_END, dt=T_END / SAMPLES, rtol=rtol, method="dop853")
    return run.q, run.contacts().normal_force.values[:, 0]


def theirs(step: float) -> tuple[Array, Array]:
    """Simulate by MuJoCo's RK4, likewise."""
    import mujoco

    model = mujoco.MjModel.from_xml_string(_xml(step))
    data = mujoco.MjData(model)
    data.qpos[:], data.ctrl[:] = STARTS, TARGETS

    def passive(model: Any, data: Any) -> None:
        data.qfrc_passive[:] += _passive(mujoco, model, data)[0]

    every = round(T_END / SAMPLES / step)
    angles, pressed = [data.qpos.copy()], [0.0]
    mujoco.set_mjcb_passive(passive)
    try:
        for _ in range(SAMPLES):
            for _ in range(every):
                mujoco.mj_step(model, data)
            mujoco.mj_forward(model, data)
            angles.append(data.qpos.copy())
            pressed.append(_passive(mujoco, model, data)[1])
    finally:
        mujoco.set_mjcb_passive(None)
    return np.array(angles), np.array(pressed)


def _passive(mujoco: Any, model: Any, data: Any) -> tuple[Array, float]:
    """Give Coulomb friction and what the floor does as efforts (3,), and its normal force [N]."""
    effort = -COULOMB * np.tanh(data.qvel / SMOOTHING)
    depth = FLOOR - float(data.site_xpos[0, 2])
    if depth <= 0:
        return effort, 0.0
    jacobian = np.zeros((3, model.nv))
    mujoco.mj_jacSite(model, data, jacobian, None, 0)
    speed = jacobian @ data.qvel
    normal = max(0.0, PRESS * depth**EXPONENT * (1 - LOSS * speed[2]))
    slides = np.array([speed[0], speed[1], 0.0])
    force = -RUB * normal * slides / np.sqrt(slides @ slides + CREEP**2)
    force[2] = normal
    return effort + jacobian.T @ force, normal


def _xml(step: float) -> str:
    """Describe the arm to MuJoCo."""
    bodies, ends, place = "", "", 0.0
    for k in range(3):
        bodies += f"""
<body pos="{place} 0 0"><joint name="j{k}" type="hinge" axis="{_words(AXES[k])}"
 damping="{VISCOUS}" armature="{ARMATURE}"/>
<inertial pos="{LENGTHS[k] / 2} 0 0" mass="{MASSES[k]}" diaginertia="{_words(INERTIAS[k])}"/>"""
        ends, place = ends + "</body>", LENGTHS[k]
    servos = "".join(
        f'<position joint="j{k}" kp="{STIFFNESS[k]}" kv="{DAMPING[k]}"/>' for k in range(3)
    )
    return f"""<mujoco><compiler angle="radian" inertiafromgeom="false"/>
<option timestep="{step}" integrator="RK4" gravity="0 0 -9.81"/>
<worldbody>{bodies}<site name="tip" pos="{place} 0 0"/>{ends}</worldbody>
<actuator>{servos}</actuator></mujoco>"""


def _words(numbers: tuple[float, ...]) -> str:
    return " ".join(map(str, numbers))


def main() -> None:
    """Print the differences."""
    angles, pressed = ours(1e-10)
    for step in STEPS:
        other, force = theirs(step)
        print(
            f"step {step:g} s: angles {np.abs(other - angles).max():.2e} rad, floor "
            f"{np.abs(force - pressed).max():.2e} of {pressed.max():.1f} N"
        )


if __name__ == "__main__":
    main()
