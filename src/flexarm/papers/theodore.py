"""Theodore & Ghosal 1995: assumed modes beside finite elements, counted and computed."""

import math
import time
from collections.abc import Callable

import numpy as np

from flexarm.analysis.equations import closed_form
from flexarm.analysis.modes import modes
from flexarm.analysis.operations import operation_counts
from flexarm.analysis.polynomials import Polynomial
from flexarm.arm.profile import Cycloid
from flexarm.control import Timing, joint_move, stiffness_error_along
from flexarm.control.stability import FrozenLoop
from flexarm.formulations import formulation
from flexarm.formulations.lagrange import paper_model
from flexarm.io.sample import sample
from flexarm.links.base import Array
from flexarm.links.classical import BeamEnds, beam_roots, clamped_mass
from flexarm.links.frequency import extension_rates, follow_root
from flexarm.model import build
from flexarm.papers.base import (
    Difference,
    Figure,
    Found,
    Item,
    Table,
    curve,
    decide,
    undecidable,
)
from flexarm.papers.korayem_counts import book
from flexarm.papers.runs import changed
from flexarm.papers.theodore_loop import GOALS, PAPER, RRP_ITEMS
from flexarm.profiles import evaluate

EI, DENSITY = 1165.4916, 0.331  # [N m^2], [kg/m] of link 2, 1 m long
PAYLOAD = 0.0828  # [kg]
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
BOOK = {"RR": ((2, 2, 2), (3755, 3665)), "RRR": ((3, 2, 2), (4922, 4851))}
ACCEPTABLE = 0.05  # relative error of a frequency that is taken for acceptable
CLOSE = 0.05  # relative difference of a count that is taken for the same


def table_1() -> Found:
    """Compute the frequencies of a clamped link exactly and in 1, 2 and 3 elements."""
    ours = {count: _clamped(count) for count in (1, 2, 3)}
    lam = beam_roots(BeamEnds(hub=math.inf), 6)
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
        decide("the printed numbers, read in rad/s, are right to their last digit", not off,
               f"{len(gaps) - len(off)} of {len(gaps)} are; not: {', '.join(off) or 'none'}"),
        decide("the first m modes are acceptable with m elements", max(errors) < ACCEPTABLE,
               f"off by at most {100 * max(errors):.2f} %"),
        decide("finite elements overestimate every frequency", min(every) > 0,
               f"by {100 * min(every):.4f} % to {100 * max(every):.0f} %"),
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
    """Count inertia matrices: written out as Algorithm 1 asks, and compiled."""
    counts = {key: _inertia_counts(*key) for key in PRINTED_2}
    worst = {
        key: max(abs(a / b - 1) for a, b in zip(found[0], PRINTED_2[key], strict=True))
        for key, found in counts.items()
    }
    robots = [robot for robot, kind in PRINTED_2 if kind == "modes"]
    fewer = {
        which: [r for r in robots if sum(counts[r, "elements"][k]) < sum(counts[r, "modes"][k])]
        for k, which in enumerate(("written out", "composite"))
    }
    books = [
        abs(a - b) for size, printed in BOOK.values()
        for a, b in zip(book(*size), printed, strict=True)
    ]  # fmt: skip
    same = [key for key, gap in worst.items() if gap < CLOSE]
    claims = (
        decide("the counts of Book 1984", max(books) == 0, "his formulas give the printed numbers"),
        decide("the counts of the inertia matrix", len(same) == len(PRINTED_2),
               f"multiplied out and joined, {len(same)} of {len(PRINTED_2)} cells come within "
               f"{100 * CLOSE:.0f} %; worst {100 * max(worst.values()):.0f} %"),
        decide("finite elements take fewer operations than modes",
               len(fewer["written out"]) == len(robots),
               f"written out for {', '.join(fewer['written out']) or 'no arm'}; by recursion for "
               f"{', '.join(fewer['composite']) or 'no arm'}"),
        undecidable("how terms were joined by the paper's program", "its simplification rules"),
    )  # fmt: skip
    rows = tuple(
        (robot, kind, _pair(PRINTED_2[robot, kind]), *map(_pair, counts[robot, kind]))
        for robot, kind in PRINTED_2
    )
    return Found(
        claims,
        Difference(max(worst.values()), "largest relative difference of a count, written out"),
        tables=(Table("Inertia matrix: multiplications M, additions A",
                      ("robot", "links of", "printed", "written out", "composite"), rows),),
        because="Two elements have twice the coordinates of two modes, so the matrix written out "
        "is longer, not shorter; how far the paper's program joined terms is not said "
        "(docs/closed-form-counts.md counts every cell under many readings).",
    )  # fmt: skip


