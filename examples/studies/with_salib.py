"""Which length the swing of a two-link arm depends on: the rows of a study, given to SALib."""

from SALib.analyze import delta

import flexarm

bounds = {"links.1.length": [0.9, 1.1], "links.2.length": [0.9, 1.1]}
plan = {"arm": "korayem-two-link", "parameters": bounds, "sampling": {"count": 64}, "workers": 1,
        "run": {"t_end": 0.5}, "quantities": {"swing": "joint2: range"}}  # fmt: skip
rows = flexarm.study(plan, out="swings").to_pandas()
problem = {"num_vars": 2, "names": list(bounds), "bounds": list(bounds.values())}
found = delta.analyze(problem, rows[list(bounds)].to_numpy(), rows["swing"].to_numpy())
print(dict(zip(bounds, found["S1"], strict=True)))
