"""Parameters of a live arm that its file does not have: servo gains, pull stiffness, step size."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigvalsh

from flexarm.arm.forces import Contact
from flexarm.arm.shapes import Counted
from flexarm.engine.functions import compile_stream
from flexarm.errors import FlexarmError
from flexarm.integrate.actuators import Actuators
from flexarm.integrate.methods.rk4 import STABLE
from flexarm.integrate.task import InitialValueProblem
from flexarm.linear_model import LinearModel, undamped
from flexarm.model import LinkModel, Model, build
from flexarm.model.small_motions import mass_matrix
from flexarm.spatial import Array
from flexarm.studies.bases import of_family
from flexarm.viewer.constants import (
    COORDINATE_OPERATIONS,
    FAST_VIBRATION,
    FASTEST_SERVO,
    IMPACT_SPEED,
    INTEGRAL_RATE,
    INTEGRAL_SHARE,
    LEAST_PAYLOAD,
    LEAST_SHAPES,
    LEAST_STIFFNESS,
    LONGEST_STEP,
    MASSLESS,
    MOST_CORE_SHARE,
    MOST_DAMPING,
    OPERATION_TIME,
    PULL_DAMPING,
    PULL_RATE,
    PULL_STIFFNESS,
    SERVO_DAMPING,
    SERVO_FACTOR,
    SLOWEST_SERVO,
    STABLE_GROWTH,
    STEP_PHASE,
    STEP_SHARE,
)
from flexarm.viewer.live.equations import LiveArm
from flexarm.viewer.live.module import live_task


@dataclass(frozen=True)
class Bounds:
    """Upper bounds of vibration frequencies and decay rates, with servos and a pull.

    They are for any posture. For a mode x of eigenvalue s, s^2 x*M x + s x*D x + x*K x = 0: if it
    vibrates, |s|^2 is the ratio of its stiffness and its mass, for any damping.

    Attributes
    ----------
    square
        Bound of the squared frequencies [1/s^2], proportional to the stiffness; or a larger value
        for which steps resolve the slowest vibration.
    decay, soft_decay
        Largest decay rates [1/s] of non-vibrating motions: with the file's stiffness or more, and
        with the least stiffness.
    """

    square: float = 0.0
    decay: float = 0.0
    soft_decay: float = 0.0


@dataclass(frozen=True)
class Tuning:
    """Servo gains, pull stiffness and rate bounds of a live arm."""

    servo: Array  # per input: target, stiffness, damping, (inputs, 3)
    # Per input: how fast its servo makes up for what it misses, per that and second, (inputs,).
    integral: Array
    grip: tuple[float, float]  # stiffness [N/m] and damping [N s/m] of a pull
    laden: Bounds  # with the file's payload or more
    unladen: Bounds  # with less
    lightest: float = 0.0  # [kg]: the least payload that there may be

    @property
    def step(self) -> float:
        """Step size [s] with the settings of the model file."""
        reach = STEP_SHARE * STABLE
        fastest = max(np.sqrt(self.laden.square), self.laden.decay)
        return float(reach / max(fastest, reach / LONGEST_STEP))


def tuning(arm: LiveArm, task: InitialValueProblem) -> Tuning:
    """Choose servo gains, pull stiffness and rate bounds for an arm at its start."""
    reference_attitude = (task.equation.reference_attitude,) if arm.model.attitudes else ()
    found = task.equation.compiled("matrices").call(task.start.q, task.start.v, *reference_attitude)
    open_ = [i for i in range(arm.model.size) if i not in arm.model.prescribed]
    full = found[0].reshape(arm.model.size, -1)
    M, K, D = (matrix.reshape(arm.model.size, -1)[np.ix_(open_, open_)] for matrix in found)
    servo = np.zeros((len(arm.rows), 3))
    if not open_:
        return Tuning(servo, servo[:, 0], (0.0, 0.0), Bounds(), Bounds())
    rows = arm.rows[:, open_]
    fastest = max(task.vibration.fastest, FASTEST_SERVO)
    rate = _servo_rate(M, K, rows)
    servo[:, 0] = arm.rows @ task.start.q
    for k, (axis, row) in enumerate(zip(arm.driven, rows, strict=True)):
        moved = full[axis.index, axis.index] + (0 if axis.motor is None else row @ M @ row)
        at_hub = 1 / (row @ np.linalg.solve(M, row))
        servo[k, 1:] = _gains(moved, at_hub, rate, fastest)
    own = rows.T @ (servo[:, 1:2] * rows), rows.T @ (servo[:, 2:] * rows)
    integral = _patience(M, K + own[0], D + own[1], rows, INTEGRAL_RATE * rate * servo[:, 1])
    # Either its own servos or those of the file act: steps are short enough for both together.
    stiff, damped = Actuators(arm.programme.servos).stiffness(arm.model)
    held = K + own[0] + stiff[np.ix_(open_, open_)]
    holds = hold_jacobians(arm, task)[:, :, open_]
    light = _lightest(M, holds)
    firm = float(min(_firmness(arm.model, full, held, holds[-1]), fastest**2 / light))
    grip = firm, 2 * PULL_DAMPING * float(np.sqrt(firm / light))
    lossy = D + own[1] + damped[np.ix_(open_, open_)]
    lossy += MOST_DAMPING * arm.critical[np.ix_(open_, open_)]
    touching = arm.contact_jacobians(task.start.q)[:, :, open_]

    def bounds(mass: Array) -> Bounds:
        light = _lightest(mass, holds)
        firm, drag = _contact_matrices(arm.model.arm.contacts, mass, touching)
        square = float(undamped(mass, held + firm)[0][-1]) + grip[0] * light
        most = lossy + grip[1] * light * mass
        decays = (
            max(_decay(mass, share * K, most), _decay(mass, share * K + firm, most + drag))
            for share in (1.0, LEAST_STIFFNESS)
        )
        seen = (STEP_SHARE * STABLE / STEP_PHASE) ** 2 * _slowest(K, mass)
        return Bounds(max(seen, square), *decays)

    laden = bounds(M)
    gravity, payload = arm.settings[:2].tolist()
    if not payload:
        return Tuning(servo, integral, grip, laden, laden)

    def carrying(mass: float) -> Array:
        return np.asarray(mass_matrix(arm.at(gravity, mass), task.start.q)[np.ix_(open_, open_)])

    # A payload that is all that has mass cannot be taken away: nothing would say how the arm moves.
    all_of_it = undamped(M, carrying(0.0))[0][0] < MASSLESS
    lightest = LEAST_PAYLOAD * payload if all_of_it else 0.0
    return Tuning(servo, integral, grip, laden, bounds(carrying(lightest)), lightest)


def _lightest(M: Array, holds: Array) -> float:
    """Return the largest acceleration per force over all points that can be pulled [1/kg]."""
    return max(float(eigvalsh(J @ np.linalg.solve(M, J.T))[-1]) for J in holds)


def _contact_matrices(contacts: Sequence[Contact], M: Array, touching: Array) -> Array:
    """Return stiffness and damping matrices of all contacts at deepest penetration, (2, n, n).

    The penetration is computed for an impact at a given speed, of which the contact stores at most
    the whole energy, and whose momentum its damping removes at most.
    """
    result = np.zeros((2, *M.shape))
    for contact, J in zip(contacts, touching, strict=True):
        light, power = _lightest(M, J[None]), float(contact.exponent)
        if light:
            slowed = IMPACT_SPEED**2 / light / max(2.0, contact.damping * IMPACT_SPEED)
            deepest = ((power + 1) * slowed / contact.stiffness) ** (1 / (power + 1))
            firm = contact.stiffness * power * deepest ** (power - 1)
            lossy = contact.damping * contact.stiffness * deepest**power
            result += np.multiply.outer([firm, lossy], J.T @ J)
    return result


def _decay(M: Array, K: Array, D: Array) -> float:
    """Return the largest decay rate [1/s] of the motions that do not vibrate.

    The rate is largest for the least stiffness K and the largest damping D.
    """
    roots = np.linalg.eigvals(LinearModel(M, K, D, ("",) * len(M)).state_space().A)
    return float(-roots.real[np.abs(roots.imag) < 1e-6 * np.abs(roots)].min(initial=0.0))


def _gains(moved: float, at_hub: float, rate: float, fastest: float) -> tuple[float, float]:
    """Return stiffness and damping of a servo that moves all bodies outboard of its joint.

    At first the servo moves little more than the hub, so that its rate there is limited to that of
    the fastest mode.
    """
    stiffness, damping = moved * rate**2, 2 * SERVO_DAMPING * moved * rate
    return min(stiffness, at_hub * fastest**2), min(damping, at_hub * fastest)


def _patience(M: Array, K: Array, D: Array, rows: Array, wanted: Array) -> Array:
    """Return stable integral gains of servos, (inputs,), at most half of ``wanted``.

    Gains are halved until the motion is stable, and then once more.
    """
    n, m = len(M), len(wanted)
    loop = np.zeros((2 * n + m, 2 * n + m))
    loop[: 2 * n] = np.hstack(LinearModel(M, K, D, ("",) * n, rows.T).state_space())
    for share in (*0.5 ** np.arange(8), 0.0):
        loop[2 * n :, :n] = -share * wanted[:, None] * rows
        growth = float(np.linalg.eigvals(loop).real.max())
        if growth < STABLE_GROWTH:
            break
    return np.asarray(INTEGRAL_SHARE * share * wanted)


def _servo_rate(M: Array, K: Array, rows: Array) -> float:
    """Return the bandwidth of servos [rad/s], from the arm's first vibration with joints held."""
    kept = np.flatnonzero(~np.any(rows, axis=0))
    if not len(kept):
        return FASTEST_SERVO
    first = _slowest(K[np.ix_(kept, kept)], M[np.ix_(kept, kept)]) or np.inf
    return float(np.clip(SERVO_FACTOR * np.sqrt(first), SLOWEST_SERVO, FASTEST_SERVO))


