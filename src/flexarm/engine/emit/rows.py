"""What pieces that share a function differ in: a row of offsets and constants for each."""

from dataclasses import dataclass
from itertools import chain

from flexarm.engine.emit.plan import CodeLayout
from flexarm.engine.stream import Stream

Place = tuple[str, int]  # an array, and an element of it


def rows(
    stream: Stream, planned: CodeLayout, members: tuple[int, ...], *, every_constant: bool = False
) -> "AlikePieces":
    """Compare pieces that are alike.

    Parameters
    ----------
    stream, planned
        The operations and how they are split.
    members
        Numbers of pieces, from `planned.alike`.
    every_constant
        Give a column to constants that are the same in all pieces, too.

    Returns
    -------
    AlikePieces
        Elements that move by the same steps from piece to piece share a column, so that along a
        chain of links there is about one column for each link that a piece looks at.
    """
    if not members or (len(members) < 2 and not every_constant):  # one piece differs in nothing
        return AlikePieces([], {}, [[]], {}, [[]])
    used = [_used(stream, planned, planned.pieces[number]) for number in members]
    columns: dict[tuple[str, tuple[int, ...]], int] = {}
    moved: dict[Place, int] = {}
    for places in zip(*(places for places, _ in used), strict=True):
        array, element = places[0]
        steps = tuple(each - element for _, each in places)
        if any(steps):
            moved[array, element] = columns.setdefault((array, steps), len(columns))
    constants: dict[int, int] = {}
    varied: list[tuple[int, ...]] = []
    for values in zip(*(values for _, values in used), strict=True):
        if every_constant or len(set(values)) > 1:
            constants[values[0]] = len(varied)
            varied.append(values)
    steps_of = [steps for _, steps in columns]
    return AlikePieces(
        used[0][0],
        moved,
        [[steps[k] for steps in steps_of] for k in range(len(members))],
        constants,
        [[numbers[k] for numbers in varied] for k in range(len(members))],
    )


def _used(stream: Stream, planned: CodeLayout, values: range) -> tuple[list[Place], list[int]]:
    """List what a piece reads and writes, and its constants, in the order of the operations."""
    operations = stream.operations[values.start - stream.first_operation :][: len(values)]
    operands = chain.from_iterable(operation.operands for operation in operations)
    outside = dict.fromkeys(value for value in operands if value not in values)
    places: list[Place] = []
    constants = []
    for value in outside:
        if value < stream.first_load:
            constants.append(value)
        elif value < stream.first_operation:
            load = stream.loads[value - stream.first_load]
            places.append((f"x{load.port}", load.element))
        else:
            places.append(("w", planned.places[value]))
    for value in values:
        if value in planned.places:
            places.append(("w", planned.places[value]))
        places += [(f"y{store.port}", store.element) for store in planned.stores.get(value, ())]
    return places, constants


@dataclass(frozen=True)
class AlikePieces:
    """A row for each of several pieces that are alike."""

    places: list[Place]  # what the first piece reads and writes
    # Column of the offset to add, for elements of arrays by their places in the first piece.
    moved: dict[Place, int]
    offsets: list[list[int]]  # row by row, relative to the first piece
    # Column of a constant, by its number in the first piece; those missing are the same in all.
    constants: dict[int, int]
    numbers: list[list[int]]  # those constants, row by row
