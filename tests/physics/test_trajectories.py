"""Motions whose numbers are known: published examples and exact solutions.

Kinematics are those of the model throughout: exact rotation of a link's tip frame, shortening
where stiffening is on.
"""

from collections.abc import Callable
from functools import cache

import casadi as ca
import numpy as np
import pytest
from numpy.polynomial import Polynomial
from scipy.optimize import root

import flexarm
from flexarm.arm import Arm
from flexarm.arm.shapes import ClampedFree, Loaded, ShapeChoice
from flexarm.formulations import formulation
from flexarm.formulations.equation import Equation
from flexarm.mechanics.kinematics import section
from flexarm.model import build, prescribed_motion, start_state
from tests.physics.states import Array
from tests.physics.stepping import free_motion, integrate


def with_shapes(name: str, shapes: ShapeChoice) -> Arm:
    """A sample of one link with other shapes and no deflection to start with."""
    arm = flexarm.example_arm(name)
    link = arm.links[0].model_copy(update={"shapes": shapes, "start": {}})
    return arm.model_copy(update={"links": (link,)})


def in_hub_frame(equation: Equation, q: Array) -> Array:
    """Place of the tip of a one-link arm, seen from its hub."""
    c, s = np.cos(q[0]), np.sin(q[0])
    _, place = equation.tip_pose(q)
    return np.array([c * place[0] + s * place[1], c * place[1] - s * place[0]])


# th1 + 90 deg, th2, w1, w2 at three times; with stiffening as re-derived by Lagrange's equations
# of the material points (what is published there, -8.8683e-6 and -2.90860e-5 m, is rounded early).
FALL = {
    (False, 0.25): (0.02482359, -0.00839291, -2.29662e-5, -5.18977e-6),
    (False, 0.5): (0.02801982, -0.06679578, -1.80845e-5, 4.64080e-5),
    (False, 1.0): (-0.03770010, 0.03885381, -5.12707e-5, -5.48509e-5),
    (True, 0.5): (0.028006805, -0.066725386, -8.868367e-6, -2.9086231e-5),
}


@cache
def fallen(stiffening: bool) -> dict[float, Array]:
    """The states of the two-link arm at the times of `FALL`."""
    # what is printed with stiffening is of the series
    model = build(flexarm.example_arm("korayem-two-link"), stiffening=stiffening, series=True)
    start = np.concatenate(start_state(model))
    times = [0.0, *(t for stiff, t in FALL if stiff == stiffening)]
    steps, rows = integrate(free_motion(formulation("articulated", model)), start, times)
    return dict(zip(steps.tolist(), rows, strict=True))


@pytest.mark.parametrize(("stiffening", "t"), FALL)
def test_two_link_arm_of_korayem_and_shafei_falls_as_printed(stiffening: bool, t: float) -> None:
    th1, w1, th2, w2 = fallen(stiffening)[t][:4]
    got, expected = (th1 + np.pi / 2, th2, w1, w2), FALL[stiffening, t]
    unit = 1e-9 if stiffening else 1e-8
    assert np.abs(np.subtract(got, expected)[:2]).max() <= 0.501 * unit
    assert np.abs(np.subtract(got, expected)[2:]).max() <= (1e-12 if stiffening else 0.501e-10)


