# Two commands do everything: `make demo` and `make test` (`make integration` has the long forms). They need python3 (>= 3.11, with venv), pip and make only.
PYTHON ?= python3
DEV := .venv
DEMO := .venv-demo
HABITAT := .venv-habitat
ROS := .venv-ros
VIEWERS := .venv-viewers
# the Python of habitat-sim's stable packages
HABITAT_PYTHON ?= python3.9
DEV_EXTRAS := dev,gemini,openai,ray,sim
DEMO_EXTRAS := server,sim,text
# what renders, reads recordings, starts processes or loads torch: left to `make test`
HEAVY := tests/sim tests/sources tests/evaluation tests/perception tests/search/policy/pixelnav tests/cli tests/server tests/encoders
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: help demo test integration check soak benchmarks habitat browser ros viewers clean

help:
	@echo "make demo   see lastseen work in a minute (installs into $(DEMO))"
	@echo "make test   everything that decides whether a change is good (installs into $(DEV))"
	@echo "make integration  the long forms: servers, browser, crashes, the commands of the docs"
	@echo "make check  the fast part of it, under a minute"
	@echo "make soak   the long counts: ten times what make test runs"
	@echo "make benchmarks   every script in benchmarks/, the quick form"
	@echo "make ros    a real ROS 2 from wheels for the tests of the node (installs into $(ROS), 300 MB)"
	@echo "make habitat      our worker in a real habitat.Env (Python 3.9, installs into $(HABITAT), 700 MB)"

demo: $(DEMO)/.ready
	@$(DEMO)/bin/lastseen demo

test: $(DEV)/.ready browser ros
	$(DEV)/bin/ruff check .
	$(DEV)/bin/ruff format --check .
	$(DEV)/bin/mypy
	$(DEV)/bin/python -m pytest -n 2 --dist worksteal -m "not integration" --cov --cov-report=term --skip-budget tests/skip_budget.txt

integration: $(DEV)/.ready browser ros viewers
	$(DEV)/bin/python -m pytest -n 2 --dist worksteal -m integration

check: $(DEV)/.ready
	$(DEV)/bin/ruff check .
	$(DEV)/bin/ruff format --check .
	$(DEV)/bin/mypy
	$(DEV)/bin/python -m pytest -n 2 -q -m "not slow" $(addprefix --ignore=,$(HEAVY))

soak: $(DEV)/.ready
	$(DEV)/bin/python -m pytest -n 2 --soak --timeout 3600

benchmarks: $(DEV)/.ready
	@for script in benchmarks/*.py; do echo "== $$script --quick"; $(DEV)/bin/python $$script --quick || exit 1; done

# the viewer is tested in Debian's Chromium; where it cannot be installed those tests say so and skip
browser:
	@command -v chromium >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && echo "installing chromium" \
	&& apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends chromium >/dev/null; } \
	|| echo "no chromium here, and no right to install it: the viewer's page is not tested"

# the node is tested with a real rclpy; where its wheels cannot be had those tests say so and skip
ros: $(DEV)/.ready
	@$(MAKE) --no-print-directory $(ROS)/.ready || true

$(ROS)/.ready: $(DEV)/.ready tools/ros_env.py tools/ros_wheels.cmake $(wildcard ros2/lastseen_interfaces/*/*)
	@echo "installing ROS 2 into $(ROS) (once; a minute or two)"
	@$(DEV)/bin/python tools/ros_env.py $(ROS)
	@touch $@

# files for rerun, Foxglove and spark-dsg are read back with their own tools; where those cannot be had that test skips
viewers: $(DEV)/.ready
	@$(MAKE) --no-print-directory $(VIEWERS)/.ready || echo "no viewers' tools here: their files are not read back"

$(VIEWERS)/.ready: Makefile
	@echo "installing the viewers' tools into $(VIEWERS) (once; 900 MB)"
	@$(DEV)/bin/python -m venv $(VIEWERS)
	@$(VIEWERS)/bin/python -m pip install --quiet --constraint constraints.txt 'rerun-sdk==0.41.0' 'foxglove-sdk==0.30.3' 'mcap-protobuf-support>=0.5,<1' 'spark_dsg==1.1.3'
	@# lastseen and pytest come from the usual environment
	@$(DEV)/bin/python -c 'import pathlib, sysconfig; base = sysconfig.get_path("purelib"); \
	own = next(pathlib.Path("$(VIEWERS)").glob("lib/python*/site-packages")); \
	(own / "lastseen_base.pth").write_text(f"import site; site.addsitedir({base!r})\n")'
	@touch $@

habitat: $(DEV)/.ready $(HABITAT)/.ready
	LASTSEEN_HABITAT_PYTHON=$(CURDIR)/$(HABITAT)/bin/python $(DEV)/bin/python -m pytest -q -n 0 tests/evaluation/habitat

$(HABITAT)/.ready: Makefile
	@$(HABITAT_PYTHON) -m venv $(HABITAT)
	@$(HABITAT)/bin/python -m pip install --quiet 'habitat-lab>=0.3,<0.4'
	@touch $@

$(DEV)/.ready: pyproject.toml constraints.txt tools/torch_extra.py
	$(call install,$(DEV),$(DEV_EXTRAS))
	@if torch=$$($(DEV)/bin/python tools/torch_extra.py --constraint constraints.txt); \
	then $(DEV)/bin/python -m pip install --quiet --constraint constraints.txt "$$torch"; fi
	@# its client and its associator need little of what it asks for
	@$(DEV)/bin/python -m pip install --quiet --constraint constraints.txt --no-deps rtsm
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
	rm -rf $(DEV) $(DEMO) $(HABITAT) $(ROS) $(VIEWERS) .coverage* .hypothesis .mypy_cache .pytest_cache .ruff_cache
