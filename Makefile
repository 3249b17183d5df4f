# Everything sets itself up: `make demo` plays a real match, `make test` runs the tests.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.ready

PEERS := $(VENV)/peers

.PHONY: setup demo test check bench peers crash torture lock minimum pythons package sbom audit notes clean

setup: $(STAMP)

# The locked versions, each file checked against its hash; `make lock` takes newer ones.
$(STAMP): pyproject.toml requirements/dev.lock
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements/dev.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation -e .
	$(BIN)/python -m tools.lock --check
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
	$(BIN)/python bench/store.py
	$(BIN)/python bench/start.py
	$(BIN)/python bench/view.py open
	if $(BIN)/python -c "import torch" 2>/dev/null; then $(BIN)/python bench/detectors.py; \
	  else echo "The neural detectors were not measured: pip install torch."; fi

# The gateway beside what else a user would pick, in an environment of their own.
peers: $(STAMP)
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/python -m pip install --quiet --upgrade pip
	$(PEERS)/bin/python -m pip install --quiet -e . openai inspect_ai 'lm_eval[api]'
	$(PEERS)/bin/python bench/gateway.py

torture: $(STAMP)
	$(BIN)/python -m tests.torture

crash: $(STAMP)
	$(BIN)/python -m tests.arena.crash --kills 50

# What a release needs: docs/releasing.md.
lock: $(STAMP)
	$(BIN)/python -m tools.lock

minimum: $(STAMP)
	$(BIN)/python -m tools.minimum

pythons: $(STAMP)
	$(BIN)/python -m tools.pythons

package: $(STAMP)
	$(BIN)/python -m tools.package

sbom: $(STAMP)
	$(BIN)/python -m tools.sbom

audit: $(STAMP)
	$(BIN)/python -m tools.audit

notes: $(STAMP)
	@$(BIN)/python -m tools.notes $(VERSION)

clean:
	rm -rf $(VENV) runs dist build .pytest_cache .ruff_cache .hypothesis
