# Everything sets itself up: `make demo` plays a real match, `make test` runs the tests.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.ready

.PHONY: setup demo test check bench crash torture clean

setup: $(STAMP)

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -e '.[dev]'
	touch $(STAMP)

demo: $(STAMP)
	$(BIN)/mashq weights
	$(BIN)/mashq demo

test: $(STAMP)
	$(BIN)/mashq weights || echo "The embedded model could not be fetched: the tests that need it will skip."
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(BIN)/pytest -q -n 2 --dist worksteal -p no:cacheprovider

check: test
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/pytest -q -n 2 -p no:cacheprovider tests/protocol tests/gateway --cov=mashq.protocol --cov=mashq.gateway \
	  --cov-branch --cov-report=term-missing --cov-fail-under=99

bench: $(STAMP)
	$(BIN)/python bench/gateway.py
	$(BIN)/python bench/match.py
	$(BIN)/python bench/engine.py
	$(BIN)/python bench/season.py
	$(BIN)/python bench/detectors.py

torture: $(STAMP)
	$(BIN)/python -m tests.torture

crash: $(STAMP)
	$(BIN)/python -m tests.arena.crash --kills 50

clean:
	rm -rf $(VENV) runs dist build .pytest_cache .ruff_cache .hypothesis
