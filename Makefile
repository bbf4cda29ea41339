# Every target sets up what it lacks, once. Python 3.11, git and make are enough: Node comes with the virtual environment.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
ENV ?= dev
ENVIRONMENTS := $(basename $(notdir $(wildcard environments/*.toml)))

export PATH := $(CURDIR)/.venv/bin:$(PATH)
# The tests and synth need no account; nothing of ours sends usage data.
export CDK_DISABLE_CLI_TELEMETRY := true
export RAY_USAGE_STATS_ENABLED := 0

CDK := npx --no-install cdk
READY := .venv/.ready node_modules/.ready

.DEFAULT_GOAL := help
.PHONY: help setup rehearse test test-one-half test-other-half check synth diff costs bench clean

help: ## this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: $(READY) ## set up the virtual environment and the CDK command line (every other target does this too)

.venv/.ready: requirements.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' || { \
	  echo "Python = $$($(PYTHON) --version 2>&1)"; echo "    expected: Python 3.11"; \
	  echo "    to do:    install it, or name it: make PYTHON=/path/to/python3.11"; exit 1; }
	@echo "Setting up .venv: about 3 GB, two to five minutes, once"
	$(PYTHON) -m venv .venv
	.venv/bin/python -m pip install --disable-pip-version-check -r requirements.txt
	@touch $@

node_modules/.ready: package-lock.json .venv/.ready
	@echo "Setting up the CDK command line"
	npm ci --no-fund --no-audit --loglevel=error
	@touch $@

rehearse: $(READY) ## deploy ENV to an emulated AWS and run its job here (MODEL=folder DATA=path KEEP=1 CHARTS=folder CRDS=folder)
	python -m rehearsal --environment $(ENV) $(if $(MODEL),--model "$(MODEL)") $(if $(DATA),--data "$(DATA)") \
	  $(if $(KEEP),--keep) $(if $(CHARTS),--charts "$(CHARTS)") $(if $(CRDS),--crds "$(CRDS)")

# Two processes share two cores: one starts Ray, the other does not.
ONE_HALF := tests/rehearsal/test_rehearsal_runs.py tests/rehearsal/test_kills.py \
  tests/rehearsal/test_rehearsal_lost_hosts.py tests/training

test: $(READY) ## all tests
	@$(MAKE) --no-print-directory -j2 -k test-one-half test-other-half

test-one-half: $(READY)
	python -m pytest -q $(ONE_HALF)

test-other-half: $(READY)
	python -m pytest -q tests $(addprefix --ignore=,$(ONE_HALF))

check: $(READY) ## what CI checks besides the tests: style, types, every environment's synth, templates
	ruff check
	ruff format --check
	mypy
	mypy .ci/diff .ci/cdk_diff
	mypy .ci/comment
	@for environment in $(ENVIRONMENTS); do $(MAKE) --no-print-directory synth ENV=$$environment || exit 1; done
	cfn-lint $(foreach environment,$(ENVIRONMENTS),"cdk.out/$(environment)/*.template.json")

synth: $(READY) ## write the templates of ENV to cdk.out/ENV
	$(CDK) synth --quiet -c environment=$(ENV) --output cdk.out/$(ENV)

diff: $(READY) ## compare ENV with what is deployed (needs AWS credentials)
	$(CDK) diff -c environment=$(ENV)

costs: $(READY) ## what ENV costs per hour
	python -m eks_ray_train.costs $(ENV)

bench: $(READY) ## measure synthesis beside an empty CDK app, and the search for capacity over all regions
	python -m bench.synth
	python -m bench.capacity

clean: ## remove what the targets made, the virtual environment included
	rm -rf .venv node_modules cdk.out .rehearsal
