"""Threads of BLAS, the library by which NumPy and SciPy multiply and factorise matrices.

Matrices of arms are too small for several threads, whose waiting takes up to half of the CPU time.
"""

import sys
from collections.abc import Callable
from functools import cache, wraps
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def one_blas_thread(function: Callable[P, T]) -> Callable[P, T]:
    """Return the function such that BLAS has one thread during each call; a decorator."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        with _controller("scipy.linalg" in sys.modules).limit(limits=1, user_api="blas"):
            return function(*args, **kwargs)

    return call


@cache
def _controller(scipy: bool) -> Any:
    """Return a controller of the BLAS libraries in this process; SciPy can have one of its own."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
