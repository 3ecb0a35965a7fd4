#!/usr/bin/env bash
# Runs tests TIMES times under load and with the race detector, to find those
# that fail now and then: the packages given, or those that were touched since
# BASE (the last commit of origin/main, or the one before this). It prints what
# failed, how often, and a line a package.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
times=${TIMES:-20}
base=${BASE:-$(git merge-base HEAD origin/main 2>/dev/null || echo HEAD~1)}

# touched lists the packages with a file that changed, committed or not.
touched() {
  { git diff --name-only "$base"; git ls-files --others --exclude-standard; } |
    sed -n 's|/testdata/.*|/x|; /\//s|/[^/]*$||p' | sort -u |
    while read -r dir; do ls "$dir"/*_test.go >/dev/null 2>&1 && echo "./$dir"; done
}

packages=("$@")
[ ${#packages[@]} -gt 0 ] || mapfile -t packages < <(touched)
[ ${#packages[@]} -gt 0 ] || { echo "flaky: no package with tests was touched since $base"; exit 0; }

# The load: one busy loop a processor, so that goroutines are put off wherever it hurts.
load=()
for _ in $(seq "$(nproc)"); do
  (while :; do :; done) &
  load+=($!)
done
trap 'kill "${load[@]}" 2>/dev/null' EXIT

echo "flaky: ${#packages[@]} packages, $times times each, base $base"
failed=0
for p in "${packages[@]}"; do
  log=$(mktemp)
  start=$SECONDS
  if CGO_ENABLED=1 go test -C "$p" -race -count "$times" -timeout "${TIMEOUT:-60m}" . >"$log" 2>&1; then
    printf 'ok    %-32s %4d s\n' "$p" $((SECONDS - start))
    rm -f "$log"
    continue
  fi
  failed=1
  printf 'FAIL  %-32s %4d s, all of it in %s\n' "$p" $((SECONDS - start)) "$log"
  grep -E '^ *--- FAIL|WARNING: DATA RACE|^panic:|\[build failed\]' "$log" | sed 's/ (.*//' | sort | uniq -c | sort -rn
done
exit $failed
