"""State-space models of an arm about any state: A, B, C, D with names and units."""

import io
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from flexarm.accuracy.frequencies import FrequencyErrors
from flexarm.arguments import require_kind, require_names, require_number, require_shaped
from flexarm.arm import Arm
from flexarm.arm.summary import Summarised, Summary
from flexarm.constants import NEGLIGIBLE
from flexarm.errors import FlexarmError
from flexarm.linear.constants import BALANCED
from flexarm.linear.equilibrium import Equilibrium, frequency_errors, settle_down
from flexarm.linear.tangent import DryFriction, FrictionChoice, OperatingPoint, Tangent, moves
from flexarm.linear_model import Complex, transmission_zeros
from flexarm.mechanics.loads import hub_row
from flexarm.model import Model, build, start_state
from flexarm.runs.run import Run
from flexarm.spatial import Array
from flexarm.threads import one_blas_thread

if TYPE_CHECKING:
    import scipy.signal

# Units of the tip's outputs, in the order of `Tangent.tip`.
TIP = {
    f"tip.{axis}{what}": unit
    for what, units in (("", ("m", "rad")), (".rate", ("m/s", "rad/s")),
                        (".acceleration", ("m/s^2", "rad/s^2")))
    for axis, unit in zip(("x", "y", "z", "rx", "ry", "rz"),
                          [units[0]] * 3 + [units[1]] * 3, strict=True)
}  # fmt: skip


@one_blas_thread
def linearise(
    arm: Arm | Model,
    *,
    about: OperatingPoint | Equilibrium | None = None,
    outputs: Sequence[str] | None = None,
    friction: FrictionChoice = "off",
    friction_speed: float | None = None,
) -> "StateSpace":
    """Linearise an arm's equation of motion about a state, at rest or in motion.

    Parameters
    ----------
    arm
        The arm, or its model.
    about
        The state: an `OperatingPoint` (such as the result of `point_of_run` or `start_point`) or an
        `Equilibrium`. If None, the equilibrium with the joints held at their initial positions.
    outputs
        Names of the outputs: coordinates (``joint1``, ``link1.y1``) and their rates
        (``joint1.rate``), readings of an encoder at a joint's hub (``joint1.encoder``,
        ``joint1.encoder.rate``), the tip's position in the world ``tip.x``, ``tip.y``, ``tip.z``
        and small rotations ``tip.rx``, ``tip.ry``, ``tip.rz``, each also as ``.rate`` and
        ``.acceleration``.  If None, the moving joints' positions and the tip's position.
    friction, friction_speed
        Treatment of Coulomb friction in the linear model: ``off``, ``secant`` (describing function
        at that amplitude of a joint's speed [rad/s], [m/s]; 0.1 if None) or ``tangent`` (slope of
        the smoothed friction at the state).  See `DryFriction`.

    Returns
    -------
    StateSpace
        Linear model of the deviations from the state. The states of the model exclude prescribed
        coordinates and joints whose brakes are closed at the start.

    Raises
    ------
    FlexarmError
        If an output is not known.
    """
    model = arm if isinstance(arm, Model) else build(arm)
    tangent = Tangent(model, friction=DryFriction(friction, friction_speed))
    if about is None:
        about = settle_down(tangent, {}, {})
    require_kind(
        "about", about, (OperatingPoint, Equilibrium), "an OperatingPoint or an Equilibrium"
    )
    if outputs is not None:
        _require_outputs(outputs)
    point = about.point if isinstance(about, Equilibrium) else about
    braked = {axis.name for axis in model.axes if axis.is_braked}
    return state_space(tangent, _required(model, point, tangent.inputs.shape[1]), outputs, braked)


def start_point(arm: Arm | Model) -> OperatingPoint:
    """Return the initial state of an arm, with inputs 0."""
    model = arm if isinstance(arm, Model) else build(arm)
    q, v = start_state(model)
    return OperatingPoint(q, v, np.zeros(sum(axis.driven for axis in model.axes)))


def point_of_run(run: Run, t: float) -> OperatingPoint:
    """Return the state of a run at the sample nearest to time t [s]."""
    require_kind("run", run, Run, "a Run")
    t = require_number("t", t, unit="s")
    if not run.t[0] <= t <= run.t[-1]:
        raise FlexarmError(
            f"t: must be a time of the run, {run.t[0]:g} to {run.t[-1]:g} s, got {t:g} s"
        )
    k = int(np.argmin(np.abs(run.t - t)))
    reference_attitude = run.reference_attitudes[k] if run.model.attitudes else None
    return OperatingPoint(run.q[k], run.v[k], run.u[k], float(run.t[k]), reference_attitude)


