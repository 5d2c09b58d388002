"""Theodore & Ghosal 1995: assumed modes beside finite elements, counted and computed."""

import math
from functools import cache, partial

import numpy as np

from flexarm.formulations import formulation
from flexarm.formulations.lagrange import Lagrange
from flexarm.io.sample import sample
from flexarm.linear.modes import modes
from flexarm.links.base import Array
from flexarm.links.beams.classical import CLAMPED_FREE, beam_roots
from flexarm.model import Model, build
from flexarm.papers.base import (
    Claim,
    Difference,
    Found,
    Item,
    Missing,
    Table,
    decide,
    undecidable,
)
from flexarm.papers.korayem.counts import book
from flexarm.papers.runs import changed
from flexarm.papers.theodore.loop import PAPER, cpu, joint_errors, joints, tip_errors
from flexarm.papers.theodore.rates import eigenvalues
from flexarm.papers.theodore.readings import Count, readings
from flexarm.papers.theodore.response import deflections
from flexarm.papers.theodore.theory import DENSITY, EI, frequency_equation, lemma
from flexarm.studies.equations import closed_form
from flexarm.studies.operations import operation_counts

# Table 1, headed Hz: modes 1.. with 1, 2 and 3 elements, and exact.
PRINTED_1 = {
    1: (2.0963e2, 2.0654e3),
    2: (2.0873e2, 1.3186e3, 4.4597e3, 1.2944e4),
    3: (2.0864e2, 1.3118e3, 3.7067e3, 8.3473e3, 1.5709e4, 3.1318e4),
    0: (2.0864e2, 1.3075e3, 3.6611e3, 7.1742e3, 1.1860e4, 1.7716e4),
}
# Table 2 and section 4.4: multiplications and additions of the inertia matrix.
PRINTED_2 = {
    ("RR", "modes"): (405, 168),
    ("RRR", "modes"): (878, 376),
    ("RP", "modes"): (103, 42),
    ("RRP", "modes"): (743, 284),
    ("RR with payload", "modes"): (909, 366),
    ("RR", "elements"): (156, 80),
    ("RRR", "elements"): (592, 237),
    ("RP", "elements"): (88, 33),
    ("RRP", "elements"): (376, 128),
    ("RR with payload", "elements"): (178, 98),
}
LI_SANKAR = {"RR": (44, 49), "RRR": (92, 102)}
ALMOST = math.sqrt(10.0)  # times, half an order, from which on a count is almost an order more
BOOK = {"RR": ((2, 2, 2), (3755, 3665)), "RRR": ((3, 2, 2), (4922, 4851))}
ACCEPTABLE = 0.05  # relative error of a frequency that is taken for acceptable
CLOSE = 0.05  # relative difference of a count that is taken for the same
COUNTS = "the counts of the inertia matrix"
FEWER = "finite elements take fewer operations than modes"
MIXED = "modes multiplied out, elements to first order"
Cell = tuple[str, str]  # robot, and what its links are of


def table_1() -> Found:
    """Compute the frequencies of a clamped link exactly and in 1, 2 and 3 elements."""
    ours = {count: _clamped(count) for count in (1, 2, 3)}
    lam = beam_roots(CLAMPED_FREE, 6)
    ours[0] = np.square(lam) * math.sqrt(EI / DENSITY)
    gaps, off = {}, []
    for count, printed in PRINTED_1.items():
        for k, value in enumerate(printed):
            unit = 10.0 ** (math.floor(math.log10(value)) - 4)  # of the last printed digit
            gaps[count, k] = abs(ours[count][k] / value - 1)
            if abs(ours[count][k] - value) >= unit:
                off.append(f"mode {k + 1} with {count or 'no'} elements: {ours[count][k]:.2f}")
    hertz = abs(ours[0][0] / (2 * math.pi) / PRINTED_1[0][0] - 1)
    errors = [float(ours[m][k] / ours[0][k] - 1) for m in (1, 2, 3) for k in range(m)]
    every = [float(ours[m][k] / ours[0][k] - 1) for m in (1, 2, 3) for k in range(2 * m)]
    claims = (
        decide("the frequencies are in Hz", hertz < 1e-3,
               f"the numbers are {ours[0][0]:.3f} rad/s = {ours[0][0] / (2 * math.pi):.3f} Hz for "
               "the first exact one"),
        decide("the first m modes are acceptable with m elements", max(errors) < ACCEPTABLE,
               f"off by at most {100 * max(errors):.2f} %"),
        decide("finite elements overestimate every frequency", min(every) > 0,
               f"by {100 * min(every):.4f} % to {100 * max(every):.0f} %"),
    )  # fmt: skip
    checks = (
        decide("the printed numbers, read in rad/s, are right to their last digit", not off,
               f"{len(gaps) - len(off)} of {len(gaps)} are; not: {', '.join(off) or 'none'}"),
    )  # fmt: skip
    head = ("mode", *[f"{x} {c} elements" for c in (1, 2, 3) for x in ("printed", "ours")],
            "printed exact", "ours exact")  # fmt: skip
    rows = tuple(
        (str(k + 1), *[_cell(x, c, k, ours) for c in (1, 2, 3, 0) for x in ("printed", "ours")])
        for k in range(6)
    )
    return Found(
        claims,
        Difference(max(gaps.values()), "largest relative difference, the printed read in rad/s"),
        tables=(Table("Frequencies of link 2, clamped [rad/s]", head, rows),),
        because="The heading is wrong by 2 pi, and one entry in its last digits.",
        checks=checks,
    )


