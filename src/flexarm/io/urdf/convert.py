"""Conversion of a URDF to an arm; a side file makes links and joints flexible."""

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
from pydantic import ValidationError

from flexarm.arguments import require_path
from flexarm.arm import Arm, Link
from flexarm.arm.joint import Actuated
from flexarm.arm.part import CONTROL
from flexarm.arm.side_files import read_regular
from flexarm.errors import ModelError
from flexarm.io.constants import PACKAGE_LEVELS, ROUNDED_ZERO
from flexarm.io.explain import explain_data
from flexarm.io.meshes import Surface, coarser, read_mesh, solid, write_stl
from flexarm.io.model_file import files_beside, read_content
from flexarm.io.source import Diagnostic, Source, read, report, shorten
from flexarm.io.urdf.beam import (
    OWN_KEYS,
    Beam,
    MassShare,
    beam_of,
    central_without_rounding,
    table_of,
)
from flexarm.io.urdf.document import (
    Chain,
    Geometry,
    Robot,
    Segment,
    UrdfJoint,
    UrdfLink,
    chain_of,
    name_list,
    plain_names,
    read_urdf,
)
from flexarm.spatial import IDENTITY, NO_INERTIA, Inertia, Pose, angles_from_rotation
from flexarm.units import quantity


def picture(
    robot: Robot, segment: Segment, root: Pose, urdf: Path, reasons: dict[str, list[str]]
) -> bytes | None:
    """Return a mesh of the links of a segment as STL bytes, in metres; None if empty.

    The mesh is in the frame ``root``. Visual geometries of a link are used, or its collision
    geometries if a visual geometry is unreadable. Names of links with unreadable geometries are
    added to ``reasons``.
    """
    points, faces, count = [], [], 0
    for member in segment.members:
        pose = root.inverse() @ member.pose
        for points_in_link, corners in _visual_surfaces(robot.links[member.name], urdf, reasons):
            points.append(points_in_link @ pose.rotation.T + pose.position)
            faces.append(corners + count)
            count += len(points_in_link)
    if not points:
        return None
    surface = coarser(np.concatenate(points), np.concatenate(faces))
    if not len(surface[1]):
        reasons.setdefault("not drawn, since it is too small", []).append(segment.name)
        return None
    return write_stl(*surface)


def _visual_surfaces(link: UrdfLink, urdf: Path, reasons: dict[str, list[str]]) -> list[Surface]:
    """Return the visual meshes of a link, or its collision meshes if a visual one is unreadable."""
    messages: list[str] = []
    for role in ("visual", "collision"):
        surfaces, failures = [], []
        for geometry in (geometry for geometry in link.looks if geometry.role == role):
            try:
                points, faces = _surface(geometry, urdf)
                surfaces.append((points @ geometry.pose.rotation.T + geometry.pose.position, faces))
            except ModelError as error:
                failures.append(str(error))
        messages += failures
        if surfaces and not failures:
            break
        surfaces = []
    if messages:
        outcome = "drawn by what collides" if surfaces else "not drawn"
        reasons.setdefault(f"{outcome}, since {messages[0]}", []).append(link.name)
    return surfaces


def _surface(geometry: Geometry, urdf: Path) -> Surface:
    """Return the mesh of a URDF geometry in the geometry's own frame."""
    if geometry.wrong:
        raise ModelError(geometry.wrong)
    sizes = np.array(geometry.sizes)
    if geometry.kind == "mesh":
        path = _mesh_path(geometry.file, urdf)
        try:
            points, faces = read_mesh(read_regular(path), path.name)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise ModelError(f"{shorten(geometry.file)} cannot be read: {reason}") from None
        return points * sizes, faces
    if not (sizes > 0).all():
        raise ModelError(f"the {geometry.kind} of this shape has no size")
    return solid(geometry.kind, sizes)


def _mesh_path(name: str, urdf: Path) -> Path:
    """Return the path of a mesh file, relative to the URDF, absolute, or in a package folder."""
    kind, separator, address = name.partition("://")
    folders = [urdf.resolve().parent, *urdf.resolve().parent.parents][:PACKAGE_LEVELS]
    if not separator:
        candidates = [folders[0] / kind]
    elif kind == "file":
        candidates = [Path(unquote(address))]
    elif kind in ("package", "model"):
        candidates = [
            folder / part for part in (address, address.partition("/")[2]) for folder in folders
        ]
    else:
        raise ModelError(
            f"{shorten(name)} is an address on the network, which is not downloaded. Give a file."
        )
    path = next((candidate for candidate in candidates if os.path.isfile(candidate)), None)
    if path is None:
        raise ModelError(f"there is no file {shorten(name)}")
    return path


OF_ARM = ("gravity", "stiffening", "notes")
OF_LINKS = {*Link.model_fields, *OWN_KEYS} - {
    "name", "joint", "length", "body", "root_piece", "tip_piece", "mesh"
}  # fmt: skip


