package driven

import (
	"context"
	"fmt"
	"slices"
	"time"

	"plumb/internal/backup"
	"plumb/internal/backup/driven"
	"plumb/internal/cli/driven/memory"
	"plumb/internal/cli/shell"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/protect"
	"plumb/internal/stack"
	view "plumb/internal/view/backup"
)

// list prints the backups there are, and what is wrong with them.
func (v *verbs) list(ctx context.Context, o asked, _ string) error {
	t, err := v.tool(o.with)
	if err != nil {
		return err
	}
	textfile := o.flags.Lookup("textfile").Value.String()
	note, _ := o.flags.GetBool("note")
	return v.on(func(d *host.LiveDoer) error {
		s, err := v.setOf(ctx, d, t, o)
		if err != nil {
			return err
		}
		f, err := t.Look(ctx, d, s)
		if err != nil {
			return err
		}
		if textfile != "" {
			if err := memory.Textfile(textfile, s, f); err != nil {
				return err
			}
		}
		if note {
			if err := o.note(ctx, d, s, f, nil); err != nil {
				return err
			}
		}
		shown := view.Driven{Tool: t.Name(), Set: s, Found: f, Unmet: driven.Judge(time.Now(), f, o.every)}
		err = v.Answer(o.json, shown.Document(), shown.Text(shell.Screen(v.Out)))
		if err == nil && len(shown.Unmet) > 0 {
			err = shell.ErrMarked
		}
		return err
	})
}

// setOf finds the set. A tool that Plumb does not configure has one, which is not written down.
func (v *verbs) setOf(ctx context.Context, d host.Doer, t driven.Tool, o asked) (driven.Set, error) {
	if _, is := t.(driven.Whole); is {
		return o.set(ctx, d)
	}
	return driven.Set{Tool: o.with, Name: o.with, Server: protect.Server{Ref: stack.Ref{Kind: t.Kind(), Name: o.stanza}}}, nil
}

// note writes down which backups there are, so that a check knows. made is a backup that was just made, or nil.
func (o asked) note(ctx context.Context, d host.Doer, s driven.Set, f driven.Found, made *driven.Taken) error {
	at, err := backup.At(o.state)
	if err != nil {
		return err
	}
	return memory.Note(ctx, d, at, s, f, made)
}

// found asks the tool for the backups it can restore.
func found(ctx context.Context, d host.Streamer, t driven.Tool, s driven.Set) (driven.Found, error) {
	f, err := t.Look(ctx, d, s)
	if err == nil && len(f.Backups) == 0 && f.Wrong != "" {
		err = hint.With(fmt.Errorf("the backups in %s cannot be read: %s", s.URL, f.Wrong), "is the key the one with which they were begun, and the stanza's name right?")
	}
	return f, err
}

// chosen finds the backup with a label, or the newest if label is "".
func chosen(f driven.Found, s driven.Set, label string) (driven.Taken, error) {
	if label == "" && f.Last() != nil {
		return *f.Last(), nil
	}
	if i := slices.IndexFunc(f.Backups, func(b driven.Taken) bool { return b.Label == label }); i >= 0 {
		return f.Backups[i], nil
	}
	if label == "" {
		return driven.Taken{}, fmt.Errorf("%s has no backup of %s", s.URL, s.Name)
	}
	return driven.Taken{}, hint.Usage(fmt.Sprintf("%s has no backup %s of %s", s.URL, label, s.Name), "plumb backup list --with shows them")
}
