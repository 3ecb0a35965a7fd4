// Package service tells how it is seen whether a server runs, and when its process has ended.
package service

import (
	"context"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"plumb/internal/change"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/host/processes"
)

// Listening reads whether somebody listens at an address: what it shows then, or change.None.
func Listening(network, address string) (look change.Inspection, shows string, err error) {
	if network == "unix" && path.IsAbs(address) {
		return change.Inspection{Socket: address}, address, nil
	}
	_, port, _ := strings.Cut(address, ":")
	n, err := strconv.ParseUint(port, 10, 16)
	if network != "tcp" || err != nil {
		return look, "", hint.With(fmt.Errorf("it is reached by %s at %s, where Plumb cannot see whether it runs", network, address), "let it listen on a socket of this host")
	}
	return change.Inspection{File: "/proc/net/tcp", Match: fmt.Sprintf(`^ *[0-9]+: [0-9A-F]{8}:(%04X) 0{8}:0{4} 0A `, n)}, fmt.Sprintf("%04X", n), nil
}

// Listens tells whether somebody is seen to listen where a server is reached.
func Listens(ctx context.Context, h host.Reader, at host.Target) (bool, error) {
	look, _, err := Listening(at.Network, at.Address)
	if err != nil {
		return false, err
	}
	if look.Socket != "" {
		return processes.Listens(ctx, h, look.Socket)
	}
	text, err := h.ReadFile(ctx, look.File)
	return err == nil && regexp.MustCompile("(?m)"+look.Match).Match(text), err
}

// Seen refuses a server that runs and is not seen to: it would count as stopped.
func Seen(ctx context.Context, h host.Reader, at host.Target) error {
	seen, err := Listens(ctx, h, at)
	if err == nil && !seen {
		err = hint.With(fmt.Errorf("it cannot be seen from here that it listens on %s, and so not whether it runs", at.Address),
			"run plumb where clients of that socket run: in the same root, mounts and network namespace; a server without a socket must listen on an address of IPv4")
	}
	return err
}

// StartsAgain refuses a unit that starts nothing once it was stopped: one that was made for one run, was masked, or is only started by
// others. So it does one that does not stay stopped.
func StartsAgain(ctx context.Context, h host.Reader, unit string) error {
	out, err := h.Output(ctx, "systemctl", "show", "--property=CanStart,Transient,TriggeredBy", "--", unit)
	if err != nil {
		return hint.With(fmt.Errorf("look whether %s can be started again: %w", unit, err), "see whether systemd answers: systemctl list-jobs; or say how with --stop COMMAND and --start COMMAND")
	}
	said := strings.Fields(string(out))
	if !slices.Contains(said, "CanStart=yes") || slices.Contains(said, "Transient=yes") {
		return hint.With(fmt.Errorf("%s could not be started again once it was stopped: it was made for one run (systemd-run), was masked, or refuses to be started by hand", unit),
			"systemctl cat "+unit+" shows it; or say how with --stop COMMAND and --start COMMAND")
	}
	return staysStopped(ctx, h, unit, out)
}

// staysStopped refuses a unit that another one starts again, as a socket does that systemd listens on in place of the server: it would
// not be seen to be stopped, and the next client would start it in the middle of what is done.
func staysStopped(ctx context.Context, h host.Reader, unit string, shown []byte) error {
	for line := range strings.Lines(string(shown)) {
		by, ok := strings.CutPrefix(line, "TriggeredBy=")
		if !ok {
			continue
		}
		for _, other := range strings.Fields(by) {
			state, err := h.Output(ctx, "systemctl", "show", "--property=ActiveState", "--", other)
			if err != nil {
				return hint.With(fmt.Errorf("look whether %s would be started by %s: %w", unit, other, err), "see whether systemd answers: systemctl list-jobs")
			}
			if strings.TrimSpace(string(state)) == "ActiveState=active" {
				return hint.With(fmt.Errorf("%s would not stay stopped: %s starts it again", unit, other), "systemctl stop "+other+"; start it again afterwards")
			}
		}
	}
	return nil
}

// ComesBack refuses a server that could be stopped and not started again by its unit, if it has one, or that is not seen to run.
func ComesBack(ctx context.Context, h host.Reader, unit string, at host.Target) error {
	if unit != "" {
		if err := StartsAgain(ctx, h, unit); err != nil {
			return err
		}
	}
	return Seen(ctx, h, at)
}

// Ended is a script that waits until the process of its first argument has ended. One that nobody reaped has: it has
// let go of its files.
const Ended = `while s=$(grep -s '^State:' "/proc/$1/status"); do
	case $s in *[ZX]*) exit 0 ;; esac
	sleep 0.05
done`

// UntilEnded is the command that waits so, not quite as long as any command may take: it says itself that the time is over.
func UntilEnded(pid int) []string { return untilEnded(pid, 590) }

func untilEnded(pid, seconds int) []string {
	return []string{"sh", "-c", `timeout "$2" sh -c "$3" sh "$1" && exit
echo "process $1 of the server has not ended ${2}s after it was stopped: its log says what it waits for" >&2
exit 1`, "sh", strconv.Itoa(pid), strconv.Itoa(seconds), Ended}
}

// Surely gives what stops a server whatever its state is, of a command that stops one that runs. A unit that was taken away starts
// nothing any more, and a script of service(8) may call it an error that nothing runs: whether it still listens is read afterwards.
// sure is false of a person's own command, which may fail where nothing runs.
func Surely(stop []string) (argv []string, sure bool) {
	switch stop[0] {
	case "systemctl":
		return []string{"sh", "-c", `systemctl stop -- "$1" || ! systemctl cat -- "$1" >/dev/null 2>&1`, "sh", stop[len(stop)-1]}, true
	case "service":
		return []string{"sh", "-c", `service "$1" stop || :`, "sh", stop[1]}, true
	}
	return stop, false
}

// Idle is a function for a script of a shell: idle DIR waits until no server works in its data directory any more, and fails while one
// does. Whoever stopped it may not be the last: the scripts of packages, which somebody updates meanwhile, start servers.
const Idle = `runs_in() { for p in /proc/[0-9]*/cwd; do [ ! "$p" -ef "$1" ] || { p=${p%/cwd}; echo "${p##*/}"; break; }; done; }
idle() {
	tries=50
	while by=$(runs_in "$1") && [ -n "$by" ]; do
		[ "$((tries -= 1))" -gt 0 ] || { echo "process $by runs in $1: stop that server" >&2; exit 1; }
		sleep 0.2
	done
}
`
