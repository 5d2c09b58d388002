"""Model files that tests of the file machinery share."""

RICH = """\
# An arm that uses most of what a model file can say.
flexarm: 1
name: rich
notes: |
  Nothing real: every kind of key once.

  With a second paragraph: and a colon.
gravity: [0, 0, -9.81 m/s^2]
base:
  kind: moved
  position: [0, 0, 250 mm]
  motion:
    x: {kind: sine, amplitude: 1 cm, frequency: 2 Hz, phase: 90 deg}
    rz: {kind: cycloid, start: 0, end: 45 deg, duration: 2 s}
links:
  - name: shoulder
    joint:
      kind: revolute
      name: j1
      axis: [0, 0, 1]
      dh: {convention: standard, theta: 0, d: 100 mm, alpha: 90 deg}
      hub:
        inboard: {mass: 2 kg, com: [0, 0, 0.01], inertia: [0.02, 0.02, 0.03]}
      limits: {lower: -170 deg, upper: 170 deg, speed: 30 rpm, effort: 80 Nm}
      drive:
        rotor_inertia: 1.2e-4 kg m^2
        gear_ratio: 100
        rotor: full
        stiffness:
          deflection: [-0.01, 0, 0.01]
          effort: [-80 N*m, 0, 80 N*m]
        damping: 0.4 N m s/rad
      friction: {viscous: 0.3, coulomb: 1.5, smoothing: 0.01}
      input: {kind: bang-bang, amplitude: 5 N m, times: [0, 0.5 s, 1.0 s]}
      start: {position: 10 deg, speed: 0}
    length: 1.2 m
    section:
      material: {E: 70 GPa, density: 2.7 g/cm^3, nu: 0.33}
      shape: {kind: tube, diameter: 60 mm, thickness: 3 mm}
    root_piece: {length: 0.1, body: {mass: 0.5}}
    shapes: {kind: loaded, bending_y: 3, torsion: 1, root: geared}
    damping: [1 %, 0.02]
    wrenches:
      - {at: 0.6, frame: link, force: [0, 10 N, 0]}
      - at: tip
        torque: [0, 0, 1]
        factor: {kind: table, times: [0, 1, 2], values: [0, 1, 0], interpolation: hold}
  - name: boom
    joint:
      kind: sliding
      before: {rotation: [0, 90 deg, 0]}
      input: {kind: step, value: 12 N, time: 0.2}
      start: {position: 0.8}
    length: 2
    section: {mass_per_length: 0.9 kg/m, EIy: 120, EIz: 240 N m^2, GJ: 80, EA: 7e6 N, Jx: 1e-4}
    shapes: {kind: clamped-mass, tip: {mass: 1.5, inertia: 0.1, offset: 5 cm}, follow: true}
  - joint: {kind: fixed}
    length: 0.3
    body: {mass: 1, com: [0.1, 0, 0], inertia: [0.01, 0.02, 0.02, 0, 1e-3, 0]}
    rigid: true
payload: {mass: 3 kg}
"""

SMALL = """\
flexarm: 1
name: small
links:
  - joint: {kind: revolute}
    length: 0.5
    section: {mass_per_length: 0.3, EIz: 12}
"""
