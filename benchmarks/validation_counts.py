"""Published operation counts, from their formulas, beside flexarm's own."""

import validation_data as data
from flexarm import build, example_arm, formulation
from flexarm.studies.compare import operation_counts
from flexarm_papers.korayem.counts import book, korayem_shafei
from flexarm_papers.theodore.counts import PRINTED_2
from report import table

SAMPLES = {(2, 2, 2): "count-2-2-2", (3, 2, 2): "count-3-2-2", (6, 6, 3): "count-6-6-3"}


def counts() -> list[str]:
    """Write two tables: forward dynamics by links and modes, and mass matrices."""
    forward = [
        [
            f"{n}, {nf}, {m}",
            _pair(data.BOOK[n, nf, m]),
            _pair(book(n, nf, m)),
            _pair(data.KORAYEM[n, nf, m]),
            _pair(korayem_shafei(n, nf, m)),
            _ours(SAMPLES[n, nf, m], "articulated", "forward_dynamics")
            if (n, nf, m) in SAMPLES
            else "-",
        ]
        for n, nf, m in data.BOOK
    ]
    head = ["links, flexible, modes", "Book 1984", "its formula", "Korayem & Shafei 2009",
            "their formulas", "flexarm, forward dynamics"]  # fmt: skip
    mass = [
        [robot, kind, _pair(printed), _ours(_name(robot, kind), "composite", "mass_matrix")]
        for (robot, kind), printed in PRINTED_2.items()
    ]
    columns = ["arm", "links of", "Theodore & Ghosal 1995, mass matrix", "flexarm, mass matrix"]
    return [table(head, forward), table(columns, mass)]


def _name(robot: str, kind: str) -> str:
    name = f"tg-{robot.lower().replace(' with ', '-')}"
    return name if kind == "modes" else f"{name}-elements"


def _ours(name: str, kind: str, what: str) -> str:
    found = operation_counts(formulation(kind, build(example_arm(name), stiffening=False)), what)
    return _pair((found.multiplications + found.divisions, found.additions))


def _pair(both: tuple[float, float]) -> str:
    return f"{both[0]:.0f} M, {both[1]:.0f} A"
