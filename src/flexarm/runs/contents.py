"""Variables of a run, with names and units, as its dataset, file and table contain them."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from flexarm.formulations import formulation
from flexarm.formulations.equation import Equation
from flexarm.io.model_file import dumps
from flexarm.mechanics.deformed import along, flexible_wholes, read_stations, section_forces
from flexarm.model import Model
from flexarm.runs.data import RunData, RunPhase
from flexarm.spatial import Array

if TYPE_CHECKING:
    import xarray

FILE = "model_file_"  # prefix of variables with the bytes of files that the model file names
FORMAT = 3  # version of the file format
CHECKSUMS = "checksums"  # name of the attribute with all checksums
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
# Unit and meaning of the parts of ``momentum`` and ``impulse`` of a run on a free base, in order.
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
    """An array of numbers or texts with named axes, a unit and a description.

    A variable with the name of its only axis has the labels of that axis.
    """

    name: str
    axes: tuple[str, ...]  # name of each axis
    values: NDArray[Any]
    unit: str  # unit of the numbers; empty for texts
    meaning: str  # description in a few words

    @property
    def is_label(self) -> bool:
        """Whether the variable consists of texts."""
        return bool(self.values.dtype == object)


def attributes(run: RunData) -> dict[str, str | int | float]:
    """Return the attributes of a run by name: status, method, cost, balances, and model file."""
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
        "event_records": json.dumps(run.event_records),
        "pending": json.dumps(run.pending),
        "phases": json.dumps([_phase_numbers(phase) for phase in run.phases]),
        "drives": json.dumps([list(run.losses), list(run.drives.states if run.drives else ())]),
        "model_file": dumps(run.model.arm),
    }


def _phase_numbers(phase: RunPhase) -> list[Any]:
    """Return a phase of a run as plain lists: first sample, fixed coordinates, tip body, jumps."""
    tip = phase.tip and [phase.tip.mass, phase.tip.first.tolist(), phase.tip.second.tolist()]
    return [phase.first, phase.held, tip, phase.jump]


def described(variable: Variable) -> dict[str, str]:
    """Return the NetCDF attributes of a variable: ``long_name`` and ``units``."""
    unit = {"units": variable.unit} if variable.unit else {}
    return {"long_name": variable.meaning, **unit}


def to_dataset(
    variables: Sequence[Variable], attrs: Mapping[str, str | int | float] = MappingProxyType({})
) -> "xarray.Dataset":
    """Return variables as an xarray dataset; a variable named like an axis is a coordinate."""
    import xarray

    data: Any = {
        variable.name: (variable.axes, variable.values, described(variable))
        for variable in variables
    }
    labels = [variable.name for variable in variables if variable.is_label]
    return xarray.Dataset(data, attrs=attrs).set_coords(labels)


def checksums(variables: Sequence[Variable], attrs: Mapping[str, str | int | float]) -> str:
    """Return JSON with the checksums of variables and attributes, by name."""
    by_name = {
        "variables": {x.name: variable_checksum(x.values, x.unit, x.meaning) for x in variables},
        "attributes": {name: attribute_checksum(value) for name, value in attrs.items()},
    }
    return json.dumps(by_name)


def variable_checksum(values: NDArray[Any], unit: str, meaning: str) -> str:
    """Return the SHA-256 of an array, its unit and meaning, for any storage in a file."""
    digest = hashlib.sha256(repr((unit, meaning, values.shape)).encode())
    if values.dtype == object:
        digest.update(repr(values.tolist()).encode())
    else:
        digest.update(values.astype("<f8" if values.dtype.kind == "f" else "u1").tobytes())
    return digest.hexdigest()


def attribute_checksum(value: str | float) -> str:
    """Return the SHA-256 of a text or number."""
    number_or_text = value if isinstance(value, str) else float(value)
    return hashlib.sha256(repr(number_or_text).encode()).hexdigest()


def main_variables(run: RunData) -> list[Variable]:
    """Return the variables of time, states, inputs, tip, energies and work integrals."""
    names, units = run.model.names, run.model.units
    base = "unit of the coordinate, see 'unit'"
    variables = [
        Variable("time", ("time",), run.t, "s", "time"),
        Variable("coordinate", ("coordinate",), _words(names), "", "names of the coordinates"),
        Variable("unit", ("coordinate",), _words(units), "", "units of the coordinates"),
        Variable("q", ("time", "coordinate"), run.q, base, "coordinates"),
        Variable("v", ("time", "coordinate"), run.v, f"{base}, per s", "rates of coordinates"),
    ]
    inputs, attitudes = input_units(run.model), quaternions(run.tip_rotation)
    variables += [
        Variable("input", ("input",), _words(list(inputs)), "", "driven joints"),
        Variable("input_unit", ("input",), _words(list(inputs.values())), "", "input units"),
        Variable("u", ("time", "input"), run.u, "see 'input_unit'", "inputs of driven joints"),
        Variable("axis", ("axis",), XYZ, "", "axes x, y, z"),
        Variable("component", ("component",), _words("wxyz"), "", "parts of a quaternion"),
        Variable("tip_position", ("time", "axis"), run.tip, "m", "arm's tip in the world"),
        Variable(
            "tip_quaternion", ("time", "component"), attitudes, "1", "attitude of the arm's tip"
        ),
        Variable(
            "tip_rotation", ("time", "axis", "tip_axis"), run.tip_rotation, "1",
            "tip's axes (columns) in the world",
        ),
    ]  # fmt: skip
    for k, name in enumerate(ENERGIES):
        variables.append(Variable(name, ("time",), run.energy[:, k], "J", f"{name} energy"))
    for k, (name, meaning) in enumerate(WORKS.items()):
        variables.append(Variable(name, ("time",), run.work_integrals[:, k], "J", meaning))
    if run.momentum.shape[1]:
        values = [*np.split(run.momentum, len(MOMENTUM), axis=1), *np.split(run.impulse, 2, axis=1)]
        names_units = (MOMENTUM | IMPULSE).items()
        variables += [
            Variable(name, ("time", "axis"), rows, unit, f"{meaning}, in inertial axes")
            for rows, (name, (unit, meaning)) in zip(values, names_units, strict=True)
        ]
    variables += drive_variables(run)
    axes = ("time", "axis", "reference_axis")
    for k, (name, owner) in enumerate(reference_names(run.model)):
        meaning = f"axes that the angles of {owner} are about"
        variables.append(
            Variable(name, axes, run.reference_attitudes[:, 3 * k : 3 * k + 3], "1", meaning)
        )
    return variables


def drive_variables(run: RunData) -> list[Variable]:
    """Return the variables of energy losses, and of drive-train forces, energies and states.

    Without losses or drive trains the list is empty.
    """
    variables = []
    if run.losses:
        losses, axes = np.stack(list(run.losses.values()), axis=1), ("time", "loss_channel")
        variables += [
            Variable(
                "loss_channel", ("loss_channel",), _words(run.losses), "", "what energy is lost in"
            ),
            Variable("lost", axes, losses, "J", "parts of what was dissipated so far"),
        ]
    if run.drives is not None:
        push, unit = run.drives.push, "effort of the coordinate"
        variables += [
            Variable("drive_push", ("time", "coordinate"), push, unit, "by friction and windings"),
            Variable("drive_energy", ("time",), run.drives.stored, "J", "in bristles and windings"),
        ]
    if run.drives is not None and run.drives.states:
        states, names = run.drives.states, _words(run.drives.states)
        variables += [
            Variable("drive_state", ("drive_state",), names, "", DRIVE_STATES),
            Variable("drive", ("time", "drive_state"), np.stack(list(states.values()), axis=1),
                     "see 'drive_state'", "states of drive trains"),
        ]  # fmt: skip
    return variables


def reference_names(model: Model) -> list[tuple[str, str]]:
    """Return name and owner of each reference attitude: free base and spherical joints."""
    balls = [part.joint_name for part in model.links if part.motion.has_reference]
    base = [("reference_attitude", "the base")] if model.floats else []
    return base + [(f"anchor_{name}", name) for name in balls]


def along_variables(run: RunData, stations: ArrayLike | None) -> list[Variable]:
    """Return the variables of deflection, slope and twist at stations of the flexible links."""
    fractions = read_stations(stations)
    rows = [along(run.model, part, run.q, fractions) for part in flexible_wholes(run.model)]
    axes, vectors = ("time", "link", "station"), ("time", "link", "station", "axis")
    deflections, slopes = [row.deflection for row in rows], [row.slope for row in rows]
    return [
        *_labels(run.model, fractions),
        Variable(
            "deflection", vectors, _by_link(run, fractions, deflections, 3),
            "m", "displacement from the undeformed link, in the axes of its root",
        ),
        Variable(
            "slope", vectors, _by_link(run, fractions, slopes, 3),
            "1", "derivative of the deflection along the link",
        ),
        Variable(
            "twist", axes, _by_link(run, fractions, [row.twist for row in rows]),
            "rad", "rotation about the link's axis",
        ),
    ]  # fmt: skip


def force_variables(run: RunData, stations: ArrayLike | None) -> list[Variable]:
    """Return the variables of section forces, moments and strains along the flexible links."""
    fractions = read_stations(stations)
    rows = [
        section_forces(run.model, part, run.q, fractions) for part in flexible_wholes(run.model)
    ]
    axes, vectors = ("time", "link", "station"), ("time", "link", "station", "axis")
    return [
        *time_and_axis(run),
        *_labels(run.model, fractions),
        Variable(
            "force", vectors, _by_link(run, fractions, [row.force for row in rows], 3), "N",
            "tension (x) and shear that the outboard part exerts, in the axes of the section; "
            "not a number where the link is rigid",
        ),
        Variable(
            "moment", vectors, _by_link(run, fractions, [row.moment for row in rows], 3), "N m",
            "torsion (x) and bending moment that the outboard part exerts, in the axes of the "
            "section; not a number where the link is rigid",
        ),
        Variable(
            "strain", axes, _by_link(run, fractions, [row.strain for row in rows]), "1",
            "largest strain along the fibres of the section; unless the model file gives the "
            "section by material and shape, of its axis, or not a number without shapes of stretch",
        ),
    ]  # fmt: skip


def _by_link(run: RunData, fractions: Array, rows: list[Array], *vector: int) -> Array:
    """Join arrays of the flexible links to one array (T, links, stations, ...)."""
    return np.stack(rows, axis=1) if rows else np.zeros((len(run.t), 0, len(fractions), *vector))


def wrench_variables(run: RunData) -> list[Variable]:
    """Return the variables of force and torque that each joint exerts on its link."""
    wrenches = joint_wrenches(run)
    names = _words([link.joint_name for link in run.model.whole_links])
    meaning = "that the joint exerts on its link, at the joint, in the world"
    return [
        *time_and_axis(run),
        Variable("joint", ("joint",), names, "", "joints"),
        Variable("force", ("time", "joint", "axis"), wrenches[:, :, :3], "N", f"force {meaning}"),
        Variable(
            "torque", ("time", "joint", "axis"), wrenches[:, :, 3:], "N m", f"torque {meaning}"
        ),
    ]


def table_columns(run: RunData) -> Iterator[tuple[str, Array]]:
    """Yield the columns of a run's table: header with unit, and T values."""
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
    for part, values in zip("wxyz", quaternions(run.tip_rotation).T, strict=True):
        yield f"tip quaternion {part} [1]", values
    tips = np.array([1.0])
    for link in flexible_wholes(run.model):
        deflections = along(run.model, link, run.q, tips).deflection[:, 0]
        for k, axis in enumerate("xyz"):
            yield f"{link.name} tip deflection {axis} [m]", deflections[:, k]
    for k, name in enumerate(ENERGIES):
        yield f"{name} energy [J]", run.energy[:, k]
    for k, name in enumerate(WORKS):
        yield f"{name.replace('_', ' ')} [J]", run.work_integrals[:, k]
    for name, loss in run.losses.items():
        yield f"lost in {name} [J]", loss
    for name, values in ({} if run.drives is None else run.drives.states).items():
        unit = DRIVE_UNITS.get(name.rpartition(".")[2], "rad, m")
        yield f"{name} [{unit}]", values


