"""Largest slopes, strains and shortenings in a motion, compared with validity limits."""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from flexarm.accuracy.constants import (
    LINEAR_SLOPE,
    QUARTIC_SHARE,
    SERIES_SLOPE,
    SHORTENING,
    STIFFENED_SLOPE,
    YIELD_STRAIN,
)
from flexarm.links.base import Direction
from flexarm.links.basis import product_points
from flexarm.links.integrals import shortening
from flexarm.mechanics.bodies import LinkBody, body_of
from flexarm.mechanics.bodies.deformed import Deformed
from flexarm.mechanics.constants import STEEPEST_SLOPE
from flexarm.mechanics.deformed import blocks, deformed, fibre_strain, flexible_links
from flexarm.mechanics.loads import input_limits, input_names
from flexarm.model import LinkModel, Model
from flexarm.spatial import Array


@dataclass(frozen=True)
class LinkValidity:
    """Largest slope, strain, shortening and nonlinear energy of one link in a run.

    Attributes
    ----------
    link
        Name of the link.
    slope, time
        Largest slope of the link's axis relative to the root, and the time at which it occurs [s].
    strain
        Largest strain of a fibre along the link, from the section's outline or EA; None if neither
        is given.
    strain_of
        Line along which the strain is measured, always ``fibre``.
    shortening
        Largest shortening of the link's axis by bending, relative to the link's length.
    quartic_share
        Largest fraction of the elastic energy that linear theory does not include.
    """

    link: str
    slope: float
    time: float
    strain: float | None
    strain_of: Literal["fibre"]
    shortening: float
    quartic_share: float


@dataclass(frozen=True)
class Validity:
    """Largest slope, strain, shortening and nonlinear energy of any link in a run.

    Attributes
    ----------
    slope, strain, shortening, quartic_share
        Largest values of all flexible links; the strain is None if it is unknown for all links.
    links
        Largest values of each flexible link.
    warnings
        Warnings of exceeded limits, one sentence per link and per input.
    """

    slope: float
    strain: float | None
    shortening: float
    quartic_share: float
    links: tuple[LinkValidity, ...]
    warnings: tuple[str, ...]


def validity(model: Model, t: Array, q: Array, u: Array | None = None) -> Validity:
    """Compute the largest slopes and strains of a motion, with warnings of exceeded limits.

    The motion is given by times t (T,), coordinates q (T, n) and inputs u (T, k).
    """
    has_limits = any(axis.acts.limits is not None for axis in model.axes)
    links = tuple(_of_link(model, part, t, q) for part in flexible_links(model))
    slope = max((link.slope for link in links), default=0.0)
    strains = [link.strain for link in links if link.strain is not None]
    return Validity(
        slope=slope,
        strain=max(strains, default=None),
        shortening=max((link.shortening for link in links), default=0.0),
        quartic_share=max((link.quartic_share for link in links), default=0.0),
        links=links,
        warnings=(
            *(
                text
                for link, part in zip(links, flexible_links(model), strict=True)
                if (text := _warning(link, part, stiffening=model.stiffening))
            ),
            *(_overdriven(model, t, u) if u is not None and has_limits else ()),
        ),
    )


def _overdriven(model: Model, t: Array, u: Array) -> list[str]:
    """Return warnings of inputs that exceed the limits of the model file."""
    sentences = []
    for name, limit, row in zip(input_names(model), input_limits(model), np.abs(u).T, strict=True):
        if np.any(exceeded := row > limit * (1 + 1e-9)):
            sentences.append(
                f"{name}: input {row.max():.4g} exceeds the limit {limit:.4g} of its "
                f"limits.effort, first at {t[np.argmax(exceeded)]:.4g} s. Runs do not clip "
                "inputs. Use a smaller input, or clip a law by flexarm.control.limited_law."
            )
    return sentences


def _warning(link: LinkValidity, part: LinkModel, *, stiffening: bool) -> str:
    """Return a warning of the validity limits that a link exceeds; '' if it exceeds none."""
    exact = part.exact is not None
    if not part.body.sectioned:
        return _body_warning(link, stiff=stiffening and part.body.stiffens)
    limits = [("strain", link.strain or 0.0, YIELD_STRAIN)]
    if exact:
        limits.insert(0, ("slope", link.slope, STEEPEST_SLOPE))
    else:
        limits = [
            ("slope", link.slope, SERIES_SLOPE if stiffening else LINEAR_SLOPE),
            ("shortening over length", link.shortening, SHORTENING),
            ("quartic share of the energy", link.quartic_share, QUARTIC_SHARE),
            *limits,
        ]
    exceeded = {name: f"{name} {value:.2g} > {limit:.2g}" for name, value, limit in limits
              if value > limit}  # fmt: skip
    remedies = ["Few materials stay linear at such a strain."] if "strain" in exceeded else []
    if exceeded.keys() - {"strain"}:
        if exact:
            remedy = "Rotations are near gimbal lock. Give the link more spans."
        elif not stiffening:
            remedy = "Linear theory leaves out geometric stiffening. Switch stiffening on."
        else:
            remedy = "Higher orders in the deflections are left out. Split the link in two."
        remedies.insert(0, remedy)
    if not exceeded:
        return ""
    return f"{link.link}: {', '.join(exceeded.values())}. {' '.join(remedies)}"


