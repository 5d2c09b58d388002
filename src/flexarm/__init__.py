"""Dynamics of robots whose links bend, twist and stretch.

The public names below are imported when first used, so that `import flexarm` is quick.
"""

import gc
import sys
import warnings
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flexarm.arm import Arm
    from flexarm.errors import FlexarmError, ModelError, ShapeError, SimulationError
    from flexarm.fitting.identify import identify
    from flexarm.formulations import formulation
    from flexarm.gradients.runs import differentiable
    from flexarm.integrate.batch.batch import batch
    from flexarm.integrate.batch.many import simulate_many
    from flexarm.integrate.batch.runs import Runs
    from flexarm.integrate.laws import Sampled
    from flexarm.integrate.mission.wrenches import StateWrench
    from flexarm.integrate.simulate import simulate
    from flexarm.io.model_file import change_arm, example_arm, load, save
    from flexarm.linear.equilibrium import equilibrium
    from flexarm.linear.modes import modes
    from flexarm.linear.state_space import linearise
    from flexarm.linear.tracks import sweep
    from flexarm.links.imported.craig_bampton import reduce
    from flexarm.model import build
    from flexarm.model.curve import fit_curve
    from flexarm.model.rigid import rigid
    from flexarm.planning.mpc import mpc
    from flexarm.planning.plan import plan
    from flexarm.planning.shape_inputs import shape_inputs
    from flexarm.runs.read import load_run
    from flexarm.samples import example_arm_names
    from flexarm.studies.compare import compare
    from flexarm.studies.converge import converge
    from flexarm.studies.design.study import load_study, study
    from flexarm.studies.optimise import optimise
    from flexarm.viewer.live.page import live

    __version__: str

__all__ = [
    "Arm",
    "FlexarmError",
    "ModelError",
    "Runs",
    "Sampled",
    "ShapeError",
    "SimulationError",
    "StateWrench",
    "batch",
    "build",
    "change_arm",
    "compare",
    "converge",
    "differentiable",
    "equilibrium",
    "example_arm",
    "example_arm_names",
    "fit_curve",
    "formulation",
    "identify",
    "linearise",
    "live",
    "load",
    "load_run",
    "load_study",
    "modes",
    "mpc",
    "optimise",
    "plan",
    "reduce",
    "rigid",
    "save",
    "shape_inputs",
    "simulate",
    "simulate_many",
    "study",
    "sweep",
]

_HOMES = {
    "Arm": "flexarm.arm",
    "FlexarmError": "flexarm.errors",
    "ModelError": "flexarm.errors",
    "Runs": "flexarm.integrate.batch.runs",
    "Sampled": "flexarm.integrate.laws",
    "StateWrench": "flexarm.integrate.mission.wrenches",
    "ShapeError": "flexarm.errors",
    "SimulationError": "flexarm.errors",
    "batch": "flexarm.integrate.batch.batch",
    "build": "flexarm.model",
    "change_arm": "flexarm.io.model_file",
    "compare": "flexarm.studies.compare",
    "converge": "flexarm.studies.converge",
    "differentiable": "flexarm.gradients.runs",
    "equilibrium": "flexarm.linear.equilibrium",
    "example_arm": "flexarm.io.model_file",
    "example_arm_names": "flexarm.samples",
    "fit_curve": "flexarm.model.curve",
    "formulation": "flexarm.formulations",
    "identify": "flexarm.fitting.identify",
    "linearise": "flexarm.linear.state_space",
    "live": "flexarm.viewer.live.page",
    "load": "flexarm.io.model_file",
    "load_run": "flexarm.runs.read",
    "load_study": "flexarm.studies.design.study",
    "modes": "flexarm.linear.modes",
    "mpc": "flexarm.planning.mpc",
    "optimise": "flexarm.studies.optimise",
    "plan": "flexarm.planning.plan",
    "reduce": "flexarm.links.imported.craig_bampton",
    "rigid": "flexarm.model.rigid",
    "save": "flexarm.io.model_file",
    "shape_inputs": "flexarm.planning.shape_inputs",
    "simulate": "flexarm.integrate.simulate",
    "simulate_many": "flexarm.integrate.batch.many",
    "study": "flexarm.studies.design.study",
    "sweep": "flexarm.linear.tracks",
}
# Old names and the present ones.
_RENAMED = {"sample": "example_arm", "sample_names": "example_arm_names"}

if not TYPE_CHECKING:  # a type checker that saw `__getattr__` would accept any name

    def __getattr__(name: str) -> object:
        if name == "__version__":
            return import_module("importlib.metadata").version("flexarm")
        if name in _RENAMED:
            message = f"flexarm.{name} is flexarm.{_RENAMED[name]} now"
            warnings.warn(message, DeprecationWarning, stacklevel=2)
            name = _RENAMED[name]
        if name not in _HOMES:
            raise AttributeError(f"module 'flexarm' has no attribute '{name}'")
        home = _HOMES[name]
        if home in sys.modules or not gc.isenabled() or gc.get_freeze_count():
            return getattr(import_module(home), name)
        gc.disable()  # collecting garbage among the parts of modules takes a tenth of the import
        try:
            return getattr(import_module(home), name)
        finally:
            gc.freeze()
            gc.unfreeze()  # the modules are now in the garbage collector's oldest generation
            gc.enable()


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})
