# Every target sets up what it needs: `make demo` plays a real match, `make test` runs the tests.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.ready
LOCK := requirements/dev.lock
PEERS := $(VENV)/peers

PYTEST := $(BIN)/pytest -q -n 2 --dist worksteal -p no:cacheprovider
COVERED := $(BIN)/coverage report --skip-covered --show-missing

.PHONY: setup demo paper weights test lint check mutants bench peers crash frameworks framework torture lock minimum pythons package sbom audit notes docs clean

setup: $(STAMP)

# The locked versions, each file checked against its hash; then, without an index, mashq itself, which fails if the
# lock lacks something that pyproject.toml asks for.
$(STAMP): pyproject.toml $(LOCK)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --require-hashes -r $(LOCK)
	$(BIN)/python -m pip install --quiet --no-index --no-build-isolation -e '.[dev]' || \
	  { echo "$(LOCK) does not fit pyproject.toml: run make lock."; exit 1; }
	touch $(STAMP)

demo: $(STAMP)
	$(BIN)/mashq weights
	$(BIN)/mashq demo

# The paper's main table, its Best-of-N and its ablation of vision, small, on the embedded model: real text, about 20
# minutes, one page and one LaTeX file. What a model of 135M can show is that all of it runs, not what the paper found.
SMALL := main_results_1 best_of_n order_ablation
EMBEDDED := local/smollm2-135m
paper: $(STAMP)
	$(BIN)/mashq weights
	$(BIN)/mashq paper play $(SMALL) --model $(EMBEDDED) --detector grounding --limit 2 --out runs/paper-small \
	  --set models.$(EMBEDDED).max_tokens=160 --set models.$(EMBEDDED).temperature=0.7
	$(BIN)/mashq paper show $(SMALL) --out runs/paper-small --format html > runs/paper-small.html
	$(BIN)/mashq paper show $(SMALL) --out runs/paper-small --format latex > runs/paper-small.tex
	@echo "runs/paper-small.html and runs/paper-small.tex: real text of a model of 135M parameters, which seldom decides"
	@echo "to review and whose summaries are poor. It shows that every step runs; it confirms nothing that the paper found."

weights: $(STAMP)
	$(BIN)/mashq weights || echo "The embedded model could not be fetched: the tests that need it will skip."

# What to run while working: everything but the tests marked slow.
test: weights
	$(PYTEST) -m "not slow"

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/pyright

# What must pass: the tests of `make test` with branch coverage measured, then the slow ones.
check: lint weights
	$(PYTEST) -m "not slow" --cov --cov-report=
	$(COVERED) --fail-under=99 --include='src/mashq/protocol/*,src/mashq/gateway/*'
	$(COVERED) --fail-under=98 --include='src/mashq/analysis/*,src/mashq/players/*'
	$(COVERED) --fail-under=94 --include='src/mashq/runs/*,src/mashq/report/*,src/mashq/web/*,src/mashq/export/*'
	$(PYTEST) -m slow

# How many planted faults the tests catch; 300 take an hour or so, and it goes on where it was stopped. Options:
# make mutants MUTANTS="--jobs 8 --folder analysis"
mutants: weights
	$(BIN)/python -m tools.mutants $(MUTANTS)

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

# The snippets of docs/external.md and the clients of every wire, with frameworks that the lock does not hold; those
# that take no current openai have an environment of their own.
FRAMEWORKS = anthropic google-genai openai-agents 'pydantic-ai-slim[openai,anthropic,google]' langchain-openai langgraph \
  smolagents
OLDER_CLIENT = 'crewai>=1' llama-index-llms-openai-like litellm dspy

frameworks: $(STAMP)
	$(MAKE) framework NAME=current PACKAGES="$(FRAMEWORKS)" TESTS="counted_exactly or snippet or documentation"
	$(MAKE) framework NAME=older PACKAGES="$(OLDER_CLIENT)" TESTS="snippet"

framework: $(STAMP)
	$(PYTHON) -m venv $(VENV)/frameworks/$(NAME)
	$(BIN)/uv pip install --quiet --python $(VENV)/frameworks/$(NAME)/bin/python -e . pytest pytest-asyncio pytest-timeout \
	  hypothesis openai $(PACKAGES)
	$(VENV)/frameworks/$(NAME)/bin/python -m pytest -q -p no:cacheprovider -W ignore tests/arena/test_contestants.py \
	  -k "$(TESTS)"

torture: $(STAMP)
	$(BIN)/python -m tests.torture

crash: $(STAMP)
	$(BIN)/python -m tests.arena.crash --kills 50

# The newest versions that pyproject.toml allows. Needs uv alone, so it works when the lock no longer fits.
lock: $(BIN)/uv
	$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-annotate \
	  --no-emit-index-url --custom-compile-command 'make lock' --extra dev --output-file $(LOCK) pyproject.toml

$(BIN)/uv:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet uv

# What a release needs: docs/releasing.md.
minimum: $(STAMP)
	$(BIN)/python -m tools.minimum

pythons: $(STAMP)
	$(BIN)/python -m tools.pythons

package: $(STAMP)
	$(BIN)/python -m tools.package

sbom: package
	$(BIN)/python -m tools.sbom

audit: package
	$(BIN)/uv tool run pip-audit --strict --no-deps --disable-pip -r $(VENV)/release/installed.txt

notes: $(STAMP)
	@$(BIN)/python -m tools.notes $(VERSION)

# The documentation as a site, with the reference generated from the code; fails on any warning. Opens from a disk.
docs: $(STAMP)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m tools.docs

clean:
	rm -rf $(VENV) runs dist build .coverage .coverage.* .pytest_cache .ruff_cache .hypothesis
