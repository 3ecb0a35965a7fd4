package process

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"plumb/internal/host"
	"plumb/internal/host/proc"
	"plumb/internal/observe"
	"plumb/internal/product"
	"plumb/internal/stack"
)

const (
	asRoot = "run as root: sudo plumb check"

	// maxProcesses bounds how many /proc/PID/stat files are read. It is far
	// above what a database host runs, backends of PostgreSQL included.
	maxProcesses = 32768
	// maxServers bounds how many servers are read in detail.
	maxServers = 256
)

// Probe finds server processes, by the name that the kernel has for them.
type Probe struct{}

// Name names the probe in gaps.
func (Probe) Name() string { return "process" }

// Cost implements observe.Probe.
func (Probe) Cost() observe.Cost {
	return observe.Cost{Every: 10 * time.Second, Once: observe.Requests{Files: 6}, Each: map[string]observe.Requests{
		observe.Running: {Files: 1}, "process": {Files: 80}, "process.open_files": {Files: 1},
	}}
}

// Collect reads every server process and its control group.
func (p Probe) Collect(ctx context.Context, h host.Reader, _ *stack.Stack) (stack.Observation, error) {
	l := &look{ctx: ctx, h: h}
	all, err := l.processes()
	if err != nil {
		return l.obs, err
	}
	l.hidden()
	servers := p.servers(l, all)
	if len(servers) > maxServers {
		l.obs.Gap(stack.Ref{}, fmt.Sprintf("%d server processes run; the first %d were read", len(servers), maxServers), "")
		servers = servers[:maxServers]
	}
	l.prepare()
	for _, s := range servers {
		l.server(s)
	}
	return l.obs, nil
}

// look is one run of the probe: what is read once for all servers.
type look struct {
	ctx    context.Context
	h      host.Reader
	obs    stack.Observation
	uptime float64 // seconds; 0 when not known
	mounts cgroupMounts
	nodes  bool              // the host has more than one NUMA node, or it is not known
	seen   map[string]string // control groups read, each with its path in the CPU tree
}

// stat is one line of the process table.
type stat struct {
	pid, ppid int
	comm      string
	start     int64 // since boot, in USER_HZ, which is 1/100 s everywhere Linux runs databases
}

// server is one server process with those it started.
type server struct {
	stat
	engine   string
	children []int
}

