"""Parser of URDF files into a tree of links and joints, and choice of the moving joints."""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np

from flexarm.arm.constants import NAME_LENGTH
from flexarm.arm.part import CONTROL
from flexarm.arm.side_files import read_at_most
from flexarm.errors import ModelError
from flexarm.io.constants import (
    FULL_TURN,
    INERTIA_DIGITS,
    LARGEST_ANGLE,
    LARGEST_DISTANCE,
    LARGEST_GYRATION,
    LARGEST_MASS,
    MOST_GEOMETRIES,
    MOST_URDF_BYTES,
    MOST_URDF_LINKS,
    UNLIMITED_FROM,
)
from flexarm.io.csv_table import read_number
from flexarm.io.source import find_unprintable, shorten
from flexarm.spatial import IDENTITY, NO_INERTIA, Array, Inertia, Pose, rotation_from_angles

TURNING = ("revolute", "continuous")
KINDS = (*TURNING, "prismatic", "fixed", "floating", "planar")


def read_urdf(path: Path) -> "Robot":
    """Read a URDF file into a tree of links and joints.

    Raises
    ------
    ModelError
        If the file is no URDF, or an element has an impossible value; the error message names the
        element.
    """
    content = read_at_most(path, MOST_URDF_BYTES)
    try:
        return _robot(_parse(content))
    except ModelError as refusal:
        raise ModelError(f"{path}: {refusal}") from None


def _parse(content: bytes) -> ET.Element:
    """Return the root element of an XML text; texts with DOCTYPE or ENTITY are refused."""
    if len(content) > MOST_URDF_BYTES:
        raise ModelError(
            f"the file is larger than {MOST_URDF_BYTES:,} bytes. A URDF names its meshes and does "
            "not contain them."
        )
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ModelError(
            f"byte {error.start} of the file is not UTF-8. Save the file as UTF-8."
        ) from None
    declaration = re.search(r"<!\s*(DOCTYPE|ENTITY)", text, re.IGNORECASE)
    if declaration:
        line = text.count("\n", 0, declaration.start()) + 1
        raise ModelError(
            f"line {line}: <!{declaration[1]} is not allowed in a URDF, since entities may expand "
            "without end or read other files. Remove it."
        )
    encoding = re.match(r"\s*<\?xml[^>]*\sencoding\s*=\s*[\"']([^\"']*)", text)
    if encoding and encoding[1].lower() not in ("utf-8", "utf8") and not text.isascii():
        raise ModelError(
            f"the file declares the encoding '{shorten(encoding[1])}', but is read as UTF-8. Save "
            "it as UTF-8."
        )
    try:
        root = ET.fromstring(text)  # text is UTF-8, whatever encoding the file declares
    except ET.ParseError as error:
        raise ModelError(f"the file is not XML: {error}") from None
    for element in root.iter():
        if "xacro" in element.tag:
            raise ModelError(
                f"<{shorten(element.tag)}> is an element of xacro. Expand the file first by "
                "'xacro FILE.xacro > FILE.urdf'."
            )
    if root.tag != "robot":
        raise ModelError(
            f"the file must be a URDF, whose root is <robot>, got <{shorten(root.tag)}>"
        )
    return root


def _robot(root: ET.Element) -> "Robot":
    for kind in ("link", "joint"):
        elements = root.findall(kind)
        if len(elements) > MOST_URDF_LINKS:
            raise ModelError(f"the file has more than {MOST_URDF_LINKS} of <{kind}>")
        names = [_name(element, kind) for element in elements]
        for repeated in [name for i, name in enumerate(names) if name in names[:i]]:
            raise ModelError(f"{kind} '{repeated}' is there twice. Names must differ.")
    links = {element.name: element for element in map(_link, root.findall("link"))}
    joints = {element.name: element for element in map(_joint, root.findall("joint"))}
    if not links:
        raise ModelError("the <robot> has no <link>")
    for joint in joints.values():
        for end, name in (("parent", joint.parent), ("child", joint.child)):
            if name not in links:
                raise ModelError(
                    f"joint '{joint.name}': the {end} link '{name}' is not in the file"
                )
    robot = Robot(shorten(root.get("name") or "robot", 200), links, joints)
    _require_tree(robot)
    return robot


