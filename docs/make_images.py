"""Draw the pictures of the documentation: ``python -m docs.make_images``."""

from collections.abc import Callable
from pathlib import Path

import casadi as ca
import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Polygon, Rectangle
from scipy.integrate import solve_bvp
from scipy.optimize import root

from docs.how_to_images import HOW_TO
from docs.image_look import COLOURS, single, tidy
from docs.teaching_images import TEACHING
from flexarm import build, formulation
from flexarm.arm import Moving
from flexarm.io.model_file import loads
from flexarm.mechanics.kinematics import frames, section
from flexarm.model import Model
from flexarm.model.profiles import evaluate
from flexarm.spatial import Pose, rotation_from_angles
from flexarm.studies.compare import operation_counts

Array = npt.NDArray[np.float64]
Place = tuple[float, float]
GREY, SOLID = "0.55", "0.82"


def model_of(links: str, *, more: str = "") -> Model:
    """Build an arm from the list of its links."""
    return build(loads(f"flexarm: 1\nname: figure\n{more}\nlinks:\n{links}"))


def at(point: Array, shift: Place = (0.0, 0.0)) -> Place:
    """Place something in the x-y plane near a point."""
    return float(point[0]) + shift[0], float(point[1]) + shift[1]


FRAMES_ARM = """
  - joint: {kind: revolute}
    length: 0.7
    body: {mass: 1}
  - joint:
      kind: revolute
      before: {position: [0.62, 0.3, 0], rotation: [0, 0, 15 deg]}
      after: {position: [0.7, -0.2, 0], rotation: [0, 0, -35 deg]}
    length: 3.2
    root_piece: {length: 0.6}
    tip_piece: {length: 0.45}
    section: {mass_per_length: 1, EIz: 10}
    shapes: {kind: clamped-free, bending_y: 1}
"""


def draw_frames() -> Figure:
    """Draw the frames between the ends of two links, a planar one seen along the joint's axis."""
    model = model_of(FRAMES_ARM)
    q = ca.DM([np.radians(-15), np.radians(35), 0.55])
    first, second = frames(model, q)
    part = model.links[1]
    start = Pose(np.array(first.R_WT), np.array(first.p_WT).ravel())
    turned = Pose(rotation_from_angles((0.0, 0.0, float(q[1]))), np.zeros(3))
    joint = start @ part.pose_FJ
    span = Pose(np.array(second.R_WL), np.array(second.p_WL).ravel())
    root_frame = span @ Pose(np.eye(3), np.array([-0.6, 0.0, 0.0]))
    tip = Pose(np.array(second.R_WT), np.array(second.p_WT).ravel())
    end = tip @ model.end_pose
    figure = Figure(figsize=(10, 4), layout="constrained")
    axes = figure.subplots()
    line = [section(model, part, q, x).position for x in np.linspace(0.0, part.length, 60)]
    curve = np.array([span.position + span.rotation @ np.array(p).ravel() for p in line])
    straight = np.stack([span.position, span.position + span.rotation[:, 0] * part.length])
    _rod(axes, start.position - 0.6 * start.rotation[:, 0], start.position, "0.8")
    _rod(axes, root_frame.position, span.position, COLOURS[0])
    _rod(axes, tip.position, end.position, COLOURS[0])
    axes.plot(*straight[:, :2].T, color=GREY, ls=":", lw=1)
    axes.plot(*curve[:, :2].T, color=COLOURS[0], lw=3)
    _arrow(axes, start, joint, "before", (-0.04, 0.06))
    _arrow(axes, joint, root_frame, "after", (0.12, -0.16))
    _axes_of(axes, joint @ turned, "--")
    for pose in (start, joint, root_frame, span, tip, end):
        _axes_of(axes, pose, "-")
    axes.add_patch(Circle(at(joint.position), 0.04, fc="white", ec="k", lw=2))
    for text, pose, place in (
        ("end of previous link", start, (-0.45, -0.24)),
        ("joint, turned by q (dashed)", joint, (-0.75, 0.38)),
        ("root", root_frame, (-0.1, -0.2)),
        ("root of the span", span, (-0.2, -0.2)),
        ("flexible tip", tip, (-0.62, 0.36)),
        ("end", end, (0.04, -0.22)),
    ):
        axes.annotate(text, at(pose.position, place), fontsize=11)
    for text, point, place in (
        ("root_piece", (root_frame.position + span.position) / 2, (-0.23, 0.09)),
        ("flexible span", curve[30], (-0.3, 0.14)),
        ("tip_piece", (tip.position + end.position) / 2, (-0.12, -0.24)),
    ):
        axes.annotate(text, at(point, place), fontsize=10, color=COLOURS[0])
    axes.set_aspect("equal")
    axes.set_axis_off()
    axes.margins(0.05, 0.1)
    return figure


