"""How many files a new thing touches: those of docs/extending.md or of `additions`, in a copy.

Each is then used by its name, from a model file and from the command line, in an own process.
"""

import ast
import filecmp
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

import flexarm
from tests.docs_blocks import ROOT, blocks
from tests.physics.cases import campaign_if

PACKAGE = Path(flexarm.__file__).parent
EXTENDING = ROOT / "docs" / "extending.md"
OWN = Path(__file__).parent / "additions"  # what the page only names
Edit = tuple[str, str, str]  # file, a text in it, and what comes right after that


class Addition(NamedTuple):
    """A new thing: its file, the lines that others get, how many files that are, and its use."""

    file: str
    edits: tuple[Edit, ...]
    files: int
    use: str


SHAPES = '''

class ConstantCurvature(Counted):
    """Pieces of equal length, each bent to a circle."""

    kind: Literal["constant-curvature"]
'''
USE = """
import flexarm
from flexarm.cli import main
from flexarm.engine.compile import EFFORT

assert flexarm.__file__.startswith({folder!r}), flexarm.__file__
EFFORT["fast"] = EFFORT["quick"]  # of what is run for a moment
"""
JOINT = """
open("arm.yaml", "w").write('''
flexarm: 1
name: a rod in a sleeve
gravity: [0, 0, -10]
links:
  - joint:
      kind: cylindrical
      turn: {input: {kind: constant, value: 3}}
      slide: {start: {position: 1}}
    length: 1
    body: {mass: 2, com: [0.5, 0, 0], inertia: [0.1, 0.1, 1]}
''')
assert main(["check", "arm.yaml"]) == 0
for name in "articulated", "lagrange":
    run = flexarm.simulate(flexarm.load("arm.yaml"), t_end=1, rtol=1e-8, formulation=name)
    assert run.model.names == ("joint1.turn", "joint1.slide")
    # 3 N m turn 1.5 kg m^2, and 2 kg fall.
    assert abs(run.q[-1] - [1, -4]).max() < 1e-6, (name, run.q[-1])
"""
FAMILY = """
open("arm.yaml", "w").write('''
flexarm: 1
name: a link of circles
gravity: [0, 0, 0]
links:
  - joint: {kind: revolute}
    length: 10
    section: {mass_per_length: 1.2, EIz: 1.4e4}
    shapes: {kind: constant-curvature, bending_y: 6}
''')
assert main(["check", "arm.yaml"]) == 0
arm = flexarm.load("arm.yaml")
first = flexarm.modes(arm, joints="locked").modes[0].frequency_rad_s
assert abs(first / 3.7977 - 1) < 0.006, first  # that of the clamped beam
assert flexarm.simulate(arm, t_end=0.1).status == "finished"
"""
INTEGRATOR = """
fall = {"t_end": 0.2, "dt": 0.1, "step": 2e-4}
arm = flexarm.example_arm("korayem-two-link")
run, known = (flexarm.simulate(arm, method=name, **fall) for name in ("kutta-3/8", "rk4"))
assert run.method == "kutta-3/8"
assert 0 < abs(run.q[-1] - known.q[-1]).max() < 1e-7
assert main("simulate korayem-two-link --t-end 0.1 --method kutta-3/8".split()) == 0
"""
FORMULATION = """
fall = {"t_end": 0.1, "dt": 0.1, "rtol": 1e-8}
arm = flexarm.example_arm("korayem-two-link")
run, known = (
    flexarm.simulate(arm, formulation=name, **fall) for name in ("differentiated", "articulated")
)
assert run.formulation == "differentiated"
assert abs(run.q[-1] - known.q[-1]).max() < 1e-8
assert main("simulate korayem-two-link --t-end 0.1 --formulation differentiated".split()) == 0
"""
BODY = """
import numpy as np
from flexarm.io.model_file import loads
from flexarm.mechanics.bodies.folding import FoldingData
from flexarm.model.assemble import assemble
from flexarm.model.elastic import Theory, link_shapes
from flexarm.spatial import Inertia

FOLDING = "{joint: {kind: revolute}, length: 1.1, section: {mass_per_length: 2, EIz: 1}, TIP}"
TIP = "tip_piece: {length: 0.1, body: {mass: 0.5}}"
HALF = "body: {mass: 1, com: [0.25, 0, 0], inertia: [0, 0.0208333333333333, 0.0208333333333333]}"
TWO = (
    "{joint: {kind: revolute}, length: 0.5, HALF}, "
    "{joint: {kind: revolute, spring: {stiffness: 30}}, length: 0.6, HALF}"
)
HEAD = "flexarm: 1\\nname: arm\\nlinks: ["
folding = loads(HEAD + FOLDING.replace("TIP", TIP) + "]")
payload = "]\\npayload: {mass: 0.5, com: [-0.1, 0, 0]}"
halves = loads(HEAD + TWO.replace("HALF", HALF) + payload)
half = Inertia(1.0, np.array([0.25, 0.0, 0.0]), np.diag([0.0, 1.0, 1.0]) / 12)
model = assemble(
    folding, Theory(stiffening=True, exact=True, nodes=None), "cayley",
    lambda index, span: link_shapes(folding, index, span), lambda *link: FoldingData(half, 30.0),
)
q, v = np.array([0.3, 0.7]), np.array([1.1, -0.6])
for name in "articulated", "composite":
    mine, known = (flexarm.formulation(name, each) for each in (model, flexarm.build(halves)))
    assert abs(mine.mass_matrix(q) - known.mass_matrix(q)).max() < 1e-12
    found = mine.forward_dynamics(q, v, np.zeros(1))
    assert abs(found - known.forward_dynamics(q, v, np.zeros(2))).max() < 1e-9 * abs(found).max()
    assert abs(mine.energy(q, v).elastic - known.energy(q, v).elastic) < 1e-12
try:
    flexarm.formulation("lagrange", model)
except flexarm.FlexarmError as error:
    assert "body with modes" in str(error)
else:
    raise AssertionError("lagrange takes a body whose points it does not know")
"""
ADDITIONS = {
    "joint": Addition(
        "model/joints/cylindrical.py",
        (
            ("arm/joint.py", "\nJoint = Annotated[\n    ", "Cylindrical | "),
            ("model/joints/__init__.py", "joints.base import JointMotion\n",
             "from flexarm.model.joints.cylindrical import CylindricalKinematics\n"),
            ("model/joints/__init__.py", "for kinematics in (", "CylindricalKinematics, "),
        ),
        3,
        JOINT,
    ),
    "body": Addition(
        "mechanics/bodies/folding.py",
        (
            ("mechanics/bodies/__init__.py", "exact.body import Exact\n",
             "from flexarm.mechanics.bodies.folding import Folding\n"),
            ("mechanics/bodies/__init__.py", "LinkBody]] = {\n", '    "folding": Folding,\n'),
        ),
        2,
        BODY,
    ),
    "shape family": Addition(
        "links/families/constant_curvature.py",
        (
            ("arm/shapes.py", '    kind: Literal["lumped"]\n', SHAPES),
            ("arm/shapes.py", "    | Lumped\n", "    | ConstantCurvature\n"),
            ("links/__init__.py", "links.base import Discretisation\n",
             "from flexarm.links.families.constant_curvature import ConstantCurvatureShapes\n"),
            ("links/__init__.py", "for family in (\n", "        ConstantCurvatureShapes(),\n"),
        ),
        3,
        FAMILY,
    ),
    "integrator": Addition(
        "integrate/methods/kutta.py",
        (
            ("integrate/methods/__init__.py", "dop853 import DOP853\n",
             "from flexarm.integrate.methods.kutta import KUTTA\n"),
            ("integrate/methods/__init__.py", "for each in (", "KUTTA, "),
        ),
        2,
        INTEGRATOR,
    ),
    "formulation": Addition(
        "formulations/differentiated.py",
        (
            ("formulations/__init__.py", "composite import Composite\n",
             "from flexarm.formulations.differentiated import Differentiated\n"),
            ("formulations/__init__.py", "for kind in (\n", "        Differentiated,\n"),
        ),
        2,
        FORMULATION,
    ),
}  # fmt: skip


