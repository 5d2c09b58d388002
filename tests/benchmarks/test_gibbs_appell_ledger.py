"""The ledger of steps 9 and 10: every difference from the printed counts has its reason."""

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from flexarm_papers.korayem.counts import TABLE_1, printed_lines


@pytest.fixture(scope="module")
def ledger() -> Any:
    folder = str(Path(__file__).parents[2] / "benchmarks")
    sys.path.insert(0, folder)
    yield import_module("gibbs_appell_ledger")
    sys.path.remove(folder)


@pytest.mark.campaign
@pytest.mark.few(1)
@pytest.mark.parametrize(
    "size", [(3, 2, 2), (3, 3, 1), pytest.param((4, 4, 2), marks=pytest.mark.campaign)]
)
def test_reasons_take_table_1_to_what_is_counted_step_by_step(
    ledger: Any, size: tuple[int, int, int]
) -> None:
    reasons = ledger.differences(*size)
    for step, counted in import_module("gibbs_appell_steps").counted_steps(*size).items():
        costs = [TABLE_1[step](*size), *reasons[step].values()]
        assert tuple(sum(each) for each in zip(*costs, strict=True)) == counted, step


def test_lines_of_step_10_stand_as_the_paper_counts_them(ledger: Any) -> None:
    costs = ledger.ledger_10(4, 4, 2).costs()
    printed = printed_lines(4, 2)
    for line in ("joint in joint", "deflection in joint", "deflection in deflection"):
        found = [cost["stands"] for name, cost in costs.items() if name.startswith(line)]
        assert tuple(sum(each) for each in zip(*found, strict=True)) == printed[line]


@pytest.mark.parametrize("n", [3, *(pytest.param(n, marks=pytest.mark.campaign) for n in (4, 6))])
def test_lines_of_step_9_stand_as_the_paper_counts_them(ledger: Any, n: int) -> None:
    found = {name: cost["stands"] for name, cost in ledger.ledger_9(n, n, 2).costs().items()}
    printed = printed_lines(n, 2)
    # the first line of V is printed without the product by a rotation that stands in it
    V = (printed["V"][0] + 27 * (n - 1), printed["V"][1] + 18 * (n - 1))
    both = printed["sigma or xi"]
    rest = {name: printed[name] for name in found if name not in ("sigma", "xi", "V")}
    assert found == {"sigma": both, "xi": both, "V": V, **rest}
