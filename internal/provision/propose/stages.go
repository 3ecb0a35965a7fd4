package propose

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"plumb/internal/advise"
	"plumb/internal/change"
	"plumb/internal/change/draft"
	"plumb/internal/hint"
	"plumb/internal/host/passwd"
	"plumb/internal/provision"
	"plumb/internal/provision/predict"
	"plumb/internal/provision/spec"
	"plumb/internal/stack"
	"plumb/internal/units"
)

// stage adds a stage of one making.
func (p *planning) stage(name, why string, m provision.Making, extra ...change.Act) {
	s := provision.Stage{Name: name, Why: why, Lasting: m.Lasting, Notes: m.Notes, Proof: m.Proof, Done: m.Done() && len(extra) == 0}
	if acts := slices.Concat(m.Acts, extra); len(acts) > 0 {
		of := p.Home.Server
		if of.IsZero() { // it is only being installed
			of = stack.Ref{Kind: "host", Name: cmp.Or(p.Stack.Hostname(), "this")}
		}
		s.Steps = []change.Prepared{provision.Step(of, name, acts)}
	}
	p.Stages = append(p.Stages, s)
}

// accounts closes the ways into a new server, and makes the databases that are wanted. If nothing is to be done and no databases are
// wanted, it adds no stage.
func (p *planning) accounts(ctx context.Context) error {
	m, err := p.engine.Accounts(ctx, p.d, p.Stack, p.Home, p.Spec.Server.Databases)
	if err != nil {
		return fmt.Errorf("plan the accounts of %s: %w", p.Home.Server, err)
	}
	if !m.Done() && len(p.Spec.Server.Databases) > 0 {
		users, err := p.d.ReadFile(ctx, passwd.File)
		if err != nil {
			return err
		}
		m.Notes = append(m.Notes, strangers(users, p.Spec.Server.Databases)...)
	}
	if !m.Done() || len(p.Spec.Server.Databases) > 0 {
		p.stage("accounts of "+p.Home.Server.String(), "nobody logs in without a password, except users whom the kernel identifies", m)
	}
	return nil
}

// strangers notes which owners of databases are not users in /etc/passwd. They log in as the user that the kernel says they are, so
// until such a user exists nobody can.
func strangers(users []byte, all []spec.Database) (notes []string) {
	for _, d := range all {
		note := fmt.Sprintf("there is no user %s in %s: until the system has one, nobody can log in as %[1]s", d.Owner, passwd.File)
		if _, known := passwd.Named(users, d.Owner); !known && !slices.Contains(notes, note) {
			notes = append(notes, note)
		}
	}
	return notes
}

// place finds what makes the pool. With which properties is decided later, by rules that need to know what the pool will be.
func (p *planning) place(ctx context.Context) (err error) {
	switch {
	case p.Spec.Filesystem != nil:
		return p.filesystem(ctx)
	case p.Spec.Pool == nil:
		return p.uses()
	}
	if p.made, err = p.Storage.Pool(ctx, p.d, *p.Spec.Pool, provision.Birth{}); err != nil {
		return err
	}
	p.room = p.made.Room
	p.Layout.Made = made(p.Know.Catalog, "pool", p.made.Made)
	p.Layout.Made["layout"], p.Layout.Made["redundant"] = layoutOf(*p.Spec.Pool)
	return p.spared(ctx, p.made)
}

// uses refuses a dataset that does not exist, or that cannot have datasets below it.
func (p *planning) uses() error {
	t := p.Stack.Find(stack.Ref{Kind: "dataset", Name: p.Spec.Use})
	switch {
	case p.Anywhere:
	case t == nil:
		return hint.With(fmt.Errorf("use: there is no pool or dataset %s on this host", p.Spec.Use), "zfs list shows them, and zpool import lists pools that are not imported; the key pool makes a new one")
	case t.Text("dataset_type") == "volume":
		return hint.With(fmt.Errorf("use: %s is a volume, and no dataset can be made below it", p.Spec.Use), "name its parent dataset, or another one")
	default:
		p.room, _ = t.Int("available")
	}
	return nil
}

