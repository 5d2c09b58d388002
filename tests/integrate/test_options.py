"""Options of a run are declared once: Python, the command line and the docs agree on them."""

import inspect
from typing import Any

import pytest

import flexarm
from docs.make_options import PAGE, page
from flexarm.cli import main
from flexarm.cli.console import RUN_OPTIONS
from flexarm.errors import SimulationError
from flexarm.integrate.options import OPTIONS, RunOptions


def test_simulate_has_the_options_and_their_defaults() -> None:
    parameters = dict(inspect.signature(flexarm.simulate).parameters)
    del parameters["arm"]
    assert list(parameters) == list(OPTIONS)
    for name, each in parameters.items():
        assert each.default == getattr(RunOptions, name, inspect.Parameter.empty)


def test_every_option_is_in_the_docstring_and_those_with_a_flag_in_the_command() -> None:
    text = inspect.getdoc(flexarm.simulate) or ""
    for name, each in OPTIONS.items():
        assert f"\n{name}\n    {each.help[0].upper()}" in text
        assert (each.flag.split()[0] in RUN_OPTIONS) if each.flag else True
    assert len(RUN_OPTIONS) == 13


def test_the_page_has_the_table_of_the_options() -> None:
    """If this fails, run ``python -m docs.make_options``."""
    assert PAGE.read_text(encoding="utf-8") == page()


def test_texts_with_units_become_numbers() -> None:
    options = RunOptions.of(t_end="500 ms", dt="1 ms", rtol="0.1 %", step=None)
    assert (options.t_end, options.dt, options.rtol, options.step) == (0.5, 1e-3, 1e-3, None)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"t_end": 0.0}, "t_end: must be between 1e-12 and 1e"),
        ({"rtol": 0.2}, "rtol: must be between 1e-12 and 0.1, got 0.2"),
        ({"dt": -1}, "dt: must be > 0 and a finite number, got -1"),
        ({"dt": 2.0}, "dt: must be at most the duration, 1 s, got 2"),
        (
            {"method": "euler"},
            "method: must be one of auto, etd4, dop853, rodas4, rk4, got 'euler'",
        ),
        ({"formulation": None}, "formulation: must be one of articulated, composite"),
        ({"step": 1e-3}, "step: is used only with method rk4, got auto"),
        ({"allow_long": 1}, "allow_long: must be True or False, got 1"),
        ({"locks": {"a": [(0, 1, 2)]}}, "locks: a: must be a list of pairs"),
        ({"start": "here"}, "start: must be a Run, such as"),
    ],
)
def test_a_value_out_of_bounds_is_refused_by_its_name(given: dict[str, Any], message: str) -> None:
    with pytest.raises(SimulationError) as error:
        RunOptions.of(**{"t_end": 1.0, **given})
    assert str(error.value).startswith(message)


def test_a_flag_is_named_where_its_value_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert flexarm_main("--t-end", "1 s", "--dt", "2 s") == 2
    assert "--dt: must be at most the duration, 1 s, got 2" in capsys.readouterr().err


def flexarm_main(*given: str) -> int:
    """Run `flexarm simulate` of a sample."""
    return main(["simulate", "driven-link", *given])
