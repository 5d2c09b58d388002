"""Does flexarm give the numbers that are known?  Every case, ours beside it.

Published numbers and ones derived anew by another method, from single beams to whole arms.  Made on
the spot by flexarm alone; `--quick` takes two sections, the first in part.
"""

import argparse
import json
from collections.abc import Callable, Iterable
from pathlib import Path

import validation_arms as arms
import validation_beams as beams
import validation_motions as motions
from report import table, write
from validation_counts import counts
from validation_data import Row

Section = tuple[str, str, Callable[[], Iterable[Row]]]


def main() -> None:
    """Compute, print, and write where that was asked for."""
    parser = argparse.ArgumentParser(description="Compare flexarm with known numbers.")
    parser.add_argument("--quick", action="store_true", help="two sections, the first in part")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the numbers as JSON")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the page")
    args = parser.parse_args()
    found = [(title, about, list(make())) for title, about, make in sections(quick=args.quick)]
    text = page(found, [] if args.quick else counts())
    print(text)
    if args.out:
        write(args.out, json.dumps(document(found), indent=1) + "\n")
    if args.markdown:
        write(args.markdown, text)


def sections(*, quick: bool) -> list[Section]:
    """List the sections: title, what its numbers are, and how to compute them."""
    if quick:
        return [
            ("Beams at rest", BEAMS, beams.meshes),
            ("Motions", MOTIONS, motions.trajectories),
        ]
    return [
        (
            "Beams at rest",
            BEAMS,
            lambda: [*beams.eigenvalues(), *beams.rods(), *beams.meshes(), *beams.rolled_up()],
        ),
        ("Links in rotation", ROTATING, lambda: [*beams.rotating(), *beams.rotating_more()]),
        ("A beam that is spun up", SPUN_UP, motions.spin_up),
        ("Frequencies of arms", ARMS, arms.frequencies_of_arms),
        ("A frame that bends and twists in space", FRAME, motions.right_angle),
        ("A boom that slides out", SLIDING, motions.deploying),
        ("Motions", MOTIONS, motions.trajectories),
    ]


def document(found: list[tuple[str, str, list[Row]]]) -> list[dict[str, object]]:
    """List every row with its section, for programs."""
    return [
        {
            "section": title,
            "case": row.case,
            "source": row.printed.source,
            "published": row.printed.values,
            "ours": row.ours,
            "difference": row.difference,
            "agrees": row.agrees,
            "how": row.how,
        }
        for title, _, rows in found
        for row in rows
    ]


def page(found: list[tuple[str, str, list[Row]]], counted: list[str]) -> str:
    """Write the page, with tables of operation counts if there are any."""
    rows = [row for _, _, part in found for row in part]
    numbers = sum(len(row.ours) for row in rows)
    agree = sum(row.agreeing for row in rows)
    worst = max(rows, key=lambda row: row.difference)
    summary = (
        f"Of {numbers} numbers {agree} agree to every printed digit. The largest relative "
        f"difference is {worst.difference:.0e} ({worst.case})."
    )
    parts = [ABOUT, summary]
    for number, (title, about, part) in enumerate(found, 1):
        parts += [f"## {number}. {title}", about, _table(part)]
        reasons = _reasons(part)
        parts += [reasons] if reasons else []
    if counted:
        parts += [f"## {len(found) + 1}. Operation counts", COUNTS, *counted]
    return "\n\n".join(parts) + "\n"


def _table(rows: list[Row]) -> str:
    """Write one row per case; methods that agree with the same numbers share a row."""
    head = ["case", "published or derived", "flexarm, if different", "computed with", "source"]
    lines: dict[tuple[str, ...], None] = {}
    for row in rows:
        differs = f"{' '.join(_cells(row))} ({row.difference:.0e})"
        ours, how = ("", "") if row.agrees else (differs, row.how)
        lines[row.case, " ".join(row.printed.texts), ours, how, row.printed.source] = None
    return table(head, [list(line) for line in lines])


