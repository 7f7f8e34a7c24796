# Two commands do everything: `make demo` and `make test`. Both need python3 (>= 3.11, with venv), pip and make only.
PYTHON ?= python3
DEV := .venv
DEMO := .venv-demo
DEV_EXTRAS := dev,gemini,milvus,openai,sim,text
DEMO_EXTRAS := sim,text
# what renders, reads recordings, starts processes or loads torch: left to `make test`
HEAVY := tests/sim tests/sources tests/evaluation tests/perception tests/policy/pixelnav tests/cli
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: help demo test check soak benchmarks clean

help:
	@echo "make demo   see lastseen work in a minute (installs into $(DEMO))"
	@echo "make test   everything that decides whether a change is good (installs into $(DEV))"
	@echo "make check  the fast part of it, under a minute"
	@echo "make soak   the long counts: ten times what make test runs"
	@echo "make benchmarks   every script in benchmarks/, the quick form"

demo: $(DEMO)/.ready
	@$(DEMO)/bin/python examples/demo.py

test: $(DEV)/.ready
	$(DEV)/bin/ruff check .
	$(DEV)/bin/ruff format --check .
	$(DEV)/bin/mypy
	$(DEV)/bin/python -m pytest -n 2 --dist worksteal --cov --cov-report=term --skip-budget tests/skip_budget.txt

check: $(DEV)/.ready
	$(DEV)/bin/ruff check .
	$(DEV)/bin/ruff format --check .
	$(DEV)/bin/mypy
	$(DEV)/bin/python -m pytest -n 2 -q -m "not slow" $(addprefix --ignore=,$(HEAVY))

soak: $(DEV)/.ready
	$(DEV)/bin/python -m pytest -n 2 --soak --timeout 3600

benchmarks: $(DEV)/.ready
	@$(DEV)/bin/python -m pip install --quiet --constraint constraints.txt --no-deps rtsm pyyaml
	@for script in benchmarks/*.py; do echo "== $$script --quick"; $(DEV)/bin/python $$script --quick || exit 1; done

$(DEV)/.ready: pyproject.toml constraints.txt tools/torch_extra.py
	$(call install,$(DEV),$(DEV_EXTRAS))
	@if torch=$$($(DEV)/bin/python tools/torch_extra.py --constraint constraints.txt); \
	then $(DEV)/bin/python -m pip install --quiet --constraint constraints.txt "$$torch"; fi
	@touch $@

$(DEMO)/.ready: pyproject.toml constraints.txt
	$(call install,$(DEMO),$(DEMO_EXTRAS))
	@touch $@

# install(venv, extras): constraints.txt pins every version, so the same commit gives the same environment
define install
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "lastseen needs Python >= 3.11; call: make PYTHON=python3.11"; exit 1; }
	@echo "installing into $(1) (once; a few minutes)"
	@$(PYTHON) -m venv $(1)
	@$(1)/bin/python -m pip install --quiet --constraint constraints.txt --editable '.[$(2)]'
endef

clean:
	rm -rf $(DEV) $(DEMO) .coverage* .hypothesis .mypy_cache .pytest_cache .ruff_cache
