#!/usr/bin/env bash
# Runs every fuzz target of the project, one after another, for FUZZTIME each
# (10s). Names given as arguments choose packages: test/fuzz.sh ./internal/tape
set -euo pipefail
cd "$(dirname "$0")/.."
time="${FUZZTIME:-10s}"
failed=0
for dir in $(go list -f '{{.Dir}}' "${@:-./internal/...}"); do
	for target in $(grep -hoE '^func Fuzz[A-Za-z0-9_]+' "$dir"/*_test.go 2>/dev/null | sed 's/^func //'); do
		printf '%-60s ' "${dir#"$PWD"/} $target"
		if out=$(cd "$dir" && go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" . 2>&1); then
			echo ok
		else
			echo FAILED
			echo "$out"
			failed=1
		fi
	done
done
exit $failed
