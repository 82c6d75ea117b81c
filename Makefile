# Greenwright. `make help` lists the targets; each is a line a person could type.

GO      ?= go
BIN     := bin
LINTER  := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -s -w -X main.version=$(VERSION)
# What the tests must really find on this machine; a missing one fails instead of skipping.
REQUIRE ?=
FUZZTIME ?= 30s
# What `make demo` simulates: github or gitlab.
FORGE   ?= github
# Without it a tracer of a dependency keeps the linker from leaving out what is not used: 63 MB instead of 90.
export GOFLAGS ?= -tags=grpcnotrace

.PHONY: help setup build demo test race lint fuzz bench e2e clean

help: ## list the targets
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## /\1\t/' | expand -t 10

setup: ## install what this machine lacks (bubblewrap, redis-server, git, gVisor's runsc), or print how
	@deploy/setup.sh

build: ## build bin/greenwright and bin/greenwright-guest
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o $(BIN)/ ./cmd/greenwright ./cmd/greenwright-guest

demo: setup build ## the whole way on this machine: a simulated forge (FORGE=github or gitlab), everything else real
	$(GO) run ./cmd/demo -greenwright $(BIN)/greenwright -forge $(FORGE)

test: setup ## all tests
	GREENWRIGHT_TEST_REQUIRE='$(REQUIRE)' $(GO) test -timeout 30m -shuffle=on ./...

race: setup ## all tests under the race detector
	GREENWRIGHT_TEST_REQUIRE='$(REQUIRE)' $(GO) test -timeout 60m -race -shuffle=on ./...

e2e: setup ## only the tests of whole flows, verbosely
	GREENWRIGHT_TEST_REQUIRE='bwrap runsc redis git' $(GO) test -count=1 -v ./cmd/internal/e2e/...

lint: $(BIN)/golangci-lint ## golangci-lint, pinned
	$(BIN)/golangci-lint run ./...

$(BIN)/golangci-lint: Makefile
	GOFLAGS= GOBIN=$(CURDIR)/$(BIN) $(GO) install $(LINTER)
	@touch $@

fuzz: ## every fuzz target for FUZZTIME (30s)
	@$(GO) list ./... | while read -r pkg; do \
	  for target in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz'); do \
	    echo "$$pkg $$target"; $(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 5x $$pkg || exit 1; \
	  done; done

bench: setup build ## the figures of docs/performance.md, as ratios of one run
	GREENWRIGHT_BENCH_BINARY=$(CURDIR)/$(BIN)/greenwright $(GO) test -run '^$$' -bench . -benchtime 1x -timeout 30m ./cmd/internal/bench
	$(GO) test -run '^$$' -bench . -benchtime 5x -timeout 30m ./vcs/git
	$(GO) test -run '^$$' -bench . ./webhook
	$(GO) test -run '^$$' -bench . ./jobs/store
	$(GO) test -run '^$$' -bench Recall -benchtime 1x ./agent/outline

clean: ## remove what make built
	rm -rf $(BIN)