def input_units(model: Model) -> dict[str, str]:
    """Return the units of the inputs by driven joint, in the order of ``u``."""
    return {axis.name: axis.input_unit for axis in model.axes if axis.driven}


def quaternions(rotations: Array) -> Array:
    """Return rotations (T, 3, 3) as unit quaternions w, x, y, z, (T, 4), with continuous signs."""
    from scipy.spatial.transform import Rotation  # takes long to import

    rows = np.roll(Rotation.from_matrix(rotations).as_quat(), 1, axis=1)
    signs = np.where((rows[1:] * rows[:-1]).sum(axis=1) < 0, -1.0, 1.0)
    first = -1.0 if rows[0, 0] < 0 else 1.0
    return np.asarray(rows * (first * np.cumprod([1.0, *signs]))[:, None])


def time_and_axis(run: RunData) -> list[Variable]:
    """Return the label variables of the time axis and of the x, y, z axis."""
    return [
        Variable("time", ("time",), run.t, "s", "time"),
        Variable("axis", ("axis",), XYZ, "", "axes x, y, z"),
    ]


def _labels(model: Model, fractions: Array) -> list[Variable]:
    names = _words([part.name for part in flexible_wholes(model)])
    return [
        Variable("link", ("link",), names, "", "flexible links"),
        Variable("station", ("station",), fractions, "1", "place over the (exposed) span"),
    ]


