# Everything runs in .venv, which is made on first use. All that a fresh machine needs is make and Python >= 3.11.
# Choose the interpreter with PYTHON=…, pass options to pytest or the benchmarks with ARGS=…

VENV := .venv
# Windows keeps the programs of a virtual environment elsewhere.
PY := $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts/python.exe,bin/python)
PYTHON ?=
ARGS ?=

# One stamp per set of extras, out of date as soon as pyproject.toml is newer.
DEMO := $(VENV)/.installed-demo
DEV := $(VENV)/.installed-dev
DOCS := $(VENV)/.installed-docs

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help venv demo browser test test-numba lint format bench docs wheel clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

venv: $(DEV)  ## create .venv with everything needed to work on the package

demo: $(DEMO)  ## run the demo
	$(PY) -m leastaction demo $(ARGS)

# By files, so that not every process compiles every kernel; in the order of tests/conftest.py.
test: $(DEV)  ## run the tests (ARGS="-k galerkin -n 0" goes to pytest)
	$(PY) -m pytest -n auto --maxprocesses 8 --dist loadfile --no-loadscope-reorder $(ARGS)

# The oldest and the newest Numba that pyproject.toml allows, each in an environment of its own under build/.
test-numba: $(DEV)  ## test with the oldest and newest Numba, stock and with hooks (ARGS=--quick: less)
	$(PY) tools/test_numba.py $(ARGS)

# Never fails: without a browser those tests are skipped. On a machine that is not root's own, install it yourself.
browser:  ## install Chromium for the tests of pages, where this is root on Debian or Ubuntu
	@if command -v chromium >/dev/null 2>&1 || command -v google-chrome >/dev/null 2>&1; then \
		echo "Chromium is there"; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then \
		echo "Installing Chromium"; \
		export DEBIAN_FRONTEND=noninteractive; \
		{ timeout 120 apt-get update -qq && timeout 400 apt-get install -qq -y --no-install-recommends chromium; } \
			>/dev/null 2>&1 || echo "Chromium cannot be installed here: tests in a browser are skipped"; \
	else \
		echo "No Chromium here: tests in a browser are skipped"; \
	fi

lint: $(DEV)  ## check style, formatting and types
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m pyright --pythonpath $(PY)

format: $(DEV)  ## mend style and formatting where that is automatic
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

# What has a result of the same code is not run again, so that it can be stopped and started.
bench: $(DEV)  ## run the benchmarks (ARGS=--quick: short ones; ARGS=NAME: one of them)
	$(PY) -m benchmarks $(ARGS)

docs: $(DOCS)  ## build the documentation into site/
	$(PY) -m mkdocs build --strict
	@echo "Open site/index.html, or with a search box: $(PY) -m http.server -d site"

wheel: $(DEV)  ## build a wheel with compiled kernels into dist/ (ARGS=--first: with those of first runs)
	$(PY) tools/build_wheel.py $(ARGS)

clean:  ## remove .venv, caches and build products
	rm -rf $(VENV) build dist site .hypothesis .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(DEMO): EXTRAS := view
$(DEV): EXTRAS := dev,all
$(DOCS): EXTRAS := docs

$(DEMO) $(DEV) $(DOCS): pyproject.toml | $(PY)
	@echo "Installing leastaction[$(EXTRAS)] into $(VENV) (the first time takes a few minutes)"
	$(PY) -m pip install --disable-pip-version-check -e ".[$(EXTRAS)]"
	@touch $@ $(if $(filter $(DEV),$@),$(DEMO))

# The first interpreter that is new enough and can make a virtual environment (some systems ship it without venv).
$(PY):
	@for python in $(or $(PYTHON),python3 python3.13 python3.12 python3.11 python); do \
		if $$python -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
			echo "Creating $(VENV) with $$($$python --version)"; \
			exec $$python -m venv --clear $(VENV); \
		fi; \
	done; \
	echo "leastaction needs Python 3.11 or newer with the venv module, and found none among: $(or $(PYTHON),python3 python3.13 python3.12 python3.11 python)." >&2; \
	echo "Install one (on Debian or Ubuntu: apt install python3 python3-venv), or name yours: make PYTHON=path/to/python" >&2; \
	exit 1
