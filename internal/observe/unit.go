package observe

import (
	"context"
	"strconv"
	"strings"

	"plumb/internal/host"
	"plumb/internal/product"
	"plumb/internal/stack"
)

// Unit gives the unit of systemd in whose control group a process runs, ""
// for none; ofUser tells that a user's own systemd made it, which the host's
// knows nothing of. It need not be the process's own: see OwnUnit.
func Unit(s *stack.Stack, process *stack.Thing) (name string, ofUser bool) {
	groups, _ := s.Follow(process, "cgroup")
	for _, g := range groups {
		for part := range strings.SplitSeq(g.Text("path"), "/") {
			switch {
			case strings.HasPrefix(part, "user@"):
				return "", true
			case strings.HasSuffix(part, ".service"):
				return part, false
			}
		}
	}
	return "", false
}

// OwnUnit gives the unit of systemd that starts a server, "" when none is
// known to. A server that was started from cron, ssh or a supervisor lies in
// the unit of that, and to restart the unit would restart everything else in
// it. So systemd is asked for the unit's main process: the server itself, or
// the script that keeps a MySQL or MariaDB running.
func OwnUnit(ctx context.Context, h host.Reader, s *stack.Stack, process *stack.Thing) string {
	unit, _ := Unit(s, process)
	if unit == "" {
		return ""
	}
	if runs, _ := host.RunsSystemd(ctx, h); !runs {
		return ""
	}
	said, err := h.Output(ctx, "systemctl", "show", "--property=MainPID", unit)
	if err != nil {
		return ""
	}
	main, _ := strings.CutPrefix(strings.TrimSpace(string(said)), "MainPID=")
	pid, err := strconv.Atoi(main)
	if err != nil || pid < 1 {
		return ""
	}
	if main == process.Ref.Name || main == Keeper(ctx, h, process.Ref.Name) {
		return unit
	}
	return ""
}

// Keeper gives the process id of the parent of a process when that is one
// that starts servers and stays, such as mysqld_safe; "" otherwise.
func Keeper(ctx context.Context, h host.Reader, pid string) string {
	parent := Parent(ctx, h, pid)
	if parent == "" {
		return ""
	}
	name, err := h.ReadFile(ctx, "/proc/"+parent+"/comm")
	if err != nil || !product.IsWrapper(strings.TrimSpace(string(name))) {
		return ""
	}
	return parent
}