def _words(words: Any) -> NDArray[Any]:
    return np.array(list(words), dtype=object)


def equation_of(run: RunData) -> Equation:
    """Return the equations of motion of a run's arm, with the samples' reference attitudes."""
    return formulation(run.formulation, run.model, paper=run.paper).with_reference(
        run.reference_attitudes
    )


def over_phases(
    run: RunData, evaluate: Callable[[Equation, slice], Array], name: str | None = None
) -> Array:
    """Evaluate a function at all samples, with the equations of motion of each phase.

    Parameters
    ----------
    run
        The run.
    evaluate
        Function of the equations and a slice of samples; returns an array with a row per sample.
    name
        Name of the formulation of the equations; the run's own if None.
    """
    phases = run.phases or (RunPhase(0, run.model.prescribed),)
    values = []
    for phase, end in zip(phases, [*(leg_.first for leg_ in phases[1:]), len(run.t)], strict=True):
        rows = slice(phase.first, end)
        model = phase.model(run.model) if run.phases else run.model
        equation = formulation(name or run.formulation, model, paper=run.paper and name is None)
        values.append(evaluate(equation.with_reference(run.reference_attitudes[rows]), rows))
    return np.concatenate(values)


def accelerations(run: RunData) -> Array:
    """Return the accelerations of the coordinates at a run's samples, (T, n)."""

    def evaluate(equation: Equation, rows: slice) -> Array:
        q, v = run.q[rows], run.v[rows]
        a = equation.forward_dynamics(q, v, run.u[rows], run.t[rows])
        if run.drives is None:
            return a
        free = [i for i in range(equation.model.size) if i not in equation.model.prescribed]
        mass = equation.mass_matrix(q)[:, free][:, :, free]
        a[:, free] += np.linalg.solve(mass, run.drives.push[rows][:, free, None])[..., 0]
        return a

    return over_phases(run, evaluate)


