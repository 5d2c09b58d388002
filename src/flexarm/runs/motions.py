"""Variables computed from the samples of a run: momenta, tip motion, frames, contacts, springs."""

import numpy as np

from flexarm.links.base import Array
from flexarm.runs.contents import Variable, time_and_axis
from flexarm.runs.data import RunData
from flexarm.runs.forces import accelerations, equation_of, over_legs

Rows = tuple[str, Array, str, str]


def momentum_variables(run: RunData) -> list[Variable]:
    """List momenta and centre of mass of all that moves."""
    rows_of_all = over_legs(run, lambda equation, rows: np.hstack([
        equation.linear_momentum(run.q[rows], run.v[rows]),
        equation.angular_momentum(run.q[rows], run.v[rows]),
        equation.angular_momentum(run.q[rows], run.v[rows], about="centre-of-mass"),
        equation.centre_of_mass(run.q[rows]),
    ]))  # fmt: skip
    of, moment = "of all that moves, in the world", "kg m^2/s"
    names = [
        ("linear_momentum", "kg m/s", f"momentum {of}"),
        ("angular_momentum", moment, f"angular momentum {of}, about its origin"),
        ("angular_momentum_about_centre", moment,
         f"angular momentum {of}, about its centre of mass"),
        ("centre_of_mass", "m", f"centre of mass {of}"),
    ]  # fmt: skip
    return _over_time(run, [
        (name, values, unit, meaning)
        for values, (name, unit, meaning) in zip(
            np.split(rows_of_all, 4, axis=1), names, strict=True)
    ])  # fmt: skip


def tip_variables(run: RunData) -> list[Variable]:
    """List velocity and acceleration of the arm's tip."""
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
    """List position and rotation of the root and the flexible tip of every link."""
    frames = equation_of(run).link_frames(run.q)
    names = np.array([part.name for part in run.model.links], dtype=object)
    place, turn = ("time", "link", "axis"), ("time", "link", "axis", "link_axis")
    ends = {
        "root": (frames.root_position, frames.root_rotation),
        "tip": (frames.tip_position, frames.tip_rotation),
    }
    variables = [*time_and_axis(run), Variable("link", ("link",), names, "", "links")]
    for end, (position, rotation) in ends.items():
        what = f"of the link's {end} in the world"
        variables += [
            Variable(f"{end}_position", place, position, "m", f"place {what}"),
            Variable(f"{end}_rotation", turn, rotation, "1", f"axes (columns) {what}"),
        ]
    return variables


def contact_variables(run: RunData) -> list[Variable]:
    """List distance, penetration, normal force and friction of every contact."""
    found = equation_of(run).contacts(run.q, run.v)
    names = np.array(run.model.arm.contact_names, dtype=object)
    axes = ("time", "contact")
    return [
        *time_and_axis(run),
        Variable("contact", ("contact",), names, "", "contacts"),
        Variable("distance", axes, found.distance, "m", "distance from touching, less the depth"),
        Variable("penetration", axes, np.maximum(-found.distance, 0), "m", "depth of contact"),
        Variable("normal_force", axes, found.normal, "N", "force on the arm out of the obstacle"),
        Variable(
            "friction_force", (*axes, "axis"), found.friction, "N",
            "friction on the arm, in the world",
        ),
    ]  # fmt: skip


def spring_variables(run: RunData) -> list[Variable]:
    """List length and force of every spring between points."""
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
    """List vectors in the world at all samples, with the labels of their axes."""
    return time_and_axis(run) + [
        Variable(name, ("time", "axis"), values, unit, meaning)
        for name, values, unit, meaning in rows
    ]
