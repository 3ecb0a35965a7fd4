package mysql

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

const grantsHint = "see `plumb check --grants` for a user that may read this"

// Probe looks at every MySQL, MariaDB and Percona server among the host's
// processes, and at the one of a data source name.
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
func (p *Probe) Name() string { return "mysql" }

// Cost implements observe.Probe. Tables and their columns are listed, which takes
// a server of many tables a second.
func (p *Probe) Cost() observe.Cost {
	return observe.Cost{Every: 10 * time.Minute, Waits: true, Each: map[string]observe.Requests{"mysql": {Files: 24, Commands: 1, Queries: 20}}}
}

// Collect implements observe.Probe. It needs what the process probe saw.
func (p *Probe) Collect(ctx context.Context, h host.Reader, seen *stack.Stack) (stack.Observation, error) {
	return observe.Each(p.servers(ctx, h, seen), func(in *instance) (obs stack.Observation) {
		p.collectFrom(ctx, h, in, &obs)
		return obs
	}), nil
}

// servers finds the servers of this host and the one of the data source name,
// each with the way to log in.
func (p *Probe) servers(ctx context.Context, h host.Reader, seen *stack.Stack) []*instance {
	all := p.instances(ctx, h, seen)
	met := false
	for _, in := range all {
		var given *host.Target
		if p.given != nil && in.reachedBy(p.given) {
			given, met = p.given, true
		}
		in.reach(ctx, h, given)
	}
	if p.given != nil && !met {
		all = append(all, remote(*p.given))
	}
	return all
}

// remote makes the instance of a data source name that is no process here.
// Its name is the whole address, so that it is no local server's.
func remote(t host.Target) *instance { return &instance{name: t.Address, target: t} }

// reachedBy reports whether a data source name leads to this instance.
func (in *instance) reachedBy(t *host.Target) bool {
	if t.Network == "unix" {
		return t.Address == in.socket || t.Address == in.root+in.socket
	}
	for _, local := range []string{"127.0.0.1", "localhost", "[::1]"} {
		if in.port != 0 && !in.local.Contained && t.Address == local+":"+strconv.Itoa(in.port) {
			return true
		}
	}
	return false
}

// look holds what is gathered about one server.
type look struct {
	*Probe
	ctx       context.Context
	h         host.Reader
	in        *instance
	t         *stack.Thing
	obs       *stack.Observation
	variables map[string]string // SHOW GLOBAL VARIABLES; nil without login
	status    map[string]string // SHOW GLOBAL STATUS; nil when it was refused
	origins   map[string]origin
}

func (p *Probe) collectFrom(ctx context.Context, h host.Reader, in *instance, obs *stack.Observation) {
	l := &look{Probe: p, ctx: in.reads(ctx), h: h, in: in, obs: obs, t: obs.New("mysql", in.name)}
	l.t.Set("remote", stack.Bool(in.process == nil), "processes of this host")
	if in.process == nil {
		l.t.Link("process")
		l.gap("the server is remote: its machine cannot be seen from here", "run Plumb on the server's host",
			"memory", "storage", "data", "temporary", "tablespace", "redo", "undo", "doublewrite", "binlog", "relaylog", "log")
	} else {
		l.t.Link("process", in.process.Ref)
		l.t.Set("in_container", stack.Bool(in.local.Contained), "/proc/PID/root")
	}
	l.optionFacts()
	if !l.logIn() {
		l.withoutLogin()
		l.roles()
		return
	}
	l.identity()
	l.settings()
	l.serverStatus()
	l.data()
	l.replication()
	l.roles()
}

// logIn asks for all variables, the first query of the session.
func (l *look) logIn() bool {
	if l.in.target.Address == "" {
		l.t.Set("logged_in", stack.Bool(false), "process")
		l.gap("where it listens is not visible", observe.LoginHint(l.h, l.in.process == nil), "*")
		return false
	}
	rows, err := l.h.Query(l.ctx, l.in.target, "SHOW GLOBAL VARIABLES")
	if err == nil {
		l.variables = Pairs(rows)
		l.t.Set("logged_in", stack.Bool(true), "SHOW GLOBAL VARIABLES")
		return true
	}
	l.t.Set("logged_in", stack.Bool(false), "log in to "+l.in.target.Address)
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

func (l *look) gap(why, hint string, facts ...string) { l.obs.Gap(l.t.Ref, why, hint, facts...) }

// query asks one thing; when it is refused the facts it would have given
// become a gap.
func (l *look) query(q string, facts ...string) (host.Rows, bool) {
	rows, err := l.h.Query(l.ctx, l.in.target, q)
	if err != nil {
		hint := ""
		if errors.Is(err, host.ErrDenied) {
			hint = grantsHint
		}
		l.gap(fmt.Sprintf("%s: %v", short(q), err), hint, facts...)
		return rows, false
	}
	return rows, true
}

// short names a query in a message.
func short(q string) string {
	if i := strings.Index(strings.ToUpper(q), " FROM "); i >= 0 {
		table, _, _ := strings.Cut(q[i+6:], " ")
		return "SELECT … FROM " + table
	}
	return q
}

// has reports whether the server has a variable.
func (l *look) has(name string) bool { _, ok := l.variables[name]; return ok }

func (l *look) isMariaDB() bool { return l.in.flavor == flavorMariaDB }

// Pairs reads rows of name and value; names are given in lower case.
func Pairs(rows host.Rows) map[string]string {
	out := make(map[string]string, len(rows.Values))
	for _, row := range rows.Values {
		if len(row) >= 2 && row[0] != nil {
			out[strings.ToLower(*row[0])] = host.Text(row, 1)
		}
	}
	return out
}

// identity sets what the server says it is.
func (l *look) identity() {
	v := l.variables
	l.in.version, l.in.flavor = number(v["version"]), flavor(v["version"], v["version_comment"])
	l.in.groups = groups(l.in.flavor, l.in.version, l.in.suffix)
	l.t.Set("version", stack.Text(l.in.version), "@@version")
	l.t.Set("flavor", stack.Text(l.in.flavor), "@@version_comment")
	l.t.Set("version_comment", stack.Text(v["version_comment"]), "@@version_comment")
	l.t.Set("data_path", stack.Text(strings.TrimSuffix(v["datadir"], "/")), "@@datadir")
}
