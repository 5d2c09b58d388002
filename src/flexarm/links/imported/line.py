"""Modal data along a line: curves through the nodes are the shapes of a flexible span."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from flexarm.io.source import Path
from flexarm.links.base import Array, Direction, Shape, Shapes
from flexarm.links.basis import own_stiffness
from flexarm.links.imported.checks import (
    DEFINITE_TOLERANCE,
    check_frequencies,
    check_hertz,
    check_line,
    check_matrices,
    check_modal_mass,
    check_slopes,
    check_stiffness,
    check_totals,
    coupled,
    least_eigenvalue,
    state_conventions,
)
from flexarm.links.imported.data import ModalData
from flexarm.links.imported.examine import complete_matrices, hub_motion, without_hub
from flexarm.links.imported.report import Findings
from flexarm.links.integrals import Integrals
from flexarm.links.span import Span, gauss_points

if TYPE_CHECKING:
    from scipy.interpolate import PPoly

POINTS = 8  # per panel: exact for two cubics and a property that is linear along the panel
LEAST_MASS = 1e-60  # [kg m^2] modal mass that replaces 0 in a division
SECTION, FILE = "the link's section", "the file's masses"


@dataclass(frozen=True, eq=False)
class SplineCurve:
    """A piecewise cubic along the span."""

    spline: "PPoly"

    def __call__(self, x: Array, nu: int = 0) -> Array:
        """Return the ``nu``-th derivative at every x."""
        return np.asarray(self.spline(x, nu))


def curves_through(data: ModalData) -> Shapes:
    """Return piecewise cubics through nodes on the x axis.

    Along y and z through displacement and slope (Hermite); stretch and twist, whose slopes are not
    given, with a continuous second derivative.
    """
    from scipy.interpolate import CubicHermiteSpline, CubicSpline, PPoly

    assert data.rotations is not None
    x, u, theta = data.nodes[:, 0], data.shapes, data.rotations
    splines: dict[Direction, PPoly] = {
        "y": CubicHermiteSpline(x, u[:, :, 1].T, theta[:, :, 2].T),
        "z": CubicHermiteSpline(x, u[:, :, 2].T, -theta[:, :, 1].T),
        "twist": CubicSpline(x, theta[:, :, 0].T),
        "x": CubicSpline(x, u[:, :, 0].T),
    }
    shapes = []
    for j, name in enumerate(data.names):
        moving = {way: each.c[:, :, j] for way, each in splines.items() if np.any(each.c[:, :, j])}
        curves = {way: SplineCurve(PPoly(c, x)) for way, c in moving.items()}
        shapes.append(Shape(name, curves))
    return Shapes(tuple(shapes), x, np.zeros((len(shapes),) * 2))


def examine_line(given: ModalData, findings: Findings, span: Span) -> Shapes | None:
    """Check modal data at stations of a span, and return its shapes; None if refused."""
    state_conventions(findings, given)
    data = given.in_hub_frame()
    x = check_line(findings, data, span.length)
    data, every = check_matrices(findings, data), np.arange(len(data.shapes))
    if x is not None:
        check_slopes(findings, x, data)
    if data.hertz is not None and data.mass is not None and coupled(data.mass):
        findings.refuse(("frequencies",), "needs a diagonal M: give K instead")
    check_hertz(findings, data, every, None)
    if x is None or findings.problems:
        return None
    assert data.rotations is not None
    nodes, root = np.stack([x, 0 * x, 0 * x], axis=1), [data.shapes[:, 0], data.rotations[:, 0]]
    data = replace(data, nodes=nodes, hub_shapes=np.hstack(root))
    hub, moved = hub_motion(data, findings)
    held = without_hub(data, hub)
    free, shapes = curves_through(data), curves_through(held)
    section, own = by_section(span, shapes), by_file(held, shapes)
    sources: list[tuple[str, Path, Integrals]] = [(SECTION, (), section)]
    if own is not None:
        sources.append((FILE, ("node_mass",), own))
    check_totals(findings, sources, data.stated, span.length)
    whole, mass = by_section(span, free).modal_mass, data.mass
    stiffness, damping = complete_matrices(data, whole, every)
    if mass is not None and moved:
        free_own = by_file(data, free)
        mass = mass - (whole - section.modal_mass if own is None or free_own is None
                       else free_own.modal_mass - own.modal_mass)  # fmt: skip
    if _has_mass(findings, section.modal_mass if mass is None else mass, given=mass is not None):
        _compare_mass(findings, mass, sources)
        path = ("frequencies" if given.stiffness is None else "K",)
        modal = section.modal_mass if mass is None else mass
        check_frequencies(findings, path, stiffness, modal, damping)
        check_stiffness(findings, path, stiffness, own_stiffness(shapes, span, POINTS))
    return replace(shapes, stiffness=stiffness, mass=mass, damping=damping)


def sampled(shapes: Shapes, x: Array, mass: Array, inertia: Array) -> Integrals:
    """Integrate shapes over masses (p,) with rotary inertia (p, 3, 3) at places on the x axis."""
    return ModalData(
        name="", names=shapes.names, nodes=np.stack([x, 0 * x, 0 * x], axis=1), node_mass=mass,
        node_inertia=inertia, shapes=shapes.displacement(x).transpose(2, 0, 1),
        rotations=shapes.rotation(x).transpose(2, 0, 1),
    ).integrals()  # fmt: skip


def section_masses(span: Span, edges: Array) -> tuple[Array, Array, Array]:
    """Return places (p,), masses (p,) and rotary inertia (p, 3, 3) that stand for a span."""
    x, weight = span.quadrature(POINTS, edges)
    inertia = np.zeros((len(x), 3, 3))
    for axis, name in enumerate(("Jx", "Jy", "Jz")):
        if span.has(name):
            inertia[:, axis, axis] = weight * span.at(name, x)
    return x, weight * span.at("mass_per_length", x), inertia


def by_section(span: Span, shapes: Shapes) -> Integrals:
    """Integrate shapes over the section of their span."""
    return sampled(shapes, *section_masses(span, shapes.edges))


def by_file(data: ModalData, shapes: Shapes) -> Integrals | None:
    """Integrate shapes over the masses of their file; None where it has none."""
    if data.node_mass is None or not data.per_length:
        return None if data.node_mass is None else data.integrals()
    node, weight = gauss_points(4)  # exact for a cubic squared times a line
    x, share = data.nodes[:, 0], np.stack([(1 - node) / 2, (1 + node) / 2])

    def between(values: Array) -> Array:
        pairs = np.stack([values[:-1], values[1:]])
        mixed = np.einsum("kg,kp...->pg...", share, pairs)
        return np.asarray(mixed.reshape(-1, *values.shape[1:]))

    weights = (np.diff(x)[:, None] / 2 * weight).ravel()
    inertia = np.zeros((len(x), 3, 3)) if data.node_inertia is None else data.node_inertia
    return sampled(
        shapes, between(x), weights * between(data.node_mass),
        weights[:, None, None] * between(inertia),
    )  # fmt: skip


def _has_mass(findings: Findings, modal: Array, *, given: bool) -> bool:
    """Refuse a modal mass, the root at rest, that is not positive definite."""
    if np.all(np.diag(modal) > LEAST_MASS) and least_eigenvalue(modal) > DEFINITE_TOLERANCE:
        return True
    why = "when integrated: are shapes alike, or is inertia missing?"
    if given:
        why = "with the root's motion taken out: do the masses belong to M?"
    findings.refuse(("M",), f"is not positive definite {why}")
    return False


def _compare_mass(
    findings: Findings, mass: Array | None, sources: list[tuple[str, Path, Integrals]]
) -> None:
    """Compare the modal mass with masses and shapes, and with the rigid motions of both."""
    if mass is None:
        findings.fact("modal mass", "M is not given: integrated over the section")
        return
    for source, _, integrals in reversed(sources):
        least = check_modal_mass(findings, mass, integrals, source)
        findings.fact("rigid-body consistency", f"smallest eigenvalue {least:.3g} with {source}")
        message = (
            f"makes with {source} a mass matrix of rigid motions and shapes that has a negative "
            f"eigenvalue, {least:.3g}"
        )
        if least < -DEFINITE_TOLERANCE and source == SECTION:  # which dynamics join with M
            findings.refuse(("M",), f"{message}: leave M out, so that the section is integrated")
        elif least < -DEFINITE_TOLERANCE:
            findings.note(("M",), f"{message}: was it made with other masses?")
