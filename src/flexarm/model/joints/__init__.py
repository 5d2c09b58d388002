"""Joints, one file each: how the frame behind a joint moves."""

from flexarm.model.joints.base import JointMotion
from flexarm.model.joints.fixed import Fixed
from flexarm.model.joints.prismatic import Prismatic
from flexarm.model.joints.revolute import Revolute
from flexarm.model.joints.sliding import Sliding

JOINTS: dict[str, JointMotion] = {
    each.name: each for each in (Revolute(), Prismatic(), Sliding(), Fixed())
}

__all__ = ["JOINTS", "JointMotion"]
