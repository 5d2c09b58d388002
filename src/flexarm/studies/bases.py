"""An arm with other shape functions: more of them, other families, a reference."""

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
from flexarm.links.base import DIRECTIONS, Counts, Direction
from flexarm.links.basis import MOTIONS
from flexarm.links.shape_counts import counts
from flexarm.links.span import Span
from flexarm.model import build

MESHES = (Elements, Lumped)
HAVE_STATIC = (*MESHES, CraigBampton, Polynomials)
# Modes per direction of the reference, with static shapes beside them: the few slow modes that are
# compared (`converge.PER_PLANE`) are exact to far less than any error of interest.
REFERENCE = 8


def next_member(arm: Arm) -> Arm:
    """Return the arm with one more shape in every direction that has any."""
    return _counted(arm, lambda _, n: n + 1)


def grown(arm: Arm, more: int = 1) -> Arm:
    """Return the arm with more shapes in every direction that has any; meshes get twice as fine."""
    return _counted(arm, lambda choice, n: 2 * n if isinstance(choice, MESHES) else n + more)


def fewer(arm: Arm) -> Arm | None:
    """Return the arm without each bending direction's last shape; None if one is the only one."""
    planes = [n for number in numbers(arm).values() for n in (number.y, number.z) if n]
    return _counted(arm, lambda _, n: max(n - 1, 1)) if min(planes, default=0) > 1 else None


def enriched(arm: Arm) -> Arm:
    """Return the arm with the next shape of the family and the static shapes; finer meshes.

    The existing shapes stay, so that initial amplitudes keep their meaning. Families without static
    shapes, such as those of sliding links, get two further shapes instead, or one.
    """

    def more(choice: Counted, n: int) -> int:
        if isinstance(choice, MESHES):
            return 2 * n
        return n + (2 if isinstance(choice, HAVE_STATIC) else 1)

    two, one = _counted(arm, lambda _, n: n + 2), next_member(arm)
    return _buildable(_counted(arm, more, static=True), two, one)


def numbers(arm: Arm) -> dict[int, Counts]:
    """Return the numbers of shapes of the links whose shapes are counted, by index of the link."""
    return {
        i: counts(arm, i, link.shapes)
        for i, link in enumerate(arm.links)
        if can_enrich(link) and isinstance(link.shapes, Counted)
    }


def recounted(arm: Arm, shape_counts: Mapping[int, Counts]) -> Arm:
    """Return the arm with other numbers of shapes, given by index of the link."""
    return _changed(arm, lambda choice, n: choice.model_copy(update=_keys(n)), shape_counts)


def stretched(arm: Arm) -> Arm | None:
    """Return the arm with one more stretch shape in each link that states EA; None if none does."""
    able = {i: n for i, n in numbers(arm).items() if _stiff(arm.links[i]).x}
    return recounted(arm, {i: n._replace(x=n.x + 1) for i, n in able.items()}) if able else None


def widened(arm: Arm, still: Collection[tuple[int, Direction]] = ()) -> Arm:
    """Return the arm with a shape or more in each elastic direction, except ``still`` ones."""
    shape_counts = {}
    for i, number in numbers(arm).items():
        stiff = _stiff(arm.links[i])
        least = (0 if (i, d) in still else stiff.of(d) for d in DIRECTIONS)
        shape_counts[i] = Counts(*map(max, number, least))
    return recounted(arm, shape_counts)


def by_rule(arm: Arm) -> Arm:
    """Return the arm with as many loaded modes as the rule for shapes chooses.

    An arm whose file names amplitudes of its shapes is returned unchanged.
    """
    if any(_names_amplitudes(link) for link in arm.links if link.beam):
        return arm

    def loaded(choice: Counted, _: Counts) -> Counted:
        return Loaded(root=choice.root if isinstance(choice, Loaded) else "auto")

    return _buildable(_changed(arm, loaded), arm)


def reference(arm: Arm) -> Arm:
    """Return the arm with eight loaded modes per direction, roots held, and static shapes.

    Loaded modes of a link with a heavy tip body contain the static shapes; these are then left out.
    """

    def many(_: Counted, number: Counts, *, static: bool) -> Counted:
        number = Counts(*(REFERENCE * (n > 0) for n in number))
        return Loaded(root="held", static=static, normalise="mass", **_keys(number))

    return _buildable(*(_changed(arm, partial(many, static=static)) for static in (True, False)))


def families(arm: Arm) -> dict[str, Arm]:
    """Return the arm with other families of as many shapes, by name of the family.

    Empty if the arm names amplitudes of its shapes, which other families do not have.
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
    """Return a description of an arm's shapes, such as ``loaded, 4 bending y``."""
    titles = dict.fromkeys(_title(arm, i) for i, link in enumerate(arm.links) if link.beam)
    return "; ".join(titles)


def can_enrich(link: Link) -> bool:
    """Return whether a link can have more shapes of its family."""
    return link.beam and isinstance(link.shapes, Counted)


def of_family(link: Link) -> bool:
    """Return whether a link's family is a sequence with a next shape: all families but meshes."""
    return can_enrich(link) and not isinstance(link.shapes, MESHES)


def _buildable(*arms: Arm) -> Arm:
    """Return the first arm that can be built, else the last one."""
    for arm in arms[:-1]:
        try:
            build(arm, stiffening=False)
        except ModelError:
            continue
        return arm
    return arms[-1]


def _counted(arm: Arm, change: Callable[[Counted, int], int], *, static: bool = False) -> Arm:
    """Change the number of shapes in every direction that has any; add static ones if asked."""

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
    """Replace the shapes of links, computed from those they have and numbers of shapes by link."""
    links = list(arm.links)
    for i, number in (numbers(arm) if shape_counts is None else shape_counts).items():
        choice = links[i].shapes
        assert isinstance(choice, Counted)
        links[i] = links[i].model_copy(update={"shapes": make(choice, number)})
    return arm.model_copy(update={"links": type(arm.links)(links)})


def _stiff(link: Link) -> Counts:
    """Return 1 for each direction in which a link's section has a stiffness, else 0."""
    assert link.section is not None
    span = Span.of(link.section, link.span)
    return Counts(*(int(span.has(MOTIONS[direction].stiffness)) for direction in DIRECTIONS))


def _keys(number: Counts) -> dict[str, int]:
    """Return numbers of shapes by key of the model file."""
    return {MOTIONS[direction].key: number.of(direction) for direction in DIRECTIONS}


def _less(number: Counts) -> Counts:
    """Return numbers of fixed-interface modes that, with the tip's shapes, are ``number``."""
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
