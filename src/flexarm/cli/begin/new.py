"""`flexarm new`: write a commented model file as a starting point."""

import argparse
import json
import math
from pathlib import Path

from flexarm.cli.console import Misuse, arg, file_path
from flexarm.cli.constants import MOST_NEW_LINKS, SERVO_FREQUENCY
from flexarm.errors import ModelError

SUMMARY = "write a model file with comments, to begin with"
MATERIALS = ("aluminium", "steel", "titanium", "carbon")  # names in flexarm.arm.section
# By plane: axis of the joints, and number of shapes in the directions that the motion excites.
PLANES = {
    "level": ("[0, 0, 1]", "bending_y: 2, bending_z: 2, torsion: 1"),
    "upright": ("[0, 1, 0]", "bending_y: 0, bending_z: 2, torsion: 0"),
}
HEAD = """\
# A model file of flexarm.  Plain numbers are SI and radians; units may be written.
#   flexarm check {file}                        what flexarm makes of it
#   flexarm simulate {file} --html run.html     let it move, and see it
flexarm: 1
name: {name}
gravity: [0, 0, -9.81]                 # [0, 0, 0] in orbit
# base: {{kind: free, body: {{mass: 500, inertia: [80, 80, 120]}}}}    # else it is fixed
links:                                 # from the base to the tip
"""
LINK = """\
  - name: link{number}
    joint:
      name: joint{number}
      kind: revolute                   # or prismatic, sliding, universal, spherical, screw, fixed
      axis: {axis}                  # in the frame before it
      start: {{position: 0 deg}}
      # input: {{kind: bang-bang, amplitude: 1 N m, times: [0, 0.5, 1]}}    # else nothing drives it
      # A servo of {quick:g} Hz: stiffness J w^2, damping 1.4 J w, for w = 2 pi {quick:g} Hz and the
      # inertia that the joint turns while the arm is straight, J = {inertia:.3g} kg m^2.
      # Its integral carries the weight.
      # servo: {{stiffness: {stiffness:.3g}, damping: {damping:.3g}, integral_time: 1, {target}}}
      # drive: {{rotor_inertia: 4.0e-5, gear_ratio: 100, stiffness: 9000}}  # an elastic gear
    length: {length}                   # along x of the link
    section:                           # or EIy, EIz, GJ, EA and mass_per_length by numbers
      material: {material}
      shape: {{kind: tube, diameter: {diameter}, thickness: {wall}}}
    shapes: {{kind: loaded, {shapes}}}    # how it may bend; without this, flexarm chooses
    damping: 1 %                       # ratio of its own vibrations; check tells the arm's
    # rigid: true                      # if it is not to bend
"""
TAIL = "payload: {{mass: {payload}}}               # held at the tip\n"
ARGUMENTS = (
    arg("name", metavar="NAME", help="the arm's name, or its file NAME.yaml"),
    arg("--links", type=int, default=2, metavar="N", help="number of links (default 2)"),
    arg("--length", default="1 m", metavar="L", help="of a link (default '1 m')"),
    arg("--diameter", default="40 mm", metavar="D", help="of its tube (default '40 mm')"),
    arg("--wall", default="2 mm", metavar="T", help="thickness of the tube (default '2 mm')"),
    arg(
        "--material", choices=MATERIALS, default="aluminium", help="of its tube (default aluminium)"
    ),
    arg("--payload", default="1 kg", metavar="M", help="mass at the tip (default '1 kg')"),
    arg(
        "--plane", choices=PLANES, default="upright",
        help="the plane in which the joints turn (default upright)",
    ),
    arg("--out", type=file_path, metavar="FILE", help="the model file"),
    "--force",
)  # fmt: skip


def run(args: argparse.Namespace) -> None:
    """Write the new model file, after validation, and print its path."""
    from flexarm.io.model_file import loads
    from flexarm.io.whole_file import write_whole

    if not 1 <= args.links <= MOST_NEW_LINKS:
        raise Misuse(f"--links: must be 1 to {MOST_NEW_LINKS}, got {args.links}")
    name = args.name.removesuffix(".yaml")
    if not name.strip("./ "):
        raise Misuse(f"NAME: must be the name of an arm or the path of its file, got '{args.name}'")
    out = args.out or Path(f"{name}.yaml")
    text = model_text(args, Path(name).name if name != args.name else name, out.name)
    try:
        loads(text, out.name)
    except ModelError as error:
        raise Misuse(f"no model file is written, since it would not be valid: {error}") from None
    write_whole(out, text.encode(), force=args.force)
    print(f"model file: {out}")


def model_text(args: argparse.Namespace, name: str, file: str) -> str:
    """Return the text of a new model file."""
    from flexarm.arm.section import MATERIALS as NUMBERS

    axis, shapes = PLANES[args.plane]
    links = [
        LINK.format(
            number=k,
            axis=axis,
            length=args.length,
            diameter=args.diameter,
            wall=args.wall,
            shapes=shapes,
            material=NUMBERS[args.material],
            quick=SERVO_FREQUENCY,
            target="target: {kind: cycloid, start: 0, end: 0.5, duration: 2}",
            **_servo(args, NUMBERS[args.material], args.links - k + 1),
        )
        for k in range(1, args.links + 1)
    ]
    tail = TAIL.format(payload=args.payload)
    return HEAD.format(file=" ".join(file.split()), name=json.dumps(name)) + "".join(links) + tail


def _servo(args: argparse.Namespace, material: str, outboard: int) -> dict[str, float]:
    """Return load inertia [kg m^2] and servo gains of a joint that carries ``outboard`` links."""
    from flexarm.units import quantity

    try:
        length, diameter, wall = (quantity(x, "m") for x in (args.length, args.diameter, args.wall))
        payload = quantity(args.payload, "kg")
    except ModelError:  # validation of the file reports the mistake with its line
        return dict.fromkeys(("inertia", "stiffness", "damping"), 1.0)
    density = float(material.partition("density: ")[2].partition(",")[0])
    link = density * math.pi * (diameter - wall) * wall * length
    reach = outboard * length
    inertia = (outboard * link / 3 + payload) * reach**2
    rate = 2 * math.pi * SERVO_FREQUENCY
    return {"inertia": inertia, "stiffness": inertia * rate**2, "damping": 1.4 * inertia * rate}
