"""Korayem & Shafei 2009: the fall of a two-link arm beside finite elements (Figs 4-15)."""

from functools import cache

import numpy as np
import scipy.linalg

from flexarm.formulations import DEFAULT
from flexarm.linear.modes import modes
from flexarm.runs.run import Run
from flexarm.spatial import Array
from flexarm_papers.base import Figure, Found, Table, curve
from flexarm_papers.readings import Choice, Reading, every, over, ways
from flexarm_papers.runs import changed, column, discord, simulate
from flexarm_papers.verdicts import FREQUENCY, HISTORY, claim, measured, search, untested

SIMULATION = "Computational simulation"
DURATIONS = {f"{t:g} s": t for t in (2.0, 1.0, 4.0)}  # the figures have no numbers in the text
T_END, DT = max(DURATIONS.values()), 1e-3  # [s]
GRAVITY, ANGLE, LASTING = "gravity along", "theta_2", "duration"
DOWN = {"-y": [0.0, -9.81, 0.0], "+x": [9.81, 0.0, 0.0], "-x": [-9.81, 0.0, 0.0],
        "+y": [0.0, 9.81, 0.0]}  # fmt: skip
GRID = every(
    Choice(GRAVITY, {name: {"gravity": g} for name, g in DOWN.items()}),
    over(ANGLE, "links.2.joint.start.position", ("5 deg", "95 deg"), "{} from link 1"),
    ways(LASTING, *DURATIONS),
)
ONE, TWO, ELEMENTS = ("clamped-free", 1), ("clamped-free", 2), ("elements", 2)
CONVERGED, EXACT = ("loaded", 4), ("loaded", 12)  # of motions, of frequencies
PAPERS = "one mode, equations of the paper"
FEM = "2 finite elements per link, as Usoro et al."
MANY = 12  # elements per link that are taken for exact
LENGTH, DENSITY, EI = 1.0, 5.0, 1000.0  # [m], [kg/m], [N m^2] of both links

# Figure: quantity, title, axis.
FIGURES = {
    4: ("joint1", "angle of the first joint", "angle [deg]"),
    5: ("joint2", "angle of the second joint", "angle [deg]"),
    6: ("tip x", "x of the end effector", "x [m]"),
    7: ("tip y", "y of the end effector", "y [m]"),
    8: ("link1 flexural 0.5", "deflection in the middle of link 1", "deflection [m]"),
    9: ("link1 flexural 1", "deflection at the end of link 1", "deflection [m]"),
    10: ("link1 angular 0.5", "slope in the middle of link 1", "slope [rad]"),
    11: ("link1 angular 1", "slope at the end of link 1", "slope [rad]"),
    12: ("link2 flexural 0.5", "deflection in the middle of link 2", "deflection [m]"),
    13: ("link2 flexural 1", "deflection at the end of link 2", "deflection [m]"),
    14: ("link2 angular 0.5", "slope in the middle of link 2", "slope [rad]"),
    15: ("link2 angular 1", "slope at the end of link 2", "slope [rad]"),
}


@cache
def fall(
    shapes: tuple[str, int], gravity: str = "-y", angle: str = "5 deg from link 1", *,
    paper: bool = False, t_end: float = T_END,
) -> Run:  # fmt: skip
    """Simulate the fall by the paper's equations, with tips that turn by 1 + skew, or exactly."""
    kind, count = shapes
    values = {f"links.{k}.shapes": {"kind": kind, "bending_y": count} for k in (1, 2)}
    chosen = GRID.choices[0].ways[gravity], GRID.choices[1].ways[angle]
    return simulate(
        changed("korayem-two-link", {**values, **chosen[0], **chosen[1], "stiffening": False}),
        t_end=t_end, dt=DT, method="dop853", formulation="gibbs-appell" if paper else DEFAULT,
        paper=paper, tip_rotation="first-order" if paper else "cayley",
    )  # fmt: skip


