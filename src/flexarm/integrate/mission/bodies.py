"""Free bodies: rigid bodies that drift, are captured by an arm's tip, and released."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np

from flexarm.arm.mission import PAYLOAD, FreeBody
from flexarm.constants import ACCUMULATED, NEGLIGIBLE
from flexarm.errors import SimulationError
from flexarm.integrate.constants import SPIN_SAMPLES, SPIN_TOLERANCE
from flexarm.integrate.mission.event_functions import Complex, FixturePath
from flexarm.links.end_loads import body_inertia
from flexarm.mechanics.loads import moments
from flexarm.mechanics.orbit.hill import inertial_axes, orbit_energy
from flexarm.model import Model
from flexarm.spatial import IDENTITY, Array, Inertia, Pose, rotation_from_angles, skew_matrix


@dataclass(frozen=True)
class FreeBodyState:
    """Pose and velocities of a rigid body that moves under gravity alone."""

    inertia: Inertia  # inertia of the body about the frame of its fixture
    begin: float  # time [s] at which pose and velocities are given
    pose: Pose  # pose of the fixture in the world
    # velocity: velocity of the centre of mass [m/s]. spin: angular velocity [rad/s]. Velocity and
    # spin are in world axes.
    velocity: Array
    spin: Array
    gravity: Array  # acceleration of gravity [m/s^2]
    # Mean motion [rad/s] of the orbit whose Hill frame is the world, 0 if there is none.
    orbit: float = 0.0

    @classmethod
    def of(cls, body: FreeBody, model: Model) -> "FreeBodyState":
        """Return the initial state of a free body of the model file."""
        pose = Pose(rotation_from_angles(body.rotation), np.array(body.position))
        inertia, spin = body_inertia(body.body), pose.rotation @ np.array(body.spin)
        centre_offset = pose.rotation @ inertia.first / inertia.mass
        velocity = body.velocity + np.cross(spin, centre_offset)
        return cls(inertia, 0.0, pose, velocity, spin, np.array(model.gravity), model.orbit)

    @classmethod
    def named(cls, name: str, model: Model) -> "FreeBodyState":
        """Return the initial state of a named body of the model file; the payload starts at rest.

        The payload starts with the pose of the tip frame.
        """
        if name == PAYLOAD:
            inertia, zero = body_inertia(model.arm.payload), np.zeros(3)
            return cls(inertia, 0.0, IDENTITY, zero, zero, np.array(model.gravity), model.orbit)
        return cls.of(next(body for body in model.arm.bodies if body.name == name), model)

    @property
    def centre(self) -> Array:
        """Position of the body's centre of mass in the world [m], (3,)."""
        return np.asarray(self.pose.position + self.pose.rotation @ self._arm)

    @property
    def _arm(self) -> Array:
        return self.inertia.first / (self.inertia.mass or 1.0)

    @property
    def about_centre(self) -> Array:
        """Rotational inertia of the body about its centre of mass, world axes [kg m^2], (3, 3)."""
        return np.asarray(self.pose.rotation @ self._own_inertia @ self.pose.rotation.T)

    @property
    def _own_inertia(self) -> Array:
        """Rotational inertia of the body about its centre of mass, body axes [kg m^2], (3, 3)."""
        cross = skew_matrix(self._arm)
        return np.asarray(self.inertia.second + self.inertia.mass * cross @ cross)

    @property
    def energy(self) -> float:
        """Kinetic plus gravitational energy of the body [J]."""
        twice = self.inertia.mass * self.velocity @ self.velocity
        twice += self.spin @ self.about_centre @ self.spin
        energy = float(twice / 2 - self.inertia.mass * self.gravity @ self.centre)
        if self.orbit:
            R, p = self.pose.rotation, self.pose.position
            energy += float(orbit_energy(self.orbit, ca.DM(R), ca.DM(p), *moments(self.inertia)))
        return energy

    @property
    def inertial_momentum(self) -> Array:
        """Momentum [N s], then angular momentum about the world's origin [N m s], (6,).

        Both momenta are in inertial axes. For an arm in orbit, these are the axes of the Hill frame
        at time 0.
        """
        turning = np.array([0.0, 0.0, self.orbit])
        linear = self.inertia.mass * (self.velocity + np.cross(turning, self.centre))
        spin_momentum = self.about_centre @ (self.spin + turning)
        angular = np.cross(self.centre, linear) + spin_momentum
        inertial = inertial_axes(self.orbit, ca.DM(self.begin), ca.DM(np.hstack([linear, angular])))
        return np.array(inertial).ravel()

    def path(self) -> FixturePath:
        """Return the path of the body's fixture in closed form.

        Raises
        ------
        SimulationError
            If the path has no closed form. No closed form exists in orbit for a fixture off the
            centre of mass, since gravity rotates the body, and for a spin so close to the unstable
            axis that rounding errors decide the motion.
        """
        off_centre = bool(np.any(self.inertia.first))
        if self.orbit and off_centre:
            raise SimulationError(
                "the time at which a fixture in orbit is near cannot be computed unless the "
                "fixture is at the body's centre of mass. Give the event a time."
            )
        if self.orbit:
            place, rate, cosine, sine = hill_path(self.orbit, self.centre, self.velocity)
            return FixturePath.of(self.begin, [place, rate], {self.orbit: cosine - 1j * sine})
        if not (off_centre and np.any(self.spin)):
            return FixturePath.of(
                self.begin, [self.pose.position, self.velocity, self.gravity / 2], {}
            )
        return FixturePath.of(
            self.begin, [self.centre, self.velocity, self.gravity / 2], self._circles()
        )

    def _circles(self) -> dict[float, Complex]:
        """Return the fixture's path about the centre of mass: complex amplitudes [m] by rate.

        The attitude of a free body is a periodic rotation followed by a uniform rotation about the
        angular momentum (Landau and Lifshitz, Mechanics, section 37). The path of the fixture is
        therefore a Fourier series that rotates uniformly.
        """
        rotation = self.pose.rotation
        moments = self._own_inertia
        inverse_inertia = np.asarray(np.linalg.pinv(moments, NEGLIGIBLE), dtype=float)
        momentum = self.about_centre @ self.spin
        size = float(np.linalg.norm(momentum))
        if size == 0.0:
            return {0.0: (-rotation @ self._arm).astype(complex)}
        axis = momentum / size
        period = tumbling_period(moments, inverse_inertia @ rotation.T @ momentum)
        if period is None:  # a steady spin about the angular momentum
            rate = float(axis @ rotation @ inverse_inertia @ rotation.T @ momentum)
            return _turned_waves({0.0: (-rotation @ self._arm).astype(complex)}, axis, rate)
        rotations = _turned(
            rotation,
            inverse_inertia,
            momentum,
            period * np.arange(1, SPIN_SAMPLES + 1) / SPIN_SAMPLES,
        )
        last_rotation = rotations[-1] @ rotation.T  # rotation about `axis` in one period
        across = np.cross(axis, np.eye(3)[np.argmin(np.abs(axis))])
        angle = np.arctan2(
            np.cross(axis, across) @ last_rotation @ across, across @ last_rotation @ across
        )
        untwist = [_turn_about(axis, -angle * k / SPIN_SAMPLES) for k in range(SPIN_SAMPLES)]
        samples = np.array(untwist) @ np.concatenate([rotation[None], rotations[:-1]]) @ -self._arm
        series = np.fft.rfft(samples, axis=0) / SPIN_SAMPLES
        series[1:] *= 2
        tail = np.abs(series[-2:]).max() / np.linalg.norm(self._arm)
        if max(np.abs(last_rotation @ axis - axis).max(), tail) > NEGLIGIBLE:
            raise SimulationError(
                "the path of a body that spins this close to its unstable axis cannot be "
                "predicted in double precision. Give the event a time."
            )
        rate = 2 * np.pi / period
        return _turned_waves(
            {k * rate: amplitude for k, amplitude in enumerate(series)}, axis, angle / period
        )

    def at(self, t: float) -> "FreeBodyState":
        """Return the state of the body at a time [s].

        If the time or the state is complex, its imaginary part is a derivative along a direction,
        and so is the imaginary part of the result.
        """
        elapsed = t - self.begin
        if elapsed == 0:
            return self
        if self.orbit:
            return self._in_orbit(t)
        momentum = self.about_centre @ self.spin
        rotation = self.pose.rotation
        inverse_inertia = np.asarray(np.linalg.pinv(self._own_inertia, NEGLIGIBLE), float)
        if np.any(self.spin):
            rotation = orthogonal(
                _turned(rotation, inverse_inertia, momentum, np.array([elapsed]))[0]
            )
        centre = self.centre + elapsed * self.velocity + elapsed**2 / 2 * self.gravity
        velocity = self.velocity + elapsed * self.gravity
        spin = rotation @ inverse_inertia @ rotation.T @ momentum
        pose = Pose(rotation, centre - rotation @ self._arm)
        return FreeBodyState(self.inertia, t, pose, velocity, spin, self.gravity)

    def _in_orbit(self, t: float) -> "FreeBodyState":
        """Return the state of the body at a time [s] in orbit, with gravity-gradient torque."""
        n, elapsed = self.orbit, t - self.begin
        a, b, c, s = hill_path(n, self.centre, self.velocity)
        cos, sin = np.cos(n * elapsed), np.sin(n * elapsed)
        centre = a + b * elapsed + c * cos + s * sin
        velocity = b + n * (s * cos - c * sin)
        rotation = self.pose.rotation
        inertia = self._own_inertia
        rotation, spin = _turned_in_orbit(rotation, inertia, rotation.T @ self.spin, n, elapsed)
        pose = Pose(rotation, centre - rotation @ self._arm)
        return replace(self, begin=t, pose=pose, velocity=velocity, spin=rotation @ spin)


