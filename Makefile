# Every target is a line; what needs more is a Python module.
PYTHON ?= python3
BIN := .venv/bin
.DEFAULT_GOAL := help

help: ## list these targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 12

setup: ## make .venv and install what the lock names
	@$(PYTHON) ops/find_python.py

run: setup ## start everything on this machine, until Ctrl-C
	@$(BIN)/onereply run

demo: setup ## show the promise in under two minutes, on a broker of its own
	@$(BIN)/onereply demo

format: setup ## lay the code out
	@$(BIN)/ruff format . && $(BIN)/ruff check --fix .

check: setup ## lint, types, arrows
	@$(BIN)/ruff format --check . && $(BIN)/ruff check . && $(BIN)/mypy

quick: check ## check, unit and property tests: the inner loop
	@$(BIN)/pytest -q -n 2 tests/unit tests/properties

test: setup ## every test but chaos and bench, on a broker of its own
	@$(BIN)/pytest -q -n 2 tests/unit tests/properties tests/contract
	@$(BIN)/pytest -v -n 2 --dist loadfile -m "not chaos" tests/integration tests/faults tests/docs

chaos: setup ## kill everything under load, after the long fault tests (KILLS=n SEED=s for it alone)
	@$(if $(KILLS),,$(BIN)/pytest -v -m chaos tests/faults)
	@$(BIN)/python -m tests.chaos

bench: setup ## figures, each checked against its own result (NAME=dedupe for one)
	@$(BIN)/python -m tests.bench $(NAME)

clean: ## remove what setup and run made: .venv and .onereply
	@[ ! -x $(BIN)/python ] || $(BIN)/python -m ops.in_use
	@rm -rf .venv .onereply .mypy_cache .ruff_cache .pytest_cache .hypothesis *.egg-info

.PHONY: help setup run demo format check quick test chaos bench clean