def _inertia_counts(robot: str, kind: str) -> tuple[tuple[int, int], tuple[int, int]]:
    base = f"tg-{robot.lower().replace(' with ', '-')}"
    model = build(sample(base + ("" if kind == "modes" else "-elements")), stiffening=False)
    equations = closed_form(paper_model(model))
    angles = [g.of for g in equations.generators if g.kind == "sum"]
    entries = [row[j] for i, row in enumerate(equations.M) for j in range(i, len(row))]
    found = operation_counts(formulation("composite", model), "mass_matrix")
    compiled = (found.multiplications + found.divisions, found.additions)
    return _written_out(angles + entries), compiled


def _written_out(entries: list[Polynomial]) -> tuple[int, int]:
    """Count polynomials term by term; a negative power is a division, which counts as one."""
    multiplications = additions = 0
    for entry in entries:
        additions += max(len(entry) - 1, 0)
        for powers, x in entry.items():
            factors = sum(abs(power) for _, power in powers)
            if factors:
                multiplications += factors - 1 + (abs(x) != 1.0)
    return multiplications, additions


def _pair(pair: tuple[float, float]) -> str:
    return f"{pair[0]:.0f} M, {pair[1]:.0f} A"


def equation_numbers() -> Found:
    """Compare the numbers of equations with what our models have."""
    rows, gaps, more = [], [], []
    for name, n, flexible in (("tg-rr", 2, 2), ("tg-rrr", 3, 2), ("tg-rp", 2, 2), ("tg-rrp", 3, 2)):
        for planes in (1, 2):
            sizes = []
            for kind, factor in (("", 1), ("-elements", 2)):
                full = name + ("-2planes" if planes == 2 else "") + kind
                says = factor * planes * 2 * flexible + n
                size = build(sample(full)).size
                rows.append((full, str(says), str(size)))
                gaps.append(abs(says - size))
                sizes.append(size)
            more.append((sizes[1] - sizes[0], 2 * planes * flexible))
    claims = (
        decide("4 m n_f + n equations with elements and 2 m n_f + n with modes in space, half the "
               "flexible ones in the plane", max(gaps) == 0,
               f"{len(gaps) - np.count_nonzero(gaps)} of {len(gaps)} arms have these numbers"),
        decide("the finite element model has 2 m n_f more in space, m n_f in the plane",
               all(a == b for a, b in more),
               "more by " + ", ".join(f"{a} ({b})" for a, b in more)),
    )  # fmt: skip
    return Found(
        claims,
        Difference(float(max(gaps)), "largest difference of a number of equations"),
        tables=(Table("Second-order equations, m = 2", ("arm", "the paper", "ours"), tuple(rows)),),
    )