def _rod(axes: Axes, start: Array, end: Array, colour: str) -> None:
    axes.plot(*np.stack([start, end])[:, :2].T, color=colour, lw=8, solid_capstyle="butt")


def _arrow(axes: Axes, start: Pose, end: Pose, text: str, place: Place) -> None:
    look = {"arrowstyle": "->", "color": GREY, "lw": 1.2, "shrinkA": 0, "shrinkB": 4}
    axes.annotate("", at(end.position), at(start.position), arrowprops=look)
    middle = (start.position + end.position) / 2
    axes.annotate(text, at(middle, place), fontsize=10, color=GREY, ha="center")


def _axes_of(axes: Axes, pose: Pose, style: str) -> None:
    for k, colour in ((0, COLOURS[1]), (1, COLOURS[2])):
        ends = np.stack([pose.position, pose.position + 0.26 * pose.rotation[:, k]])
        axes.plot(*ends[:, :2].T, color=colour, lw=1.8, ls=style, zorder=4)
        place = at(pose.position + 0.3 * pose.rotation[:, k])
        axes.annotate("xy"[k], place, fontsize=8, color=colour, ha="center", va="center")


PROFILES = (
    "kind: constant, value: 0.6",
    "kind: step, value: 1, time: 0.5, before: -0.3",
    "kind: bang-bang, amplitude: 1, times: [0.3, 0.9, 1.5]",
    "kind: sine, amplitude: 0.7, frequency: 1, phase: 45 deg, offset: 0.3",
    "kind: cycloid, start: 0, end: 1, duration: 1.2, begin: 0.4",
    "kind: trapezoid, start: 0, end: 1, duration: 1.2, begin: 0.4",
    "kind: spin-up, rate: 1, duration: 1.2",
    "kind: table, times: [0.2, 0.6, 1, 1.6], values: [0, 1, 0.2, 0.7]",
    "kind: table, times: [0.2, 0.6, 1, 1.6], values: [0, 1, 0.2, 0.7], interpolation: cubic",
)


def draw_profiles() -> Figure:
    """Draw one function of time of each kind."""
    figure = Figure(figsize=(10, 5), layout="constrained")
    panels = figure.subplots(3, 3, sharex=True).ravel()
    times = np.linspace(0.0, 2.0, 801)
    for panel, text in zip(panels, PROFILES, strict=True):
        link = f"  - {{joint: {{kind: revolute, input: {{{text}}}}}, length: 1, body: {{mass: 1}}}}"
        joint = loads(f"flexarm: 1\nname: figure\nlinks:\n{link}").links[0].joint
        assert isinstance(joint, Moving) and joint.input is not None
        panel.plot(times, [evaluate(joint.input, float(t))[0] for t in times], color=COLOURS[0])
        way = getattr(joint.input, "interpolation", "")
        panel.set_title(f"{joint.input.kind} {way}", fontsize=10)
        panel.set_ylim(-1.15, 1.55)
    for panel in panels[6:]:
        panel.set_xlabel("t [s]")
    tidy(panels)
    return figure


def draw_sections() -> Figure:
    """Draw the outlines of sections with their axes and measures."""
    figure = Figure(figsize=(10, 2.7), layout="constrained")
    panels = figure.subplots(1, 4)
    panels[0].add_patch(_block(0.35, 0.5, SOLID))
    panels[1].add_patch(Circle((0, 0), 0.5, fc=SOLID, ec="k", lw=1.2))
    panels[1].add_patch(Circle((0, 0), 0.4, fc="white", ec="k", lw=1.2))
    panels[2].add_patch(_block(0.35, 0.5, SOLID))
    panels[2].add_patch(_block(0.27, 0.42, "white"))
    right = [(0.35, 0.5), (0.35, 0.38), (0.06, 0.38), (0.06, -0.38), (0.35, -0.38), (0.35, -0.5)]
    left = [(-y, z) for y, z in reversed(right)]
    panels[3].add_patch(Polygon([*right, *left], closed=True, fc=SOLID, ec="k", lw=1.2))
    for panel, name in zip(panels, ("rectangle", "tube", "box", "I"), strict=True):
        panel.set_title(name, fontsize=11)
        for tip, text in (((0.75, 0.0), "y"), ((0.0, 0.8), "z")):
            panel.annotate("", tip, (0, 0), arrowprops={"arrowstyle": "->", "color": COLOURS[1]})
            panel.annotate(text, (tip[0] + 0.03, tip[1] + 0.03), color=COLOURS[1], fontsize=11)
        panel.set_xlim(-1, 1)
        panel.set_ylim(-0.95, 0.95)
        panel.set_aspect("equal")
        panel.set_axis_off()
    for k in (0, 2, 3):
        _measure(panels[k], (-0.35, -0.68), (0.35, -0.68), "width", (0, -0.14))
        _measure(panels[k], (-0.55, -0.5), (-0.55, 0.5), "height", (-0.22, 0))
    _measure(panels[1], (-0.5, -0.68), (0.5, -0.68), "diameter", (0, -0.14))
    _point(panels[1], "thickness", (0.32, 0.32), (0.5, 0.6))
    _point(panels[2], "thickness", (0.31, 0.2), (0.45, 0.35))
    _point(panels[3], "flange", (0.25, 0.44), (0.45, 0.6))
    _point(panels[3], "web", (0.0, -0.2), (0.3, -0.15))
    return figure