def _require_tree(robot: "Robot") -> None:
    """Raise an error for closed loops, links with two parents and links without a joint."""
    for joint in robot.joints.values():
        carrying_joint = robot.above[joint.child]
        if carrying_joint is not joint:
            raise ModelError(
                f"link '{joint.child}': joints '{joint.name}' and '{carrying_joint.name}' both "
                "carry it, which makes a closed loop. Remove one of them."
            )
    roots = [name for name in robot.links if name not in robot.above]
    if not roots:
        raise ModelError(
            "every link is carried by another link, which makes a closed loop. Leave one link, "
            "the base, without a joint that carries it."
        )
    if len(roots) > 1:
        names = ", ".join(roots[1:5])
        raise ModelError(
            f"no joint carries {names}. Every link except the base, {roots[0]}, must be carried "
            "by a joint."
        )
    connected = set(robot.below(roots[0]))
    disconnected = [name for name in robot.links if name not in connected]
    if disconnected:
        raise ModelError(
            f"link '{disconnected[0]}' is in a closed loop of joints that does not contain the base"
        )


def _name(element: ET.Element, kind: str) -> str:
    name = element.get("name")
    if not name:
        raise ModelError(f"a <{kind}> has no name. Give it one.")
    if len(name) > 200 or find_unprintable(name):
        raise ModelError(f"{kind} {shorten(repr(name))}: is not a valid name")
    return name


def _link(element: ET.Element) -> "UrdfLink":
    name = _name(element, "link")
    label = f"link '{name}'"
    inertial = element.find("inertial")
    geometries = tuple(
        _geometry(child, role)
        for role in ("visual", "collision")
        for child in element.findall(role)
    )[:MOST_GEOMETRIES]
    if inertial is None:
        return UrdfLink(name, NO_INERTIA, geometries)
    mass = _number(inertial.find("mass"), "value", f"{label}: mass")
    if not 0 <= mass <= LARGEST_MASS:
        raise ModelError(f"{label}: mass must be 0 to {LARGEST_MASS:g} kg, got {mass:g}")
    pose = _origin(inertial, f"{label}: inertial")
    matrix = _inertia(inertial.find("inertia"), mass, label)
    body = Inertia(mass, np.zeros(3), matrix).moved(pose)
    return UrdfLink(name, body, geometries, _no_body(matrix))


SIZES = {"mesh": (), "box": (), "cylinder": ("radius", "length"), "sphere": ("radius",)}


def _geometry(element: ET.Element, role: str) -> "Geometry":
    """Return a link's visual or collision geometry; an error is stored in it, not raised."""
    try:
        pose, geometry = _origin(element, f"its {role}"), element.find("geometry")
        shape = next((child for child in geometry or () if child.tag in SIZES), None)
        if shape is None:
            raise ModelError(f"the {role} must have one of {', '.join(SIZES)}")
        if shape.tag == "mesh":
            sizes = _three(shape, "scale", "its mesh", (1, 1, 1))
            return Geometry(role, "mesh", pose, sizes, shape.get("filename") or "")
        if shape.tag == "box":
            return Geometry(role, "box", pose, _three(shape, "size", "its box", (0, 0, 0)))
        lengths = [_number(shape, key, f"its {shape.tag}") for key in SIZES[shape.tag]]
        return Geometry(role, shape.tag, pose, tuple(lengths))
    except ModelError as refusal:
        return Geometry(role, "", IDENTITY, wrong=str(refusal))


def _inertia(element: ET.Element | None, mass: float, label: str) -> Array:
    """Return the inertia matrix of a link about its centre of mass [kg m^2], (3, 3)."""
    keys = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    if element is None:
        return np.zeros((3, 3))
    xx, xy, xz, yy, yz, zz = (_number(element, key, f"{label}: inertia") for key in keys)
    matrix = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    largest = float(np.linalg.eigvalsh(matrix)[-1])
    if largest > mass * LARGEST_GYRATION**2:
        raise ModelError(
            f"{label}: an inertia of {largest:g} kg m^2 at {mass:g} kg belongs to a body with a "
            f"size of {(math.sqrt(largest / mass) if mass else math.inf):.3g} m. Check that the "
            "units are kg m^2 and kg."
        )
    return matrix