def joint_wrenches(run: RunData) -> Array:
    """Return force [N] and torque [N m] of each joint on its link, (T, links, 6).

    Force and torque are in world axes, at the joint's origin.
    """
    a = accelerations(run)
    joints = [run.model.links.index(link.spans[0]) for link in run.model.whole_links]
    return over_phases(
        run,
        lambda equation, rows: equation.joint_wrench(
            run.q[rows], run.v[rows], a[rows], run.t[rows]
        ),
        "composite",
    )[:, joints]


Rows = tuple[str, Array, str, str]


def momentum_variables(run: RunData) -> list[Variable]:
    """Return the variables of momentum, angular momentum and centre of mass of the moving parts."""
    rows_of_all = over_phases(run, lambda equation, rows: np.hstack([
        equation.linear_momentum(run.q[rows], run.v[rows]),
        equation.angular_momentum(run.q[rows], run.v[rows]),
        equation.angular_momentum(run.q[rows], run.v[rows], about="centre-of-mass"),
        equation.centre_of_mass(run.q[rows]),
    ]))  # fmt: skip
    of_arm, moment_unit = "of all that moves, in the world", "kg m^2/s"
    names = [
        ("linear_momentum", "kg m/s", f"momentum {of_arm}"),
        ("angular_momentum", moment_unit, f"angular momentum {of_arm}, about its origin"),
        ("angular_momentum_about_centre", moment_unit,
         f"angular momentum {of_arm}, about its centre of mass"),
        ("centre_of_mass", "m", f"centre of mass {of_arm}"),
    ]  # fmt: skip
    return _over_time(run, [
        (name, values, unit, meaning)
        for values, (name, unit, meaning) in zip(
            np.split(rows_of_all, 4, axis=1), names, strict=True)
    ])  # fmt: skip


