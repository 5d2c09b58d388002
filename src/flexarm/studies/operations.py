"""How many operations one evaluation of an arm's equation takes."""

import casadi as ca

from flexarm.engine.lower import lower
from flexarm.engine.stream import OperationCounts, counts
from flexarm.formulations.equation import Equation

COUNTED = ("forward_dynamics", "mass_matrix", "bias")


def operation_counts(eq: Equation, name: str) -> OperationCounts:
    """Count the operations of one function of a formulation, as they are compiled.

    Parameters
    ----------
    eq
        The equation of an arm.
    name
        One of `COUNTED`, or another name that `Equation.function` knows.

    Returns
    -------
    OperationCounts
        Numbers of operations. Of the mass matrix, which is symmetric, the upper triangle alone is
        counted: the rest is copied.
    """
    function = eq.function(name)
    if name == "mass_matrix":
        symbols = function.sx_in()
        (mass,) = function.call(symbols, True, False)
        function = ca.Function(name, symbols, [ca.triu(mass)], function.name_in(), ["M"])
    return counts(lower(function))
