package playbook

import (
	"strings"

	"plumb/internal/host"
)

// planEnds ends the plan in a script. No line of its JSON reads so.
const planEnds = "END_OF_PLAN"

// shell writes a script that hands the plan to plumb.
func (b *playbook) shell() string {
	words := make([]string, len(b.fix()))
	for i, w := range b.fix() {
		words[i] = host.ShellWord(w)
	}
	lines := append(b.head("shell"), "",
		"sh FILE apply   does it; run again, it does what is left",
		"sh FILE undo    takes it back; leaves what others changed since",
		"Further options are passed to plumb, such as apply --dry-run, apply --restart, undo --force.")
	return "#!/bin/sh\n" + comments(lines) + `set -eu

plumb=${PLUMB:-plumb}
if ! command -v "$plumb" >/dev/null; then
	echo "$0: plumb is not on this host: copy it here, or set by hand what the head of this file says" >&2
	exit 3
fi

plan() {
	cat <<'` + planEnds + "'\n" + b.carried + planEnds + `
}

verb=${1:-}
if [ $# -gt 0 ]; then shift; fi
case $verb in
apply) plan | "$plumb" ` + strings.Join(words, " ") + ` "$@" ;;
undo) plan | "$plumb" undo --plan - --yes "$@" ;;
*)
	echo "usage: sh $0 apply | undo [OPTIONS OF PLUMB]" >&2
	exit 2
	;;
esac
`
}