def _no_body(matrix: Array) -> str:
    """Return the reason why an inertia matrix is impossible, or "" if it is possible."""
    smallest, middle, largest = np.linalg.eigvalsh(matrix).tolist()
    if largest <= (smallest + middle) * (1 + INERTIA_DIGITS):
        return ""
    return (
        f"its moments of inertia are {smallest:.3g}, {middle:.3g} and {largest:.3g} kg m^2. No "
        "body has one larger than the sum of the other two. Check the inertia in the "
        "URDF."
    )


def _joint(element: ET.Element) -> "UrdfJoint":
    name = _name(element, "joint")
    label, urdf_type = f"joint '{name}'", element.get("type", "")
    if urdf_type not in KINDS:
        raise ModelError(
            f"{label}: type must be one of {', '.join(KINDS)}, got '{shorten(urdf_type)}'"
        )
    ends = []
    for side in ("parent", "child"):
        end = element.find(side)
        if end is None or not end.get("link"):
            raise ModelError(f"{label}: <{side} link=...> is missing")
        ends.append(str(end.get("link")))
    xyz, rpy = _xyz_rpy(element.find("origin"), label)
    return UrdfJoint(
        name, urdf_type, ends[0], ends[1], xyz, rpy, _axis(element, label),
        _limits(element.find("limit"), urdf_type, label),
        _friction(element.find("dynamics"), label), element.find("mimic") is not None,
    )  # fmt: skip


def _axis(element: ET.Element, label: str) -> tuple[float, float, float]:
    direction = element.find("axis") if element.get("type") != "fixed" else None
    axis = _three(direction, "xyz", f"{label}: axis", (1.0, 0.0, 0.0))
    if not 1e-6 < math.hypot(*axis) < 1e6:
        raise ModelError(f"{label}: axis must be a direction, got {axis}")
    return axis


def _limits(element: ET.Element | None, urdf_type: str, label: str) -> dict[str, float]:
    """Return the limits of a joint by model-file key; limits that mean unlimited are omitted."""
    if element is None or urdf_type == "fixed":
        return {}
    names = {"lower": "lower", "upper": "upper", "velocity": "speed", "effort": "effort"}
    limits = {
        name: _number(element, key, f"{label}: limit") for key, name in names.items()
        if element.get(key) is not None
    }  # fmt: skip
    for key in ("lower", "upper"):
        limits.setdefault(key, 0.0)
        bound = LARGEST_ANGLE if urdf_type in TURNING else LARGEST_DISTANCE
        if bound < abs(limits[key]) < UNLIMITED_FROM:
            unit = "rad, since URDF uses radians" if urdf_type in TURNING else "m"
            raise ModelError(
                f"{label}: limit {key} must be within {bound:.4g} {unit}, "
                f"got {limits[key]:g}. Use type 'continuous' for a joint without limits."
            )
    lower, upper = limits["lower"], limits["upper"]
    if urdf_type == "continuous" or lower == upper == 0:
        limits.pop("lower"), limits.pop("upper")
    elif lower >= upper:
        raise ModelError(
            f"{label}: limit lower must be less than upper, got {lower:g} and {upper:g} (0 "
            "where it is left out). Use type 'continuous' for a joint without limits, and "
            "'fixed' for one that does not move."
        )
    return {
        key: value for key, value in limits.items()
        if (abs(value) < UNLIMITED_FROM or key == "effort")
        and (value > 0 or key in ("lower", "upper"))
    }  # fmt: skip


def _friction(element: ET.Element | None, label: str) -> dict[str, float]:
    """Return viscous and Coulomb friction of a joint by model-file key."""
    friction: dict[str, float] = {}
    for key, name in (("damping", "viscous"), ("friction", "coulomb")):
        if element is not None and element.get(key) is not None:
            value = _number(element, key, f"{label}: dynamics")
            if value < 0:
                raise ModelError(f"{label}: dynamics {key} must be >= 0, got {value:g}")
            friction |= {name: value} if value else {}
    return friction


