"""How right are the first two elastic frequencies of every sample with few shapes of each family?

Each direction that has shapes in a sample's file gets n of them, 1 to 4, of every family that the
sample accepts; joints are as `modes` sees them at the start: prescribed ones held, all others free
to move.  Links are straight and gravity's stiffness is left out.  The reference has 12 polynomials
per direction.  One arm at a time, no chance in it; `--quick` takes two samples.
"""

import argparse
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import scipy.linalg

import flexarm
from flexarm.arm import Arm, Link
from flexarm.arm import shapes as choices
from flexarm.errors import FlexarmError
from flexarm.io.model_file import load
from flexarm.linear.tangent import moves
from flexarm.linear_model import LinearModel
from flexarm.links.base import DIRECTIONS
from flexarm.model import Model, start_state, undeformed
from flexarm.model.small_motions import mass_matrix, stiffness_matrix
from flexarm.samples import COUNTED, example_arm_names, sample_path
from report import table, write

Array = npt.NDArray[np.float64]
Counts = dict[str, int]
Make = Callable[[Counts], choices.ShapeChoice]
DEFAULT = "arm-modes"
KEYS = {"y": "bending_y", "z": "bending_z", "twist": "torsion", "x": "stretch"}
SHAPES = (1, 2, 3, 4)
FREQUENCIES = 2
BAR, SMALL = 1.2, 0.1  # times the best family's error, or this error [%]
QUICK = ("korayem-two-link", "crossed-joints")
MANY_LINKS = 10
SHOWN = 3  # most shapes per direction in the tables: with 4 all errors are small
NOTHING = 1e-4  # [%], below which errors are not told apart


@dataclass(frozen=True)
class Row:
    """Errors of the first two elastic frequencies of a sample [%], by family.

    Attributes
    ----------
    sample, shapes, joints
        Which arm, how many shapes per direction, and its joints: ``as they are`` or ``held``.
    errors
        By family.
    """

    sample: str
    shapes: int
    joints: str
    errors: dict[str, list[float]]

    @property
    def default(self) -> float:
        """The larger error with the default shapes."""
        return max(self.errors[DEFAULT])

    @property
    def best(self) -> tuple[float, str]:
        """The least larger error of the other families with all the frequencies, and whose.

        Of those with next to none the first by name: rounding tells them apart.
        """
        others = {name: each for name, each in self.errors.items() if name != DEFAULT}
        most = max(map(len, others.values()))
        whole = {name: max(each) for name, each in others.items() if len(each) == most}
        name = min(whole, key=lambda name: (max(whole[name], NOTHING), name))
        return whole[name], name

    @property
    def reached(self) -> bool:
        """Whether the default is as good as the best of them, or good enough."""
        return self.default <= max(BAR * self.best[0], SMALL)

    @property
    def apart(self) -> list[int]:
        """Frequencies that some other family, good or bad at the rest, has better than the bar."""
        others = [each for name, each in self.errors.items() if name != DEFAULT]
        least = [min(each[k] for each in others if len(each) > k)
                 for k in range(len(self.errors[DEFAULT]))]  # fmt: skip
        pairs = enumerate(zip(self.errors[DEFAULT], least, strict=True), 1)
        return [k for k, (mine, best) in pairs if mine > max(BAR * best, SMALL)]


def main() -> None:
    """Compute, print, and write where that was asked for."""
    parser = argparse.ArgumentParser(description="Compare the families of shape functions.")
    parser.add_argument("--quick", action="store_true", help="two samples")
    parser.add_argument("--sample", action="append", metavar="NAME", help="only these")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the numbers as JSON")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the page")
    args = parser.parse_args()
    names = args.sample or (QUICK if args.quick else sorted(flexible_samples()))
    rows = [row for name in names for row in measure(name)]
    text = page(rows)
    print(text)
    if args.out:
        write(args.out, json.dumps([asdict(row) for row in rows], indent=1) + "\n")
    if args.markdown:
        write(args.markdown, text)


def flexible_samples() -> Iterator[str]:
    """List the samples with flexible links, each arm once whatever its shapes and inputs."""
    known = set()
    for name in example_arm_names():
        arm = load(sample_path(name))
        links = [link.model_copy(update={"shapes": choices.ArmModes()}) for link in arm.links]
        same = arm.model_copy(update={"links": tuple(links), "name": "", "notes": ""})
        if any(link.flexible for link in arm.links) and same.model_dump_json() not in known:
            known.add(same.model_dump_json())
            yield name