// pool is the stage that makes the pool, with the properties that the rules advise, and what looks after it.
func (p *planning) pool(ctx context.Context) (err error) {
	if p.Spec.Pool == nil {
		return nil
	}
	if !p.made.Done() && len(p.Prediction.Pool) > 0 {
		if p.made, err = p.Storage.Pool(ctx, p.d, *p.Spec.Pool, provision.Birth{Pool: p.Prediction.Pool}); err != nil {
			return err
		}
	}
	care, err := p.System.Pool(ctx, p.d, *p.Spec.Pool)
	if err != nil {
		return err
	}
	p.made.Notes = append(p.made.Notes, care.Notes...)
	p.stage("pool "+p.Spec.Pool.Name, string(p.Spec.Pool.Layout), p.made, care.Acts...)
	return nil
}

// layoutOf gives the facts of a pool that the spec alone tells.
func layoutOf(pool spec.Pool) (layout, redundant stack.Value) {
	word := string(pool.Layout)
	if pool.Layout == spec.Stripe && len(pool.Data) == 1 {
		word = "single"
	}
	return stack.Text(word), stack.Bool(pool.Survives() > 0)
}

// predict asks the rules about the host as the plan makes it.
func (p *planning) predict(context.Context) error {
	p.Prediction = predict.Predict(p.Stack, p.Layout, p.Know.Catalog, p.Know.Verdicts)
	p.Layout.Volumes = p.Prediction.Volumes
	return nil
}

// volumes makes the datasets, each with an owner.
func (p *planning) volumes(ctx context.Context) error {
	if p.Moved && p.Spec.Filesystem != nil {
		return nil // it is one directory, and the data lie in it
	}
	var all provision.Making
	owner, err := p.owner(ctx)
	if err != nil {
		return err
	}
	for _, v := range p.Layout.Volumes {
		if v.Aside != "" {
			v.At = v.Aside
		}
		m, err := p.Storage.Volume(ctx, p.d, v, owner)
		if err != nil {
			return fmt.Errorf("plan the volume %s: %w", cmp.Or(v.Dataset, v.At), err)
		}
		all.Acts = append(all.Acts, p.once(all.Acts, m.Acts)...)
		all.Lasting, all.Notes = append(all.Lasting, m.Lasting...), append(all.Notes, m.Notes...)
	}
	if p.Spec.Filesystem != nil {
		p.stage("directory of "+p.Home.Server.String(), "on the filesystem, for the data", all)
		return nil
	}
	if !all.Done() {
		all.Notes = append(all.Notes, p.locked()...)
	}
	p.stage("datasets of "+p.Home.Server.String(), "one for each role, below "+p.Of, all)
	return nil
}

// locked says what a start of the machine needs if the dataset that is used is encrypted: its key must be loaded by somebody.
func (p *planning) locked() []string {
	t := p.Stack.Find(stack.Ref{Kind: "dataset", Name: p.Spec.Use})
	if t == nil || t.Text("encryptionroot") == "" {
		return nil
	}
	return []string{fmt.Sprintf("everything in %s is encrypted: unless the key of %s is loaded before zfs-mount.service at each boot, it is not mounted, and the server does not start", p.Spec.Use, t.Text("encryptionroot"))}
}

// once leaves out the directories that an earlier volume makes too, and that of the journal, which exists by then.
func (p *planning) once(had, acts []change.Act) (left []change.Act) {
	for _, a := range acts {
		same := func(o change.Act) bool { return o.Make != nil && o.Make.Path == a.Make.Path }
		if a.Make != nil && a.Make.Directory != nil && (a.Make.Path == p.dir || slices.ContainsFunc(had, same)) {
			continue
		}
		left = append(left, a)
	}
	return left
}

// owner gives the owner and mode of the data directory as it is; the volumes get the same.
func (p *planning) owner(ctx context.Context) (o provision.Owner, err error) {
	out, err := p.d.Output(ctx, "stat", "-c", "%U:%G %a", p.Home.Data)
	if err != nil {
		return o, fmt.Errorf("find the owner of %s: %w", p.Home.Data, err)
	}
	names, perm, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	user, group, ok := strings.Cut(names, ":")
	n, err := strconv.ParseUint(perm, 8, 32)
	if err != nil || !ok {
		return o, fmt.Errorf("find the owner of %s: stat says %q", p.Home.Data, out)
	}
	return provision.Owner{User: user, Group: group, Perm: uint32(n)}, nil
}

