# `make run` serves, `make test` runs everything, `make check` reads the code; each installs into .venv what it needs.

VENV := .venv
BIN := $(VENV)/bin
RUNS := $(VENV)/.installed-to-run
STAMP := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help install run test test-slow compare-oracle model wide soak test-lowest test-newest licenses attack browser redis clients sslyze check lock pages settings reports mutants recorded-banks bench bench-peers docs recording release-check format clean

help:
	@echo "make run      install into $(VENV) and serve (ARGS=\"--port 9000\" for flags)"
	@echo "make test     install and run the tests (ARGS=\"-k consents\" for a part)"
	@echo "make test-slow  the tests that take minutes, marked slow"
	@echo "make model    hold the sandbox against a model of its bank for half an hour (MINUTES=5), with figures at the end"
	@echo "make wide     20,000 journeys at two sandboxes on one Redis that are killed meanwhile, judged, written into bench/wide.md (JOURNEYS=500)"
	@echo "make soak     a million requests over both doors, after which memory and open files have to be what they were (REQUESTS=100000)"
	@echo "make test-lowest, test-newest  a part of the tests with the lowest and with the newest versions that pyproject.toml allows"
	@echo "make attack   attack a real serve in every mode, through every door (ARGS=--quick for a part)"
	@echo "make browser  install Debian's Chromium, which some tests need; make test does so where it may"
	@echo "make redis    install Debian's redis-server and haproxy, which some tests need; make test does so where it may"
	@echo "make clients  install the languages whose clients are tested, with Debian's packages and npm's, as make test does"
	@echo "make sslyze   install sslyze of PyPI in .venv-tls, which some slow tests need; make test-slow does so"
	@echo "make check    ruff and mypy"
	@echo "make lock     write requirements/ anew: the newest versions that pyproject.toml allows, with hashes, and their licenses"
	@echo "make licenses write requirements/licenses.md from requirements/run.txt, as make lock does"
	@echo "make settings write schemas/config.schema.json and the table of docs/command-line.md, after a new setting"
	@echo "make pages    write what editors complete into schemas/, after a change of a handler or of the states"
	@echo "make reports  write build/reports/conformance.md: which test proves which statement"
	@echo "make mutants  change the dialect in every place and see that a test notices, write build/reports/mutants.md (ARGS=\"--part 1/8\"; an interrupted run continues)"
	@echo "make recorded-banks  record five banks' interfaces that WireMock serves, ask the recordings, write build/reports/recorded-banks.md"
	@echo "make compare-oracle  plant changes and noise into a bank's answers, see what comparisons tell, write docs/compare.md"
	@echo "make bench    measure what was promised of speed and memory, write bench/results.md (ARGS=--quick to try)"
	@echo "make bench-peers  install other tools by npm and pip, measure the sandbox beside them, write bench/peers.md (ARGS=--quick to try)"
	@echo "make docs     make a site of the documentation, in build/site"
	@echo "make recording  write the recording of a terminal that the README shows, docs/images/terminal.svg"
	@echo "make release-check  build wheel and sdist, install each into nothing, walk the first journey, see that they go together with httpx (Python 3.12 and 3.13), list what they bring along"
	@echo "make format   let ruff format and mend the code"
	@echo "make clean    remove $(VENV) and what tools left behind"

install: $(RUNS)

run: $(RUNS)
	@exec $(BIN)/xs2a-sandbox serve $(ARGS)

# The tests start hundreds of processes, and benchmarks time a start: none of them is to compile the package anew, whatever the machine is set to.
run test test-slow test-lowest test-newest bench bench-peers: export PYTHONDONTWRITEBYTECODE =

# By file, so that what the tests of a file share is made once, and in order: mitmproxy knows one proxy in a process, so that
# the sandbox of tests/contract is of no use once those of tests/doors have begun.
# Four processes for two cores: a third of their time the tests wait, for processes, banks and limits of time.
test: $(STAMP) browser redis clients
	$(BIN)/python -m pytest -n 4 --dist loadfile --no-loadscope-reorder -rs -m "not slow" $(ARGS)

# A few at a time: else one process begins with all that is in the folders up to tests/clients, which is most of the time, while
# the others have tests of the contract, and wait for it at the end.
test-slow: $(STAMP) browser redis clients sslyze
	$(BIN)/python -m pytest -n 4 --maxschedchunk 4 -rs -m "slow or hypothesis" --hypothesis-profile thorough $(ARGS)

MINUTES := 30

model: $(STAMP)
	$(BIN)/python -m tests.model.run --minutes $(MINUTES) $(ARGS)

JOURNEYS := 20000

wide: $(STAMP) redis
	$(BIN)/python -m tests.wide.run --journeys $(JOURNEYS) $(ARGS)

REQUESTS := 1000000

soak: $(STAMP)
	$(BIN)/python -m tests.wide.soak --requests $(REQUESTS) $(ARGS)

attack: $(STAMP)
	$(BIN)/python -m tests.attack.run $(ARGS)

# Without one the tests that need it are skipped, and say so.
browser:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || { \
		if [ "$$(id -u)" = 0 ]; then as=; elif sudo -n true 2>/dev/null; then as="sudo -n"; else as=no; fi; \
		if [ "$$as" != no ] && command -v apt-get >/dev/null; then \
			echo "Installing chromium"; \
			$$as apt-get update -qq && $$as env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends chromium >/dev/null; \
		fi; \
		command -v chromium >/dev/null || echo "There is no Chromium and it cannot be installed here: the tests in a browser are skipped." >&2; \
	}