def li_sankar() -> Found:
    """Count the inertia matrix that Li & Sankar's formula makes negative."""
    arm = changed("chen-rotating-link", {"links.1.joint": {"kind": "revolute"},
                                         "links.1.shapes.bending_y": 1})  # fmt: skip
    model = build(arm, stiffening=False)
    found = operation_counts(formulation("composite", model), "mass_matrix")
    ours = (found.multiplications + found.divisions, found.additions)
    claims = (
        decide("-48 multiplications and -48 additions for one link with one mode are erroneous",
               min(ours) >= 0 > -48, f"the matrix takes {_pair(ours)}"),
        undecidable("the formula gives -48, and 44/49 and 92/102 for RR and RRR",
                    "the formula of Li & Sankar 1993, which the paper does not print"),
    )  # fmt: skip
    return Found(
        claims,
        Difference(float(ours[0] + 48), "multiplications counted less those of the formula"),
        tables=(Table("One flexible link, one mode", ("Li & Sankar, as printed", "ours"),
                      (("-48 M, -48 A", _pair(ours)),)),),
    )  # fmt: skip


def frequency_equation() -> Found:
    """Follow the frequencies of the growing link: differential equation, roots, table."""
    times = np.linspace(0.0, 0.5, 101)
    motion: Cycloid[float] = Cycloid(kind="cycloid", start=0.3, end=1.0, duration=0.5)
    lengths = np.array([evaluate(motion, t)[0] for t in times])

    def body(t: float) -> tuple[float, float, float]:
        return PAYLOAD / (DENSITY * evaluate(motion, t)[0]), 0.0, 0.0

    def rate(t: float) -> tuple[float, float, float]:
        length, speed = evaluate(motion, t)[:2]
        return extension_rates(body(t), length, speed)

    first = beam_roots(clamped_mass(body(0.0)[0]), 2)
    roots, by_roots = _timed(
        lambda: np.array([beam_roots(clamped_mass(body(t)[0]), 2) for t in times])
    )
    followed, by_ode = _timed(
        lambda: np.array([follow_root(float(x), body, rate, times) for x in first]).T
    )
    nodes = np.linspace(0.3, 1.0, 30)
    known = np.array([beam_roots(clamped_mass(PAYLOAD / (DENSITY * x)), 2) for x in nodes])
    looked, by_table = _timed(
        lambda: np.array([np.interp(lengths, nodes, known[:, k]) for k in range(2)]).T
    )
    hertz = np.square(roots) * np.sqrt(EI / DENSITY) / lengths[:, None] ** 2 / (2 * math.pi)
    ode, table = (float(np.abs(x / roots - 1).max()) for x in (followed, looked))
    claims = (
        decide("the differential equation gives the roots of the frequency equation", ode < 1e-8,
               f"off by at most {ode:.1e}; linear look-up in {len(nodes)} nodes {table:.1e}"),
        decide("frequencies of the prismatic link vary with time", float(np.ptp(hertz[:, 0])) > 1,
               f"the first goes from {hertz[0, 0]:.2f} to {hertz[-1, 0]:.2f} Hz"),
    )  # fmt: skip
    rows = (
        ("root finding", "0", f"{1e3 * by_roots:.2f}"),
        ("differential equation", f"{ode:.1e}", f"{1e3 * by_ode:.2f}"),
        (f"look-up, {len(nodes)} nodes", f"{table:.1e}", f"{1e3 * by_table:.3f}"),
    )
    head = ("method", "largest relative error", f"CPU for {len(times)} times, 2 modes [ms]")
    return Found(
        claims,
        Difference(ode, "largest relative difference of the followed roots from the exact ones"),
        tables=(Table("Three ways to the frequencies", head, rows),),
        figures=(
            Figure("Frequencies of link 3 along the motion", "time [s]", "frequency [Hz]",
                   tuple(curve(f"mode {k + 1}", times, hertz[:, k]) for k in range(2)), log=True),
        ),
    )  # fmt: skip


def _timed(compute: Callable[[], Array]) -> tuple[Array, float]:
    begun = time.process_time()
    found = compute()
    return found, time.process_time() - begun


