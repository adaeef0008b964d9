# make preview   everything from a bare machine to the plan of the dev stack
# make test      the same preparation, then all checks and tests
# make admit     the dev stack's objects before a real Kubernetes API server
PYTHON ?= python3
STACK ?= dev

VENV := .venv
RUN := $(VENV)/bin/python
# modules that run flat in pods import each other by plain name
PROGRAMS = .:$$(echo serving/scripts/*/ | tr ' ' :)

# Without the cached bytecode of the SDKs every run compiles them again, 4 s each time.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help preview admit iam-report test lint unit mutants mutants-if-changed parser-check parser-check-if-changed engine-check engine-check-if-changed bench bench-cache bench-proxy real-engine pictures lock clean python dependencies dev-dependencies

help:  ## what there is to make
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*##/\t/' | expand -t 12

preview: dependencies  ## the plan of a stack (STACK=dev) on the real engine, with no cloud account
	@$(RUN) -m rehearsal preview --stack $(STACK) --policies

admit: dependencies  ## bring a stack up offline and show its objects to a real Kubernetes API server
	@$(RUN) -m rehearsal admit --stack $(STACK)

# the prod stack pulls Docker Hub through ECR, with credentials that a rehearsal never uses
iam-report: dependencies  ## who may do what: one Markdown file a stack in iam-report/
	@set -e; for file in Pulumi.*.yaml; do stack=$${file#Pulumi.}; $(RUN) -m rehearsal iam-report --stack $${stack%.yaml} --output iam-report --secret 'vllm-eks:dockerHubCredentials={"username": "x", "accessToken": "x"}'; done

test: lint unit  ## every check and test

lint: dev-dependencies  ## format, lint rules, types
	@echo "ruff"
	@$(RUN) -m ruff format --check --quiet .
	@$(RUN) -m ruff check --quiet .
	@$(RUN) -m rehearsal.toolchain.progress "mypy (half a minute when nothing is cached)" -- $(RUN) -m mypy

unit: dev-dependencies  ## the tests
	@$(RUN) -m pytest --numprocesses 2 --dist worksteal

mutants: dev-dependencies  ## break the program in one line, some 430 times: every break must fail a test
	@$(RUN) -m tests.mutants

mutants-if-changed: dev-dependencies
	@$(RUN) -m tests.mutants --if-changed

parser-check: dev-dependencies  ## all command lines before the real parsers of vLLM (7 GB in the tool cache, once)
	@$(RUN) -m tests.parser_check

parser-check-if-changed: dev-dependencies
	@$(RUN) -m tests.parser_check --if-changed

engine-check: dev-dependencies  ## the rendered pod over the real vLLM on a CPU (5.7 GB in the tool cache, once)
	@PYTHONPATH=$(PROGRAMS) $(RUN) -m tests.engine_check

engine-check-if-changed: dev-dependencies
	@PYTHONPATH=$(PROGRAMS) $(RUN) -m tests.engine_check --if-changed

bench: dev-dependencies  ## figures, not verdicts
	@set -e; for bench in benchmarks/*.py; do PYTHONPATH=. $(RUN) $$bench; done

bench-cache: dev-dependencies  ## the restore against aws s3 sync, s5cmd and boto3; onboarding against the bare wire
	@$(RUN) -m benchmarks.cache.restore
	@$(RUN) -m benchmarks.cache.onboard

bench-proxy: dev-dependencies  ## what the front proxy adds at 200 streams, in seconds and cores
	@$(RUN) -m benchmarks.front.proxy

real-engine: dev-dependencies  ## the pods' programs over the real vLLM on a CPU (5.7 GB, ten minutes)
	@PYTHONPATH=$(PROGRAMS) $(RUN) -m tests.serving.scripts.real_engine .venv/real-engine

pictures: dev-dependencies  ## draw the pictures of the pages again
	@$(RUN) -m tests.docs.pictures

lock: dev-dependencies  ## pin requirements*.in again
	@$(VENV)/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header requirements.in -o requirements.txt
	@$(VENV)/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header requirements-dev.in -o requirements-dev.txt
	@$(VENV)/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header requirements-bench.in -o requirements-bench.txt
	@$(VENV)/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header rehearsal/toolchain/go.in -o rehearsal/toolchain/go.txt
	@set -e; for pin in tests/engine_check/pins/engine-*.in; do $(VENV)/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --override $$(echo $$pin | sed s:pins/engine-:pins/override-:) $$pin -o $${pin%.in}.txt; done
	@$(VENV)/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header tests/parser_check/pins/common.in -o tests/parser_check/pins/common.txt
	@set -e; for pin in tests/parser_check/pins/vllm-*.in; do $(VENV)/bin/uv pip compile --quiet --no-deps --universal --python-version 3.11 --generate-hashes --no-header $$pin -o $${pin%.in}.txt; done

clean:  ## remove what the targets above made here (not the tool cache in your home)
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis iam-report
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

dependencies: python
	@$(PYTHON) -m rehearsal.toolchain.venv

dev-dependencies: python
	@$(PYTHON) -m rehearsal.toolchain.venv --dev

python:
	@command -v $(PYTHON) >/dev/null || { echo "$(PYTHON) is missing: install Python 3.11 or newer, or run make PYTHON=/path/to/python3" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "$(PYTHON) is $$($(PYTHON) -V): Python 3.11 or newer is needed, run make PYTHON=/path/to/python3" >&2; exit 1; }
