# make            builds ./plumb, a static binary
# make demo       sets up a MariaDB and a PostgreSQL privately, checks them, rehearses, applies and undoes the advice
# make test       all tests that fit in half an hour; lists what it skipped
# make test-real  also the long tests, with many server versions, as far as they fit into an hour, and
#                 some fuzzing of what edits configuration files; FULL=1 runs every test, however long
# make counted    plants every incident of test/watch three times and prints every run in a table: hours, alone on a
#                 machine; COUNTED takes flags, such as COUNTED='-only Lock -runs 1'
# make flaky      runs the packages that were touched 20 times, under load and with the race detector
# make vm         boots Debian with a real OpenZFS in QEMU and gives a shell; RUN='…' runs a line instead
# make lint       format, vet, the style and layer tests, deadcode, staticcheck and govulncheck
# make golden     rewrites the expected outputs, and which rules were judged on the hosts in fixtures/;
#                 read the diff before you commit
# make dist       builds the last commit for amd64 and arm64: binaries, .deb, .rpm, SBOM, checksums
# make man        writes the man pages into dist/man
# make fuzz       runs every fuzz target for FUZZTIME (10s) each
# make bench      measures plumb check against the tools in use
# make bench-backup measures plumb backup against rclone and the AWS command line
# make bench-load measures plumb load against sysbench, pgbench, sysbench-tpcc and fio
# make contest    runs the contest of advisers, or goes on with it, and prints its table
# make layouts    likewise the contest of layouts

SHELL   := bash
GO      ?= go
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
BUILD   := $(GO) build -ldflags "-s -w"

# The program, its tests and the tools are built in one way, so that each package is compiled once, and once more for the
# race detector. Only dist also trims the paths.
export CGO_ENABLED := 0

.PHONY: all fuzz demo test tests packages tools vet style test-real lint golden bench man dist clean

all:
	$(BUILD) -o plumb .

demo: all
	@test/setup.sh demo
	@mkdir -p .cache
	@$(GO) build -o .cache/demo ./test/demo
	@exec .cache/demo -plumb ./plumb

# A test that fails is run again, alone, at most RERUN times. One that then passes is
# listed as flaky at the end, and more than two of those fail the run.
RERUN ?= 2
# go test begins packages in the order in which they are named. By the alphabet the longest would be the last to begin,
# and would run alone at the end. Those of style and layers come first: they are quick, and tell of small mistakes.
PACKAGES := . ./test ./test/points ./test/lab ./test/archive ./internal/... ./test/real ./test/backup ./...
# These use zfs-fuse, and wait most of their time. Two run at a time beside the others, each with a zfs-fuse of its own. The longest
# come first, as there: the last has no other beside it.
ZFS := ./test/points ./test/real ./test/backup $(addprefix ./internal/,protect/replicate storage/layout storage/volume) ./test/boost ./test/fix \
       $(addprefix ./internal/,change/changetest protect/rollback storage/point protect/prune storage/zfs)
# With the race detector watch/record takes longest.
RACE := internal/watch/record internal
# Packages of the system are fetched while vet compiles, and plumb is linked while tests run.
test:
	@$(MAKE) --no-print-directory -k -j2 vet packages
	@$(MAKE) --no-print-directory -k -j3 tests tools all

packages:
	@test/setup.sh test

tests:
	@mkdir -p .cache
	@$(GO) build -o .cache/apart ./test/apart
	@$(GO) run ./test/report -rerun $(RERUN) -lane "2 $(ZFS)" -exec "'$(CURDIR)/.cache/apart'" -race "$(RACE)" -also research $(PACKAGES)

# FLAKY takes packages, such as FLAKY=./internal/lab; without it those that were touched since BASE.
.PHONY: flaky
flaky:
	@test/flaky.sh $(FLAKY)

test-real: all lint
	@test/setup.sh test-real
	@PLUMB_REAL=$(if $(FULL),full,1) $(GO) run ./test/report -rerun $(RERUN) -timeout $(if $(FULL),8h,60m) -count 1 -race "$(RACE)" -also research $(PACKAGES)
	@FUZZTIME=$(if $(FULL),60s,10s) test/fuzz.sh ./internal/edit

# VM takes flags, such as VM='-systemd' or VM='-release bookworm -iops 3000'; go run ./test/vm -help lists them.
.PHONY: vm
vm: all
	@mkdir -p .cache
	@test/setup.sh vm
	@$(GO) build -o .cache/vm ./test/vm
	@.cache/vm -in ./plumb $(VM) $(if $(RUN),-run "$$RUN",-shell)

