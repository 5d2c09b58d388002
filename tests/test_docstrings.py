"""What the Python reference shows says what comes back."""

import inspect
import pkgutil
import re
from collections.abc import Iterator

import flexarm.control
from tests.docs_blocks import ROOT


def documented() -> Iterator[tuple[str, object]]:
    """Give the names and objects of the reference."""
    names = re.findall(r"^::: (\S+)", (ROOT / "docs" / "api.md").read_text(), re.MULTILINE)
    names += [f"flexarm.control.{name}" for name in flexarm.control.__all__]
    for name in names:
        yield name, pkgutil.resolve_name(name)


def callables() -> Iterator[tuple[str, object, bool]]:
    """Give functions, and methods of classes, with whether it is a function."""
    for name, found in documented():
        if inspect.isfunction(found):
            yield name, found, True
        elif inspect.isclass(found):
            for own, value in dict(vars(found)).items():
                method = getattr(value, "__func__", value)
                if inspect.isfunction(method) and not own.startswith("_"):
                    yield f"{name}.{own}", method, False


def test_functions_and_methods_with_parameters_say_what_they_return() -> None:
    """A method without parameters says it in its first line, unless it gives a dataset."""
    silent, seen = [], 0
    for name, function, alone in callables():
        text = inspect.getdoc(function) or ""
        if inspect.signature(function).return_annotation in (None, "None"):  # type: ignore[arg-type]
            continue
        tables = "Dataset" in str(inspect.signature(function).return_annotation)  # type: ignore[arg-type]
        if alone or tables or "Parameters\n----" in text:
            seen += 1
            silent += [] if "Returns\n-------" in text else [name]
    assert not silent
    assert seen > 60
