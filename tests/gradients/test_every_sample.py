"""Gradients of runs of every sample against differences of whole runs, in motion, to 1e-7.

Differences are of sixth order, by three steps: larger ones truncate, smaller ones round.  Two that
agree best are taken; where they do not agree to a fifth of what is asked they decide nothing, and
the test fails.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest

import flexarm
from flexarm.errors import FlexarmError
from flexarm.gradients.differentiable import Differentiable
from flexarm.gradients.trajectory import Trajectory
from flexarm.integrate.methods import METHODS
from flexarm.io.overrides import read_value
from flexarm.links.base import Array

EXACT = 1e-7
PLACES, WEIGHTS = (-3, -2, -1, 1, 2, 3), np.array([-1, 9, -45, 45, -9, 1]) / 60
NUMBERS = (
    "links.1.length", "payload.mass", "links.1.section.mass_per_length", "links.1.body.mass",
    "links.2.length", "links.2.body.mass", "links.2.section.mass_per_length",
)  # fmt: skip
SHORT = 0.02
QUICK = ("driven-link", "puma-560", "chen-rotating-link", "telescope")
# Why a sample has no gradients, in words of the refusal.
REFUSED = {"canadarm-free-base": "leave out events"}


def sample_runs(name: str) -> Differentiable:
    """Make runs of a sample, by two numbers of it."""
    arm, keys = flexarm.sample(name), []
    for key in NUMBERS:
        try:
            keys += [key] if isinstance(value := read_value(arm, key), float) and value else []
        except FlexarmError:
            pass
    return flexarm.differentiable(arm, t_end=SHORT, dt=SHORT / 4, parameters=keys[:2], rtol=1e-4)


def moving(runs: Differentiable) -> dict[str, Array]:
    """Draw a start and inputs that set everything in motion."""
    rng = np.random.default_rng(3)
    (q, v), u = runs.start, runs.input_samples
    M = runs.equation.mass_matrix(q)
    held = list(runs.equation.model.prescribed)
    away, rate = 1e-3 * rng.normal(size=len(q)), 0.05 * rng.normal(size=len(q))
    away[held], rate[held] = 0.0, 0.0
    push = 0.5 * np.diag(M).min(initial=1.0, where=np.diag(M) > 0)
    return {"q": q + away, "v": v + rate, "inputs": u + push * rng.normal(size=u.shape)}


def derivative(function: Callable[[float], Array], steps: tuple[float, ...]) -> tuple[Array, Array]:
    """Differentiate by a number at 0, (...), and say by how much that may be wrong."""
    found = [
        np.tensordot(WEIGHTS, [function(place * h) for place in PLACES], axes=1) / h for h in steps
    ]
    apart = np.abs(np.diff(found, axis=0)).max(axis=1)  # over the samples
    best = np.argmin(apart, axis=0)
    columns = np.arange(len(best))
    return np.array(found)[best + 1, :, columns].T, apart[best, columns]


def checked(runs: Differentiable, given: dict[str, Array]) -> Iterator[tuple[str, float, float]]:
    """Give what was differentiated by, how far it is off, and how far differences may be off."""
    run = runs.at(**given)
    slopes = np.concatenate(run.sensitivities(), axis=1)
    rng = np.random.default_rng(4)

    def samples(run: Trajectory) -> Array:
        return np.hstack([run.q, run.v])

    def compared(found: Array, function: Callable[[float], Array], steps: tuple[float, ...]) -> tuple[float, float]:
        expected, doubt = derivative(function, steps)
        size = np.abs(expected).max(axis=0)
        scale = size + 1e-6 * size.max()
        return float((np.abs(found - expected).max(axis=0) / scale).max()), float((doubt / scale).max())

    for k, key in enumerate(runs.parameters):
        def changed(by: float, k: int = k) -> Array:
            values = runs.values.copy()
            values[k] += by
            return samples(runs.at(values, steps=run, **given))

        size = abs(runs.values[k]) or 1.0
        yield key, *compared(slopes[:, :, k], changed, (3e-3 * size, 1e-3 * size, 3e-4 * size))
    weights = rng.normal(size=(len(run.t), run.q.shape[1] * 2)) / np.abs(samples(run)).max(axis=0)
    gradient = run.gradient(*np.hsplit(weights, 2))
    for name, value in given.items():
        if not value.size:
            continue
        way = rng.normal(size=value.shape) * np.abs(value).max()

        def moved(by: float, name: str = name, way: Array = way) -> Array:
            other = given | {name: given[name] + by * way}
            return np.array([[np.sum(weights * samples(runs.at(steps=run, **other)))]])

        found = np.array([[np.sum(getattr(gradient, name) * way)]])
        yield name, *compared(found, moved, (3e-2, 1e-2, 3e-3))
    back = np.einsum("ts,tsk->k", weights, slopes)
    yield "transpose", float(np.max(np.abs(gradient.parameters - back) / np.abs(back))), 0.0


@pytest.mark.parametrize(
    "name",
    [n if n in QUICK else pytest.param(n, marks=pytest.mark.campaign) for n in flexarm.sample_names()],
)
def test_gradients_are_differences(name: str) -> None:
    if name in REFUSED:
        with pytest.raises(FlexarmError, match=REFUSED[name]):
            sample_runs(name)
        return
    runs = sample_runs(name)
    given = moving(runs)
    for method in ("rk4",) if name in QUICK else ("rk4", "dop853", "etd4"):
        for what, off, doubt in checked(replace(runs, method=METHODS[method]), given):
            print(f"{name:32} {method:7} {what:34} {off:9.1e} {doubt:9.1e}", flush=True)
            assert doubt <= EXACT / 5, (method, what)
            assert off <= EXACT, (method, what)
