"""Gradients of runs of every sample against differences of whole runs, in motion, to 1e-7.

Differences are of sixth order, by up to four steps: large ones truncate, small ones round.  What
agrees with one in all coordinates and at all samples is right: neither knows of the other.
"""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

import flexarm
from flexarm.errors import FlexarmError, SimulationError
from flexarm.gradients.events.crossing import HybridTrajectory
from flexarm.gradients.runs import Differentiable
from flexarm.integrate.methods import METHODS
from flexarm.io.model_file import read_value
from flexarm.spatial import Array

EXACT = 1e-7
PLACES = (-3, -2, -1, 1, 2, 3)
WEIGHTS = np.array([-1, 9, -45, 45, -9, 1]) / 60
FIFTH = np.array([-1, 4, -5, 5, -4, 1]) / 2
# Steps of differences, of a number, a start or inputs, which runs follow nearly linearly.
SHARE = {"numbers": 1e-3, "q": 1e-3, "v": 1e-2, "inputs": 0.1}
GENTLE = 0.02
AMPLITUDE = 0.03  # [rad], [m] that a start is moved by, which amplitudes stand as well
NUMBERS = (
    "links.1.length", "payload.mass", "links.1.section.mass_per_length", "links.2.length",
    "links.2.body.mass", "links.2.section.mass_per_length",
)  # fmt: skip
OTHERS = {
    "puma-560": ("links.2.body.mass", "links.3.body.mass"),  # its lengths are those of its joints
    "telescope": (),  # shapes that grow are taken whole, and its other numbers are 1
    # Their load's mass is one of those.
    "theodore-rrp": ("links.2.section.EIz", "links.2.section.mass_per_length"),
    "theodore-rrp-motion": ("links.2.section.EIz", "links.2.section.mass_per_length"),
}
SHORT = 0.02
QUICK = ("chen-rotating-link", "driven-link", "puma-560")


def sample_runs(name: str) -> Differentiable:
    """Make runs of a sample, by two numbers of it."""
    arm, keys = flexarm.example_arm(name), []
    for key in OTHERS.get(name, NUMBERS):
        with contextlib.suppress(FlexarmError):
            keys += [key] if isinstance(value := read_value(arm, key), float) and value else []
    return flexarm.differentiable(arm, t_end=SHORT, dt=SHORT / 4, parameters=keys[:2], rtol=1e-4)


def moving(runs: Differentiable) -> dict[str, Any]:
    """Draw a start and inputs that set everything in motion."""
    rng = np.random.default_rng(3)
    (q, v), u = runs.start, runs.input_samples
    M = runs.equation.mass_matrix(q)
    held = list(runs.equation.model.prescribed)
    away, rate = 1e-3 * rng.normal(size=len(q)), 0.05 * rng.normal(size=len(q))
    away[held], rate[held] = 0.0, 0.0
    if any(axis.acts.servo is not None for axis in runs.equation.model.axes):
        away, rate = GENTLE * away, GENTLE * rate  # differences would cross their limits
    push = 0.5 * np.diag(M).min(initial=1.0, where=np.diag(M) > 0)
    return {"q": q + away, "v": v + rate, "inputs": u + push * rng.normal(size=u.shape)}


def compared(found: Array, function: Callable[[float], Array], h: float) -> float:
    """Say how far a derivative of samples is off differences by a step of h, or by another.

    Where none of them agrees in all coordinates, each is compared by the step that tells it best,
    and what that leaves open does not count: rounding of the runs, as their fifth differences show
    it.  (A joint at 1 rad that a number moves by 1e-9 rad is hardly seen in doubles.)
    """
    off, steps = np.inf, []
    differences, fifths = [], []
    for step in (h, 0.1 * h, 10 * h, 100 * h):
        try:
            runs = [function(place * step) for place in PLACES]
        except SimulationError:  # so far away it cannot be run
            break
        steps.append(step)
        differences.append(np.tensordot(WEIGHTS, runs, axes=1) / step)
        fifths.append(np.abs(np.tensordot(FIFTH, runs, axes=1)).max(axis=0))
        off = min(off, _off(found, differences[-1], 0.0))
        if off <= EXACT:
            return off
    rounding = np.maximum(*fifths[:2])  # by small steps there is nothing else
    blurs = np.maximum(fifths, rounding) / np.array(steps)[:, None]
    expected = np.choose(np.argmin(blurs, axis=0), differences)
    return _off(found, expected, 3 * np.min(blurs, axis=0))


def _off(found: Array, expected: Array, blur: Array | float) -> float:
    size = np.abs(expected).max(axis=0)
    return float((np.abs(found - expected) / (size + 1e-6 * size.max() + blur / EXACT)).max())


def checked(runs: Differentiable, given: dict[str, Any]) -> Iterator[tuple[str, float]]:
    """Give what was differentiated by, and how far that is off."""
    run = runs.at(**given)
    slopes = np.concatenate(run.sensitivities(), axis=1)
    rng = np.random.default_rng(4)

    def samples(run: HybridTrajectory) -> Array:
        return np.hstack([run.q, run.v])

    def changed(by: float, k: int) -> Array:
        values = runs.values.copy()
        values[k] += by
        return samples(runs.at(values, steps=run, **given))

    for k, key in enumerate(runs.parameters):
        h = SHARE["numbers"] * abs(runs.values[k])
        yield key, compared(slopes[:, :, k], partial(changed, k=k), h)
    weights = rng.normal(size=(len(run.q), run.q.shape[1] * 2)) / np.abs(samples(run)).max(axis=0)
    gradient = run.gradient(*np.hsplit(weights, 2))

    def moved(by: float, name: str, way: Array) -> Array:
        other = given | {name: given[name] + by * way}
        return np.array([[np.sum(weights * samples(runs.at(steps=run, **other)))]])

    for name, value in given.items():
        if value.size:
            size = AMPLITUDE if name == "q" else np.abs(value).max()
            way = rng.normal(size=value.shape) * size
            found = np.array([[np.sum(getattr(gradient, name) * way)]])
            yield name, compared(found, partial(moved, name=name, way=way), SHARE[name])
    back = np.einsum("ts,tsk->k", weights, slopes)
    apart = np.abs(gradient.parameters - back) / np.abs(back)
    yield "transpose", float(np.max(apart, initial=0.0))


@pytest.mark.campaign
@pytest.mark.few(1)
@pytest.mark.parametrize(
    "name",
    [
        n if n in QUICK else pytest.param(n, marks=pytest.mark.campaign)
        for n in flexarm.example_arm_names()
    ],
)
def test_gradients_are_differences(name: str) -> None:
    runs = sample_runs(name)
    given = moving(runs)
    for method in ("rk4",) if name in QUICK else ("rk4", "dop853", "etd4"):
        for what, off in checked(replace(runs, method=METHODS[method]), given):
            print(f"{name:32} {method:7} {what:34} {off:9.1e}", flush=True)
            assert off <= EXACT, (method, what)
