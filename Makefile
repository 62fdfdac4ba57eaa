# Every target sets up what it needs in .venv; only Python 3.11 (or newer) and make must be there.
# On Windows it is run from Git's bash.
PYTHON ?= $(if $(filter Windows_NT,$(OS)),python,python3)
BIN := $(if $(filter Windows_NT,$(OS)),Scripts,bin)
EXE := $(if $(filter Windows_NT,$(OS)),.exe)
VENV := .venv
RUN := $(VENV)/$(BIN)
TOOLS := $(VENV)/tools/$(BIN)

.PHONY: demo test docs browser check lint types arch format quality reasons series reproduce bench clean
.PHONY: faults fuzz soak lock locked minimum newest audit dist review release compare core

demo: $(VENV)/.demo
	$(RUN)/imkpl demo

# Neighbouring tests, which share fitted models, stay in one of the two processes.
test: $(VENV)/.dev browser
	$(RUN)/python -m pytest -n 2 --dist worksteal -q

# The site, in docs/_build/html; its examples run, and warnings are errors. Links inside are checked.
docs: $(VENV)/.docs
	$(RUN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	$(RUN)/python docs/check_site.py docs/_build/html

# Report pages are tested in Chromium. Where it is missing and may be installed, it is, if that takes
# no longer than two minutes to download; else these tests are skipped.
browser:
	@for name in chromium chromium-browser google-chrome; do command -v $$name && exit; done >/dev/null; \
	export DEBIAN_FRONTEND=noninteractive; \
	test "$$(id -u)" = 0 && command -v apt-get >/dev/null \
	&& timeout 120 sh -c 'apt-get update -qq && apt-get install -qq -y --download-only chromium' >/dev/null 2>&1 \
	&& apt-get install -qq -y chromium >/dev/null 2>&1 \
	|| echo "There is no Chromium here and it cannot be installed: the tests of report pages are skipped."

check: lint types arch test

lint: $(VENV)/.dev
	$(RUN)/ruff check . && $(RUN)/ruff format --check .

types: $(VENV)/.dev
	$(RUN)/mypy

arch: $(VENV)/.dev
	$(RUN)/lint-imports

format: $(VENV)/.dev
	$(RUN)/ruff check --fix . && $(RUN)/ruff format .

# Accuracy on real data, from the folder that IMKPL_DATA names; takes minutes, can be resumed.
quality: $(VENV)/.dev
	$(RUN)/python benchmarks/quality.py --write

# Whether reasons can be believed, beside controls; from the same folder, most of an hour, can be resumed.
reasons: $(VENV)/.dev
	$(RUN)/python benchmarks/reasons.py --write

# Accuracy on time series, from the same folder; takes an hour, can be resumed.
series: $(VENV)/.dev
	$(RUN)/python benchmarks/series.py --write

# Beside methods that others use, on tables and series; hours, can be resumed. MINUTES=30 stops earlier.
# aeon and its torch have needs of their own, and so an environment.
MINUTES ?= inf
compare: $(RUN)/python$(EXE)
	$(RUN)/python -m venv $(VENV)/compare
	$(VENV)/compare/$(BIN)/python -m pip install --quiet --editable . --editable "paper[compare]"
	$(VENV)/compare/$(BIN)/python benchmarks/compare.py --minutes $(MINUTES) --write
	$(VENV)/compare/$(BIN)/python benchmarks/capabilities.py --write

# The paper's tables and figures on small data, some minutes; without --quick, hours.
reproduce: $(VENV)/.dev
	$(RUN)/imkpl-paper reproduce all --quick

# Speed and memory beside peers; about a quarter of an hour on two quiet cores, and 4 GB of disk.
bench: $(VENV)/.dev
	$(RUN)/python -m pytest benchmarks/speed -o pythonpath=benchmarks/speed -o filterwarnings=default -q --write

# Workers of Dask that are killed at random moments; takes minutes.
faults: $(VENV)/.dev
	$(RUN)/python -m pytest -m faults -q

# Bad input and trusted numbers, thousands of cases in child processes; about half an hour of a core.
# CASES=100 runs fewer of every kind, FIRST=5000 others.
CASES ?= 500
FIRST ?= 0
fuzz: $(VENV)/.dev
	PYTHONPATH=tests NUMBA_NUM_THREADS=4 $(RUN)/python -m fuzz --cases $(CASES) --first $(FIRST)

# 500 fits in one process, 10 000 altered model files, threads and pools of processes.
soak: $(VENV)/.dev
	$(RUN)/python -m pytest -n 0 -q -m soak tests/soak

# Pins the development environment with the hash of every file; uv resolves for all systems at once.
LOCK := requirements/dev.txt
COMPILE := $(TOOLS)/uv pip compile --quiet --python-version 3.11
lock: $(VENV)/.tools
	$(COMPILE) --universal --upgrade --generate-hashes --no-annotate --no-header --extra dev \
	pyproject.toml requirements/build.in --output-file $(LOCK)

# The tests in exactly the pinned environment. `make test` takes the newest releases instead.
locked: $(RUN)/python$(EXE)
	$(RUN)/python -m venv --clear $(VENV)/locked
	$(VENV)/locked/$(BIN)/python -m pip install --quiet --require-hashes --requirement $(LOCK)
	$(VENV)/locked/$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable . --editable paper
	$(VENV)/locked/$(BIN)/python -m pytest -n 2 -q

# The tests of what other packages touch most, with the lowest versions that pyproject.toml allows,
# and with the newest there are.
CORE := tests/files tests/solvers tests/kernels tests/model tests/test_tables.py tests/estimators
minimum: $(RUN)/python$(EXE) $(VENV)/.tools
	$(RUN)/python -m venv --clear $(VENV)/minimum
	$(COMPILE) --resolution lowest-direct --extra test pyproject.toml --output-file $(VENV)/minimum.txt
	$(TOOLS)/uv pip install --quiet --python $(VENV)/minimum --requirement $(VENV)/minimum.txt
	PYTHONPATH=$(CURDIR)/src NUMBA_CACHE_DIR=$(VENV)/minimum/numba $(VENV)/minimum/$(BIN)/python -m pytest \
	-n 2 -q $(CORE)

# The same tests in the environment of the other targets.
core: $(VENV)/.dev
	$(RUN)/python -m pytest -n 2 -q $(CORE)

newest: $(RUN)/python$(EXE)
	$(RUN)/python -m venv --clear $(VENV)/newest
	$(VENV)/newest/$(BIN)/python -m pip install --quiet --upgrade --editable ".[test]"
	NUMBA_CACHE_DIR=$(VENV)/newest/numba $(VENV)/newest/$(BIN)/python -m pytest -n 2 -q $(CORE)

# Source distribution and, from it, the wheel, whose metadata are checked and which then runs the demo
# in an environment of its own.
dist: $(RUN)/python$(EXE) $(VENV)/.tools
	rm -rf dist
	$(TOOLS)/uv build --quiet
	$(TOOLS)/twine check --strict dist/*
	$(RUN)/python -m venv --clear $(VENV)/dist
	$(VENV)/dist/$(BIN)/python -m pip install --quiet "$$(ls dist/*.whl)[cli]"
	cd $(VENV)/dist && $(BIN)/imkpl demo
	ls -l dist

# What Scientific Python expects of a repository (exceptions and their reasons are in pyproject.toml),
# and whether the workflow is safe and well formed.
review: $(VENV)/.tools
	$(TOOLS)/repo-review .
	$(TOOLS)/zizmor --offline --quiet .github
	$(TOOLS)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(TOOLS)/check-jsonschema --builtin-schema vendor.github-issue-forms $$(ls .github/ISSUE_TEMPLATE/*.yml | grep -v config)
	$(TOOLS)/check-jsonschema --builtin-schema vendor.citation-file-format CITATION.cff

# Everything before an upload, and the tag: `make release VERSION=0.1.0`. Nothing leaves this machine.
release: $(VENV)/.tools
	$(RUN)/python .ci/check_release.py "$(VERSION)"
	$(MAKE) check docs minimum newest audit review dist
	git tag --annotate "v$(VERSION)" --message "imkpl $(VERSION)"
	@echo "Tagged v$(VERSION). docs/releasing.md says how to publish dist/."

# Known vulnerabilities of the pinned packages. Needs the network; what cannot be looked up is an error.
audit: $(VENV)/.tools
	$(TOOLS)/pip-audit --strict --disable-pip --requirement $(LOCK)

$(VENV)/.tools: $(RUN)/python$(EXE)
	$(RUN)/python -m venv $(VENV)/tools
	$(TOOLS)/python -m pip install --quiet check-jsonschema pip-audit "sp-repo-review[cli]" twine uv zizmor
	touch $@

clean:
	rm -rf $(VENV) build dist .pytest_cache .ruff_cache .mypy_cache .hypothesis

$(RUN)/python$(EXE):
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: $(RUN)/python$(EXE) pyproject.toml
	$(RUN)/python -m pip install --quiet --editable ".[cli]"
	touch $@

$(VENV)/.docs: $(VENV)/.dev
	$(RUN)/python -m pip install --quiet --editable ".[docs]"
	touch $@

$(VENV)/.dev: $(RUN)/python$(EXE) pyproject.toml paper/pyproject.toml
	$(RUN)/python -m pip install --quiet --editable ".[dev]" --editable paper
	touch $@
