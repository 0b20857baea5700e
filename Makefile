# `make help` lists the commands; tools/setup does the work behind setup.

PYTHON := .venv/bin/python
# One worker more than CPUs: some wait. Tests that take the machine's lock all run in one.
WORKERS := --numprocesses $(shell expr $$(nproc) + 1) --dist loadgroup
# HOUSE=machine: the tests of that house alone.
TESTS := $(if $(HOUSE),tests/$(HOUSE))
# Tests start Python hundreds of times: let it keep what it compiled.
unexport PYTHONDONTWRITEBYTECODE
# Goldens are kept as the generator wrote them.
C_FILES = $(shell find runtime fragments src tests core \( -name '*.[ch]' -o -name '*.[ch]pp' \) ! -path 'tests/golden/*')

.DEFAULT_GOAL := help
.PHONY: help run test test-all setup setup-dev setup-bench generated lint types bench format clean

help: ## list these commands
	@sed -n 's/^\([a-z][a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 12

run: ## set up what is missing, measure what sharing costs here (three minutes), print it
	@tools/setup measure
	.venv/bin/deadbeat contention --quick

test: setup-dev ## set up what is missing, run the tests, with HOUSE=machine those of that house
	$(PYTHON) -m pytest $(WORKERS) $(TESTS) -m "not slow and not statistical"

test-all: setup-dev ## run every test, also the slow and statistical ones
	$(PYTHON) -m pytest $(WORKERS) $(TESTS)

setup: ## set up what measuring needs; the scheduling core is built when first needed
	@tools/setup measure

setup-dev: ## set up what the tests need too
	@tools/setup dev

setup-bench: ## set up what `make bench` compares with too
	@tools/setup bench

generated: setup-dev ## renew all that is generated: what checks read, pages, types of the native module
	$(PYTHON) tools/reads.py
	$(PYTHON) tools/docs.py
	tools/stub

lint: setup-dev ## ruff, and the layout of Python and C
	$(PYTHON) -m ruff check .
	$(PYTHON) -m ruff format --check .
	@.venv/bin/clang-format --dry-run -Werror $(C_FILES)

types: setup-dev ## mypy, strict
	$(PYTHON) -m mypy

bench: setup-bench ## measure deadbeat's own speed, a line of JSON per figure
	@failed=; for file in bench/bench_*.py; do $(PYTHON) $$file || failed="$$failed $$file"; done; \
	test -z "$$failed" || { echo "failed:$$failed" >&2; exit 1; }

format: setup-dev ## lay out Python and C
	$(PYTHON) -m ruff check --fix-only --quiet .
	$(PYTHON) -m ruff format .
	@.venv/bin/clang-format -i $(C_FILES)

clean: ## remove what was built; results in runs/ and .venv stay
	rm -rf build .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests bench tools -name __pycache__ -type d -prune -exec rm -rf {} +
