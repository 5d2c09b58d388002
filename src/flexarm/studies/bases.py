"""Variants of an arm on other shape functions: larger or smaller bases, other families."""

from collections.abc import Callable, Collection, Mapping
from functools import partial

from flexarm.arm import Arm, Link
from flexarm.arm.shapes import (
    ClampedFree,
    Counted,
    CraigBampton,
    Elements,
    Loaded,
    Lumped,
    Polynomials,
    Tabulated,
)
from flexarm.errors import ModelError
from flexarm.links.base import DIRECTIONS, Counts, Direction, Span
from flexarm.links.basis import MOTIONS
from flexarm.links.shape_counts import counts
from flexarm.model import build
from flexarm.studies.constants import REFERENCE_MODES

MESHES = (Elements, Lumped)
HAVE_STATIC = (*MESHES, CraigBampton, Polynomials)


def next_member(arm: Arm) -> Arm:
    """Return the arm with one more shape function in every elastic direction that has shapes."""
    return _counted(arm, lambda _, n: n + 1)


def grown(arm: Arm, more: int = 1) -> Arm:
    """Return the arm with ``more`` additional shapes in each direction that has shapes.

    In links discretised by finite elements or lumped masses, the number of elements is doubled
    instead.
    """
    return _counted(arm, lambda choice, n: 2 * n if isinstance(choice, MESHES) else n + more)


def fewer(arm: Arm) -> Arm | None:
    """Return the arm with one shape function fewer per elastic direction, but at least one.

    Return None if some bending direction has a single shape function, or if there is none.
    """
    planes = [n for number in numbers(arm).values() for n in (number.y, number.z) if n]
    return _counted(arm, lambda _, n: max(n - 1, 1)) if min(planes, default=0) > 1 else None


def enriched(arm: Arm) -> Arm:
    """Return the arm with a larger basis: one more shape per direction, and static shapes.

    The existing shape functions are retained, so that initial amplitudes stay valid. Meshes get
    twice as many elements. Families that cannot include static shapes, such as those of sliding
    links, get two further shape functions instead, or one if two cannot be built.
    """

    def more(choice: Counted, n: int) -> int:
        if isinstance(choice, MESHES):
            return 2 * n
        return n + (2 if isinstance(choice, HAVE_STATIC) else 1)

    next_arm_basis, next_basis = _counted(arm, lambda _, n: n + 2), next_member(arm)
    return _buildable(_counted(arm, more, static=True), next_arm_basis, next_basis)


def numbers(arm: Arm) -> dict[int, Counts]:
    """Return the shape-function counts per elastic direction, keyed by link index.

    Rigid links and links whose shape functions come from a file are omitted.
    """
    return {
        i: counts(arm, i, link.shapes)
        for i, link in enumerate(arm.links)
        if can_enrich(link) and isinstance(link.shapes, Counted)
    }


def recounted(arm: Arm, shape_counts: Mapping[int, Counts]) -> Arm:
    """Return the arm with the given shape-function counts, keyed by link index."""
    return _changed(arm, lambda choice, n: choice.model_copy(update=_keys(n)), shape_counts)


def stretched(arm: Arm) -> Arm | None:
    """Return the arm with one more axial shape in each link whose section has EA.

    Return None if no link with counted shape functions states EA.
    """
    able = {i: n for i, n in numbers(arm).items() if _stiff(arm.links[i]).x}
    return recounted(arm, {i: n._replace(x=n.x + 1) for i, n in able.items()}) if able else None


def widened(arm: Arm, still: Collection[tuple[int, Direction]] = ()) -> Arm:
    """Return the arm with at least one shape in each direction of given stiffness.

    Directions given in ``still`` as (link index, direction) are not extended.
    """
    shape_counts = {}
    for i, number in numbers(arm).items():
        stiff = _stiff(arm.links[i])
        least = (0 if (i, d) in still else stiff.of(d) for d in DIRECTIONS)
        shape_counts[i] = Counts(*map(max, number, least))
    return recounted(arm, shape_counts)


def by_rule(arm: Arm) -> Arm:
    """Return the arm with loaded modes, as many as the automatic rule chooses.

    Loaded modes are the mode shapes of a link with the inertia at its root and tip. An arm whose
    model file refers to individual modal amplitudes is returned unchanged.
    """
    if any(_names_amplitudes(link) for link in arm.links if link.beam):
        return arm

    def loaded(choice: Counted, _: Counts) -> Counted:
        return Loaded(root=choice.root if isinstance(choice, Loaded) else "auto")

    return _buildable(_changed(arm, loaded), arm)


def reference(arm: Arm) -> Arm:
    """Return the arm on the reference basis: eight mass-normalised loaded modes per direction.

    The modes are computed with locked joints and supplemented by static shapes. The static shapes
    are omitted if the model cannot be built with them, as with a heavy tip body, whose loaded modes
    already span the static shapes.
    """

    def many(_: Counted, number: Counts, *, static: bool) -> Counted:
        number = Counts(*(REFERENCE_MODES * (n > 0) for n in number))
        return Loaded(root="held", static=static, normalise="mass", **_keys(number))

    return _buildable(*(_changed(arm, partial(many, static=static)) for static in (True, False)))


