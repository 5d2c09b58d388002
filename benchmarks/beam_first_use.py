"""What does the first run of a motion cost besides its steps?

Computes the two-link fall in a fresh process with one code; prints one JSON document with the CPU
time [s] of imports and of all that comes before the steps. Run it twice with `FLEXARM_CACHE` set to
an empty folder: the second time flexarm finds there what it compiled.
"""

import argparse
import contextlib
import json
import sys
import time
from importlib import import_module


def main() -> None:
    """Print what comes before the steps."""
    parser = argparse.ArgumentParser(description="What comes before the steps?")
    parser.add_argument("code", choices=("flexarm", "exudyn"))
    code = parser.parse_args().code
    imports, preparing = _flexarm() if code == "flexarm" else _exudyn()
    print(json.dumps({"imports": imports, "preparing": preparing}))


def _flexarm() -> tuple[float, float]:
    begun = time.process_time()
    import beam_problems as own

    imported = time.process_time()
    choice = own.Choice("loaded", 3, 1e-3)
    own.simulate(own.PROBLEMS[0], choice, repeats=1)
    again = time.process_time()
    own.simulate(own.PROBLEMS[0], choice, repeats=1)
    # Two runs each: what the later pair does not spend was spent on making ready.
    return imported - begun, (again - imported) - (time.process_time() - again)


def _exudyn() -> tuple[float, float]:
    begun = time.process_time()
    sys.exudynFast = True  # type: ignore[attr-defined]  # asks for the build without range checks
    with contextlib.redirect_stdout(sys.stderr):
        import_module("exudyn")
    imports = time.process_time() - begun
    import beam_exudyn as peer
    from beam_problems import PROBLEMS

    begun = time.process_time()
    _, solving = peer.simulate(PROBLEMS[0], peer.Setting(4, 1e-3, "generalized-alpha"))
    return imports, time.process_time() - begun - solving


if __name__ == "__main__":
    main()
