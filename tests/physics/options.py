"""Arms that have each option of a model file once, by the name of the option."""

TURN = "joint: {kind: revolute}"
BODY = "{mass: 0.7, com: [0.1, -0.05, 0.08], inertia: [0.02, 0.03, 0.025, 0.002, -0.004, 0.003]}"
SECTION = "section: {mass_per_length: 1.1, EIz: 14, EIy: 9, GJ: 6, EA: 400, Jx: 0.01}"
TURNING_SECTION = SECTION.replace("Jx: 0.01", "Jx: 0.02, Jy: 0.01, Jz: 0.03")
PLANAR = "length: 0.8, section: {mass_per_length: 1.1, EIz: 14}"
BEAM = f"{PLANAR}, shapes: {{kind: clamped-free, bending_y: 2}}"
SPATIAL = "kind: clamped-free, bending_y: 1, bending_z: 1, torsion: 0"
# A flexible link whose tip moves and turns every way, and a body beyond to feel it.
CARRIER = (
    f"joint: {{kind: revolute, axis: [0, 1, 0]}}, length: 0.7, {SECTION}, shapes: {{{SPATIAL}}}"
)
RIDER = f"joint: {{kind: revolute, axis: [0, 1, 0]}}, length: 0.4, body: {BODY}"
FRAME = "{position: [0.1, -0.2, 0.15], rotation: [0.4, -0.7, 1.1]}"
SLIDE = "joint: {kind: sliding, start: {position: 0.6}, limits: {lower: 0.3}}"
LONG = "length: 1.3, section: {mass_per_length: 1.1, EIz: 14, EIy: 9, GJ: 6, EA: 400, Jx: 0.01}"
SPRING_TABLE = "{deflection: [-0.5, -0.1, 0.2, 0.6], effort: [-9, -1, 1.5, 12]}"
PUSH = "force: [1, -2, 3], torque: [0.3, 0.2, -0.4]"

# Of exact links, with which they are the continuum's to the tolerance; elements have them each.
NODES, NODES_EACH = 16, 8
# A carriage feels the second derivative of what they interpolate; shapes that follow a length are
# made of more curves than there are amplitudes.
NODES_MANY = 26


def arm(*links: str, more: str = "") -> str:
    """Text of a model file."""
    listed = "\n".join(f"  - {{{link}}}" for link in links)
    return f"flexarm: 1\nname: case\ngravity: [1, -9, 2]\n{more}\nlinks:\n{listed}\n"


def shaped(shapes: str, *, length: float = 0.8, section: str = SECTION, more: str = "") -> str:
    """A flexible link with a body beyond its tip."""
    link = f"{TURN}, length: {length}, {section}, shapes: {{{shapes}}}{more}"
    return arm(link, RIDER)


def on_carrier(joint: str, *, more: str = "stiffening: false") -> str:
    """A link with the given joint on a flexible link, by linear theory unless more is said."""
    return arm(CARRIER, f"joint: {{{joint}}}, {BEAM}", more=more)


