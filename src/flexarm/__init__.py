"""Dynamics of serial robot arms whose links bend, twist and stretch.

The public names below are imported when first used, so that `import flexarm` is quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flexarm.analysis.compare import compare
    from flexarm.analysis.converge import converge
    from flexarm.analysis.equilibrium import equilibrium
    from flexarm.analysis.linearise import linearise
    from flexarm.analysis.modes import modes
    from flexarm.analysis.sweep import sweep
    from flexarm.arm import Arm
    from flexarm.errors import FlexarmError, ModelError, ShapeError, SimulationError
    from flexarm.formulations import formulation
    from flexarm.integrate.laws import Sampled
    from flexarm.integrate.many import simulate_many
    from flexarm.integrate.run_file import load_run
    from flexarm.integrate.simulate import simulate
    from flexarm.io.model_file import load, save
    from flexarm.io.overrides import change_arm
    from flexarm.io.sample import sample
    from flexarm.model import build
    from flexarm.samples import sample_names

    __version__: str

__all__ = [
    "Arm",
    "FlexarmError",
    "ModelError",
    "Sampled",
    "ShapeError",
    "SimulationError",
    "build",
    "change_arm",
    "compare",
    "converge",
    "equilibrium",
    "formulation",
    "linearise",
    "load",
    "load_run",
    "modes",
    "sample",
    "sample_names",
    "save",
    "simulate",
    "simulate_many",
    "sweep",
]

_HOMES = {
    "Arm": "flexarm.arm",
    "FlexarmError": "flexarm.errors",
    "ModelError": "flexarm.errors",
    "Sampled": "flexarm.integrate.laws",
    "ShapeError": "flexarm.errors",
    "SimulationError": "flexarm.errors",
    "build": "flexarm.model",
    "change_arm": "flexarm.io.overrides",
    "compare": "flexarm.analysis.compare",
    "converge": "flexarm.analysis.converge",
    "equilibrium": "flexarm.analysis.equilibrium",
    "formulation": "flexarm.formulations",
    "linearise": "flexarm.analysis.linearise",
    "load": "flexarm.io.model_file",
    "load_run": "flexarm.integrate.run_file",
    "modes": "flexarm.analysis.modes",
    "sample": "flexarm.io.sample",
    "sample_names": "flexarm.samples",
    "save": "flexarm.io.model_file",
    "simulate": "flexarm.integrate.simulate",
    "simulate_many": "flexarm.integrate.many",
    "sweep": "flexarm.analysis.sweep",
}

if not TYPE_CHECKING:  # a checker that saw it would let any name pass

    def __getattr__(name: str) -> object:
        if name == "__version__":
            return import_module("importlib.metadata").version("flexarm")
        if name not in _HOMES:
            raise AttributeError(f"module 'flexarm' has no attribute '{name}'")
        return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})