@cache
def driven(
    name: str, count: int, stiffening: bool, series: bool = False
) -> dict[float, tuple[float, float, float]]:
    """Hub angle, tip deflection and energy of the driven link at 0.25, 0.5 and 1 s."""
    arm = with_shapes(name, ClampedFree(kind="clamped-free", bending_y=count))
    if name == "driven-link-payload":
        arm = with_shapes(name, Loaded(root="free", bending_y=count))
    model = build(arm, stiffening=stiffening, series=series)
    equation = formulation("articulated", model)
    forward = equation.compiled("forward_dynamics", level="fast")
    n, none = model.size, np.zeros(0)
    state, found = np.zeros(2 * n), {}
    for begin, end, torque in ((0.0, 0.25, 2.0), (0.25, 0.5, 2.0), (0.5, 1.0, -2.0)):
        u = np.array([torque])

        def rate(t: float, y: Array, u: Array = u) -> Array:
            return np.concatenate([y[n:], forward.call(y[:n], y[n:], u, none, none)[0]])

        _, rows = integrate(rate, state, [begin, end], rtol=1e-10, atol=1e-12)
        state = rows[-1]
        energy = sum(equation.energy(state[:n], state[n:]))
        deflection = float(in_hub_frame(equation, state[:n])[1])
        found[end] = float(state[0]), deflection, energy
    return found


def test_driven_link_by_the_series() -> None:
    found = driven("driven-link", 5, True, series=True)
    # five clamped-free shapes: the last printed digit is not certain
    for t, angle, tip in ((0.25, 0.152223, -0.012097), (0.5, 0.603943, -0.040775)):
        assert found[t][:2] == pytest.approx((angle, tip), abs=1e-6)
    assert found[1.0][0] == pytest.approx(1.156049, abs=1e-6)
    assert found[1.0][1] == pytest.approx(-0.00202, abs=1e-5)
    assert found[1.0][2] == pytest.approx(0.10367, abs=1e-5)


def test_driven_link_is_the_exact_inextensible_beam() -> None:
    found = driven("driven-link", 5, True)
    assert found[0.5][1] == pytest.approx(-0.040752, abs=2e-6)
    assert found[1.0][0] == pytest.approx(1.156089, abs=2e-6)
    assert found[1.0][2] == pytest.approx(0.10354, abs=1e-5)
    loaded = driven("driven-link-payload", 4, True)
    assert loaded[0.25][1] == pytest.approx(-0.048552, rel=3e-5)


def test_driven_link_without_stiffening_overshoots() -> None:
    found = driven("driven-link", 5, False)
    assert found[0.5][:2] == pytest.approx((0.606926, -0.047550), abs=1e-6)


def test_work_of_the_torque_becomes_energy() -> None:
    found = driven("driven-link", 5, True)
    work = 2 * found[0.5][0] - 2 * (found[1.0][0] - found[0.5][0])
    assert found[1.0][2] == pytest.approx(work, abs=1e-9)


@cache
def deploying_shape(K: float, guess: complex) -> tuple[complex, Polynomial]:
    """Exponent s and shape f of w = L^s f(xi/L), xi the distance from a deploying boom's tip.

    K f'''' + (e^2 - e) f'' + ((3 - 2s) e - 1) f' + s (s - 2) f = 0 with a free end at 0 and a
    clamped one at 1, by power series.
    """

    def series(s: complex, slope: complex) -> Array:
        a = np.zeros(84, dtype=complex)
        a[0], a[1] = 1.0, slope
        for k in range(80):
            low = (k * (k - 1) + (3 - 2 * s) * k + s * (s - 2)) * a[k]
            low -= (k + 1) ** 2 * a[k + 1]
            a[k + 4] = -low / (K * (k + 4) * (k + 3) * (k + 2) * (k + 1))
        return a

    def residual(x: Array) -> list[float]:
        a = series(complex(x[0], x[1]), complex(x[2], x[3]))
        value, slope = a.sum(), a @ np.arange(len(a))
        return [value.real, value.imag, slope.real, slope.imag]

    x = root(residual, [guess.real, guess.imag, -1.4, 0.0], tol=1e-14).x
    s = complex(x[0], x[1])
    return s, Polynomial(series(s, complex(x[2], x[3])))


