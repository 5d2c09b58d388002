"""How M and c are obtained: one file per formulation, a registry by name."""

from flexarm.errors import FlexarmError
from flexarm.formulations.articulated import Articulated
from flexarm.formulations.base import Formulation
from flexarm.formulations.composite import Composite
from flexarm.model import Model

FORMULATIONS: dict[str, type[Formulation]] = {kind.name: kind for kind in (Articulated, Composite)}


def formulation(name: str, model: Model) -> Formulation:
    """Make the equation of a model by the formulation of the given name."""
    if name not in FORMULATIONS:
        raise FlexarmError(f"no formulation '{name}': there are {', '.join(FORMULATIONS)}")
    return FORMULATIONS[name](model)
