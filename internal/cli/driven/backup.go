package driven

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"plumb/internal/backup"
	"plumb/internal/backup/driven"
	"plumb/internal/change"
	"plumb/internal/change/draft"
	"plumb/internal/check"
	"plumb/internal/cli/driven/memory"
	"plumb/internal/cli/protect/machine"
	"plumb/internal/cli/shell"
	"plumb/internal/cli/value"
	"plumb/internal/engine/dsn"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/protect"
	"plumb/internal/stack"
	view "plumb/internal/view/backup"
)

// backup makes a backup. The first time it also writes the configuration of the tool.
func (v *verbs) backup(ctx context.Context, o asked, server string) error {
	o.server = server
	if err := o.place("to"); err != nil {
		return err
	}
	t, err := v.tool(o.with)
	if err != nil {
		return err
	}
	if err := o.check(); err != nil {
		return err
	}
	whole, is := t.(driven.Whole)
	if !is {
		return v.on(func(d *host.LiveDoer) error {
			s, err := v.told(ctx, d, t, o)
			if err != nil {
				return err
			}
			return v.run(ctx, d, t, s, o)
		})
	}
	return v.On(machine.At(o.state), func(here *machine.Machine) error {
		s, err := v.ready(ctx, here, whole, o)
		if err != nil {
			return err
		}
		return v.run(ctx, here.Doer, t, s, o)
	})
}

// told gives the set of a tool that keeps itself where its backups go, and tells it that if a person says it.
func (v *verbs) told(ctx context.Context, d *host.LiveDoer, t driven.Tool, o asked) (s driven.Set, err error) {
	_, name, _ := strings.Cut(o.server, ":")
	if kind := value.KindOf(o.server); kind == "" {
		name = o.server
	} else if kind != t.Kind() {
		return s, notOf(t, stack.Ref{Kind: kind, Name: name})
	}
	ref := stack.Ref{Kind: t.Kind(), Name: cmp.Or(name, o.with)}
	s = driven.Set{Tool: o.with, Name: o.with, URL: o.url, Server: protect.Server{Ref: ref}}
	tool, is := t.(driven.Told)
	if !is || o.url == "" && !o.archiving {
		return s, nil
	}
	o.reach(&s)
	did, err := tool.Tell(ctx, d, s, memory.Login(s), o.archiving)
	if did {
		fmt.Fprintf(v.Err, "plumb: %s is configured with where its backups go and whether the log is archived; all its agents use this configuration\n", t.Name())
	}
	return s, err
}

// notOf is the error of a server that a tool is not for.
func notOf(t driven.Tool, server stack.Ref) error {
	return hint.Usage(fmt.Sprintf("%s backs up %s, and %s is not one", t.Name(), t.Kind(), server), "leave out --with")
}

// Backup makes a backup for a policy. The server must have been backed up before.
func Backup(ctx context.Context, s *shell.Shell, a Adapters, here *machine.Machine, server stack.Ref, with string) error {
	v := &verbs{machine.Opener{Shell: s, Adapters: a.Adapters}, a}
	o := asked{with: with, server: server.String(), state: filepath.Join(here.Base(), filepath.Base(backup.Directory)), kind: "auto", fullEvery: 7 * day, diffEvery: day, flags: pflag.NewFlagSet("", pflag.ContinueOnError)}
	t, err := v.tool(with)
	if err != nil {
		return err
	}
	whole, is := t.(driven.Whole)
	if !is {
		return v.run(ctx, here.Doer, t, driven.Set{Tool: with, Name: with, Server: protect.Server{Ref: server}}, o)
	}
	set, err := v.ready(ctx, here, whole, o)
	if err != nil {
		return err
	}
	return v.run(ctx, here.Doer, t, set, o)
}

func (o asked) check() error {
	switch driven.Type(o.kind) {
	case "auto", driven.Full, driven.Diff, driven.Incr:
	default:
		return hint.Usage(fmt.Sprintf("%q is not a type of backup", o.kind), "auto, full, diff or incr")
	}
	if o.fullEvery < time.Hour || o.diffEvery < time.Hour || o.keep < 0 {
		return hint.Usage("--full-every and --diff-every are an hour at least, and --keep-full is not negative", "--full-every 168h")
	}
	return nil
}