def _cells(row: Row) -> list[str]:
    """Write flexarm's values with as many digits as the reference has."""
    cells = []
    for text, value in zip(row.printed.texts, row.ours, strict=True):
        mantissa, mark, _ = text.partition("e")
        decimals = len(mantissa.partition(".")[2])
        cells.append(f"{value:.{decimals}e}" if mark else f"{value:.{decimals}f}")
    return cells


def _reasons(rows: list[Row]) -> str:
    """Say why rows differ, one sentence per reason."""
    by_reason: dict[str, list[Row]] = {}
    for row in rows:
        if not row.agrees:
            by_reason.setdefault(row.why or "no reason is known", []).append(row)
    lines = [
        f"- {_named(part)}: {why} (largest difference {max(r.difference for r in part):.0e})."
        for why, part in by_reason.items()
    ]
    return "\n".join(["Where digits differ:", "", *lines]) if lines else ""


def _named(rows: list[Row]) -> str:
    names = list(dict.fromkeys(row.case for row in rows))
    return "; ".join(names) if len(names) <= 6 else f"{len(names)} cases, {names[0]} and on"


ABOUT = """# Validation

Made by `python benchmarks/validation.py --markdown docs/validation.md`; do not edit. If all numbers
of a row round to the reference, the third column is empty. Else it has flexarm's numbers, in
brackets their largest relative difference from the reference; the reason is below the table.
References without a publication were derived by the method in the last column. Units are SI; beams
are in units of L, rhoA L and T = sqrt(rhoA L^4/EI)."""

BEAMS = """Eigenvalues lam of uniform Euler-Bernoulli beams, omega = lam^2/T. The tip body has M =
m/(rhoA L) and J = J_tip/(rhoA L^3), the hub Jh = J_hub/(rhoA L^3), the joint's spring kap = k
L/EI, the rotor behind it jm = J_m/(rhoA L^3). *span, elements* are the modes of the bare span, from
which clamped-mass and other [shapes](shapes.md) are made; *arm* is an arm with this one link, by
`flexarm.modes`."""

ROTATING = """The table has frequencies omega T of a link that rotates at Omega T, about its steady
state, for bending out of the plane of rotation (flap) and in it (lag). The root is at a radius
(*hub*) of 0, 1 or 2 lengths. Without stiffening lag^2 = 3.516^2 - speed^2, so that there is a
critical speed; with stiffening there is no critical speed."""

SPUN_UP = """The sample `spin-up-beam` (L = 10, EA = 2.8e7, EI = 1.4e4, rhoA = 1.2, rhoI = 6e-4)
is spun up in 15 s to 6 rad/s, which is more than its first frequency."""

FRAME = """The frame has two links of length 10 at a right angle, clamped at the root, with EA =
1e6, EI = GJ = 1e3, rhoA = 1 and rotary inertia 20, 10, 10 about x, y, z. A force along z acts on
the elbow, linear between 0, 50 and 0 at 0, 1 and 2 s. After 2 s the motion continues freely,
without gravity."""

ARMS = """Frequencies are in Hz unless a row has another unit, without gravity, at rest, with joints
locked or free. De Luca & Siciliano print 0.48, 1.80 Hz for link 1 with the elbow at 90 deg and
2.18, 15.91 Hz for link 2."""

SLIDING = """A cantilever of length sqrt(1 + 2 t) vibrates as L^s f(xi/L), with xi from the tip and
K = EI/(rhoA kap^2). The run starts with the shape and velocity of this self-similar solution,
scaled to 1e-4 of the length; Im s is fitted to the tip's motion. At a constant speed V the energy
of bending falls by V EI w''(root)^2/2 per second. The sample is `telescope`."""

MOTIONS = """Angles of the double pendulum are from the downward vertical; the falling arm of
Korayem & Shafei has one clamped-free mode per link, scaled to a unit tip; the driven link is the
sample `driven-link`. *Series* are [second-order
links](kinematics-and-energies.md#second-order-links), by `build(arm, series=True)`."""

COUNTS = """The tables compare the multiplications and additions of published formulas, as printed,
with those of flexarm's code; [operation counts](operation-counts.md) and [closed
forms](closed-form-counts.md) say how operations are counted and why the numbers differ."""


if __name__ == "__main__":
    main()