def shown(what: str) -> list[str]:
    """Return what the page or `additions` defines for a thing, its trial left out, by block."""
    own = OWN / f"{what}.py"
    if own.exists():
        return [definitions(own.read_text(encoding="utf-8"))]
    text = EXTENDING.read_text(encoding="utf-8")
    section = text.partition(f"\n## A {what}\n")[2] or text.partition(f"\n## An {what}\n")[2]
    section = section.partition("\n## ")[0]
    return [
        definitions(block.content)
        for block in blocks(EXTENDING, "python")
        if block.content in section
    ]


def definitions(source: str) -> str:
    """Keep classes, functions and methods of integration, and the imports that they use."""
    tree = ast.parse(source)
    kept: list[ast.stmt] = [
        node
        for node in tree.body
        if isinstance(node, ast.ClassDef | ast.FunctionDef)
        or (
            isinstance(node, ast.Assign)
            and ast.unparse(node.value).startswith(("Method(", "Tableau("))
        )
    ]
    used = {each.id for node in kept for each in ast.walk(node) if isinstance(each, ast.Name)}
    imports = [
        node
        for node in tree.body
        if isinstance(node, ast.Import | ast.ImportFrom)
        and used & {alias.asname or alias.name for alias in node.names}
    ]
    return "\n".join(ast.unparse(node) for node in [*imports, *kept]) + "\n"


def add(package: Path, what: str) -> None:
    """Put a thing into a package, as the page says."""
    addition = ADDITIONS[what]
    own, *described = shown(what)
    (package / addition.file).write_text(own, encoding="utf-8")
    for text in described:  # keys of model files
        classes = text[text.index("class ") :]
        insert(package, ("arm/joint.py", "\n\nAnyActuated = ", classes), before=True)
    for edit in addition.edits:
        insert(package, edit)


def insert(package: Path, edit: Edit, *, before: bool = False) -> None:
    """Put a text right after another one, or before it, that a file has once."""
    path, place, new = package / edit[0], edit[1], edit[2]
    text = path.read_text(encoding="utf-8")
    assert text.count(place) == 1, f"{edit[0]}: {place!r}"
    path.write_text(text.replace(place, f"\n\n{new}{place}" if before else place + new), "utf-8")


def changed(package: Path) -> set[str]:
    """List the files of a copy that are new or not as they were."""
    files = {path.relative_to(package).as_posix() for path in package.rglob("*.py")}
    same = filecmp.cmpfiles(PACKAGE, package, files, shallow=False)[0]
    return files - set(same)


@pytest.mark.parametrize(
    "what",
    [pytest.param(what, marks=campaign_if(what not in ("joint", "body"))) for what in ADDITIONS],
)
def test_what_the_page_adds_touches_few_files_and_works(what: str, tmp_path: Path) -> None:
    package = tmp_path / "flexarm"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("built"))
    add(package, what)
    assert len(changed(package)) == ADDITIONS[what].files, changed(package)
    use = USE.format(folder=str(tmp_path)) + ADDITIONS[what].use
    done = subprocess.run(
        [sys.executable, "-c", use],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
