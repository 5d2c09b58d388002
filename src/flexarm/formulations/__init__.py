"""Formulations: named algorithms for the mass matrix and the bias force of an arm."""

from collections.abc import Sequence
from typing import Any

from flexarm.arguments import FormulationName, require_flag, require_names, shown
from flexarm.arm import Arm
from flexarm.errors import FlexarmError
from flexarm.formulations.articulated import Articulated
from flexarm.formulations.base import Formulation
from flexarm.formulations.composite import Composite
from flexarm.formulations.element_jacobian import ElementJacobian
from flexarm.formulations.equation import Equation
from flexarm.formulations.gibbs_appell.formulation import GibbsAppell
from flexarm.formulations.kinematic_influence import KinematicInfluence
from flexarm.formulations.lagrange import Lagrange
from flexarm.formulations.recursive_lagrange import RecursiveLagrange
from flexarm.model import Model

DEFAULT = Articulated.name

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


def formulation(
    name: FormulationName | str,
    model: Model,
    *,
    paper: bool = False,
    delta_squared: bool = True,
    points: int | None = None,
    parameters: Sequence[str] = (),
) -> Equation:
    """Build the equation of a model by the formulation of the given name.

    Parameters
    ----------
    name
        One of ``FORMULATIONS``.
    model
        Model of the arm, from `flexarm.build`.
    paper
        Whether to use the approximations of the paper that describes the formulation, if there is
        one.
    delta_squared
        Whether to keep the term of the link's inertia of second order in the amplitudes, which
        Korayem & Shafei propose to omit. Only for ``gibbs-appell`` with ``paper=True``.
    points
        Gauss points per element; by default enough to integrate the inertia exactly, or one with
        ``paper=True``. Only for ``element-jacobian``.
    parameters
        Keys of numbers in the model file, such as ``payload.mass``, that are inputs of the
        equation: `Equation.at` changes their values, `Equation.by_parameters` computes derivatives
        with respect to these numbers.

    Returns
    -------
    Equation
        Accelerations, forces, energies and matrices of the arm, for one state or a batch.

    Raises
    ------
    FlexarmError
        If the formulation is unknown, cannot treat the model, or lacks an option.
    """
    if not isinstance(model, Model):
        raise FlexarmError(_no_model(name, model))
    if not isinstance(name, str) or name not in FORMULATIONS:
        raise FlexarmError(
            f"there is no formulation {shown(name)}. The formulations are "
            f"{', '.join(FORMULATIONS)}."
        )
    require_flag("paper", paper)
    require_flag("delta_squared", delta_squared)
    require_names("parameters", parameters, "keys of the model file, such as ['payload.mass']")
    reason = FORMULATIONS[name].refusal(model, paper=paper)
    forces_at_points = (
        "contacts" if model.points.contacts else "springs" if model.points.springs else ""
    )
    if reason is None and paper and forces_at_points:
        reason = f"no paper has {forces_at_points} at points. Leave them out, or set paper=False."
    if reason is not None:
        raise FlexarmError(f"formulation '{name}' cannot be used for this arm: {reason}")
    options: dict[str, Any] = {}
    if not delta_squared:
        if name != GibbsAppell.name:
            raise FlexarmError(
                f"delta_squared=False: formulation '{name}' has no term of second order in the "
                "deflections to leave out. Use gibbs-appell with paper=True."
            )
        options["delta_squared"] = False
    if points is not None:
        if name != ElementJacobian.name:
            raise FlexarmError(
                f"points: formulation '{name}' does not integrate at points. Use "
                "element-jacobian, or leave points out."
            )
        options["points"] = points
    return Equation.of(FORMULATIONS[name](model, paper=paper, **options), parameters)


def _no_model(name: object, model: object) -> str:
    if isinstance(name, Model):
        return "formulation: the name comes first, then the model, formulation(name, model)"
    kind = "an Arm" if isinstance(model, Arm) else f"a value of type {type(model).__name__}"
    return f"formulation: must be given a Model, got {kind}. Build one with flexarm.build(arm)."