def _body_warning(link: LinkValidity, *, stiff: bool) -> str:
    """Return a warning of the limits that a general flexible body exceeds; '' for none.

    The argument ``stiff`` tells whether loads stiffen the body.
    """
    sentences = []
    if stiff and link.slope > STIFFENED_SLOPE:
        sentences.append(
            f"its tip turns by {link.slope:.2g} > {STIFFENED_SLOPE:.2g} rad. K_sigma and K_u are "
            "valid to first order in loads. Split it into several bodies, or model it as beams."
        )
    elif not stiff and link.slope > LINEAR_SLOPE:
        sentences.append(
            f"its tip turns by {link.slope:.2g} > {LINEAR_SLOPE:.2g} rad, too far for linear "
            "theory. Split it into several bodies, or model it as beams."
        )
    if (link.strain or 0.0) > YIELD_STRAIN:
        sentences.append(
            f"strain {link.strain:.2g} > {YIELD_STRAIN:.2g}. Few materials stay linear there."
        )
    return f"{link.link}: {' '.join(sentences)}" if sentences else ""


def _of_link(model: Model, part: LinkModel, t: Array, q: Array) -> LinkValidity:
    """Return the largest slope, strain, shortening and nonlinear energy of a link."""
    if not part.body.sectioned:
        return _of_body(body_of(model, part), t, q)
    link = deformed(model, part, q[:1])
    fractions, weights = (np.pad(item, 1) for item in product_points(link.shapes, link.beam.span))
    fractions[-1] = link.beam.span.length
    results = [
        _block(model, part, q[rows], fractions, weights) for rows in blocks(len(t), len(fractions))
    ]
    slopes = np.concatenate([result[0] for result in results])
    strain, shortening_, quartic_share = np.max([result[1:] for result in results], axis=0).tolist()
    k = int(np.argmax(slopes))
    slope = float(slopes[k])
    return LinkValidity(
        part.name, slope, float(t[k]), None if math.isnan(strain) else strain, "fibre", shortening_,
        quartic_share,
    )  # fmt: skip


def _of_body(body: LinkBody, t: Array, q: Array) -> LinkValidity:
    """Return the largest tip rotation (as the slope) and strain of a general flexible body."""
    angles, part = body.tip_angles(q), body.part
    k = int(np.argmax(angles))
    slope = float(angles[k])
    strain = float(body.largest_strain(q).max())
    known_strain = None if math.isnan(strain) else strain
    return LinkValidity(part.name, slope, float(t[k]), known_strain, "fibre", 0.0, 0.0)


def _block(
    model: Model, part: LinkModel, q: Array, fractions: Array, weights: Array
) -> tuple[Array, float, float, float]:
    """Return slopes (T,), and largest strain, shortening and nonlinear energy, at T samples."""
    link = deformed(model, part, q)
    length = link.scale * link.beam.span.length
    slopes_yz = link.values("y", fractions, 1), link.values("z", fractions, 1)
    slopes = np.hypot(*slopes_yz).max(axis=1)
    curvatures = link.curvatures(fractions, stiffening=model.stiffening)
    strains = fibre_strain(part.link.section, link, fractions, curvatures)
    if link.beam.nodes is not None:
        shortenings = (
            ((1 - np.cos(np.hypot(*slopes_yz))) * weights).sum(axis=1) * link.scale / length
        )
    else:
        tip = shortening(link.shapes, np.array([link.beam.span.length]), link.shapes.edges)[0]
        shortenings = np.einsum("ij,ti,tj->t", tip, link.amplitudes, link.amplitudes, optimize=True)
        shortenings = shortenings / (2 * link.scale * length)
    quadratic, quartic = _energies(link, fractions, weights)
    quartic_share = quartic / np.maximum(quadratic + quartic, 1e-300)
    return slopes, float(strains.max()), float(shortenings.max()), float(quartic_share.max())


def _energies(link: Deformed, fractions: Array, weights: Array) -> tuple[Array, Array]:
    """Return the elastic energy of linear theory, and that of nonlinear terms [J], (T,) each."""
    area = weights * link.scale[:, None]
    y, z = link.curvatures(fractions, stiffening=True)
    torsion = (
        link.values("twist", fractions, 1)
        if link.beam.nodes is None
        else link.strains(fractions)[2]
    )
    rows: tuple[tuple[str, Direction, int, Array], ...] = (
        ("EIz", "y", 2, y), ("EIy", "z", 2, z), ("GJ", "twist", 1, torsion),
        ("EA", "x", 1, link.values("x", fractions, 1)),
    )  # fmt: skip
    linear_energy, remainder = np.zeros(len(area)), np.zeros(len(area))
    for name, direction, nu, strain in rows:
        if link.beam.span.has(name) and link.shapes.moving(direction):
            stiffness = area * link.section(name, fractions) / 2
            linear_strain = link.values(direction, fractions, nu)
            linear_energy += (stiffness * linear_strain**2).sum(axis=1)
            # energy of the series up to fourth order
            factor = 2 * linear_strain if link.beam.nodes is None else strain + linear_strain
            remainder += (stiffness * (strain - linear_strain) * factor).sum(axis=1)
    return link.linear_energy(linear_energy), np.abs(remainder)