def _block(width: float, height: float, colour: str) -> Rectangle:
    return Rectangle((-width, -height), 2 * width, 2 * height, fc=colour, ec="k", lw=1.2)


def _measure(axes: Axes, start: Place, end: Place, text: str, place: Place) -> None:
    look = {"arrowstyle": "<->", "color": GREY, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", end, start, arrowprops=look)
    middle = ((start[0] + end[0]) / 2 + place[0], (start[1] + end[1]) / 2 + place[1])
    axes.annotate(text, middle, ha="center", va="center", fontsize=9)


def _point(axes: Axes, text: str, end: Place, place: Place) -> None:
    axes.annotate(text, end, place, fontsize=9, arrowprops={"arrowstyle": "-", "color": GREY})


FAMILIES = (
    ("loaded, root free", "kind: loaded, bending_y: 3, root: free"),
    ("loaded, root held", "kind: loaded, bending_y: 3, root: held"),
    ("clamped-free", "kind: clamped-free, bending_y: 3"),
    ("clamped-mass", "kind: clamped-mass, bending_y: 3"),
    ("pinned-free", "kind: pinned-free, bending_y: 3"),
    ("pinned-pinned", "kind: pinned-pinned, bending_y: 3"),
    ("free-free", "kind: free-free, bending_y: 3"),
    ("elements, 2 of them", "kind: elements, bending_y: 2"),
    ("craig-bampton", "kind: craig-bampton, bending_y: 1"),
    ("lumped", "kind: lumped, bending_y: 3"),
)
SAME_LINK = """
  - joint: {{kind: revolute, hub: {{outboard: {{inertia: [0, 0, 0.05]}}}}}}
    length: 1
    section: {{mass_per_length: 1, EIz: 100}}
    shapes: {{{shapes}}}
  - joint: {{kind: revolute}}
    length: 0.7
    body: {{mass: 1, com: [0.35, 0, 0], inertia: [0, 0, 0.04]}}
"""


def draw_shapes() -> Figure:
    """Draw the first shapes of every family on one link."""
    figure = Figure(figsize=(11, 4.8), layout="constrained")
    panels = figure.subplots(2, 5, sharex=True).ravel()
    x = np.linspace(0.0, 1.0, 301)
    for panel, (title, shapes) in zip(panels, FAMILIES, strict=True):
        elastic = model_of(SAME_LINK.format(shapes=shapes)).links[0].beam
        assert elastic is not None
        values = elastic.shapes.values("y", x)
        scale = np.abs(values).max(axis=0)
        for k, name in enumerate(elastic.shapes.names):
            colour, style = COLOURS[k % 5], "-" if k < 3 else "--"
            panel.plot(x, values[:, k] / scale[k], color=colour, ls=style, label=name)
        panel.axhline(0, color="k", lw=0.6)
        panel.set_title(title, fontsize=10)
        look = {"handlelength": 1, "columnspacing": 0.7}
        panel.legend(fontsize=6.5, frameon=False, loc="lower left", ncols=2, **look)
        panel.set_ylim(-1.75, 1.1)
        panel.set_yticks([-1, 0, 1])
    for panel in panels[5:]:
        panel.set_xlabel("x [m]")
    tidy(panels)
    return figure


SLIDING = """
  - joint: {{kind: sliding, start: {{position: 0.6}}, limits: {{lower: 0.3, upper: 1.8}}}}
    length: 2
    section: {{mass_per_length: 1, EIz: 100}}
    shapes: {{kind: clamped-mass, bending_y: 2{follow}}}
"""


def draw_sliding() -> Figure:
    """Draw shapes of a sliding link that follow its length, and the one that does not."""
    figure = Figure(figsize=(10, 3), layout="constrained")
    panels = figure.subplots(1, 2)
    following, kept = (
        model_of(SLIDING.format(follow=follow), more="payload: {mass: 0.4}")
        .links[0]
        .sliding_beam.shapes
        for follow in (", follow: true", "")
    )
    assert following is not None and kept is not None
    xi = np.linspace(0.0, 1.0, 201)
    for k, panel in enumerate(panels):
        for colour, length in zip(COLOURS, (0.3, 0.6, 1.8), strict=False):
            values = following.at(length).values("y", xi * length)[:, k]
            values = values / np.abs(values).max()
            panel.plot(xi, values, color=colour, label=f"follows, {length:g} m out")
        values = kept.at(1.0).values("y", xi)[:, k]
        values = values / np.abs(values).max()
        panel.plot(xi, values, "k:", lw=2, label="fixed: that of 0.6 m")
        panel.axhline(0, color="k", lw=0.6)
        panel.set_title(f"y{k + 1}, payload 0.4 kg, beam 1 kg/m", fontsize=10)
        panel.set_xlabel("x / exposed length")
        panel.legend(fontsize=8, frameon=False)
    tidy(panels)
    return figure


STATIC = """
  - joint: {kind: fixed}
    length: 1
    section: {mass_per_length: 1, EIz: 1}
    shapes: {kind: craig-bampton, bending_y: 6}
    wrenches: [{force: [0, 1, 0], factor: {kind: table, times: [0, 9], values: [0, 9]}}]
"""


def static_errors(stiffening: bool, forces: Array) -> tuple[Array, Array]:
    """Compare tips of a cantilever under a dead tip force with the exact inextensible beam.

    Returns
    -------
    slopes, errors
        Exact tip angle [rad], and distance of the tips over the exact deflection.
    """
    more = f"gravity: [0, 0, 0]\nstiffening: {str(stiffening).lower()}"
    eq = formulation("composite", model_of(STATIC, more=more))
    still, slopes, errors = np.zeros(8), [], []
    d = still
    for force in forces.tolist():

        def balance(z: Array, t: float = force) -> Array:
            return eq.inverse_dynamics(z, still, still, t)

        d = root(balance, d, tol=1e-12).x
        angle, tip = exact_cantilever(force)
        offset = np.hypot(tip[0] - 1, tip[1])
        slopes.append(angle)
        errors.append(np.linalg.norm(eq.tip_pose(d)[1][:2] - tip) / offset)
    return np.array(slopes), np.array(errors)


def exact_cantilever(force: float) -> tuple[float, Array]:
    """Solve theta'' = -F cos(theta) of a unit cantilever: tip angle and tip, (2,)."""
    s = np.linspace(0.0, 1.0, 101)
    solution = solve_bvp(
        lambda s, y: np.stack([y[1], -force * np.cos(y[0]), np.cos(y[0]), np.sin(y[0])]),
        lambda a, b: np.array([a[0], b[1], a[2], a[3]]),
        s,
        np.stack([force * (s - s**2 / 2), force * (1 - s), s, 0 * s]),
        tol=1e-10,
    )
    return float(solution.y[0, -1]), solution.y[2:, -1]


def draw_validity() -> Figure:
    """Draw the static error of the model against the exact inextensible beam."""
    figure, panel = single("Cantilever under a tip force, against the exact beam")
    forces = np.geomspace(0.01, 5.0, 14)
    for colour, stiffening in ((COLOURS[0], True), (COLOURS[1], False)):
        slopes, errors = static_errors(stiffening, forces)
        label = f"stiffening: {str(stiffening).lower()}"
        panel.loglog(slopes, 100 * errors, "o-", color=colour, ms=4, label=label)
    panel.set_xlabel("largest slope of the bent axis [rad]")
    panel.set_ylabel("tip error, % of the deflection")
    panel.legend(frameon=False)
    return figure


CHAIN = """
  - joint: {kind: revolute, dh: {alpha: 40 deg}}
    length: 1
    section: {mass_per_length: 1, EIz: 100}
    shapes: {kind: clamped-free, bending_y: 2}
"""
LINKS = (1, 2, 3, 4, 6)


def draw_cost() -> Figure:
    """Draw how the cost of forward dynamics grows with the number of links."""
    models = [model_of(links * CHAIN, more="stiffening: false") for links in LINKS]
    figure, panel = single("One evaluation of forward dynamics")
    for colour, name in ((COLOURS[1], "composite"), (COLOURS[0], "articulated")):
        found = [operation_counts(formulation(name, model), "forward_dynamics") for model in models]
        cost = [each.multiplications + each.additions for each in found]
        panel.plot(LINKS, cost, "o-", color=colour, ms=4, label=name)
    panel.set_xlabel("links, two bending shapes each, twists of 40°, no stiffening")
    panel.set_ylabel("multiplications + additions")
    panel.legend(frameon=False)
    return figure


FIGURES: dict[str, Callable[[], Figure]] = {
    "frames": draw_frames,
    "profiles": draw_profiles,
    "sections": draw_sections,
    "shapes": draw_shapes,
    "sliding": draw_sliding,
    "validity": draw_validity,
    "cost": draw_cost,
    **HOW_TO,
    **TEACHING,
}


if __name__ == "__main__":
    for name, draw in FIGURES.items():
        draw().savefig(Path(__file__).parent / "images" / f"{name}.png", dpi=110)