def lemma() -> Found:
    """Decide the lemma: below 1 / lambda_max(H) the flexible part keeps positive stiffness."""
    model = build(sample("theodore-rrp"))
    motion = joint_move(model, GOALS, Timing("cycloid", 0.5))
    found = stiffness_error_along(
        motion, stiffness=400, damping=40, stiffness_error=0.01, points=3, allowed=0.1
    )
    crossings = [_crossing(model.size, FrozenLoop(model), motion.path.at(s)) for s in (0.0, 1.0)]
    worst = max(abs(a / b - 1) for a, b in crossings)
    claims = (
        decide("K - H dK stays positive definite only if alpha lambda_max(H) < 1", worst < 1e-6,
               f"for dK = alpha K the least eigenvalue passes 0 at 1/lambda_max, to {worst:.0e} "
               f"(alpha = {', '.join(f'{a:.3f}' for a, _ in crossings)})"),
        decide("overestimated stiffness may destabilise the closed loop", found.growth.max() > 0,
               f"1 % too much makes it grow by {found.growth.max():.2f} 1/s"),
        decide("if the condition holds, the closed loop is stable",
               bool(np.all(found.largest >= found.bound)),
               f"undamped, no more than {100 * found.largest.min():.2f} % is allowed for growth "
               f"below 0.1 1/s, the condition allows {100 * found.bound.min():.0f} %"),
    )  # fmt: skip
    rows = tuple(
        (f"{s:g}", f"{b:.4f}", f"{x:.4f}", f"{g:.3f}")
        for s, b, x, g in zip(found.progress, found.bound, found.largest, found.growth, strict=True)
    )
    head = ("progress", "1/lambda_max(H)", "largest alpha by eigenvalues", "growth at 1 % [1/s]")
    return Found(
        claims,
        Difference(worst, "relative difference of the sign change from 1/lambda_max(H)"),
        tables=(Table("Along the motion, G_p = 400, G_v = 40", head, rows),),
        because="The condition is necessary, not sufficient: through the joints' errors (eq. 49) "
        "the undamped vibrations are fed back before the stiffness turns negative.",
    )


def _crossing(size: int, loop: FrozenLoop, q: Array) -> tuple[float, float]:
    """Find alpha where M_ff^-1 (K - alpha H K) turns singular, and 1/lambda_max(H)."""
    names = loop.model.names
    joints = [names.index(name) for name in GOALS]
    rest = [k for k in range(size) if k not in joints]
    mass = formulation("composite", loop.model).mass_matrix(q)
    m_rr, m_rf = mass[np.ix_(joints, joints)], mass[np.ix_(joints, rest)]
    m_ff = mass[np.ix_(rest, rest)]
    pulled = m_rf.T @ np.linalg.solve(m_rr, m_rf)
    H = pulled @ np.linalg.inv(m_ff - pulled)
    # det(1 - alpha H) = 0 where K - alpha H K is singular, whatever K
    low, high = 0.0, 100.0
    for _ in range(80):
        mid = (low + high) / 2
        signs = np.linalg.eigvals(np.eye(len(rest)) - mid * H).real.min()
        low, high = (mid, high) if signs > 0 else (low, mid)
    return low, 1 / loop.coupling(q)


ITEMS = (
    Item(PAPER, "table-1", "Table 1: frequencies of a clamped link",
         "Frequencies with 1, 2, 3 elements and exact, under the heading Hz.", table_1),
    Item(PAPER, "table-2", "Table 2: operations of the inertia matrix",
         "Counts for RR, RRR, RP, RRP with modes and elements, and RR with a payload.", table_2),
    Item(PAPER, "equation-numbers", "numbers of equations, section 4.4",
         "4 m n_f + n with elements, 2 m n_f + n with modes in space.", equation_numbers),
    Item(PAPER, "li-sankar", "Li & Sankar's count of -48",
         "Their formula gives -48 and -48 for one link with one mode.", li_sankar),
    Item(PAPER, "frequency-equation", "time-dependent frequency equation, section 4.2",
         "Its roots can be followed by a differential equation along with the motion.",
         frequency_equation),
    Item(PAPER, "lemma", "lemma on overestimated stiffness, section 4.3",
         "The closed loop is stable only if alpha lambda_max(H) < 1.", lemma),
    *RRP_ITEMS,
)  # fmt: skip
