package driven

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"plumb/internal/backup"
	"plumb/internal/backup/driven"
	"plumb/internal/backup/moment"
	"plumb/internal/change"
	backupcli "plumb/internal/cli/backup"
	"plumb/internal/cli/driven/memory"
	"plumb/internal/cli/protect/machine"
	"plumb/internal/cli/shell"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/protect"
	"plumb/internal/stack"
	view "plumb/internal/view/backup"
)

// verify proves a backup: it restores it, starts a server on it, and removes everything again.
func (v *verbs) verify(ctx context.Context, o asked, label string) error {
	t, err := v.whole(o.with, "prove backups")
	if err != nil {
		return err
	}
	under := o.flags.Lookup("restore").Value.String()
	if under == "" {
		return hint.Usage("how to verify them is not given", "--restore DIR restores a backup there, starts a server on it, and removes both; pgbackrest verify reads the repository again")
	}
	return v.On(machine.At(o.state), func(here *machine.Machine) error {
		s, err := o.set(ctx, here.Doer)
		if err != nil {
			return err
		}
		f, err := found(ctx, here.Doer, t, s)
		if err != nil {
			return err
		}
		b, err := chosen(f, s, label)
		if err != nil {
			return err
		}
		run := here.Prover(ctx, v.Doing(o.json))
		if _, _, err := here.Verifier(ctx); err != nil {
			return err
		}
		proof := driven.Proof{Bring: driven.Bring{Restore: backup.Restore{Do: here.Doer, Books: here.Keeper.Books}, Tool: t}, Under: under, Lend: here.Scratch.Lent, Prove: run.Run}
		got, notes, err := proof.Run(ctx, s, f, b)
		v.Done()
		if err != nil {
			return err
		}
		err = t.Mark(ctx, here.Doer, s, b, got)
		if err == nil {
			err = v.noted(ctx, here.Doer, t, s, o)
		}
		if err != nil {
			v.Warn("record the result", err)
		}
		m := memory.Of(s, b)
		err = v.Answer(o.json, view.ProofDocument(s.URL, m, got, notes), view.Proven(m, got, notes, shell.Screen(v.Out)))
		if err == nil && !got.OK {
			err = shell.ErrMarked
		}
		return err
	})
}

// noted writes down on this host what the store says after a proof, so that a check knows.
func (v *verbs) noted(ctx context.Context, d *host.LiveDoer, t driven.Whole, s driven.Set, o asked) error {
	f, err := t.Look(ctx, d, s)
	if err != nil {
		return err
	}
	return o.note(ctx, d, s, f, nil)
}

// restore restores a backup to a directory, ready for a start that goes on to a moment.
func (v *verbs) restore(ctx context.Context, o asked, label string) error {
	t, err := v.whole(o.with, "restore")
	if err != nil {
		return err
	}
	if err := o.place("from"); err != nil {
		return err
	}
	directory, a, err := o.moment()
	if err != nil {
		return err
	}
	return v.On(machine.At(o.state), func(here *machine.Machine) error {
		s, err := v.from(ctx, here, t, o, directory)
		if err != nil {
			return err
		}
		if err := o.owned(&s, here.Doer.About().Root); err != nil {
			return err
		}
		there := s
		there.Server.Dirs = []protect.Dir{{Role: "data", Path: directory}}
		if err := t.Check(there); err != nil {
			return err
		}
		f, err := found(ctx, here.Doer, t, s)
		if err != nil {
			return err
		}
		if label != "" {
			b, err := chosen(f, s, label)
			if err != nil {
				return err
			}
			f.Backups = []driven.Taken{b}
		}
		b, err := t.Choose(f.Backups, a)
		if err != nil {
			return err
		}
		began := time.Now()
		if doing := v.Doing(o.json); doing != nil {
			doing("restoring " + b.Label)
		}
		next, notes, err := driven.Bring{Restore: backup.Restore{Do: here.Doer, Books: here.Keeper.Books}, Tool: t}.To(ctx, s, b, directory, a)
		v.Done()
		if err != nil {
			return err
		}
		w := moment.Way{Base: b.Label, Server: s.Name, From: b.FromLSN, Last: cmp.Or(b.ToLSN, b.To), Next: next, Notes: notes}
		return v.Answer(o.json, view.MomentDocument(memory.Of(s, b), w, directory, time.Since(began)), view.DrivenMoment(w, a.To.Text, directory, time.Since(began), shell.Screen(v.Out)))
	})
}

