# Every target sets up what it needs in .venv; only Python 3.11 (or newer) and make must be there.
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin

.PHONY: demo test check lint types arch format quality series bench clean

demo: $(VENV)/.demo
	$(RUN)/imkpl demo

test: $(VENV)/.dev
	$(RUN)/python -m pytest -n 2 -q

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

# Accuracy on time series, from the same folder; takes an hour, can be resumed.
series: $(VENV)/.dev
	$(RUN)/python benchmarks/series.py --write

# Speed and memory beside peers; about a quarter of an hour on two quiet cores, and 4 GB of disk.
bench: $(VENV)/.dev
	$(RUN)/python -m pytest benchmarks/speed -o pythonpath=benchmarks/speed -o filterwarnings=default -q --write

clean:
	rm -rf $(VENV) build dist .pytest_cache .ruff_cache .mypy_cache .hypothesis

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: $(VENV)/bin/python pyproject.toml
	$(RUN)/python -m pip install --quiet --editable ".[cli,report]"
	touch $@

$(VENV)/.dev: $(VENV)/bin/python pyproject.toml
	$(RUN)/python -m pip install --quiet --editable ".[dev]"
	touch $@
