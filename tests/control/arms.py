"""Arms that laws are tested on."""

from flexarm.arm import Arm
from flexarm.io.model_file import loads


def two_links(*, gravity: float = 0.0, modes: int = 1, damping: float = 0.0) -> Arm:
    """Make a planar arm of two flexible links without stiffening, bent, at rest."""
    lines = [f"flexarm: 1\nname: two links\ngravity: [0, {gravity}, 0]\nstiffening: false\nlinks:"]
    for start in (0.4, 0.8):
        lines.append(
            "  - joint:\n"
            "      kind: revolute\n"
            "      hub: {outboard: {mass: 0.5, inertia: [0, 0, 0.1]}}\n"
            f"      start: {{position: {start}}}\n"
            "    length: 0.6\n"
            "    section: {mass_per_length: 1, EIz: 60}\n"
            f"    damping: {damping}\n"
            f"    shapes: {{kind: clamped-free, bending_y: {modes}}}"
        )
    return loads("\n".join([*lines, "payload: {mass: 0.3}"]))


def one_link(*, damping: float = 0.0, modes: int = 1, gravity: float = 0.0) -> Arm:
    """Make a link on a hub, without stiffening: deflections are linear."""
    return loads(
        f"flexarm: 1\nname: link\ngravity: [0, {gravity}, 0]\nstiffening: false\nlinks:\n"
        "  - joint: {kind: revolute, hub: {outboard: {inertia: [0, 0, 0.1]}}}\n"
        "    length: 1\n"
        f"    damping: {damping}\n"
        "    section: {mass_per_length: 1, EIz: 10}\n"
        f"    shapes: {{kind: clamped-free, bending_y: {modes}}}"
    )


def elastic_joint(*, gravity: float = 0.0) -> Arm:
    """Make a rigid link of 1 kg m^2 behind a spring of 100 N m/rad and a rotor of 1 kg m^2."""
    return loads(
        f"flexarm: 1\nname: elastic joint\ngravity: [0, {gravity}, 0]\nlinks:\n"
        "  - joint: {kind: revolute, drive: {rotor_inertia: 1, stiffness: 100}}\n"
        "    length: 1\n"
        "    body: {mass: 0.5, com: [1, 0, 0], inertia: [0, 0, 0.5]}"
    )