// moment parses the directory and the moment of a restore.
func (o asked) moment() (directory string, a moment.Asked, err error) {
	directory = o.flags.Lookup("dir").Value.String()
	to := o.flags.Lookup("to").Value.String()
	if directory == "" || to == "" {
		return "", a, hint.Usage("a restore with "+o.with+" needs a new directory and a moment", "--dir /srv/pg --to latest")
	}
	a.Timeline, _ = o.flags.GetInt("timeline")
	a.Replace, _ = o.flags.GetBool("replace")
	if err := a.Read(to, time.Now()); err != nil {
		return "", a, err
	}
	if a.Alone {
		return "", a, hint.Usage("--to "+to+" is for backups that Plumb made itself", "--to latest")
	}
	return directory, a, nil
}

// owned finds the user that the server of a set will run as.
func (o asked) owned(s *driven.Set, root bool) (err error) {
	if user := o.flags.Lookup("user").Value.String(); user != "" {
		if s.Server.UID, s.Server.GID, err = backupcli.Account(user); err != nil {
			return err
		}
	}
	if root && s.Server.UID <= 0 {
		return hint.Usage("the user that the server will run as is missing", "--user postgres")
	}
	return nil
}

// from gives the set to restore from: that of this host, or, with a URL and a key, one of a machine that is gone, whose
// configuration is written here.
func (v *verbs) from(ctx context.Context, here *machine.Machine, t driven.Whole, o asked, directory string) (s driven.Set, err error) {
	if o.url == "" {
		return o.set(ctx, here.Doer)
	}
	identity, user := o.flags.Lookup("identity").Value.String(), o.flags.Lookup("user").Value.String()
	if o.stanza == "" || identity == "" || user == "" {
		return s, hint.Usage("with --from the stanza, the key and the user must be named", "--stanza NAME --identity key.conf --user postgres: the sheet that plumb backup --with prints has them")
	}
	s = driven.Set{Tool: o.with, Name: o.stanza, URL: o.url, Server: protect.Server{Ref: stack.Ref{Kind: t.Kind(), Name: o.stanza}, Dirs: []protect.Dir{{Role: "data", Path: directory}}}}
	files, err := o.files()
	if err != nil {
		return s, err
	}
	s.At(files)
	o.reach(&s)
	if s.Server.UID, s.Server.GID, err = backupcli.Account(user); err != nil {
		return s, err
	}
	if err := t.Check(s); err != nil {
		return s, err
	}
	if at := driven.Local(o.url); at != "" {
		if _, err := here.Doer.Stat(ctx, at); err != nil {
			return s, err
		}
	}
	text, err := shell.ReadFile(identity, nil, mostKey)
	if err != nil {
		return s, fmt.Errorf("read the key of %s: %w", identity, err)
	}
	u := driven.Setup{Do: here.Doer, Tool: t}
	u.Login = memory.Login(s)
	step, err := u.Step(ctx, s)
	if err == nil {
		err = u.Adopt(ctx, s, text)
	}
	if err == nil {
		err = u.Ground(ctx, s)
	}
	if err != nil || len(step.Recipe.Acts) == 0 {
		return s, err
	}
	out, err := here.Executor().Apply(ctx, change.Draft{Steps: []change.Prepared{step}}, change.ApplyOptions{Begin: here.Begin()})
	if out.Number > 0 {
		fmt.Fprintf(v.Err, "plumb: %s is recorded as change %d; plumb undo %d reverts it\n", s.Config, out.Number, out.Number)
	}
	return s, err
}

// mostKey is the largest configuration with a tool's key that is read, in bytes.
const mostKey = 1 << 16