// move brings the data to the volumes.
func (p *planning) move(ctx context.Context) error {
	name := "move " + p.Home.Data
	if p.Moved {
		p.stage(name, "the data are there already", provision.Making{})
		return nil
	}
	m := provision.Move{Home: p.Home, Parts: p.moves(), Stop: p.stop, Start: p.start, Room: p.room}
	for _, v := range p.Layout.Volumes {
		if v.Aside == "" {
			continue
		}
		m.Volumes = append(m.Volumes, v)
		if v.Role == "data" && v.At != p.Home.Data {
			acts, err := p.engine.Elsewhere(ctx, p.d, p.Stack, p.Home, v.At)
			if err != nil {
				return err
			}
			m.Place = append(m.Place, acts...)
		}
	}
	for _, part := range m.Parts {
		acts, err := p.engine.Place(ctx, p.d, p.Stack, p.Home.Server, part)
		if err != nil {
			return err
		}
		m.Place = append(m.Place, acts...)
	}
	acts, err := p.System.Places(ctx, p.d, p.Home, m.Volumes)
	if err != nil {
		return err
	}
	m.Place = append(m.Place, acts...)
	if m.Label, err = p.System.Labels(ctx, p.d, p.Home, m.Volumes); err != nil {
		return err
	}
	making, err := p.Mover.Move(ctx, p.d, p.Stack, m)
	if err != nil {
		return err
	}
	p.stage(name, "to "+p.to(), making)
	p.Stages[len(p.Stages)-1].ForData()
	return nil
}

// settings is the stage that sets what the rules advise: for the host as it is if the data have moved already, and otherwise for the
// host as it will be.
func (p *planning) settings(ctx context.Context) error {
	steps := p.Prediction.Settings
	if p.Moved {
		steps = predict.Settings(p.Stack, p.Layout, p.Know.Catalog, p.Know.Verdicts)
	}
	maker := draft.Maker{Doer: p.d, Stack: p.Stack, Catalog: p.Know.Catalog, Setters: p.Setters, Dir: p.dir}
	d, err := maker.Prepare(ctx, stepsOf(steps))
	if err != nil {
		return err
	}
	p.Refused = d.Refused
	if d.Stops() {
		if len(d.Missing) > 0 {
			return hint.With(errors.New("rights are missing: "+strings.Join(d.Missing, "; ")), "run plumb as root, with a login that may set the server's variables")
		}
		for _, r := range d.Refused {
			if r.Whole {
				return hint.With(fmt.Errorf("set %s to %s: %s", r.Knob, r.To, r.Reason), r.Hint)
			}
		}
	}
	s := provision.Stage{Name: "settings", Why: "the advice of the rules", Steps: d.Steps, Restart: true, Done: len(d.Steps) == 0}
	for i, step := range s.Steps {
		if step.Recipe.Waits != "" && step.Recipe.Restart == nil && step.Knob.Of == p.Home.Server {
			s.Steps[i].Recipe.Restart = []change.Op{{Argv: p.stop}, {Argv: p.start}}
		}
	}
	s.Notes = append(s.Notes, p.demand(steps)...)
	p.Stages = append(p.Stages, s)
	return nil
}

// demand says whether the server keeps to the memory that the spec gives it.
func (p *planning) demand(steps []advise.Step) []string {
	memory := units.Bytes(p.Layout.Memory)
	switch d := p.Layout.Demand(p.Stack, steps); {
	case d.Over:
		return []string{fmt.Sprintf("with its settings %s takes at least %s, but server.memory is %s: Plumb does not lower the other settings", p.Home.Server, units.Bytes(d.Least), memory)}
	case d.Unknown != "":
		return []string{fmt.Sprintf("whether %s stays within server.memory, which is %s, is not known: %s", p.Home.Server, memory, d.Unknown)}
	}
	return nil
}

func stepsOf(all []advise.Step) (steps []change.Step) {
	for _, s := range all {
		steps = append(steps, change.Step{Knob: s.Knob, From: s.From, To: s.To, Because: s.Because, Why: s.Why})
	}
	return steps
}