def import_urdf(
    path: str | Path,
    *,
    flex: str | Path | None = None,
    tip: str | None = None,
    meshes: str | None = None,
) -> tuple[Arm, tuple[str, ...]]:
    """Convert a URDF to an arm.

    Parameters
    ----------
    path
        The URDF, with xacro already expanded.
    flex
        Side file that makes links and joints flexible, by their names; if None, all links and
        joints are rigid.
    tip
        Name of the link at the end of the only branch that moves; None if all joints move.
    meshes
        Folder for the links' mesh files, beside the model file that will be written; no meshes if
        None. The arm already contains these files' data (`flexarm.arm.side_files.parts_beside`).

    Returns
    -------
    arm, notes
        The arm, and lines of text on merged links, frozen joints, changed names, guessed values,
        and the division of each link's mass.

    Raises
    ------
    ModelError
        If a file cannot be read or trusted, or does not describe an arm.
    """
    path = require_path("path", path, ModelError)
    robot = read_urdf(path)
    try:
        chain = chain_of(robot, tip)
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from None
    side = None if flex is None else _read_side(require_path("flex", flex, ModelError), chain)
    names = plain_names(
        [name for joint in chain.joints for name in (joint.child, joint.name)] + [chain.tip]
    )
    source = str(path) if side is None else str(flex)
    beams = _beams(chain, side or _NONE, source)
    draft = _Draft(CONTROL.sub("_", robot.name), chain, side or _NONE, names, beams)
    notes = [*chain.notes, *draft.renamed(), *draft.moved()]
    notes += [note for beam in beams.values() for note in beam.notes]
    reasons: dict[str, list[str]] = {}
    for k, segment in enumerate(chain.segments if meshes is not None else ()):
        carrier = "base" if k == 0 else names[2 * k - 2]
        stl = picture(robot, segment, draft.root(k), path, reasons)
        if stl is not None:
            draft.pictures[k] = (f"{meshes}/{re.sub('[^A-Za-z0-9_-]', '_', carrier)}.stl", stl)
    notes += [f"{name_list(names)}: {reason}" for reason, names in reasons.items()]
    notes += table_of(_shares(chain, beams))
    return draft.arm(source, Path(flex or path)), tuple(notes)


def _read_side(path: Path, chain: Chain) -> Source:
    """Return the contents of a side file; raise an error for unknown links, joints and keys."""
    source = read(read_content(path), str(path))
    problems = list(source.problems)
    movable = {
        "links": {segment.name for segment in chain.segments[1:]},
        "joints": {joint.name for joint in chain.joints},
    }
    keys = {"links": OF_LINKS, "joints": set(Actuated.model_fields)}
    for key, value in source.data.items():
        if key not in ("links", "joints", *OF_ARM):
            message = f"must be links, joints, {', '.join(OF_ARM[:-1])} or {OF_ARM[-1]}"
            problems.append(_problem(source, (key,), message))
        elif key in movable and not isinstance(value, dict):
            problems.append(_problem(source, (key,), "must be a mapping of names"))
        elif key in movable:
            problems += _wrong_names(source, key, movable[key], keys[key], chain)
    if problems:
        raise ModelError(report(str(path), problems))
    return source


def _wrong_names(
    source: Source, key: str, movable: set[str], words: set[str], chain: Chain
) -> list[Diagnostic]:
    problems = []
    for name, keys in source.data[key].items():
        if name not in movable:
            carrier = next(
                (segment.name for segment in chain.segments if name in segment.merged), None
            )
            reason = (
                f"is fixed to {carrier}. Write this for that link."
                if carrier
                else ("is no moving joint of the arm")
            )
            message = f"{reason}. There are {', '.join(sorted(movable))}."
            problems.append(_problem(source, (key, name), message))
        elif not isinstance(keys, dict):
            problems.append(_problem(source, (key, name), "must be a mapping"))
        else:
            for word in sorted(set(keys) - words):
                message = f"is no key here. There are {', '.join(sorted(words))}."
                problems.append(_problem(source, (key, name, word), message))
            if key == "links" and not isinstance(keys.get("section"), dict):
                message = "needs a section, which makes it flexible"
                problems.append(_problem(source, (key, name), message))
    return problems


def _problem(source: Source, path: tuple[str | int, ...], message: str) -> Diagnostic:
    return Diagnostic(source.locate(path), path, message)


_NONE = Source({}, {}, {(): (1, 1)}, ())


def _beams(chain: Chain, side: Source, source: str) -> dict[int, Beam]:
    """Return the beams of the links that the side file makes flexible, by segment index."""
    flexible, beams = side.data.get("links", {}), {}
    for k, segment in enumerate(chain.segments):
        if k == 0 or segment.name not in flexible:
            continue
        try:
            beams[k] = beam_of(segment, flexible[segment.name])
        except ModelError as error:
            path = ("links", segment.name)
            problem = _problem(side, path, str(error))
            raise ModelError(report(source, [problem])) from None
    return beams


