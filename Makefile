# `make run` serves, `make test` runs the tests, `make check` lints the code. Each target first installs its requirements into .venv.

VENV := .venv
BIN := $(VENV)/bin
RUNS := $(VENV)/.installed-to-run
STAMP := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help install run test test-slow compare-oracle model wide wide-callbacks soak test-lowest test-newest licenses attack obie browser redis clients apps sslyze check lock generate reports mutants recorded-banks bench bench-peers docs recording release-check format clean

help:
	@echo "make run      install into $(VENV) and serve (ARGS=\"--port 9000\" for flags)"
	@echo "make test     install and run the tests (ARGS=\"-k consents\" for some of them)"
	@echo "make test-slow  run the slow tests, which take minutes"
	@echo "make model    compare the sandbox with a model of its bank for 30 minutes (change with MINUTES=5), then print statistics"
	@echo "make wide     run 20,000 flows against two sandboxes that share Redis, killing the sandboxes as they run, then check the results, write bench/wide.md (JOURNEYS=500)"
	@echo "make wide-callbacks  run 20,000 journeys of an app that two sandboxes notify, killing the sandboxes as they run, write bench/wide.md (JOURNEYS=500)"
	@echo "make soak     send a million requests to both ports, then check that memory and open files have not grown (REQUESTS=100000)"
	@echo "make test-lowest, test-newest  run some tests with the lowest and the newest versions that pyproject.toml allows"
	@echo "make attack   attack a running sandbox in every mode through every port (ARGS=--quick runs a subset)"
	@echo "make obie     run the UK Open Banking conformance scripts, which must be next to the checkout (ARGS=--failed runs only the scripts that failed)"
	@echo "make browser  install Chromium from Debian for the browser tests (make test does this if it may install packages)"
	@echo "make redis    install redis-server and haproxy from Debian for some tests (make test does this if it may install packages)"
	@echo "make clients  install the compilers, runtimes and packages for the client tests from Debian and npm (make test does this too)"
	@echo "make apps     install apps by others that read accounts from PyPI into .venv-apps for some slow tests (make test-slow does this too)"
	@echo "make sslyze   install sslyze from PyPI into .venv-tls for some slow tests (make test-slow does this too)"
	@echo "make check    run ruff and mypy"
	@echo "make lock     update requirements/ to the newest versions that pyproject.toml allows, with hashes and licenses"
	@echo "make licenses write requirements/licenses.md from requirements/run.txt (part of make lock)"
	@echo "make generate update the generated pages in docs/ and parts of schemas/ after a change to their sources"
	@echo "make reports  write build/reports/conformance.md, a list of statements and the tests that prove them"
	@echo "make mutants  change each part of the dialect, check that a test fails, write build/reports/mutants.md (ARGS=\"--part 1/8\"; an interrupted run continues)"
	@echo "make recorded-banks  record five mock banks (WireMock), replay the recordings, write build/reports/recorded-banks.md"
	@echo "make compare-oracle  add changes and noise to a bank's answers, check what compare reports, write docs/compare.md"
	@echo "make bench    measure speed and memory against the budgets, write bench/results.md (ARGS=--quick for a trial run)"
	@echo "make bench-peers  install other tools with npm and pip, benchmark the sandbox against them, write bench/peers.md (ARGS=--quick for a trial run)"
	@echo "make docs     build the documentation site in build/site"
	@echo "make recording  write the terminal recording shown in the README, docs/images/terminal.svg"
	@echo "make release-check  build wheel and sdist, install each into a clean environment, run the quickstart, check compatibility with httpx (Python 3.12 and 3.13), list dependencies"
	@echo "make format   format and fix the code with ruff"
	@echo "make clean    remove $(VENV) and files left by tools"

install: $(RUNS)

run: $(RUNS)
	@exec $(BIN)/xs2a-sandbox serve $(ARGS)

# Tests start hundreds of processes, and benchmarks measure start-up time. Keep compiled bytecode for them, even if the machine
# sets PYTHONDONTWRITEBYTECODE.
run test test-slow test-lowest test-newest bench bench-peers: export PYTHONDONTWRITEBYTECODE =

# Distribute by file, so that fixtures of a file are created once, and keep the order: mitmproxy allows one proxy per process, so
# tests/contract must run before tests/doors.
# Use four processes on two cores, because the tests spend a third of their time waiting.
test: $(STAMP) browser redis clients
	$(BIN)/python -m pytest -n 4 --dist loadfile --no-loadscope-reorder -rs -m "not slow" $(ARGS)

# Hand out tests in small chunks. Otherwise one process gets all folders up to tests/clients, which take most of the time, and the
# others are idle at the end.
test-slow: $(STAMP) browser redis clients apps sslyze
	$(BIN)/python -m pytest -n 4 --maxschedchunk 4 -rs -m "slow or hypothesis" --hypothesis-profile thorough $(ARGS)

