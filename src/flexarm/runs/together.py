"""Many runs of one arm as one dataset."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from flexarm.arguments import refused, require_kind
from flexarm.errors import FlexarmError
from flexarm.runs.contents import attributes, main_variables
from flexarm.runs.run import Run
from flexarm.runs.write import to_dataset

if TYPE_CHECKING:
    import xarray

# Attributes that may differ from run to run.
OF_A_RUN = ("status", "reason", "method", "rtol", "steps", "rejections", "evaluations",
            "cpu_seconds", "energy_balance", "momentum_balance")  # fmt: skip


def runs_dataset(
    runs: Sequence[Run], parameters: Sequence[Mapping[str, Any]] | None = None
) -> "xarray.Dataset":
    """Combine runs of one arm, such as those of `flexarm.simulate_many`, in one dataset.

    Parameters
    ----------
    runs
        At least one, all with the same coordinates.
    parameters
        Values by name that differ by run, one mapping per run; they become coordinates of the
        ``run`` axis.

    Returns
    -------
    xarray.Dataset
        States, inputs, tip, energies and works over ``run`` and ``time``, NaN after the end of a
        run that stopped early; status, reason, method and cost over ``run``.
    """
    import xarray

    if not isinstance(runs, Sequence) or not runs:
        raise refused("runs", runs, "a list of runs, such as simulate_many gives")
    for run in runs:
        require_kind("runs", run, Run, "a list of runs, such as simulate_many gives")
        if run.model.names != runs[0].model.names:
            raise FlexarmError("runs: must be of one arm: their coordinates differ")
    said = [attributes(run) for run in runs]
    common = {key: said[0][key] for key in said[0] if len({str(each[key]) for each in said}) == 1}
    dataset = xarray.concat(
        [to_dataset(main_variables(run), {}) for run in runs], dim="run", join="outer",
        data_vars="all", coords="minimal", compat="override",
    )  # fmt: skip
    dataset.attrs = {key: value for key, value in common.items() if key not in OF_A_RUN}
    for key in (each for each in OF_A_RUN if each in said[0]):
        dataset[key] = ("run", np.array([each[key] for each in said]))
    if parameters is not None:
        if not isinstance(parameters, Sequence) or len(parameters) != len(runs):
            raise refused("parameters", parameters, f"as many as runs, {len(runs)}: mappings")
        keys = dict.fromkeys(key for each in parameters for key in each)
        columns = {key: np.array([each.get(key, np.nan) for each in parameters]) for key in keys}
        dataset = dataset.assign_coords({key: ("run", values) for key, values in columns.items()})
    return dataset
