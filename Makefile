SHELL := /bin/bash
export PATH := $(CURDIR)/.tools/node_modules/.bin:$(CURDIR)/node_modules/.bin:$(PATH)
export REDOCLY_TELEMETRY := off
export REDOCLY_SUPPRESS_UPDATE_NOTICE := true
MAKEFLAGS += --no-print-directory

.DEFAULT_GOAL := help
.PHONY: help run test check format sbom sdk release bench eval chaos soak screenshots full clean setup setup-check setup-test setup-sdk

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

run: setup ## install what is missing and start Outrider (ARGS="…" is passed to `outrider serve`)
	@bin/outrider serve $(ARGS)

test: setup-test ## run all tests (ARGS="packages/server" for a part)
	@node scripts/tests/main.ts $(ARGS)

check: setup-check ## check format, lint, types, generated files and dependencies
	@biome check --error-on-warnings .
	@tsc
	@tsc -p packages/web
	@node scripts/imports/check.ts
	@node scripts/naming/check.ts
	@node scripts/openapi.ts --check
	@node packages/sdk/scripts/generate.ts --check
	@node packages/sdk/scripts/reference.ts --check
	@.tools/python/bin/python sdks/python/scripts/generate.py --check
	@cd sdks/python && ../../.tools/python/bin/ruff check --no-cache --quiet --config pyproject.toml . ../../e2e/clients/python.py
	@cd sdks/python && ../../.tools/python/bin/ruff format --no-cache --quiet --check --config pyproject.toml . ../../e2e/clients/python.py
	@node scripts/cli-reference.ts --check
	@redocly lint openapi.json
	@.tools/python/bin/python -m openapi_spec_validator openapi.json
	@node scripts/audit/main.ts

sbom: setup ## write the bill of materials to sbom.cdx.json (CycloneDX)
	@node scripts/audit/main.ts --sbom sbom.cdx.json

sdk: setup-sdk ## pack the TypeScript SDK for npm (ARGS="folder" for another folder than this one)
	@node packages/sdk/scripts/pack.ts $(ARGS)

release: setup ## make the npm package, the offline bundle, the SBOM and checksums (ARGS="folder" for another folder than release)
	@node --disable-warning=ExperimentalWarning scripts/release/main.ts $(ARGS)

format: setup ## format, sort imports and apply safe fixes
	@biome check --write .

bench: setup ## measure performance (ARGS="lists" for a part)
	@node bench/main.ts $(ARGS)

eval: setup ## evaluate models and agents on the tasks in eval/tasks (ARGS="--model anthropic/… --tasks 'fix-*'")
	@bin/outrider eval --suite eval/tasks $(ARGS)

chaos: setup ## run 100 seeded fault-injection rounds (ARGS="7 12" for some seeds)
	@node e2e/chaos/main.ts $(ARGS)

soak: setup ## run five minutes of load with a restart and a failover of PostgreSQL (ARGS=60 for an hour)
	@node e2e/soak/main.ts $(ARGS)

screenshots: setup-test ## write screenshots of every page to docs/img (ONLY="home keys" for some)
	@scripts/fonts
	@vitest run --config scripts/screenshots.config.ts

full: ## run check, all tests including long ones, bench, and an hour of soak (OUTRIDER_SOAK_MINUTES changes it)
	@$(MAKE) check
	@OUTRIDER_FULL=1 $(MAKE) test
	@$(MAKE) bench
	@$(MAKE) soak ARGS=$${OUTRIDER_SOAK_MINUTES:-60}

clean: ## remove installed tools and packages; keep the data in .outrider
	@rm -rf .tools node_modules coverage packages/worker/native/build

setup:
	@scripts/setup

setup-check:
	@scripts/setup check

setup-test:
	@scripts/setup test

setup-sdk:
	@scripts/setup sdk