// processes reads the process table. A process that ends meanwhile is left out, and one that has ended and that nobody
// has waited for: in a container the first process may wait for none.
func (l *look) processes() ([]stat, error) {
	names, err := l.h.Glob(l.ctx, "/proc/[0-9]*/stat")
	if err != nil {
		return nil, fmt.Errorf("list the processes: %w", err)
	}
	if len(names) > maxProcesses {
		l.obs.Gap(stack.Ref{}, fmt.Sprintf("%d processes run; only the first %d were read", len(names), maxProcesses), "")
		names = names[:maxProcesses]
	}
	var all []stat
	for _, name := range names {
		data, err := l.h.ReadFile(l.ctx, name)
		if err != nil {
			if l.ctx.Err() != nil {
				return nil, fmt.Errorf("read the process table: %w", err)
			}
			continue
		}
		if s, ok := parseStat(data); ok && !ended(data) {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(a, b stat) int { return cmp.Compare(a.pid, b.pid) })
	return all, nil
}

// servers picks the processes that serve, and leaves out the ones another
// process of the same engine started: backends of PostgreSQL.
func (p Probe) servers(l *look, all []stat) []server {
	engineOf := map[int]string{}
	for _, s := range all {
		if e := p.engineOf(l, s); e != "" {
			engineOf[s.pid] = e
		}
	}
	children := map[int][]int{}
	var out []server
	for _, s := range all {
		e := engineOf[s.pid]
		if e == "" {
			continue
		}
		if engineOf[s.ppid] == e {
			children[s.ppid] = append(children[s.ppid], s.pid)
			continue
		}
		out = append(out, server{stat: s, engine: e})
	}
	for i := range out {
		out[i].children = children[out[i].pid]
	}
	return out
}

// engineOf tells what a process serves, or "". A server started through the
// dynamic loader has the loader's name; its arguments tell which it is.
func (p Probe) engineOf(l *look, s stat) string {
	if e := product.OfProgram(s.comm).Kind; e != "" {
		return e
	}
	if !strings.HasPrefix(s.comm, "ld-") && !strings.HasPrefix(s.comm, "ld.so") {
		return ""
	}
	data, err := l.h.ReadFile(l.ctx, file(s.pid, "cmdline"))
	if err != nil {
		return ""
	}
	for _, arg := range parseCmdline(data) {
		if e := product.OfProgram(path.Base(arg)).Kind; e != "" && !strings.HasPrefix(arg, "-") {
			return e
		}
	}
	return ""
}

// hidden leaves a gap when /proc is mounted so that an ordinary user sees
// only processes of their own.
func (l *look) hidden() {
	if l.h.About().Root {
		return
	}
	data, err := l.h.ReadFile(l.ctx, "/proc/self/mountinfo")
	if err != nil {
		return
	}
	if hidesProcesses(data) {
		l.obs.Gap(stack.Ref{}, "/proc is mounted with hidepid: servers of other users cannot be seen", asRoot)
	}
}

// prepare reads what all servers need once.
func (l *look) prepare() {
	l.seen = map[string]string{}
	if data, err := l.h.ReadFile(l.ctx, "/proc/uptime"); err == nil {
		l.uptime, _ = proc.Uptime(data)
	}
	if data, err := l.h.ReadFile(l.ctx, "/proc/self/mountinfo"); err == nil {
		l.mounts = parseCgroupMounts(data)
	}
	nodes, _, err := observe.MemoryNodes(l.ctx, l.h)
	l.nodes = err != nil || len(nodes) > 1
}

// server reads one server process. One without arguments has ended since the table was read, is giving its memory back, or was
// begun just now: it serves nobody, and what else is read of it would be of nothing.
func (l *look) server(s server) {
	text, err := l.h.ReadFile(l.ctx, file(s.pid, "cmdline"))
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(text) == 0 {
		return
	}
	t := l.obs.New("process", strconv.Itoa(s.pid))
	if err == nil {
		args := parseCmdline(text)
		t.Set("args", stack.List(args), file(s.pid, "cmdline"))
		t.Set("command", stack.Text(strings.Join(args, " ")), file(s.pid, "cmdline"))
	} else {
		l.gap(t, err, "command", "args")
	}
	t.Set("engine", stack.Text(s.engine), file(s.pid, "stat"))
	if l.uptime > 0 {
		started := int64(l.uptime) - s.start/100
		t.Set("started", stack.Int(max(started, 0)), file(s.pid, "stat"))
	}
	l.identity(t, s)
	l.limits(t, s)
	l.memory(t, s)
	l.sockets(t, s)
	l.cgroup(t, s)
}

func file(pid int, name string) string { return fmt.Sprintf("/proc/%d/%s", pid, name) }

// read reads a file about facts of t and leaves a gap when it cannot. ok is
// false then, and also when the file does not exist, which leaves no gap: the
// caller knows what that means.
func (l *look) read(t *stack.Thing, name string, facts ...string) (data []byte, ok bool) {
	return l.readAs(l.ctx, t, name, facts...)
}

// readFor is read of a file that the process put where it is: it may have a
// root of its own, with a link to anything there.
func (l *look) readFor(t *stack.Thing, pid int, name string, facts ...string) (data []byte, ok bool) {
	return l.readAs(host.For(l.ctx, pid, nil), t, name, facts...)
}

func (l *look) readAs(ctx context.Context, t *stack.Thing, name string, facts ...string) (data []byte, ok bool) {
	data, err := l.h.ReadFile(ctx, name)
	if err == nil {
		return data, true
	}
	if !errors.Is(err, fs.ErrNotExist) {
		l.gap(t, err, facts...)
	}
	return data, false
}

// gap records why facts of t could not be read.
func (l *look) gap(t *stack.Thing, err error, facts ...string) {
	hint := ""
	if errors.Is(err, fs.ErrPermission) {
		hint = asRoot
	}
	l.obs.Gap(t.Ref, err.Error(), hint, facts...)
}
