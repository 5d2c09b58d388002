"""Encoders, strain gauges, state estimates from their readings, and limited or sampled laws."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import casadi as ca
import numpy as np

from flexarm.arguments import (
    WithUnit,
    refused,
    require_kind,
    require_known,
    require_number,
    require_positive,
    require_word,
)
from flexarm.control.statics import drives
from flexarm.errors import FlexarmError
from flexarm.integrate.laws import Sampled, Sensors, refuse_misfit, require_sensors_fit
from flexarm.mechanics.bodies import LinkBody, body_of
from flexarm.mechanics.deformed import span_at
from flexarm.mechanics.loads import input_limits
from flexarm.model import LinkModel, Model
from flexarm.spatial import Array, Expr

Rates = Literal["measured", "none"]


@dataclass(frozen=True)
class Gauge:
    """A strain gauge on a link.

    Attributes
    ----------
    link
        Name of the link.
    at
        Relative position along the link's exposed length: 0 is the root, 1 the tip.
    axis
        Direction of the measured bending, ``y`` or ``z``.
    distance
        Distance [m] from the neutral axis; the reading is ``- distance`` times the curvature.
    """

    link: str
    at: float
    axis: Literal["y", "z"] = "y"
    distance: float = 1.0

    def __post_init__(self) -> None:
        """Raise an error for invalid attributes."""
        require_kind("gauge: link", self.link, str, "the name of a link")
        require_word("gauge: axis", self.axis, ("y", "z"))
        at = require_number("gauge: at", self.at, least=0.0, largest=1.0)
        distance = require_number("gauge: distance", self.distance, unit="m")
        if not distance:
            raise refused("gauge: distance", self.distance, "a number other than 0")
        object.__setattr__(self, "at", at)
        object.__setattr__(self, "distance", distance)


def sensors(
    model: Model,
    gauges: Sequence[Gauge] = (),
    *,
    known: Model | None = None,
    rates: Rates = "measured",
) -> Sensors:
    """Return the sensors of an arm: encoders of all joints and motors, and strain gauges.

    Parameters
    ----------
    model
        Model of the measured arm.
    gauges
        Strain gauges. Modal amplitudes of a link and direction are estimated by least squares if it
        has at least as many gauges as shape functions in the controller's model, else as the
        minimum-norm solution. Bending without gauges, twist and stretch are estimated as 0.
    known
        The controller's model of the arm, with the same joints; ``model`` itself if None.
    rates
        With ``none``, the rates of modal amplitudes are estimated as 0 instead of measured.

    Returns
    -------
    Sensors
        Sensors for laws of `flexarm.control` in place of the true state.

    Notes
    -----
    Measured rates are exact time derivatives of the readings. A `flexarm.Sampled` law can use
    differences of successive readings instead.
    """
    mine = model if known is None else known
    for name, value in (("model", model), ("known", mine)):
        require_kind(name, value, Model, "a Model, as flexarm.build(arm) returns")
    if not isinstance(gauges, Sequence) or not all(isinstance(value, Gauge) for value in gauges):
        raise refused("gauges", gauges, "a list of Gauge")
    moving = _encoders(model)
    if moving != _encoders(mine):
        raise FlexarmError(
            f"known: must be a model with the encoders {', '.join(moving)} of the arm, got one "
            f"with {', '.join(_encoders(mine))}"
        )
    names = (*moving, *(f"{g.link} strain {g.axis} at {g.at:g}" for g in gauges))
    q, v = ca.SX.sym("q", model.size), ca.SX.sym("v", model.size)
    read = ca.vertcat(
        *[q[model.names.index(name)] for name in moving],
        *[-g.distance * bending(model, g, q) for g in gauges],
    )
    measure = ca.Function("measure", [q, v], [read, ca.jtimes(read, q, v)])
    z, dz = ca.SX.sym("z", len(names)), ca.SX.sym("dz", len(names))
    on_spans = [_on_span(mine, gauge) for gauge in gauges]
    fitted = _fitted(mine, moving, on_spans, z)
    moved = ca.jtimes(fitted, z, dz)
    require_word("rates", rates, ("measured", "none"))
    if rates == "none":
        joints = [mine.names.index(name) for name in moving]
        still = ca.SX.zeros(mine.size)
        still[joints] = moved[joints]
        moved = still
    estimate = ca.Function("estimate", [z, dz], [ca.densify(fitted), ca.densify(moved)])
    return Sensors(names, measure, estimate)


def measured_law(law: ca.Function, sensed: Sensors) -> ca.Function:
    """Return a control law that uses the state estimated from sensors.

    Parameters
    ----------
    law
        Control law (t, q, v) to u, in the coordinates of the controller's model.
    sensed
        The sensors.

    Returns
    -------
    casadi.Function
        Control law (t, q, v) to u, in the coordinates of the arm.
    """
    require_sensors_fit(sensed, law)
    require_kind("law", law, ca.Function, "a CasADi function (t, q, v) to u")
    n = sensed.measure.size1_in(0)
    t, q, v = ca.SX.sym("t"), ca.SX.sym("q", n), ca.SX.sym("v", n)
    u = law(t, *sensed.estimate(*sensed.measure(q, v)))
    return ca.Function("law", [t, q, v], [u], ["t", "q", "v"], ["u"])


def limited_law(
    law: ca.Function, model: Model, limits: float | Sequence[float] | None = None
) -> ca.Function:
    """Return a control law with inputs clipped to the actuator limits.

    Parameters
    ----------
    law
        (t, q, v) to u.
    model
        The arm.
    limits
        Largest input [N m], [N], one number or one per driven joint; if None, the limits of the
        model file.

    Returns
    -------
    casadi.Function
        The law with limited inputs, (t, q, v) to u.
    """
    refuse_misfit(law, model)
    top = effort_limits(model, limits)
    t, q, v = law.sx_in()
    u = ca.fmax(ca.fmin(law(t, q, v), ca.DM(top)), ca.DM(-top))
    return ca.Function("law", [t, q, v], [u], ["t", "q", "v"], ["u"])


def effort_limits(model: Model, limits: float | Sequence[float] | None) -> Array:
    """Return the largest input of each driven joint, shape (k,), infinite if unlimited.

    If ``limits`` is None, the limits of the model file apply.
    """
    driven = drives(model)
    if limits is not None:
        return driven.gains("limits", limits, "N m|N|A|V")
    limits_of_file = input_limits(model)
    if not np.any(np.isfinite(limits_of_file)):
        raise FlexarmError("limits: the model file has no joint.limits.effort. Give numbers.")
    return limits_of_file


def _encoders(model: Model) -> tuple[str, ...]:
    """Return the names of the measured coordinates: moving base, motors and joints."""
    joints = [i for axis in model.axes for i in (axis.motor, axis.index) if i is not None]
    return tuple(model.names[i] for i in [*range(6 * model.base_moves), *joints])


def _part(model: Model, gauge: Gauge) -> tuple[LinkModel, float]:
    """Return the link segment (a ``LinkModel``) under a gauge, and the gauge's position on it.

    The position is relative to the length of the segment, from 0 to 1.
    """
    some = np.ones((1, model.size))
    flexible = {
        link.name: link
        for link in model.whole_links
        if body_of(model, link.spans[0]).deformed(some) is not None
    }
    require_known(gauge.link, flexible, "flexible link", where="gauge: ")
    return span_at(flexible[gauge.link], gauge.at)


def _on_span(model: Model, gauge: Gauge) -> Gauge:
    """Return a copy of a gauge that refers to one segment of its link, by name and position."""
    part, at = _part(model, gauge)
    return replace(gauge, link=part.name, at=at)


def _columns(model: Model, part: LinkModel, gauge: Gauge, q: Expr) -> Expr:
    """Return the curvature at a gauge per modal amplitude [1/m], shape (1, m)."""
    columns = body_of(model, part).curvature(q, gauge.axis, gauge.at)
    assert columns is not None  # a link with a gauge has sections
    return columns


def bending(model: Model, gauge: Gauge, q: Expr) -> Expr:
    """Return the symbolic curvature of a link at a strain gauge [1/m]."""
    part, at = _part(model, gauge)
    columns = _columns(model, part, replace(gauge, at=at), q)
    return columns @ q[part.modes.start : part.modes.stop]


def _fitted(model: Model, moving: tuple[str, ...], gauges: Sequence[Gauge], z: Expr) -> Expr:
    """Return the symbolic estimate of the coordinates from the sensor readings, shape (n,)."""
    q = ca.SX.zeros(model.size)
    for k, name in enumerate(moving):
        q[model.names.index(name)] = z[k]
    for part in model.links:
        for axis in ("y", "z"):
            chosen = [k for k, g in enumerate(gauges) if g.link == part.name and g.axis == axis]
            if not chosen:
                continue
            rows = ca.vertcat(
                *[-gauges[k].distance * _columns(model, part, gauges[k], q) for k in chosen]
            )
            used = [j for j in range(rows.shape[1]) if rows[:, j].nnz()]
            size = max(abs(gauges[k].distance) for k in chosen)
            _require_rank(body_of(model, part), axis, rows[:, used] / size)
            read = z[[len(moving) + k for k in chosen]]
            columns = rows[:, used]
            square = columns.shape[0] == columns.shape[1]
            amplitudes = ca.solve(columns, read) if square else ca.pinv(columns) @ read
            for j, amplitude in zip(used, ca.vertsplit(amplitudes), strict=True):
                q[part.modes.start + j] = amplitude
    return q


def _require_rank(body: LinkBody, axis: Literal["y", "z"], rows: Expr) -> None:
    """Raise an error if the gauges on a link do not determine its modal amplitudes."""
    fewest, part = min(rows.shape), body.part
    if fewest and ca.SX(rows).is_constant():
        none = ca.DM.zeros(body.model.size)
        along = [np.array(body.curvature(none, axis, x)) for x in np.linspace(0, 1, 41)]
        bends = max(float(np.abs(along).max()), 1e-300)
        fewest = int(np.linalg.matrix_rank(np.array(ca.DM(rows)) / bends, tol=1e-6))
    if fewest < max(min(rows.shape), 1):
        raise FlexarmError(
            f"the gauges on {part.name} along {axis} cannot separate its {rows.shape[1]} "
            "shapes. Put them at different places, where these shapes bend."
        )


def sampled(
    law: Callable[[float, Array, Array], Any],
    period: WithUnit,
    model: Model,
    *,
    sensed: Sensors | None = None,
    delay: WithUnit = 0.0,
    limits: float | Sequence[float] | None = None,
    noise: float | Sequence[float] = 0.0,
    quantum: float | Sequence[float] = 0.0,
    seed: int = 0,
    rates: Literal["measured", "difference"] = "measured",
) -> Sampled:
    """Return a control law evaluated at a fixed period, with the input limits of the model file.

    Parameters
    ----------
    law, period, sensed, delay, noise, quantum, seed, rates
        As for `flexarm.Sampled`.
    model
        The arm.
    limits
        Largest input, one number or one per driven joint; ``limits.effort`` of the model file if
        None.

    Returns
    -------
    Sampled
        Control law for ``flexarm.simulate(control=...)``.
    """
    if not callable(law):
        raise refused("law", law, "a function (t, q, v) to u")
    period = require_positive("period", period, unit="s")
    require_kind("model", model, Model, "a Model, as flexarm.build(arm) returns")
    top = "file" if limits is None else limits
    control = Sampled(law, period, sensed, delay, top, noise, quantum, seed, rates)  # type: ignore[arg-type]
    control.begin(model)
    return control
