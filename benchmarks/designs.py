"""Cost of a further set of numbers of an arm: ``python benchmarks/designs.py``.

CPU time per set, from the values to machine code with its constants: validation, build, matching
and prologue, over 200 sets, the first of them included.
"""

import argparse
import time

import numpy as np

import flexarm
from flexarm.formulations.numbers import BoundKernel
from flexarm.integrate.task import equation_of
from flexarm.io.model_file import change_arm, read_value
from flexarm.model import Model, build

ARMS = {
    "korayem-two-link": ("links.1.length", "links.2.section.EIz"),
    "count-6-6-3": ("links.1.length", "links.2.section.EIz"),
    "chen-two-link": ("links.1.length", "links.1.section.EIz", "links.2.joint.drive.stiffness"),
}
Sets = list[dict[str, float]]


def drawn(name: str, keys: tuple[str, ...], count: int) -> Sets:
    """Draw values about an arm's own."""
    arm, rng = flexarm.example_arm(name), np.random.default_rng(0)
    own = {key: float(read_value(arm, key)) for key in keys}
    return [{key: v * rng.uniform(0.8, 1.25) for key, v in own.items()} for _ in range(count)]


def member(model: Model) -> BoundKernel:
    """Return forward dynamics of a model."""
    found = equation_of(model).compiled("forward_dynamics")
    assert isinstance(found, BoundKernel)
    return found


def measured(name: str, count: int) -> str:
    """Measure the sets of an arm."""
    arm, sets = flexarm.example_arm(name), drawn(name, ARMS[name], count + 2)
    for values in sets[:2]:
        member(build(change_arm(arm, values)))
    began = time.process_time()
    models = [build(change_arm(arm, values)) for values in sets[2:]]
    middle = time.process_time()
    structures = {member(model).structure for model in models}
    spent = time.process_time() - middle
    n, milli = models[0].size, 1e3 / count
    return (
        f"| {name} | {n} | {', '.join(ARMS[name])} | {(middle - began) * milli:.2f} | "
        f"{spent * milli:.2f} | {len(structures)} |"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=200)
    options = parser.parse_args()
    print("| arm | coordinates | what varies | build [ms] | matching, prologue [ms] | traces |")
    print("|---|---|---|---|---|---|")
    for name in ARMS:
        print(measured(name, options.sets), flush=True)


if __name__ == "__main__":
    main()
