"""What exact links must do, as numbers: differences from rods and rotating beams.

Each takes what makes an equation of motion from a model, `steady.of_library` among others, and
returns the largest difference.
"""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from flexarm.io.model_file import loads
from flexarm.model import Model, build
from tests.physics.placement import Array
from tests.physics.rods import Rod, RotatingBeam, elastica
from tests.physics.steady import Motion, equilibrium, frequencies

NONE = np.zeros(0)
Maker: TypeAlias = Callable[[Model], Motion]
HEAVY = RotatingBeam(length=7.11, density=314.88 / 7.11, EI=3.8e6, EA=2.84e7)
STIFF = RotatingBeam(length=7.11, density=314.88 / 7.11, EI=3.8e6, EA=2.84e10)
YOO_SHIN = RotatingBeam(length=1.0, density=1.0, EI=1.0, EA=70.0**2)


def link(joint: str, length: float, section: str, shapes: str, more: str = "") -> str:
    """Text of a flexible link."""
    return (
        f"{{joint: {{kind: {joint}}}, length: {length}, section: {{{section}}},"
        f" shapes: {{{shapes}}}{more}}}"
    )


def arm(*links: str, gravity: str = "[0, 0, 0]", more: str = "") -> Model:
    """Build a model from its links."""
    listed = "\n".join(f"  - {text}" for text in links)
    return build(loads(f"flexarm: 1\nname: c\ngravity: {gravity}\n{more}\nlinks:\n{listed}\n"))


def cantilever(push: str, count: int) -> Model:
    """A planar cantilever of unit length and stiffness with a wrench at its tip."""
    shapes = f"kind: polynomials, bending_y: {count}"
    wrench = f", wrenches: [{{{push}}}]"
    return arm(link("fixed", 1.0, "mass_per_length: 1, EIz: 1", shapes, wrench))


def rod_arm(rod: Rod, force: Array, offset: Array, count: int) -> Model:
    """A rod with a rigid piece at its tip that ends where a dead force acts."""
    section = f"mass_per_length: 1, EIz: {rod.EIz}, EIy: {rod.EIy}, GJ: {rod.GJ}, Jx: 0.1"
    shapes = f"kind: polynomials, bending_y: {count}, bending_z: {count}, torsion: {count}"
    if np.isfinite(rod.EA):
        section, shapes = f"{section}, EA: {rod.EA}", f"{shapes}, stretch: {count}"
    if np.isfinite(rod.GA[0]):
        section = f"{section}, GAy: {rod.GA[0]}, GAz: {rod.GA[1]}"
    before = (offset - [0.1, 0, 0]).tolist()
    pusher = (
        f"{{joint: {{kind: fixed, before: {{position: {before}}}}}, length: 0.1,"
        f" body: {{mass: 1}}, wrenches: [{{force: {force.tolist()}}}]}}"
    )
    return arm(link("fixed", rod.length, section, shapes), pusher)


def rotor(beam: RotatingBeam, bending: int, stretch: int) -> Model:
    """A beam on a joint about z."""
    section = f"mass_per_length: {beam.density}, EIz: {beam.EI}, EA: {beam.EA}"
    shapes = f"kind: polynomials, bending_y: {bending}, stretch: {stretch}"
    return arm(link("revolute", beam.length, section, shapes))


def tip_at_rest(motion: Motion) -> tuple[Array, Array]:
    """Tip of an arm of fixed joints under its wrenches."""
    return motion.tip(equilibrium(motion, np.zeros(motion.model.size), np.ones(1)))


def rotating_frequencies(motion: Motion, speed: float) -> Array:
    """Frequencies of a beam that its joint turns at a speed, about its stretched state."""
    v = np.zeros(motion.model.size)
    v[0] = speed
    return frequencies(motion, equilibrium(motion, v, NONE), v, NONE)


def elastica_error(make: Maker, load: float, count: int) -> float:
    """Tip of a cantilever with ``count`` polynomials under P L^2 / EI, by its length."""
    position = tip_at_rest(make(cantilever(f"force: [0, {load}, 0]", count)))[1]
    across, along = elastica(load)
    return float(np.abs(position - [1 - along, across, 0]).max())


def arc_error(make: Maker, moment: float, count: int) -> float:
    """Tip of a cantilever under a moment M L / EI, which bends it to an arc of a circle."""
    position = tip_at_rest(make(cantilever(f"torque: [0, 0, {moment}]", count)))[1]
    arc = [np.sin(moment) / moment, (1 - np.cos(moment)) / moment, 0]
    return float(np.abs(position - arc).max())


def rod_error(make: Maker, rod: Rod, force: Array, offset: Array, count: int) -> float:
    """Tip of a rod under a dead force beside it: position by length and entries of rotation."""
    rotation, position = tip_at_rest(make(rod_arm(rod, force, offset, count)))
    turned, moved = rod.held(force, offset)
    away = np.abs(position - moved - turned @ offset).max() / rod.length
    return float(max(away, np.abs(rotation - turned).max()))


def rotation_error(
    make: Maker, beam: RotatingBeam, speed: float, bending: int, stretch: int
) -> float:
    """Largest relative difference of the two lowest frequencies of a rotating beam."""
    found = rotating_frequencies(make(rotor(beam, bending, stretch)), speed)[:2]
    return float(np.abs(found / beam.frequencies(speed)[:2] - 1).max())
