"""The page as a file: what is in it, how large it is, what is refused."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import flexarm
from flexarm.errors import FlexarmError
from flexarm.viewer import bundle
from flexarm.viewer import page as pages
from flexarm.viewer.bundle import Arrays, to_json
from flexarm.viewer.page import (
    file_labels,
    mode_page,
    run_labels,
    run_page,
    save_page,
)
from tests.docs_blocks import ROOT
from tests.viewer.conftest import DOTS, SOFTWARE, Contexts, wait_until
from tests.viewer.poses import random_run, run_of

DATA = re.compile(r'<script type="application/json" id="data">(.*?)</script>', re.DOTALL)
EMPTY = '<script type="application/json" id="data"></script>'
PACKED = re.compile('(id="packed">)[^<]+')


@pytest.fixture(scope="module")
def html() -> str:
    return run_page([random_run(flexarm.example_arm("korayem-two-link"), 3)])


def document(html: str) -> dict[str, object]:
    (found,) = DATA.findall(html)
    read: dict[str, object] = json.loads(found)
    return read


def test_the_page_without_data_is_under_a_megabyte(html: str) -> None:
    assert len(html.encode()) - len(DATA.findall(html)[0]) < 1e6


def test_the_policy_lets_nothing_in_and_nothing_out(html: str) -> None:
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]+)"', html)
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules.pop("default-src") == "'none'"
    assert rules.pop("img-src") == "data: blob:"
    one = r"'sha256-[\w+/]+='"  # of what unpacks the script, and of the script
    assert re.fullmatch(f"{one} {one}", rules.pop("script-src"))
    assert re.fullmatch(one, rules.pop("style-src"))
    assert rules == {"base-uri": "'none'", "form-action": "'none'"}


def test_the_page_carries_the_licences_of_what_it_bundles(html: str) -> None:
    assert re.search(r"three:\s+The MIT License", html)
    assert re.search(r"uplot:\s+The MIT License", html)
    assert html.count("The above copyright notice and this permission notice") == 2


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("told", "first", "change"),
    [
        ("This browser is too old to unpack the page: ", "delete window.DecompressionStream", str),
        ("The page cannot be shown: ", "", lambda html: PACKED.sub(r"\g<1>AAAA", html)),
        ("The page cannot be shown: ", "", lambda html: PACKED.sub(r"\g<1>?", html)),
        ("The page cannot be shown: .*JSON", "", lambda html: DATA.sub(EMPTY, html)),
    ],
    ids=["old browser", "damaged script", "no script", "no data"],
)
def test_a_page_that_cannot_start_says_so(
    html: str,
    told: str,
    first: str,
    change: Callable[[str], str],
    contexts: Contexts,
    tmp_path: Path,
) -> None:
    page = contexts(tuple(SOFTWARE), DOTS).new_page()
    page.add_init_script(first)
    file = tmp_path / "page.html"
    file.write_text(change(html), encoding="utf-8")
    page.goto(file.as_uri())
    wait_until(page, "!document.getElementById('warning').hidden")
    assert re.match(told, page.locator("#warning").inner_text())
    page.close()


def test_the_browsers_that_pages_take_are_those_that_they_are_built_for() -> None:
    built = (ROOT / "viewer/build.js").read_text(encoding="utf-8")
    targets = re.search(r'target: \["chrome(.+)", "firefox(.+)", "safari(.+)"\]', built)
    assert targets
    told = "Chrome {}, Firefox {}, Safari {}, or newer".format(*targets.groups())
    for file in ("docs/viewer.md", "viewer/src/unpack.js"):
        assert told in (ROOT / file).read_text(encoding="utf-8")


def test_nothing_in_the_frame_of_the_page_is_fetched() -> None:
    frame = bundle.built("page.html")
    assert re.findall(r"(src|href|url)\s*[=(]", frame) == []


def test_json_in_a_page_is_ascii_and_ends_no_element() -> None:
    text = "</script><!--\u2028🤖&amp;"
    written = to_json({"name": text})
    assert written.isascii()
    assert not set("<>&") & set(written)
    assert json.loads(written) == {"name": text}


def test_arrays_stand_one_behind_the_other() -> None:
    arrays = Arrays()
    assert arrays.add(np.ones((2, 3))) == {"at": 0, "shape": [2, 3]}
    assert arrays.add(np.zeros(4)) == {"at": 6, "shape": [4]}
    assert arrays.size == 10


def test_a_long_run_is_thinned_out_and_keeps_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "PAGE_SAMPLES", 100)
    run = random_run(flexarm.example_arm("driven-link"), 2)
    long = run_of(
        run.model, np.repeat(run.q, 250, axis=0), np.repeat(run.reference_attitudes, 250, axis=0)
    )
    read = document(run_page([long]))
    (shown,) = read["motions"]  # type: ignore[misc]
    assert 50 < shown["t"]["shape"][0] <= 101  # type: ignore[has-type]


def test_a_page_needs_a_run() -> None:
    with pytest.raises(FlexarmError, match="runs: must be a list of runs, one at least"):
        run_page([])


def test_an_arm_without_modes_has_no_page_of_them() -> None:
    still = flexarm.modes(flexarm.example_arm("puma-560"), joints="locked")
    with pytest.raises(FlexarmError, match="found: contains no mode to show"):
        mode_page(still)


def test_a_page_overwrites_nothing_unasked(html: str, tmp_path: Path) -> None:
    path = tmp_path / "run.html"
    save_page(html, path)
    assert path.read_text(encoding="utf-8") == html
    with pytest.raises(FlexarmError, match="exists already"):
        save_page("", path)
    save_page("new", path, force=True)
    assert path.read_text(encoding="utf-8") == "new"


def test_a_missing_bundle_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle, "BUILT", tmp_path)
    bundle.built.cache_clear()
    with pytest.raises(FlexarmError, match=r"unpack\.js has not been built.*make setup"):
        bundle.fill_page("", "")
    bundle.built.cache_clear()


def test_the_lock_file_fixes_what_is_bundled_and_names_no_host() -> None:
    text = (ROOT / "viewer/package-lock.json").read_text(encoding="utf-8")
    packages = json.loads(text)["packages"]
    wanted = json.loads((ROOT / "viewer/package.json").read_text(encoding="utf-8"))
    for name, version in (wanted["dependencies"] | wanted["devDependencies"]).items():
        assert packages[f"node_modules/{name}"]["version"] == version
        assert packages[f"node_modules/{name}"]["integrity"].startswith("sha512-")
    assert "resolved" not in text
    assert re.findall(r"https?://(?!opencollective|github)[\w.]+", text) == []


def test_runs_of_one_arm_are_called_by_what_differs() -> None:
    arm = flexarm.example_arm("driven-link")
    heavy = flexarm.change_arm(arm, {"payload": {"mass": 0.5}})
    still, loaded = (random_run(each, 1) for each in (arm, heavy))
    tight = replace(still, rtol=1e-9)
    assert run_labels([still, loaded]) == ["payload.mass none", "payload.mass 0.5"]
    assert run_labels([still, tight]) == [f"rtol {still.rtol:g}", "rtol 1e-09"]
    assert run_labels([still, loaded, tight])[2] == "rtol 1e-09, payload.mass none"
    assert run_labels([still, still]) == ["1", "2"]
    other = random_run(flexarm.example_arm("driven-link-payload"), 1)
    assert run_labels([still, other])[1].startswith(other.model.arm.name)
    assert run_labels([other]) == [other.model.arm.name]
    files = [Path("a/run.nc"), Path("b/run.nc"), Path("c.nc")]
    assert file_labels(files) == ["a/run", "b/run", "c"]
    assert file_labels(files[1:]) == ["run", "c"]
    assert file_labels([Path("a/run.nc"), Path("a/run.zarr")]) == ["run.nc", "run.zarr"]
    both = [Path("a/run.nc"), Path("a/run.zarr"), Path("b/run.nc")]
    assert file_labels(both) == [str(path) for path in both]
    assert file_labels([Path("run.nc"), Path("run.nc")]) == ["1: run", "2: run"]
