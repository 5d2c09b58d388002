"""The same arm on other shapes: richer ones, other families, a reference."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
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
REFERENCE = 8  # modes per direction of the reference, static shapes beside them


@dataclass(frozen=True)
class NamedArm:
    """An arm on certain shapes, and what these are called."""

    name: str
    arm: Arm


def next_member(arm: Arm) -> Arm:
    """Give every direction that has shapes one more of its family."""
    return _counted(arm, lambda _, n: n + 1)


def grown(arm: Arm, more: int = 1) -> Arm:
    """Give every direction that has shapes more of its family, meshes twice the elements."""
    return _counted(arm, lambda choice, n: 2 * n if isinstance(choice, MESHES) else n + more)


def fewer(arm: Arm) -> Arm | None:
    """Take the last shape of every bending direction away; None if one has no other."""
    planes = [n for number in numbers(arm).values() for n in (number.y, number.z) if n]
    return _counted(arm, lambda _, n: max(n - 1, 1)) if min(planes, default=0) > 1 else None


def enriched(arm: Arm) -> Arm:
    """Add the next member of the family and the static shapes; meshes get twice the elements.

    The shapes that were there stay as they are, so that initial amplitudes keep their meaning.
    Where static shapes cannot be had, as with shapes that follow a length, it is two more members,
    or one.
    """

    def more(choice: Counted, n: int) -> int:
        if isinstance(choice, MESHES):
            return 2 * n
        return n + (2 if isinstance(choice, HAVE_STATIC) else 1)

    two, one = _counted(arm, lambda _, n: n + 2), next_member(arm)
    return _buildable(_counted(arm, more, static=True), two, one)


def numbers(arm: Arm) -> dict[int, Counts]:
    """Count the shapes of every link that can have more, by the link's index."""
    return {
        i: counts(arm, i, link.shapes)
        for i, link in enumerate(arm.links)
        if can_enrich(link) and isinstance(link.shapes, Counted)
    }


def recounted(arm: Arm, given: Mapping[int, Counts]) -> Arm:
    """Give links, by their index, other numbers of shapes."""
    return _changed(arm, lambda choice, n: choice.model_copy(update=_keys(n)), given)


def stretched(arm: Arm) -> Arm | None:
    """Give every link whose section has EA one more shape of stretch; None if there is none."""
    able = {i: n for i, n in numbers(arm).items() if _stiff(arm.links[i]).x}
    return recounted(arm, {i: n._replace(x=n.x + 1) for i, n in able.items()}) if able else None


def widened(arm: Arm, still: Collection[tuple[int, Direction]] = ()) -> Arm:
    """Give every direction that has a stiffness one shape at least, but those that stay still."""
    found = {}
    for i, number in numbers(arm).items():
        stiff = _stiff(arm.links[i])
        least = (0 if (i, d) in still else stiff.of(d) for d in DIRECTIONS)
        found[i] = Counts(*map(max, number, least))
    return recounted(arm, found)


def by_rule(arm: Arm) -> Arm:
    """Put an arm on as many loaded modes as the rule says, where it may be on other shapes."""
    if any(_names_amplitudes(link) for link in arm.links if link.beam):
        return arm

    def loaded(choice: Counted, _: Counts) -> Counted:
        return Loaded(root=choice.root if isinstance(choice, Loaded) else "auto")

    return _buildable(_changed(arm, loaded), arm)


def reference(arm: Arm) -> Arm:
    """Put an arm on many loaded modes, roots held, and static shapes.

    Loaded modes with a heavy body at the tip have the static shapes in them: these are left out
    where they cannot be told from the modes.
    """

    def many(_: Counted, number: Counts, *, static: bool) -> Counted:
        number = Counts(*(REFERENCE * (n > 0) for n in number))
        return Loaded(root="held", static=static, normalise="mass", **_keys(number))

    return _buildable(*(_changed(arm, partial(many, static=static)) for static in (True, False)))


def families(arm: Arm) -> list[NamedArm]:
    """List the arm on other families with as many shapes; none where amplitudes have names."""
    flexible = [link for link in arm.links if link.beam]
    if any(_names_amplitudes(link) for link in flexible):
        return []
    makers: dict[str, Callable[[Counted, Counts], Counted]] = {
        "loaded, root held": lambda _, n: Loaded(root="held", **_keys(n)),
        "loaded, root free": lambda _, n: Loaded(root="free", **_keys(n)),
        "loaded, root geared": lambda _, n: Loaded(root="geared", **_keys(n)),
        "clamped-free": lambda _, n: ClampedFree(kind="clamped-free", **_keys(n)),
        "craig-bampton": lambda _, n: CraigBampton(kind="craig-bampton", **_keys(_less(n))),
    }
    return [NamedArm(name, _changed(arm, make)) for name, make in makers.items()]


def title(arm: Arm) -> str:
    """Say what shapes an arm has: ``loaded, 4 along y``."""
    words = dict.fromkeys(_title(arm, i) for i, link in enumerate(arm.links) if link.beam)
    return "; ".join(words)


def can_enrich(link: Link) -> bool:
    """Tell whether a link's shapes can be added to."""
    return link.beam and isinstance(link.shapes, Counted)


def of_family(link: Link) -> bool:
    """Tell whether a link's shapes are modes, of which there is a next one."""
    return can_enrich(link) and not isinstance(link.shapes, MESHES)


def _buildable(*arms: Arm) -> Arm:
    """Take the first of some arms that can be built; the last one whether it can or not."""
    for arm in arms[:-1]:
        try:
            build(arm, stiffening=False)
        except ModelError:
            continue
        return arm
    return arms[-1]


def _counted(arm: Arm, change: Callable[[Counted, int], int], *, static: bool = False) -> Arm:
    """Change the number of shapes of every direction that has some; add static ones if asked."""

    def made(choice: Counted, number: Counts) -> Counted:
        values = _keys(Counts(*(change(choice, n) if n else 0 for n in number)))
        more = {"static": True} if static and not isinstance(choice, HAVE_STATIC) else {}
        return choice.model_copy(update=values | more)

    return _changed(arm, made)


def _changed(
    arm: Arm, make: Callable[[Counted, Counts], Counted], given: Mapping[int, Counts] | None = None
) -> Arm:
    """Make other shapes of those of links and their numbers, or of numbers given by link."""
    links = list(arm.links)
    for i, number in (numbers(arm) if given is None else given).items():
        choice = links[i].shapes
        assert isinstance(choice, Counted)
        links[i] = links[i].model_copy(update={"shapes": make(choice, number)})
    return arm.model_copy(update={"links": type(arm.links)(links)})


def _stiff(link: Link) -> Counts:
    """Tell by 1 and 0 which directions the section of a link gives a stiffness to."""
    assert link.section is not None
    span = Span.of(link.section, link.span)
    return Counts(*(int(span.has(MOTIONS[direction].stiffness)) for direction in DIRECTIONS))


def _keys(number: Counts) -> dict[str, int]:
    """Give numbers of shapes by the keys of a model file."""
    return {MOTIONS[direction].key: number.of(direction) for direction in DIRECTIONS}


def _less(number: Counts) -> Counts:
    """Count fixed-interface modes, so that with the tip's shapes there are as many as before."""
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
