package rollback

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"plumb/internal/hint"
	"plumb/internal/host/paths"
	"plumb/internal/host/processes"
	"plumb/internal/observe"
	"plumb/internal/protect/service"
	"plumb/internal/stack"
)

// startable finds how the server is stopped and started, and refuses one that could not be
// started again.
func (c *checking) startable(ctx context.Context) error {
	sv, o := c.plan.Server, c.o
	if p := c.s.Find(stack.Ref{Kind: "process", Name: strconv.Itoa(sv.PID)}); p != nil {
		if other, _ := p.Get("own_root"); other.String() == "true" {
			return hint.With(errors.New("it runs in a container, which Plumb does not start"), "stop the container, and swap the datasets by hand; plumb clone starts a copy beside it")
		}
	}
	switch {
	case len(o.Stop) > 0 && len(o.Start) > 0:
		c.plan.Stop, c.plan.Start = o.Stop, o.Start
	case len(o.Stop)+len(o.Start) > 0:
		return hint.Usage("only one of the two commands is given", "give both, --stop and --start")
	case o.Service != "" && strings.Trim(o.Service, url.PathEscape(o.Service)) == "" && o.Service[0] != '-':
		c.plan.Stop, c.plan.Start = []string{"service", o.Service, "stop"}, []string{"service", o.Service, "start"}
	case sv.Unit != "":
		if err := service.StartsAgain(ctx, c.h, sv.Unit); err != nil {
			return err
		}
		c.plan.Stop, c.plan.Start = []string{"systemctl", "stop", "--", sv.Unit}, []string{"systemctl", "start", "--", sv.Unit}
	default:
		return hint.With(errors.New("no systemd unit starts it, so it could be stopped but not started again"),
			"name its --service, or say how with --stop COMMAND and --start COMMAND")
	}
	return service.Seen(ctx, c.h, c.plan.Target)
}

// users refuses datasets on which other processes have files open. The server, its processes
// and whoever started it are none. Whom even root cannot look at is noted: what they have open
// here keeps the datasets from being unmounted.
func (c *checking) users(ctx context.Context) error {
	c.open = map[string]bool{}
	for _, name := range []string{"cwd", "root", "fd/*"} {
		links, err := processes.Entries(ctx, c.h, name)
		if err != nil {
			return fmt.Errorf("look who uses the datasets: %w", err)
		}
		if err := c.used(ctx, links); err != nil {
			return err
		}
	}
	return nil
}

// used refuses links of processes that lead into the datasets, unless they are the server's.
func (c *checking) used(ctx context.Context, links []string) error {
	for _, link := range links {
		pid := strings.Split(link, "/")[2]
		to, err := c.h.Readlink(ctx, link)
		if errors.Is(err, fs.ErrPermission) && c.r.Keeper.Do.About().Root {
			c.note("whether process " + pid + " uses the datasets cannot be seen")
			continue
		}
		if errors.Is(err, fs.ErrPermission) {
			return hint.With(fmt.Errorf("whether others use the datasets cannot be seen: %w", err), "run plumb as root")
		}
		if err != nil || !slices.ContainsFunc(c.plan.Volumes, func(v Volume) bool { return paths.Within(to, v.Mountpoint) }) {
			continue
		}
		if c.servers(ctx, pid) {
			c.open[to] = true
			continue
		}
		comm, _ := c.h.ReadFile(ctx, "/proc/"+pid+"/comm")
		return hint.With(fmt.Errorf("process %s (%s) has %s open, and would be affected by the rollback", pid, strings.TrimSpace(string(comm)), to), "end it first")
	}
	return nil
}

func (c *checking) note(what string) {
	if !slices.Contains(c.notes, what) {
		c.notes = append(c.notes, what)
	}
}

// servers tells whether a process is the server, was started by it, or started it.
func (c *checking) servers(ctx context.Context, pid string) bool {
	server := strconv.Itoa(c.plan.Server.PID)
	if pid == observe.Parent(ctx, c.h, server) {
		return true
	}
	for range 32 {
		if pid == server {
			return true
		}
		if pid = observe.Parent(ctx, c.h, pid); pid == "" || pid == "0" {
			return false
		}
	}
	return false
}
