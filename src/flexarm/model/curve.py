"""Least-squares fit of a link's shape functions to a given curve."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from flexarm.arguments import require_array, require_kind
from flexarm.errors import FlexarmError
from flexarm.links.base import Direction
from flexarm.model.constants import FIT_STATIONS
from flexarm.model.parts import Model, WholeLink
from flexarm.spatial import Array

Along = Array | tuple[float, ...] | Callable[[Array], Array]


@dataclass(frozen=True)
class CurveFit:
    """Result of a fit of a link's shape functions to a curve.

    Attributes
    ----------
    amplitudes
        Amplitude of each shape function, by its name within the link: the format of a link's
        ``start``.
    residual
        Largest deviation from the curve, relative to the curve's largest value.
    """

    amplitudes: dict[str, float]
    residual: float


def fit_curve(
    model: Model,
    link: str,
    *,
    y: Along | None = None,
    z: Along | None = None,
    twist: Along | None = None,
    stations: Array | tuple[float, ...] | None = None,
) -> CurveFit:
    """Fit the shape functions of a link to a curve by least squares.

    Parameters
    ----------
    model
        Model of the arm.
    link
        Name of a flexible link that does not slide.
    y, z
        Deflections of the link's axis [m] at the stations, or functions of the distance [m].
    twist
        Rotation about the link's axis [rad] at the stations, or a function of the distance [m].
    stations
        Distances [m] from the root of the flexible span; None for 41 equally spaced stations.

    Returns
    -------
    CurveFit
        Amplitudes in the format of a link's ``start``, and the residual of the fit.

    Notes
    -----
    Deflections are linear in the amplitudes: axial shortening and other effects of large slopes are
    neglected.
    """
    require_kind("model", model, Model, "a Model, as flexarm.build(arm) returns")
    flexible = {
        whole.name: whole
        for whole in model.whole_links
        if all(span.body.one_length for span in whole.spans)
    }
    if not isinstance(link, str) or link not in flexible:
        link_names = ", ".join(flexible) or "none"
        raise FlexarmError(f"link: must be a flexible link that does not slide, got {link!r}. "
                           f"The links are {link_names}.")  # fmt: skip
    part = flexible[link]
    x = np.linspace(0, part.length, FIT_STATIONS)
    if stations is not None:
        x = require_array("stations", stations)
    arguments: dict[Direction, Along | None] = {"y": y, "z": z, "twist": twist}
    curves = {
        direction: require_array(direction, curve(x) if callable(curve) else curve)
        for direction, curve in arguments.items()
        if curve is not None
    }
    for direction, values in curves.items():
        if values.shape != x.shape or x.ndim != 1:
            raise FlexarmError(
                f"{direction}: must have one number per station, {x.shape}, got {values.shape}"
            )
    if not curves:
        raise FlexarmError("a curve needs at least one deflection. Give y, z or twist.")
    amplitudes, residual = fit_shapes(part, x, curves)
    names = [name.removeprefix(f"{part.name}.") for name in model.names[part.modes]]
    return CurveFit(dict(zip(names, amplitudes.tolist(), strict=True)), residual)


def fit_shapes(part: WholeLink, x: Array, curves: Mapping[Direction, Array]) -> tuple[Array, float]:
    """Fit a link's shape functions to curves at stations x [m] by least squares.

    Returns
    -------
    amplitudes, residual
        Amplitudes (m,), and the largest deviation relative to the largest value of the curves.
    """
    # Twist angles are weighted by a lever arm of a tenth of the span's length.
    sizes = {direction: part.length / 10 if direction == "twist" else 1.0 for direction in curves}
    rows = np.vstack([size * straight_rows(part, d, x) for d, size in sizes.items()])
    target = np.concatenate([size * curves[d] for d, size in sizes.items()])
    amplitudes = np.linalg.lstsq(rows, target, rcond=1e-10)[0]
    largest = max(float(np.abs(target).max(initial=0.0)), 1e-300)
    return np.asarray(amplitudes), float(
        np.abs(rows @ amplitudes - target).max(initial=0.0)
    ) / largest


def straight_rows(part: WholeLink, direction: Direction, x: Array) -> Array:
    """Return a link's displacement or twist at stations x [m] per amplitude, (S, m).

    The link is assumed nearly straight; the tip of each span moves and rotates all spans beyond it.
    """
    columns, root = list[Array](), 0.0
    for span in part.spans:
        tip, beam = root + span.length, span.beam
        rows = np.zeros((len(x), beam.shapes.count))
        beyond = x >= tip if span is not part.spans[-1] else np.zeros(len(x), dtype=bool)
        inside = (x >= root) & ~beyond
        rows[inside] = beam.shapes.values(direction, x[inside] - root)
        lever = (x[beyond] - tip)[:, None]
        (_, y, z), (twist, about_y, about_z) = beam.tip_shape, beam.tip_angle
        moved = {"x": beam.tip_shape[0] + 0 * lever, "twist": twist + 0 * lever}
        moved |= {"y": y + lever * about_z, "z": z - lever * about_y}
        rows[beyond] = moved[direction]
        columns.append(rows)
        root = tip
    return np.hstack(columns)


def start_curve(part: WholeLink) -> tuple[Array, float]:
    """Fit a link's shape functions to the start curve of the link in the model file.

    Returns
    -------
    amplitudes, residual
        Amplitudes (m,), and the largest deviation relative to the largest value of the curve.
    """
    curve = part.spans[0].link.start_curve
    assert curve is not None
    curves: dict[Direction, Array] = {
        direction: np.array(values) for direction, values in curve.given.items()
    }
    return fit_shapes(part, np.array(curve.stations), curves)