def state_space(
    tangent: Tangent,
    point: OperatingPoint,
    outputs: Sequence[str] | None,
    locked: Set[str] = frozenset(),
) -> "StateSpace":
    """Return the state-space model of compiled equations about a state, joints locked."""
    model = tangent.model
    coordinates, columns = moves(model, locked)
    a = tangent.accelerations(point, columns)
    A, B = tangent.matrices(point, a).along(coordinates, columns).state_space()
    names = _default_outputs(model) if outputs is None else tuple(outputs)
    by_state = np.hstack([A, B])[len(coordinates) :]
    C, D, values, units = _outputs(tangent, (point, a), names, columns, by_state)
    driven = [axis for axis in model.axes if axis.driven]
    names_of_states = [model.names[i] for i in coordinates]
    return StateSpace(
        A=A,
        B=B,
        C=C,
        D=D,
        states=(*names_of_states, *(f"{name}.rate" for name in names_of_states)),
        state_units=(
            *(model.units[i] for i in coordinates),
            *(f"{model.units[i]}/s" for i in coordinates),
        ),
        inputs=tuple(axis.name for axis in driven),
        input_units=tuple(axis.input_unit for axis in driven),
        outputs=names,
        output_units=units,
        point=point,
        rate=np.concatenate([point.v[coordinates], a[coordinates]]),
        output=values,
        notices=tangent.friction.notices(model, point.v),
        model=model,
        columns=columns,
    )


def _require_outputs(outputs: object) -> None:
    names = require_names("outputs", outputs, "names of outputs")
    repeated = [name for k, name in enumerate(names) if name in names[:k]]
    if repeated:
        raise FlexarmError(f"outputs: must name each output once, got '{repeated[0]}' twice")


def _required(model: Model, point: OperatingPoint, inputs: int) -> OperatingPoint:
    """Return a state whose arrays are validated; raise an error if shapes do not fit the arm."""
    n, reference_attitude, anchor_shape = (
        model.size,
        point.reference_attitude,
        model.start_references.shape,
    )
    return replace(
        point,
        q=require_shaped("about.q", point.q, (n,)),
        v=require_shaped("about.v", point.v, (n,)),
        u=require_shaped("about.u", point.u, (inputs,)),
        t=require_number("about.t", point.t),
        reference_attitude=None
        if reference_attitude is None
        else require_shaped("about.reference_attitude", reference_attitude, anchor_shape),
    )


def _default_outputs(model: Model) -> tuple[str, ...]:
    joints = [axis.name for axis in model.axes if axis.index not in model.prescribed]
    return (*joints, "tip.x", "tip.y", "tip.z")


def _outputs(
    tangent: Tangent,
    operating_point: tuple[OperatingPoint, Array],
    names: Sequence[str],
    columns: Array,
    by_state: Array,
) -> tuple[Array, Array, Array, tuple[str, ...]]:
    """Return C (p, 2n), D (p, m), the values of p outputs at the state (p,), and their units."""
    model, (point, a) = tangent.model, operating_point
    size, n = model.size, by_state.shape[0]
    rows = {name: (row, np.zeros(size), unit) for name, row, unit in _linear_outputs(model)}
    tip: tuple[Array, ...] | None = None
    C, D, values, units = [], [], [], []
    by_a: Array
    for name in names:
        if name in TIP:
            tip = tip or tangent.tip(point, a)
            k = list(TIP).index(name)
            value, by_q, by_v, by_a = tip[0][k], tip[1][k], tip[2][k], tip[3][k]
            unit = TIP[name]
        elif (base := name.removesuffix(".rate")) in rows:
            row, zero, unit = rows[base]
            is_rate = base != name
            by_q, by_v, by_a = (zero, row, zero) if is_rate else (row, zero, zero)
            value, unit = row @ (point.v if is_rate else point.q), unit + "/s" * is_rate
        else:
            available = ", ".join([*rows, *list(TIP)[:6]])
            raise FlexarmError(
                f"outputs: there is no output '{name}'. The outputs are {available}, and each of "
                "them with .rate; outputs of the tip also with .acceleration."
            )
        by_acceleration = by_a @ columns @ by_state
        C.append(np.concatenate([by_q @ columns, by_v @ columns]) + by_acceleration[: 2 * n])
        D.append(by_acceleration[2 * n :])
        values.append(float(value))
        units.append(unit)
    shape = (len(names), -1) if names else (0, 2 * n)
    inputs = by_state.shape[1] - 2 * n
    return (
        np.array(C).reshape(shape), np.array(D).reshape(len(names), inputs), np.array(values),
        tuple(units),
    )  # fmt: skip


def _linear_outputs(model: Model) -> list[tuple[str, Array, str]]:
    """Return the outputs that are linear in the coordinates, as name, row (n,) and unit."""
    unit_rows = np.eye(model.size)
    outputs = [(name, unit_rows[i], model.units[i]) for i, name in enumerate(model.names)]
    for axis in model.axes:
        row = hub_row(model, axis) if axis.motor is None else unit_rows[axis.motor]
        outputs.append((f"{axis.name}.encoder", row, axis.unit))
    return outputs


