"""Arms whose frequencies are known."""

from flexarm.arm import Arm
from flexarm.io.model_file import loads

RICH = "{kind: loaded, root: held, bending_y: 5, static: true}"


def de_luca(shapes: str = RICH) -> Arm:
    """Make the two-link arm of De Luca & Siciliano 1991, elbow straight."""
    return loads(
        f"""flexarm: 1
name: De Luca & Siciliano
gravity: [0, 0, 0]
links:
  - joint: {{kind: revolute, hub: {{outboard: {{inertia: [0, 0, 0.1]}}}}}}
    length: 0.5
    section: {{mass_per_length: 0.2, EIz: 1}}
    shapes: {shapes}
  - joint: {{kind: revolute, hub: {{outboard: {{mass: 1, inertia: [0, 0, 0.1]}}}}}}
    length: 0.5
    section: {{mass_per_length: 0.2, EIz: 1}}
    shapes: {shapes}
payload: {{mass: 0.1, inertia: [0, 0, 5.0e-4]}}
"""
    )


def two_links(shapes: str = RICH, *, gravity: float = 0.0, more: str = "") -> Arm:
    """Make the two-link arm of Usoro, Nadira & Mahil 1986 and Korayem & Shafei 2009."""
    link = (
        "  - joint: {kind: revolute}\n    length: 1\n"
        f"    section: {{mass_per_length: 5, EIz: 1000}}\n    shapes: {shapes}\n{more}"
    )
    return loads(f"flexarm: 1\nname: two links\ngravity: [0, {gravity}, 0]\nlinks:\n{link}{link}")


def one_link(
    *,
    joint: str = "{kind: revolute}",
    length: float = 1.0,
    section: str = "mass_per_length: 1, EIz: 1",
    shapes: str = RICH,
    gravity: str = "[0, 0, 0]",
    stiffening: bool = True,
    rest: str = "",
) -> Arm:
    """Make a single link."""
    return loads(
        f"flexarm: 1\nname: one link\ngravity: {gravity}\nstiffening: {str(stiffening).lower()}\n"
        f"links:\n  - joint: {joint}\n    length: {length}\n    section: {{{section}}}\n"
        f"    shapes: {shapes}\n{rest}"
    )


def rotor(
    plane: str, *, hub: float = 0.0, count: int = 6, stiffening: bool = True, rest: str = ""
) -> Arm:
    """Make a link of unit mass per length, stiffness and length on a hub of a given radius."""
    stiff = {"y": "EIz", "z": "EIy"}[plane]
    after = f", after: {{position: [{hub}, 0, 0]}}" if hub else ""
    return one_link(
        joint=f"{{kind: revolute{after}}}",
        section=f"mass_per_length: 1, {stiff}: 1",
        shapes=f"{{kind: loaded, root: held, bending_{plane}: {count}, static: true}}",
        stiffening=stiffening,
        rest=rest,
    )
