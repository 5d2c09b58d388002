"""Validation of single links: eigenvalues at rest and in rotation."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

import validation_data as data
from flexarm import build, equilibrium, modes
from flexarm.arm import Arm, Section
from flexarm.io.model_file import loads
from flexarm.links.base import Span
from flexarm.links.basis import MOTIONS
from flexarm.links.beams.finite import Conditions
from flexarm.links.beams.finite import modes as span_modes
from flexarm.mechanics.deformed import tip_deflection
from validation_data import Printed, Row

ROUNDING_WHY = "the last of twelve digits is rounding"
ROTATING_WHY = (
    "the faster a link rotates, the more slowly the modes of the link at rest converge; "
    "polynomials converge at any speed"
)
MESH_WHY = (
    "printed numbers are truncated, not rounded, and the first with 3 elements should be 208.66, "
    "as elements assembled by hand confirm"
)
SPAN = Span.of(Section.model_validate({"mass_per_length": 1, "EIz": 1}), 1.0)
SPUN = 14  # polynomials
SPUN_HOW = f"arm, {SPUN} polynomials"


def link(
    joint: str = "kind: fixed", section: str = "EIz: 1", shapes: str = "", more: str = ""
) -> Arm:
    """Make a link of unit length and mass per length."""
    return loads(
        f"flexarm: 1\nname: link\ngravity: [0, 0, 0]\n{more}\nlinks:\n"
        f"  - joint: {{{joint}}}\n    length: 1\n    section: {{mass_per_length: 1, {section}}}\n"
        f"    shapes: {{{shapes}}}\n"
    )


def frequencies(arm: Arm, count: int, **state: Any) -> tuple[float, ...]:
    """List the first elastic frequencies [rad/s]."""
    return tuple(mode.frequency_rad_s for mode in modes(arm, **state).elastic()[:count])


def eigenvalues() -> Iterator[Row]:
    """Compare beams on all kinds of ends: as a span that shapes are made of, and as an arm."""
    for case, numbers in data.EIGENVALUES.items():
        printed = Printed(data.DETERMINANT, numbers)
        word, _, ratios = case.partition(" ")
        given = {k: float(v) for k, v in (each.split("=") for each in ratios.split())}
        count = len(printed.texts)
        if word not in ("spring", "rotor"):
            elastic = span_modes(SPAN, MOTIONS["y"], _ends(word, given), count)
            yield Row(case, printed, tuple(np.sqrt(elastic.frequencies).tolist()), "span, elements")
        if word != "free-free":
            arm, how = _arm(word, given)
            found = tuple(math.sqrt(x) for x in frequencies(arm, count, joints="free"))
            why = ROUNDING_WHY if word in ("spring", "rotor") else ""
            yield Row(case, printed, found, how, why)


def rolled_up() -> Iterator[Row]:
    """Compare cantilevers that a moment at the tip rolls up once and twice."""
    for turns, spans in ((1, 4), (2, 8)):
        arm = loads(
            "flexarm: 1\nname: roll\ngravity: [0, 0, 0]\nlinks:\n"
            f"  - joint: {{kind: fixed}}\n    length: 10\n    spans: {spans}\n"
            "    section: {mass_per_length: 1, EIz: 1000}\n"
            "    shapes: {kind: polynomials, bending_y: 2}\n"
            f"    wrenches: [{{at: tip, torque: [0, 0, {math.tau * 100 * turns}]}}]\n"
        )
        still = equilibrium(build(arm))
        (link,) = still.model.whole_links
        tip = tip_deflection(still.model, link, still.q[None])[0]
        yield Row(
            f"roll-up {turns}, displacement of the tip [m]",
            Printed(data.CIRCLE, "-10.0000000 0.0000000"),
            tuple(tip[:2].tolist()),
            f"{spans} spans of 2 polynomials",
        )


def _ends(word: str, given: Mapping[str, float]) -> Conditions:
    if word == "free-free":
        return Conditions("free-free")
    if word in ("clamped-free", "tip"):
        return Conditions(tip_mass=given.get("M", 0.0), tip_inertia=given.get("J", 0.0))
    return Conditions("pinned-free", hub=given.get("Jh", 0.0))


def _arm(word: str, given: Mapping[str, float]) -> tuple[Arm, str]:
    free = "kind: loaded, root: free, bending_y: 5"
    rich = "kind: polynomials, bending_y: 16"
    if word in ("clamped-free", "tip"):
        body = f"payload: {{mass: {given.get('M', 0)}, inertia: [0, 0, {given.get('J', 0)}]}}"
        return link(shapes="kind: loaded, bending_y: 5", more=body), "arm, 5 loaded modes"
    if word == "spring":
        joint = f"kind: revolute, actuation: free, spring: {{stiffness: {given['kap']}}}"
        return link(joint, shapes=rich), "arm, 16 polynomials"
    if word == "rotor":
        drive = f"{{rotor_inertia: {given['jm']}, stiffness: {given['kap']}}}"
        joint = f"kind: revolute, drive: {drive}"
        return link(joint, shapes=rich), "arm, 16 polynomials"
    hub = f"kind: revolute, hub: {{outboard: {{inertia: [0, 0, {given.get('Jh', 0)}]}}}}"
    return link(hub, shapes=free), "arm, 5 loaded modes"


def rods() -> Iterator[Row]:
    """Compare stretch and torsion, with and without a tip body."""
    for ratio, numbers in data.RODS.items():
        printed = Printed(data.DETERMINANT, numbers)
        for name, section, shapes, body in (
            ("stretch", "EA: 1", "stretch: 3", f"mass: {ratio}"),
            ("torsion", "GJ: 1, Jx: 1", "torsion: 3", f"inertia: [{ratio}, 0, 0]"),
        ):
            arm = link(
                section=section, shapes=f"kind: loaded, {shapes}", more=f"payload: {{{body}}}"
            )
            case = f"rod in {name}, tip ratio {ratio:g}"
            yield Row(case, printed, frequencies(arm, 3), "arm, 3 loaded modes")


def meshes() -> Iterator[Row]:
    """Compare Hermite elements, by number, and Table 1 of Theodore & Ghosal."""
    for count, numbers in data.MESHES.items():
        printed = Printed(data.ELEMENTS, numbers)
        arm = link(shapes=f"kind: elements, bending_y: {count}")
        found = frequencies(arm, len(printed.texts))
        yield Row(f"{count} elements, omega T", printed, found, f"arm, {count} elements")
    scale = math.sqrt(1165.4916 / 0.331)
    exact = frequencies(link(shapes="kind: loaded, bending_y: 5"), 5)
    yield Row("Table 1, exact [rad/s]", Printed(data.TG, data.TG_EXACT),
              tuple(scale * x for x in exact), "arm, 5 loaded modes")  # fmt: skip
    for count, numbers in data.TG_MESHES.items():
        printed = Printed(data.TG, numbers)
        found = frequencies(link(shapes=f"kind: elements, bending_y: {count}"), len(printed.texts))
        ours = tuple(scale * x for x in found)
        how = f"arm, {count} elements"
        yield Row(f"Table 1, {count} elements [rad/s]", printed, ours, how, MESH_WHY)


def spun(plane: str, hub: float = 0.0, *, modes_held: int | None = None, more: str = "") -> Arm:
    """Make a link that turns about z, its root at a radius, which bends in or across the plane."""
    stiff = {"y": "EIz: 1", "z": "EIy: 1"}[plane]
    joint = f"kind: revolute, after: {{position: [{hub}, 0, 0]}}"
    shapes = f"kind: polynomials, bending_{plane}: {SPUN}"
    if modes_held is not None:
        shapes = f"kind: loaded, root: held, bending_{plane}: {modes_held}, static: true"
    return link(joint, stiff, shapes, more)


def rotating() -> Iterator[Row]:
    """Compare links in rotation."""
    for plane, hub in sorted({(plane, hub) for plane, _, hub in data.ROTATING}):
        model = build(spun(plane, hub))
        found = [modes(model, speeds={"joint1": float(s)}).modes[:2] for s in data.SPEEDS]
        for number in (1, 2):
            if (plane, number, hub) not in data.ROTATING:
                continue
            printed = Printed(data.RITZ, data.ROTATING[plane, number, hub])
            ours = tuple(pair[number - 1].frequency_rad_s for pair in found)
            name = {"z": "flap", "y": "lag"}[plane]
            case = f"{name} {number}, hub {hub}, speeds 0, 2 to 12"
            yield Row(case, printed, ours, SPUN_HOW)


def rotating_more() -> Iterator[Row]:
    """Compare fewer shapes, tip masses, links without stiffening, links that stretch."""
    fastest = data.ROTATING["y", 1, 0].split()[-1]
    for count in (4, 8):
        found = modes(spun("y", modes_held=count), speeds={"joint1": float(data.SPEEDS[-1])}).modes[
            0
        ]
        yield Row("lag 1, hub 0, speed 12 again", Printed(data.RITZ, fastest),
                  (found.frequency_rad_s,), f"arm, {count} loaded modes, static shapes",
                  ROTATING_WHY)  # fmt: skip
    for plane, numbers in data.TIP_MASS.items():
        model = build(spun(plane, more="payload: {mass: 1}"))
        ours = tuple(
            modes(model, speeds={"joint1": float(s)}).modes[0].frequency_rad_s
            for s in data.TIP_MASS_SPEEDS
        )
        case = f"{'flap' if plane == 'z' else 'lag'} 1, tip mass 1, speeds 2, 6, 12"
        yield Row(case, Printed(data.RITZ, numbers), ours, SPUN_HOW)
    soft = build(spun("y", 1.0, modes_held=4, more="stiffening: false"))
    yield Row("critical speed without stiffening, hub 1", Printed(data.DETERMINANT, data.CRITICAL),
              (_critical(soft),), "arm, 4 loaded modes, static shapes, bisection")  # fmt: skip
    stretching = link(
        "kind: revolute",
        "EIz: 1, EA: 4900",
        "kind: polynomials, bending_y: 10, stretch: 10",
    )
    for speed, number in data.STRETCHING.items():
        found = modes(stretching, speeds={"joint1": float(speed)}, straight=True).modes[0]
        how = "arm, 10 polynomials each, unstretched"
        yield Row(f"stretch and lag coupled, speed {speed}", Printed(data.RITZ, number),
                  (found.frequency_rad_s,), how)  # fmt: skip
    for speed, number in data.STRETCHED.items():
        found = modes(stretching, speeds={"joint1": float(speed)}).modes[0]
        yield Row(f"the same about the stretched link, speed {speed}",
                  Printed(data.EXACT_STRETCHED, number), (found.frequency_rad_s,),
                  "arm, 10 polynomials each")  # fmt: skip


def _critical(model: Any) -> float:
    """Find the speed at which the first mode stops to vibrate."""
    low, high = 3.0, 4.0
    for _ in range(40):
        middle = (low + high) / 2
        kind = modes(model, speeds={"joint1": middle}).modes[0].kind
        low, high = (middle, high) if kind == "vibration" else (low, middle)
    return float(np.mean([low, high]))