@dataclass(frozen=True, repr=False)
class StateSpace(Summarised):
    """A linear model ``x' = A x + B u``, ``y = C x + D u`` of deviations from a state.

    Attributes
    ----------
    A, B, C, D
        Matrices of the model. The state vector x contains the free coordinates, then their rates.
    states, inputs, outputs
        Names of the components of x, u and y, in order.
    state_units, input_units, output_units
        Units of states, inputs and outputs.
    point
        The state about which the arm is linearised.
    rate
        Time derivative of x at that state: 0 in an equilibrium.
    output
        Values of the outputs at that state.
    notices
        Treatment of Coulomb friction by joint.
    model
        Model of the arm.
    columns
        Motion of all coordinates per free coordinate, (n, r).
    """

    A: Array
    B: Array
    C: Array
    D: Array
    states: tuple[str, ...]
    state_units: tuple[str, ...]
    inputs: tuple[str, ...]
    input_units: tuple[str, ...]
    outputs: tuple[str, ...]
    output_units: tuple[str, ...]
    point: OperatingPoint
    rate: Array
    output: Array
    notices: tuple[str, ...]
    model: Model
    columns: Array

    def _summary(self) -> Summary:
        signals = {"inputs": (self.inputs, self.input_units),
                 "outputs": (self.outputs, self.output_units)}  # fmt: skip
        lines = [
            f"{kind}: " + ", ".join(f"{n} [{u}]" for n, u in zip(*names_and_units, strict=True))
            for kind, names_and_units in signals.items()
        ]
        eigenvalues = sorted((s for s in np.linalg.eigvals(self.A) if s.imag >= 0), key=abs)
        growth_rates = [0.0 if abs(s.real) <= NEGLIGIBLE * abs(s) else s.real for s in eigenvalues]
        rows = [
            (f"{g:.4g}", f"{abs(s) / (2 * np.pi):.4g}", f"{-g / abs(s) + 0.0:.4g}" if s else "")
            for s, g in zip(eigenvalues, growth_rates, strict=True)
        ]
        return Summary(
            f"x' = A x + B u of {self.model.arm.name}: {len(self.states)} states, "
            f"{len(self.inputs)} inputs, {len(self.outputs)} outputs",
            tuple(lines), ("growth [1/s]", "[Hz]", "damping ratio"), rows,
        )  # fmt: skip

    @cached_property
    def errors(self) -> tuple[tuple[float, FrequencyErrors], ...]:
        """Vibration frequencies [rad/s], slowest first, with their error estimates.

        The tuple is empty if the state is not at rest in equilibrium.
        """
        n = len(self.A) // 2
        values, vectors = np.linalg.eig(self.A)
        order = [k for k in np.argsort(np.abs(values)) if values[k].imag > 0]
        modes = [(complex(values[k]), self.columns @ vectors[:n, k]) for k in order]
        offset = np.linalg.lstsq(self.A, self.rate)[0]  # distance of the state from equilibrium
        if np.abs(offset).max(initial=0.0) > BALANCED:
            return ()
        coordinates = {name.removesuffix(".rate") for name in self.states}
        names = self.model.names
        locked = {
            axis.name
            for axis in self.model.axes
            if names[axis.index if axis.motor is None else axis.motor] not in coordinates
        }
        errors = frequency_errors(self.model, self.point, locked, modes, balanced=True)
        pairs = zip(np.abs(values[order]).tolist(), errors, strict=True)
        return tuple((omega, error) for omega, error in pairs if error is not None)

    def zeros(self) -> Complex:
        """Compute the transmission zeros [1/s]; outputs must be as many as inputs.

        With a zero of positive real part the arm is non-minimum-phase from inputs to outputs.
        """
        return transmission_zeros(self.A, self.B, self.C, self.D)

    def to_scipy(self) -> "scipy.signal.StateSpace":
        """Convert to a ``scipy.signal.StateSpace`` model."""
        import scipy.signal

        return scipy.signal.StateSpace(self.A, self.B, self.C, self.D)

    def to_control(self) -> Any:
        """Convert to a python-control state-space model with signal names.

        Raises
        ------
        FlexarmError
            If python-control is not installed.
        """
        try:
            control = import_module("control")
        except ImportError:
            raise FlexarmError(
                "the package python-control is not installed. Run pip install 'flexarm[control]'."
            ) from None
        # In python-control a dot separates a system from its signal.
        names = {
            "states": [name.replace(".", "_") for name in self.states],
            "inputs": [name.replace(".", "_") for name in self.inputs],
            "outputs": [name.replace(".", "_") for name in self.outputs],
        }
        matrices = (self.A, self.B, self.C, self.D)
        return control.ss(*matrices, remove_useless_states=False, **names)

    def to_mat(self, path: str | Path, *, force: bool = False) -> None:
        """Write a MATLAB file with A, B, C, D, names, units, the state and notices.

        Parameters
        ----------
        path
            The file.
        force
            Whether to overwrite an existing file.
        """
        from scipy.io import savemat

        from flexarm.io.whole_file import write_whole

        texts = {
            name: np.array(getattr(self, name), dtype=object)
            for name in ("states", "inputs", "outputs", "state_units", "input_units",
                         "output_units", "notices")
        }  # fmt: skip
        state = {"q0": self.point.q, "v0": self.point.v, "u0": self.point.u, "y0": self.output}
        memory = io.BytesIO()
        matrices = {"A": self.A, "B": self.B, "C": self.C, "D": self.D, "rate0": self.rate}
        savemat(memory, {**matrices, **texts, **state}, oned_as="column")  # type: ignore[arg-type]
        write_whole(path, memory.getvalue(), force=force)
