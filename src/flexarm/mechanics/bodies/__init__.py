"""Classes of link bodies, one per file: kinematics, inertia and elastic energy of a link."""

from flexarm.mechanics.bodies.base import LinkBody
from flexarm.mechanics.bodies.exact.body import Exact
from flexarm.mechanics.bodies.growing import Growing
from flexarm.mechanics.bodies.modal import Modal
from flexarm.mechanics.bodies.reduced import Reduced
from flexarm.mechanics.bodies.rigid import Rigid
from flexarm.model import LinkModel, Model

# Classes of bodies by ``BodyData.kind``.
BODIES: dict[str, type[LinkBody]] = {
    "exact": Exact, "growing": Growing, "modal": Modal, "reduced": Reduced, "rigid": Rigid,
}  # fmt: skip


def body_of(model: Model, part: LinkModel, *, combined: bool = False) -> LinkBody:
    """Return the body of a link.

    With ``combined``, Jacobian columns may refer to the combined coordinates of `LinkBody.basis`.
    """
    return BODIES[part.body.kind](model, part, combined)


__all__ = ["LinkBody", "body_of"]
