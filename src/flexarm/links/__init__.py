"""Families of shape functions for flexible spans, listed by their name in a model file."""

from collections.abc import Mapping

from flexarm.errors import ShapeError
from flexarm.links.base import Discretisation
from flexarm.links.families.spans import (
    ASSUMED,
    CraigBamptonShapes,
    ElementShapes,
    LumpedShapes,
    PolynomialShapes,
)
from flexarm.links.families.tabulated import TabulatedShapes

DISCRETISATIONS: Mapping[str, Discretisation] = {
    family.name: family
    for family in (
        *ASSUMED,
        ElementShapes(),
        CraigBamptonShapes(),
        PolynomialShapes(),
        LumpedShapes(),
        TabulatedShapes(),
    )
}


def discretisation(kind: str) -> Discretisation:
    """Return the family of shape functions with a given name in model files, such as ``loaded``."""
    if kind not in DISCRETISATIONS:
        names = ", ".join(DISCRETISATIONS)
        raise ShapeError(f"kind: there is no kind of shapes '{kind}'. The kinds are {names}.")
    return DISCRETISATIONS[kind]
