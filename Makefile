# Everything from a bare machine with python3, pip and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PYTEST_WORKERS ?= 2
# Neighbours in a file share models: each worker has its own part of the files, and takes
# over from the others when it is done.
# Threads of OpenMP that wait by spinning would keep the other workers from theirs.
PYTEST = OMP_WAIT_POLICY=passive $(BIN)/python -m pytest -q -n $(PYTEST_WORKERS) --dist worksteal --durations=25
# Parallel, and every warning is an error.
SPHINX = $(BIN)/python -m sphinx -W -j $(PYTEST_WORKERS) -q -d docs/_build/doctrees docs docs/_build/html

.PHONY: demo test test-slow docs docs-fast lint servers kernels wheel release-check figures reproduce frontier readability simplification benchmark exports streaming larger scale growing site clean

demo: $(VENV)/.installed  ## train, compare and print the rules
	$(BIN)/neuralrules demo

test: $(VENV)/.tested  ## lint, types, the site and all tests but the slow ones
	$(MAKE) --no-print-directory --jobs=4 lint servers kernels docs-fast
	$(PYTEST) -m "not slow"

test-slow: $(VENV)/.tested-slow servers kernels wheel  ## clean installs, and every variant of what other tests prove by one
	$(PYTEST) -m slow --ignore tests/cluster
	$(BIN)/python -m pytest -q --durations=25 tests/cluster  # one Ray cluster, in one process

docs: $(VENV)/.docs kernels  ## the site, into docs/_build/html, with all examples run
	$(SPHINX)

docs-fast: $(VENV)/.docs kernels  ## the same without running the examples
	$(SPHINX) -D plot_gallery=0

lint: $(VENV)/.tested
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

servers:  ## Debian's browser and database, for the tests of the report and of SQL
	sh tests/install_servers.sh

kernels: $(VENV)/.installed  ## compile the kernels into numba's cache, as the first fit does
	$(BIN)/python tests/compile_kernels.py

wheel: $(VENV)/.tested  ## the built wheel, alone in a clean environment, must fit a model
	$(BIN)/python tests/clean_install.py

release-check: $(VENV)/.released  ## what is to be published, in dist/: checked, and installed as users do
	$(BIN)/python tests/clean_install.py dist

figures: $(VENV)/.reproduction  ## draw the paper's simulations and the pictures of docs/reading.md
	$(BIN)/python -m benchmarks.simulations
	$(BIN)/python -m benchmarks.gallery

reproduce: $(VENV)/.reproduction  ## measure the paper's table (hours; resumes); ARGS=--quick for a look
	$(BIN)/python -m benchmarks.reproduce $(ARGS)

frontier: $(VENV)/.frontier  ## measure our models and their peers (hours; resumes); ARGS=--quick for a look
	$(BIN)/python -m benchmarks.frontier $(ARGS)

readability: $(VENV)/.readability  ## measure what contracts cost, beside readable peers (an hour; resumes)
	$(BIN)/python -m benchmarks.readability --write $(ARGS)

simplification: $(VENV)/.reproduction  ## measure simplified models on held-out rows
	$(BIN)/python -m benchmarks.simplification --write

benchmark: $(VENV)/.benchmarks  ## measure speed and rewrite docs/speed.md
	$(BIN)/python -m benchmarks.speed --write

exports: $(VENV)/.benchmarks  ## measure sizes and speed of the exports and rewrite docs/exports.md
	$(BIN)/python -m benchmarks.exports --write

streaming: $(VENV)/.benchmarks  ## measure the scoring of a long table and rewrite docs/streaming.md
	$(BIN)/python -m benchmarks.streaming --write

scale: $(VENV)/.scale  ## measure workers of a Ray cluster and rewrite docs/scale.md
	$(BIN)/python -m benchmarks.scale --write

larger: $(VENV)/.benchmarks  ## fit on a table larger than memory and rewrite docs/larger.md
	$(BIN)/python -m benchmarks.larger --write

growing: $(VENV)/.boosting  ## fit growing tables beside boosted trees and rewrite docs/speed.md
	$(BIN)/python -m benchmarks.growing --write

site: $(VENV)/.tested  ## measure the site, its build and its accessibility, and rewrite docs/site.md
	$(BIN)/python -m benchmarks.site --write

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"

$(VENV)/.installed: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable ".[all]"
	touch $@

$(VENV)/.tested: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --group test
	touch $@ $(VENV)/.docs

$(VENV)/.tested-slow: $(VENV)/.tested
	$(BIN)/python -m pip install --quiet --group test-slow
	touch $@

$(VENV)/.docs: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --group docs
	touch $@

$(VENV)/.released: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --group release
	touch $@

$(VENV)/.reproduction: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --group reproduction
	touch $@

$(VENV)/.frontier: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --group frontier
	touch $@

$(VENV)/.readability: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --group readability
	touch $@

$(VENV)/.boosting: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --group boosting
	touch $@

$(VENV)/.scale: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --group scale
	touch $@

$(VENV)/.benchmarks: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --group benchmarks
	touch $@

clean:
	rm -rf $(VENV) build dist docs/_build docs/api docs/gallery docs/tutorials .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +
