"""Code that is fitted to a processor gives the same numbers, and lies where it should."""

import re

import casadi
import numpy as np
import pytest

import flexarm
from flexarm.engine.compile import Target, fit, host, native_width
from flexarm.engine.constants import CACHE_WAY, CACHE_WAYS
from flexarm.engine.emit.llvm import ProcessorFit, emit_llvm
from flexarm.engine.lower import lower
from tests.engine.expressions import compiled

FITS = {
    "near": ProcessorFit(range(-4, 4)),
    "far": ProcessorFit(range(4096)),
    "slots": ProcessorFit(range(-16, 16), slot=1024, chunk=25),
}


def dynamics() -> casadi.Function:
    """Trace an arm whose code has many functions of 25 operations."""
    model = flexarm.build(flexarm.example_arm("count-2-2-2"), stiffening=True)
    return flexarm.formulation("articulated", model).function("forward_dynamics")


@pytest.mark.few(1)
@pytest.mark.parametrize("width", sorted({1, native_width()}))
@pytest.mark.parametrize("name", FITS)
def test_the_numbers_are_the_same(name: str, width: int) -> None:
    # To the last bit, unless LLVM joins products and sums by their places, as for 64-bit ARM.
    tolerance = 0.0 if host().triple.startswith("x86_64") else 1e-9
    function = dynamics()
    random = np.random.default_rng(4)
    lanes = () if width == 1 else (width,)
    given = [random.normal(size=(function.numel_in(k), *lanes)) for k in range(function.n_in())]
    expected = compiled(function, width=width).call(*given)
    for chunk in (7, 500):
        code = compiled(function, width=width, chunk=chunk, fit=FITS[name])
        for got, wanted in zip(code.call(*given), expected, strict=True):
            np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=0.0)


def test_functions_that_stay_in_the_cache_share_no_part_of_a_page_with_the_others() -> None:
    slot = 1024
    text = emit_llvm(lower(dynamics()), fit=FITS["slots"]).text
    places = re.findall(r"@flexarm_\w+\.(\d+)\(.* nounwind align (\d+)( prefix)?", text)
    kept = CACHE_WAYS * (CACHE_WAY // slot - 1)
    assert len(places) > kept + CACHE_WAYS
    end = 0
    for number, alignment, prefix in places:
        start = -(-end // int(alignment)) * int(alignment) + (CACHE_WAY - slot if prefix else 0)
        in_last_slot = start % CACHE_WAY == CACHE_WAY - slot
        assert in_last_slot == (int(number) >= kept)
        end = start + slot - 1


def test_small_code_and_quick_code_are_left_as_they_are() -> None:
    target = Target("x86_64-unknown-linux-gnu", "x86-64", "")
    assert fit(target, level="fast", width=1, operations=4000) == ProcessorFit()
    assert fit(target, level="quick", width=1, operations=40_000) == ProcessorFit(ordered=False)
    assert fit(target, level="fast", width=1, operations=4001).slot > 0