CASES = {
    "revolute": arm(f"{TURN}, {BEAM}"),
    "prismatic": on_carrier("kind: prismatic, axis: [0, 1, 0]"),
    "prismatic, oblique": on_carrier("kind: prismatic, axis: [1, -2, 0.5]", more=""),
    "rigid attachment": on_carrier(
        f"kind: fixed, before: {FRAME}, hub: {{outboard: {BODY}}}", more=""
    ),
    "axis x": on_carrier("kind: revolute, axis: [1, 0, 0]", more=""),
    "axis y": on_carrier("kind: revolute, axis: [0, -1, 0]"),
    "axis oblique": on_carrier("kind: revolute, axis: [1, 2, -0.5]"),
    "frame before": on_carrier(f"kind: revolute, before: {FRAME}"),
    "frame after": on_carrier(f"kind: revolute, axis: [1, 0, 1], after: {FRAME}"),
    "screw": on_carrier(
        f"kind: screw, pitch: -0.3, axis: [1, 2, -0.5], before: {FRAME}, after: {FRAME},"
        " spring: {stiffness: 3, damping: 0.2, rest: 0.1}, friction: {viscous: 0.4, coulomb: 0.3}"
    ),
    "screw with a drive": on_carrier(
        "kind: screw, pitch: 0.2, drive: {rotor_inertia: 2e-4, gear_ratio: 30, rotor: full,"
        " stiffness: 80, damping: 0.1, motor_torque: true}"
    ),
    "universal": on_carrier(f"kind: universal, before: {FRAME}, after: {FRAME}"),
    "universal with all that acts": arm(
        CARRIER,
        f"joint: {{kind: universal, hub: {{inboard: {BODY}, outboard: {BODY}}},"
        " first: {spring: {stiffness: 3, damping: 0.2, rest: 0.1}},"
        f" second: {{actuation: free, friction: {{viscous: 0.4, coulomb: 0.3}}}}}}, {BEAM}",
        f"joint: {{kind: universal, before: {FRAME}}}, length: 0.4, body: {BODY}",
    ),
    "spherical": on_carrier(
        f"kind: spherical, before: {FRAME}, after: {FRAME}, start: {{rotation: [0.5, -0.8, 2]}}",
        more="",
    ),
    "spherical, damped, under another": arm(
        CARRIER,
        f"joint: {{kind: spherical, damping: 0.4, hub: {{inboard: {BODY}, outboard: {BODY}}}}},"
        f" {BEAM}",
        f"joint: {{kind: spherical, before: {FRAME}}}, length: 0.4, body: {BODY}",
    ),
    "spherical on a free base": arm(
        f"joint: {{kind: spherical, damping: 0.4}}, {BEAM}",
        more=f"base: {{kind: free, rotation: [0.3, 0.2, -0.4], body: {BODY}}}\npayload: {BODY}",
    ),
    "standard DH": arm(
        f"joint: {{kind: revolute, dh: {{theta: 0.3, d: 0.2, alpha: 0.8}}}}, {BEAM}",
        f"joint: {{kind: revolute, dh: {{theta: -0.4, d: 0.1, alpha: 1.2}}}}, {BEAM}",
        more=f"payload: {BODY}",
    ),
    "modified DH": arm(
        CARRIER,
        f"joint: {{kind: revolute, dh: {{convention: modified, theta: 0.3, d: 0.2, alpha: 0.8}}}},"
        f" {BEAM}",
        f"joint: {{kind: prismatic, dh: {{convention: modified, alpha: -0.5, d: 0.1}}}},"
        f" length: 0.3, body: {BODY}",
    ),
    "hub inboard": on_carrier(
        f"kind: revolute, axis: [1, 0, 1], before: {FRAME}, hub: {{inboard: {BODY}}}"
    ),
    "hub outboard": on_carrier(
        f"kind: revolute, axis: [1, 0, 1], before: {FRAME}, after: {FRAME},"
        f" hub: {{outboard: {BODY}}}"
    ),
    "hub of prismatic": on_carrier(
        f"kind: prismatic, axis: [1, 0, 1], after: {FRAME},"
        f" hub: {{inboard: {BODY}, outboard: {BODY}}}"
    ),
    "hub with DH": on_carrier(
        "kind: revolute, dh: {theta: 0.3, d: 0.2, alpha: 0.8},"
        f" hub: {{inboard: {BODY}, outboard: {BODY}}}"
    ),
    "rigid pieces": arm(
        f"{TURN}, length: 1.1, root_piece: {{length: 0.12, body: {BODY}}},"
        f" tip_piece: {{length: 0.18, body: {BODY}}}, {SECTION}, shapes: {{{SPATIAL}}}",
        RIDER,
    ),
    "rigid link by body": arm(CARRIER, f"{TURN}, length: 0.5, body: {BODY}", RIDER),
    "rigid link by section": arm(
        CARRIER,
        f"{TURN}, length: 1.1, root_piece: {{length: 0.12, body: {BODY}}},"
        f" tip_piece: {{length: 0.18, body: {BODY}}}, rigid: true,"
        " section: {mass_per_length: 1.1, Jx: 0.02, Jy: 0.01, Jz: 0.03}",
        RIDER,
    ),
    "loaded bending y": shaped("kind: loaded, bending_y: 3", section=PLANAR[13:]),
    "loaded bending z": shaped(
        "kind: loaded, bending_z: 3", section="section: {mass_per_length: 1, EIy: 9}"
    ),
    "bending y and z": shaped("kind: loaded, bending_y: 2, bending_z: 2, torsion: 0"),
    "torsion": shaped("kind: clamped-free, torsion: 2, bending_y: 0, bending_z: 0"),
    "stretch": shaped("kind: clamped-free, stretch: 2, bending_y: 0, bending_z: 0, torsion: 0"),
    "all directions": shaped("kind: loaded, bending_y: 2, bending_z: 1, torsion: 1, stretch: 1"),
    "rotary inertia": shaped(
        "kind: loaded, bending_y: 1, bending_z: 1, torsion: 1",
        section="section: {mass_per_length: 1.1, EIz: 14, EIy: 9, GJ: 6,"
        " Jx: 0.05, Jy: 0.03, Jz: 0.02}",
    ),
    "material and outline": shaped(
        "kind: loaded, bending_y: 1, bending_z: 1, torsion: 1",
        section="section: {material: {E: 70e6, density: 2700},"
        " shape: {kind: box, width: 0.03, height: 0.05, thickness: 0.002}}",
    ),
    "tapered with a jump": shaped(
        "kind: loaded, bending_y: 2, bending_z: 1, torsion: 1",
        section="section: {stations: ["
        "{at: 0, mass_per_length: 2, EIz: 20, EIy: 15, GJ: 9, Jx: 0.03, Jy: 0.02, Jz: 0.01},"
        "{at: 0.3, mass_per_length: 1, EIz: 9, EIy: 12, GJ: 5, Jx: 0.02, Jy: 0.01, Jz: 0.01},"
        "{at: 0.3, mass_per_length: 1.5, EIz: 9, EIy: 10, GJ: 5, Jx: 0.01, Jy: 0.01, Jz: 0},"
        "{at: 0.8, mass_per_length: 0.5, EIz: 4, EIy: 3, GJ: 2, Jx: 0.01, Jy: 0, Jz: 0.01}]}",
    ),
    "no stiffening": arm(
        f"{TURN}, length: 0.8, {SECTION}, shapes: {{kind: loaded, bending_y: 2, bending_z: 1}}",
        RIDER,
        more="stiffening: false",
    ),
    "no stiffening, rotary inertia and quadratic shapes": arm(
        f"{TURN}, length: 0.8, section: {{mass_per_length: 1, EIz: 9, EIy: 8, Jy: 0.03, Jz: 0.02}},"
        f" shapes: {{{SPATIAL}}}, quadratic_shapes: [{{direction: z, amplitudes: [y1, y1],"
        " stations: [0, 0.2, 0.4, 0.8], values: [0, 0.04, 0.16, 0.64]}]",
        RIDER,
        more="stiffening: false",
    ),
    "payload": arm(CARRIER, f"{TURN}, {BEAM}", more=f"payload: {BODY}"),
    "fixed base turned": arm(f"{TURN}, {BEAM}", more=f"base: {{kind: fixed, {FRAME[1:]}"),
    "free base": arm(
        f"joint: {{kind: revolute, axis: [0, 1, 0], hub: {{inboard: {BODY}}}}}, {BEAM}",
        more=f"base: {{kind: free, body: {BODY}, {FRAME[1:]}",
    ),
    "moved base": arm(
        f"joint: {{kind: revolute, axis: [0, 1, 0], hub: {{inboard: {BODY}}}}}, {BEAM}",
        more="base: {kind: moved, position: [1, 2, 3], rotation: [0.2, 0.3, 0.4],"
        " motion: {x: {kind: constant, value: 1}}}",
    ),
    "prescribed joint": arm(
        "joint: {kind: revolute, axis: [0, 1, 0], actuation: prescribed,"
        f" motion: {{kind: sine, amplitude: 1, frequency: 1}}}}, {BEAM}",
        RIDER,
    ),
    "free joint": arm(f"joint: {{kind: revolute, actuation: free}}, {BEAM}", RIDER),
    "elastic joint, simple rotor": on_carrier(
        "kind: revolute, drive: {rotor_inertia: 0.01, gear_ratio: 7, stiffness: 30, damping: 0.4}"
    ),
    "elastic joint, full rotor": on_carrier(
        f"kind: revolute, axis: [1, 0.5, 2], before: {FRAME}, drive: {{rotor_inertia: 0.01,"
        " gear_ratio: -7, rotor: full, stiffness: 30}",
        more="",
    ),
    "elastic joint, table": on_carrier(
        f"kind: revolute, drive: {{rotor_inertia: 0.01, stiffness: {SPRING_TABLE}}}"
    ),
    "rigid transmission, simple rotor": on_carrier(
        "kind: revolute, drive: {rotor_inertia: 0.01, gear_ratio: 7}"
    ),
    "rigid transmission, full rotor": on_carrier(
        f"kind: revolute, axis: [1, 0.5, 2], before: {FRAME},"
        " drive: {rotor_inertia: 0.01, gear_ratio: 7, rotor: full}"
    ),
    "full rotor on a free base": arm(
        f"joint: {{kind: revolute, axis: [1, 0, 1], drive: {{rotor_inertia: 0.02, gear_ratio: 5,"
        f" rotor: full}}}}, {BEAM}",
        more=f"base: {{kind: free, body: {BODY}}}",
    ),
    "full rotor of a prismatic joint": on_carrier(
        "kind: prismatic, axis: [1, 0, 1], drive: {rotor_inertia: 0.01, gear_ratio: 7, rotor: full}"
    ),
    "motor torque": on_carrier(
        "kind: revolute, drive: {rotor_inertia: 0.01, gear_ratio: -7, motor_torque: true}"
    ),
    "elastic joint, motor torque": on_carrier(
        "kind: revolute, drive: {rotor_inertia: 0.01, gear_ratio: 7, stiffness: 30,"
        " motor_torque: true}"
    ),
    "spring": on_carrier("kind: revolute, spring: {stiffness: 20, damping: 0.3, rest: 0.4}"),
    "spring table": on_carrier(
        f"kind: prismatic, spring: {{stiffness: {SPRING_TABLE}, damping: 0.3, rest: -0.2}}"
    ),
    "viscous friction": on_carrier("kind: revolute, friction: {viscous: 0.6}"),
    "Coulomb friction": on_carrier("kind: revolute, friction: {coulomb: 0.6, smoothing: 0.7}"),
    "friction of an elastic joint": on_carrier(
        "kind: revolute, drive: {rotor_inertia: 0.01, stiffness: 30},"
        " friction: {viscous: 0.5, coulomb: 0.6, smoothing: 0.7}"
    ),
    "damping": arm(
        f"{TURN}, length: 0.9, tip_piece: {{length: 0.1, body: {BODY}}}, {SECTION},"
        " shapes: {kind: clamped-free, bending_y: 2, bending_z: 1}, damping: [0.02, 0.05, 0.1]",
        f"joint: {{kind: revolute, before: {FRAME}, hub: {{inboard: {BODY}}}}}, {BEAM},"
        " damping: 0.03",
        more=f"payload: {BODY}",
    ),
    "pinned-free": arm(
        f"joint: {{kind: revolute, after: {{position: [0.1, 0.2, 0], rotation: [0, 0, 0.5]}},"
        f" hub: {{outboard: {BODY}}}}}, {PLANAR}, shapes: {{kind: pinned-free, bending_y: 2}}",
        RIDER,
    ),
    "pinned-free, spring and friction": arm(
        f"joint: {{kind: revolute, hub: {{outboard: {BODY}}}, spring: {{stiffness: 9,"
        " damping: 0.4, rest: 0.1}, friction: {viscous: 0.5, coulomb: 0.6, smoothing: 0.7}},"
        f" {PLANAR}, shapes: {{kind: pinned-free, bending_y: 2}}",
    ),
    "pinned-free, elastic joint": arm(
        f"joint: {{kind: revolute, hub: {{outboard: {BODY}}}, drive: {{rotor_inertia: 0.01,"
        " gear_ratio: 5, stiffness: 20, damping: 0.4, rotor: full}},"
        f" {PLANAR}, shapes: {{kind: pinned-free, bending_y: 2}}",
    ),
    "pinned-pinned": arm(
        f"joint: {{kind: revolute, hub: {{outboard: {BODY}}}}}, {PLANAR},"
        " shapes: {kind: pinned-pinned, bending_y: 2}",
        RIDER,
    ),
    "clamped-mass": shaped("kind: clamped-mass, bending_y: 2, bending_z: 1, torsion: 1"),
    "free-free": arm(f"{TURN}, {PLANAR}, shapes: {{kind: free-free, bending_y: 2}}", RIDER),
    "lumped": shaped("kind: lumped, bending_y: 2, bending_z: 1, torsion: 2, stretch: 1"),
    "craig-bampton": shaped("kind: craig-bampton, bending_y: 1, bending_z: 0, torsion: 1"),
    "elements": shaped("kind: elements, bending_y: 2, bending_z: 1, torsion: 1, stretch: 1"),
    "elements in a plane": shaped("kind: elements, bending_y: 2, bending_z: 0, torsion: 0"),
    "reduced elements": shaped("kind: elements, bending_y: 4, bending_z: 4, torsion: 0, reduce: 1"),
    "quadratic shapes": shaped(
        "kind: clamped-free, bending_y: 2, bending_z: 1, torsion: 0",
        more=", quadratic_shapes: [{direction: z, amplitudes: [y1, y2],"
        " stations: [0, 0.2, 0.4, 0.8], values: [0, 0.04, 0.16, 0.64]},"
        " {direction: x, amplitudes: [z1, z1],"
        " stations: [0, 0.2, 0.4, 0.8], values: [0, 0.008, 0.064, 0.512]},"
        " {direction: y, amplitudes: [y1, y1],"
        " stations: [0, 0.2, 0.4, 0.8], values: [0, -0.04, -0.16, -0.64]}]",
    ),
    "elastic energy and force": arm(
        f"{TURN}, {BEAM}, elastic_energy: [{{coefficient: 300, powers: {{y1: 3, y2: 1}}}},"
        " {coefficient: -80, powers: {y2: 2}}], elastic_force: [{coordinate: y1,"
        " amplitude: [-0.5, -0.02, 0.03, 0.6], force: [-60, -1, 4, 90]}]",
    ),
    "wrench in world axes": arm(
        CARRIER, f"{TURN}, {BEAM}, wrenches: [{{{PUSH}}}, {{at: 0.3, {PUSH}}}]"
    ),
    "wrench in link axes": arm(
        CARRIER.replace("joint:", f"wrenches: [{{at: 0.5, frame: link, {PUSH}}}], joint:", 1),
        f"{TURN}, {BEAM}, wrenches: [{{frame: link, {PUSH}}}]",
    ),
    "wrench on rigid pieces": arm(
        f"{TURN}, length: 1.1, root_piece: {{length: 0.12}}, tip_piece: {{length: 0.18}},"
        f" {SECTION}, shapes: {{{SPATIAL}}}, wrenches: [{{at: 0.05, frame: link, {PUSH}}},"
        f" {{at: 0.5, {PUSH}}}, {{at: 1, frame: link, {PUSH}}}, {{frame: link, {PUSH}}}]",
        f"joint: {{kind: revolute, dh: {{alpha: 0.6}}}}, length: 0.4, body: {BODY},"
        f" wrenches: [{{at: 0.2, {PUSH}}}, {{frame: link, {PUSH}}}]",
    ),
    "wrench on a free base": arm(
        f"{TURN}, length: 0.4, body: {BODY}, wrenches: [{{{PUSH}}}]",
        more=f"base: {{kind: free, body: {BODY}, wrenches: [{{{PUSH}}},"
        f" {{at: 0.3, frame: link, {PUSH}}}]}}",
    ),
    "wrench with quadratic shapes": arm(
        f"{TURN}, length: 0.8, {SECTION}, shapes: {{{SPATIAL}}}, quadratic_shapes:"
        " [{direction: z, amplitudes: [y1, z1], stations: [0, 0.2, 0.4, 0.8],"
        f" values: [0, 0.04, 0.16, 0.64]}}], wrenches: [{{at: 0.5, frame: link, {PUSH}}}]"
    ),
    "sliding": arm(
        f"{SLIDE}, {LONG}, shapes: {{kind: clamped-free, bending_y: 2, torsion: 0, bending_z: 0}},"
        f" wrenches: [{{{PUSH}}}, {{frame: link, {PUSH}}}]",
    ),
    "sliding on a carrier": arm(
        CARRIER,
        f"joint: {{kind: sliding, start: {{position: 0.6}}, before: {FRAME},"
        f" hub: {{inboard: {BODY}}}}}, length: 1.3, section: {{mass_per_length: 1.1, EIz: 14,"
        f" EIy: 9}}, shapes: {{{SPATIAL}}}",
    ),
    "sliding, stretch": arm(
        CARRIER,
        f"{SLIDE}, {LONG}, shapes: {{kind: clamped-free, bending_y: 1, bending_z: 0, torsion: 0,"
        " stretch: 1}",
    ),
    "sliding, rotary inertia and torsion": arm(
        CARRIER,
        f"{SLIDE}, length: 1.3, section: {{mass_per_length: 1.1, EIz: 14, EIy: 9, GJ: 6, Jx: 0.05,"
        " Jy: 0.03, Jz: 0.02}, shapes: {kind: clamped-free, bending_y: 1, bending_z: 1,"
        " torsion: 1}",
    ),
    "sliding, no stiffening": arm(
        f"{TURN}, length: 0.4, body: {BODY}",
        f"{SLIDE}, {LONG}, shapes: {{{SPATIAL}}}",
        RIDER,
        more="stiffening: false",
    ),
    "sliding, following shapes": arm(
        f"{TURN}, length: 0.4, body: {BODY}",
        f"{SLIDE}, {LONG}, shapes: {{kind: clamped-mass, follow: true, normalise: mass,"
        " bending_y: 2, bending_z: 0, torsion: 0}",
        more=f"payload: {BODY}",
    ),
    "sliding, elements": arm(
        f"{TURN}, length: 0.4, body: {BODY}",
        f"{SLIDE}, {LONG}, shapes: {{kind: elements, bending_y: 2, bending_z: 0, torsion: 0}}",
        RIDER,
    ),
    "sliding, tip piece": arm(
        f"{SLIDE}, tip_piece: {{length: 0.1, body: {BODY}}}, {LONG}, shapes: {{{SPATIAL}}}", RIDER
    ),
    "sliding, damping": arm(
        f"{SLIDE}, {LONG}, damping: 0.04,"
        " shapes: {kind: clamped-free, bending_y: 2, torsion: 0, bending_z: 0}",
        more=f"payload: {BODY}",
    ),
    "sliding, elastic joint": arm(
        CARRIER,
        "joint: {kind: sliding, start: {position: 0.6}, limits: {lower: 0.3}, spring:"
        " {stiffness: 9, rest: 0.5}, friction: {viscous: 0.4, coulomb: 1, smoothing: 0.7}, drive:"
        " {rotor_inertia: 0.01, gear_ratio: 7, stiffness: 30, damping: 0.2, rotor: full}},"
        f" {LONG}, shapes: {{kind: clamped-free, bending_y: 1, torsion: 0, bending_z: 0}}",
    ),
    "sliding, nonlinear elastic force": arm(
        f"{SLIDE}, {LONG}, shapes: {{kind: clamped-free, bending_y: 1, torsion: 0, bending_z: 0}},"
        " elastic_energy: [{coefficient: 300, powers: {y1: 4}}]",
    ),
    "carriage, planar, revolute on top": arm(
        f"{TURN}, {BEAM}, root_piece: {{length: 0.1, body: {BODY}}}",
        "joint: {kind: carriage, start: {position: 0.33}}",
        RIDER,
        more="stiffening: false",
    ),
    "carriage, linear": arm(
        f"{TURN}, length: 0.7, {SECTION}, tip_piece: {{length: 0.1, body: {BODY}}},"
        " shapes: {kind: clamped-free, bending_y: 1, bending_z: 1, torsion: 1, stretch: 1}",
        f"joint: {{kind: carriage, start: {{position: 0.41}}, before: {FRAME}, after: {FRAME},"
        f" hub: {{outboard: {BODY}}}, spring: {{stiffness: 30, rest: 0.2}}, friction:"
        f" {{viscous: 0.4, coulomb: 1, smoothing: 0.7}}}}, {BEAM}",
        more=f"stiffening: false\npayload: {BODY}",
    ),
    "carriage, exact": arm(
        f"{TURN}, length: 0.7, {TURNING_SECTION}, tip_piece: {{length: 0.1, body: {BODY}}},"
        " shapes: {kind: clamped-free, bending_y: 1, bending_z: 1, torsion: 1, stretch: 1}",
        f"joint: {{kind: carriage, start: {{position: 0.41}}, before: {FRAME}}}, length: 0.1,"
        f" body: {BODY}",
        RIDER,
    ),
    "carriage, exact in a plane, elastic drive": arm(
        f"{TURN}, {BEAM}",
        "joint: {kind: carriage, start: {position: 0.5}, drive: {rotor_inertia: 0.01, gear_ratio:"
        f" 7, stiffness: 30, damping: 0.2}}}}, {BEAM}",
    ),
    "elements, carriage": arm(
        f"{TURN}, length: 0.8, {SECTION}, shapes: {{kind: elements, bending_y: 2, bending_z: 0,"
        " torsion: 0, stretch: 0}",
        "joint: {kind: carriage, start: {position: 0.5}}, body: " + BODY,
        more="stiffening: false\nbase: {kind: free, body: " + BODY + "}",
    ),
    "sliding, rigid": arm(CARRIER, f"{SLIDE}, rigid: true, {LONG}", RIDER),
    "sliding, rigid, tip piece": arm(
        CARRIER, f"{SLIDE}, rigid: true, tip_piece: {{length: 0.1, body: {BODY}}}, {LONG}"
    ),
}
