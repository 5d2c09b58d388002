"""A study of a million designs on a GPU: ``python benchmarks/study_gpu.py`` on a machine with one.

Designs differ in their start: the motions of the two-link arm from a box of angles and rates; with
``--numbers`` in a length, a stiffness and a mass.
"""

import argparse
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

import flexarm
from flexarm.engine.gpu.cuda import gpu

STARTS = {
    "start.joint1": ["-120 deg", "-60 deg"],
    "start.joint2": ["-30 deg", "30 deg"],
    "start.joint1.rate": [-1, 1],
    "start.joint2.rate": [-1, 1],
}
NUMBERS = {
    "links.1.length": [0.8, 1.2],
    "links.2.section.EIz": [500, 2000],
    "links.1.section.mass_per_length": [3, 7],
}


def plan(count: int, parameters: dict[str, Any]) -> dict[str, Any]:
    """Describe the study."""
    return {
        "arm": "korayem-two-link",
        "parameters": parameters,
        "sampling": {"kind": "random", "count": count},
        "run": {"t_end": 2, "dt": 0.1, "method": "dop853"},
        "quantities": {
            "peak": "link2 tip deflection y: peak",
            "swing": "joint2: range",
            "energy": "elastic energy: max",
        },
        "device": "gpu",
    }


def measured(count: int, parameters: dict[str, Any]) -> str:
    """Compute a study, and give a row of the table."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        began = time.perf_counter()
        flexarm.study(plan(count, parameters), out=out)
        spent = time.perf_counter() - began
        failed = sum(flexarm.load_study(out).failures().values())
        size = sum(path.stat().st_size for path in out.iterdir())
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    return (
        f"| {count:,} | {spent:.1f} | {count / spent:.3g} | {failed} | {size / 1e6:.0f} | "
        f"{memory:.2f} |"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--counts", type=int, nargs="*", default=[1000, 100_000, 1_000_000])
    parser.add_argument("--numbers", action="store_true", help="vary numbers of the model file")
    options = parser.parse_args()
    print(f"{gpu().name}, korayem-two-link, 2 s by dop853, 21 samples, tolerance 1e-3\n")
    print("| designs | s | designs/s | without numbers | MB on disk | GB of memory |")
    print("|---|---|---|---|---|---|")
    for count in options.counts:
        print(measured(count, NUMBERS if options.numbers else STARTS), flush=True)


if __name__ == "__main__":
    main()