class Boom:
    """The telescope with a number of shapes, its length a given function of time."""

    def __init__(self, count: int, *, stiffening: bool = True) -> None:
        arm = with_shapes("telescope", Loaded(bending_y=count))
        self.model = build(arm, stiffening=stiffening)
        self.equation = formulation("articulated", self.model)
        self.forward = self.equation.compiled("forward_dynamics", level="fast")
        self.part = self.model.links[0]
        node, weight = np.polynomial.legendre.leggauss(40)
        self.places, self.weights = (node + 1) / 2, weight / 2
        # shapes that do not follow the length are stretched with it
        short = self.part.sliding_beam.shapes.at(1.0)
        self.shapes = short.values("y", 1 - self.places)
        self.bends = short.values("y", 1 - self.places, 2)
        self.root_bend = short.values("y", np.zeros(1), 2)[0]

    def projected(self, values: Array) -> Array:
        """Amplitudes of a curve given at the places, counted from the tip of a boom of 1 m."""
        scale = np.sqrt(self.weights)
        found = np.linalg.lstsq(self.shapes * scale[:, None], values * scale, rcond=None)[0]
        return np.asarray(found, dtype=np.float64)

    def transverse(self, q: Array) -> Array:
        """Transverse velocity of the material at the places per rate of each coordinate."""
        inner = self.part.length - self.places * q[0]
        sections = [section(self.model, self.part, ca.DM(q), float(x)) for x in inner]
        return np.stack([np.array(local.linear)[1] for local in sections])

    def run(
        self, start: Array, length: Callable[[float], tuple[float, float, float]], t_end: float
    ) -> tuple[Array, Array]:
        """Deploy by a law of length, speed, acceleration; the last two columns are integrals.

        They are the work of the drive and of -V EI w''(root)^2/2, with EI = 1.
        """
        n, none = self.model.size, np.zeros(0)

        def rate(t: float, y: Array) -> Array:
            where, speed, change = length(t)
            q, v = np.append(where, y[: n - 1]), np.append(speed, y[n - 1 : 2 * n - 2])
            a, effort = self.forward.call(q, v, none, none, np.array([change]))
            bend = self.root_bend @ q[1:] / where**2
            return np.concatenate([v[1:], a[1:], [effort[0] * speed, -speed * bend**2 / 2]])

        return integrate(rate, np.append(start, [0.0, 0.0]), [0.0, t_end], rtol=1e-8, atol=1e-14)


@cache
def boom_of(count: int) -> Boom:
    """The telescope with a number of shapes."""
    return Boom(count)


def deployed(boom: Boom) -> float:
    """Tip deflection when the length has doubled, per unit of it at first, in the exact motion."""
    s, f = deploying_shape(1.0, 0.5 + 3.5j)
    size = 1e-4  # the problem is linear
    e = boom.places
    bent, moved = f(e).real * size, (s * f(e) - e * f.deriv()(e)).real * size
    d = boom.projected(bent)
    drift = boom.transverse(np.append(1.0, d))[:, 0]
    rates = boom.projected(moved - drift)

    def length(t: float) -> tuple[float, float, float]:
        now = np.sqrt(1 + 2 * t)
        return now, 1 / now, -1 / now**3

    _, rows = boom.run(np.concatenate([d, rates]), length, 1.5)
    q = np.append(2.0, rows[-1][: len(d)])
    return float(boom.equation.tip_pose(q)[1][1]) / size


def test_deploying_boom_follows_the_exact_solution() -> None:
    s, _ = deploying_shape(1.0, 0.5 + 3.5j)
    assert s.imag == pytest.approx(3.5186483066, abs=1e-9)
    exact = (2**s).real
    assert exact == pytest.approx(-1.07923072, abs=1e-8)
    assert abs(deployed(boom_of(5)) - exact) <= 3e-6


@pytest.mark.campaign
def test_deploying_boom_comes_nearer_with_shapes() -> None:
    exact = (2 ** deploying_shape(1.0, 0.5 + 3.5j)[0]).real
    errors = [abs(deployed(boom_of(count)) - exact) for count in (3, 5)]
    assert errors[1] < errors[0] / 4


