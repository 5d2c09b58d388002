"""Validation of whole arms: frequencies and static deflection."""

import math
from collections.abc import Iterator
from typing import Any

import validation_data as data
from flexarm import equilibrium, example_arm, modes
from flexarm.arm import Arm
from flexarm.io.model_file import change_arm, loads
from validation_data import Printed, Row

HELD = "{kind: loaded, root: held, bending_y: 8, static: true}"
FREE = "{kind: loaded, root: free, bending_y: 10, static: true}"
RICH = "8 loaded modes, root held, static shapes"
LOOSE = "10 loaded modes, root free, static shapes"
SHAPES_WHY = "with a few more shapes the last digits agree"
ROUND_WHY = "the reference is rounded up; the frequency equation gives 56.898465"
SAG_WHY = (
    "the calculation by hand is for a straight arm; here the booms sag, and the lever shortens"
)


def frequencies_of_arms() -> Iterator[Row]:
    """Compare the arms of the literature."""
    yield from _deluca()
    yield from _usoro()
    yield from _theodore()
    yield from _chen()
    yield from _links()


def hertz(arm: Arm, count: int, **state: Any) -> tuple[float, ...]:
    """List the first elastic frequencies [Hz]."""
    return tuple(mode.frequency_hz for mode in modes(arm, **state).elastic()[:count])


def planar(links: str, more: str = "") -> Arm:
    """Make an arm from the list of its links, without gravity."""
    return loads(f"flexarm: 1\nname: arm\ngravity: [0, 0, 0]\nlinks:\n{links}{more}")


HUB = "{outboard: {mass: 1, inertia: [0, 0, 0.1]}}"  # the elbow
PAYLOAD = "payload: {mass: 0.1, inertia: [0, 0, 5.0e-4]}\n"


def _deluca_link(hub: str, shapes: str) -> str:
    deforms = f"shapes: {shapes}" if shapes else "rigid: true"
    return (
        f"  - joint: {{kind: revolute, hub: {hub}}}\n    length: 0.5\n"
        f"    section: {{mass_per_length: 0.2, EIz: 1}}\n    {deforms}\n"
    )


def _deluca() -> Iterator[Row]:
    base = _deluca_link("{outboard: {inertia: [0, 0, 0.1]}}", HELD)
    carried = planar(base + _deluca_link(HUB, ""), PAYLOAD)
    for angle, numbers in data.DELUCA_LINK_1.items():
        ours = hertz(carried, 2, joints="locked", at={"joint2": math.radians(angle)})
        case = f"link 1 of De Luca & Siciliano, elbow at {angle} deg"
        yield Row(case, Printed(data.DELUCA, numbers), ours, f"{RICH}; link 2 rigid")
    ours = hertz(planar(_deluca_link(HUB, HELD), PAYLOAD), 2, joints="locked")
    yield Row("link 2 of De Luca & Siciliano", Printed(data.DELUCA, data.DELUCA_LINK_2), ours, RICH)
    both = planar(base + _deluca_link(HUB, HELD), PAYLOAD)
    for (joints, angle), numbers in data.DELUCA_ARM.items():
        ours = hertz(both, 4, joints=joints, at={"joint2": math.radians(angle)})
        case = f"De Luca & Siciliano, joints {joints}, elbow at {angle} deg"
        yield Row(case, Printed(data.ASSEMBLY, numbers), ours, RICH, SHAPES_WHY)


def _usoro() -> Iterator[Row]:
    link = (
        "  - joint: {kind: revolute}\n    length: 1\n"
        "    section: {mass_per_length: 5, EIz: 1000}\n    shapes: "
    )
    ours = hertz(planar(f"{link}{HELD}\n"), 3, joints="locked")
    yield Row("link of Usoro's arm", Printed(data.DETERMINANT, data.USORO_LINK), ours, RICH)
    for (joints, angle), numbers in data.USORO_ARM.items():
        shapes, how = (HELD, RICH) if joints == "locked" else (FREE, LOOSE)
        arm = planar(2 * f"{link}{shapes}\n")
        ours = hertz(arm, 3, joints=joints, at={"joint2": math.radians(angle)})
        case = f"Usoro's arm, joints {joints}, elbow at {angle} deg"
        yield Row(case, Printed(f"{data.ASSEMBLY}; {data.USORO}", numbers), ours, how, SHAPES_WHY)


