package propose

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"plumb/internal/change"
	"plumb/internal/check"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/product"
	"plumb/internal/protect/service"
	"plumb/internal/provision"
	"plumb/internal/provision/predict"
	"plumb/internal/provision/spec"
	"plumb/internal/stack"
	"plumb/internal/units"
)

// Flow is what a provision works with.
type Flow struct {
	Know    check.Knowledge
	Storage provision.Storage
	Mover   provision.Mover
	Engines []provision.Engine
	System  provision.System
	Setters []change.Setter
	// Open gives sessions of their own: those to a server that was restarted are broken.
	Open func() (*host.LiveDoer, *change.Executor, error)
	// Look reads the whole host.
	Look func(ctx context.Context, h host.Reader) (*stack.Stack, error)
	// Stop and Start are the commands for a server that no unit of systemd starts: each returns when it is done.
	Stop, Start []string
	// Anywhere tells that the plan is for other machines, and what it uses need not be on this one.
	Anywhere bool
}

// Proposal is all that a provision would do.
type Proposal struct {
	provision.Plan
	Of         string // what its stages are called in the journal
	Home       provision.Home
	Layout     predict.Layout
	Prediction predict.Prediction
	Refused    []change.Refused // settings that the rules advise and Plumb does not set
	Stack      *stack.Stack     // the host as it is
	Moved      bool             // the server's data lie where the spec wants them
}

// Next gives the first stage that is not done; nil when all are.
func (p Proposal) Next() *provision.Stage {
	for i := range p.Stages {
		if !p.Stages[i].Done {
			return &p.Stages[i]
		}
	}
	return nil
}

// planning is a proposal that is being made.
type planning struct {
	Flow
	d   host.Doer
	dir string // of the journal
	Proposal

	engine      provision.Engine
	stop, start []string
	made        provision.Making // of the pool
	room        int64            // in bytes, of what is not there yet or is used; 0: not known
}

// Propose plans all of a provision. It only reads.
func (f Flow) Propose(ctx context.Context, d host.Doer, dir string, sp spec.Spec) (Proposal, error) {
	s, err := f.Look(ctx, host.NewCached(d))
	if err != nil {
		return Proposal{}, err
	}
	p := planning{Flow: f, d: d, dir: dir, Proposal: Proposal{Plan: provision.Plan{Spec: sp}, Stack: s}}
	if err := p.all(ctx); err != nil {
		return p.Proposal, fmt.Errorf("plan for %s: %w", sp.Server.Product, err)
	}
	return p.Proposal, nil
}