MINUTES := 30

model: $(STAMP)
	$(BIN)/python -m tests.model.run --minutes $(MINUTES) $(ARGS)

JOURNEYS := 20000

wide: $(STAMP) redis
	$(BIN)/python -m tests.wide.run --journeys $(JOURNEYS) $(ARGS)

wide-callbacks: $(STAMP) redis
	$(BIN)/python -m tests.wide.callbacks --journeys $(JOURNEYS) $(ARGS)

REQUESTS := 1000000

soak: $(STAMP)
	$(BIN)/python -m tests.wide.soak --requests $(REQUESTS) $(ARGS)

attack: $(STAMP)
	$(BIN)/python -m tests.attack.run $(ARGS)

obie: $(STAMP)
	$(BIN)/python -m tests.outside.obie $(ARGS)

# Without a browser, the browser tests are skipped with a message.
browser:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || { \
		if [ "$$(id -u)" = 0 ]; then as=; elif sudo -n true 2>/dev/null; then as="sudo -n"; else as=no; fi; \
		if [ "$$as" != no ] && command -v apt-get >/dev/null; then \
			echo "Installing chromium"; \
			$$as apt-get update -qq && $$as env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends chromium >/dev/null; \
		fi; \
		command -v chromium >/dev/null || echo "Chromium is missing and cannot be installed here. Browser tests are skipped." >&2; \
	}

# The tests start their own servers on free ports. They do not use the server that Debian starts.
redis:
	@command -v redis-server >/dev/null && command -v haproxy >/dev/null || { \
		if [ "$$(id -u)" = 0 ]; then as=; elif sudo -n true 2>/dev/null; then as="sudo -n"; else as=no; fi; \
		if [ "$$as" != no ] && command -v apt-get >/dev/null; then \
			echo "Installing redis-server and haproxy"; \
			$$as apt-get update -qq && $$as env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get install -qq -y --no-install-recommends redis-server haproxy >/dev/null; \
		fi; \
		command -v redis-server >/dev/null || echo "redis-server is missing and cannot be installed here. Tests of state in Redis are skipped." >&2; \
	}

clients:
	@tests/clients/install.sh

# sslyze gets its own environment, because it needs a different version of cryptography than mitmproxy.
sslyze:
	@test -x .venv-tls/bin/sslyze || { python3 -m venv --clear .venv-tls && \
		.venv-tls/bin/python -m pip install --quiet --disable-pip-version-check sslyze==6.3.1; } || \
		echo "sslyze cannot be installed here. Its tests are skipped." >&2

# These apps get their own environment, because they need other packages than the sandbox, and Python 3.13.
apps: $(STAMP)
	@test -d .venv-apps/leggen-2026.8.0 || { $(BIN)/python -m venv --clear .venv-apps && \
		.venv-apps/bin/python -m pip install --quiet --disable-pip-version-check \
		leggen==2026.9.0 bankfetch==0.2.1 enablebanking-sdk==0.1.7 && \
		.venv-apps/bin/python -m pip install --quiet --disable-pip-version-check --no-deps \
		--target .venv-apps/leggen-2026.8.0 leggen==2026.8.0; } || \
		echo "The apps cannot be installed here. Their tests are skipped." >&2

check: $(STAMP)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

generate: $(STAMP)
	$(BIN)/python -m tools.generate

# Use uv from PATH, otherwise install it into .venv-uv.
UV := $(or $(shell uv --version >/dev/null 2>&1 && command -v uv),.venv-uv/bin/uv)

.venv-uv/bin/uv:
	python3 -m venv --clear .venv-uv
	.venv-uv/bin/python -m pip install --quiet --disable-pip-version-check uv

# The lock files are for all systems and versions of Python, and must not contain the URL of this machine's package index.
LOCK := $(UV) pip compile --quiet --universal --python-version 3.12 --generate-hashes --no-annotate \
	--no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" pyproject.toml

lock: $(STAMP) $(UV)
	$(LOCK) --upgrade --extra dev --no-emit-package xs2a-sandbox --output-file requirements/dev.txt
	$(LOCK) --constraint requirements/dev.txt --output-file requirements/run.txt
	@$(MAKE) --no-print-directory licenses

licenses: $(STAMP)
	$(BIN)/python -m tools.licenses