def hill_path(rate: float, place: Array, velocity: Array) -> tuple[Array, Array, Array, Array]:
    """Return a, b, c, s, (3,) each, of a point's path a + b t + c cos n t + s sin n t in orbit.

    The path is relative to the Hill frame, by the equations of Clohessy & Wiltshire (1960); n is
    the orbital rate [rad/s]. The arguments are position [m] and velocity [m/s] of the point at t =
    0.
    """
    x, y, z = place
    u, v, w = velocity / rate
    return (
        np.array([4 * x + 2 * v, y - 2 * u, 0.0]),
        np.array([0.0, -3 * rate * (2 * x + v), 0.0]),
        np.array([-3 * x - 2 * v, 2 * u, z]),
        np.array([u, 6 * x + 4 * v, w]),
    )


def tumbling_period(moments: Array, spin: Array) -> float | None:
    """Return the period [s] of a free body's tumbling; None for a constant spin.

    Parameters
    ----------
    moments
        Inertia about the centre of mass in body axes [kg m^2], (3, 3).
    spin
        Angular velocity in body axes [rad/s], (3,).
    """
    inertia, axes = np.linalg.eigh(moments)
    inertia = np.where(inertia > NEGLIGIBLE * inertia[-1], inertia, 0.0)
    momentum, w = moments @ spin, axes.T @ spin
    if np.linalg.norm(np.cross(spin, momentum)) <= ACCUMULATED * (
        np.linalg.norm(spin) * np.linalg.norm(momentum)
    ):
        return None
    from scipy.special import ellipkm1  # takes long to import

    # Principal moments J3 and J1, and J2 times twice the energy compared with the squared momentum,
    # computed without subtracting nearly equal numbers.
    largest_excess, smallest_excess, middle_excess = (
        float(np.sum(inertia * (inertia[k] - inertia) * w**2)) for k in (2, 0, 1)
    )
    stable = (
        (inertia[2] - inertia[1]) * -smallest_excess,
        (inertia[1] - inertia[0]) * largest_excess,
    )
    scale = max(stable)  # stable axes: largest or least inertia
    parameter = (inertia[2] - inertia[0]) * abs(middle_excess) / scale
    quarter = float(ellipkm1(max(parameter, np.finfo(float).tiny)))
    return 4 * quarter * float(np.sqrt(np.prod(inertia) / scale))


