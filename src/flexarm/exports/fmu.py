"""Export of an arm as a functional mock-up unit, FMI 2.0 or 3.0, compiled if possible.

The functional mock-up unit supports model exchange and co-simulation.
"""

import hashlib
import importlib.util
import io
import platform
import shutil
import subprocess
import sys
import tempfile
import uuid
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from xml.etree import ElementTree as ET

from flexarm.arguments import is_word, refused
from flexarm.errors import FlexarmError
from flexarm.exports.c_source import c_files, template
from flexarm.exports.constants import EXPERIMENT_TOLERANCE
from flexarm.exports.plant import Plant
from flexarm.io.titles import plain_title
from flexarm.io.whole_file import require_writable, write_whole

OWN = ("cc", "gcc", "clang")
OPTIMISED = "-O2"
ENDINGS = {"linux": ".so", "windows": ".dll", "darwin": ".dylib"}


def find_compilers() -> list[list[str]]:
    """Return the commands of the C compilers of this machine, in the order to try them."""
    commands = [[path] for name in OWN if (path := shutil.which(name))]
    if importlib.util.find_spec("ziglang") is not None:
        commands.append([sys.executable, "-m", "ziglang", "cc"])
    return commands


def system() -> tuple[str, str]:
    """Return CPU and operating system in FMI 3.0's terms, such as ``x86_64`` and ``linux``."""
    machine = {"amd64": "x86_64", "arm64": "aarch64"}
    processor = platform.machine().lower()
    return machine.get(processor, processor), platform.system().lower()


def shared_library(sources: dict[str, str], name: str) -> tuple[bytes | None, str]:
    """Compile C files to a shared library with the first C compiler that succeeds.

    Returns
    -------
    library, said
        Contents of the shared library, and the compiler's command; or None, and the reason why all
        compilers failed.
    """
    failures = []
    for command in find_compilers():
        command_line = " ".join(command)
        try:
            return _compiled(command, sources, name), command_line
        except (OSError, FlexarmError) as error:
            failures.append(f"{command_line}: {error}")
    if failures:
        return None, f"no C compiler works here ({'; '.join(failures)})"
    return None, "no C compiler is here"


def _compiled(command: list[str], sources: dict[str, str], name: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        for file, text in sources.items():
            Path(folder, file).write_text(text, encoding="utf-8")
        c_files = [file for file in sources if file.endswith(".c")]
        flags = ["-std=c99", OPTIMISED, "-shared", "-fPIC", "-fvisibility=hidden", "-o", name]
        call = [*command, *flags, *c_files, "-lm"]
        process = subprocess.run(call, cwd=folder, capture_output=True, text=True, check=False)
        if process.returncode or not Path(folder, name).is_file():
            lines = process.stderr.splitlines() or ["says nothing"]
            raise FlexarmError(next((line for line in lines if "error" in line), lines[0]))
        return Path(folder, name).read_bytes()


FMI = ("2.0", "3.0")
# Exponents of SI base units by unit.
UNITS: dict[str, dict[str, int]] = {
    "rad": {"rad": 1}, "m": {"m": 1}, "s": {"s": 1}, "A": {"A": 1}, "1": {},
    "N": {"kg": 1, "m": 1, "s": -2}, "N m": {"kg": 1, "m": 2, "s": -2},
    "J": {"kg": 1, "m": 2, "s": -2}, "V": {"kg": 1, "m": 2, "s": -3, "A": -1},
}  # fmt: skip


def write_fmu(plant: Plant, path: Path, *, fmi: str = "2.0", force: bool = False) -> str:
    """Write an arm as a functional mock-up unit; return whether the unit has a binary.

    Parameters
    ----------
    plant
        Arm as a differential equation.
    path
        Path of the functional mock-up unit.
    fmi
        Version of the FMI standard, ``2.0`` or ``3.0``.
    force
        Whether to overwrite an existing file.

    Returns
    -------
    str
        Text that describes the compiled binary in the unit, or says why the unit contains sources
        only.
    """
    if not is_word(fmi, FMI):
        raise refused("fmi", fmi, " or ".join(FMI))
    require_writable(path, force=force)
    sources = c_files(plant)
    declared_variables = variables(plant)
    token = _token(fmi, sources)
    words = {
        "FILE": plant.name, "NAME": plant.name, "TOKEN": token,
        "TOLERANCE": repr(EXPERIMENT_TOLERANCE), "TITLE": plain_title(plant.model.arm.name),
    }  # fmt: skip
    for name in ("unit.h", f"fmi{fmi[0]}.c"):
        sources[name] = template(name, words)
    code = sorted(name for name in sources if name.endswith(".c"))
    describe = description_2 if fmi == "2.0" else description_3
    files = {"modelDescription.xml": _text(describe(plant, declared_variables, token, code))}
    files |= {f"sources/{name}": text.encode() for name, text in sources.items()}
    if fmi == "3.0":
        files["sources/buildDescription.xml"] = _text(_build_description(plant, code))
    processor, kind = system()
    binary = f"{plant.name}{ENDINGS.get(kind, '.so')}"
    library, outcome = shared_library(sources, binary)
    description = f"{outcome}: sources only; install one, or 'pip install flexarm[fmu]'"
    if library is not None:
        paths = [f"binaries/{folder}/{binary}" for folder in folders_of(fmi, processor, kind)]
        files |= dict.fromkeys(paths, library)
        description = f"{' and '.join(paths)}, compiled by {outcome}"
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data,
                             zipfile.ZIP_DEFLATED)  # fmt: skip
    write_whole(path, memory.getvalue(), force=force)
    return description


