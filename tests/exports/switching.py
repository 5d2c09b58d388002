"""Small arms whose motion jumps: free bases, friction that sticks, brakes, events, contacts."""

# A free base that turns over, with a link that is driven by a step.
FREE = """
flexarm: 1
name: tumbler
gravity: [0, 0, 0]
base: {kind: free, body: {mass: 3, inertia: [0.2, 0.3, 0.25]},
       spin: [0.4, 5.0, 0.7]}
links:
  - joint: {name: hip, kind: revolute, axis: [0, 0, 1], start: {speed: 1.5},
            input: {kind: step, value: 0.6, time: 0.3}}
    length: 0.6
    body: {mass: 0.4, com: [0.3, 0, 0], inertia: [0.001, 0.02, 0.02]}
"""
# A joint whose dry friction sticks at every turn, and one that two brakes' events stop.
RUBS = """
flexarm: 1
name: rubs
gravity: [0, 0, 0]
links:
  - joint: {name: swings, kind: revolute, axis: [0, 0, 1], spring: {stiffness: 8},
            start: {position: 0.7}, friction: {kind: dry, coulomb: 0.8, static: 1.2,
            stribeck_speed: 0.2}, input: {kind: sine, amplitude: 3, frequency: 1.1}}
    length: 0.5
    body: {mass: 1.5, com: [0.25, 0, 0], inertia: [0.01, 0.04, 0.04]}
  - joint: {name: braked, kind: revolute, axis: [0, 0, 1], start: {speed: 3},
            brake: {effort: 0.5, closed: false}}
    length: 0.4
    body: {mass: 0.5, com: [0.2, 0, 0], inertia: [0.001, 0.01, 0.01]}
  - joint: {name: locked, kind: revolute, axis: [0, 0, 1], spring: {stiffness: 0.3},
            start: {speed: -2}, brake: {closed: false}}
    length: 0.3
    body: {mass: 0.2, com: [0.1, 0, 0], inertia: [0.001, 0.002, 0.002]}
events:
  - {at: 0.35, brake: [braked]}
  - {when: {quantity: locked, below: -1.0}, brake: [locked]}
  - {at: 1.2, release: [braked, locked]}
  - {when: {quantity: tip.speed, above: 4.5}, after: 1.3, brake: [braked]}
"""
# A pendulum that falls onto a table between two stops.
TOUCHES = """
flexarm: 1
name: touches
links:
  - joint: {name: falls, kind: revolute, axis: [0, 1, 0], start: {position: 0.0},
            limits: {lower: -1.2, upper: 0.8}, stops: {stiffness: 4000, restitution: 0.6,
            speed: 2}}
    length: 0.5
    body: {mass: 1, com: [0.3, 0, 0], inertia: [0.01, 0.02, 0.02]}
  - joint: {name: hangs, kind: revolute, axis: [0, 1, 0], start: {speed: 3},
            friction: {viscous: 0.01}}
    length: 0.4
    body: {mass: 0.4, com: [0.2, 0, 0], inertia: [0.001, 0.01, 0.01]}
contacts:
  - {name: table, radius: 20 mm, obstacle: {kind: plane, point: [0, 0, -0.45], normal: [0, 0, 1]},
     stiffness: 2.0e4, damping: 0.3, friction: {coefficient: 0.3}}
"""
# A mass on a spring that an event ends at a place, and one across it that drifts to its limit.
PEAKS = """
flexarm: 1
name: peaks
gravity: [0, 0, 0]
links:
  - joint: {name: swings, kind: prismatic, axis: [1, 0, 0], spring: {stiffness: 40}}
    length: 0.1
    body: {mass: 1, com: [0, 0, 0], inertia: [0.1, 0.1, 0.1]}
  - joint: {name: drifts, kind: prismatic, axis: [0, 1, 0], limits: {lower: -1, upper: 0.7}}
    length: 0.1
    body: {mass: 1, com: [0, 0, 0], inertia: [0.1, 0.1, 0.1]}
events:
  - {when: {quantity: swings, above: 0.3}, end: true}
"""
# A link that slides out by a table, which ends.
SLIDES = """
flexarm: 1
name: slides
links:
  - joint: {name: hinge, kind: revolute, axis: [0, 1, 0]}
    length: 0.2
    body: {mass: 2, com: [0.1, 0, 0], inertia: [0.001, 0.02, 0.02]}
  - joint: {name: slide, kind: prismatic, axis: [1, 0, 0], actuation: prescribed,
            motion: {kind: table, times: [0, 0.2, 0.4], values: [0.1, 0.2, 0.4]}}
    length: 0.3
    body: {mass: 1, com: [0.1, 0, 0], inertia: [0.001, 0.01, 0.01]}
"""
# Two joints with sampled servos: one late, coarse, with an integral and dry friction.
SAMPLED = """
flexarm: 1
name: sampled
links:
  - joint: {name: late, kind: revolute, axis: [0, 1, 0], friction: {kind: dry, coulomb: 0.8},
            servo: {stiffness: 60, damping: 5, integral_time: 0.4, period: 13 ms, delay: 20 ms,
                    resolution: 1.0e-4, effort: 15,
                    target: {kind: cycloid, start: 0, end: 0.6, duration: 0.9}}}
    length: 0.5
    body: {mass: 1.5, com: [0.25, 0, 0], inertia: [0.01, 0.04, 0.04]}
  - joint: {name: prompt, kind: revolute, axis: [0, 1, 0],
            servo: {stiffness: 20, damping: 1, period: 10 ms},
            input: {kind: step, value: 0.5, time: 0.333}}
    length: 0.4
    body: {mass: 0.5, com: [0.2, 0, 0], inertia: [0.001, 0.01, 0.01]}
"""