// run makes the backup, and prints what there is afterwards.
func (v *verbs) run(ctx context.Context, d *host.LiveDoer, t driven.Tool, s driven.Set, o asked) error {
	before, err := t.Look(ctx, d, s)
	if err != nil {
		return err
	}
	if before.Running {
		return hint.With(errors.New("a backup of it is being made"), "wait until it has ended")
	}
	kind := driven.Type(o.kind)
	if _, is := t.(driven.Whole); o.kind == "auto" && !is {
		kind = driven.Full
	} else if o.kind == "auto" {
		kind = driven.Next(time.Now(), before.Backups, driven.Pace{Full: o.fullEvery, Diff: o.diffEvery})
	}
	began := time.Now()
	if doing := v.Doing(o.json); doing != nil {
		doing(t.Name() + " makes a backup, " + string(kind))
		defer v.Done()
	}
	if err := t.Run(ctx, d, s, kind); err != nil {
		return hint.With(err, cmp.Or(hint.Of(err), "there is no new backup yet; the same command continues with what was not copied"))
	}
	f, err := t.Look(ctx, d, s)
	if err != nil {
		return fmt.Errorf("the backup is made, and cannot be looked at: %w", err)
	}
	last := f.Last()
	if last == nil || before.Last() != nil && last.Label == before.Last().Label {
		return fmt.Errorf("%s ended without a message, and there is no new backup", t.Name())
	}
	v.Done()
	if err := o.note(ctx, d, s, f, last); err != nil {
		v.Warn("record what there is", err)
	}
	shown := view.Driven{Tool: t.Name(), Set: s, Found: f, Unmet: driven.Judge(time.Now(), f, 0), Made: last, Took: time.Since(began)}
	return v.Answer(o.json, shown.Document(), shown.Text(shell.Screen(v.Out)))
}

// ready finds the server, and makes it known to the tool.
func (v *verbs) ready(ctx context.Context, here *machine.Machine, t driven.Whole, o asked) (s driven.Set, err error) {
	if _, err := t.Have(ctx, here.Doer); err != nil {
		return s, err
	}
	books, err := o.sets(here.Doer)
	if err != nil {
		return s, err
	}
	known, err := books.Of(ctx, o.with)
	if err != nil {
		return s, err
	}
	at, err := v.find(ctx, here, t, o.server)
	if err != nil {
		return s, err
	}
	name := cmp.Or(o.stanza, stanzaOf(at.server.Ref))
	var was *driven.Set
	for _, k := range known {
		if k.Name == name || o.stanza == "" && k.Server.Ref == at.server.Ref {
			was, name = &k, k.Name
		}
	}
	if s, err = o.fresh(was, at.server, name); err != nil {
		return s, err
	}
	if err := v.Found(ctx, here.Doer, at.target, &s); err != nil {
		return s, err
	}
	if err := t.Check(s); err != nil {
		return s, err
	}
	u := driven.Setup{Do: here.Doer, Tool: t, Was: was}
	if err := v.write(ctx, here, u, s, o, at); err != nil {
		return s, err
	}
	if err := t.Begin(ctx, here.Doer, s); err != nil {
		return s, err
	}
	return s, books.Put(ctx, s)
}

// located is a server, with the picture of its machine.
type located struct {
	server protect.Server
	target host.Target
	seen   *stack.Stack
}

// find finds the server on this machine.
func (v *verbs) find(ctx context.Context, here *machine.Machine, t driven.Tool, name string) (at located, err error) {
	if at.seen, err = here.Look(ctx); err != nil {
		return at, err
	}
	ref, err := here.Server(at.seen, cmp.Or(name, t.Kind()))
	if err != nil {
		return at, err
	}
	if ref.Kind != t.Kind() {
		return at, notOf(t, ref)
	}
	e, err := here.Keeper.EngineOf(protect.Server{Ref: ref})
	if err != nil {
		return at, err
	}
	at.server, at.target, err = e.Describe(ctx, here.Doer, at.seen, ref)
	return at, err
}

