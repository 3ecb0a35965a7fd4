// Package machine opens this machine for the commands about points in time.
package machine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"plumb/internal/catalog"
	"plumb/internal/change"
	"plumb/internal/check"
	"plumb/internal/cli/shell"
	"plumb/internal/engine/dsn"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/observe"
	"plumb/internal/protect"
	"plumb/internal/protect/clone"
	"plumb/internal/protect/drill"
	"plumb/internal/protect/heir"
	"plumb/internal/protect/instance"
	"plumb/internal/protect/policy"
	"plumb/internal/protect/rollback"
	"plumb/internal/protect/tables"
	"plumb/internal/stack"
)

// Adapters holds the engines and storages that the commands know.
type Adapters struct {
	Dialers func(dsn.Given) map[string]host.Dialer
	Phases  func(*catalog.Catalog, dsn.Given) [][]observe.Probe
	Engines func(*catalog.Catalog, dsn.Given) []protect.Engine
	// Storages are told somebody's own commands: with takes snapshots, or is the name of a storage that is only used when
	// asked for; removes looks at those that such a command took, and removes them; "" for none.
	Storages func(with, removes string) []protect.Storage
	Scratch  Scratch // gives the copy that proves a backup what was restored
	Freezer  protect.Freezer
	Grants   func(verb string) string // the least rights of a verb, as a text for people
	// Backup backs up a point of a machine for a policy, and returns the result.
	Backup func(ctx context.Context, s *shell.Shell, m *Machine, point string, to policy.Store) error
	// Driven runs another tool that backs up a server, in the way it was set up.
	Driven func(ctx context.Context, s *shell.Shell, m *Machine, server stack.Ref, with string) error
}

// Scratch is a storage of directories to which backups are restored only to be proven.
type Scratch interface {
	protect.Storage
	// Lent returns a directory as the member of a point, to be cloned to a mount point.
	Lent(dir, mountpoint string) protect.Member
}

// Opener opens this machine for commands.
type Opener struct {
	*shell.Shell
	Adapters
}

// Place holds the flags of all verbs that look at this machine.
type Place struct {
	shell.Source
	JSON   bool
	Grants bool // only print the rights that the verb needs
	state  string

	command *cobra.Command
}

// Flags adds the flags to a command.
func (p *Place) Flags(c *cobra.Command) {
	p.command = c
	if args := c.Args; args != nil { // whoever asks for rights may not have a point yet
		c.Args = func(c *cobra.Command, all []string) error {
			if p.Grants {
				return nil
			}
			return args(c, all)
		}
	}
	p.LiveFlags(c)
	fl := c.Flags()
	fl.StringVar(&p.state, "state", "", "keep the records of points and clones in `DIR` instead of "+usualState)
	shell.JSONFlag(c, &p.JSON, "")
	fl.BoolVar(&p.Grants, "grants", false, "print the minimal privileges that this needs, in each server and on the storage, and stop")
}

// At returns a place for a command that has other flags. state is "" for the usual directory.
func At(state string) Place {
	return Place{Source: shell.Source{Timeout: check.DefaultTimeout}, state: state}
}

// Verb is the command's name, without plumb: protect run.
func (p *Place) Verb() string {
	_, verb, _ := strings.Cut(p.command.CommandPath(), " ")
	return verb
}

// usualState is where points, clones and the inventory are written down, each in a
// directory of its own below it.
var usualState = filepath.Dir(protect.Directory)

// Machine is this machine, opened for points.
type Machine struct {
	Doer   *host.LiveDoer
	Seen   host.Reader // a cache, so that everything is read once
	Keeper *protect.Keeper
	Copies instance.Maker
	Clones clone.Maker
	Memory string // file with the memory of a policy's runs
	Look   func(context.Context) (*stack.Stack, error)

	Scratch Scratch

	base  string // directory of everything that is written down
	shell *shell.Shell
}

// Verifier returns the user that runs copies of what came from other hosts.
func (m *Machine) Verifier(ctx context.Context) (uid, gid int, err error) {
	return instance.Verifier(ctx, m.Doer)
}

// Prover gives what starts a copy of something that was restored, reads it, and takes the copy away. What the copy of a killed
// proof has is in the way of taking away what was restored, and goes first.
func (m *Machine) Prover(ctx context.Context, doing func(string)) drill.Drill {
	_ = m.Copies.Sweep(ctx)
	keeper := *m.Keeper
	keeper.Storages = append(slices.Clip(keeper.Storages), m.Scratch)
	copies := m.Copies
	copies.Keeper = &keeper
	return drill.Drill{Maker: copies, Replica: true, Stranger: true, Doing: doing}
}

// Base is the directory of all that is written down.
func (m *Machine) Base() string { return m.base }