def _clamped(count: int) -> Array:
    arm = changed(
        "chen-rotating-link",
        {
            "links.1.joint": {"kind": "revolute"},
            "links.1.length": 1.0,
            "links.1.section": {"mass_per_length": DENSITY, "EIz": EI},
            "links.1.shapes": {"kind": "elements", "bending_y": count},
        },
    )
    found = modes(arm, joints="locked", straight=True)
    return np.sort([mode.frequency_rad_s for mode in found.modes])


def _cell(which: str, count: int, k: int, ours: dict[int, Array]) -> str:
    if k >= len(PRINTED_1[count]):
        return ""
    return f"{PRINTED_1[count][k]:.5g}" if which == "printed" else f"{ours[count][k]:.2f}"


def table_2() -> Found:
    """Count inertia matrices: written out in several ways, and compiled."""
    cells = {key: _readings(*key) for key in PRINTED_2}
    names = tuple(next(iter(cells.values())))
    ways = {name: {key: found[name] for key, found in cells.items()} for name in names}
    ways[MIXED] = {key: found[names[0 if key[1] == "modes" else 1]] for key, found in cells.items()}
    compiled = {key: _compiled(build(sample(_sample(*key)))) for key in PRINTED_2}
    worst = {name: max(_off(x, PRINTED_2[key]) for key, x in found.items())
             for name, found in ways.items()}  # fmt: skip
    nearest = {key: min(_off(x, PRINTED_2[key]) for x in found.values())
               for key, found in cells.items()}  # fmt: skip
    more = {name: _elements_over_modes(found) for name, found in ways.items()}
    claims = _count_claims(ways, worst, more)
    head = ("robot", "links of", "printed", *names, "nearest off", "composite, compiled")
    rows = tuple(
        (*key, _pair(PRINTED_2[key]), *map(_pair, cells[key].values()),
         f"{100 * nearest[key]:.0f} %", _pair(compiled[key]))
        for key in PRINTED_2
    )  # fmt: skip
    largest = tuple(max(found.values()) for found in more.values())
    return Found(
        claims,
        Difference(worst[names[0]], f"largest relative difference of a count, {names[0]}"),
        tables=(Table("Inertia matrix: multiplications M, additions A", head, rows),),
        missing=(
            Missing("how entries are written", "largest difference of a count from the printed [%]",
                    tuple(ways), tuple(100 * x for x in worst.values()), 100 * CLOSE, (COUNTS,)),
            Missing("how entries are written", "most operations of elements over those of modes",
                    tuple(ways), largest, 1.0, (FEWER,)),
        ),
        because="In every way of writing some count is off by "
        f"{100 * min(worst.values()):.0f} % and more. Written alike, elements take up to "
        + ", ".join(f"{x:.2f} ({name})" for name, x in zip(names, largest, strict=False))
        + " times as many operations as modes: they have twice the coordinates. Fewer for every "
        f"arm they take if modes are multiplied out and elements cut to first order (up to "
        f"{largest[-1]:.2f} times as many).",
    )  # fmt: skip


