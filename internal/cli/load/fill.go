package load

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"plumb/internal/cli/shell"
	"plumb/internal/hint"
	"plumb/internal/load/fill"
	view "plumb/internal/view/load"
)

// fillOptions are those of a prepare; its progress goes to standard error.
func (v *verbs) fillOptions(d *drive, verify string) (fill.Options, error) {
	levels := map[string]fill.Level{"counts": fill.Counts, "content": fill.Content, "nothing": fill.Nothing}
	level, ok := levels[verify]
	if !ok {
		return fill.Options{}, hint.Usage("--verify "+verify+" is not known", "use counts, content or nothing")
	}
	o := fill.Options{Workers: d.threads[0], Verify: level, Progress: v.progress()}
	if !d.threadsGiven {
		o.Workers = 0
	}
	return o, nil
}

// progress shows how far a load is: one line that rewrites itself where a
// person watches, otherwise a line now and then.
func (v *verbs) progress() func(fill.Progress) {
	if shell.IsTerminal(v.Err) {
		return func(p fill.Progress) { shell.Rewrite(v.Err, view.FillProgress(p)) }
	}
	said, doing := time.Duration(0), ""
	return func(p fill.Progress) {
		if p.Elapsed-said >= 10*time.Second || p.Doing != doing && p.Elapsed > 2*time.Second {
			said, doing = p.Elapsed, p.Doing
			fmt.Fprintln(v.Err, view.FillProgress(p))
		}
	}
}

// prepared shows what a prepare did.
func (v *verbs) prepared(what string, r fill.Report, err error) error {
	v.Done()
	if err != nil {
		if errors.Is(err, context.Canceled) {
			return hint.With(fmt.Errorf("prepare %s: interrupted", what), "the same command continues where it stopped")
		}
		return err
	}
	return v.Print(view.Prepared(what, r))
}

// cleaned says what a cleanup removed.
func (v *verbs) cleaned(names []string, err error) error {
	if err != nil {
		return err
	}
	text := "nothing to remove: there are no tables of plumb load here"
	if len(names) > 0 {
		text = "removed " + strings.Join(names, ", ")
	}
	_, err = fmt.Fprintln(v.Out, text)
	return err
}