def folders_of(fmi: str, processor: str, kind: str) -> list[str]:
    """Return the folders of the compiled binary in a functional mock-up unit.

    In FMI 2.0 a binary for ARM is stored in two folders, since importers use different names.
    """
    fmi2_folder = {"windows": "win64"}.get(kind, f"{kind}64")
    folders = [f"{processor}-{kind}"] if fmi != "2.0" or processor != "x86_64" else []
    return [*folders, *([fmi2_folder] if fmi == "2.0" else [])]


def variables(plant: Plant) -> list["FmuVariable"]:
    """Return the variables of a functional mock-up unit, ordered by value reference.

    The names of variables are unique. States and inputs are named as in flexarm; where another
    variable has the same name, a ``_`` is appended to it.
    """
    model = plant.model
    joints = {k for axis in model.axes for k in (axis.index, axis.motor)}
    joint_names = {model.names[k] for k in joints if k is not None}
    names = {name for name, _ in (*plant.states, *plant.inputs)}
    fmu_variables: list[FmuVariable] = []

    def unique_name(name: str) -> str:
        while name in names:
            name += "_"
        names.add(name)
        return name

    def add(name: str, unit: str, causality: str, description: str, start: float | None = None,
            derivative_of: int | None = None, nominal: float | None = None) -> None:  # fmt: skip
        jumps = nominal is not None and bool(plant.switches.holders or model.attitudes)
        fields = (
            name,
            unit,
            causality,
            description,
            start,
            derivative_of,
            nominal,
            jumps,
            next(dependencies, ()),
        )
        fmu_variables.append(FmuVariable(len(fmu_variables), *fields))

    size, inputs = len(plant.states), len(plant.inputs)
    references = [*range(size + 1), *range(2 * size + 1, 2 * size + 1 + inputs)]
    rates, outputs = ([tuple(k for k, depends in zip(references, row, strict=True) if depends)
                       for row in rows] for rows in plant.dependencies())  # fmt: skip
    states = [(k,) for k in range(1, size + 1)]
    indicators = [tuple(references)] * len(plant.indicators)
    dependencies = iter([(), *states, *rates, *[()] * inputs, *outputs, *indicators])

    add(unique_name("time"), "s", "independent", "Time")
    for k, (name, unit) in enumerate(plant.states):
        kind = "output" if name.removesuffix(".rate") in joint_names else "local"
        add(name, unit, kind, "state", float(plant.start[k]), nominal=float(plant.usual[k]))
    for k, (name, unit) in enumerate(plant.states):
        add(unique_name(f"der({name})"), f"{unit}/s", "local", "rate", derivative_of=k + 1)
    for name, unit in plant.inputs:
        add(name, unit, "input", "on top of the model file's input", 0.0)
    for name, unit in plant.output_names:
        add(unique_name(name), unit, "output", "computed")
    for k, meaning in enumerate(plant.indicators, 1):
        add(unique_name(f"indicator{k}"), "1", "local", meaning)
    return fmu_variables


