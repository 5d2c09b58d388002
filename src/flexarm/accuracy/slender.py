"""Shear and rotary inertia of cross sections, which Euler-Bernoulli theory leaves out."""

import math
from collections.abc import Callable, Iterable

import numpy as np

from flexarm.accuracy.constants import SHEAR_RATIO, TWIST_GYRATION
from flexarm.arm.section import Properties, Section, shear_coefficient
from flexarm.links.base import Span
from flexarm.links.basis import MOTIONS, BeamDirection
from flexarm.model import LinkModel, Model
from flexarm.spatial import Array


def radius_of_gyration(span: Span, motion: BeamDirection) -> float | None:
    """Return the largest radius of gyration [m] of a span's sections in a bending plane.

    The radius of gyration is ``sqrt(EI/EA)``, or ``sqrt(J/mu)`` if EA is not given. Return None if
    neither EA nor J is given.
    """
    table = span.table
    if span.has("EA"):
        return math.sqrt(float(np.max(table[motion.stiffness] / table["EA"])))
    assert motion.rotary is not None
    if np.any(table[motion.rotary] > 0):
        return math.sqrt(float(np.max(table[motion.rotary] / table["mass_per_length"])))
    return None


def shear_error(span: Span, motion: BeamDirection, section: Section, omega: float) -> float:
    """Estimate the relative error of a natural frequency by Euler-Bernoulli theory.

    Euler-Bernoulli theory overestimates the frequency.

    Parameters
    ----------
    span, motion
        The span, and its bending plane, in which the radius of gyration must be known.
    section
        Cross section with outline and material; None if not given.
    omega
        Angular frequency of the mode by Euler-Bernoulli theory [rad/s].

    Notes
    -----
    A wave with wave number k in a Timoshenko beam has ``omega^2 = EI k^4/mu / (1 + k^2 r^2 (1 +
    s))`` to first order, where r is the radius of gyration and ``s = E/(kappa G)``. The term 1 in
    the bracket is the rotary inertia, which the model may already include. The wave number k of the
    mode follows from ``k^4 = mu omega^2/EI``.
    """
    radius = radius_of_gyration(span, motion)
    assert radius is not None and motion.rotary is not None
    mass, stiffness = span.table["mass_per_length"], span.table[motion.stiffness]
    square = omega * math.sqrt(float(np.max(mass / stiffness))) * radius**2
    in_model = 1.0 if np.any(span.table[motion.rotary] > 0) else 0.0
    timoshenko = 1 + (1 + shear_ratio(section, motion)) * square
    return math.sqrt(timoshenko / (1 + in_model * square)) - 1


def shear_ratio(section: Section, motion: BeamDirection) -> float:
    """Return E/(kappa G) of a cross section, or 0 if the model includes shear.

    A cross section without outline is treated as a solid rectangle.
    """
    stations = section if section.stations is None else section.stations[0]
    if section.shear or getattr(stations, motion.shear or "GAy") is not None:
        return 0.0
    if section.material is None or section.shape is None:
        return SHEAR_RATIO
    material, shape = section.material, section.shape
    nu = 0.3 if material.nu is None else material.nu
    ratio = 2 * (1 + nu) if material.G is None else material.E / material.G
    return ratio / shear_coefficient(shape, nu, along_y=motion.direction == "y")


def complete_section(section: Section) -> Section:
    """Return a cross section with shear stiffness and rotary inertia added, where known.

    Shear stiffness and rotary inertia follow from the outline, or from EA: ``GA = EA/s`` with ``s =
    E/(kappa G)`` of a solid rectangle, and ``J = mu EI/EA`` (Timoshenko). A cross section without
    outline and EA is returned unchanged.
    """
    if section.shape is not None:
        return section.model_copy(update={"shear": section.shear or True, "rotary_inertia": True})
    return _with(section, _missing)


def turning_section(section: Section, length: float) -> Section:
    """Return a cross section with torsional inertia; a very small one is added if missing."""
    return _with(
        section,
        lambda part: (
            {"Jx": (part.mass_per_length or 0.0) * (TWIST_GYRATION * length) ** 2}
            if part.GJ is not None and not part.Jx
            else {}
        ),
    )


def _with(section: Section, numbers: Callable[[Properties], dict[str, float]]) -> Section:
    """Return a cross section with further properties added at all stations."""
    if section.stations is None:
        return section.model_copy(update=numbers(section))
    stations = tuple(station.model_copy(update=numbers(station)) for station in section.stations)
    return section.model_copy(update={"stations": stations})


def _missing(section: Properties) -> dict[str, float]:
    """Return the shear stiffnesses and rotary inertias that a cross section does not have."""
    numbers: dict[str, float] = {}
    for stiffness, rotary, shear in (("EIz", "Jz", "GAy"), ("EIy", "Jy", "GAz")):
        bending, inertia = getattr(section, stiffness), getattr(section, rotary)
        mass = section.mass_per_length
        if bending is None or mass is None or section.EA is None:
            continue
        square = bending / section.EA
        if getattr(section, shear) is None:
            numbers[shear] = bending / (SHEAR_RATIO * square)
        if not inertia:
            numbers[rotary] = mass * square
    return numbers


def section_errors(model: Model, parts: Iterable[LinkModel]) -> tuple[Array, Array]:
    """Compute the stiffness lost by shear, and the neglected rotary inertia, of all links.

    Lost stiffness and neglected inertia are the first-order terms of Timoshenko theory.

    Returns
    -------
    stiffness, mass
        Matrices in the coordinates of the arm, (n, n) each: ``int EI s r^2 y''' y'''`` and, unless
        the section has rotary inertia, ``int mu r^2 y' y'``, of both bending planes whose radius of
        gyration r is known.
    """
    lost_stiffness, neglected_mass = np.zeros((2, model.size, model.size))
    for part in parts:
        elastic, section, block = part.beam, part.link.section, (part.modes, part.modes)
        assert section is not None
        span, shapes = elastic.span, elastic.shapes
        x, weight = span.quadrature(8 + 2 * shapes.count, shapes.edges)
        for motion in (MOTIONS["y"], MOTIONS["z"]):
            if not (span.has("EA") and span.has(motion.stiffness)) or motion.rotary is None:
                continue
            radius = radius_of_gyration(span, motion)
            assert radius is not None
            third_derivatives = shapes.values(motion.direction, x, 3)
            stiffness = (
                weight * span.at(motion.stiffness, x) * shear_ratio(section, motion) * radius**2
            )
            lost_stiffness[block] += third_derivatives.T @ (stiffness[:, None] * third_derivatives)
            if not np.any(span.table[motion.rotary] > 0):
                slopes = shapes.values(motion.direction, x, 1)
                inertia = weight * span.at("mass_per_length", x) * radius**2
                neglected_mass[block] += slopes.T @ (inertia[:, None] * slopes)
    return lost_stiffness, neglected_mass