def _turned_waves(waves: dict[float, Complex], axis: Array, rate: float) -> dict[float, Complex]:
    """Return waves (complex amplitudes by rate) whose axes rotate at a given rate [rad/s]."""
    rotated: dict[float, Complex] = {}
    for wave_rate, amplitude in waves.items():
        along = axis * (axis @ amplitude)
        across = amplitude - along
        perpendicular = 1j * np.cross(axis, across)
        for new_rate, new_amplitude in (
            (wave_rate, along),
            (wave_rate + rate, (across - perpendicular) / 2),
            (wave_rate - rate, (across + perpendicular) / 2),
        ):
            new_amplitude = new_amplitude if new_rate >= 0 else new_amplitude.conj()
            rotated[abs(new_rate)] = rotated.get(abs(new_rate), np.zeros(3)) + new_amplitude
    return rotated


def _turn_about(axis: Array, angle: float) -> Array:
    """Return the rotation matrix of a rotation by an angle [rad] about an axis, (3, 3)."""
    cross = skew_matrix(axis)
    return np.asarray(np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross)


def _turned(rotation: Array, inverse_inertia: Array, momentum: Array, times: Array) -> Array:
    """Return the rotation matrices of a free body at T times [s], (T, 3, 3).

    The rotation matrix R is integrated from R' = R skew(J^-1 R^T L), with the inverse inertia J^-1
    in body axes and the constant angular momentum L.
    """

    def rate(_: float, y: Array) -> Array:
        R = y.reshape(3, 3)
        return np.asarray((R @ skew_matrix(inverse_inertia @ R.T @ momentum)).ravel())

    return _solved(rate, rotation.ravel(), times).reshape(-1, 3, 3)


