"""What links are made of, one file each: how a body moves, what it weighs, how it bends."""

from flexarm.mechanics.bodies.base import LinkBody
from flexarm.mechanics.bodies.exact.body import Exact
from flexarm.mechanics.bodies.growing import Growing
from flexarm.mechanics.bodies.modal import Modal
from flexarm.mechanics.bodies.reduced.body import Reduced
from flexarm.mechanics.bodies.rigid import Rigid
from flexarm.model import LinkModel, Model


def body_of(model: Model, part: LinkModel, *, combined: bool = False) -> LinkBody:
    """Return the body of a link; if ``combined``, its columns may be those of `LinkBody.basis`."""
    if part.sliding is not None:
        return Growing(model, part)
    if part.reduced is not None:
        return Reduced(model, part)
    if part.elastic is None:
        return Rigid(model, part)
    if part.elastic.nodes is None:
        return Modal(model, part)
    return Exact(model, part, combined)


__all__ = ["LinkBody", "body_of"]
