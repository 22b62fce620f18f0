# Run `make help` for a list of the targets.

SHELL := /bin/bash -o pipefail
GO    ?= go
LINT   = $(GO) tool -modfile=tools/lint/go.mod
FUZZ  ?= 20s

# Programs with the race detector sleep for a second before they exit, and a test run starts
# hundreds of them.
export GORACE ?= atexit_sleep_ms=0

.DEFAULT_GOAL := help

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: run
run: build ## start everything on this machine, with a private Postgres and demo data
	@exec bin/pingpost dev

.PHONY: build
build: ## build bin/pingpost
	@echo 'building bin/pingpost: the first build takes a minute or two and prints nothing'
	$(GO) build -trimpath -o bin/pingpost ./cmd/pingpost

.PHONY: needs
needs:
	@.ci/needs

.PHONY: screenshots
screenshots: needs ## write screenshots of all console pages (light, dark, narrow) to ./screenshots
	@mkdir -p screenshots
	SCREENSHOTS=$(CURDIR)/screenshots $(GO) test -count=1 -run '^TestInBrowser$$/^every_page' ./test/browser

.PHONY: test
test: needs ## run all tests with the race detector, against a real Postgres
	$(GO) test -race -ldflags='-s -w' -timeout 30m ./...

# Packages with slow tests, which use a browser, kill processes or measure times. Other packages have slow tests in files
# with the build constraint !short. Test programs are linked without debugging information, because that is faster.
SLOW_TESTS = ./api/... ./bench/... ./cmd/... ./internal/dev/devpg ./internal/dev/devstack ./internal/dev/devvault ./soak ./test/...

.PHONY: test-short
test-short: ## run the fast tests (no browser, killed processes or large data), without the race detector
	$(GO) test -tags short -ldflags='-s -w' -timeout 15m $$(comm -23 <($(GO) list ./... | sort) <($(GO) list $(SLOW_TESTS) | sort))

.PHONY: check
check: ## check the format, vet, golangci-lint, generated files, imports, documentation and known vulnerabilities
	@unformatted=$$(git ls-files -co --exclude-standard '*.go' | grep -v '_templ\.go$$' | xargs gofmt -l); \
		[ -z "$$unformatted" ] || { echo "not formatted; run make fmt:"; echo "$$unformatted"; exit 1; }
	$(GO) mod verify
	$(GO) mod tidy -diff
	$(GO) vet ./...
	$(LINT) golangci-lint run
	@.ci/generated
	$(GO) test -count=1 ./internal/dev/imports ./docs
	@.ci/vulnerabilities $(LINT) govulncheck ./...

# The body of a component is a closure, so the compiler considers the function small and inlines it everywhere. Without
# noinline, the program would be a tenth larger.
.PHONY: generate
generate: ## generate Go code and the style sheet from the templates (needs Node.js)
	$(GO) tool templ generate -path templates -log-level error
	@perl -pi -e 's|^(func .* templ.Component \{)$$|//go:noinline\n$$1|' templates/*/*_templ.go
	@gofmt -w templates
	@.ci/assets

.PHONY: reference
reference: ## generate the pages in docs/reference from the code
	UPDATE_REFERENCE=1 $(GO) test -count=1 -run 'Reference$$' ./cmd/pingpost ./internal/platform/authz ./internal/platform/config ./migrations ./test/vault

.PHONY: dashboards
dashboards: ## generate the dashboards for Grafana
	cd tools/dashboards && $(GO) run . ../../deploy/grafana/dashboards

.PHONY: fmt
fmt: ## format the code
	gofmt -w $$(git ls-files -co --exclude-standard '*.go' | grep -v '_templ\.go$$')
	$(GO) tool templ fmt -log-level error templates

.PHONY: bench
bench: ## compare the performance with baselines and write docs/benchmarks.md
	$(GO) run ./bench

.PHONY: soak
soak: needs ## kill nodes and database servers and disturb the network under load, and measure memory for an hour
	$(GO) test -count=1 -timeout 2h -v ./soak -args -node-kills 50 -postgres-kills 20 -disturbances 10 -primary-losses 15 -max-outage 10s -hold 1h
	$(GO) test -count=1 -timeout 30m -v ./internal/requests -run '^TestPersonWithManyLeads$$' -args -many-leads 100000

.PHONY: release-snapshot
release-snapshot: ## build the archives and packages of a release from the current commit, into dist
	$(GO) tool -modfile=tools/release/go.mod goreleaser release --snapshot --clean

.PHONY: fuzz
fuzz: ## run each fuzz target for FUZZ (default 20s)
	@for package in $$($(GO) list ./...); do \
		for target in $$($(GO) test -list '^Fuzz' $$package | grep '^Fuzz'); do \
			$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZ) -fuzzminimizetime 1s $$package || exit 1; \
		done; \
	done

.PHONY: clean
clean: ## remove what was built, but not the data folder
	rm -rf bin dist