def _shares(chain: Chain, beams: dict[int, Beam]) -> list[MassShare]:
    """Return how the mass of each link is divided, from base to tip."""
    shares: list[MassShare] = []
    for k, segment in enumerate(chain.segments):
        if k in beams:
            shares += beams[k].shares
            continue
        for member in segment.members:
            mass, part = member.body.mass, "rigid" if k else "base"
            shares.append(((member.name,), {"urdf": mass, part: mass}))
    return shares


@dataclass(frozen=True)
class _Draft:
    """Intermediate data of a conversion: chain, side file, names, beams and meshes."""

    name: str
    chain: Chain
    side: Source
    names: list[str]
    beams: dict[int, Beam]  # flexible beams, by index of the segment
    pictures: dict[int, tuple[str, bytes]] = field(default_factory=dict)

    def root(self, k: int) -> Pose:
        """Return the root frame of a link, or of its beam, in the frame of the link's segment."""
        return self.beams[k].pose if k in self.beams else IDENTITY

    def arm(self, source: str, path: Path) -> Arm:
        """Return the validated arm; error messages refer to positions in the side file."""
        data = self._data()
        try:
            files = files_beside(path.parent)
            for name, content in self.pictures.values():
                files.put(name, content)
            return Arm.model_validate(data, context={"files": files})
        except ValidationError as error:
            problems = [
                Diagnostic(self.side.locate(side_path), side_path, mistake.message)
                for mistake in explain_data(error, Arm, data)
                for side_path in [self._whence(mistake.path)]
            ]
        if self.side is _NONE:
            raise ModelError("\n".join(f"{source}: {problem}" for problem in problems))
        raise ModelError(report(source, problems))

    def _whence(self, path: tuple[str | int, ...]) -> tuple[str | int, ...]:
        """Return the side-file path that corresponds to a path in the arm's data."""
        if len(path) < 2 or not isinstance(path[1], int) or path[1] >= len(self.chain.joints):
            return path
        if path[2:3] == ("joint",):
            return ("joints", self.chain.joints[path[1]].name, *path[3:])
        return ("links", self.chain.segments[path[1] + 1].name, *path[2:])

    def _data(self) -> dict[str, Any]:
        data: dict[str, Any] = {"flexarm": 1, "name": self.name}
        data |= {key: self.side.data[key] for key in OF_ARM if key in self.side.data}
        meshes = {k: {"mesh": {"file": file}} for k, (file, _) in self.pictures.items()}
        data |= {"base": {"kind": "fixed"} | meshes[0]} if 0 in meshes else {}
        links = list[dict[str, Any]]()
        for k, joint in enumerate(self.chain.joints):
            links.append(self._link(k, joint) | meshes.get(k + 1, {}))
        end, tip_body = self._end(len(self.chain.joints))
        has_tip_frame = (
            max(np.abs(end.position).max(), np.abs(end.rotation - np.eye(3)).max()) > 1e-12
        )
        if has_tip_frame or tip_body.weighs:
            body = {"body": _body(tip_body)} if tip_body.weighs else {}
            fixed_joint = {"kind": "fixed", "before": _frame(end)}
            links.append({"name": self.names[-1], "joint": fixed_joint} | body)
        return data | {"links": links}

    def _end(self, index: int) -> tuple[Pose, Inertia]:
        """Return the end of a segment, and the body at its beam's tip, in the link's tip frame."""
        segment, beam = self.chain.segments[index], self.beams.get(index)
        if beam is None:
            return segment.end, NO_INERTIA
        tip = beam.pose @ Pose.along(beam.length)
        return tip.inverse() @ segment.end, beam.tip.moved(segment.end.inverse())

    def _mount(self, k: int) -> tuple[dict[str, Any], Pose, Inertia]:
        """Return the keys that place a joint on its parent, its pose, and a body mounted there.

        The joint at the end of the parent's beam gets the body at the beam's tip. Joints along the
        beam are attached to the nearest section.
        """
        index, name = self.chain.carrier(k), self.chain.joints[k].name
        segment, beam = self.chain.segments[index], self.beams.get(index)
        keys = {}
        if index != k:
            keys = {"parent": "base" if index == 0 else self.names[2 * index - 2]}
        if name == [joint.name for joint in self.chain.joints if joint.name in segment.exits][-1]:
            return keys, *self._end(index)
        place = segment.exits[name]
        if beam is None:
            return keys, place, NO_INERTIA
        along = float(np.clip((beam.pose.inverse() @ place).position[0] / beam.length, 0, 1))
        section = beam.pose @ Pose.along(along * beam.length)
        return keys | {"at": along}, section.inverse() @ place, NO_INERTIA

    def _link(self, k: int, joint: UrdfJoint) -> dict[str, Any]:
        """Return the data, as in a model file, of a link and its joint."""
        mount, place, tip_body = self._mount(k)
        segment, beam = self.chain.segments[k + 1], self.beams.get(k + 1)
        keeps_angles = k not in self.beams and np.array_equal(place.rotation, joint.pose.rotation)
        frame = _frame(place) | ({"rotation": list(joint.rpy)} if keeps_angles else {})
        joint_data: dict[str, Any] = {
            "name": self.names[2 * k + 1],
            "kind": "prismatic" if joint.urdf_type == "prismatic" else "revolute",
            "before": frame, "axis": list(joint.axis),
        }  # fmt: skip
        link: dict[str, Any] = {"name": self.names[2 * k]} | mount
        if beam is not None and not segment.exits and k + 1 < len(self.chain.joints):
            payload = self._end(k + 1)[1].moved(self._end(k + 1)[0])
            link |= {"payload": _body(payload)} if payload.weighs else {}
        joint_data |= self._acting(joint)
        hub = {"inboard": _body(tip_body)} if tip_body.weighs else {}
        if beam is None:
            joint_data |= {"hub": hub} if hub else {}
            body = segment.body
            return link | {"joint": joint_data} | ({"body": _body(body)} if body.weighs else {})
        joint_data["after"] = _frame(beam.pose)
        hub |= {"outboard": _body(beam.root)} if beam.root.weighs else {}
        joint_data |= {"hub": hub} if hub else {}
        keys = self.side.data["links"][segment.name]
        side_keys = {key: value for key, value in keys.items() if key not in OWN_KEYS}
        return link | {"joint": joint_data, "length": beam.length} | side_keys | {
            "section": beam.section
        }  # fmt: skip

    def _acting(self, joint: UrdfJoint) -> dict[str, Any]:
        """Return limits, friction and start of a joint; keys of the side file take precedence."""
        start = self._start(joint)
        keys: dict[str, Any] = {"limits": joint.limits, "friction": joint.friction}
        keys["start"] = {} if start is None else {"position": start[0]}
        keys = {key: value for key, value in keys.items() if value}
        for key, value in self.side.data.get("joints", {}).get(joint.name, {}).items():
            is_merged = isinstance(value, dict) and key in keys
            keys[key] = keys[key] | value if is_merged else value
        return keys

    def _start(self, joint: UrdfJoint) -> tuple[float, str] | None:
        """Return the initial position of a joint whose limits exclude 0, with a reason, or None."""
        side_keys = self.side.data.get("joints", {}).get(joint.name, {})
        start, side_limits = side_keys.get("start", {}), side_keys.get("limits", {})
        is_given = not isinstance(start, dict) or "position" in start or "motion" in side_keys
        if is_given or not isinstance(side_limits, dict):
            return None
        unit = "m" if joint.urdf_type == "prismatic" else "rad"
        lower, upper = (
            _limit_value((joint.limits | side_limits).get(key), unit) for key in ("lower", "upper")
        )
        if (lower is None or lower <= 0) and (upper is None or upper >= 0):
            return None
        if lower is not None and upper is not None:
            return (lower + upper) / 2, "the middle of its limits"
        return (
            (upper, "its upper limit") if upper is not None else (lower or 0.0, "its lower limit")
        )

    def moved(self) -> list[str]:
        """Return notes on the joints that do not start at 0."""
        return [
            f"{joint.name}: starts at {start[0]:.4g}, {start[1]}, since its limits exclude 0"
            for joint in self.chain.joints
            if (start := self._start(joint)) is not None
        ]

    def renamed(self) -> list[str]:
        """Return notes on names that were changed because model files do not allow them."""
        names = [name for joint in self.chain.joints for name in (joint.child, joint.name)]
        pairs = zip(names, self.names, strict=False)
        return [f"{old} is called {new} here" for old, new in pairs if old != new]


def _limit_value(value: object, unit: str) -> float | None:
    """Return a limit as a number; None if it is invalid, which validation reports later."""
    try:
        return None if value is None else quantity(value, unit)
    except ModelError:
        return None


def _frame(pose: Pose) -> dict[str, list[float]]:
    return {
        "position": _without_rounding(pose.position.tolist()),
        "rotation": _without_rounding(angles_from_rotation(pose.rotation)),
    }


def _body(body: Inertia) -> dict[str, Any]:
    return {
        "mass": body.mass,
        "com": _without_rounding(body.centre.tolist()),
        "inertia": _without_rounding(central_without_rounding(body)),
    }


def _without_rounding(values: list[float]) -> list[float]:
    return [0.0 if abs(value) < ROUNDED_ZERO else float(value) for value in values]