def _theodore() -> Iterator[Row]:
    arm = planar(
        "  - joint: {kind: sliding, limits: {lower: 0.25, upper: 1.1}, start: {position: 0.3}}\n"
        "    length: 1.3\n    section: {mass_per_length: 0.331, EIy: 1165.4916}\n"
        "    shapes: {kind: clamped-mass, tip: auto, follow: true, bending_z: 2}\n",
        "payload: {mass: 0.0828}\n",
    )
    for length, numbers in data.TG_LINK_3.items():
        printed = Printed(f"{data.DETERMINANT}; {data.TG}", numbers)
        ours = hertz(arm, 2, at={"joint1": length})
        how = "2 clamped-mass modes that follow"
        yield Row(f"link 3 of the RRP arm, {length} m out", printed, ours, how)


def _chen() -> Iterator[Row]:
    link = example_arm("chen-rotating-link")
    ours = hertz(link, 3)
    yield Row("Chen's link", Printed(data.DETERMINANT, data.CHEN_LINK), ours,
              "3 clamped-free modes", ROUND_WHY)  # fmt: skip
    yield Row("the same, critical speed [rad/s]", Printed(data.CHEN, data.CHEN_CRITICAL),
              (2 * math.pi * ours[0],), "its first frequency")  # fmt: skip
    for case, jx, numbers in (
        ("inertia total", 15.41 / 7.11, data.CHEN_TORSION["total"]),
        ("inertia per metre", 15.41, data.CHEN_TORSION["per metre"]),
    ):
        arm = planar(
            "  - joint: {kind: fixed}\n    length: 7.11\n    shapes: {kind: loaded, torsion: 1}\n"
            f"    section: {{mass_per_length: 44.28691983, GJ: 1.93e6, Jx: {jx}}}\n"
        )
        found = (modes(arm).modes[0].frequency_rad_s,)
        printed = Printed(data.DETERMINANT, numbers)
        yield Row(f"Chen's link, torsion, {case} [rad/s]", printed, found, "1 loaded mode")
    shapes = {"kind": "craig-bampton", "bending_y": 1, "bending_z": 1, "torsion": 1, "stretch": 0}
    arm = change_arm(example_arm("chen-two-link-rigid-joints"), {"links.1.shapes": shapes})
    twist = abs(equilibrium(arm).deflections()["link1.twist1"])
    yield Row("Chen's arm, twist of link 1 [rad]", Printed("by hand", data.CHEN_TWIST), (twist,),
              "Craig-Bampton, `flexarm.equilibrium`", SAG_WHY)  # fmt: skip


def _links() -> Iterator[Row]:
    def strip(joint: str, length: float, section: str, shapes: str, more: str = "") -> Arm:
        return planar(
            f"  - joint: {{{joint}}}\n    length: {length}\n    section: {{{section}}}\n"
            f"    shapes: {{kind: loaded, {shapes}}}\n",
            more,
        )

    gu = f"mass_per_length: {2700 * 0.05 * 0.004}, EIz: {6.9e10 * 0.05 * 0.004**3 / 12}"
    ours = hertz(strip("kind: fixed", 1, gu, "bending_y: 2", "payload: {mass: 0.25}\n"), 2)
    yield Row("Gu's link with a tip mass", Printed(data.GU, data.GU_LINK), ours, "2 loaded modes")
    width, height = 19.008e-3, 3.2004e-3
    tokhi = f"mass_per_length: {2710 * width * height}, EIz: {71e9 * width * height**3 / 12}"
    hub = "kind: revolute, hub: {outboard: {inertia: [0, 0, 5.8598e-4]}}"
    ours = hertz(strip(hub, 0.9, tokhi, "root: free, bending_y: 3"), 3, joints="free")
    printed = Printed(data.TOKHI, data.TOKHI_HUB)
    yield Row("Tokhi's link on its hub", printed, ours, "3 loaded modes, root free")
    ours = hertz(strip("kind: fixed", 0.9, tokhi, "bending_y: 3"), 3)
    yield Row("Tokhi's link, clamped", Printed(data.TOKHI, data.TOKHI_CLAMPED), ours,
              "3 loaded modes")  # fmt: skip
    spong = planar(
        "  - joint: {kind: revolute, drive: {rotor_inertia: 1, stiffness: 100}}\n"
        "    body: {mass: 0, inertia: [0, 0, 1]}\n"
    )
    for joints, number in data.SPONG_JOINT.items():
        found = modes(spong, joints="free" if joints == "free" else "locked").elastic()[0]
        yield Row(f"elastic joint, rotor {joints} [rad/s]", Printed(data.SPONG, number),
                  (found.frequency_rad_s,), "exact")  # fmt: skip
