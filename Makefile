# `make demo` and `make test` work in a fresh clone: all else is fetched by pip.
# `make help` lists the rest. VENV= and PYTHON= choose the environment and its interpreter.

VENV ?= .venv
PYTHON ?= $(shell scripts/pythons --one)
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo check lint types imports architecture test test-fast test-cpython test-versions test-peers test-clis backends test-backends scale-parts test-scale test-pythons bench bench-peers docs dashboards dashboard-pictures format clean

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

demo: $(VENV)/.ready-demo ## the story of fixed cost in half a minute, with a stand-in tool: no key, no server
	@$(BIN)/llmphases demo

check: lint types imports test-pythons test-cpython test ## all that has to hold before a commit
	@echo "== check: everything holds"

lint: $(VENV)/.ready-dev ## style (ruff)
	@echo "== lint"
	@$(BIN)/ruff format --check --quiet . || { echo "make format does it" >&2; exit 1; }
	@$(BIN)/ruff check --quiet .

types: $(VENV)/.ready-dev ## types (mypy strict; pyright's engine on what users write)
	@echo "== types"
	@$(BIN)/mypy
	@$(BIN)/basedpyright --pythonpath $(BIN)/python

imports: $(VENV)/.ready-dev ## who may import whom (import-linter)
	@echo "== imports"
	@$(BIN)/lint-imports --no-cache

architecture: $(VENV)/.ready-dev ## the house rules alone; `test` includes them
	@echo "== architecture"
	@$(BIN)/python -m pytest -q tests/architecture

test: $(VENV)/.ready-dev ## the whole suite, real model server and real SDKs included; not test-cpython
	@echo "== test: the whole suite"
	@$(BIN)/python -m pytest

test-fast: $(VENV)/.ready-dev ## what takes less than about a second a test
	@$(BIN)/python -m pytest -q -m "not slow and not real"

test-cpython: $(VENV)/.ready-dev ## CPython's own tests of subprocesses, with our hooks around them
	@echo "== test-cpython"
	@$(BIN)/python -m pytest -q -m cpython

test-clis: $(VENV)/.ready-dev ## real agent tools against stated delays; npm fetches them once (1 GB)
	@scripts/test-clis $(BIN)/python

test-versions: $(VENV)/.ready-dev ## both ends of each client's range of versions, each in an environment of its own
	@$(BIN)/python scripts/test-versions

backends: ## builds the real Jaeger and Prometheus for test-backends (Go; 11 minutes the first time)
	@$(PYTHON) tests/backends/build.py

test-backends: $(VENV)/.ready-dev backends ## what we send, read back from real Jaeger and Prometheus
	@echo "== test-backends"
	@$(BIN)/python -m pytest -q -m backends tests/backends

scale-parts: backends ## fetches Kafka and OpenSearch (Java, Maven) and builds the collector (Go) for test-scale
	@$(PYTHON) tests/backends/scale/parts.py

test-scale: $(VENV)/.ready-dev scale-parts ## spans of many processes through the whole scale path, while parts of it end
	@echo "== test-scale"
	@$(BIN)/python -m pytest -q -m scale tests/backends/scale

test-peers: $(VENV)/.ready-dev ## beside instrumentations of others that want other versions than the suite
	@$(BIN)/python scripts/test-peers

test-pythons: ## the fast suite on every Python from 3.11 up that is here
	@scripts/test-pythons

bench: $(VENV)/.ready-dev ## what tracing costs; on a quiet machine (benchmarks/README.md)
	@$(BIN)/python benchmarks

bench-peers: $(VENV)/.ready-dev ## what it costs beside other instrumentations; pip fetches them once
	@$(BIN)/python benchmarks/peers

docs: $(VENV)/.ready-dev ## writes the generated tables in README.md and docs/ anew
	@$(BIN)/python docs/generate.py

dashboards: $(VENV)/.ready-dev ## writes the Grafana dashboards, the alert rules and docs/dashboards.md anew
	@$(BIN)/python -m dashboards.build

dashboard-pictures: $(VENV)/.ready-dev ## draws docs/pictures/*.png from what a real Prometheus answers (make backends)
	@$(BIN)/python -m dashboards.pictures

format: $(VENV)/.ready-dev ## lays out the code as lint wants it
	@$(BIN)/ruff check --quiet --fix-only .
	@$(BIN)/ruff format --quiet .

clean: ## throws away what was built; not $(VENV)
	@rm -rf build dist .lab .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(BIN)/python:
	@test -n "$(PYTHON)"
	@echo "== a virtual environment in $(VENV), from $(PYTHON)"
	@"$(PYTHON)" -m venv $(VENV)

$(VENV)/.ready-demo: pyproject.toml | $(BIN)/python
	@echo "== installing llmphases (a minute at most)"
	@$(INSTALL) -e '.[cli]'
	@touch $@

$(VENV)/.ready-dev: pyproject.toml | $(BIN)/python
	@echo "== installing llmphases and what its tests need (some minutes the first time)"
	@$(INSTALL) -e '.[dev]'
	@touch $@ $(VENV)/.ready-demo
