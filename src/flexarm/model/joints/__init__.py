"""Joints, one file each: how the frame behind a joint moves."""

from flexarm.arm import Joint
from flexarm.model.joints.base import JointMotion
from flexarm.model.joints.carriage import Carriage
from flexarm.model.joints.fixed import Fixed
from flexarm.model.joints.prismatic import Prismatic
from flexarm.model.joints.revolute import Revolute
from flexarm.model.joints.screw import Screw
from flexarm.model.joints.sliding import Sliding
from flexarm.model.joints.spherical import Spherical
from flexarm.model.joints.universal import Universal

JOINTS: dict[str, type[JointMotion]] = {
    each.name: each
    for each in (Revolute, Prismatic, Sliding, Carriage, Screw, Universal, Spherical, Fixed)
}


def motion_of(joint: Joint) -> JointMotion:
    """Give the motion of a joint that a model file describes."""
    return JOINTS[joint.kind].of(joint)


__all__ = ["JOINTS", "JointMotion", "motion_of"]
