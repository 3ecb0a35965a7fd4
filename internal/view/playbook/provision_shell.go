package playbook

import (
	"cmp"
	_ "embed"
	"fmt"
	"strings"
)

//go:embed library.sh
var library string

// known ends a text in which something stayed unknown as one that was refused.
const known = `[ -z "$unknown" ] || die "what is unknown above could not be read"
`

// Shell writes a plan as a script of POSIX's shell for a host without plumb. A second run does what
// is left; what is neither as it was nor as it shall be is refused.
func (p Provisioning) Shell() (string, error) {
	w, err := p.write()
	if err != nil {
		return "", err
	}
	var out strings.Builder
	out.WriteString("#!/bin/sh\n" + comments(append(w.head("shell"), "",
		"sh FILE apply   does it; run again, it does what is left",
		"sh FILE show    only shows what it would do, and what is unknown because it cannot be read",
		"It cannot undo anything: for that, run plumb provision itself.")))
	out.WriteString("set -eu\nLC_ALL=C\nexport LC_ALL\n\n" + library + `
case ${1:-} in
apply) ;;
show) PLUMB_DRY=1 ;;
*)
	echo "usage: sh $0 apply | show" >&2
	exit 2
	;;
esac
[ "$(id -u)" = 0 ] || die "only root can do this"
`)
	for i, s := range w.stages {
		out.WriteString("\n" + comments([]string{fmt.Sprintf("%d %s: %s", i+1, s.Name, s.Why)}) + "owed=" + s.owed + "\n")
		for _, a := range s.acts {
			out.WriteString(a.text)
		}
	}
	for _, what := range w.left {
		out.WriteString("\n" + call("echo", "not done here: "+oneLineOf(what)))
	}
	out.WriteString(known)
	if len(w.left) > 0 {
		out.WriteString("exit 4\n")
	}
	return out.String(), nil
}

// head says what the text is, in lines of their own.
func (w *provisioning) head(form string) []string {
	lines := []string{fmt.Sprintf("Written by plumb provision --emit %s for %s.", form, cmp.Or(w.Host, "this host")),
		"It needs no plumb on the host. Each act checks first: if the result is already there, it does nothing; if the state is neither that nor the one from when this was written, it refuses.", ""}
	for i, s := range w.stages {
		lines = append(lines, fmt.Sprintf("%2d %s: %s", i+1, s.Name, s.Why))
		for _, a := range s.acts {
			lines = append(lines, "   "+a.title)
		}
		for _, l := range s.Lasting {
			lines = append(lines, "   final: "+l)
		}
		for _, n := range s.Notes {
			lines = append(lines, "   note: "+n)
		}
	}
	for _, l := range w.left {
		lines = append(lines, "", "Not in here: "+l)
	}
	return lines
}
