"""Features of arms that the papers of the formulations do not cover."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from flexarm.model import LinkModel, Model


class Feature(NamedTuple):
    """Feature of an arm that a paper does not cover: its test, description and remedy."""

    present: Callable[[LinkModel], object]
    description: str
    remedy: str


FEATURES = {
    "joint": Feature(
        lambda part: not part.motion.hinge, "{joint}, a {kind} joint", "Use revolute joints"
    ),
    "bending on a slide": Feature(
        lambda part: part.carried_by and not part.motion.hinge and part.flexible,
        "{link}, which bends on a prismatic joint",
        "Make the joint sliding, whose beam comes out of its hub",
    ),
    "hub": Feature(
        lambda part: part.link.joint.hub.inboard or part.link.joint.hub.outboard,
        "{joint}'s hub", "Leave out the hub's bodies",
    ),
    "rotor": Feature(lambda part: part.rotor is not None, "{joint}'s rotor", "Leave out the drive"),
    "full rotor": Feature(
        lambda part: part.rotor is not None and part.rotor.axis is not None,
        "{joint}'s rotor, whose momentum acts on its carrier", "Write 'rotor: simple'",
    ),
    "elastic joint": Feature(
        lambda part: any(axis.motor is not None for axis in part.axes),
        "{joint}'s elastic transmission", "Leave drive.stiffness out",
    ),
    "offset": Feature(
        lambda part: (
            np.any(part.pose_JL.position)
            or (any(axis.link for axis in part.axes) and np.any(part.pose_FJ.position))
        ),
        "{joint}'s offset", "Let each link begin on its joint's axis, at the tip before (eq. 60)",
    ),
    "tip body": Feature(
        lambda part: part.tip_body.weighs,
        "a body at the tip of {link} (payload, hub or tip piece)", "Take it out",
    ),
    "rotary inertia": Feature(
        lambda part: part.flexible and np.any(part.beam.integrals.rotary),
        "rotary inertia of {link}'s sections", "Leave out Jx, Jy, Jz",
    ),
    "stretch": Feature(
        lambda part: (
            part.flexible
            and (np.any(part.beam.tip_shape[0]) or np.any(part.beam.points.shape[:, 0]))
        ),
        "stretch of {link}", "Ask for no stretch",
    ),
    "twist": Feature(
        lambda part: any("twist" in name for name in part.body.names),
        "twist of {link}", "Ask for bending alone",
    ),
    "quadratic shapes": Feature(
        lambda part: part.link.quadratic_shapes, "quadratic shapes of {link}", "Take them out"
    ),
    "root slope": Feature(
        lambda part: np.any(part.body.root_turn),
        "shapes of {link} that turn its root", "Take shapes that are clamped there",
    ),
    "measured mass": Feature(
        lambda part: part.body.measured, "the measured modal mass of {link}", "Take other shapes"
    ),
}  # fmt: skip


def paper_refusal(model: Model, paper: str, lacking: Sequence[str]) -> str | None:
    """Return the reason why a paper's formulation does not cover an arm; None if it may.

    A moving base is outside all papers. ``lacking`` are the keys of `FEATURES` that are also
    outside this paper.
    """
    lacking_feature = "a base that moves. Fix the base" if model.base_moves else None
    for part in () if lacking_feature else model.links:
        feature = next((FEATURES[k] for k in lacking if FEATURES[k].present(part)), None)
        if feature is not None:
            names = {"joint": part.joint_name, "link": part.name, "kind": part.kind}
            lacking_feature = f"{feature.description.format(**names)}. {feature.remedy}"
            break
    return (
        f"{paper} do not have {lacking_feature}, or set paper=False." if lacking_feature else None
    )
