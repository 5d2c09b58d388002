"""Names of users in every generated file, which is compiled, run or parsed: they come back."""

import io
import json
import re
import shutil
import subprocess
import zipfile
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import casadi as ca
import numpy as np
import pytest
from ruamel.yaml import YAML

import flexarm
from flexarm.arm import Arm
from flexarm.closed_forms.equations import closed_form
from flexarm.closed_forms.text import as_latex_document, as_python
from flexarm.errors import ModelError
from flexarm.exports.c_source import write_c
from flexarm.exports.fmu import write_fmu
from flexarm.exports.plant import TAKEN, Plant, identifier, plant
from flexarm.formulations import formulation
from flexarm.io.model_file import dumps, emit, loads
from flexarm.io.titles import plain_title
from flexarm.model import Model, build
from flexarm.viewer.page import run_page
from tests.exports.loaded import STRICT, Unit, compiler, quickly
from tests.hostile_names import Names, hostile

__all__ = ["quickly"]
pytestmark = [
    pytest.mark.usefixtures("little_effort"),
    pytest.mark.filterwarnings("ignore:constrained_layout not applied"),  # labels of 60 letters
]
CAMPAIGN, BLOCK, SAMPLE = 2000, 100, 2
PLAIN = Names("plain", ("one", "two"), ("shoulder", "elbow"), "over")
LINE = re.compile(
    r"arm\.yaml:\d+:\d+: ((name|links\[\d\](\.joint)?\.name|events\[1\]\.[a-z.]+): .+"
    r"|the character U\+[0-9A-F]+ is not allowed; remove it)"
)
NUMBERS = re.compile(r"[-+.,e0-9infa]+")
C_STANDARDS = (STRICT, ["-std=gnu17", "-trigraphs", "-w", "-I."])
# Comment ends of C in other spellings, code that is run when it is loaded, fields of templates.
KNOWN = (
    Names("arm *\\ extern int system(const char*); static __attribute__((constructor)) void e(void)"
          '{system("touch ran");} /* ', ("one", "two"), ("shoulder", "elbow"), "over"),
    Names('a ??/ */ #error", 0}; int x[] = {0', ("@TITLE@", "two"), ("@NAME@", "q_dot"),
          "@TABLES@"),
    Names("linux", ("a-b", "a_b"), ("lift", "lift_dot"), "$\\frac$ </script>"),
)  # fmt: skip


def test_titles_are_one_line_of_letters_that_end_no_comment() -> None:
    every = "".join(map(chr, range(0x3000))) + "\uff0a\uff0f\uff3c"
    allowed = {chr(k) for k in range(32, 127)} - set("*/\\?")
    assert set(plain_title(every)) == allowed
    assert plain_title("Bras flexible n°2: é*/") == "Bras flexible n_2: e_"


@pytest.mark.parametrize("text", ["a\nb", "a\tb", "a\x7fb", "a\u2028b", "a\u202eb", "\ufffe"])
def test_control_characters_in_names_are_refused(text: str) -> None:
    for place in ("arm", "event"):
        data = PLAIN.data()
        (data if place == "arm" else data["events"][0])["name"] = text
        with pytest.raises(ModelError, match=r"arm\.yaml:\d+:\d+: ") as refusal:
            loads(json.dumps(data, ensure_ascii=False), "arm.yaml")
        assert f"U+{ord(re.sub('[ab]', '', text)):04X}" in str(refusal.value)
        with pytest.raises(ValueError, match="control characters"):
            Arm.model_validate(data)
    for k in range(2):
        data = PLAIN.data()
        (data["links"][0] if k else data["links"][0]["joint"])["name"] = text
        with pytest.raises(ModelError, match=r"arm\.yaml:\d+:\d+: "):
            loads(json.dumps(data, ensure_ascii=False), "arm.yaml")


def test_words_that_mean_something_in_c_get_an_ending() -> None:
    for word in ("linux", "unix", "asm", "typeof", "class", "bool", "errno", "string", "con"):
        assert identifier(word.upper()) == f"{word}_arm"
    assert identifier("Bras n°2") == "bras_n_2"
    assert identifier("2R") == "arm_2r"
    assert identifier("*/") == "arm"