func (p *planning) all(ctx context.Context) error {
	if missing, err := p.packages(ctx); err != nil || missing {
		return err
	}
	steps := []func(context.Context) error{p.server, p.commands, p.accounts, p.layout, p.place, p.below, p.predict, p.pool, p.volumes, p.move, p.settings}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// packages installs what is missing of the server and of ZFS. What comes after them is planned once they are there.
func (p *planning) packages(ctx context.Context) (missing bool, err error) {
	p.Of = Of(p.Spec)
	want := p.Spec.Server
	kind := product.OfFlavor(want.Product).Kind
	for _, e := range p.Engines {
		if e.Kind() == kind {
			p.engine = e
		}
	}
	if p.engine == nil {
		return false, hint.With(fmt.Errorf("%s is not a server that Plumb can provision", want.Product), "it provisions MariaDB, MySQL, Percona Server and PostgreSQL")
	}
	flavor := want.Product
	if len(p.Stack.OfKind(kind)) > 0 || want.Name != "" {
		flavor = "" // it runs, or is to run: a second one is not installed
	}
	zfs := poolOf(p.Spec) != "" && p.Stack.Find(stack.Ref{Kind: "zfs", Name: "module"}) == nil
	if flavor == "" && !zfs {
		return false, nil
	}
	if err := p.usable(ctx, zfs); err != nil {
		return false, err
	}
	entered, missing, err := p.source(ctx, flavor)
	if err != nil || missing {
		return missing, err
	}
	m, err := p.System.Packages(ctx, p.d, flavor, want.Version, p.Spec.From, zfs)
	if err != nil {
		return false, err
	}
	name, why := "packages", "what is missing of the server and of ZFS"
	if m.Done() {
		name, why, entered = "start", "the server is installed, but not running", nil
	}
	if flavor != "" {
		start, err := p.starts(ctx, flavor)
		if err != nil {
			return false, err
		}
		m.Acts = append(m.Acts, start...)
	}
	if m.Done() {
		return false, nil
	}
	m.Notes = append(slices.Concat(entered, m.Notes), "what comes next is planned once that is done, and shown by --dry-run then")
	p.stage(name, why, m)
	return true, nil
}

// usable checks, before anything is installed, whether a later stage could make the place of the data. bare: ZFS is not installed
// yet, so that pools cannot be seen.
func (p *planning) usable(ctx context.Context, bare bool) error {
	switch {
	case bare && p.Spec.Pool != nil:
		return p.Storage.Disks(ctx, p.d, *p.Spec.Pool)
	case bare:
		return nil
	}
	trial := *p
	return trial.place(ctx)
}

// source adds the repository of the server's makers, if the server is to come from there. What it offers is known only once it was
// read, so the rest is planned later. entered are the notes about a repository that is there already.
func (p *planning) source(ctx context.Context, flavor string) (entered []string, missing bool, err error) {
	if p.Spec.From == "" || flavor == "" {
		return nil, false, nil
	}
	m, err := p.System.Source(ctx, p.d, p.Spec.From, p.Spec.Server.Version)
	if err != nil || m.Done() {
		return m.Notes, false, err
	}
	m.Notes = append(m.Notes, "what comes next is planned once that is done, and shown by --dry-run then")
	p.stage("source "+p.Spec.From, "the vendor's repository, with a key that is valid only for it", m)
	return nil, true, nil
}

// starts gives the acts that start a server which was just installed. Without systemd, Debian's packages do not start it.
func (p *planning) starts(ctx context.Context, flavor string) ([]change.Act, error) {
	at := product.PackagesOf(flavor).Socket
	if systemd, err := host.RunsSystemd(ctx, p.d); err != nil || systemd || len(p.Start) == 0 || at == "" {
		return nil, err
	}
	look, shows, err := service.Listening("unix", at)
	if err != nil {
		return nil, err
	}
	return []change.Act{{Switch: &change.Switch{On: "the start of the server", Exact: true, Inspect: look, After: shows, Patience: startTime.Milliseconds(),
		Do: []change.Op{{Argv: p.Start}}, Undo: []change.Op{{Argv: p.Stop}}}}}, nil
}

// server finds the server that the spec names.
func (p *planning) server(ctx context.Context) error {
	want := p.Spec.Server
	t, err := p.named(product.OfFlavor(want.Product).Kind)
	if err != nil {
		return err
	}
	if err := cmp.Or(plays(t, want.Role), p.fits(t)); err != nil {
		return err
	}
	if p.Home, err = p.engine.Home(ctx, p.d, p.Stack, t.Ref); err != nil {
		return err
	}
	if v := want.Version; v != "" && v != p.Home.Version && !strings.HasPrefix(p.Home.Version, v+".") {
		return hint.With(fmt.Errorf("%s has version %s, but the spec says %s", t.Ref, p.Home.Version, v), "plumb provision swap "+t.Ref.String()+" "+v+" shows how to get there")
	}
	return nil
}

// plays refuses a server whose role in replication is not that of the spec: the spec is probably for another server.
func plays(t *stack.Thing, want spec.Role) error {
	followers, _ := t.Int("replicas")
	switch is := role(t); {
	case want == spec.Primary && is == spec.Replica:
		return hint.With(fmt.Errorf("%s is a replica, but the spec is for a primary", t.Ref), "check whether this is the right host; server.role: replica in the spec")
	case want == spec.Replica && is == spec.Primary && followers > 0:
		return hint.With(fmt.Errorf("%s is the primary of %s, but the spec is for a replica", t.Ref, units.Count(followers, "replica")), "check whether this is the right host; server.role: primary in the spec")
	}
	return nil
}

// fits refuses a server of another flavour than the spec's, and a spec that gives the server more memory than there is.
func (p *planning) fits(t *stack.Thing) error {
	want := p.Spec.Server
	if is := t.Text("flavor"); is != "" && is != want.Product {
		of := product.Of(t.Ref.Kind)
		return hint.With(fmt.Errorf("%s is %s, but the spec is for %s", t.Ref, of.Label(is), of.Label(want.Product)), "server.product: "+is+" in the spec, or the name of another server")
	}
	all, _ := p.Stack.Follow(t, "memory")
	for _, m := range all {
		if limit, known := m.Int("limit"); known && want.Memory > limit {
			return hint.With(fmt.Errorf("server.memory is %s, but only %s are available to %s", units.Bytes(want.Memory), units.Bytes(limit), t.Ref), "give it less, or leave server.memory out: the rules then decide what it gets")
		}
	}
	return nil
}

// role is the part that a server plays in replication; "" where that is not known.
func role(t *stack.Thing) spec.Role {
	replica, known := t.Bool("is_replica")
	if says := t.Text("replication_role"); says != "" {
		replica, known = says == "standby", true
	}
	switch {
	case !known:
		return ""
	case replica:
		return spec.Replica
	}
	return spec.Primary
}

// named finds the one server of the spec's product, or that of its name.
func (p *planning) named(kind string) (found *stack.Thing, err error) {
	want := p.Spec.Server
	var names []string
	for _, t := range p.Stack.OfKind(kind) {
		if remote, _ := t.Bool("remote"); remote {
			continue
		}
		number := strings.TrimPrefix(want.Name, want.Product+":")
		if flavor := t.Text("flavor"); want.Name == "" && (flavor == "" || flavor == want.Product) ||
			want.Name != "" && (t.Ref.Name == number || t.Ref.String() == want.Name) {
			found = t
			names = append(names, t.Ref.String())
		}
	}
	switch {
	case len(names) > 1:
		return nil, hint.With(fmt.Errorf("%d servers of %s run here: %s", len(names), want.Product, strings.Join(names, ", ")), "name one with server.name in the spec")
	case found == nil && want.Name != "":
		return nil, hint.With(fmt.Errorf("%s does not run here", want.Name), "plumb stack shows which servers do")
	case found == nil:
		return nil, hint.With(fmt.Errorf("no %s runs here", product.Of(kind).Label(want.Product)), "install and start it, and see that plumb check can log in")
	}
	return found, nil
}

// commands finds how the server is stopped and started.
func (p *planning) commands(ctx context.Context) error {
	switch {
	case len(p.Stop) > 0 && len(p.Start) > 0:
		p.stop, p.start = p.Stop, p.Start
	case p.Home.Unit != "":
		if err := service.StartsAgain(ctx, p.d, p.Home.Unit); err != nil {
			return err
		}
		p.stop, p.start = []string{"systemctl", "stop", "--", p.Home.Unit}, []string{"systemctl", "start", "--", p.Home.Unit}
	default:
		return hint.With(errors.New("no systemd unit starts it, so it could be stopped but not started again"), "say how with --stop COMMAND and --start COMMAND")
	}
	return nil
}
