"""Modules and classes under the names that they once had: what users wrote keeps working."""

import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType

# Old name: the modules that have its names now.
MOVED = {
    "analysis": (),
    "analysis.check": ("check.check",),
    "analysis.compare": ("studies.compare",),
    "analysis.converge": ("studies.converge",),
    "analysis.equation_text": ("closed_forms.text",),
    "analysis.equations": ("closed_forms.equations",),
    "analysis.equilibrium": ("linear.equilibrium",),
    "analysis.linearise": ("linear.state_space",),
    "analysis.modes": ("linear.modes",),
    "analysis.operations": ("studies.compare",),
    "analysis.sweep": ("linear.sweep", "linear.tracks"),
    "cli.progress": ("cli.console",),
    "control.decoupling": ("control.laws.decoupling",),
    "control.pd": ("control.laws.pd",),
    "engine.emit_c": ("engine.emit.c",),
    "engine.kernels": ("loops.kernel", "loops.language"),
    "engine.varied": ("varied",),
    "formulations.gibbs_appell_steps": ("formulations.gibbs_appell.steps",),
    "formulations.loads": ("mechanics.loads",),
    "gradients.crossing": ("gradients.events.crossing",),
    "gradients.differentiable": ("gradients.runs",),
    "gradients.events.jumps": ("gradients.events.crossing",),
    "gradients.events.legs": ("gradients.events.crossing",),
    "gradients.legs": ("gradients.events.crossing",),
    "gradients.phases": ("gradients.events.phases",),
    "gradients.recorded": ("gradients.runs",),
    "gradients.samples": ("gradients.trajectory",),
    "integrate.batch.lanes": ("integrate.batch.many",),
    "integrate.batch.stepping": ("integrate.batch.engines",),
    "integrate.choice.drift": ("integrate.simulate",),
    "integrate.choice.equal_step": ("integrate.task",),
    "integrate.choose": ("integrate.choice.choose", "integrate.methods"),
    "integrate.explicit": ("integrate.methods.explicit",),
    "integrate.many": ("integrate.batch.many",),
    "integrate.method": ("integrate.methods.base",),
    "integrate.methods.exponential_march": ("integrate.methods.reactions",),
    "integrate.mission.acting": ("integrate.actuators",),
    "integrate.mission.digital": ("integrate.laws",),
    "integrate.mission.legs": ("integrate.mission.course",),
    "integrate.mission.locks": ("integrate.mission.situation",),
    "integrate.mission.obstacles": ("integrate.march",),
    "integrate.mission.passing": ("integrate.solve",),
    "integrate.mission.seen": ("integrate.loop",),
    "integrate.obstacles": ("integrate.march",),
    "integrate.plot": ("runs.plot", "figures"),
    "integrate.run": ("runs.run", "runs.data"),
    "integrate.run_file": ("runs.read", "runs.write"),
    "integrate.sampling": ("integrate.task", "integrate.simulate"),
    "kinematics": ("mechanics.kinematics",),
    "links.reduced": (),
    "links.reduced.file": ("links.imported.file",),
    "links.tabulated": ("links.families.tabulated",),
    "mechanics.inertia": ("mechanics.weightless",),
    "mechanics.validity": ("accuracy.validity", "mechanics.drives"),
    "model.flexible": (
        "model.elastic.part",
        "model.elastic.damping",
        "model.elastic.sliding",
        "model.elastic.remembered",
    ),
    "profiles": ("model.profiles",),
    "studies.advice": ("studies.converge",),
    "studies.angles": ("closed_forms.angles",),
    "studies.bent_sections": ("closed_forms.bent_sections",),
    "studies.closed_forms": (),
    "studies.closed_forms.angles": ("closed_forms.angles",),
    "studies.closed_forms.bent_sections": ("closed_forms.bent_sections",),
    "studies.closed_forms.equations": ("closed_forms.equations",),
    "studies.closed_forms.integrals": ("closed_forms.integrals",),
    "studies.closed_forms.polynomials": ("closed_forms.polynomials",),
    "studies.closed_forms.text": ("closed_forms.text",),
    "studies.convergence": ("studies.converge",),
    "studies.design.functions": ("studies.design.read",),
    "studies.design.reductions": ("studies.design.plan",),
    "studies.equation_text": ("closed_forms.text",),
    "studies.equations": ("closed_forms.equations",),
    "studies.integrals": ("closed_forms.integrals",),
    "studies.operations": ("studies.compare",),
    "studies.optimum.search": ("studies.optimum.optimise",),
    "studies.polynomials": ("closed_forms.polynomials",),
    "runs.export": ("runs.write",),
}


class MovedFinder:
    """Finds modules by their old names, and loads them."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find a module of flexarm that has moved."""
        old = fullname.removeprefix("flexarm.")
        if old == fullname or old not in MOVED:
            return None
        # no importlib.abc.Loader, which takes as long to import as flexarm
        return ModuleSpec(fullname, self, is_package=not MOVED[old])  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> None:
        """Let a module be made as usual."""

    def exec_module(self, module: ModuleType) -> None:
        """Let the module give the names of the new ones, with a word of where they are."""
        homes = [f"flexarm.{home}" for home in MOVED[module.__name__.removeprefix("flexarm.")]]
        if homes:
            told = f"{module.__name__} is {' and '.join(homes)} now"
            warnings.warn(told, DeprecationWarning, stacklevel=2)

        def find(name: str) -> object:
            for home in homes:
                if hasattr(found := import_module(home), name):
                    return getattr(found, name)
            raise AttributeError(f"module '{module.__name__}' has no attribute '{name}'")

        module.__dict__["__getattr__"] = find


def install() -> None:
    """Let the old names be imported."""
    if not any(isinstance(each, MovedFinder) for each in sys.meta_path):
        sys.meta_path.append(MovedFinder())


def old_names(module: str, names: Mapping[str, str]) -> Callable[[str], object]:
    """Return a module's ``__getattr__``, which finds classes by their old names, with a warning."""

    def find(name: str) -> object:
        if name not in names:
            raise AttributeError(f"module '{module}' has no attribute '{name}'")
        message = f"{module}.{name} is {module}.{names[name]} now"
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        return getattr(sys.modules[module], names[name])

    return find
