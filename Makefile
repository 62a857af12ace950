# Every command here works on a fresh clone with Go, git and make installed.

GO       ?= go
BIN      := bin
TOOLS    := $(BIN)/tools
PORT     ?= 8080
VERSION  := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS  := -X main.version=$(VERSION)

# Without what only a debugger reads, and with fewer collections of the compiler: a fifth
# of the time of a first build, and a third of a binary's size.
BUILD    := GOGC=400 $(GO) build -trimpath -gcflags=all=-dwarf=false -ldflags '-s -w $(LDFLAGS)'

# Modules of their own: what only their users need. The one whose tests take longest is first.
MODULES := verify internal/notices/generate internal/prose contrib/otel contrib/prometheus contrib/redis examples/listing examples/vendor-driver examples/vendor-sink examples/vendor-importer bench/http bench/storage

.PHONY: help build build-authz build-host web test-web screenshots docs notices run test test-modules redis clients test-full vectors conformance faults bench bench-storage bench-http bench-verify lint proto tools clean

help: ## show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

build: build-host ## build the host, the plugins and the verifier into bin/
	cd verify && $(BUILD) -o ../$(BIN)/authz-verify ./cmd/authz-verify

build-authz: # the command alone, which carries what a quickstart needs
	@mkdir -p $(BIN)
	@cp internal/notices/THIRD_PARTY_NOTICES LICENSE $(BIN)/
	$(BUILD) -o $(BIN)/authz ./cmd/authz

build-host: build-authz # without the verifier, whose parser is long in the making
	$(BUILD) -o $(BIN)/authz-conformance ./cmd/authz-conformance
	@for name in memory sqlite postgres mongo ldap prometheus otlp scim file; do \
	  echo "$(GO) build -o $(BIN)/authz-plugin-$$name ./plugins/$$name"; \
	  $(BUILD) -o $(BIN)/authz-plugin-$$name ./plugins/$$name || exit 1; done
	$(BUILD) -o $(BIN)/acme-questions ./examples/acme/cmd/acme-questions

web: web/node_modules/.installed ## build the dashboard into web/dist, which is committed
	$(GO) generate ./web
	cd web && npm run --silent build

# Exactly the versions of the lock file; no package may run a script.
web/node_modules/.installed: web/package-lock.json
	@command -v node >/dev/null || scripts/install-package nodejs "the dashboard is built and tested with it"
	@command -v npm >/dev/null || scripts/install-package npm "it installs what the dashboard is built of"
	cd web && npm ci --ignore-scripts --no-audit --no-fund && touch node_modules/.installed

test-web: build-host web/node_modules/.installed ## the dashboard in Chromium, against real hosts (AGAIN=1: files with a failure once more)
	@test -n "$$CHROMIUM" || command -v chromium >/dev/null || scripts/install-package chromium "the dashboard is tested in it"
	cd web && npm run --silent check && npm run --silent test -- $(if $(AGAIN),--again)

screenshots: build-host web/node_modules/.installed ## make the pictures of docs/dashboard.md of this build
	@test -n "$$CHROMIUM" || command -v chromium >/dev/null || scripts/install-package chromium "the pictures are taken in it"
	@command -v cwebp >/dev/null || scripts/install-package webp "the pictures are made small with it"
	cd web && node --test --test-reporter=spec e2e/screenshots.mjs

docs: website/node_modules/.installed ## a site of the documentation, with a search, in bin/site
	cd website && npm run --silent build
	@echo "the site is in $(BIN)/site: serve it as files, such as python3 -m http.server --directory $(BIN)/site"

website/node_modules/.installed: website/package-lock.json
	@command -v node >/dev/null || scripts/install-package nodejs "the site is built with it"
	@command -v npm >/dev/null || scripts/install-package npm "it installs what the site is built with"
	cd website && npm ci --ignore-scripts --no-audit --no-fund && touch node_modules/.installed

notices: ## write THIRD_PARTY_NOTICES from the modules that the binaries are linked with
	cd internal/notices/generate && $(GO) run .

