"""What a run holds, by name and with units: the variables of its dataset, file and table."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from flexarm.io.model_file import dumps
from flexarm.links.base import Array
from flexarm.mechanics.deformed import along, flexible_links, read_stations, section_forces
from flexarm.model import Model
from flexarm.runs.data import RunData
from flexarm.runs.forces import joint_wrenches

FILE = "model_file_"  # variables with the bytes of files that the model file names
FORMAT = 1
CHECKSUMS = "checksums"  # attribute
DRIVE_UNITS = {"current": "A", "integral": "of the input", "held": "of the input"}
DRIVE_STATES = (
    "bristles [rad, m], currents [A], integrals of servos and what they hold [of the input]"
)
ENERGIES = ("kinetic", "elastic", "gravitational")
WORKS = {
    "work_inputs": "work done so far by the inputs",
    "work_wrenches": "work done so far by the wrenches of the model file",
    "work_prescribed": "work done so far by prescribed joints and a moved base",
    "dissipated": "energy taken so far by damping, friction and impacts",
    "brought": "energy of bodies captured so far, less that of bodies let go",
}
# Of an arm on a free base, in the order of a run's ``momentum`` and ``impulse``.
MOMENTUM = {
    "momentum": ("N s", "momentum of all that moves"),
    "angular_momentum": ("N m s", "angular momentum of all that moves, about the world's origin"),
    "base_momentum": ("N s", "momentum of the base relative to the centre of mass"),
    "base_angular_momentum": ("N m s", "angular momentum of the base, about the centre of mass"),
    "centre_of_mass": ("m", "centre of mass of all that moves"),
}
IMPULSE = {
    "impulse": ("N s", "impulse of outer forces so far, with the momentum of bodies captured"),
    "angular_impulse": ("N m s", "the same of angular momentum, about the world's origin"),
}
XYZ = np.array(["x", "y", "z"], dtype=object)


@dataclass(frozen=True)
class Variable:
    """Numbers or words with a name for each axis, a unit and a description.

    A variable that is named as its only axis has the labels of that axis.
    """

    name: str
    axes: tuple[str, ...]
    values: NDArray[Any]
    unit: str
    meaning: str


def attributes(run: RunData) -> dict[str, str | int | float]:
    """List what is said of a run as a whole; the arm as the text of a model file."""
    from importlib.metadata import version

    return {
        "flexarm_run": FORMAT,
        "flexarm_version": version("flexarm"),
        "arm": run.model.arm.name,
        "status": run.status,
        "reason": run.reason,
        "method": run.method,
        "why": run.why,
        "rtol": run.rtol,
        "formulation": run.formulation,
        "paper": int(run.paper),
        "tip_rotation": run.model.tip_rotation,
        "link_theory": run.model.link_theory,
        "nodes": run.model.nodes or 0,
        "own_inputs": int(run.own),
        "steps": run.statistics.steps,
        "rejections": run.statistics.rejections,
        "evaluations": run.statistics.evaluations,
        "cpu_seconds": run.statistics.cpu_seconds,
        "energy_balance": run.energy_balance,
        **({} if run.momentum_balance is None else {"momentum_balance": run.momentum_balance}),
        "happenings": json.dumps([[each.t, each.what, each.lost] for each in run.happenings]),
        "pending": json.dumps([list(astuple(each)) for each in run.pending]),
        "legs": json.dumps([leg.as_list() for leg in run.legs]),
        "drives": json.dumps([list(run.losses), list(run.drives.states if run.drives else ())]),
        "model_file": dumps(run.model.arm),
    }


def checksums(variables: Sequence[Variable], attrs: Mapping[str, str | int | float]) -> str:
    """Return the checksums of variables and attributes by name, as JSON."""
    found = {
        "variables": {x.name: variable_checksum(x.values, x.unit, x.meaning) for x in variables},
        "attributes": {name: attribute_checksum(value) for name, value in attrs.items()},
    }
    return json.dumps(found)


def variable_checksum(values: NDArray[Any], unit: str, meaning: str) -> str:
    """Compute a checksum of numbers, bytes or words, which does not depend on how they are kept."""
    digest = hashlib.sha256(repr((unit, meaning, values.shape)).encode())
    if values.dtype == object:
        digest.update(repr(values.tolist()).encode())
    else:
        digest.update(values.astype("<f8" if values.dtype.kind == "f" else "u1").tobytes())
    return digest.hexdigest()


def attribute_checksum(value: str | float) -> str:
    """Compute a checksum of a text or number."""
    plain = value if isinstance(value, str) else float(value)
    return hashlib.sha256(repr(plain).encode()).hexdigest()


def main_variables(run: RunData) -> list[Variable]:
    """List states, inputs, tip, energies and works."""
    names, units = run.model.names, run.model.units
    base = "unit of the coordinate, see 'unit'"
    found = [
        Variable("time", ("time",), run.t, "s", "time"),
        Variable("coordinate", ("coordinate",), _words(names), "", "names of the coordinates"),
        Variable("unit", ("coordinate",), _words(units), "", "units of the coordinates"),
        Variable("q", ("time", "coordinate"), run.q, base, "coordinates"),
        Variable("v", ("time", "coordinate"), run.v, f"{base}, per s", "rates of coordinates"),
    ]
    driven, turned = input_units(run.model), quaternions(run.tip_rotation)
    found += [
        Variable("input", ("input",), _words(list(driven)), "", "driven joints"),
        Variable("input_unit", ("input",), _words(list(driven.values())), "", "input units"),
        Variable("u", ("time", "input"), run.u, "see 'input_unit'", "inputs of driven joints"),
        Variable("axis", ("axis",), XYZ, "", "axes x, y, z"),
        Variable("component", ("component",), _words("wxyz"), "", "parts of a quaternion"),
        Variable("tip_position", ("time", "axis"), run.tip, "m", "arm's tip in the world"),
        Variable("tip_quaternion", ("time", "component"), turned, "1", "attitude of the arm's tip"),
        Variable(
            "tip_rotation", ("time", "axis", "tip_axis"), run.tip_rotation, "1",
            "tip's axes (columns) in the world",
        ),
    ]  # fmt: skip
    for k, name in enumerate(ENERGIES):
        found.append(Variable(name, ("time",), run.energy[:, k], "J", f"{name} energy"))
    for k, (name, meaning) in enumerate(WORKS.items()):
        found.append(Variable(name, ("time",), run.works[:, k], "J", meaning))
    if run.momentum.shape[1]:
        values = [*np.split(run.momentum, len(MOMENTUM), axis=1), *np.split(run.impulse, 2, axis=1)]
        known = (MOMENTUM | IMPULSE).items()
        found += [
            Variable(name, ("time", "axis"), rows, unit, f"{meaning}, in inertial axes")
            for rows, (name, (unit, meaning)) in zip(values, known, strict=True)
        ]
    found += drive_variables(run)
    axes = ("time", "axis", "anchor_axis")
    for k, (name, owner) in enumerate(anchor_names(run.model)):
        meaning = f"axes that the angles of {owner} are about"
        found.append(Variable(name, axes, run.anchors[:, 3 * k : 3 * k + 3], "1", meaning))
    return found


def drive_variables(run: RunData) -> list[Variable]:
    """List what energy was lost in by name, and what drive trains did; nothing if there is none."""
    found = []
    if run.losses:
        lost, axes = np.stack(list(run.losses.values()), axis=1), ("time", "account")
        found += [
            Variable("account", ("account",), _words(run.losses), "", "what energy is lost in"),
            Variable("lost", axes, lost, "J", "parts of what was dissipated so far"),
        ]
    if run.drives is not None:
        push, unit = run.drives.push, "effort of the coordinate"
        found += [
            Variable("drive_push", ("time", "coordinate"), push, unit, "by friction and windings"),
            Variable("drive_energy", ("time",), run.drives.stored, "J", "in bristles and windings"),
        ]
    if run.drives is not None and run.drives.states:
        states, names = run.drives.states, _words(run.drives.states)
        found += [
            Variable("drive_state", ("drive_state",), names, "", DRIVE_STATES),
            Variable("drive", ("time", "drive_state"), np.stack(list(states.values()), axis=1),
                     "see 'drive_state'", "states of drive trains"),
        ]  # fmt: skip
    return found


def anchor_names(model: Model) -> list[tuple[str, str]]:
    """Name the variables with the anchors of a run, and what each is of."""
    balls = [part.joint_name for part in model.links if part.motion.anchored]
    base = [("anchor", "the base")] if model.floats else []
    return base + [(f"anchor_{name}", name) for name in balls]


def along_variables(run: RunData, stations: ArrayLike | None) -> list[Variable]:
    """List deflection, slope and twist along the flexible links."""
    places = read_stations(stations)
    rows = [along(run.model, part, run.q, places) for part in flexible_links(run.model)]
    axes, vectors = ("time", "link", "station"), ("time", "link", "station", "axis")
    deflections, slopes = [row.deflection for row in rows], [row.slope for row in rows]
    return [
        *_labels(run.model, places),
        Variable(
            "deflection", vectors, _by_link(run, places, deflections, 3),
            "m", "displacement from the undeformed link, in the axes of its root",
        ),
        Variable(
            "slope", vectors, _by_link(run, places, slopes, 3),
            "1", "derivative of the deflection along the link",
        ),
        Variable(
            "twist", axes, _by_link(run, places, [row.twist for row in rows]),
            "rad", "rotation about the link's axis",
        ),
    ]  # fmt: skip


def force_variables(run: RunData, stations: ArrayLike | None) -> list[Variable]:
    """List section forces, moments and strains along the flexible links."""
    places = read_stations(stations)
    rows = [section_forces(run.model, part, run.q, places) for part in flexible_links(run.model)]
    axes, vectors = ("time", "link", "station"), ("time", "link", "station", "axis")
    return [
        Variable("time", ("time",), run.t, "s", "time"),
        Variable("axis", ("axis",), XYZ, "", "axes x, y, z"),
        *_labels(run.model, places),
        Variable(
            "force", vectors, _by_link(run, places, [row.force for row in rows], 3), "N",
            "tension (x) and shear that the outboard part exerts, in the axes of the section; "
            "not a number where the link is rigid",
        ),
        Variable(
            "moment", vectors, _by_link(run, places, [row.moment for row in rows], 3), "N m",
            "torsion (x) and bending moment that the outboard part exerts, in the axes of the "
            "section; not a number where the link is rigid",
        ),
        Variable(
            "strain", axes, _by_link(run, places, [row.strain for row in rows]), "1",
            "largest strain along the fibres of the section; unless the model file gives the "
            "section by material and shape, of its axis, or not a number without shapes of stretch",
        ),
    ]  # fmt: skip


def _by_link(run: RunData, places: Array, rows: list[Array], *vector: int) -> Array:
    """Stack arrays of flexible links, (T, links, stations, ...); a rigid arm has 0 of them."""
    return np.stack(rows, axis=1) if rows else np.zeros((len(run.t), 0, len(places), *vector))


def wrench_variables(run: RunData) -> list[Variable]:
    """List what each joint transmits to its link."""
    wrenches = joint_wrenches(run)
    names = _words([part.joint_name for part in run.model.links])
    said = "that the joint exerts on its link, at the joint, in the world"
    return [
        Variable("time", ("time",), run.t, "s", "time"),
        Variable("joint", ("joint",), names, "", "joints"),
        Variable("axis", ("axis",), XYZ, "", "axes x, y, z"),
        Variable("force", ("time", "joint", "axis"), wrenches[:, :, :3], "N", f"force {said}"),
        Variable("torque", ("time", "joint", "axis"), wrenches[:, :, 3:], "N m", f"torque {said}"),
    ]


def table_columns(run: RunData) -> Iterator[tuple[str, Array]]:
    """List the columns of a run's table: header with unit, values (T,)."""
    yield "time [s]", run.t
    pairs = list(zip(run.model.names, run.model.units, strict=True))
    for k, (name, unit) in enumerate(pairs):
        yield f"{name} [{unit}]", run.q[:, k]
    for k, (name, unit) in enumerate(pairs):
        yield f"{name} rate [{unit}/s]", run.v[:, k]
    for k, (name, unit) in enumerate(input_units(run.model).items()):
        yield f"{name} input [{unit}]", run.u[:, k]
    for k, axis in enumerate("xyz"):
        yield f"tip {axis} [m]", run.tip[:, k]
    for k, part in enumerate("wxyz"):
        yield f"tip quaternion {part} [1]", quaternions(run.tip_rotation)[:, k]
    tips = np.array([1.0])
    for link in flexible_links(run.model):
        moved = along(run.model, link, run.q, tips).deflection[:, 0]
        for k, axis in enumerate("xyz"):
            yield f"{link.name} tip deflection {axis} [m]", moved[:, k]
    for k, name in enumerate(ENERGIES):
        yield f"{name} energy [J]", run.energy[:, k]
    for k, name in enumerate(WORKS):
        yield f"{name.replace('_', ' ')} [J]", run.works[:, k]
    for name, lost in run.losses.items():
        yield f"lost in {name} [J]", lost
    for name, values in ({} if run.drives is None else run.drives.states).items():
        unit = DRIVE_UNITS.get(name.rpartition(".")[2], "rad, m")
        yield f"{name} [{unit}]", values