def measure(name: str) -> Iterator[Row]:
    """Measure a sample with joints as they are and, where some are driven, with those held."""
    arm = load(sample_path(name))
    counted = directions(arm)
    many = 8 if len(arm.links) > MANY_LINKS else 12
    reference = on(arm, counted, lambda n: choices.Polynomials(kind="polynomials", **n), many)
    driven = {axis.name for axis in reference.axes if axis.driven}
    conditions = {"as they are": set[str]()} | ({"held": driven} if driven else {})
    exact = {joints: frequencies(reference, held) for joints, held in conditions.items()}
    for shapes in SHAPES:
        models = dict(_models(arm, counted, shapes))
        for joints, held in conditions.items():
            errors = {family: error(model, held, exact[joints]) for family, model in models.items()}
            yield Row(name, shapes, joints, errors)


def _models(arm: Arm, counted: list[set[str]], shapes: int) -> Iterator[tuple[str, Model]]:
    for family, make in families(shapes).items():
        try:
            yield family, on(arm, counted, make, shapes)
        except FlexarmError:  # the arm does not accept the family
            continue


def families(shapes: int) -> dict[str, Make]:
    """List the families that can have so many shapes per direction."""
    found: dict[str, Make] = {
        DEFAULT: lambda n: choices.ArmModes(**n),
        "loaded": lambda n: choices.Loaded(**n),
        "loaded, root free": lambda n: choices.Loaded(root="free", **n),
        "loaded, root geared": lambda n: choices.Loaded(root="geared", **n),
        "loaded, root held": lambda n: choices.Loaded(root="held", **n),
        "clamped-free": lambda n: choices.ClampedFree(kind="clamped-free", **n),
        "clamped-mass": lambda n: choices.ClampedMass(kind="clamped-mass", **n),
        "pinned-free": lambda n: choices.PinnedFree(kind="pinned-free", **n),
        "free-free": lambda n: choices.FreeFree(kind="free-free", **n),
        "polynomials": lambda n: choices.Polynomials(kind="polynomials", **n),
        "lumped": lambda n: choices.Lumped(kind="lumped", **n),
    }
    if shapes > 2:  # beside one static shape of a rod, and two of a beam
        found["craig-bampton"] = lambda n: choices.CraigBampton(
            kind="craig-bampton", **_fewer(n, lambda k, rod: k - 1 if rod else k - 2)
        )
    if shapes % 2 == 0:  # an element of a beam has two, one of a rod one
        found["elements"] = lambda n: choices.Elements(
            kind="elements", **_fewer(n, lambda k, rod: k if rod else k // 2)
        )
    return found


def _fewer(counts: Counts, less: Callable[[int, bool], int]) -> Counts:
    return {key: less(n, key in ("torsion", "stretch")) if n else 0 for key, n in counts.items()}


def directions(arm: Arm) -> list[set[str]]:
    """List the directions in which each link of an arm has shapes."""
    found: list[set[str]] = []
    for part in flexarm.build(arm, stiffening=False).links:
        shapes = None if not part.body.one_length else part.beam.shapes
        if part.body.range is not None:
            shapes = part.sliding_beam.shapes.at(part.sliding_beam.shapes.range[1])
        found.append({d for d in DIRECTIONS if shapes is not None and shapes.moving(d)})
    return found


def on(arm: Arm, counted: list[set[str]], make: Make, shapes: int) -> Model:
    """Build an arm with so many shapes of a family in each of its directions."""
    links = [
        _with_shapes(link, make({key: shapes * (d in each) for d, key in KEYS.items()}))
        if each
        else link
        for link, each in zip(arm.links, counted, strict=True)
    ]
    return flexarm.build(arm.model_copy(update={"links": tuple(links)}), stiffening=False)


def _with_shapes(link: Link, choice: choices.ShapeChoice) -> Link:
    """Give a link other shapes, and take away what names its amplitudes."""
    update: dict[str, object] = {"shapes": choice, "start": {}, "start_speed": {}, "damping": 0.0,
              "elastic_energy": (), "elastic_force": (), "quadratic_shapes": ()}  # fmt: skip
    return link.model_copy(update=update)


def frequencies(model: Model, held: set[str]) -> Array:
    """Find the first elastic frequencies at the start, some joints held [rad/s]."""
    q = undeformed(model, start_state(model)[0])
    mass, stiffness = mass_matrix(model, q), stiffness_matrix(model, q)
    linear = LinearModel(mass, stiffness, 0 * mass, model.names).along(*moves(model, held))
    return linear.elastic_modes().frequencies[:FREQUENCIES]


def error(model: Model, held: set[str], exact: Array) -> list[float]:
    """Compare frequencies with the reference's [%]."""
    try:
        found = frequencies(model, held)
    except scipy.linalg.LinAlgError:  # shapes that move nothing
        return [float("inf")]
    return [float(100 * abs(f / e - 1)) for f, e in zip(found, exact, strict=False)]


def page(rows: list[Row]) -> str:
    """Write what was found."""
    parts = ["# Default shapes against every family", INTRODUCTION]
    own = [row for row in rows if row.joints == "as they are"]
    lost = [row for row in own if not row.reached]
    kept = f"The default reaches this aim in {len(own) - len(lost)} of {len(own)} cases."
    names = [f"{row.sample} with {row.shapes} ({row.default / row.best[0]:.2f} times)"
             for row in lost]  # fmt: skip
    parts.append(kept + (f"  Beyond it: {', '.join(names)}." if lost else ""))
    traded = [row for row in own if row.apart]
    if traded:
        parts.append(
            f"In {len(traded)} cases another family is so much better for one of the two "
            "frequencies that the default misses this aim there, and worse for the other frequency."
        )
        parts += [TRADED, _traded(traded)]
    parts += [LEFT_OUT, "## Joints as they are", _table(own)]
    held = [row for row in rows if row.joints == "held"]
    parts += ["## Driven joints held", HELD, _table(held)]
    return "\n\n".join(parts) + "\n"


def _table(rows: list[Row]) -> str:
    samples = dict.fromkeys(row.sample for row in rows if not row.sample.startswith(COUNTED))
    lines = []
    for sample in samples:
        mine = sorted((row for row in rows if row.sample == sample), key=lambda row: row.shapes)
        lines.append([sample, *(_cell(row) for row in mine if row.shapes <= SHOWN)])
    return table(["sample", *(f"{n} per direction" for n in range(1, SHOWN + 1))], lines)


def _traded(rows: list[Row]) -> str:
    """Table the errors of the families that are best for one of the two frequencies."""
    lines = []
    for row in rows:
        others = {k: e for k, e in row.errors.items() if k != DEFAULT and len(e) == FREQUENCIES}
        best = [min(others, key=lambda name: others[name][k]) for k in range(FREQUENCIES)]
        both = [name for name, each in others.items()
                if all(x <= y for x, y in zip(each, row.errors[DEFAULT], strict=True))]  # fmt: skip
        pairs = [f"{_pair(others[name])} {name}" for name in best]
        lines.append([row.sample, _pair(row.errors[DEFAULT]), *pairs, ", ".join(both) or "none"])
    return table(["sample", "default", "best first", "best second", "no worse in both"], lines)


def _pair(errors: list[float]) -> str:
    return ", ".join(map(_percent, errors))


def _cell(row: Row) -> str:
    loaded = max(row.errors["loaded"])
    best, name = row.best
    return f"{_percent(row.default)} / {_percent(loaded)} / {_percent(best)} {name}"


def _percent(value: float) -> str:
    return f"{value:.2g}" if value >= NOTHING else f"<{NOTHING:g}"


INTRODUCTION = """\
Made by `python benchmarks/shape_families.py --markdown docs/default-shapes.md`; do not edit.

The tables have the larger error [%] of the first two elastic frequencies, for one to four shapes in
each direction that has shapes in the sample's file. Each cell has the errors with the default,
[`arm-modes`](shapes.md#the-default-modes-of-the-arm), with `loaded` by its default rule, and with
the best of all other families, with its name. The reference has 12 polynomials per direction. Links
are straight, and gravity's stiffness is left out.

The aim is an error of at most 1.2 times that of the best family, or 0.1 %."""
TRADED = """\
One shape per link and direction cannot represent both frequencies well. The table has the errors
[%] of the first and of the second frequency, with the default shapes, with the family that is best
for the first frequency, and with the family that is best for the second."""
LEFT_OUT = """\
The tables below leave out four shapes, and arms for counting operations (`count-`, `tg-`); the
option `--out` writes all cases."""
HELD = """\
The shapes are those of *joints as they are*, but the driven joints are locked, as by a position
controller. One or two shapes of `arm-modes` come from modes with driven joints free; three or more
also from modes with driven joints locked."""


if __name__ == "__main__":
    main()
