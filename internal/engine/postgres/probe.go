package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"plumb/internal/catalog"
	"plumb/internal/host"
	"plumb/internal/observe"
	"plumb/internal/stack"
)

const grantsHint = "see `plumb check --grants` for a role that may read this"

// Probe looks at every PostgreSQL server among the host's processes, and at
// the one of a data source name.
type Probe struct {
	catalog *catalog.Catalog
	given   *host.Target
}

// NewProbe makes a probe. given is the server of a data source name (see
// [Given]) or nil: when it is one of the servers on this host it only adds a
// way to log in.
func NewProbe(c *catalog.Catalog, given *host.Target) *Probe {
	return &Probe{catalog: c, given: given}
}

// Name implements observe.Probe.
func (p *Probe) Name() string { return "postgres" }

// Cost implements observe.Probe.
func (p *Probe) Cost() observe.Cost {
	return observe.Cost{Every: 10 * time.Minute, Waits: true, Each: map[string]observe.Requests{"postgres": {Files: 10, Queries: 30}}}
}

// Collect implements observe.Probe. It needs what the process probe saw.
func (p *Probe) Collect(ctx context.Context, h host.Reader, seen *stack.Stack) (stack.Observation, error) {
	return observe.Each(p.servers(ctx, h, seen), func(in *instance) (obs stack.Observation) {
		p.collectFrom(ctx, h, in, &obs)
		return obs
	}), nil
}

// servers gives those of this host and the one of the data source name, each
// with the ways to log in.
func (p *Probe) servers(ctx context.Context, h host.Reader, seen *stack.Stack) []*instance {
	all, met := p.instances(ctx, h, seen), false
	for _, in := range all {
		var given *host.Target
		if p.given != nil && in.isReachedBy(p.given) {
			given, met = p.given, true
		}
		in.reach(h.About(), given)
	}
	if p.given != nil && !met {
		all = append(all, &instance{name: p.given.Address, target: *p.given})
	}
	return all
}

// look is the look at one server.
type look struct {
	*Probe
	ctx      context.Context
	h        host.Reader
	in       *instance
	t        *stack.Thing
	obs      *stack.Observation
	major    int                // 0 when it is not known
	settings map[string]setting // pg_settings; nil without login
}

func (p *Probe) collectFrom(ctx context.Context, h host.Reader, in *instance, obs *stack.Observation) {
	l := &look{Probe: p, ctx: in.reads(ctx), h: h, in: in, obs: obs, t: obs.New("postgres", in.name)}
	l.t.Set("flavor", stack.Text("postgres"), "the program")
	l.t.Set("remote", stack.Bool(in.process == nil), "processes of this host")
	if in.process == nil {
		l.t.Link("process")
		l.gap("the server is remote: its machine cannot be seen from here", "run Plumb on the server's host",
			"memory", "storage", "data", "wal", "temporary", "tablespace", "log")
	} else {
		l.t.Link("process", in.process.Ref)
	}
	if l.logIn() {
		l.identity()
		l.allSettings()
		l.statistics()
	} else {
		l.withoutLogin()
	}
	l.sharedMemory()
	l.roles()
}

func (l *look) gap(why, hint string, facts ...string) { l.obs.Gap(l.t.Ref, why, hint, facts...) }

// query asks one thing; when it is refused the facts it would have given
// become a gap.
func (l *look) query(about, q string, facts ...string) (host.Rows, bool) {
	rows, err := l.h.Query(l.ctx, l.in.target, q)
	if err != nil && !errors.Is(err, host.ErrTooLarge) {
		hint := ""
		if errors.Is(err, host.ErrDenied) {
			hint = grantsHint
		}
		l.gap(fmt.Sprintf("read %s: %v", about, err), hint, facts...)
		return rows, false
	}
	return rows, true
}

// logIn reads all settings, the first query of the session.
func (l *look) logIn() bool {
	const what = "log in"
	if l.in.target.Address == "" {
		l.t.Set("logged_in", stack.Bool(false), what)
		why := "the server's socket is not known"
		if l.in.usual {
			why += ", nor its port: 5432 is only the usual one"
		}
		l.gap(why, observe.LoginHint(l.h, l.in.process == nil), "*")
		return false
	}
	rows, err := l.h.Query(l.ctx, l.in.target, settingsQuery)
	if err == nil {
		l.settings = readSettings(rows)
		l.t.Set("logged_in", stack.Bool(true), what)
		return true
	}
	l.t.Set("logged_in", stack.Bool(false), what)
	hint := observe.LoginHint(l.h, l.in.process == nil) + "; " + grantsHint
	switch {
	case errors.Is(err, host.ErrDown):
		hint = "is the server accepting connections?"
	case errors.Is(err, host.ErrWithheld):
		hint = "if the server is yours, give its login with --dsn or in PLUMB_DSN"
	}
	l.gap(err.Error(), hint, "*")
	return false
}

// identity sets what the server says it is.
func (l *look) identity() {
	version, _, _ := strings.Cut(l.settings["server_version"].value, " ")
	l.t.Set("version", stack.Text(version), "server_version")
	if n, err := strconv.Atoi(l.settings["server_version_num"].value); err == nil {
		l.t.Set("version_num", stack.Int(int64(n)), "server_version_num")
		l.major = n / 10000
	}
	if l.in.data == "" {
		l.in.data = l.settings["data_directory"].value
	}
	if l.in.data != "" {
		l.t.Set("data_path", stack.Text(l.in.data), "data_directory")
	}
}
