SHELL := /bin/bash
export PATH := $(CURDIR)/.tools/node_modules/.bin:$(CURDIR)/node_modules/.bin:$(PATH)
export REDOCLY_TELEMETRY := off
export REDOCLY_SUPPRESS_UPDATE_NOTICE := true
MAKEFLAGS += --no-print-directory

.DEFAULT_GOAL := help
.PHONY: help run test check format sbom bench torture soak screenshots full clean setup setup-test

help: ## show these targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

run: setup ## set up what is missing and start Outrider (ARGS="…" goes to `outrider serve`)
	@bin/outrider serve $(ARGS)

test: setup-test ## run all tests (ARGS="packages/server" for some)
	@vitest run $(ARGS)

check: setup ## format, lint, types, openapi.json against the contract, the SDK against openapi.json, what we depend on
	@biome check --error-on-warnings .
	@tsc
	@tsc -p packages/web
	@node scripts/openapi.ts --check
	@node packages/sdk/scripts/generate.ts --check
	@node packages/sdk/scripts/reference.ts --check
	@node scripts/cli-reference.ts --check
	@redocly lint openapi.json
	@node scripts/audit/main.ts

sbom: setup ## write sbom.cdx.json, the bill of materials (CycloneDX)
	@node scripts/audit/main.ts --sbom sbom.cdx.json

format: setup ## format, sort imports and apply the safe fixes
	@biome check --write .

bench: setup ## measure each promise about speed
	@node bench/main.ts $(ARGS)

torture: setup ## break everything in a hundred ways and prove that no promise is broken (ARGS="7 12" for some seeds)
	@node e2e/torture/main.ts $(ARGS)

soak: setup ## load on two servers for five minutes, a restart and a fail-over of PostgreSQL amid it (ARGS=60 for an hour)
	@node e2e/soak/main.ts $(ARGS)

screenshots: setup-test ## take pictures of every page into docs/img (ONLY="home keys" for some)
	@scripts/fonts
	@vitest run --config scripts/screenshots.config.ts

full: ## check, the tests with their longer rounds, bench, an hour of soak (OUTRIDER_SOAK_MINUTES for another time)
	@$(MAKE) check
	@OUTRIDER_FULL=1 $(MAKE) test
	@$(MAKE) bench
	@$(MAKE) soak ARGS=$${OUTRIDER_SOAK_MINUTES:-60}

clean: ## remove what set-up and the tests made; .outrider, the data, stays
	@rm -rf .tools node_modules coverage

setup:
	@scripts/setup

setup-test:
	@scripts/setup test
