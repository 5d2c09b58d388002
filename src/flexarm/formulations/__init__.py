"""How M and c are obtained: one file per formulation, a registry by name."""

from flexarm.errors import FlexarmError
from flexarm.formulations.articulated import Articulated
from flexarm.formulations.base import Formulation
from flexarm.formulations.composite import Composite
from flexarm.formulations.element_jacobian import ElementJacobian
from flexarm.formulations.gibbs_appell import GibbsAppell
from flexarm.formulations.kinematic_influence import KinematicInfluence
from flexarm.formulations.lagrange import Lagrange
from flexarm.formulations.recursive_lagrange import RecursiveLagrange
from flexarm.model import Model

FORMULATIONS: dict[str, type[Formulation]] = {
    kind.name: kind
    for kind in (
        Articulated,
        Composite,
        GibbsAppell,
        KinematicInfluence,
        Lagrange,
        ElementJacobian,
        RecursiveLagrange,
    )
}


def formulation(name: str, model: Model, *, paper: bool = False) -> Formulation:
    """Make the equation of a model by the formulation of the given name.

    Parameters
    ----------
    name
        One of ``FORMULATIONS``.
    model
        The arm made ready by `flexarm.build`.
    paper
        Keep the approximations of the formulation's paper, where it has one.

    Raises
    ------
    FlexarmError
        If there is no such formulation, or it cannot treat the model.
    """
    if name not in FORMULATIONS:
        raise FlexarmError(f"no formulation '{name}': there are {', '.join(FORMULATIONS)}")
    reason = FORMULATIONS[name].refusal(model, paper=paper)
    if reason is not None:
        raise FlexarmError(f"formulation '{name}' refuses this: {reason}")
    return FORMULATIONS[name](model, paper=paper)
