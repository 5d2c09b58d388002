"""Theodore & Ghosal 1995, Figs. 7 and 8: deflection and rotation at the tips of links 2 and 3."""

from functools import cache
from typing import Any

import numpy as np

from flexarm.integrate.simulate import simulate
from flexarm.links.base import Array
from flexarm.papers.base import Difference, Figure, Found, Missing, curve, decide
from flexarm.papers.runs import apart, changed
from flexarm.papers.theodore.loop import DT, KINDS, MOVE, SAMPLED, TIPS, loop
from flexarm.runs.run import Run

SIMILAR = 0.10  # of the range
UNITS = {"deflection": "m", "slope": "rad"}
MORE = 4  # modes per link and plane: as many as two elements have coordinates
TRIED = ("none", SAMPLED)
LAGS = "the response in finite elements lags behind that in modes"
ELEMENTS = {"kind": "elements", "bending_y": 2, "bending_z": 2}


def deflections(link: int) -> Found:
    """Compare deflection and rotation of a link's tip between modes and elements."""
    both = {kind: loop(kind).run for kind in KINDS}
    t = both["modes"].t
    found = {kind: _histories(run, link) for kind, run in both.items()}
    gaps = {name: apart(found["elements"][name], y) for name, y in found["modes"].items()}
    lags = {tip: _lags(link, "modes", tip) for tip in TRIED}
    sample = lags[SAMPLED]
    more = _lags(link, "more modes", "")
    claims = (
        decide("the response is similar for both models", max(gaps.values()) < SIMILAR,
               "rms difference " + ", ".join(f"{k}: {100 * x:.2g} %" for k, x in gaps.items())
               + f" of the range; {100 * SIMILAR:.0f} % is taken for similar"),
        decide(LAGS, min(sample.values()) > 0,
               "lags while the joints move, " + ", ".join(f"{k}: {x:.4f} ms" for k, x in
                                                          sample.items())),
    )  # fmt: skip
    figures = tuple(
        Figure(f"Fig. {5 + link}: {name} at the tip of link {link}", "time [s]",
               f"{name.partition(' ')[0]} [{UNITS[name.partition(' ')[0]]}]",
               tuple(curve(kind, t, found[kind][name]) for kind in KINDS))
        for name in gaps
    )  # fmt: skip
    return Found(
        claims,
        Difference(max(gaps.values()), "largest rms difference of the two models over the range"),
        figures=figures,
        missing=(
            Missing("mass and inertia at the tip of link 2 in its modes",
                    f"least lag of the four histories of link {link} [ms]", TRIED,
                    tuple(min(each.values()) for each in lags.values()), 0.0, (LAGS,)),
        ),
        because=f"Behind {MORE} modes per link and plane finite elements lag by "
        f"{min(more.values()):.4f} to {max(more.values()):.4f} ms.",
    )  # fmt: skip


def _histories(run: Run, link: int) -> dict[str, Array]:
    """Pick deflection and slope at a link's tip, by name, (T,)."""
    found = run.along([1.0]).sel(link=f"link{link}")
    return {
        f"{what} along {axis}": np.asarray(found[what].sel(axis=axis).values[:, 0])
        for what in UNITS
        for axis in "yz"
    }


def _lags(link: int, kind: str, tip: str) -> dict[str, float]:
    """Find by how much elements lag behind modes while the joints move exactly [ms]."""
    one, other = _moved(kind, tip), _moved("elements", "")
    first, second = _histories(one, link), _histories(other, link)
    return {name: 1e3 * lag(one.t, y, second[name]) for name, y in first.items()}


@cache
def _moved(kind: str, tip: str) -> Run:
    """Move the joints as wanted: gains and weights, which the paper does not give, drop out."""
    values: dict[str, Any] = {}
    if tip:
        values["links.2.shapes.tip"] = TIPS[tip]
    if kind == "elements":
        values |= {f"links.{k}.shapes": ELEMENTS for k in (2, 3)}
    if kind == "more modes":
        values |= {f"links.{k}.shapes.bending_{axis}": MORE for k in (2, 3) for axis in "yz"}
        values["links.3.shapes.normalise"] = "mass"  # tips of higher modes may hardly move
    arm = changed("theodore-rrp-motion", values)
    return simulate(arm, t_end=MOVE, dt=DT, rtol=1e-5)


def lag(t: Array, first: Array, second: Array) -> float:
    """Find the small shift [s] by which the second history follows the first best.

    Notes
    -----
    Least squares of ``second - first = -lag d(first)/dt``.
    """
    rate = np.gradient(first, t)
    return -float(np.dot(rate, second - first) / np.dot(rate, rate))