def _slowest(K: Array, M: Array) -> float:
    """Return the squared frequency of the slowest vibration [1/s^2]; 0 if there is none."""
    squares = undamped(M, K)[0]
    elastic = squares[squares > 1e-9 * max(float(squares[-1]), 1e-12)]
    return float(elastic[0]) if len(elastic) else 0.0


def hold_jacobians(arm: LiveArm, task: InitialValueProblem) -> Array:
    """Return the Jacobians of all points that can be pulled, at the start, (points, 3, n)."""
    reference_attitude = (task.equation.reference_attitude,) if arm.model.attitudes else ()
    hold = compile_stream(arm.grip, level="quick")
    weights = np.eye(len(arm.holds))
    return np.array(
        [hold.call(task.start.q, row, *reference_attitude)[1].reshape(3, -1) for row in weights]
    )


def _firmness(model: Model, M: Array, K: Array, J: Array) -> float:
    """Return the stiffness of a pull [N/m], from the arm's stiffness with servos or its mass."""
    reach = sum(part.length for part in model.links)
    masses = [M[axis.index, axis.index] / (reach**2 if axis.turns else 1.0) for axis in model.axes]
    least = PULL_RATE**2 * max(masses, default=1.0)
    soft = K + 1e-9 * (np.trace(K) or 1.0) * np.eye(len(K))
    compliance = float(eigvalsh(J @ np.linalg.solve(soft, J.T))[-1])
    return max(least, PULL_STIFFNESS / compliance if compliance > 0 else 0.0)


