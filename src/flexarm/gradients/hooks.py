"""Runs as functions of JAX and PyTorch, with gradients computed by the adjoint."""

from collections.abc import Callable
from functools import cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from flexarm.errors import FlexarmError
from flexarm.gradients.events.crossing import HybridTrajectory
from flexarm.spatial import Array

if TYPE_CHECKING:
    from flexarm.gradients.runs import Differentiable


def jax_function(runs: "Differentiable") -> Callable[..., Any]:
    """Return a JAX function that maps (values, q, v, inputs) to (q, v) at the samples."""
    jax = _imported("jax")
    shape = (len(runs.times), runs.equation.model.size)
    kind = jax.numpy.zeros(0).dtype  # 64 bits if JAX is configured for them
    twice = (jax.ShapeDtypeStruct(shape, kind),) * 2

    @cache
    def function(names: tuple[str, ...]) -> Any:
        def gradients(arguments: tuple[Any, ...], seeds: tuple[Any, ...]) -> Any:
            like = tuple(jax.ShapeDtypeStruct(argument.shape, kind) for argument in arguments)
            back = partial(_cast, kind, partial(_back, runs, names))
            return jax.pure_callback(back, like, *arguments, *seeds)

        @jax.custom_vjp  # type: ignore[untyped-decorator]
        def run(*arguments: Any) -> Any:
            forward = partial(_cast, kind, partial(_run, runs, names))
            return jax.pure_callback(forward, twice, *arguments)

        run.defvjp(lambda *arguments: (run(*arguments), arguments), gradients)
        return run

    def simulate(values: Any, q: Any = None, v: Any = None, inputs: Any = None) -> Any:
        arguments = _arguments(runs, values, q, v, inputs)
        return function(tuple(arguments))(
            *(jax.numpy.asarray(argument) for argument in arguments.values())
        )

    return simulate


def torch_function(runs: "Differentiable") -> Callable[..., Any]:
    """Return a PyTorch function that maps (values, q, v, inputs) to (q, v) at the samples."""
    torch = _imported("torch")

    def tensors(arrays: tuple[Array, ...], like: Any) -> tuple[Any, ...]:
        return tuple(
            torch.as_tensor(array, dtype=like.dtype, device=like.device) for array in arrays
        )

    class TorchRun(torch.autograd.Function):  # type: ignore[misc,name-defined]
        @staticmethod
        def forward(context: Any, names: tuple[str, ...], *arguments: Any) -> Any:
            context.names = names
            context.save_for_backward(*arguments)
            return tensors(_run(runs, names, *(_plain(array) for array in arguments)), arguments[0])

        @staticmethod
        def backward(context: Any, *seeds: Any) -> Any:
            arguments = context.saved_tensors
            plain = (_plain(array) for array in (*arguments, *seeds))
            return None, *tensors(_back(runs, context.names, *plain), arguments[0])

    def simulate(values: Any, q: Any = None, v: Any = None, inputs: Any = None) -> Any:
        values = torch.as_tensor(values)
        arguments = _arguments(runs, values, q, v, inputs)
        like = {"dtype": values.dtype, "device": values.device}
        return TorchRun.apply(
            tuple(arguments), *(torch.as_tensor(x, **like) for x in arguments.values())
        )

    return simulate


def _arguments(runs: "Differentiable", values: Any, q: Any, v: Any, inputs: Any) -> dict[str, Any]:
    """Return the arguments that are not None, by name.

    If only one of q and v is given, the other is the start of the arm.
    """
    if q is not None or v is not None:
        q, v = (own if x is None else x for own, x in zip(runs.start, (q, v), strict=True))
    every = {"values": values, "q": q, "v": v, "inputs": inputs}
    return {name: argument for name, argument in every.items() if argument is not None}


def _at(
    runs: "Differentiable", names: tuple[str, ...], arrays: tuple[Any, ...]
) -> HybridTrajectory:
    """Simulate the arm with named arguments; omitted arguments have their defaults."""
    numbers: Any = (np.asarray(array, dtype=float) for array in arrays)
    return runs.at(**dict(zip(names, numbers, strict=True)))


def _run(runs: "Differentiable", names: tuple[str, ...], *arrays: Any) -> tuple[Array, ...]:
    run = _at(runs, names, arrays)
    return run.q, run.v


def _back(runs: "Differentiable", names: tuple[str, ...], *arrays: Any) -> tuple[Array, ...]:
    seeds = (np.asarray(array, dtype=float) for array in arrays[len(names) :])
    gradient = _at(runs, names, arrays[: len(names)]).gradient(*seeds)
    by = {
        "values": gradient.parameters,
        "q": gradient.q,
        "v": gradient.v,
        "inputs": gradient.inputs,
    }
    return tuple(by[name] for name in names)


def _cast(kind: Any, function: Callable[..., tuple[Array, ...]], *arrays: Any) -> tuple[Any, ...]:
    return tuple(np.asarray(result, dtype=kind) for result in function(*arrays))


def _plain(tensor: Any) -> Any:
    return tensor.detach().cpu().numpy()


def _imported(name: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError:
        raise FlexarmError(
            f"the package {name} is not installed. Run pip install {name}."
        ) from None
