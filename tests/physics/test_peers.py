"""Rigid chains against pinocchio, which shares no line with this project.

A campaign: pinocchio (`pin`) is an extra, not needed to use flexarm or to run its other tests.
"""

from typing import Any

import numpy as np
import pytest

from flexarm.arm import Arm, Body, Revolute
from flexarm.arm.joint import Moving
from flexarm.formulations import FORMULATIONS, formulation
from flexarm.model import build
from tests.physics.cases import skip_if_refused
from tests.physics.random_links import Draft, Piece
from tests.physics.states import compare

CHAINS = 40


def random_chain(number: int) -> Arm:
    """Draw a rigid chain of revolute and prismatic joints with any axes and frames."""
    draft = Draft((number, 7))
    links: list[Piece] = []
    for _ in range(int(draft.random.integers(1, 9))):
        joint: Piece = {"kind": "revolute" if draft.chance(0.75) else "prismatic"}
        joint |= {"axis": draft.vector(1.0)}
        joint |= {"before": {"position": draft.vector(0.5), "rotation": draft.vector(2.0)}}
        links.append({"joint": joint, "length": draft.number(0.0, 0.6), "body": draft.body()})
    gravity = draft.vector(10.0)
    return Arm.model_validate(
        {"flexarm": 1, "name": "chain", "gravity": gravity, "links": links, "payload": draft.body()}
    )


def pinocchio_model(arm: Arm) -> Any:
    """Describe a rigid chain to pinocchio."""
    import pinocchio

    def place(position: Any, angles: Any = (0.0, 0.0, 0.0)) -> Any:
        return pinocchio.SE3(pinocchio.rpy.rpyToMatrix(*angles), np.array(position))

    def inertia(body: Body | None) -> Any:
        assert body is not None
        xx, yy, zz, xy, xz, yz = (*body.inertia, 0.0, 0.0, 0.0)[:6]
        matrix = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        return pinocchio.Inertia(body.mass, np.array(body.com), matrix)

    model = pinocchio.Model()
    model.gravity.linear = np.array(arm.gravity)
    parent, end = 0, place((0.0, 0.0, 0.0))
    for k, link in enumerate(arm.links):
        joint = link.joint
        assert isinstance(joint, Moving)
        assert joint.before is not None
        axis = np.array(joint.axis) / np.linalg.norm(joint.axis)
        turns = isinstance(joint, Revolute)
        kind = (
            pinocchio.JointModelRevoluteUnaligned if turns
            else pinocchio.JointModelPrismaticUnaligned
        )  # fmt: skip
        before = place(joint.before.position, joint.before.rotation)
        parent = model.addJoint(parent, kind(axis), end * before, f"joint{k}")
        end = place((link.length, 0.0, 0.0))
        model.appendBodyToJoint(parent, inertia(link.rigid_body), pinocchio.SE3.Identity())
    model.appendBodyToJoint(parent, inertia(arm.payload), end)
    return model


@pytest.mark.campaign
@pytest.mark.parametrize("name", FORMULATIONS)
@pytest.mark.parametrize("number", range(CHAINS))
def test_rigid_chain_is_pinocchio_s(name: str, number: int) -> None:
    import pinocchio

    arm = random_chain(number)
    model = build(arm)
    skip_if_refused(name, model)
    equation, peer = formulation(name, model), pinocchio_model(arm)
    data = peer.createData()
    q, v, tau = np.random.default_rng(number).uniform(-2, 2, (3, len(arm.links)))
    mass = pinocchio.crba(peer, data, q)
    mass = np.triu(mass) + np.triu(mass, 1).T
    scale = np.sqrt(np.diag(mass))
    both = np.outer(scale, scale)
    condition = float(np.linalg.cond(mass / both))
    pairs = (
        (equation.mass_matrix(q) / both, mass / both, 1.0),
        (equation.bias(q, v) / scale, pinocchio.rnea(peer, data, q, v, 0 * v) / scale, 1.0),
        (
            equation.forward_dynamics(q, v, tau) * scale,
            pinocchio.aba(peer, data, q, v, tau) * scale,
            condition,
        ),
    )
    for got, expected, amplified in pairs:
        verdict = compare(got, expected, condition=amplified)
        assert verdict.good, str(verdict)
