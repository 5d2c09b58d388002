"""Links that slide out of their hubs as exact beams: the library against the continuum."""

from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest

from flexarm.model import build
from tests.physics.cases import campaign_if
from tests.physics.exact_checks import arm, link
from tests.physics.exact_convergence import bent_state
from tests.physics.placement import Array
from tests.physics.reference import Reference
from tests.physics.traced import Traced

TOLERANCE = 1e-9
# Beyond the shapes of a link, beyond those that follow the length of a tapered link, and in each
# element.
NODES, NODES_FOLLOWING, NODES_EACH = 16, 24, 8
SLOPES = (0.05, 0.5)
STATES = 2

SECTION = "mass_per_length: 1.1, EIz: 14, EIy: 9, GJ: 6, EA: 400, Jx: 0.05, Jy: 0.03, Jz: 0.02"
BODY = "{mass: 0.7, com: [0.1, -0.05, 0.08], inertia: [0.02, 0.03, 0.025, 0.002, -0.004, 0.003]}"
FRAME = "before: {position: [0.1, -0.2, 0.15], rotation: [0.4, -0.7, 1.1]}"
SLIDE = "sliding, start: {position: 0.6}, limits: {lower: 0.4}"
TURN = f"{{joint: {{kind: revolute}}, length: 0.3, body: {BODY}}}"
RIDER = f"{{joint: {{kind: revolute, axis: [0, 1, 0]}}, length: 0.4, body: {BODY}}}"
PAYLOAD = f"payload: {BODY}"
PLANE = "bending_y: 2, bending_z: 0, torsion: 0, stretch: 0"
SPACE = "bending_y: 1, bending_z: 1, torsion: 1, stretch: 0"
CARRIER = link("revolute, axis: [0, 1, 0]", 0.7, SECTION, f"kind: clamped-free, {SPACE}")
# Curvature, torsion and stretch jump where elements meet.
KINKS = "bending_y: 2, bending_z: 0, torsion: 2, stretch: 2"
FOLLOWING = "kind: clamped-mass, follow: true, normalise: mass"


# Every property changes along the beam, by other factors.
TAPERED = (
    "stations: ["
    f"{{at: 0, {SECTION}}}, "
    "{at: 1.3, mass_per_length: 0.4, EIz: 3, EIy: 4, GJ: 3, EA: 500, Jx: 0.02, Jy: 0.02, Jz: 0.01}]"
)


def slider(shapes: str, *, joint: str = SLIDE, section: str = SECTION, more: str = "") -> str:
    """Text of a beam that slides out."""
    return link(joint, 1.3, section, shapes, more)


@dataclass(frozen=True)
class Case:
    """Links of an arm, what else it has, and how many nodes its links take."""

    links: tuple[str, ...]
    more: str = ""
    nodes: int = NODES


ARMS = {
    "plane": Case((slider(f"kind: clamped-free, {PLANE}"),)),
    "plane, turned": Case((TURN, slider(f"kind: clamped-free, {PLANE}"), RIDER)),
    "plane, stretch": Case(
        (TURN, slider("kind: clamped-free, bending_y: 2, bending_z: 0, torsion: 0, stretch: 1"))
    ),
    "plane, polynomials, payload": Case(
        (TURN, slider(f"kind: polynomials, {PLANE}", section="mass_per_length: 1.1, EIz: 14")),
        PAYLOAD,
    ),
    "two planes": Case(
        (TURN, slider("kind: clamped-free, bending_y: 2, bending_z: 1, torsion: 0, stretch: 0")),
    ),
    "two planes, twist": Case((TURN, slider(f"kind: clamped-free, {SPACE}")), PAYLOAD),
    "every way, on a flexible link": Case(
        (
            CARRIER,
            slider(
                "kind: clamped-free, bending_y: 1, bending_z: 1, torsion: 1, stretch: 1",
                joint=f"{SLIDE}, {FRAME}, hub: {{inboard: {BODY}}}",
            ),
        )
    ),
    "twist in a plane, one bending stiffness": Case(
        (
            TURN,
            slider(
                "kind: clamped-free, bending_y: 1, bending_z: 0, torsion: 1, stretch: 0",
                section="mass_per_length: 1.1, EIz: 14, GJ: 6, Jx: 0.05",
            ),
        ),
        PAYLOAD,
    ),
    "elements": Case(
        (TURN, slider("kind: elements, bending_y: 2, bending_z: 0, torsion: 0, stretch: 0")),
        PAYLOAD,
        NODES_EACH,
    ),
    "elements in space": Case(
        (TURN, slider("kind: elements, bending_y: 1, bending_z: 1, torsion: 1, stretch: 1")),
        PAYLOAD,
        NODES_EACH,
    ),
    "elements that kink, stretch and twist": Case(
        (TURN, slider(f"kind: elements, {KINKS}")), PAYLOAD, NODES_EACH
    ),
    "following": Case((TURN, slider(f"{FOLLOWING}, {PLANE}")), PAYLOAD),
    "following in space": Case((TURN, slider(f"{FOLLOWING}, {SPACE}")), PAYLOAD),
    "tip piece": Case(
        (
            TURN,
            slider(
                f"kind: clamped-free, {SPACE}",
                more=f", tip_piece: {{length: 0.1, body: {BODY}}}",
            ),
            RIDER,
        )
    ),
    "tapered, in a plane": Case(
        (TURN, slider(f"kind: clamped-free, {PLANE}", section=TAPERED), RIDER)
    ),
    "tapered, every way": Case(
        (
            TURN,
            slider(
                "kind: clamped-free, bending_y: 1, bending_z: 1, torsion: 1, stretch: 1",
                joint=f"{SLIDE}, {FRAME}, hub: {{inboard: {BODY}}}",
                section=TAPERED,
            ),
        ),
        PAYLOAD,
    ),
    "tapered elements": Case(
        (TURN, slider(f"kind: elements, {KINKS}", section=TAPERED)), PAYLOAD, NODES_EACH
    ),
    "tapered, following": Case(
        (TURN, slider(f"{FOLLOWING}, {SPACE}", section=TAPERED)), PAYLOAD, NODES_FOLLOWING
    ),
    "two that slide": Case(
        (
            TURN,
            slider(f"kind: clamped-free, {PLANE}"),
            slider(
                f"kind: clamped-free, {PLANE}", joint=f"{SLIDE}, before: {{rotation: [0, 0, 0.9]}}"
            ),
        ),
        PAYLOAD,
    ),
}
TOGETHER = "name"  # an arm and its continuum serve all its tests
PARTS = ("mass", "coriolis", "gravity", "elastic", "energies", "tip")
# The others have siblings of the same structure among these; modes that follow the length are
# compared beside them.
QUICK = ("every way, on a flexible link", "elements", "tapered, every way")
every_arm = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=campaign_if(name not in QUICK)) for name in ARMS]
)