def test_macros_of_the_compiler_and_its_headers_are_no_names_of_arms() -> None:
    headers = ("math", "stdlib", "string", "stdio", "stdbool", "stdint", "errno", "time", "complex")
    text = "".join(f"#include <{name}.h>\n" for name in headers)
    command = [compiler(), "-std=gnu17", "-dM", "-E", "-x", "c", "-"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    macros = set(re.findall(r"#define ([a-z][a-z0-9_]*) ", done.stdout))
    assert {"linux", "unix"} <= macros or "gnu" not in done.stdout.lower()
    assert macros <= TAKEN


def test_no_identifier_of_the_c_files_is_one_of_some_arm() -> None:
    folder = Path(flexarm.__file__).parent / "exports/sources"
    text = "\n".join(path.read_text() for path in sorted(folder.iterdir()))
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    exported = set(re.findall(r"(?<!flexarm_)@NAME@_(\w+)", text))
    own = set(re.findall(r"(?<![\w@])[a-z]\w*", re.sub(r"\w*@[A-Z]+@\w*", "", text)))
    assert {"start", "rate", "state_names"} <= exported
    assert {"holder_place", "limit_margin"} <= own
    met = {name[: -len(end) - 1] for name in own for end in exported if name.endswith(f"_{end}")}
    met |= set(re.findall(r"(?:struct|enum|union) ([a-z]\w*)", text))
    assert met <= TAKEN


@pytest.mark.few(1)
@pytest.mark.parametrize("k", range(len(KNOWN)))
def test_names_that_try_to_be_code_come_back(k: int, tmp_path: Path,
                                             monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    assert check_names(KNOWN[k], tmp_path, k) == "accepted"


@pytest.mark.campaign
def test_some_names_by_chance_come_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_seeds(range(SAMPLE), tmp_path, monkeypatch)


@pytest.mark.campaign
@pytest.mark.parametrize("first", range(0, CAMPAIGN, BLOCK))
def test_all_names_by_chance_come_back(
    first: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_seeds(range(first, first + BLOCK), tmp_path, monkeypatch)


def check_seeds(seeds: range, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check names by chance, each in a folder of its own."""
    found = []
    for seed in seeds:
        own = folder / str(seed)
        own.mkdir()
        monkeypatch.chdir(own)
        try:
            found.append(check_names(hostile(seed), own, seed))
        except BaseException as error:
            error.add_note(f"seed {seed}: {hostile(seed)!a}")
            raise
        monkeypatch.chdir(folder)
        shutil.rmtree(own)
    assert found.count("accepted") >= len(found) / 2, found


def check_names(names: Names, folder: Path, seed: int) -> str:
    """Make an arm, write all of its files and use them; return whether it was refused."""
    text = emit(names.data())
    if names.refused:
        with pytest.raises(ModelError) as refusal:
            loads(text, "arm.yaml")
        for line in str(refusal.value).splitlines():
            assert LINE.fullmatch(line), line
        return "refused"
    arm = loads(text, "arm.yaml")
    model = build(arm)
    check_yaml(arm)
    check_python(arm, model)
    check_latex(arm, model, folder)
    check_pages(arm)
    made = plant(arm)
    check_c(made, folder, C_STANDARDS[seed % 2])
    check_fmu(made, folder, ("2.0", "3.0")[seed // 2 % 2])
    check_casadi(arm)
    assert not list(folder.rglob("ran"))
    return "accepted"


def check_yaml(arm: Arm) -> None:
    text = dumps(arm)
    assert loads(text) == arm
    other = YAML(typ="safe", pure=True).load(text)
    assert (other["name"], other["events"][0]["name"]) == (arm.name, arm.events[0].name)


def check_python(arm: Arm, model: Model) -> None:
    text = as_python(closed_form(model))
    assert text.isascii()
    made: dict[str, Any] = {}
    exec(compile(text, "equations.py", "exec"), made)
    assert (made["ARM"], tuple(made["NAMES"])) == (arm.name, model.names)
    q, v = np.array([0.3, -0.7]), np.array([1.1, 0.4])
    equation = formulation("composite", model)
    np.testing.assert_allclose(made["mass_matrix"](q), equation.mass_matrix(q), rtol=1e-12)
    parts = equation.parts(q, v)
    np.testing.assert_allclose(made["coriolis"](q, v), parts["coriolis"], rtol=1e-9)
    np.testing.assert_allclose(made["gravity"](q), parts["gravity"], rtol=1e-9)


def tex_of(model: Model) -> tuple[str, list[str]]:
    """Return a document, and what TeX makes something of in it."""
    text = as_latex_document(closed_form(model, named=True), numbers=True)
    return text, re.findall(r"\\[A-Za-z]+|\\[^A-Za-z]|[{}$&#^_~%]", text)


@cache
def plain_tex() -> list[str]:
    return tex_of(build(loads(emit(PLAIN.data()))))[1]


def check_latex(arm: Arm, model: Model, folder: Path) -> None:
    text, found = tex_of(model)
    assert text.isascii()
    shown = {"\\&", "\\%", "\\$", "\\#", "\\_", "\\{", "\\}"}
    left = [each for each in found if each not in shown]
    accents = sum(each in ("\\^", "\\~") for each in left)
    for each in {*left, *plain_tex()} - {"\\^", "\\~"}:
        more = accents if each in "{}" else 0
        assert left.count(each) == plain_tex().count(each) + more, each
    if program := shutil.which("pdflatex"):
        (folder / "arm.tex").write_text(text)
        command = [program, "-interaction=batchmode", "-halt-on-error", "arm.tex"]
        assert subprocess.run(command, cwd=folder, check=False).returncode == 0


class Page(HTMLParser):
    """Elements of a page, its title and its data."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, Any]] = []
        self.texts: dict[str, str] = {}
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.elements.append((tag, attrs))

    def handle_data(self, data: str) -> None:
        tag, attributes = self.elements[-1] if self.elements else ("", [])
        key = dict(attributes).get("id") or tag
        self.texts[key] = self.texts.get(key, "") + data


@cache
def plain_elements() -> list[tuple[str, Any]]:
    return page_of(loads(emit(PLAIN.data()))).elements


def page_of(arm: Arm) -> Page:
    return Page(run_page([flexarm.simulate(arm, t_end=0.01, dt=0.01)]))


def check_pages(arm: Arm) -> None:
    page = page_of(arm)
    assert page.elements == plain_elements()
    assert page.texts["title"].startswith(f"{arm.name} (flexarm)")
    data = next(json.loads(text) for text in page.texts.values() if text.startswith('{"kind"'))
    assert data["title"] == arm.name
    assert [link["name"] for link in data["arms"][0]["links"]] == list(arm.link_names)
    note = ET.fromstring(arm._repr_html_())
    assert note[0].text == f"Arm: {arm.name}"
    assert [row[0].text for row in note.iter("tr")] == ["link", *arm.link_names]
    drawn = io.StringIO()
    flexarm.modes(arm).plot().savefig(drawn, format="svg")
    ET.fromstring(drawn.getvalue())


def check_c(made: Plant, folder: Path, standard: list[str]) -> None:
    folder = folder / "c"
    files = [path.name for path in write_c(made, folder)]
    name = made.name
    (folder / "names.c").write_text(
        f'#include <stdio.h>\n#include "{name}.h"\nvoid print_names(void);\n'
        "void __attribute__((constructor)) print_names(void)\n{\n"
        f"    for (int k = 0; {name}_state_names[k]; ++k)\n"
        f"        puts({name}_state_names[k]);\n}}\n"
    )
    sources = [file for file in files if file.endswith(".c")]
    command = [compiler(), *standard, "-O0", *sources, "names.c", "-lm", "-o", "program"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    ran = subprocess.run(["./program", "0.01"], cwd=folder, capture_output=True, check=True)
    lines = ran.stdout.decode().split("\n")
    states = [state for state, _ in made.states]
    assert lines[: len(states)] == states
    assert all(NUMBERS.fullmatch(line) for line in lines[len(states) : -1])
    assert len(lines) == len(states) + 102
    if program := shutil.which("g++"):
        command = [program, "-fsyntax-only", "-x", "c++", f"{name}.h"]
        assert subprocess.run(command, cwd=folder, check=False).returncode == 0


def check_fmu(made: Plant, folder: Path, fmi: str) -> None:
    path = folder / "arm.fmu"
    said = write_fmu(made, path, fmi=fmi)
    assert "compiled by" in said, said
    described = ET.fromstring(zipfile.ZipFile(path).read("modelDescription.xml"))
    assert described.get("modelName") == made.model.arm.name
    variables = [
        each for each in described.iter() if each.get("valueReference") and each.get("name")
    ]
    names = [each.get("name") for each in variables]
    assert len(names) == len(set(names))
    assert {name for name, _ in (*made.states, *made.inputs)} <= set(names)
    told = [each.get("description") for each in variables]
    assert f"event: {made.model.arm.events[0].title}" in told
    unit = Unit(path, folder, described.get("guid") or described.get("instantiationToken") or "")
    unit.begin(1e-6)
    unit.step(0.0, 0.01)
    at = [int(variables[names.index(name)].get("valueReference", 0)) for name, _ in made.states]
    assert np.all(np.isfinite(unit.get(at)))


def check_casadi(arm: Arm) -> None:
    made = plant(arm.model_copy(update={"events": ()}))
    path = Path("function.casadi")
    path.write_bytes(made.casadi_file())
    assert ca.Function.load(str(path)).name() == made.name
