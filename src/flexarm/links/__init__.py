"""Discretisations of a flexible span, by the kind that a model file names."""

from collections.abc import Mapping

from flexarm.errors import ShapeError
from flexarm.links.assumed import ClampedFree, ClampedMass, FreeFree, PinnedFree, PinnedPinned
from flexarm.links.base import Discretisation
from flexarm.links.craig_bampton import CraigBampton
from flexarm.links.elements import Elements
from flexarm.links.loaded import Loaded
from flexarm.links.lumped import Lumped
from flexarm.links.polynomials import Polynomials
from flexarm.links.tabulated import Tabulated

DISCRETISATIONS: Mapping[str, Discretisation] = {
    each.name: each
    for each in (
        Loaded(),
        ClampedFree(),
        ClampedMass(),
        PinnedFree(),
        PinnedPinned(),
        FreeFree(),
        Elements(),
        CraigBampton(),
        Polynomials(),
        Lumped(),
        Tabulated(),
    )
}


def discretisation(kind: str) -> Discretisation:
    """Return the discretisation of a kind, such as ``loaded``."""
    if kind not in DISCRETISATIONS:
        known = ", ".join(DISCRETISATIONS)
        raise ShapeError(f"kind: no discretisation '{kind}'; there are {known}")
    return DISCRETISATIONS[kind]
