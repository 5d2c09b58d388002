"""The equation of motion of an arm with NumPy arrays, as `flexarm.formulation` returns it."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, final

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from flexarm.arguments import (
    Renamed,
    is_word,
    refused,
    require_array,
    require_kind,
    require_known,
)
from flexarm.arm.forces import At
from flexarm.engine.compile import EFFORT, Compiled, Level, real_numbers
from flexarm.engine.numbers import Pattern
from flexarm.errors import FlexarmError
from flexarm.formulations.base import Formulation
from flexarm.formulations.constants import ANCHOR_DIGITS, RANGE_SLACK
from flexarm.formulations.numbers import (
    Make,
    Nearby,
    changed_model,
    derivatives,
    kernel,
    nearby,
    parameter_keys,
    parameter_values,
    pattern_elsewhere,
)
from flexarm.formulations.quantities import (
    QUANTITIES,
    Contacts,
    Energy,
    Frames,
    Partitioned,
    PointSprings,
    Power,
    trace,
    trace_jacobian,
)
from flexarm.formulations.singular import why_singular
from flexarm.linear_model import LinearModel
from flexarm.mechanics import kinematics
from flexarm.mechanics.loads import input_names, prescribed_accelerations, wrench_factors
from flexarm.mechanics.point_forces import place
from flexarm.model import ArmPoint, Model
from flexarm.model.spans import chain_index
from flexarm.spatial import Array

Time = float | Array


def checked_time(t: Any, *arrays: ArrayLike) -> Time:
    """Return a time [s] as a float, or as an array (N,) for a batch of N states.

    An error is raised if the time is invalid.
    """
    if type(t) is float and math.isfinite(t):
        return t
    try:
        times = require_array("t", t)
    except FlexarmError:
        raise refused("t", t, "a finite time in seconds") from None
    if not times.ndim:
        return float(times)
    rows = {len(a) for a in arrays if axes_of(a) == 2}  # type: ignore[arg-type]
    if times.ndim > 1 or not rows:
        raise refused("t", t, "a time in seconds, one number")
    if rows != {len(times)}:
        raise refused("t", t, "one time in seconds, or one per row of the batch")
    return times


def rows_of(compiled: Compiled, inputs: tuple[ArrayLike, ...]) -> int | None:
    """Return the number of states in a batch of inputs; None for a single state."""
    counts = {
        port.name: len(argument)  # type: ignore[arg-type]
        for port, argument in zip(compiled.inputs, inputs, strict=False)
        if axes_of(argument) == len(port.shape) + 1
    }
    if not counts:
        return None
    if len(set(counts.values())) > 1:
        sizes = ", ".join(f"{name} {count}" for name, count in counts.items())
        raise FlexarmError(f"batch: all arrays must have the same number of rows, got {sizes}")
    return next(iter(counts.values()))


def axes_of(value: Any) -> int:
    """Return the number of axes of an array; -1 for other values."""
    if type(value) is np.ndarray:
        return value.ndim
    try:
        numbers = np.asarray(value)
    except Exception:  # rows of unequal length, or any error of a foreign object
        return -1
    return numbers.ndim if numbers.dtype.kind in "fiub" else -1


def as_matrix(result: Array, rows: int, columns: int) -> Array:
    """Return a flat result as a matrix (rows, columns), for one state or each state of a batch."""
    axes = 1 if columns == 1 else 2
    return result.reshape(*result.shape[: result.ndim - axes], rows, columns)


def within_range(model: Model, q: Array) -> Array:
    """Return coordinates as an array; raise an error if a link slides beyond its range."""
    n = model.size
    q = real_numbers("q", q, (len(q), n) if axes_of(q) == 2 else (n,))
    for index, low, high in model.sliding_ranges:
        lengths = np.atleast_1d(q[..., index])
        is_outside = (lengths < low - RANGE_SLACK * high) | (lengths > high * (1 + RANGE_SLACK))
        if is_outside.any():
            name = next(p.stroke.name for p in model.links if p.stroke and p.exposed == index)
            raise FlexarmError(
                f"q[{index}]: the {name} {model.names[index]} must be {low:g} to {high:g} m, "
                f"the range of its shapes, got {lengths[is_outside][0]:g} m. Change q, or the "
                "joint's limits."
            )
    return q


def at_times(function: Callable[[Model, float], Array], model: Model, t: Time) -> Array:
    """Evaluate a function of the time at one time, or at each time of a batch, (N, ...).

    A function that returns an empty array is evaluated only once.
    """
    if not isinstance(t, np.ndarray):
        return function(model, t)
    initial = function(model, 0.0)
    if not initial.size:
        return initial
    return np.array([function(model, float(time)) for time in t]).reshape(len(t), *initial.shape)


@final
@dataclass(frozen=True, eq=False, repr=False)
class Equation(Renamed):
    """The equation ``M(q) a + c(q, v) = B u + sum J^T f`` of an arm, by a formulation.

    Every method takes one state, with arrays (n,), or a batch of N states, with arrays (N, n); for
    a batch, N is also the first axis of all results. In a batch, a time is one number or (N,), and
    an array without the batch axis applies to all states. Arrays must be real and of the right
    shape, times must be finite, and exposed lengths of sliding links must be within their range.
    Other NaN and infinite inputs are not refused, but lead to NaN in the results.

    An equation is `guarded` if an approximation may make M singular or indefinite at some
    coordinates. The computation of accelerations at such coordinates raises an error.

    Attributes
    ----------
    formulation
        The formulation, which holds the model of the arm and all options.
    reference_attitude
        Rotation matrix to world axes from the reference attitude of a free base's angles, (3, 3),
        or (N, 3, 3) for a batch.
    parameters
        Keys of numbers of the model file that are inputs of the equation; `at` changes their
        values.
    pattern
        Pattern of constant, equal and opposite numbers of the model for which the compiled
        functions are valid; None selects the pattern of the arm.
    model
        Model of the arm, with the paper's approximations if ``paper`` is set.
    name
        Name of the formulation.
    paper
        Whether the approximations of the formulation's paper are applied.
    guarded
        Whether an approximation may make M singular or indefinite at some coordinates.
    """

    _former_names: ClassVar = {"anchor": "reference_attitude", "anchored": "with_reference"}
    formulation: Formulation
    reference_attitude: Array
    parameters: tuple[str, ...] = ()
    pattern: Pattern | None = None
    _compiled: dict[tuple[str, Level], Compiled] = field(default_factory=dict)
    model: Model = field(init=False)
    name: str = field(init=False)
    paper: bool = field(init=False)
    guarded: bool = field(init=False)

    def __post_init__(self) -> None:
        """Copy model, name and flags of the formulation to this equation."""
        for name in ("model", "name", "paper", "guarded"):
            object.__setattr__(self, name, getattr(self.formulation, name))

    def __repr__(self) -> str:
        """Return a one-line description: arm, formulation and number of coordinates."""
        return f"Equation of {self.model.arm.name} by {self.name}: {self.model.size} coordinates"

    @classmethod
    def of(cls, formulation: Formulation, parameters: Sequence[str] = ()) -> "Equation":
        """Build the equation of a formulation, with numbers of the model file as inputs.

        ``parameters`` are the keys of these numbers.
        """
        reference_attitude = formulation.model.start_references
        if not parameters:
            return cls(formulation, reference_attitude)
        keys = parameter_keys(formulation.model.arm, parameters)
        pattern = pattern_elsewhere(formulation.model, keys)
        return cls(formulation, reference_attitude, keys, pattern)

    @property
    def input_names(self) -> tuple[str, ...]:
        """Names of the inputs in the order of u."""
        return input_names(self.model)

    @property
    def values(self) -> Array:
        """Current values of the parameters, (k,)."""
        return parameter_values(self.model.arm, self.parameters)

    @property
    def flexible(self) -> tuple[int, ...]:
        """Indices in q of the elastic amplitudes, called q_f."""
        return tuple(
            i for part in self.model.links for i in range(part.modes.start, part.modes.stop)
        )

    @property
    def rigid(self) -> tuple[int, ...]:
        """Indices in q of the coordinates other than amplitudes (joints, motors, base), q_r."""
        return tuple(i for i in range(self.model.size) if i not in self.flexible)

    def mass_matrix(self, q: Array) -> Array:
        """Compute the mass matrix M, (n, n)."""
        n = self.model.size
        return as_matrix(self._evaluate("mass_matrix", q)[0], n, n)

    def partitioned(self, q: Array) -> Partitioned:
        """Compute the blocks ``rr``, ``rf`` and ``ff`` of M for joints (r) and amplitudes (f)."""
        M, r, f = self.mass_matrix(q), list(self.rigid), list(self.flexible)
        blocks = (M[..., rows, :][..., columns] for rows, columns in ((r, r), (r, f), (f, f)))
        return Partitioned(*blocks)

    def bias(self, q: Array, v: Array, t: Time = 0.0) -> Array:
        """Compute the bias force c: Coriolis, gravity, elastic and dissipative forces, (n,).

        The bias force does not depend on t, which is accepted for consistency with other methods.
        """
        checked_time(t, q, v)
        return self._evaluate("bias", q, v)[0]

    def elastic_model(self, q: Array, v: Array) -> LinearModel:
        """Return the matrices of mass, elastic stiffness and damping at a state q, v."""
        matrices = self.compiled("matrices").call(q, v, *self.common_arguments)
        mass, stiffness, damping = (x.reshape(self.model.size, -1) for x in matrices)
        return LinearModel(mass, stiffness, damping, self.model.names)

    def parts(self, q: Array, v: Array) -> dict[str, Array]:
        """Compute the parts of the bias force c, (n,) each, by name.

        The names are coriolis, gravity, elastic and dissipative.
        """
        values = self._evaluate("parts", q, v)
        return dict(zip(("coriolis", "gravity", "elastic", "dissipative"), values, strict=True))

    def gravity(self, q: Array) -> Array:
        """Compute the generalised gravity force, (n,), which is a part of c."""
        return self._evaluate("gravity", q)[0]

    def forward_dynamics(self, q: Array, v: Array, u: Array, t: Time = 0.0) -> Array:
        """Compute accelerations (n,) under inputs u; prescribed coordinates follow their motion.

        Raises
        ------
        FlexarmError
            If an approximation of the formulation leaves M singular or indefinite at q.
        """
        return self._driven_call("forward_dynamics", q, v, u, t)[0]

    def reaction(self, q: Array, v: Array, u: Array, t: Time = 0.0) -> Array:
        """Compute the generalised force that drives each of the k prescribed coordinates, (k,)."""
        effort = self._driven_call("forward_dynamics", q, v, u, t)[1]
        return np.asarray(effort[..., list(self.model.prescribed)])

    def motion(self, q: Array, v: Array, u: Array, t: Time = 0.0) -> tuple[Array, Power]:
        """Compute accelerations (n,), and the power [W] of inputs, wrenches and dissipation."""
        a, power = self._driven_call("motion", q, v, u, t)
        return a, Power(*(power.tolist() if power.ndim == 1 else power.T))

    def inverse_dynamics(self, q: Array, v: Array, a: Array, t: Time = 0.0) -> Array:
        """Compute the generalised force ``M a + c - sum J^T f`` for accelerations a, (n,).

        Here f are the external wrenches of the arm at time t [s].
        """
        t = checked_time(t, q, v, a)
        return self._evaluate("inverse_dynamics", q, v, a, at_times(wrench_factors, self.model, t))[
            0
        ]

    def energy(self, q: Array, v: Array) -> Energy:
        """Compute kinetic, elastic and gravitational energy [J]."""
        values = self._evaluate("energy", q, v)
        return Energy(*(value.item() if value.ndim == 1 else value[:, 0] for value in values))

    def tip_pose(self, q: Array) -> tuple[Array, Array]:
        """Compute rotation (3, 3) and position (3,) of the arm's tip in the world."""
        rotation, position = self._evaluate("tip_pose", q)
        return rotation, position

    def point_pose(self, q: Array, point: ArmPoint) -> tuple[Array, Array]:
        """Compute the attitude (3, 3) of a point's carrier and the point's position (3,).

        Both are in the world, at one state.
        """
        if point.x == "end":
            return self.tip_pose(q)
        model = self.model
        if model.attitudes:
            model = model.with_reference(ca.DM(self.reference_attitude))
        x = ca.DM(real_numbers("q", q, (model.size,)))
        turned, position, _ = place(model, x, kinematics.frames(model, x), point)
        return np.array(ca.DM(turned)), np.array(ca.DM(position)).ravel()

    def tip_jacobian(self, q: Array) -> Array:
        """Compute the Jacobian (6, n) of the arm's tip, linear over angular, in world axes."""
        return as_matrix(self._evaluate("tip_jacobian", q)[0], 6, self.model.size)

    def jacobian(self, q: Array, *, link: str | None = None, at: At = "tip") -> Array:
        """Compute the Jacobian of a point, linear over angular, in world axes, (6, n).

        Parameters
        ----------
        q
            Coordinates, (n,), or (N, n) for a batch.
        link
            Name of the link, or ``base``; the frame of the arm's tip if None.
        at
            Distance of the point from the link's root [m], this distance with offsets from the axis
            as ``(x, y, z)`` [m], ``tip``, ``root`` or, on a modal body, the name of a frame.

        Returns
        -------
        ndarray
            The Jacobian, (6, n), or (N, 6, n) for a batch.
        """
        n, reference = self.model.size, self.reference_attitude
        function = self.jacobian_function(link=link, at=at)
        states = real_numbers("q", q, (n,) if np.ndim(q) < 2 else (len(q), n))
        further = np.broadcast_to(reference, (len(np.atleast_2d(states)), *reference.shape[-2:]))
        found = np.array([
            function(x, *([given] if self.model.attitudes else [])).full()
            for x, given in zip(np.atleast_2d(states), further, strict=True)
        ])  # fmt: skip
        return found if np.ndim(q) > 1 else np.asarray(found[0])

    def jacobian_function(self, *, link: str | None = None, at: At = "tip") -> ca.Function:
        """Return the Jacobian of a point as a CasADi function of q, which can be exported to C.

        Link and point are given as in `jacobian`.
        """
        arm = self.model.arm
        if link is None:
            return trace_jacobian(self.formulation, ArmPoint.of(arm, "tip"))
        known = [*(["base"] if self.model.base_moves else []), *arm.link_names]
        require_known(link, known, "link")
        index = -1 if link == "base" else arm.link_names.index(link)
        if isinstance(at, str):
            is_modal = index >= 0 and arm.links[index].modal is not None
            part = self.model.links[chain_index(arm, index)] if is_modal else None
            named = [] if part is None else [*part.imported.frames]
            require_known(at, ["tip", "root", *named], "place")
        else:
            numbers = real_numbers("at", at, () if np.ndim(at) == 0 else (3,)).tolist()
            at = tuple(numbers) if isinstance(numbers, list) else numbers
        return trace_jacobian(self.formulation, ArmPoint.on(arm, index, at))

    def tip_velocity(self, q: Array, v: Array) -> Array:
        """Compute velocity [m/s] over angular velocity [rad/s] of the tip, in world axes, (6,)."""
        return self._evaluate("tip_velocity", q, v)[0]

    def tip_acceleration(self, q: Array, v: Array, a: Array) -> Array:
        """Compute acceleration [m/s^2] over angular acceleration [rad/s^2] of the tip, (6,).

        Both accelerations are in world axes.
        """
        return self._evaluate("tip_acceleration", q, v, a)[0]

    def link_frames(self, q: Array) -> Frames:
        """Compute the rotations and positions [m] of all link roots and tips in the world."""
        count, result = len(self.model.links), []
        for k, array in enumerate(self._evaluate("link_frames", q)):
            matrices = as_matrix(array, 3, count if k % 2 else 3 * count)
            columns = matrices.reshape(*matrices.shape[:-1], count, -1)
            frames = np.moveaxis(columns, -3, -2)
            result.append(frames[..., 0] if k % 2 else frames)
        return Frames(*result)

    def centre_of_mass(self, q: Array) -> Array:
        """Compute the centre of mass of all moving bodies in the world, (3,) [m]."""
        return self._evaluate("momentum", q, np.zeros(self.model.size))[2]

    def linear_momentum(self, q: Array, v: Array) -> Array:
        """Compute the momentum of all moving bodies in world axes, (3,) [kg m/s]."""
        return self._evaluate("momentum", q, v)[0]

    def angular_momentum(
        self, q: Array, v: Array, *, about: ArrayLike | Literal["centre-of-mass"] | None = None
    ) -> Array:
        """Compute the angular momentum of all moving bodies in world axes, (3,) [kg m^2/s].

        Parameters
        ----------
        q, v
            Coordinates and rates.
        about
            Reference point in the world [m], (3,) or (N, 3), or ``centre-of-mass``; None is the
            world's origin.

        Returns
        -------
        Array
            (3,), or one row per state of a batch.
        """
        linear, angular, centre = self._evaluate("momentum", q, v)
        if about is None:
            return angular
        if isinstance(about, str):
            if about != "centre-of-mass":
                raise refused(
                    "about", about, "'centre-of-mass' or a point of three coordinates [m]"
                )
            point = centre
        else:
            point = real_numbers("about", about, (3,) if np.ndim(about) < 2 else linear.shape)
        return np.asarray(angular - np.cross(point, linear))

    def inertial_momentum(self, q: Array, v: Array) -> tuple[Array, Array, Array]:
        """Compute momenta of an arm on a free base relative to inertial axes, in world axes.

        Returns
        -------
        whole, base, centre
            ``whole`` is the momentum [N s] over the angular momentum [N m s] about the world's
            origin of all bodies, (6,). ``base`` are the momenta of the base relative to and about
            the centre of mass, (6,). ``centre`` is the centre of mass [m], (3,).
        """
        whole, base, centre = self._evaluate("inertial_momentum", q, v)
        return whole, base, centre

    def joint_wrench(self, q: Array, v: Array, a: Array, t: Time = 0.0) -> Array:
        """Compute the force [N] and torque [N m] of each joint on its link, (links, 6).

        Each wrench is in world axes, at the joint's origin, for accelerations a.
        """
        t = checked_time(t, q, v, a)
        wrenches = self._evaluate("joint_wrench", q, v, a, at_times(wrench_factors, self.model, t))[
            0
        ]
        return np.swapaxes(as_matrix(wrenches, 6, len(self.model.links)), -1, -2)

    def contacts(self, q: Array, v: Array) -> Contacts:
        """Compute distance [m], normal force [N] and friction force [N] of all contacts."""
        count = len(self.model.arm.contacts)
        if not count:
            raise FlexarmError(
                f"{self.model.arm.name} has no contacts whose forces could be "
                "computed. Give it 'contacts'."
            )
        distance, normal, friction = self._evaluate("contacts", q, v)
        return Contacts(distance, normal, np.swapaxes(as_matrix(friction, 3, count), -1, -2))

    def springs(self, q: Array, v: Array) -> PointSprings:
        """Compute length [m] and tension [N] of each spring between two points."""
        if not self.model.arm.springs:
            raise FlexarmError(
                f"{self.model.arm.name} has no springs between points whose forces could be "
                "computed. Give it 'springs'."
            )
        return PointSprings(*self._evaluate("springs", q, v))

    def observe(self, q: Array, v: Array) -> tuple[Array, Array, Array]:
        """Evaluate energies and tip pose, which a simulation stores at N samples.

        Reference attitudes may differ between samples.

        Returns
        -------
        energies, rotations, positions
            Kinetic, elastic and gravitational energy [J], (N, 3); the tip's rotation (N, 3, 3) and
            position [m], (N, 3), in the world.
        """
        from flexarm.loops.rows import call_rows

        observation = call_rows(
            self.compiled("observation"), len(q), (q, v, *self.common_arguments)
        )[0]
        return observation[:, :3], observation[:, 3:12].reshape(-1, 3, 3), observation[:, 12:]

    def function(self, name: str) -> ca.Function:
        """Return a quantity as a CasADi function, by the name of its method such as ``energy``.

        ``forward_dynamics`` has the inputs q, v, u, wrench factors and prescribed accelerations,
        and the outputs accelerations and generalised forces on prescribed coordinates. With a free
        base the last argument of every function is the base's reference attitude.
        """
        return trace(self.formulation, name)

    def compiled(self, name: str, *, level: Level = "quick") -> Compiled:
        """Return the compiled function of a quantity, compiled now or loaded from the cache."""
        key = (name, level)
        try:
            return self._compiled[key]
        except (KeyError, TypeError):
            require_kind("name", name, str, "the name of a function")
        if not is_word(level, EFFORT):
            raise refused("level", level, " or ".join(EFFORT))
        compiled = self.compile(name, lambda formulation: trace(formulation, name), level=level)
        # If two threads compile at once, both use the first result, because machine code exists
        # only as long as its object.
        return self._compiled.setdefault(key, compiled)

    def compile(self, name: str, make: Make, *, level: Level) -> Compiled:
        """Compile the CasADi function that ``make`` returns, or load it from the cache.

        Numbers of the arm are symbols in the CasADi function, so that arms can share machine code.
        """
        return kernel(name, self.formulation, make, self.pattern, level=level)

    def with_reference(self, reference_attitude: Array) -> "Equation":
        """Return the equation with another reference attitude of a free base, (3, 3) or (N, 3, 3).

        The reference attitudes of spherical joints are stacked below that of the base, in the order
        of the joints: (3 k, 3) or (N, 3 k, 3) with k attitudes in all.
        """
        shape_of_one = self.model.start_references.shape
        shape = (
            (len(reference_attitude), *shape_of_one)
            if np.ndim(reference_attitude) == 3
            else shape_of_one
        )
        attitudes = real_numbers("reference_attitude", reference_attitude, shape).copy()
        rotations = attitudes.reshape(-1, 3, 3)
        deviation = np.abs(rotations @ np.swapaxes(rotations, -1, -2) - np.eye(3)).max(initial=0.0)
        if not deviation <= ANCHOR_DIGITS or np.any(np.linalg.det(rotations) < 0):
            raise FlexarmError(
                "reference_attitude: must be a rotation matrix, with right-handed orthogonal "
                "columns of length 1"
            )
        return replace(self, reference_attitude=attitudes)

    def at(self, values: Sequence[float] | Array) -> "Equation":
        """Return the equation with other values of its k parameters, (k,).

        Machine code is reused unless the operations differ, for example because a value is 0 or 1.
        The values must be finite and valid in a model file.
        """
        model = changed_model(self.model, self.parameters, values)
        return replace(self, formulation=replace(self.formulation, model=model), _compiled={})

    def by_parameters(self, name: str, *arrays: Array, t: float = 0.0) -> dict[str, Array]:
        """Compute the derivatives of a quantity with respect to the parameters of the equation.

        Parameters
        ----------
        name
            Name of a quantity, such as ``forward_dynamics``.
        *arrays
            Inputs of the quantity among q, v, a and u, in the order of the method's arguments.
        t
            Time of wrenches and prescribed motions [s].

        Returns
        -------
        dict of str to ndarray
            Derivatives by name of the output, as in `function`; the last axis of each counts the
            parameters.

        Notes
        -----
        Equations are differentiated exactly with respect to the numbers of the model, such as shape
        integrals. The derivatives of these numbers with respect to the parameters of the model file
        are fourth-order differences, with an error of about 1e-10.
        """
        if not is_word(name, QUANTITIES):
            raise refused("name", name, f"one of {', '.join(QUANTITIES)}")
        if not self.parameters:
            raise FlexarmError(
                f"derivatives of {name}: no number of the arm is an input of these equations. "
                "Name numbers by formulation(parameters=)."
            )
        names = QUANTITIES[name].inputs
        functions_of_time = {"w": wrench_factors, "prescribed_a": prescribed_accelerations}
        remaining = list(arrays)
        if len(remaining) != len([key for key in names if key not in functions_of_time]):
            raise refused(
                "inputs",
                arrays,
                f"one array for each of {', '.join(names)}, without "
                "w and prescribed_a, which follow from t",
            )
        inputs = [
            functions_of_time[key](self.model, t) if key in functions_of_time else remaining.pop(0)
            for key in names
        ]
        return derivatives(self.formulation, self._nearby, name, (*inputs, *self.common_arguments))

    @cached_property
    def _nearby(self) -> dict[str, Nearby]:
        return nearby(self.model, self.parameters)

    def singularity(self, q: Array) -> str:
        """Return the reason why the mass matrix at q, (n,), is singular; "" if it is regular."""
        n = self.model.size
        mass = self.compiled("mass_matrix").call(q, *self.common_arguments)[0].reshape(n, n)
        return why_singular(self.name, self.model, mass, paper=self.paper)

    def _driven_call(self, name: str, q: Array, v: Array, u: Array, t: Time) -> tuple[Array, ...]:
        t = checked_time(t, q, v, u)
        factors, prescribed = (
            at_times(wrench_factors, self.model, t),
            at_times(prescribed_accelerations, self.model, t),
        )
        results = self._evaluate(name, q, v, u, factors, prescribed)
        if self.guarded and not np.all(np.isfinite(results[0])):
            for k in np.flatnonzero(~np.isfinite(results[0]).all(axis=-1)):
                equation = (
                    self
                    if self.reference_attitude.ndim == 2
                    else replace(self, reference_attitude=self.reference_attitude[k])
                )
                reason = equation.singularity(
                    np.asarray(q) if np.ndim(q) == 1 else np.asarray(q)[k]
                )
                if reason:
                    raise FlexarmError(reason)
        return results

    def _evaluate(self, name: str, q: Array, *arrays: Array) -> tuple[Array, ...]:
        """Evaluate a quantity; raise an error if a sliding link is outside its range."""
        for index, low, high in self.model.sliding_ranges:
            is_state = type(q) is np.ndarray and q.shape == (self.model.size,)
            if not (is_state and q.dtype == float and low <= q[index] <= high):
                q = within_range(self.model, q)
        compiled, inputs = self.compiled(name), (q, *arrays, *self.common_arguments)
        try:  # the fast path for one state
            return compiled.call(*inputs)
        except FlexarmError:
            count = rows_of(compiled, inputs)
            if count is None:
                raise
        from flexarm.loops.rows import call_rows  # not needed for one state

        return call_rows(compiled, count, inputs)

    @property
    def common_arguments(self) -> tuple[Array, ...]:
        """Last arguments of all functions: reference attitudes and inertia of the tip load."""
        reference_attitude = (self.reference_attitude,) if self.model.attitudes else ()
        load = (self.model.links[-1].tip_body.numbers,) if self.model.load_given else ()
        return (*reference_attitude, *load)