def _origin(element: ET.Element, label: str) -> Pose:
    xyz, rpy = _xyz_rpy(element.find("origin"), label)
    return Pose(rotation_from_angles(rpy), np.array(xyz))


Triple = tuple[float, float, float]


def _xyz_rpy(element: ET.Element | None, label: str) -> tuple[Triple, Triple]:
    zeros = (0.0, 0.0, 0.0)
    xyz, rpy = (_three(element, key, f"{label}: origin", zeros) for key in ("xyz", "rpy"))
    if max(map(abs, xyz)) > LARGEST_DISTANCE:
        raise ModelError(f"{label}: origin xyz must be within {LARGEST_DISTANCE:g} m, got {xyz}. "
                         "URDF uses metres.")  # fmt: skip
    if max(map(abs, rpy)) > FULL_TURN:
        raise ModelError(f"{label}: origin rpy must be within a full turn of 2 pi rad, got "
                         f"{rpy}. URDF uses radians.")  # fmt: skip
    return xyz, rpy


def _three(element: ET.Element | None, key: str, label: str, default: Triple) -> Triple:
    text = None if element is None else element.get(key)
    if text is None:
        return default
    values = [_finite(word, f"{label} {key}") for word in text[:1000].split()]
    if len(values) != 3:
        raise ModelError(f"{label} {key}: must be three numbers, got '{shorten(text)}'")
    return values[0], values[1], values[2]


def _number(element: ET.Element | None, key: str, label: str) -> float:
    text = None if element is None else element.get(key)
    if text is None:
        raise ModelError(f"{label}: {key} is missing")
    return _finite(text, f"{label} {key}")


def _finite(text: str, label: str) -> float:
    value = read_number(text[:100])
    if math.isnan(value):
        raise ModelError(f"{label}: must be a finite number, got '{shorten(text)}'")
    return value


@dataclass(frozen=True)
class UrdfLink:
    """A link of a URDF: name, inertia in the link's frame, and geometries."""

    name: str
    body: Inertia
    looks: tuple["Geometry", ...] = ()
    no_body: str = ""  # reason why the inertia is impossible, or empty


@dataclass(frozen=True)
class Geometry:
    """Geometry of a URDF link: its role (visual or collision), kind, pose and size.

    ``sizes`` contains the scale factors of a mesh, or the sides, radius or length [m] of a solid.
    ``wrong`` is the reason why the geometry is invalid, or empty.
    """

    role: str
    kind: str
    pose: Pose
    sizes: tuple[float, ...] = ()
    file: str = ""
    wrong: str = ""


@dataclass(frozen=True)
class UrdfJoint:
    """A joint of a URDF, between a parent and a child link."""

    name: str
    urdf_type: str  # one of `KINDS`
    parent: str
    child: str
    # Position [m] and angles [rad] of the joint's frame in the parent's frame, at joint coordinate
    # 0.
    xyz: Triple
    rpy: Triple
    axis: Triple  # joint axis in the joint's frame
    # Limits and friction, by their keys in a model file.
    limits: dict[str, float]
    friction: dict[str, float]
    mimic: bool  # whether the joint follows another joint

    @property
    def pose(self) -> Pose:
        """Pose of the joint's frame in its parent's frame at coordinate 0."""
        return Pose(rotation_from_angles(self.rpy), np.array(self.xyz))

    @property
    def moves(self) -> bool:
        """Whether the joint is not fixed."""
        return self.urdf_type != "fixed"


