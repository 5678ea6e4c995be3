# Everything here sets itself up in .venv on a machine that has Python, make and git.
PYTHON ?= python3
PY := .venv/bin/python
PIP := $(PY) -m pip install --quiet --constraint constraints.txt
# NumPy's linear algebra is as fast on one thread for these sizes, and tests run in two processes.
TEST_ENV := env OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1

.PHONY: demo test lint report-check bench league levels paper paper-quick clean
.DEFAULT_GOAL := demo

demo: .venv/base  ## compare two small files and print the verdict
	@$(PY) examples/compare_two_files.py

test: .venv/dev lint  ## lint, type check, tests, doctests, coverage
	$(TEST_ENV) $(PY) -m pytest -n 2 --cov --cov-report=term

lint: .venv/dev
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy

report-check: .venv/dev  ## tests of the report, in headless Chromium where there is one
	$(TEST_ENV) $(PY) -m pytest tests/report

bench: .venv/dev  ## measure speed, and how it grows; writes benchmarks/results/*.json
	env -u OPENBLAS_CORETYPE OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(PY) -m benchmarks.speed
	env -u OPENBLAS_CORETYPE OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(PY) -m benchmarks.classic
	env -u OPENBLAS_CORETYPE OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(PY) -m benchmarks.nystrom
	env -u OPENBLAS_CORETYPE $(PY) -m benchmarks.growth

league: .venv/dev  ## power beside other tests on the same draws, hours; stops and resumes
	$(PY) -m benchmarks.power.league --store

levels: .venv/dev  ## the level of every path, 5,000 draws each
	$(PY) -m benchmarks.levels

paper: .venv/dev  ## repeat the paper's experiments, hours; stops and resumes; writes experiments/results/
	env -u OPENBLAS_CORETYPE OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(PY) -m experiments.run

paper-quick: .venv/dev  ## all its figures with few trials, minutes; writes experiments/results/quick/
	env -u OPENBLAS_CORETYPE OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(PY) -m experiments.run --quick

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/base: .venv/bin/python pyproject.toml constraints.txt
	$(PIP) --editable .
	@touch $@

.venv/dev: .venv/base
	$(PIP) --editable '.[all,test,lint]'
	@touch $@

clean:
	rm -rf .venv build dist .coverage .pytest_cache .mypy_cache .ruff_cache
