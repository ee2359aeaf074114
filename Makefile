# make reproduce   everything from cached results: tables, figures, report, paper/main.pdf. Never trains.
# make test        the whole test suite, at smoke scale
# make rerun-one   trains one published run again and shows it beside the published record
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

PYTHON ?= $(firstword $(foreach p,python3.11 python3.12 python3.13 python3.14 python3,$(shell \
	$(p) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $(p))))
REPORT := .venv/report
FULL := .venv/full
RERUN ?= boolean 2parity mask --seed 0
PIP := -m pip --disable-pip-version-check --no-input
# The project's own package is read from src/; DVC keeps its notes inside the project.
export PYTHONPATH := $(CURDIR)/src
export DVC_NO_ANALYTICS := 1
export DVC_SITE_CACHE_DIR := $(CURDIR)/.dvc/tmp/site
report = PATH="$(CURDIR)/$(REPORT)/bin:$$PATH"
full = PATH="$(CURDIR)/$(FULL)/bin:$$PATH"

define restore
	@echo "== restore the published results from the DVC remote and verify them"
	@test -e .git || $(1) dvc config --local core.no_scm true
	@$(1) python -m maskprior restore
	@$(1) python -m maskprior verify
endef

.PHONY: help reproduce setup test rerun-one lint clean restore

help:
	@echo "make reproduce   restore the cached results, rebuild every table and figure and the paper (no training)"
	@echo "make test        run the whole test suite at smoke scale, in the full environment"
	@echo "make rerun-one   train one published run again and compare it with the published record"
	@echo "make setup       create the full environment (torch, tests) in $(FULL)"
	@echo "make lint        ruff, mypy, import contracts, snakefmt and snakemake --lint"
	@echo "make clean       remove what was built; environments, published and local records stay"

reproduce: $(REPORT)/.installed
	@$(report) python -m maskprior.build.reproduce

restore: $(REPORT)/.installed
	$(call restore,$(report))

setup: $(FULL)/.installed

# With the published records, so that the tests of the evidence itself run too.
test: $(FULL)/.installed
	@$(full) python -m maskprior restore
	@echo "== run the test suite"
	@$(full) python -m pytest -q -n 2 --dist loadfile

rerun-one: $(FULL)/.installed
	$(call restore,$(full))
	@echo "== train $(RERUN) again and compare it with the published record"
	@$(full) python -m maskprior run $(RERUN) --recompute
	@$(full) python -m maskprior compare $(RERUN)

lint: $(FULL)/.installed
	@echo "== lint"
	@$(full) ruff check .
	@$(full) ruff format --check .
	@$(full) mypy
	@$(full) lint-imports
	@$(full) snakefmt --check Snakefile workflow
	@$(full) snakemake --lint

clean:
	@echo "== remove what was built"
	@rm -rf build paper/main.pdf paper/generated results/logs .pytest_cache .mypy_cache .ruff_cache .hypothesis
	@! test -d .snakemake || find .snakemake -mindepth 1 -maxdepth 1 ! -name conda -exec rm -rf {} +

# uv and pip install the same files, whose hashes the lock holds. uv takes a tenth of the time; pip is there where uv is not.
$(REPORT)/.installed: requirements/report.txt requirements/uv.txt
	@echo "== create the reading environment in $(REPORT) (half a minute)"
	@test -n "$(PYTHON)" || { echo "no Python >= 3.11 found; install one or call make PYTHON=/path/to/python" >&2; exit 1; }
	@$(PYTHON) -m venv $(REPORT)
	@{ $(REPORT)/bin/python $(PIP) install --quiet --require-hashes --no-deps -r requirements/uv.txt && $(REPORT)/bin/uv \
		pip install --quiet --python $(REPORT)/bin/python --require-hashes --no-deps -r requirements/report.txt; \
		} > $(REPORT)/uv.log 2>&1 || { echo "uv could not ($(REPORT)/uv.log says why); pip takes a minute longer"; \
		$(REPORT)/bin/python $(PIP) install --quiet --require-hashes --no-deps -r requirements/report.txt; }
	@$(REPORT)/bin/python $(PIP) install --quiet --no-build-isolation --no-deps -e .
	@touch $@

$(FULL)/.installed: requirements/dev.txt
	@echo "== create the full environment in $(FULL) (several minutes: torch is large)"
	@test -n "$(PYTHON)" || { echo "no Python >= 3.11 found; install one or call make PYTHON=/path/to/python" >&2; exit 1; }
	@$(PYTHON) -m venv $(FULL)
	@$(FULL)/bin/python $(PIP) install --quiet --require-hashes --no-deps -r requirements/dev.txt
	@$(FULL)/bin/python $(PIP) install --quiet --no-build-isolation --no-deps -e .
	@touch $@