def _count_claims(
    ways: dict[str, dict[Cell, Count]], worst: dict[str, float], more: dict[str, dict[str, float]]
) -> tuple[Claim, ...]:
    """Decide what the paper says of counts, for entries multiplied out and joined."""
    first = next(iter(ways))
    books = [
        abs(a - b) for size, printed in BOOK.values()
        for a, b in zip(book(*size), printed, strict=True)
    ]  # fmt: skip
    fewer = {name: [robot for robot, x in found.items() if x < 1] for name, found in more.items()}
    loads = {
        kind: ", ".join(
            f"{_pair(found['RR', kind])} to {_pair(found['RR with payload', kind])} ({name})"
            for name, found in ways.items() if name != MIXED
        )
        for kind in ("modes", "elements")
    }  # fmt: skip
    return (
        decide("the counts of Book 1984", max(books) == 0, "his formulas give the printed numbers"),
        decide(COUNTS, worst[first] < CLOSE,
               f"at most {100 * CLOSE:.0f} % apart is taken for the same; at most off by "
               + ", ".join(f"{100 * x:.0f} % ({name})" for name, x in worst.items())),
        decide(FEWER, max(more[first].values()) < 1,
               "fewer " + "; ".join(f"{name} for {', '.join(found) or 'no arm'}"
                                    for name, found in fewer.items())),
        decide("modes take even more operations when a payload is considered",
               sum(ways[first]["RR with payload", "modes"]) > sum(ways[first]["RR", "modes"]),
               f"RR of modes goes from {loads['modes']}, printed from "
               f"{_pair(PRINTED_2['RR', 'modes'])} to "
               f"{_pair(PRINTED_2['RR with payload', 'modes'])}; of elements from "
               f"{loads['elements']}"),
    )  # fmt: skip


def _elements_over_modes(found: dict[Cell, Count]) -> dict[str, float]:
    """Divide all operations of elements by those of modes, for each robot."""
    return {
        robot: sum(found[robot, "elements"]) / sum(count)
        for (robot, kind), count in found.items()
        if kind == "modes"
    }


def _sample(robot: str, kind: str) -> str:
    base = f"tg-{robot.lower().replace(' with ', '-')}"
    return base + ("" if kind == "modes" else "-elements")


@cache
def _readings(robot: str, kind: str) -> dict[str, Count]:
    model = Lagrange.paper_model(build(sample(_sample(robot, kind)), stiffening=False))
    joints = [part.joint_name for part in model.links]
    return readings(closed_form(model), joints)


def _compiled(model: Model) -> Count:
    found = operation_counts(formulation("composite", model), "mass_matrix")
    return found.multiplications + found.divisions, found.additions


def _off(count: Count, printed: Count) -> float:
    return max(abs(a / b - 1) for a, b in zip(count, printed, strict=True))


def _pair(pair: tuple[float, float]) -> str:
    return f"{pair[0]:.0f} M, {pair[1]:.0f} A"


def equation_numbers() -> Found:
    """Compare the numbers of equations with what our models have."""
    rows, gaps, more, equations, roots = [], [], [], [], []
    for name, n, flexible in (("tg-rr", 2, 2), ("tg-rrr", 3, 2), ("tg-rp", 2, 2), ("tg-rrp", 3, 2)):
        for planes in (1, 2):
            full = name + ("-2planes" if planes == 2 else "")
            modes_, elements = build(sample(full)), build(sample(full + "-elements"))
            for model, factor in ((modes_, 1), (elements, 2)):
                says = factor * planes * 2 * flexible + n
                gaps.append(abs(says - model.size))
                rows.append((model.arm.name, str(says), str(model.size)))
            # a name such as link2.y1 says link, plane and mode: an equation each, with its roots
            shapes = [each for each in modes_.names if "." in each]
            equations.append((len({each.rstrip("0123456789") for each in shapes}),
                              planes * flexible))  # fmt: skip
            roots.append((len(shapes), planes * 2 * flexible))
            more.append((2 * elements.size - 2 * modes_.size - len(shapes), 2 * planes * flexible))
    claims = (
        decide("4 m n_f + n second-order equations with elements and 2 m n_f + n with modes in "
               "space, half the flexible ones in the plane", max(gaps) == 0,
               f"{len(gaps) - np.count_nonzero(gaps)} of {len(gaps)} arms have these numbers"),
        decide("modes need 2 n_f transcendental equations in space, n_f in the plane",
               all(a == b for a, b in equations),
               "one per flexible link and plane: " + _beside(equations)),
        decide("or, with the method of section 4.2, 2 m n_f first-order equations, m n_f in the "
               "plane", all(a == b for a, b in roots), "one per root: " + _beside(roots)),
        decide("in first-order equations finite elements have 2 m n_f more, m n_f in the plane",
               all(a == b for a, b in more),
               "those of the roots taken off, more by " + _beside(more)),
    )  # fmt: skip
    return Found(
        claims,
        Difference(float(max(gaps)), "largest difference of a number of equations"),
        tables=(Table("Second-order equations, m = 2", ("arm", "the paper", "ours"), tuple(rows)),),
    )


def _beside(pairs: list[tuple[int, int]]) -> str:
    return ", ".join(f"{ours} ({says})" for ours, says in pairs)


