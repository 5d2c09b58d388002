"""Arms on which integrators are measured: those of the comparison that chose them."""

from flexarm.arm import Arm
from flexarm.io.model_file import loads


def two_links(
    stiffness: float,
    modes: int,
    *,
    section: str = "",
    shapes: str = "",
    damping: float = 0.0,
    inputs: tuple[str, str] = ("", ""),
    gravity: float = -9.81,
) -> Arm:
    """Make a planar arm of two links, each 1 m long and of 5 kg."""
    lines = [f"flexarm: 1\nname: two links\ngravity: [0, {gravity}, 0]\nlinks:"]
    for given in inputs:
        lines.append(
            f"  - joint: {{kind: revolute{given}}}\n    length: 1\n"
            f"    section: {{mass_per_length: 5, EIz: {stiffness}{section}}}\n"
            f"    damping: {damping}\n"
            f"    shapes: {{kind: loaded, bending_y: {modes}{shapes}}}"
        )
    return loads("\n".join(lines))


def fall(modes: int = 1) -> Arm:
    """Make the arm that falls from rest."""
    return two_links(1000, modes)


def rigid_fall() -> Arm:
    """Make two rigid links that swing fast: their forces depend on the motion alone."""
    link = (
        "  - joint: {{kind: revolute, start: {{position: {}, speed: {}}}}}\n    length: 1\n"
        "    section: {{mass_per_length: 5}}\n    rigid: true\n"
    )
    links = link.format(0.3, 1.0) + link.format(0.5, -3.0)
    return loads(f"flexarm: 1\nname: rigid links\ngravity: [0, -9.81, 0]\nlinks:\n{links}")


def fall_with_stretch(modes: int = 1, damping: float = 0.0) -> Arm:
    """Make the arm that falls from rest and has a stretch mode in each link."""
    return two_links(1000, modes, section=", EA: 1.2e8", shapes=", stretch: 1", damping=damping)


def slow(modes: int = 1) -> Arm:
    """Make a stiff damped arm that is driven slowly."""
    inputs = tuple(
        f", input: {{kind: sine, amplitude: {size}, frequency: 0.5}}" for size in (20, 5)
    )
    return two_links(1e5, modes, damping=0.01, inputs=(inputs[0], inputs[1]), gravity=0)


def stepped(modes: int = 1) -> Arm:
    """Make the same arm driven by torques that jump."""
    inputs = tuple(
        f", input: {{kind: bang-bang, amplitude: {size}, times: [0, 1, 2]}}" for size in (20, 5)
    )
    return two_links(1e5, modes, damping=0.01, inputs=(inputs[0], inputs[1]), gravity=0)


def hub(modes: int = 2) -> Arm:
    """Make a link on a hub, driven forth and back."""
    return loads(
        "flexarm: 1\nname: hub\ngravity: [0, 0, 0]\nlinks:\n"
        "  - joint: {kind: revolute, hub: {outboard: {mass: 0.1, inertia: [0, 0, 0.01]}},\n"
        "      input: {kind: bang-bang, amplitude: 0.2, times: [0, 1, 2]}}\n"
        "    length: 1\n    section: {mass_per_length: 0.2, EIz: 1}\n"
        f"    shapes: {{kind: clamped-free, bending_y: {modes}}}\n"
        "payload: {mass: 0.1}\n"
    )


def rubbed() -> Arm:
    """Make a link whose joint rubs, driven forth and back."""
    return loads(
        "flexarm: 1\nname: rubbed\ngravity: [0, 0, 0]\nlinks:\n"
        "  - joint: {kind: revolute, friction: {coulomb: 0.8, smoothing: 0.01},\n"
        "      hub: {outboard: {inertia: [0, 0, 0.1]}},\n"
        "      input: {kind: sine, amplitude: 2, frequency: 2}}\n"
        "    length: 1\n    section: {mass_per_length: 1, EIz: 50}\n    damping: 0.02\n"
        "    shapes: {kind: loaded, bending_y: 2}\n"
    )