// open opens this machine. It is closed by the caller.
func (v Opener) open(p Place) (*Machine, error) {
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
	m := &Machine{Doer: host.NewLiveDoer(live), Seen: host.NewCached(live), Scratch: v.Scratch, shell: v.Shell}
	m.Keeper = &protect.Keeper{Do: m.Doer, Engines: v.Engines(cat, given), Storages: v.Storages("", ""), Freezer: v.Freezer, Plumb: shell.Version(), Host: shell.Hostname(), Now: time.Now, Warn: v.Warn,
		Books: filepath.Join(base, "lab"),
		Store: protect.Store{Dir: filepath.Join(base, filepath.Base(protect.Directory)), Guard: host.Guarded}}
	if exe, err := os.Executable(); err == nil {
		m.Keeper.Heir = heir.Heir{Argv: []string{exe, "heir"}, DSN: given.DSN}
	}
	m.Copies = instance.Maker{Keeper: m.Keeper, Dir: copies}
	m.Clones = clone.Maker{Maker: m.Copies, Dir: filepath.Join(base, filepath.Base(clone.Directory)), Doing: v.Doing(p.JSON)}
	m.base = base
	m.Memory = filepath.Join(base, filepath.Base(filepath.Dir(policy.File)), filepath.Base(policy.File))
	m.Look = func(ctx context.Context) (*stack.Stack, error) {
		return check.Observe(ctx, m.Seen, cat, v.Phases(cat, given), p.Timeout)
	}
	return m, nil
}

// Doing shows what goes on in one line, where a person watches; Done wipes it.
func (v Opener) Doing(quiet bool) func(string) {
	if quiet || !shell.IsTerminal(v.Err) {
		return nil
	}
	return func(what string) { shell.Rewrite(v.Err, what+" ...") }
}

// On opens the machine for one command.
func (v Opener) On(p Place, do func(m *Machine) error) (err error) {
	if p.Grants {
		return v.Print(v.Grants(p.Verb()))
	}
	m, err := v.open(p)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Doer.Close()) }()
	return do(m)
}

// Point finds the point that is meant: one that is written down, or what others took.
func (m *Machine) Point(ctx context.Context, id string) (protect.Point, error) {
	if !protect.IsForeign(id) {
		return m.Keeper.Store.Get(ctx, m.Doer, id)
	}
	s, err := m.Look(ctx)
	if err != nil {
		return protect.Point{}, err
	}
	return m.Keeper.ForeignPoint(ctx, m.Doer, s, m.Servers(s), id)
}

// Foreign lists what others took of what servers here, and their points, lie on.
func (m *Machine) Foreign(ctx context.Context, s *stack.Stack, points []protect.Point) ([]protect.Foreign, error) {
	vols := m.Keeper.Volumes(ctx, m.Doer, s, m.Servers(s))
	for _, p := range points {
		for _, member := range p.Members {
			vols = append(vols, member.Volume)
		}
	}
	return m.Keeper.Foreign(ctx, m.Doer, vols)
}

// Servers gives those of which points can be taken. Copies of points are no servers that
// anybody wants points of.
func (m *Machine) Servers(s *stack.Stack) (all []stack.Ref) {
	for _, e := range m.Keeper.Engines {
		for _, t := range s.OfKind(e.Kind()) {
			if !m.isCopy(s, t.Ref) {
				all = append(all, t.Ref)
			}
		}
	}
	return all
}

// isCopy tells whether a server is a copy of a point.
func (m *Machine) isCopy(s *stack.Stack, ref stack.Ref) bool {
	return slices.ContainsFunc(s.Roles, func(r stack.Role) bool { return r.DB == ref && strings.HasPrefix(r.Path, m.Copies.Dir+"/") })
}

// Server finds the one that is meant: by its name, by its kind where there is one of it,
// or without a name the only one there is.
func (m *Machine) Server(s *stack.Stack, name string) (stack.Ref, error) {
	var all []stack.Ref
	var names []string
	for _, ref := range m.Servers(s) {
		if name == "" || ref.String() == name || ref.Kind == name {
			all = append(all, ref)
		}
		names = append(names, ref.String())
	}
	ref, _ := stack.ParseRef(name)
	switch {
	case len(all) == 1:
		return all[0], nil
	case m.isCopy(s, ref):
		return stack.Ref{}, hint.Usage(name+" is a copy that Plumb made from a point, and points cannot be taken of copies", "plumb clone list shows its point; plumb clone makes another copy of that")
	case len(names) == 0:
		help := "plumb stack shows what is seen"
		if os.Geteuid() != 0 {
			help = "run as root; " + help
		}
		return stack.Ref{}, hint.With(errors.New("no server whose data can be snapshotted was found on this host"), help)
	case len(all) == 0:
		return stack.Ref{}, hint.Usage(fmt.Sprintf("there is no server %q on this host", name), "there is "+strings.Join(names, ", "))
	}
	what := "this host has several servers, and none was named"
	if name != "" {
		what = fmt.Sprintf("%q can be any of several servers", name)
	}
	return stack.Ref{}, hint.With(errors.New(what), "name one of "+strings.Join(names, ", "))
}

// Executor carries changes out. Its journal is that of plumb undo.
func (m *Machine) Executor() *change.Executor {
	return m.shell.Executor(m.Doer, m.base)
}

// Begin says who begins a change.
func (m *Machine) Begin() change.Begin {
	return change.Begin{Host: m.Keeper.Host, User: m.Doer.About().User}
}

// Rollbacks gives what brings servers back.
func (m *Machine) Rollbacks() rollback.Rollback {
	return rollback.Rollback{Keeper: m.Keeper, Executor: m.Executor(), Copies: m.Copies}
}

// Tables gives what brings single tables back.
func (m *Machine) Tables() tables.Bringer {
	return tables.Bringer{Keeper: m.Keeper, Executor: m.Executor(), Copies: m.Copies, Dir: filepath.Join(m.base, "tables")}
}
