# Common tasks of this repository. `make help` lists them.

CARGO ?= cargo
DATA ?= data
# ONNX Runtime otherwise reports to Microsoft. `bonafide` sets it by itself, other programs of this repository do not.
export ORT_DISABLE_TELEMETRY = 1

.PHONY: help run dist test test-again test-all check models specimens bench faults fuzz clean-data

help: ## This list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

run: ## Build, bring models and specimens, and serve the sandbox on http://localhost:8080
	scripts/prepare models
	$(CARGO) build --profile quick --package bonafide --package xtask
	target/quick/xtask models --out models
	target/quick/xtask specimens --out specimens --models models
	target/quick/bonafide serve --demo --data $(DATA)

dist: models ## Build the Debian package and the archive, with models, licences and bill of materials: target/dist-packages
	scripts/dist

models: ## Bring, convert and check the models (idempotent)
	scripts/prepare models
	$(CARGO) run --quiet --package xtask -- models --out models

specimens: models ## Render the specimen documents and selfies (idempotent)
	$(CARGO) run --quiet --package xtask -- specimens --out specimens --models models

test: ## Everything that must hold; after a run that passed, only what your change can affect
	scripts/test

test-again: ## The same, with every test again
	rm -rf target/tested
	scripts/test

test-all: ## Checks with tools or time that `make test` does not need: every screen, more tests on SQLite, generated clients
	scripts/test-all

check: ## The quick part of `make test`: documentation, formatting and lints
	scripts/check-docs
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --quiet -- -D warnings

bench: models specimens ## Measure (prints figures, never fails on time)
	scripts/bench

faults: models specimens ## Break a loaded installation every 20 s, MINUTES long (default 30), and check that nothing was lost
	$(CARGO) build --quiet --package bonafide --package faults
	target/debug/faults --database postgres --seconds $$(( $(or $(MINUTES),30) * 60 ))
	target/debug/faults --database sqlite --seconds $$(( $(or $(MINUTES),30) * 30 ))

fuzz: ## Fuzz every parser of hostile bytes, SECONDS each (default 60)
	scripts/fuzz $(or $(SECONDS_EACH),60)