COUNTS = {"y": "bending_y", "z": "bending_z", "twist": "torsion", "stretch": "stretch"}


@dataclass(frozen=True)
class Prepared:
    """A live arm with its initial-value problem and tuning."""

    # arm, task, tuned: the arm, its start, and what was chosen for it.
    arm: LiveArm
    task: InitialValueProblem
    tuned: Tuning
    left_out: str = ""  # what was left out of it, in words; empty if nothing


def prepare_live(model: Model, *, all_shapes: bool) -> Prepared:
    """Return a live arm, without shapes too fast for real time unless all are requested."""
    found = _prepared(model)
    if _share(found) > MOST_CORE_SHARE and found.arm.programme.servos:
        held = _prepared(model, plays=False)
        found = held if _share(held) < _share(found) / 2 else found
    if all_shapes or _share(found) <= MOST_CORE_SHARE:
        return found
    try:
        fewer = _prepared(_fewer(found), plays=found.arm.plays)
    except FlexarmError:  # its start names a shape
        return found
    if fewer.arm.model.size == model.size:
        return found
    words = f"{fewer.arm.model.size} of {model.size} coordinates: shapes of links that vibrate at"
    return Prepared(
        fewer.arm,
        fewer.task,
        fewer.tuned,
        f"{words} more than {FAST_VIBRATION:g} Hz by themselves are left out",
    )


def _prepared(model: Model, *, plays: bool = True) -> Prepared:
    arm = LiveArm(model, plays)
    task = live_task(arm)
    return Prepared(arm, task, tuning(arm, task))


def _share(found: Prepared) -> float:
    """Return an estimate of the fraction of a processor core that real time needs."""
    return 4 * COORDINATE_OPERATIONS * found.arm.model.size * OPERATION_TIME / found.tuned.step


def _fewer(found: Prepared) -> Model:
    """Return the model of an arm without shapes of high frequency."""
    model, task = found.arm.model, found.task
    reference_attitude = (task.equation.reference_attitude,) if model.attitudes else ()
    mass, stiffness, _ = task.equation.compiled("matrices").call(
        task.start.q, task.start.v, *reference_attitude
    )
    n = model.size
    squares = np.diag(stiffness.reshape(n, n)) / np.diag(mass.reshape(n, n))
    fast = squares > (2 * np.pi * FAST_VIBRATION) ** 2
    links = []
    for part in model.links:
        link, choice = part.link, part.link.shapes
        if of_family(link) and isinstance(choice, Counted) and not choice.static:
            fewer = choice.model_copy(update=_counts(model, part, fast))
            link = link.model_copy(update={"shapes": fewer})
        links.append(link)
    arm = model.arm.model_copy(update={"links": type(model.arm.links)(links)})
    return build(
        arm, stiffening=model.stiffening, tip_rotation=model.tip_rotation, nodes=model.nodes
    )


def _counts(model: Model, part: LinkModel, fast: np.ndarray) -> dict[str, int]:
    """Return the numbers of shapes of a link below the frequency limit, by direction."""
    found: dict[str, int] = {}
    for direction, key in COUNTS.items():
        own = [
            bool(fast[k])
            for k in range(part.modes.start, part.modes.stop)
            if model.names[k].rpartition(".")[2].rstrip("0123456789") == direction
        ]
        least = LEAST_SHAPES if direction in "yz" else 0
        found[key] = max(min(least, len(own)), own.count(False))
    return found