@cache
def history(shapes: tuple[str, int], gravity: str, angle: str, what: str, paper: bool) -> Array:
    """Return the time history of a figure's quantity, (T,)."""
    run = fall(shapes, gravity, angle, paper=paper)
    if what.startswith("joint"):
        return np.degrees(column(run, what))
    if what.startswith("tip"):
        return run.tip[:, "xy".index(what[-1])]
    link, kind, place = what.split()
    along = run.along([float(place)])
    values = along["deflection" if kind == "flexural" else "slope"].sel(link=link)
    return np.asarray(values.values[:, 0, 1])


def shown(reading: Reading, number: int, shapes: tuple[str, int], *, paper: bool) -> Array:
    """Return the time history of a figure for the duration of a reading."""
    whole = history(shapes, reading[GRAVITY], reading[ANGLE], FIGURES[number][0], paper)
    return whole[: round(DURATIONS[reading[LASTING]] / DT) + 1]


def both(reading: Reading, number: int) -> tuple[Array, Array]:
    """Return a figure's curves: by the paper's equations in one mode, and in finite elements."""
    return shown(reading, number, ONE, paper=True), shown(reading, number, ELEMENTS, paper=False)


def figures() -> Found:
    """Compare the twelve quantities between the paper's equations and finite elements."""
    readings = GRID.readings()

    def size(reading: Reading, number: int) -> float:
        one, other = both(reading, number)
        return float(np.ptp(one) / np.ptp(other))

    drawn = []
    for k in FIGURES:
        pair = zip((PAPERS, FEM), both(GRID.first, k), strict=True)
        curves = tuple(curve(label, DT * np.arange(len(y)), y) for label, y in pair)
        drawn.append(Figure(f"Fig. {k}: {FIGURES[k][1]}", "time [s]", FIGURES[k][2], curves,
                            reading=str(GRID.first)))  # fmt: skip
    statements = tuple(
        search(f"Fig. {k}, {title}, is in good concordance with finite elements", SIMULATION,
               HISTORY, readings, lambda x, k=k: 100 * discord(*both(x, k)),  # type: ignore[misc]
               beside={"range over theirs": lambda x, k=k: size(x, k)})  # type: ignore[misc]
        for k, (_, title, _) in FIGURES.items()
    )  # fmt: skip
    return Found(
        (*statements, untested("parameters and initial conditions are those of Usoro et al.",
                               SIMULATION, "that paper's data")),
        figures=tuple(drawn),
        text="Joints and tip fall alike with one mode and with elements. Deflections and slopes "
        "vibrate 40 % too fast with one mode, so that their curves are soon out of phase.",
    )  # fmt: skip


def more_modes() -> Found:
    """Compare one and two modes with the converged motion, in all twelve figures."""
    readings = [x for x in GRID.readings() if x[LASTING] == GRID.first[LASTING]]

    def errors(reading: Reading, shapes: tuple[str, int]) -> Array:
        pairs = ((shown(reading, k, x, paper=False) for x in (shapes, CONVERGED)) for k in FIGURES)
        return np.array([discord(*pair) for pair in pairs])

    def ratio(reading: Reading) -> float:
        return float(errors(reading, TWO).mean() / errors(reading, ONE).mean())

    first = [100 * errors(GRID.first, x) for x in (ONE, TWO)]
    rows = tuple((f"Fig. {k}", *(f"{x[n]:.3g}" for x in first)) for n, k in enumerate(FIGURES))
    return Found(
        (search("more accurate results will be obtained by using more mode shapes", SIMULATION,
                claim("mean error of 12 curves with two modes, over that with one", high=1.0,
                      unit="times"), readings, ratio),),
        tables=(Table(f"Distance from the converged motion [%] ({GRID.first})",
                      ("", "1 mode", "2 modes"), rows),),
    )  # fmt: skip