def input_units(model: Model) -> dict[str, str]:
    """Give the driven joints in the order of u, with the unit of their input."""
    return {axis.name: axis.input_unit for axis in model.axes if axis.driven}


def quaternions(rotations: Array) -> Array:
    """Turn rotations (T, 3, 3) into unit quaternions w, x, y, z (T, 4), without jumps of sign.

    Notes
    -----
    Each is the main eigenvector of a symmetric matrix of the rotation's elements (Bar-Itzhack
    2000), which is defined at every angle.
    """
    r = rotations
    trace = np.trace(r, axis1=1, axis2=2)
    matrix = np.zeros((len(r), 4, 4))
    matrix[:, 0, 0] = trace
    matrix[:, 1:, 1:] = r + r.transpose(0, 2, 1) - trace[:, None, None] * np.eye(3)
    axial = np.stack([r[:, 2, 1] - r[:, 1, 2], r[:, 0, 2] - r[:, 2, 0], r[:, 1, 0] - r[:, 0, 1]], 1)
    matrix[:, 0, 1:] = matrix[:, 1:, 0] = axial
    found = np.linalg.eigh(matrix)[1][:, :, 3]
    same = np.where((found[1:] * found[:-1]).sum(axis=1) < 0, -1.0, 1.0)
    first = -1.0 if found[0, 0] < 0 else 1.0
    return np.asarray(found * (first * np.cumprod([1.0, *same]))[:, None])


def _labels(model: Model, places: Array) -> list[Variable]:
    names = _words([part.name for part in flexible_links(model)])
    return [
        Variable("link", ("link",), names, "", "flexible links"),
        Variable("station", ("station",), places, "1", "place over the (exposed) span"),
    ]


def _words(words: Any) -> NDArray[Any]:
    return np.array(list(words), dtype=object)
