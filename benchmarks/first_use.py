"""How long is it until an arm can be used?

Builds a chain of flexible links in this process and evaluates its forward dynamics once; prints
one JSON document with the CPU time of each step [s]. Run it twice with `FLEXARM_CACHE` set to an
empty folder: the second time everything compiled comes from there.
"""

import argparse
import json
import time


def main() -> None:
    """Print what each step from the start of the interpreter to the first result costs."""
    parser = argparse.ArgumentParser(description="How long is it until an arm can be used?")
    parser.add_argument("--links", type=int, default=6, help="number of links (default 6)")
    parser.add_argument("--stiffening", action="store_true", help="with exact links")
    args = parser.parse_args()

    marks = [time.process_time()]
    from chains import flexible_chain, state
    from flexarm.formulations import formulation
    from flexarm.model import build

    marks.append(time.process_time())
    model = build(flexible_chain(args.links), stiffening=args.stiffening)
    given = state(model)
    marks.append(time.process_time())
    eq = formulation("articulated", model)
    eq.forward_dynamics(*given)
    marks.append(time.process_time())
    eq.compiled("forward_dynamics", level="fast")
    marks.append(time.process_time())
    steps = ("imports", "model", "first_result", "fast_code")
    spent = {name: marks[k + 1] - marks[k] for k, name in enumerate(steps)}
    print(json.dumps({"links": args.links, "stiffening": args.stiffening} | spent))


if __name__ == "__main__":
    main()