def test_deploying_boom_needs_the_axial_inertia_force() -> None:
    assert abs(deployed(Boom(2, stiffening=False)) + 1.07923072) > 0.1


@pytest.mark.campaign
def test_deploying_boom_loses_energy_at_its_mouth() -> None:
    speed, start = 0.5, 1e-3
    errors = []
    for count in (3, 6):
        boom = boom_of(count)
        n = boom.model.size
        y = np.zeros(2 * n - 2)
        y[0] = start
        _, rows = boom.run(y, lambda t: (1 + speed * t, speed, 0.0), 1.0)
        states = [
            (np.append(where, row[: n - 1]), np.append(speed, row[n - 1 : 2 * n - 2]))
            for where, row in ((1.0, rows[0]), (1.0 + speed, rows[-1]))
        ]
        total = [sum(boom.equation.energy(q, v)) for q, v in states]
        assert total[1] - total[0] == pytest.approx(rows[-1][-2], rel=1e-6)
        # of beam theory: 1/2 int (rhoA w_t^2 + EI w''^2) falls by V EI w''(root)^2/2 per second
        bending = [_transverse_energy(boom, q, v) for q, v in states]
        errors.append(abs((bending[1] - bending[0]) / rows[-1][-1] - 1))
    assert errors[1] <= 1e-3
    assert errors[1] < errors[0] / 2


def _transverse_energy(boom: Boom, q: Array, v: Array) -> float:
    moved = boom.transverse(q) @ v
    bent = boom.bends @ q[1:] / q[0] ** 2
    return float(q[0] * boom.weights @ (moved**2 + bent**2) / 2)


def spun_up(shapes: ShapeChoice, times: list[float], *, stiffening: bool) -> tuple[Array, Array]:
    """Tip of the beam that is spun up, in its hub's frame, at the ends of all steps."""
    model = build(with_shapes("spin-up-beam", shapes), stiffening=stiffening)
    equation = formulation("articulated", model)
    forward = equation.compiled("forward_dynamics", level="fast")
    n, none = model.size, np.zeros(0)

    def rate(t: float, y: Array) -> Array:
        q, v, a = prescribed_motion(model, t)
        rates = np.append(v, y[n - 1 :])
        found = forward.call(np.append(q, y[: n - 1]), rates, none, none, a)[0]
        return np.concatenate([y[n - 1 :], found[1:]])

    steps, rows = integrate(rate, np.zeros(2 * n - 2), times, rtol=1e-8, atol=1e-11)
    tips = [
        in_hub_frame(equation, np.append(prescribed_motion(model, t)[0], y[: n - 1]))
        for t, y in zip(steps, rows, strict=True)
    ]
    return steps, np.array(tips)


@pytest.mark.campaign
def test_spun_up_beam_swings_back_like_the_exact_beam() -> None:
    shapes = Loaded(bending_y=4, stretch=1)
    steps, tips = spun_up(shapes, [0.0, 5.0, 10.0, 15.0, 16.0], stiffening=True)
    lowest = int(np.argmin(tips[:, 1]))
    assert tips[lowest, 1] == pytest.approx(-0.57384, rel=3e-3)
    assert steps[lowest] == pytest.approx(6.763, abs=0.01)
    assert tips[lowest, 0] - 10 == pytest.approx(-0.018823, rel=3e-3)
    # one stretch shape gives the steady extension but for 1.4 %
    assert tips[-1, 0] - 10 == pytest.approx(5.142857e-4, rel=0.02)


def test_spun_up_beam_diverges_without_stiffening() -> None:
    times = [0.0, 5.0, 7.5, 10.0]
    steps, tips = spun_up(Loaded(bending_y=4, stretch=0), times, stiffening=False)
    found = tips[np.isin(steps, times[1:]), 1]
    assert found == pytest.approx([-0.5218, -1.4645, -72.0], abs=1e-4, rel=2e-4)