def li_sankar() -> Found:
    """Count the inertia matrices beside what Li & Sankar's formula gives for them."""
    arm = changed("chen-rotating-link", {"links.1.joint": {"kind": "revolute"},
                                         "links.1.shapes.bending_y": 1})  # fmt: skip
    ours = _compiled(build(arm, stiffening=False))
    less = {robot: sum(_readings(robot, "modes")["multiplied out"]) / sum(count)
            for robot, count in LI_SANKAR.items()}  # fmt: skip
    says = {robot: sum(PRINTED_2[robot, "modes"]) / sum(count)
            for robot, count in LI_SANKAR.items()}  # fmt: skip
    claims = (
        decide("-48 multiplications and -48 additions for one link with one mode are erroneous",
               min(ours) >= 0, f"the matrix takes {_pair(ours)}", measured=False),
        decide("their counts are almost an order less than those of the closed form",
               all(ALMOST < x < 10 for x in less.values()),
               "multiplied out it takes "
               + ", ".join(f"{x:.2f} times as many for {robot} (the paper's own: {says[robot]:.2f})"
                           for robot, x in less.items())
               + f"; {ALMOST:.1f} to 10 times is taken for almost an order"),
        undecidable("the formula gives -48, and 44/49 and 92/102 for RR and RRR",
                    "the formula of Li & Sankar 1993, which the paper does not print"),
    )  # fmt: skip
    rows = (("one link, one mode", "-48 M, -48 A", "", _pair(ours)),
            *((robot, _pair(count), _pair(PRINTED_2[robot, "modes"]),
               _pair(_readings(robot, "modes")["multiplied out"]))
              for robot, count in LI_SANKAR.items()))  # fmt: skip
    return Found(
        claims,
        Difference(max(abs(x / says[robot] - 1) for robot, x in less.items()),
                   "largest relative difference, ours from the paper's, of the closed form's "
                   "operations over those of Li & Sankar's formula"),
        tables=(Table("Inertia matrix", ("arm", "Li & Sankar, as printed",
                                         "the paper's closed form", "ours"), rows),),
    )  # fmt: skip


ITEMS = (
    Item(PAPER, "table-1", "Table 1: frequencies of a clamped link",
         "Frequencies with 1, 2, 3 elements and exact, under the heading Hz.", table_1),
    Item(PAPER, "table-2", "Table 2: operations of the inertia matrix",
         "Counts for RR, RRR, RP, RRP with modes and elements, and RR with a payload: elements "
         "take fewer, modes even more with a payload.", table_2),
    Item(PAPER, "equation-numbers", "numbers of equations, section 4.4",
         "4 m n_f + n with elements, 2 m n_f + n with modes in space.", equation_numbers),
    Item(PAPER, "li-sankar", "Li & Sankar's count of -48",
         "Their formula gives -48 and -48 for one link with one mode, and counts almost an order "
         "less than the closed form.", li_sankar),
    Item(PAPER, "frequency-equation", "time-dependent frequency equation, section 4.2",
         "Its roots can be followed by a differential equation along with the motion.",
         frequency_equation),
    Item(PAPER, "lemma", "lemma on overestimated stiffness, section 4.3",
         "The closed loop is stable only if alpha lambda_max(H) < 1.", lemma),
    Item(PAPER, "fig-4", "Fig. 4: joint trajectories",
         "Joints follow a smooth sinusoidal profile in 0.5 s.", joints),
    Item(PAPER, "fig-5", "Fig. 5: joint errors",
         "Joint errors are close to zero during the motion.", joint_errors),
    Item(PAPER, "fig-6", "Fig. 6: end-effector errors",
         "Of the order of 8 mm while moving, driven within 0.1 mm at between 0.5 and 1 s.",
         tip_errors),
    *(
        Item(PAPER, f"fig-{5 + link}", f"Fig. {5 + link}: deflection and rotation of link {link}",
             "Similar for both models, finite elements lagging.", partial(deflections, link))
        for link in (2, 3)
    ),
    *(
        Item(PAPER, f"fig-{8 + mode}", f"Fig. {8 + mode}: eigenvalues, mode {mode}",
             "Acceptable with two elements, which are always higher, evident between 0 and 0.3 s, "
             "and converge in the lower range; link 2's are constant, link 3's vary.",
             partial(eigenvalues, mode))
        for mode in (1, 2)
    ),
    Item(PAPER, "cpu", "CPU time of both models",
         "1533.34 s with modes, 2036.89 s with elements on an IRIS-4D.", cpu),
)  # fmt: skip
