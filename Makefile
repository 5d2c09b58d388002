# `make demo` and `make test` need Python 3.11 or newer and nothing else: they set up .venv first.

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/ready
# Programs that tests start would otherwise compile every module of flexarm anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: setup demo test lint types docs wheel campaign lock clean

setup: $(READY)
	@$(BIN)/python hatch_build.py

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "make: flexarm needs Python 3.11 or newer, and '$(PYTHON)' is not:" \
	    "name another, as in 'make $(or $(MAKECMDGOALS),setup) PYTHON=python3.12'" >&2; exit 1; }
	@test -x $(BIN)/pip || $(PYTHON) -m venv .venv || { \
	  echo "make: '$(PYTHON)' cannot make a virtual environment with pip in it:" \
	    "install its venv module (Debian, Ubuntu: apt install python3-venv)" >&2; exit 1; }
	@echo "make: installing what requirements.lock names into .venv (about a minute)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check \
	  --no-deps --no-build-isolation --editable .
	@touch $@

demo: setup
	@$(BIN)/python examples/demo.py

test: setup
	@$(BIN)/python -m pytest -n auto --dist worksteal

lint: setup
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: setup
	$(BIN)/mypy --strict --num-workers 2 || { [ $$? -eq 2 ] && $(BIN)/mypy --strict; }  # 2: no answer of a worker

docs: setup
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict
	@echo "make: open out/site/index.html"

# In a bare environment of each of PYTHONS, such as "python3.12 python3.13"; beside .venv without.
wheel: setup
	@.ci/wheel $(PYTHONS)

campaign: setup
	@$(BIN)/python -m pytest -m campaign

# uv resolves for every supported Python and platform at once; pip installs the result.
lock: setup
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --extra dev --upgrade \
	  --no-annotate --custom-compile-command "make lock" \
	  --output-file requirements.lock pyproject.toml

clean:
	rm -rf src/flexarm/viewer/built viewer/node_modules .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist
	find src tests examples -name __pycache__ -type d -prune -exec rm -rf {} +
