package protect

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"plumb/internal/check"
	"plumb/internal/cli/shell"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/protect"
	"plumb/internal/protect/clone"
	"plumb/internal/protect/instance"
	"plumb/internal/protect/policy"
	"plumb/internal/stack"
)

// place are the flags of all verbs that look at this machine.
type place struct {
	shell.Source
	state        string
	json, grants bool
}

func (p *place) flags(c *cobra.Command) {
	p.LiveFlags(c)
	c.Flags().StringVar(&p.state, "state", "", "keep what is written of points and clones in `DIR` instead of "+usualState)
	jsonFlag(c, &p.json)
	grantsFlag(c, &p.grants)
}

// usualState is where points, clones and the inventory are written down, each in a
// directory of its own below it.
var usualState = filepath.Dir(protect.Directory)

// machine is this machine, opened for points.
type machine struct {
	live   *host.Live
	doer   *host.LiveDoer
	seen   host.Reader // what was read is read once
	keeper *protect.Keeper
	copies instance.Maker
	clones clone.Maker
	base   string // of all that is written down
	memory string // file of what came of a policy
	look   func(context.Context) (*stack.Stack, error)
}

// open opens this machine. It is closed by the caller.
func (v *verbs) open(p place) (*machine, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	base, copies := usualState, instance.Directory
	if p.state != "" {
		dir, err := filepath.Abs(p.state)
		if err != nil {
			return nil, err
		}
		base, copies = dir, dir+"-copies"
	}
	cat, err := check.Catalog(check.All, v.Warn)
	if err != nil {
		return nil, err
	}
	live, given, err := p.Live(v.Dialers)
	if err != nil {
		return nil, err
	}
	v.WarnUnverified(given)
	name, err := os.Hostname()
	if err != nil {
		name = "unknown"
	}
	m := &machine{live: live, doer: host.NewLiveDoer(live), seen: host.NewCached(live)}
	m.keeper = &protect.Keeper{Do: m.doer, Engines: v.Engines(cat, given), Storages: v.Storages(""), Freezer: v.Freezer, Plumb: shell.Version(), Host: name, Now: time.Now,
		Books: filepath.Join(base, "lab"),
		Store: protect.Store{Dir: filepath.Join(base, filepath.Base(protect.Directory)), Guard: host.Guarded}}
	m.copies = instance.Maker{Keeper: m.keeper, Dir: copies}
	m.clones = clone.Maker{Maker: m.copies, Dir: filepath.Join(base, filepath.Base(clone.Directory)), Doing: v.doing(p.json)}
	m.base = base
	m.memory = filepath.Join(base, filepath.Base(filepath.Dir(policy.File)), filepath.Base(policy.File))
	m.look = func(ctx context.Context) (*stack.Stack, error) {
		return check.Observe(ctx, m.seen, cat, v.Phases(cat, given), p.Timeout)
	}
	return m, nil
}

// doing shows what goes on in one line, where a person watches.
func (v *verbs) doing(quiet bool) func(string) {
	if quiet || !shell.IsTerminal(v.Err) {
		return nil
	}
	return func(what string) { shell.Rewrite(v.Err, what+" ...") }
}

// done wipes that line.
func (v *verbs) done() {
	if shell.IsTerminal(v.Err) {
		shell.Rewrite(v.Err, "")
	}
}

// on opens the machine for one command.
func (v *verbs) on(p place, do func(m *machine) error) (err error) {
	if p.grants {
		return v.Print(v.Grants())
	}
	m, err := v.open(p)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.doer.Close()) }()
	return do(m)
}

// servers gives those of which points can be taken. Copies of points are no servers that
// anybody wants points of.
func (m *machine) servers(s *stack.Stack) (all []stack.Ref) {
	copies := map[stack.Ref]bool{}
	for _, r := range s.Roles {
		if strings.HasPrefix(r.Path, m.copies.Dir+"/") {
			copies[r.DB] = true
		}
	}
	for _, e := range m.keeper.Engines {
		for _, t := range s.OfKind(e.Kind()) {
			if !copies[t.Ref] {
				all = append(all, t.Ref)
			}
		}
	}
	return all
}

// server finds the one that is meant: by its name, by its kind where there is one of it,
// or without a name the only one there is.
func (m *machine) server(s *stack.Stack, name string) (stack.Ref, error) {
	var all []stack.Ref
	var names []string
	for _, ref := range m.servers(s) {
		if name == "" || ref.String() == name || ref.Kind == name {
			all = append(all, ref)
		}
		names = append(names, ref.String())
	}
	switch {
	case len(all) == 1:
		return all[0], nil
	case len(names) == 0:
		return stack.Ref{}, hint.With(errors.New("no server of which points can be taken is seen on this host"), "run as root; plumb stack shows what is seen")
	case len(all) == 0:
		return stack.Ref{}, hint.Usage(fmt.Sprintf("there is no server %q on this host", name), "there is "+strings.Join(names, ", "))
	}
	what := "this host has several servers, and none was named"
	if name != "" {
		what = fmt.Sprintf("%q can be any of several servers", name)
	}
	return stack.Ref{}, hint.With(errors.New(what), "name one of "+strings.Join(names, ", "))
}
