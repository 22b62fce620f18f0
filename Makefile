# What there is to do here. `make help` lists it.

SHELL := /bin/bash -o pipefail
GO    ?= go
LINT   = $(GO) tool -modfile=tools/lint/go.mod
FUZZ  ?= 20s

# A program with the race detector sleeps for a second before it exits, and a test run
# starts hundreds.
export GORACE ?= atexit_sleep_ms=0

.DEFAULT_GOAL := help

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: run
run: build ## start everything on this machine, with a private Postgres and demonstration partners
	@exec bin/pingpost dev

# What the console's style sheet and scripts are made of. Tailwind reads the
# templates to know which of its classes are used.
ASSET_SOURCES = .ci/assets $(wildcard admin/assets/package*.json admin/assets/*.css admin/assets/styles/*.css \
	admin/assets/*.js admin/assets/*.svg templates/*/*.templ)

.PHONY: assets
assets: admin/assets/dist/.built ## build the console's style sheet and scripts, where a source has changed

admin/assets/dist/.built: $(ASSET_SOURCES)
	@.ci/assets

.PHONY: build
build: assets ## build bin/pingpost
	@echo 'building bin/pingpost: the first time on a machine takes a minute or two, without a word'
	$(GO) build -trimpath -o bin/pingpost ./cmd/pingpost

.PHONY: needs
needs:
	@.ci/needs

.PHONY: screenshots
screenshots: needs assets ## write ./screenshots: every page of the console, light, dark and narrow
	@mkdir -p screenshots
	SCREENSHOTS=$(CURDIR)/screenshots $(GO) test -count=1 -run '^TestInBrowser$$/^every_page' ./test/browser

.PHONY: test
test: needs assets ## run every test, with the race detector, against a real Postgres
	$(GO) test -race -timeout 30m ./...

# Packages whose tests take long: they use a browser, kill processes, or measure.
SLOW_TESTS = ./api/... ./bench/... ./cmd/... ./internal/devpg ./internal/devstack ./internal/devvault ./soak ./templates ./test/...

.PHONY: test-short
test-short: assets ## run the tests that need no browser and kill nothing, without the race detector
	$(GO) test -timeout 5m $$(comm -23 <($(GO) list ./... | sort) <($(GO) list $(SLOW_TESTS) | sort))

.PHONY: check
check: assets ## format, vet, golangci-lint, generated files, import rules, documentation, known vulnerabilities
	@unformatted=$$(git ls-files -co --exclude-standard '*.go' | grep -v '_templ\.go$$' | xargs gofmt -l); \
		[ -z "$$unformatted" ] || { echo "not formatted (make fmt mends it):"; echo "$$unformatted"; exit 1; }
	$(GO) mod verify
	$(GO) mod tidy -diff
	$(GO) vet ./...
	$(LINT) golangci-lint run
	@.ci/generated
	$(GO) test -count=1 ./internal/imports ./docs
	@.ci/vulnerabilities $(LINT) govulncheck ./...

.PHONY: generate
generate: ## write the files that are generated from others
	$(GO) tool templ generate -path templates -log-level error

.PHONY: reference
reference: ## write the pages of docs/reference that are generated from the code
	UPDATE_REFERENCE=1 $(GO) test -count=1 -run 'Reference$$' ./cmd/pingpost ./internal/authz ./test/vault

.PHONY: fmt
fmt: ## format the code
	gofmt -w $$(git ls-files -co --exclude-standard '*.go' | grep -v '_templ\.go$$')
	$(GO) tool templ fmt -log-level error templates

.PHONY: bench
bench: assets ## measure against the baselines; writes docs/benchmarks.md
	$(GO) run ./bench

.PHONY: soak
soak: needs assets ## kill nodes 50 times and Postgres 20 times under load, disturb the network, judge every answer; and an hour's memory
	$(GO) test -count=1 -timeout 2h -v ./soak -args -node-kills 50 -postgres-kills 20 -disturbances 10 -hold 1h

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZ (20s) each
	@for package in $$($(GO) list ./...); do \
		for target in $$($(GO) test -list '^Fuzz' $$package | grep '^Fuzz'); do \
			$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZ) -fuzzminimizetime 1s $$package || exit 1; \
		done; \
	done

.PHONY: clean
clean: ## remove what was built; the data folder stays
	rm -rf bin