@dataclass(frozen=True)
class FmuVariable:
    """A variable of a functional mock-up unit.

    If the variable is the time derivative of a state, the field ``of`` is the value reference of
    this state. The field ``jumps`` tells whether an event may change the variable. The field ``by``
    contains the value references of the time, states and inputs on which the variable depends.
    """

    reference: int
    name: str
    unit: str
    causality: str
    about: str
    start: float | None = None
    of: int | None = None
    nominal: float | None = None
    jumps: bool = False
    by: tuple[int, ...] = ()

    @property
    def computed(self) -> bool:
        """Whether the variable is computed from states and inputs, and not set by the importer."""
        return self.start is None and self.causality != "independent"

    @property
    def attributes(self) -> dict[str, str]:
        """XML attributes of the variable that are the same in FMI 2.0 and 3.0."""
        attributes = {"name": self.name, "valueReference": str(self.reference),
                 "description": self.about, "causality": self.causality,
                 "variability": "continuous"}  # fmt: skip
        if self.causality in ("output", "local"):
            attributes["initial"] = "calculated" if self.computed else "exact"
        return attributes

    @property
    def numbers(self) -> dict[str, str]:
        """XML attributes of the variable: unit, nominal value, start value, reinitialisation."""
        attributes = {"unit": self.unit}
        if self.nominal is not None:
            attributes["nominal"] = repr(self.nominal)
        if self.start is not None:
            attributes["start"] = repr(self.start)
        return attributes | ({"reinit": "true"} if self.jumps else {})


def description_2(
    plant: Plant, declared_variables: list[FmuVariable], token: str, code: list[str]
) -> ET.Element:
    """Return the XML model description of a functional mock-up unit for FMI 2.0.

    The index of a variable in this description equals its value reference.
    """
    attributes = {"guid": token, "numberOfEventIndicators": str(len(plant.indicators))}
    root = _root(plant, "2.0", attributes)
    # The time variable is omitted: it is optional, and one importer would require a start value for
    # it.
    declared_variables = declared_variables[1:]
    for kind, extra in (("ModelExchange", {}), ("CoSimulation", _VARIABLE_STEP)):
        capabilities = {
            "modelIdentifier": plant.name,
            "canGetAndSetFMUstate": "true",
            "canSerializeFMUstate": "true",
            "providesDirectionalDerivative": "true",
        }
        files = ET.SubElement(ET.SubElement(root, kind, capabilities | extra), "SourceFiles")
        for name in code:
            ET.SubElement(files, "File", name=name)
    _units_and_experiment(root, declared_variables)
    declared = ET.SubElement(root, "ModelVariables")
    for variable in declared_variables:
        scalar = ET.SubElement(declared, "ScalarVariable", variable.attributes)
        derivative = {} if variable.of is None else {"derivative": str(variable.of)}
        ET.SubElement(scalar, "Real", variable.numbers | derivative)
    structure = ET.SubElement(root, "ModelStructure")
    outputs = [variable for variable in declared_variables if variable.causality == "output"]
    rates = [variable for variable in declared_variables if variable.of is not None]
    unknowns = [variable for variable in outputs if variable.computed] + rates
    for kind, group in (
        ("Outputs", outputs),
        ("Derivatives", rates),
        ("InitialUnknowns", unknowns),
    ):
        element = ET.SubElement(structure, kind)
        for variable in sorted(group, key=lambda variable: variable.reference):
            ET.SubElement(element, "Unknown", index=str(variable.reference),
                          dependencies=" ".join(str(k) for k in variable.by if k))  # fmt: skip
    return root


