# `make setup` makes .venv and installs everything pinned; every other target starts with it. `make help` lists them.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.ONESHELL:
.DEFAULT_GOAL := help

VENV := .venv
BIN := $(VENV)/bin
LOCK := requirements.lock
STAMP := $(VENV)/.installed
# what an installation hangs on: the pins, the package's own definition, and the folder (a moved .venv does not work)
KEY = $$( { cat $(LOCK) pyproject.toml; echo "$(CURDIR)"; } | sha256sum | cut -d ' ' -f 1)
# the first Python that is new enough; `make setup PYTHON=/path/to/python` chooses another
PYTHON ?= $(shell for python in python3 python3.11 python3.12 python3.13 python3.14; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$python; break; }; done)
# one torch thread a process: tests and benches share the machine's cores
export OMP_NUM_THREADS ?= 1
TESTS ?= tests

.PHONY: help setup environment page serve test lint bench attack fuzz soak images clean

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

setup: environment  ## make .venv, install everything that requirements.lock pins, build the page
	@$(BIN)/python web/build.py --optional

environment:
	@umask 022  # the sandbox's own user must be able to read what is installed
	key=$(KEY)
	if [ "$$(cat $(STAMP) 2>/dev/null)" = "$$key" ] && [ -x $(BIN)/python ]; then exit 0; fi
	if ! $(BIN)/python -c 'import pip' 2>/dev/null || ! grep -qsF "$(CURDIR)" $(VENV)/pyvenv.cfg $(BIN)/activate; then
		if [ -z "$(PYTHON)" ]; then
			echo 'setup: no Python 3.11 or newer found; install one, or say where: make setup PYTHON=/path/to/python' >&2; exit 2
		fi
		if ! $(PYTHON) -c 'import ensurepip, venv' 2>/dev/null; then
			echo 'setup: $(PYTHON) can not make environments; install its venv module (on Debian: python3-venv)' >&2; exit 2
		fi
		echo "setup: making $(VENV) with $$($(PYTHON) --version)"
		$(PYTHON) -m venv --clear $(VENV)
	fi
	echo 'setup: installing what $(LOCK) pins (torch is large: a few minutes the first time)'
	$(BIN)/python -m pip install --disable-pip-version-check --requirement $(LOCK) | { grep -v '^Requirement already' || true; }
	echo 'setup: installing the grader itself'
	$(BIN)/python -m pip install --disable-pip-version-check --quiet --no-deps --no-build-isolation --editable .
	echo "$$key" > $(STAMP)
	echo 'setup: done; the command line is $(BIN)/grader'

page: environment  ## the page alone; fails where `make setup` goes on without it
	@$(BIN)/python web/build.py

serve: setup  ## the whole service on http://127.0.0.1:8000; GRADER_PORT sets another port
	@exec $(BIN)/grader serve

test: setup  ## the whole test suite; what this machine lacks is skipped, with its reason printed
	@echo 'test: running $(TESTS)'
	$(BIN)/python -m pytest $(TESTS)

lint: setup  ## ruff and mypy; for the page the TypeScript compiler and oxlint
	@echo 'lint: ruff'
	$(BIN)/ruff check .
	echo 'lint: mypy --strict'
	$(BIN)/mypy grader bench web $$([ -d app ] && echo app)
	echo 'lint: tsc and oxlint'
	$(BIN)/python web/build.py --lint

bench: setup  ## milliseconds per submission, beside a cold process and the bare floor; the page in Chromium
	@$(BIN)/python -m bench.engine
	$(BIN)/python -m bench.service
	$(BIN)/python -m bench.page

attack: setup  ## every example submission, hostile ones included, against the real sandbox
	@$(BIN)/python -m pytest tests/test_submissions.py

fuzz: setup  ## random sources, messages and case files; GRADER_FUZZ_EXAMPLES says how many
	@GRADER_FUZZ_EXAMPLES=$${GRADER_FUZZ_EXAMPLES:-2000} $(BIN)/python -m pytest tests -k fuzz

soak: setup  ## GRADER_SOAK (2000) files in a row: no process, descriptor, directory or memory may be left
	@GRADER_SOAK=$${GRADER_SOAK:-2000} $(BIN)/python -m pytest tests/test_soak.py

# the images' base: pulled, or made from Debian packages; WHEELS=1: pip of this machine downloads, and the build only takes
BASE_IMAGE ?= $(shell sed -n 's/^ARG BASE_IMAGE=//p' Dockerfile | head -n 1)
TORCH_INDEX ?= $(shell sed -n 's/^ARG TORCH_INDEX=//p' Dockerfile | head -n 1)
PIP_FLAGS ?= $(if $(WHEELS),--no-index)

images: $(if $(WHEELS),setup)  ## grader-sandbox and grader-service; WHEELS=1 where the build reaches no package index
	@if [ -n "$(WHEELS)" ]; then
		echo 'images: downloading wheels'
		$(BIN)/python -m pip download --disable-pip-version-check --quiet --no-deps --dest images/wheels --requirement $(LOCK)
	fi
	docker image inspect $(BASE_IMAGE) > /dev/null 2>&1 || docker pull --quiet $(BASE_IMAGE) 2> /dev/null \
		|| images/make-base-image.sh $(BASE_IMAGE)
	for image in sandbox service; do
		echo "images: building grader-$$image (torch is large: some minutes the first time)"
		docker build --quiet --network host --target $$image --tag grader-$$image --build-arg BASE_IMAGE=$(BASE_IMAGE) \
			--build-arg TORCH_INDEX=$(TORCH_INDEX) --build-arg PIP_FLAGS=$(PIP_FLAGS) .
	done

clean:  ## remove .venv and everything that tools left behind
	rm -rf $(VENV) web/node_modules app/bundle/* .pytest_cache .mypy_cache .ruff_cache .hypothesis *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