@dataclass(frozen=True)
class Robot:
    """A URDF robot: links and joints by name, which form a tree."""

    name: str
    links: dict[str, UrdfLink]
    joints: dict[str, UrdfJoint]

    @cached_property
    def above(self) -> dict[str, UrdfJoint]:
        """Joint that carries each link, by the name of the link; the root link has no joint."""
        return {joint.child: joint for joint in self.joints.values()}

    @cached_property
    def root(self) -> str:
        """Name of the link that no joint carries."""
        return next(name for name in self.links if name not in self.above)

    @cached_property
    def carried(self) -> dict[str, list[UrdfJoint]]:
        """Joints by the name of their parent link, in the order of the file."""
        joints: dict[str, list[UrdfJoint]] = {name: [] for name in self.links}
        for joint in self.joints.values():
            joints[joint.parent].append(joint)
        return joints

    def below(self, link: str) -> Iterator[str]:
        """Yield the names of a link and of all links outboard of it."""
        pending = [link]
        while pending:
            name = pending.pop()
            yield name
            pending += [joint.child for joint in self.carried[name]]

    def path_to(self, tip: str) -> list[UrdfJoint]:
        """Return the joints on the path from the root to a link."""
        path: list[UrdfJoint] = []
        while tip in self.above:
            path.insert(0, self.above[tip])
            tip = path[0].parent
        return path

    def ends(self) -> list[str]:
        """Return the link carried by the last moving joint of each branch."""
        moving = [joint for joint in self.joints.values() if joint.moves]
        inner_links = {above.child for joint in moving for above in self.path_to(joint.parent)}
        return [joint.child for joint in moving if joint.child not in inner_links]


ONE_AXIS = ("revolute", "continuous", "prismatic")


def chain_of(robot: Robot, tip: str | None) -> "Chain":
    """Return all moving joints of a robot, or only those between its root and a link.

    Parameters
    ----------
    robot
        The tree of links and joints.
    tip
        Name of the link at the end of the only branch that moves; None if all joints move, and the
        tip is the end of the branch with most joints.

    Raises
    ------
    ModelError
        If the robot has no link ``tip``, or if a joint is of a kind that an arm cannot have.
    """
    ends = robot.ends()
    if not ends:
        raise ModelError(f"{robot.name}: no joint can move, since all joints are fixed")
    chosen = {joint.name for joint in robot.joints.values() if joint.moves}
    if tip is None:
        tip = max(ends, key=lambda end: sum(joint.moves for joint in robot.path_to(end)))
    else:
        chosen &= {joint.name for joint in robot.path_to(tip)}
    if tip not in robot.links:
        raise ModelError(f"--tip: there is no link '{tip}'. The branches end in {name_list(ends)}.")
    path = robot.path_to(tip)
    if not any(joint.moves for joint in path):
        raise ModelError(
            f"--tip: no joint moves the link '{tip}'. The branches end in {name_list(ends)}."
        )
    moving = _outwards(robot, path, chosen)
    for joint in moving:
        _require_single_axis(joint)
    segments = [_segment(robot, robot.root, path, moving)]
    segments += [_segment(robot, joint.child, path, moving) for joint in moving]
    return Chain(tip, tuple(moving), tuple(segments), tuple(_notes(robot, moving, segments, tip)))


def _outwards(robot: Robot, path: list[UrdfJoint], chosen: set[str]) -> list[UrdfJoint]:
    """Return the chosen joints from root to ends; on each link, the joint of ``path`` is last."""
    towards, result = {joint.name for joint in path}, list[UrdfJoint]()
    pending = [*robot.carried[robot.root]]
    pending.sort(key=lambda joint: joint.name not in towards)
    while pending:
        joint = pending.pop()
        if joint.name in chosen:
            result.append(joint)
        elif joint.moves:
            continue
        pending += sorted(
            robot.carried[joint.child], key=lambda carried: carried.name not in towards
        )
    return result


def name_list(names: list[str]) -> str:
    """Return up to twelve names as text, and the number of the others."""
    text = ", ".join(names[:12])
    return text if len(names) <= 12 else f"{text} and {len(names) - 12} more"


def _require_single_axis(joint: UrdfJoint) -> None:
    if joint.urdf_type not in ONE_AXIS:
        raise ModelError(
            f"joint '{joint.name}': is {joint.urdf_type}, which in an arm only the base "
            f"can be. Make the joint fixed, and write 'base: {{kind: free}}' in the model file."
        )
    if joint.mimic:
        raise ModelError(
            f"joint '{joint.name}': follows another joint (mimic), which is not supported. "
            "Choose another tip (--tip), or make the joint fixed."
        )