// fresh is the set as it is asked for now; was is nil for a new one. Where the backups are does not change: that would be another set.
func (o asked) fresh(was *driven.Set, server protect.Server, name string) (s driven.Set, err error) {
	s = driven.Set{Tool: o.with, Name: name, Server: server, Keep: o.keep}
	files, err := o.files()
	if err != nil {
		return s, err
	}
	s.At(files)
	if was == nil && o.url == "" {
		return s, hint.Usage(fmt.Sprintf("where to put the backups of %s was never configured", server.Ref), "--to s3://bucket/prefix, or file:///directory")
	}
	if o.url == "" {
		s.URL, s.Endpoint, s.Region, s.CA = was.URL, was.Endpoint, was.Region, was.CA
	} else {
		s.URL = o.url
		o.reach(&s)
	}
	if was != nil && !o.flags.Changed("keep-full") {
		s.Keep = was.Keep
	}
	if was != nil && s.URL != was.URL {
		return s, hint.With(fmt.Errorf("%s is backed up to %s", server.Ref, was.URL), "to begin elsewhere: plumb undo removes the configuration, and --stanza NAME begins another")
	}
	if was != nil && was.Server.Identity != "" && server.Identity != was.Server.Identity {
		return s, hint.With(fmt.Errorf("%s is not the server that was backed up as %s: its identifier is %s, and that one's is %s", server.Ref, name, server.Identity, was.Server.Identity), "--stanza NAME begins backups of its own")
	}
	return s, nil
}

// write writes the configuration of the tool, and makes the server archive its log if a person agreed to that.
func (v *verbs) write(ctx context.Context, here *machine.Machine, u driven.Setup, s driven.Set, o asked, at located) error {
	wants, err := u.Tool.Wants(ctx, here.Doer, at.target, s)
	if err != nil {
		return err
	}
	if len(wants) > 0 && !o.archiving {
		text := ""
		for _, w := range wants {
			text += fmt.Sprintf("%s = '%s'; ", w.Name, w.Value)
		}
		return hint.With(fmt.Errorf("%s does not archive its log, and %s cannot back up such a server", s.Server.Ref, u.Tool.Name()), "--set-archiving has Plumb set "+text+"plumb undo reverts it")
	}
	u.Login = memory.Login(s)
	step, err := u.Step(ctx, s)
	if err != nil {
		return err
	}
	draft, err := v.settings(ctx, here, at.seen, s, wants)
	if err != nil {
		return err
	}
	if err := u.Ground(ctx, s); err != nil {
		return err
	}
	if len(step.Recipe.Acts) > 0 {
		draft.Steps = append([]change.Prepared{step}, draft.Steps...)
	}
	out, err := here.Executor().Apply(ctx, draft, change.ApplyOptions{Begin: here.Begin()})
	if err != nil {
		return err
	}
	if out.Number > 0 {
		fmt.Fprintf(v.Err, "plumb: recorded as change %d; plumb undo %d --keep reverts it, and leaves the backups\n", out.Number, out.Number)
	}
	for _, s := range draft.Steps {
		if s.Recipe.Waits != "" {
			return hint.With(fmt.Errorf("the configuration is complete, but %s is waiting for %s", s.Knob, s.Recipe.Waits), "restart the server, and give the same command again")
		}
	}
	return nil
}

// settings drafts the change of the server's settings.
func (v *verbs) settings(ctx context.Context, here *machine.Machine, seen *stack.Stack, s driven.Set, wants []driven.Setting) (change.Draft, error) {
	if len(wants) == 0 {
		return change.Draft{}, nil
	}
	cat, err := check.Catalog(check.All, v.Warn)
	if err != nil {
		return change.Draft{}, err
	}
	var steps []change.Step
	for _, w := range wants {
		steps = append(steps, change.Step{Knob: stack.Knob{Of: s.Server.Ref, Name: w.Name}, To: stack.Text(w.Value), Because: "asked for by plumb backup --with " + s.Tool})
	}
	maker := draft.Maker{Doer: here.Doer, Stack: seen, Catalog: cat, Setters: v.Setters(cat, dsn.Given{}), Dir: here.Base()}
	draft, err := maker.Prepare(ctx, steps)
	if err != nil {
		return draft, err
	}
	for _, r := range draft.Refused {
		return draft, hint.With(fmt.Errorf("set %s: %s", r.Knob, r.Reason), cmp.Or(r.Hint, "set it by hand"))
	}
	if draft.Stops() {
		return draft, hint.With(fmt.Errorf("rights are missing: %v", draft.Missing), "run plumb as root")
	}
	return draft, nil
}