_VARIABLE_STEP = {"canHandleVariableCommunicationStepSize": "true"}
_AFTER_STEPS = {"needsCompletedIntegratorStep": "true"}


def description_3(
    plant: Plant, declared_variables: list[FmuVariable], token: str, code: list[str]
) -> ET.Element:
    """Return the XML model description of a functional mock-up unit for FMI 3.0."""
    root = _root(plant, "3.0", {"instantiationToken": token})
    for kind, extra in (("ModelExchange", _AFTER_STEPS), ("CoSimulation", _VARIABLE_STEP)):
        capabilities = {
            "modelIdentifier": plant.name,
            "canGetAndSetFMUState": "true",
            "canSerializeFMUState": "true",
            "providesDirectionalDerivatives": "true",
        }
        ET.SubElement(root, kind, capabilities | extra)
    _units_and_experiment(root, declared_variables)
    declared = ET.SubElement(root, "ModelVariables")
    for variable in declared_variables:
        derivative = {} if variable.of is None else {"derivative": str(variable.of)}
        ET.SubElement(declared, "Float64", variable.attributes | variable.numbers | derivative)
    structure = ET.SubElement(root, "ModelStructure")
    for kind, group in _structure_3(declared_variables):
        for variable in group:
            ET.SubElement(structure, kind, valueReference=str(variable.reference),
                          dependencies=" ".join(map(str, variable.by)))  # fmt: skip
    return root


def _structure_3(declared_variables: list[FmuVariable]) -> Iterator[tuple[str, list[FmuVariable]]]:
    outputs = [variable for variable in declared_variables if variable.causality == "output"]
    rates = [variable for variable in declared_variables if variable.of is not None]
    bounds = [
        variable
        for variable in declared_variables
        if variable.name.startswith("indicator")
        and variable.computed
        and variable.causality == "local"
    ]
    yield "Output", outputs
    yield "ContinuousStateDerivative", rates
    yield "InitialUnknown", [variable for variable in outputs if variable.computed] + rates
    yield "EventIndicator", bounds


def _root(plant: Plant, fmi: str, extra: dict[str, str]) -> ET.Element:
    attributes = {
        "fmiVersion": fmi, "modelName": plant.model.arm.name,
        "generationTool": f"flexarm {version('flexarm')}", "variableNamingConvention": "flat",
    }  # fmt: skip
    return ET.Element("fmiModelDescription", attributes | extra)


def _units_and_experiment(root: ET.Element, declared_variables: list[FmuVariable]) -> None:
    units = ET.SubElement(root, "UnitDefinitions")
    for unit in sorted({variable.unit for variable in declared_variables}):
        element = ET.SubElement(units, "Unit", name=unit)
        numerator, *denominators = unit.split("/")
        base = dict(UNITS[numerator])
        base |= {"s": base.get("s", 0) - len(denominators)} if denominators else {}
        ET.SubElement(element, "BaseUnit", {key: str(value) for key, value in base.items()})
    ET.SubElement(root, "DefaultExperiment", startTime="0", stopTime="1",
                  tolerance=repr(EXPERIMENT_TOLERANCE))  # fmt: skip


def _build_description(plant: Plant, code: list[str]) -> ET.Element:
    root = ET.Element("fmiBuildDescription", fmiVersion="3.0")
    configuration = ET.SubElement(root, "BuildConfiguration", modelIdentifier=plant.name)
    files = ET.SubElement(configuration, "SourceFileSet", language="C99")
    for name in code:
        ET.SubElement(files, "SourceFile", name=name)
    return root


def _text(root: ET.Element) -> bytes:
    ET.indent(root)
    return bytes(ET.tostring(root, encoding="utf-8", xml_declaration=True))


def _token(fmi: str, sources: dict[str, str]) -> str:
    """Return an identifier of a functional mock-up unit; equal contents have equal identifiers."""
    sha = hashlib.sha256(fmi.encode())
    for name, text in sources.items():
        sha.update(f"{name}\n{text}".encode())
    return "{" + str(uuid.UUID(bytes=sha.digest()[:16])) + "}"