run: ## start a host on 127.0.0.1:8080 (or PORT=) with the sample loaded
	@test -x $(BIN)/authz || echo "building $(BIN)/authz: a minute or two the first time, seconds from then on"
	@$(MAKE) --no-print-directory build-authz
	@exec $(BIN)/authz quickstart --listen 127.0.0.1:$(PORT)

# Nothing of the tests is looked at in a debugger: an eighth of the compiler's time. Programs
# that tests build, and what go vet and go list compile for them, have these flags too.
LEAN := -gcflags=all=-dwarf=false
# What computes in memory of its own, such as SQLite and its C library, which are C
# translated to Go: the race detector learns nothing there, and makes it several times slower.
ALONE := modernc.org/libc modernc.org/sqlite/lib crypto/internal/fips140/nistec/fiat strconv unicode/utf8
# The race detector also checks conversions of unsafe pointers, a sixth of the time of the
# tests of operations. The product has none.
RACE := -race '-gcflags=all=-dwarf=false -d=checkptr=0' $(foreach p,$(ALONE),'-gcflags=$(p)=-race=false -dwarf=false -d=checkptr=0')
# Collecting less often costs memory that there is, and saves a tenth of the tests and a
# third of staticcheck.
test test-modules lint: export GOGC := 400
test test-modules lint tools: export GOFLAGS := $(strip $(shell $(GO) env GOFLAGS) $(LEAN))
# Vetted by lint, linked without what only a debugger reads, and one package more at once
# than there are cores, since tests also wait.
PACKAGES := $(shell echo $$(($$(getconf _NPROCESSORS_ONLN) + 1)))
# Of a name of its own: a test that go takes from its cache reports nothing.
test: export AUTHZ_TEST_VECTORS_REPORT := $(CURDIR)/$(BIN)/test/vectors.$(shell date +%s)
test: tools lint ## everything that must pass
	@mkdir -p $(BIN)/test && rm -f $(BIN)/test/vectors.*
	@$(GO) list -export ./cmd/... ./plugins/... >/dev/null # the programs that tests link, compiled before they wait for them
	PATH="$(CURDIR)/$(TOOLS):$$PATH" $(GO) test $(RACE) -vet=off -ldflags=-w -p $(PACKAGES) -timeout 15m ./...
	@scripts/vectors --sum $(AUTHZ_TEST_VECTORS_REPORT)
	@$(MAKE) --no-print-directory -j 2 test-modules conformance # whose cases mostly wait
	@$(MAKE) --no-print-directory faults KILLS=12

test-modules: ## the modules that stand alone
	@command -v redis-server >/dev/null || scripts/install-package redis-server "the Redis adapter is tested against it"
	@set -e; for dir in $(MODULES); do echo "== $$dir"; (cd "$$dir" && $(GO) vet $(RACE) ./... && $(GO) test $(RACE) -vet=off -ldflags=-w -timeout 20m ./...); done

redis: ## the Redis adapter alone, against a real server
	@$(MAKE) --no-print-directory test-modules MODULES=contrib/redis

clients: ## TypeScript and Go clients, made from the descriptions of both APIs
	@scripts/clients

test-full: test clients ## also fuzzing, properties at length, mutations, faults in full, and the comparison's equal answers
	AUTHZ_FULL=1 $(GO) test -timeout 90m ./conformance/... ./plugins/... ./sdk/storage/kv ./cmd/authz-conformance
	AUTHZ_FULL=1 $(GO) test -run APrometheusServer -timeout 15m ./host
	cd verify && AUTHZ_FULL=1 $(GO) test -timeout 30m .
	AUTHZ_FULL=1 scripts/conformance mongo-collections mongo-rows
	@$(MAKE) --no-print-directory faults KILLS=500 WITHIN=40m
	scripts/fuzz 20s
	scripts/properties 2000
	cd bench && $(GO) test -timeout 30m ./...

vectors: ## replay the golden vectors (AUTHZ_VECTORS=DIR replaces the folder)
	@scripts/vectors