# Tests that depend on the versions of dependencies: doors and connections to banks, which use internals of mitmproxy and
# aiohttp, and httptools; failing closed; cassettes, schemas, patterns and expressions; the command line, and the transports of
# the pytest plugin. The other tests check answers of the bank, which do not depend on versions.
EDGES := $(addprefix tests/,$(addsuffix .py,cassette/evaluation/test_expressions cassette/evaluation/test_expressions_environment \
	cli/test_main compare/reports/test_text contract/test_schemas control/test_access docs/test_served_docs \
	documents/test_schema_errors documents/test_yaml_reader doors/test_connections doors/test_direct doors/test_door doors/test_fail_closed \
	doors/test_proxy doors/test_wrong_protocol engine/test_egress \
	http/test_body_content_encoding http/test_target testing/test_bank_data testing/test_httpx_transport \
	testing/test_requests_adapter upstream/test_client upstream/test_tls))

# Use only wheels: a version without a wheel for this Python cannot be the lower bound.
test-lowest test-newest: test-%: $(UV)
	$(UV) venv --quiet --clear --no-config --python '>=3.12' .venv-$*
	$(UV) pip compile --quiet --no-header --no-annotate --python .venv-$* --only-binary :all: --extra test \
		--resolution $(if $(filter lowest,$*),lowest-direct,highest) --upgrade --output-file .venv-$*/versions.txt pyproject.toml
	$(UV) pip sync --quiet --python .venv-$* .venv-$*/versions.txt
	$(UV) pip install --quiet --python .venv-$* --no-deps --editable .
	$(if $(filter lowest,$*),.venv-$*/bin/python -m tools.bounds)
	.venv-$*/bin/python -m pytest -n 2 -m "not slow" $(EDGES) $(ARGS)

reports: $(STAMP)
	$(BIN)/python -m tools.conformance

mutants: $(STAMP)
	$(BIN)/python -m tools.mutants $(ARGS)

recorded-banks: $(STAMP) clients
	$(BIN)/python -m tools.recorded_banks --write

compare-oracle: $(STAMP)
	$(BIN)/python -m tests.compare.oracle

bench: $(STAMP)
	$(BIN)/python bench/run.py $(ARGS)

bench-peers: $(STAMP)
	@bench/peers/install.sh
	$(BIN)/python bench/run_peers.py $(ARGS)

docs: $(STAMP)
	$(BIN)/python -m tools.site

recording: $(STAMP)
	$(BIN)/python -m tools.terminal_recording

release-check: $(STAMP)
	$(BIN)/python -m tools.release_check

format: $(STAMP)
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

clean:
	rm -rf $(VENV) .venv-tls .venv-apps .venv-uv .venv-lowest .venv-newest bench/peers/.venv bench/peers/node_modules tests/clients/node/node_modules tests/clients/go/.cache build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# uv is ten times faster than pip, but ignores pip's settings, so fall back to pip. Do not compile files before they are imported.
install = { test -x $(UV) && $(UV) pip install --quiet --python $(BIN)/python $(1) 2>/dev/null || \
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile $(1); }

# Install the versions in $(1).txt, or versions that pyproject.toml allows with the extras $(2).
install-locked = $(call install,--require-hashes --requirement requirements/$(1).txt) || { \
		echo "Cannot install the versions in requirements/$(1).txt. Installing other versions that pyproject.toml allows." >&2; \
		$(call install,--editable '.$(2)'); \
	} || $(give-up)

give-up = { \
		echo "Cannot install into $(VENV); the reason is above. Check that the package index is reachable (PIP_INDEX_URL, HTTPS_PROXY)," \
			"then run make again." >&2; \
		exit 1; \
	}

# Check that the interpreter runs, because pyenv leaves broken shims behind.
# Each stamp is written last, so that an interrupted installation is repeated.
$(RUNS): pyproject.toml requirements/run.txt addons/xs2a_sandbox/__init__.py
	@test ! -x $(BIN)/python || $(BIN)/python -c 'import pip, sys; sys.exit(sys.version_info < (3, 12))' 2>/dev/null || rm -rf $(VENV); \
	if [ ! -x $(BIN)/python ]; then \
		for python in python3.13 python3.12 python3.14 python3; do \
			if $$python -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 12))' 2>/dev/null; then \
				echo "Creating $(VENV) with $$($$python --version)"; $$python -m venv --clear $(VENV) && break; \
			fi; \
		done; \
	fi; \
	if [ ! -x $(BIN)/python ] && [ -x $(UV) ]; then \
		$(UV) venv --quiet --clear --seed --python '>=3.12' $(VENV); \
	fi; \
	if [ ! -x $(BIN)/python ]; then \
		echo "Python 3.12 or later is needed: install python3.13 (with its venv module), or uv (https://docs.astral.sh/uv/)." >&2; \
		exit 1; \
	fi
	@echo "Installing the sandbox and its dependencies into $(VENV)"
	@$(call install-locked,run,)
	@$(call install,--no-deps --editable .) || $(give-up)
	@touch $@

$(STAMP): $(RUNS) requirements/dev.txt
	@echo "Installing the dependencies of tests and tools into $(VENV)"
	@$(call install-locked,dev,[dev])
	@touch $@