def _turned_in_orbit(
    rotation: Array, inertia: Array, spin: Array, n: float, duration: float
) -> tuple[Array, Array]:
    """Return rotation (3, 3) and spin [rad/s] (3,) of a body in a Hill frame after a time [s].

    The returned spin is relative to the Hill frame, in body axes. The spin w relative to inertial
    axes is integrated with the gyroscopic torque ``-w x (J w)`` and the gravity-gradient torque ``3
    n^2 x x (J x)``, where x is the unit vector away from the planet.
    """
    inverse = np.linalg.pinv(inertia, NEGLIGIBLE)

    def rate(_: float, y: Array) -> Array:
        R, w = y[:9].reshape(3, 3), y[9:]
        torque = 3 * n**2 * np.cross(R[0], inertia @ R[0]) - np.cross(w, inertia @ w)
        return np.concatenate([(R @ skew_matrix(w - n * R[2])).ravel(), inverse @ torque])

    start = np.concatenate([rotation.ravel(), spin + n * rotation[2]])
    end = _solved(rate, start, np.array([duration]))[0]
    new_rotation = orthogonal(end[:9])
    return new_rotation, end[9:] - n * new_rotation[2]


def _solved(rate: Callable[[float, Array], Array], start: Array, times: Array) -> Array:
    from scipy.integrate import solve_ivp  # takes long to import

    span = (0.0, float(times[-1].real))
    states = solve_ivp(
        rate,
        span,
        start,
        method="DOP853",
        t_eval=times.real,
        rtol=SPIN_TOLERANCE,
        atol=SPIN_TOLERANCE,
    ).y.T
    if np.iscomplexobj(times):
        states = states + 1j * times.imag[:, None] * np.array(
            [rate(0.0, state) for state in states]
        )
    return np.asarray(states)


def orthogonal(numbers: Array) -> Array:
    """Return the rotation matrix nearest to a matrix, (3, 3); a complex matrix is not changed."""
    if np.iscomplexobj(numbers):
        return numbers.reshape(3, 3)
    u, _, vt = np.linalg.svd(numbers.reshape(3, 3))
    return np.asarray(u @ vt)


def released_body(
    body: FreeBodyState, tip: Pose, twist: Array, grip: Pose, t: float
) -> FreeBodyState:
    """Return the state of a body that the tip releases at a time [s].

    Parameters
    ----------
    body
        State of the body before the release, whose pose and velocities are replaced.
    tip, twist
        Pose of the tip; velocity [m/s], then angular velocity [rad/s], of the tip in world axes,
        (6,).
    grip
        Pose of the body's fixture in the tip's frame.
    t
        Time of the release [s].
    """
    released = replace(body, begin=t, pose=tip @ grip, spin=twist[3:])
    velocity = twist[:3] + np.cross(released.spin, released.centre - tip.position)
    return replace(released, velocity=velocity)
