"""The ledger of steps 9 and 10: every difference from the printed counts has its reason."""

import pytest

from flexarm.papers.korayem_counts import TABLE_1, counted_steps
from flexarm.papers.korayem_ledger import ledger_10
from flexarm.papers.korayem_reasons import differences, printed_lines


@pytest.mark.parametrize("size", [(3, 2, 2), (3, 3, 1), (4, 4, 2)])
def test_reasons_take_table_1_to_what_is_counted_step_by_step(size: tuple[int, int, int]) -> None:
    reasons = differences(*size)
    for step, counted in counted_steps(*size).items():
        costs = [TABLE_1[step](*size), *reasons[step].values()]
        assert tuple(sum(each) for each in zip(*costs, strict=True)) == counted, step


def test_lines_of_step_10_stand_as_the_paper_counts_them() -> None:
    costs = ledger_10(4, 4, 2).costs()
    printed = printed_lines(4, 2)
    for line in ("joint in joint", "deflection in joint", "deflection in deflection"):
        found = [cost["stands"] for name, cost in costs.items() if name.startswith(line)]
        assert tuple(sum(each) for each in zip(*found, strict=True)) == printed[line]