def tip_variables(run: RunData) -> list[Variable]:
    """Return the variables of velocity and acceleration of the arm's tip, linear and angular."""
    equation = equation_of(run)
    v = equation.tip_velocity(run.q, run.v)
    a = equation.tip_acceleration(run.q, run.v, accelerations(run))
    return _over_time(run, [
        ("velocity", v[:, :3], "m/s", "velocity of the arm's tip in the world"),
        ("angular_velocity", v[:, 3:], "rad/s", "angular velocity of the arm's tip"),
        ("acceleration", a[:, :3], "m/s^2", "acceleration of the arm's tip in the world"),
        ("angular_acceleration", a[:, 3:], "rad/s^2", "angular acceleration of the arm's tip"),
    ])  # fmt: skip


def frame_variables(run: RunData) -> list[Variable]:
    """Return the variables of position and rotation of root and tip of every link."""
    frames, links = equation_of(run).link_frames(run.q), run.model.whole_links
    names = np.array([link.name for link in links], dtype=object)
    roots, tips = ([run.model.links.index(link.spans[end]) for link in links] for end in (0, -1))
    position_axes, rotation_axes = ("time", "link", "axis"), ("time", "link", "axis", "link_axis")
    ends = {
        "root": (frames.root_position[:, roots], frames.root_rotation[:, roots]),
        "tip": (frames.tip_position[:, tips], frames.tip_rotation[:, tips]),
    }
    variables = [*time_and_axis(run), Variable("link", ("link",), names, "", "links")]
    for end, (position, rotation) in ends.items():
        description = f"of the link's {end} in the world"
        variables += [
            Variable(f"{end}_position", position_axes, position, "m", f"place {description}"),
            Variable(
                f"{end}_rotation", rotation_axes, rotation, "1", f"axes (columns) {description}"
            ),
        ]
    return variables


def contact_variables(run: RunData) -> list[Variable]:
    """Return the variables of distance, penetration, normal force and friction of each contact."""
    contacts = equation_of(run).contacts(run.q, run.v)
    names = np.array(run.model.arm.contact_names, dtype=object)
    axes = ("time", "contact")
    return [
        *time_and_axis(run),
        Variable("contact", ("contact",), names, "", "contacts"),
        Variable(
            "distance", axes, contacts.distance, "m", "distance from touching, less the depth"
        ),
        Variable("penetration", axes, np.maximum(-contacts.distance, 0), "m", "depth of contact"),
        Variable(
            "normal_force", axes, contacts.normal, "N", "force on the arm out of the obstacle"
        ),
        Variable(
            "friction_force", (*axes, "axis"), contacts.friction, "N",
            "friction on the arm, in the world",
        ),
    ]  # fmt: skip


def spring_variables(run: RunData) -> list[Variable]:
    """Return the variables of length and force of every spring between points."""
    springs = equation_of(run).springs(run.q, run.v)
    names = np.array(run.model.arm.spring_names, dtype=object)
    axes = ("time", "spring")
    return [
        Variable("time", ("time",), run.t, "s", "time"),
        Variable("spring", ("spring",), names, "", "springs between points"),
        Variable("length", axes, springs.length, "m", "distance of the two points"),
        Variable("force", axes, springs.force, "N", "force that pulls the points together"),
    ]


def _over_time(run: RunData, rows: list[Rows]) -> list[Variable]:
    """Return variables (T, 3) from names, values, units and meanings, with axis labels."""
    return time_and_axis(run) + [
        Variable(name, ("time", "axis"), values, unit, meaning)
        for name, values, unit, meaning in rows
    ]