def vibration() -> Found:
    """Compare the frequencies of one mode per link with exact ones and with finite elements."""
    own = {name: frequencies(x) for name, x in
           (("one mode per link", ONE), ("two modes per link", TWO),
            ("two elements per link", ELEMENTS), ("exact", EXACT))}  # fmt: skip
    independent = np.array(hinged_beams(MANY))
    found = {**own, f"{MANY} elements, assembled by hand, no gravity": independent}
    rows = tuple((name, *(f"{x:.2f}" for x in each)) for name, each in found.items())

    def off(name: str) -> float:
        return 100 * float(np.abs(own[name] / own["exact"] - 1).max())

    one, exact = own["one mode per link"], own["exact"]
    return Found(
        (
            measured("one mode shape per link portrays the vibration modes of the system",
                     SIMULATION, FREQUENCY, off("one mode per link"),
                     beside={name: off(name) for name in list(own)[1:3]}),
        ),
        figures=(
            Figure("Elastic frequencies of the hanging arm, joints free", "mode", "frequency [Hz]",
                   tuple(curve(name, (1, 2), x, points=True) for name, x in found.items())),
        ),
        tables=(Table("Frequencies [Hz], theta_2 = 5 deg", ("", "first", "second"), rows),),
        finding=f"One mode per link vibrates at {one[0]:.1f} and {one[1]:.1f} Hz, the two "
        f"beams at {exact[0]:.2f} and {exact[1]:.2f} Hz. The error of "
        f"{off('one mode per link'):.0f} % explains Figs. 8 to 15: the joints are free, but the "
        "shape of each link is that of a clamped one.",
        text="Two beams hinged to each other, assembled by hand without flexarm, have "
        f"{independent[0]:.2f} and {independent[1]:.2f} Hz without gravity. A second mode per link "
        f"reduces the error to {off('two modes per link'):.1g} %.",
    )  # fmt: skip


@cache
def frequencies(shapes: tuple[str, int]) -> Array:
    """Return the arm's two lowest elastic frequencies about hanging, joint 2 at 5 deg [Hz]."""
    each = {"kind": shapes[0], "bending_y": shapes[1]}
    arm = changed("korayem-two-link", {"links.1.shapes": each, "links.2.shapes": each})
    at = {"joint1": -np.pi / 2, "joint2": np.radians(5.0)}
    found = modes(arm, joints="free", at=at, straight=True)
    return np.array(sorted(f for m in found.modes if (f := m.frequency_hz) > 5.0)[:2])


def hinged_beams(count: int) -> list[float]:
    """Return the lowest elastic frequencies of two straight beams, hinged root and elbow [Hz].

    Notes
    -----
    Independent of flexarm: cubic elements, deflections and slopes at nodes, no gravity.
    """
    h = LENGTH / count
    unit = np.diag([1.0, h, 1.0, h])
    bend = np.array([[12, 6, -12, 6], [6, 4, -6, 2], [-12, -6, 12, -6], [6, 2, -6, 4]])
    mass = np.array([[156, 22, 54, -13], [22, 4, 13, -3], [54, 13, 156, -22], [-13, -3, -22, 4]])
    k, m = (unit @ x @ unit for x in (EI / h**3 * bend, DENSITY * h / 420 * mass))
    size = 4 * count + 3  # two slopes at the elbow
    K, M = np.zeros((2, size, size))
    for e in range(2 * count):
        beyond = e >= count  # link 2 counts from the elbow's deflection and its own slope
        at = 2 * e + beyond
        places = [at, at + 1, at + 2, at + 3]
        if e == count:
            places = [2 * count, 2 * count + 2, 2 * count + 3, 2 * count + 4]
        K[np.ix_(places, places)] += k
        M[np.ix_(places, places)] += m
    squares = scipy.linalg.eigh(K[1:, 1:], M[1:, 1:], eigvals_only=True)
    return [float(x) for x in np.sqrt(squares[2:4]) / (2 * np.pi)]