.PHONY: counted
counted:
	@test/setup.sh test-real
	@$(GO) run ./test/counted $(COUNTED)

lint: vet style tools

# It compiles every package, and comes before what would otherwise compile them at the same time. Compilers end soon, and need not
# collect their garbage: that takes a tenth less of the processor, and up to 2 GB each.
vet:
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { echo "not formatted:"; gofmt -l $$(git ls-files '*.go'); exit 1; }
	@GOGC=off GOMEMLIMIT=2GiB $(GO) vet ./...

# make test runs these with the others.
style:
	@$(GO) test . ./test

# In make test they look at the code while tests run, many of which wait; what they find fails the run as well.
tools:
	@nice $(GO) run ./test/lint

golden:
	$(GO) run ./test/coverage -write
	$(GO) test $$(grep -rl --include='*_test.go' -e 'viewtest\.' internal test | xargs -n1 dirname | sort -u | sed 's|^|./|') -update

fuzz:
	@test/fuzz.sh

bench: all
	@test/setup.sh bench
	@$(GO) run -C research ./bench

# BENCHBACKUP takes flags, such as BENCHBACKUP="-only rates -rounds 5".
.PHONY: bench-backup
bench-backup: all
	@test/setup.sh bench-backup
	@$(GO) run -C research ./benchbackup $(BENCHBACKUP)

# BENCHLOAD takes flags, such as BENCHLOAD="-only fileio -pairs 3".
.PHONY: bench-load
bench-load: all
	@test/setup.sh bench-load
	@$(GO) run -C research ./benchload $(BENCHLOAD)

# CONTEST takes a pattern of cells, such as CONTEST='mariadb-*-gp3', and LEDGER
# the place of the records. All cells take many hours; each is kept as it ends,
# and an interrupted one goes on where it was. It asks for root.
.PHONY: contest
LEDGER ?= .cache/contest
contest: all
	@mkdir -p .cache
	@test/setup.sh test
	@$(GO) run -C research ./advisers -run -table -ledger "$(if $(findstring ://,$(LEDGER)),$(LEDGER),$(abspath $(LEDGER)))" -only "$(CONTEST)"

# The contest of layouts: see experiments/layouts/README.md. LAYOUTS takes flags, such as -short for
# a cell in half an hour, -small for a trial of minutes, or -vm for OpenZFS in a virtual machine; CONTEST chooses cells.
.PHONY: layouts
layouts: all
	@mkdir -p .cache
	@test/setup.sh $(if $(findstring -vm,$(LAYOUTS)),vm,test)
	@$(GO) run -C research ./layouts -run -table -only "$(CONTEST)" $(LAYOUTS)

# What is left when the power goes: see research/powercut/README.md. POWERCUT takes
# flags, such as POWERCUT="-rows mariadb-ext4 -times 5". The whole table takes a
# day; an interrupted run goes on where it was.
.PHONY: powercut
powercut: all
	@test/setup.sh powercut
	@$(GO) run -C research ./powercut $(POWERCUT)

man: all
	./plumb man dist/man

# It builds the last commit, not what lies around here, in a clone: the same
# commit and Go release then give the same bytes everywhere.
DIST := $(CURDIR)/dist
dist: SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct)
dist:
	@rm -rf "$(DIST)" .cache/dist && mkdir -p "$(DIST)" .cache
	@git clone -q . .cache/dist
	@cd .cache/dist && for arch in amd64 arm64; do \
	  GOFLAGS= GOOS=linux GOARCH=$$arch GOAMD64=v1 GOARM64=v8.0 $(BUILD) -trimpath -buildvcs=true -o "$(DIST)/plumb-linux-$$arch" . || exit 1; done
	@cd .cache/dist/packaging && SOURCE_DATE_EPOCH=$(SOURCE_DATE_EPOCH) $(GO) run . "$(DIST)"
	@rm -rf .cache/dist; ls -l "$(DIST)"

clean:
	rm -rf plumb dist

# Records fixtures/ anew from real servers. Needs root and a machine on which
# no other database server runs.
.PHONY: fixtures
fixtures: all
	@test/setup.sh test
	$(GO) build -o .cache/record ./test/fixtures
	unshare --mount .cache/record
