"""Frequency responses: read from columns of a measured file, or computed by the linear model."""

from collections.abc import Mapping, Sequence

import numpy as np

from flexarm.errors import FlexarmError
from flexarm.fitting.constants import RESPONSE_FLOOR
from flexarm.fitting.recording import Readings, Recording, Sensor
from flexarm.integrate.actuators import actuators_of
from flexarm.linear.state_space import linearise
from flexarm.model import Model
from flexarm.spatial import Array


def read_response(
    recording: Recording, columns: Sequence[str], inputs: Mapping[str, str]
) -> tuple[Array, Array]:
    """Return measured frequency responses of sensors to inputs, and their weights.

    Parameters
    ----------
    recording
        Recording with columns such as ``angle/torque real`` and ``angle/torque imaginary``, or
        ``angle/torque magnitude`` and ``angle/torque phase [deg]``, in SI units. A column such as
        ``angle/torque deviation`` contains standard deviations; without it, errors are assumed
        proportional to the response.
    columns
        Columns of the sensors, such as ``angle``.
    inputs
        Columns of the inputs by joint, such as ``torque``.

    Returns
    -------
    outputs, weights
        Two arrays (2 frequencies inputs, sensors), with real parts, then imaginary parts for one
        input after another. Responses that were not measured have weight 0.
    """
    responses = np.zeros((len(inputs), len(recording.t), len(columns)), dtype=complex)
    weights = np.zeros(responses.shape)
    for k, input_spec in enumerate(inputs.values()):
        for s, column in enumerate(columns):
            name = f"{column}/{input_spec}"
            value = _response(recording, name)
            if value is None:
                continue
            responses[k, :, s] = value
            size = np.abs(value)
            weights[k, :, s] = 1 / np.maximum(size, RESPONSE_FLOOR * max(float(size.max()), 1e-300))
            if recording.has(f"{name} deviation"):
                deviation = recording.column(f"{name} deviation", "1")
                if not (deviation > 0).all():
                    raise FlexarmError(
                        f"{recording.name}: column '{name} deviation': all numbers must be > 0"
                    )
                weights[k, :, s] = 1 / deviation
    if not weights.any():
        missing_pairs = [f"{c}/{i} real" for c in columns for i in inputs.values()]
        raise FlexarmError(
            f"{recording.name}: has no frequency response of an output to an input. Name pairs "
            f"of columns '{(missing_pairs[0] if missing_pairs else 'OUTPUT/INPUT real')}' and '... "
            "imaginary', or '... magnitude' and '... phase [deg]', after outputs and inputs."
        )
    return stacked(responses), np.concatenate([weights, weights], axis=1).reshape(-1, len(columns))


def _response(recording: Recording, name: str) -> Array | None:
    if recording.has(f"{name} real"):
        parts = [recording.column(f"{name} {part}", "1") for part in ("real", "imaginary")]
        return np.asarray(parts[0] + 1j * parts[1])
    if recording.has(f"{name} magnitude"):
        angle = recording.column(f"{name} phase", "rad")
        return np.asarray(recording.column(f"{name} magnitude", "1") * np.exp(1j * angle))
    return None


def stacked(values: Array) -> Array:
    """Return complex values as a real array: real, then imaginary parts, for each input.

    ``values`` has shape (inputs, frequencies, ...), the result (2 inputs frequencies, ...).
    """
    both = np.concatenate([values.real, values.imag], axis=1)
    return both.reshape(-1, *values.shape[2:])


def unstacked(rows: Array, inputs: int) -> Array:
    """Return the complex array (inputs, frequencies, ...) from the real rows made by `stacked`."""
    both = rows.reshape(inputs, 2, -1, *rows.shape[1:])
    return np.asarray(both[:, 0] + 1j * both[:, 1])


def respond(
    model: Model, sensors: Sequence[Sensor], joints: Sequence[str], frequencies: Array
) -> Array:
    """Return frequency responses of ideal sensors, shape (inputs, frequencies, sensors).

    Notes
    -----
    The arm is linearised at rest with its joints at their initial positions. Coulomb friction is
    neglected, which is valid for sufficiently large motions.
    """
    space, n, more = linearise(model), model.size, actuators_of(model).states
    if more:
        raise FlexarmError(
            "frequency responses: cannot be fitted for arms whose state has currents or bristle "
            "deflections. Leave out inductance and lugre friction, or fit time histories."
        )
    point = space.point
    state = np.concatenate([point.q, point.v])[None]
    by = Readings.of(model, sensors).slopes_at(state, np.asarray(point.u)[None])[0]
    C = np.hstack([by[:, :n] @ space.columns, by[:, n : 2 * n] @ space.columns])
    places = [space.inputs.index(name) for name in joints]
    B, D = space.B[:, places], by[:, 2 * n :][:, places]
    s = 2j * np.pi * frequencies[:, None, None]
    responses = C @ np.linalg.solve(s * np.eye(len(space.A)) - space.A, B) + D
    return np.asarray(np.moveaxis(responses, 2, 0))