def families(arm: Arm) -> dict[str, Arm]:
    """Return the arm on other families of shape functions, as a mapping from family name to arm.

    Each variant has as many shape functions as the arm. The result is empty if the model file
    refers to individual modal amplitudes, which are undefined in other families.
    """
    flexible = [link for link in arm.links if link.beam]
    if any(_names_amplitudes(link) for link in flexible):
        return {}
    makers: dict[str, Callable[[Counted, Counts], Counted]] = {
        "loaded, root held": lambda _, n: Loaded(root="held", **_keys(n)),
        "loaded, root free": lambda _, n: Loaded(root="free", **_keys(n)),
        "loaded, root geared": lambda _, n: Loaded(root="geared", **_keys(n)),
        "clamped-free": lambda _, n: ClampedFree(kind="clamped-free", **_keys(n)),
        "craig-bampton": lambda _, n: CraigBampton(kind="craig-bampton", **_keys(_less(n))),
    }
    return {name: _changed(arm, make) for name, make in makers.items()}


def title(arm: Arm) -> str:
    """Return a description of the arm's shape functions, such as ``loaded, 4 bending y``."""
    titles = dict.fromkeys(_title(arm, i) for i, link in enumerate(arm.links) if link.beam)
    return "; ".join(titles)


def can_enrich(link: Link) -> bool:
    """Return whether the link is flexible and the number of its shape functions can be changed."""
    return link.beam and isinstance(link.shapes, Counted)


def of_family(link: Link) -> bool:
    """Return whether the link's shapes can be added singly, unlike elements of a mesh."""
    return can_enrich(link) and not isinstance(link.shapes, MESHES)


def _buildable(*arms: Arm) -> Arm:
    """Return the first arm for which a model can be built; the last arm if none can."""
    for arm in arms[:-1]:
        try:
            build(arm, stiffening=False)
        except ModelError:
            continue
        return arm
    return arms[-1]


def _counted(arm: Arm, change: Callable[[Counted, int], int], *, static: bool = False) -> Arm:
    """Return the arm with the number n of shapes per direction replaced by ``change(shapes, n)``.

    Directions without shape functions are unchanged. With ``static``, static shapes are added to
    the families that have such an option.
    """

    def made(choice: Counted, number: Counts) -> Counted:
        values = _keys(Counts(*(change(choice, n) if n else 0 for n in number)))
        added = {"static": True} if static and not isinstance(choice, HAVE_STATIC) else {}
        return choice.model_copy(update=values | added)

    return _changed(arm, made)


def _changed(
    arm: Arm,
    make: Callable[[Counted, Counts], Counted],
    shape_counts: Mapping[int, Counts] | None = None,
) -> Arm:
    """Return the arm with the shapes of each link i replaced by ``make(shapes, counts[i])``.

    ``shape_counts`` maps link indices to counts; by default, all links with countable shapes and
    their present counts.
    """
    links = list(arm.links)
    for i, number in (numbers(arm) if shape_counts is None else shape_counts).items():
        choice = links[i].shapes
        assert isinstance(choice, Counted)
        links[i] = links[i].model_copy(update={"shapes": make(choice, number)})
    return arm.model_copy(update={"links": type(arm.links)(links)})


def _stiff(link: Link) -> Counts:
    """Return 1 for each direction in which the link's section has a stiffness, else 0."""
    assert link.section is not None
    span = Span.of(link.section, link.span)
    return Counts(*(int(span.has(MOTIONS[direction].stiffness)) for direction in DIRECTIONS))


def _keys(number: Counts) -> dict[str, int]:
    """Return shape-function counts keyed by their names in the model file."""
    return {MOTIONS[direction].key: number.of(direction) for direction in DIRECTIONS}


def _less(number: Counts) -> Counts:
    """Return how many fixed-interface modes leave ``number`` Craig-Bampton shapes in total.

    The static shapes of the tip, two per bending direction and one for twist and stretch, make up
    the difference; at least one fixed-interface mode is left.
    """
    beams = [max(n - 2, 1) if n else 0 for n in (number.y, number.z)]
    rods = [max(n - 1, 1) if n else 0 for n in (number.twist, number.x)]
    return Counts(*beams, *rods)


def _names_amplitudes(link: Link) -> bool:
    terms = (link.start, link.start_speed, link.elastic_energy, link.elastic_force)
    return any(terms) or bool(link.quadratic_shapes) or isinstance(link.shapes, Tabulated)


def _title(arm: Arm, index: int) -> str:
    choice = arm.links[index].shapes
    if not isinstance(choice, Counted):
        return choice.kind
    number = counts(arm, index, choice)
    parts = [f"{n} {name.replace('_', ' ')}" for name, n in _keys(number).items() if n]
    root = f", root {choice.root}" if isinstance(choice, Loaded) and choice.root != "auto" else ""
    static = " and static shapes" if choice.static else ""
    return f"{choice.kind}{root}, {', '.join(parts)}{static}"