# The tests start and stop their own servers on free ports; the one that Debian starts is not used.
redis:
	@command -v redis-server >/dev/null && command -v haproxy >/dev/null || { \
		if [ "$$(id -u)" = 0 ]; then as=; elif sudo -n true 2>/dev/null; then as="sudo -n"; else as=no; fi; \
		if [ "$$as" != no ] && command -v apt-get >/dev/null; then \
			echo "Installing redis-server and haproxy"; \
			$$as apt-get update -qq && $$as env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get install -qq -y --no-install-recommends redis-server haproxy >/dev/null; \
		fi; \
		command -v redis-server >/dev/null || echo "There is no redis-server and it cannot be installed here: the tests of state in Redis are skipped." >&2; \
	}

clients:
	@tests/clients/install.sh

# In an environment of its own: it wants another cryptography than mitmproxy does.
sslyze:
	@test -x .venv-tls/bin/sslyze || { python3 -m venv --clear .venv-tls && \
		.venv-tls/bin/python -m pip install --quiet --disable-pip-version-check sslyze==6.3.1; } || \
		echo "sslyze cannot be installed here: its tests are skipped." >&2

check: $(STAMP)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

settings: $(STAMP)
	$(BIN)/python -m tools.settings_pages

pages: $(STAMP)
	$(BIN)/python -m tools.cassette_completion

# One that is there, else one of our own.
UV := $(or $(shell uv --version >/dev/null 2>&1 && command -v uv),.venv-uv/bin/uv)

.venv-uv/bin/uv:
	python3 -m venv --clear .venv-uv
	.venv-uv/bin/python -m pip install --quiet --disable-pip-version-check uv

# For all systems and versions of Python; addresses of this machine's package index have no place in them.
LOCK := $(UV) pip compile --quiet --universal --python-version 3.12 --generate-hashes --no-annotate \
	--no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" pyproject.toml

lock: $(STAMP) $(UV)
	$(LOCK) --upgrade --extra dev --no-emit-package xs2a-sandbox --output-file requirements/dev.txt
	$(LOCK) --constraint requirements/dev.txt --output-file requirements/run.txt
	@$(MAKE) --no-print-directory licenses

licenses: $(STAMP)
	$(BIN)/python -m tools.licenses

# Where other versions can do harm: the doors and the ways to a bank, which rest on internals of mitmproxy and aiohttp and
# on httptools, and failing closed; cassettes, schemas, patterns and expressions; the command line and the pytest plugin's
# transports. The rest of the tests is about what the bank says, and no other version says it differently.
EDGES := $(addprefix tests/,$(addsuffix .py,cassette/evaluation/test_expressions cassette/evaluation/test_expressions_environment \
	cli/test_main compare/reports/test_text contract/test_schemas control/test_access docs/test_served_docs \
	documents/test_schema_errors documents/test_yaml_reader doors/test_connections doors/test_direct doors/test_door doors/test_fail_closed \
	doors/test_proxy doors/test_wrong_protocol engine/test_egress \
	http/test_body_content_encoding http/test_target testing/test_bank_data testing/test_httpx_transport \
	testing/test_requests_adapter upstream/test_client upstream/test_tls))

# Wheels alone: a version that has none for this Python cannot be what the range begins with.
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
	rm -rf $(VENV) .venv-tls .venv-uv .venv-lowest .venv-newest bench/peers/.venv bench/peers/node_modules tests/clients/node/node_modules tests/clients/go/.cache build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# uv installs in a second what takes pip ten, but does not know pip's settings: where it fails, pip tries. Nothing is compiled
# before it is imported.
install = { test -x $(UV) && $(UV) pip install --quiet --python $(BIN)/python $(1) 2>/dev/null || \
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile $(1); }

# $(1).txt, or else what pyproject.toml allows with the extras $(2).
install-locked = $(call install,--require-hashes --requirement requirements/$(1).txt) || { \
		echo "What requirements/$(1).txt locks cannot be installed here: taking what pyproject.toml allows." >&2; \
		$(call install,--editable '.$(2)'); \
	} || $(give-up)

give-up = { \
		echo "Cannot install into $(VENV); the reason is above. Is the package index within reach (PIP_INDEX_URL, HTTPS_PROXY)?" \
			"The next make tries again." >&2; \
		exit 1; \
	}

# An interpreter counts only if it runs: pyenv leaves commands behind that do not.
# Each stamp is written last, so that an interrupted install is made again.
$(RUNS): pyproject.toml requirements/run.txt addons/xs2a_sandbox/__init__.py
	@test ! -x $(BIN)/python || $(BIN)/python -c 'import pip, sys; sys.exit(sys.version_info < (3, 12))' 2>/dev/null || rm -rf $(VENV); \
	if [ ! -x $(BIN)/python ]; then \
		for python in python3.13 python3.12 python3.14 python3; do \
			if $$python -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 12))' 2>/dev/null; then \
				echo "Making $(VENV) with $$($$python --version)"; $$python -m venv --clear $(VENV) && break; \
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
	@echo "Installing into $(VENV) what the sandbox runs with"
	@$(call install-locked,run,)
	@$(call install,--no-deps --editable .) || $(give-up)
	@touch $@

$(STAMP): $(RUNS) requirements/dev.txt
	@echo "Installing into $(VENV) what tests and tools need"
	@$(call install-locked,dev,[dev])
	@touch $@