@cache
def both(name: str) -> tuple[Traced, Reference]:
    """An arm of the library and of the continuum."""
    case = ARMS[name]
    made = arm(*case.links, gravity="[1, -9, 2]", more=case.more).arm
    model = build(made, nodes=case.nodes)
    return Traced("composite", model, {}), Reference(model)


def library(name: str, q: Array, v: Array) -> dict[str, Array]:
    """What the library finds at a state."""
    traced, _ = both(name)
    coriolis, gravity, elastic, _ = traced("parts", q, v)
    rotation, position = traced("tip_pose", q)
    found = (
        traced("mass_matrix", q)[0], coriolis, gravity, elastic,
        np.ravel(traced("energy", q, v)), np.append(rotation, position),
    )  # fmt: skip
    return dict(zip(PARTS, found, strict=True))


def continuum(name: str, q: Array, v: Array) -> dict[str, Array]:
    """What the reference finds at a state."""
    _, made = both(name)
    energies = np.array([made.kinetic(q, v), *made.potential(q)])
    found = (
        made.mass_matrix(q), made.coriolis(q, v), made.gravity(q), made.elastic(q),
        energies, np.append(*made.tip(q)),
    )  # fmt: skip
    return dict(zip(PARTS, found, strict=True))


def differences(name: str, q: Array, v: Array) -> dict[str, float]:
    """Differences from the continuum by its largest entry, coordinates scaled by sqrt(diag M)."""
    got, expected = library(name, q, v), continuum(name, q, v)
    size = np.sqrt(np.diag(expected["mass"]))
    scales = {"mass": np.outer(size, size), "coriolis": size, "gravity": size, "elastic": size}
    found = {}
    for part in PARTS:
        one, other = (np.asarray(x[part] / scales.get(part, 1.0)) for x in (got, expected))
        found[part] = float(np.abs(one - other).max() / (np.abs(other).max() or 1.0))
    return found


@cache
def largest(name: str, slope: float) -> dict[str, float]:
    """Take the largest differences over some states."""
    model = both(name)[0].model
    rows = [differences(name, *bent_state(model, slope, seed)) for seed in range(STATES)]
    return {part: max(row[part] for row in rows) for part in PARTS}


@pytest.mark.few(1)
@pytest.mark.parametrize("slope", [pytest.param(SLOPES[0], marks=pytest.mark.campaign), SLOPES[1]])
@every_arm
def test_sliding_link_is_the_continuum(name: str, slope: float) -> None:
    found = largest(name, slope)
    assert not {part: error for part, error in found.items() if not error < TOLERANCE}


@pytest.mark.few(1)
@every_arm
def test_straight_sliding_link_has_the_inertia_of_the_linear_theory(name: str) -> None:
    model = both(name)[0].model
    q, v = bent_state(model, 0.5, 0)
    for part in model.links:
        q[part.modes] = v[part.modes] = 0.0
    found = differences(name, q, v)
    assert max(found["mass"], found["gravity"], found["tip"], found["energies"]) < TOLERANCE


def test_sections_that_pass_from_element_to_element_keep_their_momentum() -> None:
    # Linear theory: a section's velocity jumps with the stretch, its spin with curvature and twist.
    model = arm(TURN, slider(f"kind: elements, {KINKS}"), more="stiffening: false")
    q, v = bent_state(model, 0.2, 0)
    made = Reference(model)
    expected, size = made.coriolis(q, v), np.sqrt(np.diag(made.mass_matrix(q)))
    got = Traced("composite", model, {})("parts", q, v)[0]
    assert np.abs((got - expected) / size).max() < TOLERANCE * np.abs(expected / size).max()
