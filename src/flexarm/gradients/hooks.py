"""Runs as functions of JAX and PyTorch, with the adjoint as their gradient."""

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any, Protocol

import numpy as np

from flexarm.errors import FlexarmError
from flexarm.formulations.equation import Equation
from flexarm.gradients.samples import Samples
from flexarm.links.base import Array


class Runs(Protocol):
    """What `flexarm.differentiable` gives."""

    @property
    def equation(self) -> Equation:
        """Of the arm."""

    @property
    def times(self) -> Array:
        """Of the samples [s], (T,)."""

    @property
    def start(self) -> tuple[Array, Array]:
        """Coordinates and rates, (n,) each."""

    @property
    def input_samples(self) -> Array:
        """At the samples, (T, inputs)."""

    def at(
        self,
        values: Array | None = None,
        *,
        q: Array | None = None,
        v: Array | None = None,
        inputs: Array | None = None,
    ) -> Samples:
        """Run the arm."""


def jax_function(runs: Runs) -> Callable[..., Any]:
    """Make a function (values, q, v, inputs) to (q, v) at the samples for JAX."""
    jax = _imported("jax")
    shape = (len(runs.times), runs.equation.model.size)
    kind = jax.numpy.zeros(0).dtype  # of 64 bits, if JAX was told so
    twice = (jax.ShapeDtypeStruct(shape, kind),) * 2

    def gradients(given: tuple[Any, ...], seeds: tuple[Any, ...]) -> Any:
        like = tuple(jax.ShapeDtypeStruct(each.shape, kind) for each in given)
        back = partial(_cast, kind, partial(_back, runs, len(given)))
        return jax.pure_callback(back, like, *given, *seeds)

    @jax.custom_vjp  # type: ignore[untyped-decorator]
    def run(*given: Any) -> Any:
        return jax.pure_callback(partial(_cast, kind, partial(_run, runs)), twice, *given)

    run.defvjp(lambda *given: (run(*given), given), gradients)

    def of(values: Any, q: Any = None, v: Any = None, inputs: Any = None) -> Any:
        return run(*(jax.numpy.asarray(each) for each in _defaults(runs, values, q, v, inputs)))

    return of


def torch_function(runs: Runs) -> Callable[..., Any]:
    """Make a function (values, q, v, inputs) to (q, v) at the samples for PyTorch."""
    torch = _imported("torch")

    def tensors(arrays: tuple[Array, ...], like: Any) -> tuple[Any, ...]:
        return tuple(torch.as_tensor(each, dtype=like.dtype, device=like.device) for each in arrays)

    class Run(torch.autograd.Function):  # type: ignore[misc,name-defined]
        @staticmethod
        def forward(context: Any, *given: Any) -> Any:
            context.save_for_backward(*given)
            return tensors(_run(runs, *(_plain(each) for each in given)), given[0])

        @staticmethod
        def backward(context: Any, *seeds: Any) -> Any:
            given = context.saved_tensors
            plain = (_plain(each) for each in (*given, *seeds))
            return tensors(_back(runs, len(given), *plain), given[0])

    def of(values: Any, q: Any = None, v: Any = None, inputs: Any = None) -> Any:
        values = torch.as_tensor(values)
        more = _defaults(runs, values, q, v, inputs)[1:]
        given = [torch.as_tensor(each, dtype=values.dtype, device=values.device) for each in more]
        return Run.apply(values, *given)

    return of


def _defaults(runs: Runs, values: Any, q: Any, v: Any, inputs: Any) -> tuple[Any, ...]:
    """Take the start and the inputs of the arm where none are given."""
    return (
        values,
        runs.start[0] if q is None else q,
        runs.start[1] if v is None else v,
        runs.input_samples if inputs is None else inputs,
    )


def _run(runs: Runs, values: Any, q: Any, v: Any, inputs: Any) -> tuple[Array, ...]:
    values, q, v, inputs = (np.asarray(each, dtype=float) for each in (values, q, v, inputs))
    found = runs.at(values, q=q, v=v, inputs=inputs)
    return found.q, found.v


def _back(runs: Runs, count: int, *arrays: Any) -> tuple[Array, ...]:
    values, q, v, inputs = (np.asarray(each, dtype=float) for each in arrays[:count])
    seeds = (np.asarray(each, dtype=float) for each in arrays[count:])
    found = runs.at(values, q=q, v=v, inputs=inputs).gradient(*seeds)
    return found.parameters, found.q, found.v, found.inputs


def _cast(kind: Any, function: Callable[..., tuple[Array, ...]], *arrays: Any) -> tuple[Any, ...]:
    return tuple(np.asarray(each, dtype=kind) for each in function(*arrays))


def _plain(tensor: Any) -> Any:
    return tensor.detach().cpu().numpy()


def _imported(name: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError:
        raise FlexarmError(f"{name}: is not installed: pip install {name}") from None
