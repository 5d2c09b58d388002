"""Kinematics of joints, one file per kind of joint."""

from flexarm.arm import Joint
from flexarm.model.joints.base import JointMotion
from flexarm.model.joints.carriage import CarriageKinematics
from flexarm.model.joints.fixed import FixedKinematics
from flexarm.model.joints.prismatic import PrismaticKinematics
from flexarm.model.joints.revolute import RevoluteKinematics
from flexarm.model.joints.screw import ScrewKinematics
from flexarm.model.joints.sliding import SlidingKinematics
from flexarm.model.joints.spherical import SphericalKinematics
from flexarm.model.joints.universal import UniversalKinematics

JOINTS: dict[str, type[JointMotion]] = {
    kinematics.name: kinematics
    for kinematics in (
        RevoluteKinematics,
        PrismaticKinematics,
        SlidingKinematics,
        CarriageKinematics,
        ScrewKinematics,
        UniversalKinematics,
        SphericalKinematics,
        FixedKinematics,
    )
}


def motion_of(joint: Joint) -> JointMotion:
    """Return the kinematics of a joint described in a model file."""
    return JOINTS[joint.kind].of(joint)


__all__ = ["JOINTS", "JointMotion", "motion_of"]