def _segment(robot: Robot, start: str, path: list[UrdfJoint], moving: list[UrdfJoint]) -> "Segment":
    """Return a segment: a link, and all links fixed to it up to the next moving joints."""
    order = {joint.name: k for k, joint in enumerate(moving)}
    end, frozen, exits = IDENTITY, list[str](), dict[str, Pose]()
    members: list[SegmentMember] = []
    pending: list[tuple[str, Pose, int | None]] = [(start, IDENTITY, None)]
    while pending:
        name, pose, carrier = pending.pop()
        members.append(SegmentMember(name, pose, robot.links[name].body.moved(pose), carrier))
        index = len(members) - 1
        if name == path[-1].child:
            end = pose
        for joint in robot.carried[name]:
            if joint.name in order:
                exits[joint.name] = pose @ joint.pose
                continue
            if joint.moves:
                frozen.append(joint.name)
            pending.append((joint.child, pose @ joint.pose, index))
    if exits:
        end = exits[max(exits, key=lambda name: order[name])]
    return Segment(start, end, tuple(members), tuple(frozen), exits)


def _notes(
    robot: Robot, moving: list[UrdfJoint], segments: list["Segment"], tip: str
) -> Iterator[str]:
    yield f"{len(moving)} joint{'s' * (len(moving) != 1)} from {robot.root} to {tip}"
    branches = [
        f"{segment.name} ({name_list(list(segment.exits))})"
        for segment in segments
        if len(segment.exits) > 1
    ]
    if branches:
        yield f"branches at {', '.join(branches)}"
    for segment in segments:
        if segment.merged:
            yield f"{segment.name}: with {name_list(list(segment.merged))}, fixed to it"
        if segment.frozen:
            yield (
                f"{segment.name}: joints {name_list(list(segment.frozen))} branch off and are "
                "frozen at 0"
            )
    for segment in segments[1:]:
        for member in segment.members:
            if problem := robot.links[member.name].no_body:
                yield f"{member.name}: {problem}"


def plain_names(names: list[str]) -> list[str]:
    """Return distinct names allowed in a model file, made from names of a URDF."""
    result: list[str] = []
    for name in names:
        word = re.sub(r"[\s.\[\]=,:]", "_", CONTROL.sub("_", name))[: NAME_LENGTH - 4]
        candidate, k = word, 2
        while candidate in (*result, "base"):
            candidate, k = f"{word}_{k}", k + 1
        result.append(candidate)
    return result


@dataclass(frozen=True)
class SegmentMember:
    """URDF link of a segment, with pose and inertia in the segment's frame."""

    name: str
    pose: Pose  # pose of the joint that carries the link
    body: Inertia
    carrier: int | None  # index of the member that carries the link; None for the first


@dataclass(frozen=True)
class Segment:
    """URDF links that move as one rigid body: a link on a moving joint, and links fixed to it."""

    name: str  # name of the link on the moving joint, whose frame is the segment's frame
    end: Pose  # frame of the next joint, or of the tip, in the segment's frame
    # Links of the segment: first the link on the moving joint, then each link after its carrier.
    members: tuple[SegmentMember, ...]
    frozen: tuple[str, ...]  # names of joints off the path, which do not move
    exits: dict[str, Pose]  # frames of the moving joints on the segment, by their names

    @property
    def body(self) -> Inertia:
        """Inertia of all links of the segment, in the segment's frame."""
        return sum((member.body for member in self.members), NO_INERTIA)

    @property
    def merged(self) -> tuple[str, ...]:
        """Names of the links that are fixed to the segment's first link."""
        return tuple(member.name for member in self.members[1:])


@dataclass(frozen=True)
class Chain:
    """Moving joints of a robot from the base outwards, with their segments.

    The first segment is the base.
    """

    tip: str
    joints: tuple[UrdfJoint, ...]
    segments: tuple[Segment, ...]
    notes: tuple[str, ...]

    def carrier(self, k: int) -> int:
        """Return the index of the segment on which a joint is mounted."""
        name = self.joints[k].name
        return next(i for i, segment in enumerate(self.segments) if name in segment.exits)
