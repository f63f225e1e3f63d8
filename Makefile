# `make` lists the targets. Everything is installed into .venv, and only once:
# each set of extras leaves a stamp, and only a newer pyproject.toml installs it again.

VENV    := .venv
PY      := $(VENV)/bin/python
PIP     := $(PY) -m pip --disable-pip-version-check --quiet
STAMPS  := $(VENV)/stamps
WORKERS ?= 2
EXTRAS  ?= fast,data
# Neighbours share what their module computes once, so each process keeps to its part of the tests.
DIST    := $(if $(filter-out 0,$(WORKERS)),--dist worksteal)
TESTED  := fast,data,dask,parquet,certify,prove,test
ARGS    ?=
RUN     := $(STAMPS)/run-$(EXTRAS)
# What the versions of dependencies and of Python could break, in two or three minutes.
CORE    := tests/runtime tests/oracles tests/schedules tests/bounds tests/cli tests/report \
           $(wildcard tests/simulator/test_*.py) tests/simulator/fused/test_source.py \
           tests/experiment/design tests/experiment/store tests/whole/test_packaging.py

# Where each test process has a core of its own, BLAS threads only get in the way.
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1
# Figures are written to files; no display is looked for.
export MPLBACKEND ?= Agg

# What one process compiled, the next one reads; tests see to it themselves (tests/conftest.py).
reproduce docs: export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help install test test-near test-lowest test-newest reproduce docs lint format types ptx-check wheel-check \
  bench mutants clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

install: $(RUN) ## create .venv and install the package (EXTRAS=fast,cuda13 for a GPU)

test: $(STAMPS)/test ## run the tests (WORKERS=2, ARGS='-k name')
	$(PY) -m pytest -n $(WORKERS) $(DIST) $(ARGS)

test-near: $(STAMPS)/test ## run the tests near a file, in about a minute (FILE=stemtheory/...)
	$(PY) -m pytest -n $(WORKERS) -m 'not slow' $$($(PY) -m tests.near '$(FILE)') $(ARGS)

test-lowest: ## run the core of the tests on the lowest versions that pyproject.toml declares
	$(MAKE) test VENV=$(VENV)-lowest FLOORS=1 PYTHON='$(PYTHON) python3.11' \
	  ARGS='-m "not slow and not browser" $(CORE) $(ARGS)'

test-newest: ## run the core of the tests on the newest Python that is here
	$(MAKE) test VENV=$(VENV)-newest PYTHON='$(PYTHON) python3.14 python3.13' \
	  ARGS='-m "not slow and not browser" $(CORE) $(ARGS)'

reproduce: $(RUN) ## check every claim, draw every figure, write the quick report (ARGS=--full: all of it)
	$(VENV)/bin/stemtheory reproduce $(or $(ARGS),--quick)

docs: $(STAMPS)/docs ## build the documentation; open build/docs/index.html
	PATH="$(abspath $(VENV))/bin:$$PATH" $(PY) -m sphinx -q -W --keep-going docs build/docs $(ARGS)
	$(PY) -m docs.build.links build/docs

lint: $(STAMPS)/dev ## ruff: rules and format; import-linter: who may import whom
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(VENV)/bin/lint-imports --no-cache

format: $(STAMPS)/dev ## ruff: repair what can be repaired
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

types: $(STAMPS)/dev ## mypy --strict
	$(PY) -m mypy

ptx-check: $(STAMPS)/ptx ## compile the kernels of a CUDA device and run their PTX in Python; none is needed
	$(PY) -m pytest -n $(WORKERS) tests/simulator/fused/cuda/test_ptx.py

wheel-check: $(STAMPS)/dev ## build sdist and wheel, install the wheel elsewhere and use it there
	PYTHON=$(abspath $(PY)) bash .ci/wheel-check

bench: $(RUN) ## run each script of benchmarks/ (never asserted in tests)
	@for script in $(filter-out %/mutants.py,$(wildcard benchmarks/[a-z]*.py)); do \
	  echo "$(PY) $$script $(ARGS)"; $(PY) $$script $(ARGS) || exit 1; \
	done

mutants: $(STAMPS)/test ## small wrong changes of the source: which does no test notice? (hours)
	$(PY) -m benchmarks.mutants --jobs $(WORKERS) $(ARGS)

clean: ## remove .venv, builds and caches (results/ and out/ stay)
	rm -rf $(VENV) $(VENV)-lowest $(VENV)-newest build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The first Python >= 3.11 that can make an environment; PYTHON=... names one outright.
$(PY):
	@for python in $(PYTHON) python3 python3.13 python3.12 python3.11 python3.14 python; do \
	  if $$python -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' \
	      2>/dev/null; then \
	    echo "$$python -m venv $(VENV)"; exec $$python -m venv $(VENV); \
	  fi; \
	done; \
	echo "no Python >= 3.11 with venv was found: install one (on Debian: python3 and" \
	  "python3-venv) or name it, make PYTHON=/path/to/python3" >&2; exit 1

$(RUN): pyproject.toml | $(PY)
	$(PIP) install --editable '.[$(EXTRAS)]'
	@mkdir -p $(STAMPS) && touch $@

# FLOORS=1 takes the lowest version that each requirement allows, for these requirements alone.
$(STAMPS)/test: pyproject.toml | $(PY)
	$(if $(FLOORS),$(PY) .ci/floors $(TESTED) > $(VENV)/floors.txt)
	$(PIP) install --editable '.[$(TESTED)]' $(if $(FLOORS),--constraint $(VENV)/floors.txt)
	@mkdir -p $(STAMPS) && touch $@ $(STAMPS)/run-fast,data

$(STAMPS)/dev: pyproject.toml | $(PY)
	$(PIP) install --editable '.[fast,data,certify,prove,dev]'
	@mkdir -p $(STAMPS) && touch $@ $(STAMPS)/run-fast,data $(STAMPS)/test

$(STAMPS)/docs: pyproject.toml | $(PY)
	$(PIP) install --editable '.[fast,data,docs]'
	@mkdir -p $(STAMPS) && touch $@ $(STAMPS)/run-fast,data

$(STAMPS)/ptx: pyproject.toml | $(PY)
	$(PIP) install --editable '.[ptx,data,certify,prove,test]'
	@mkdir -p $(STAMPS) && touch $@ $(STAMPS)/run-fast,data $(STAMPS)/test
