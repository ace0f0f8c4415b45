# `make help` lists the targets. The two commands a newcomer needs: run and test.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PORT ?= 8501
export VLLM PYTHON

.DEFAULT_GOAL := help
.PHONY: help setup run test check faults perf calibration vllm vllm-page lock clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(VENV)/.app: requirements.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements.txt
	@touch $@

$(VENV)/.dev: $(VENV)/.app requirements-dev.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.txt
	@touch $@

setup: $(VENV)/.dev ## make the virtual environment with everything in it

run: $(VENV)/.app ## start the app; the demo runs when nothing is configured
	$(BIN)/streamlit run app.py --server.port $(PORT)

check: $(VENV)/.dev ## format, lint, types, import rules
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: check ## check, then all tests (under 10 minutes on 2 cores)
	$(BIN)/pytest -n 3 --dist loadgroup -m "not faults"

faults: $(VENV)/.dev ## kill collector and app at random, 50 times and more
	$(BIN)/pytest -m faults -s

perf: $(VENV)/.dev ## measure ingest and pages; prints ratios, minutes long
	PYTHONPATH=. $(BIN)/python tests/perf/ingest.py
	PYTHONPATH=. $(BIN)/python tests/perf/requests.py
	PYTHONPATH=. $(BIN)/python tests/perf/quality.py
	PYTHONPATH=. $(BIN)/python tests/perf/history.py

calibration: $(VENV)/.dev ## check on simulated sessions that quality intervals hold, half a minute
	PYTHONPATH=. $(BIN)/python tests/perf/calibration.py

vllm: $(VENV)/.app ## run the small benchmark on a real vLLM; VLLM=/path/to/vllm takes one that is there
	tests/vllm/small.sh

vllm-page: $(VENV)/.dev ## the same, launched from the page in Chromium
	tests/vllm/small.sh page

lock: $(VENV)/.dev ## renew requirements.txt and requirements-dev.txt from the .in files
	$(BIN)/pip install --quiet uv
	$(BIN)/uv pip compile --quiet --python-version 3.11 --generate-hashes requirements.in -o requirements.txt
	$(BIN)/uv pip compile --quiet --python-version 3.11 --generate-hashes -c requirements.txt requirements-dev.in -o requirements-dev.txt

clean: ## remove the virtual environment and caches, not the data
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