conformance: ## every plugin's binary against every case of its kind's contract
	@scripts/conformance

KILLS ?= 200
faults: ## kill, stop, fail over, split and overload hosts, plugins and database under random writers (KILLS=200 WITHIN=10m SEED= DRIVER=postgres)
	$(GO) run ./cmd/authz-faults --kills $(KILLS) $(if $(WITHIN),--within $(WITHIN)) $(if $(SEED),--seed $(SEED)) $(if $(DRIVER),--driver $(DRIVER))

bench-storage: ## hosts over PostgreSQL and SQLite beside the database asked directly
	cd bench/storage && $(GO) run . --driver postgres --output markdown && $(GO) run . --driver sqlite --output markdown

bench-http: ## checks over HTTP beside bare net/http, on a quiet machine
	cd bench/http && $(GO) run .

bench-verify: ## authz-verify over 10,000 TypeScript files
	cd verify && $(GO) run ./internal/bench

bench: ## the benchmarks behind docs/performance.md
	$(GO) test -run '^$$' -bench . -benchmem -timeout 60m ./sdk/client ./sdk/metrics
	$(GO) test -run '^$$' -bench Sinks -benchtime 1x ./host
	$(GO) test -run '^$$' -bench MeshCheck -benchmem ./host/mesh
	$(GO) test -run '^$$' -bench MeshStaleness -benchtime 200x ./host/mesh

# With the flags of the tests: what is compiled to be looked at is what they link.
lint: $(TOOLS)/staticcheck $(TOOLS)/govulncheck ## gofmt, vet, staticcheck, third-party notices, how the documentation reads, and govulncheck when its database is reachable
	@unformatted=$$(git ls-files '*.go' | xargs gofmt -l); test -z "$$unformatted" || { echo "not gofmt'ed:"; echo "$$unformatted"; exit 1; }
	$(GO) vet $(RACE) ./...
	GOFLAGS="$$GOFLAGS $(RACE)" $(TOOLS)/staticcheck ./...
	@for dir in $(MODULES) bench; do (cd "$$dir" && $(GO) list -deps -test ./... >/dev/null) || { echo "$$dir: 'go mod tidy' there: it lacks what another module began to use"; exit 1; }; done
	cd internal/notices/generate && $(GO) run . -check
	cd internal/prose && $(GO) run . -check
	@scripts/govulncheck $(TOOLS)

proto: $(TOOLS)/protoc-gen-go $(TOOLS)/protoc-gen-go-grpc ## regenerate the plugin wire
	cd sdk/plugin && PATH="$(CURDIR)/$(TOOLS):$$PATH" protoc -I proto \
	  --go_out=proto --go_opt=paths=source_relative \
	  --go-grpc_out=proto --go-grpc_opt=paths=source_relative \
	  proto/authz/plugin/v1/*.proto

# Of one module, so that what they share is compiled once.
$(TOOLS)/staticcheck $(TOOLS)/govulncheck $(TOOLS)/protoc-gen-go $(TOOLS)/protoc-gen-go-grpc: internal/tools/go.mod
	@mkdir -p $(TOOLS)
	GOBIN="$(CURDIR)/$(TOOLS)" $(GO) install -C internal/tools -ldflags=-w tool

tools: $(TOOLS)/staticcheck $(TOOLS)/protoc-gen-go $(TOOLS)/protoc-gen-go-grpc ## install what the tests use beside Go
	@command -v protoc >/dev/null || scripts/install-package protobuf-compiler "a test proves with it that the generated code is current"
	@command -v prometheus >/dev/null || scripts/install-package prometheus "the counts of checks are held to a real server"
	@command -v initdb >/dev/null || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || scripts/install-package postgresql "the PostgreSQL driver is tested against it"
	@command -v slapd >/dev/null || test -x /usr/sbin/slapd || scripts/install-package slapd "the LDAP importer is tested against it"

clean: ## remove what was built; the sample's data below .authz stays
	rm -rf $(BIN)
