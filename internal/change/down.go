package change

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"plumb/internal/edit"
	"plumb/internal/host"
)

// Waiting is the error of an act that cannot be undone while its server does not answer. It stays open in the journal.
type Waiting struct {
	For string // the server: "mysql:3306"
	Err error  // what it answered, or what was in the way
	// Start is how a person gets the server to start without the value, ""
	// when nothing special is needed.
	Start string
}

// Error implements error.
func (w *Waiting) Error() string {
	if w.Answers() {
		return w.Err.Error()
	}
	return fmt.Sprintf("waits for %s: %v", w.For, w.Err)
}

// Unwrap gives what the server answered.
func (w *Waiting) Unwrap() error { return w.Err }

// Hint says what a person can do.
func (w *Waiting) Hint() string {
	switch {
	case errors.Is(w.Err, host.ErrLogin), errors.Is(w.Err, host.ErrDenied):
		return "give a login with --dsn"
	case w.Answers():
		return "plumb undo tries it again once " + w.For + " takes it"
	case w.Start != "":
		return "start " + w.For + " " + w.Start + "; plumb undo then takes back what is left"
	}
	return "start " + w.For + "; plumb undo then takes back what is left"
}

// Answers tells whether the server did answer, so that the error is its own: after an upgrade it may no longer know the
// setting.
func (w *Waiting) Answers() bool {
	return !slices.ContainsFunc([]error{host.ErrDown, host.ErrLogin, host.ErrRefused, context.DeadlineExceeded, context.Canceled},
		func(none error) bool { return errors.Is(w.Err, none) })
}

// waiting makes a *Waiting of the error of an operation on a server, unless we were told to stop.
func waiting(ctx context.Context, t *host.Target, err error) error {
	if err == nil || t == nil || ctx.Err() != nil {
		return err
	}
	return &Waiting{For: t.Name, Err: err}
}

// seen reads the state of a switch. The error is a *Waiting if it is a server's.
func (k *Executor) seen(ctx context.Context, s *Switch) (string, error) {
	now, err := inspect(ctx, k.Doer, s.Inspect)
	if err == nil {
		return now, nil
	}
	err = waiting(ctx, s.Inspect.Target, fmt.Errorf("read %s: %w", s.On, err))
	if w, ok := errors.AsType[*Waiting](err); ok && s.Down != nil {
		w.Start = s.Down.Hint
	}
	return "", err
}

// whileDown restores a value in the file in which its server stores it. It does so only if the server certainly does not
// run, because a running server would write the file anew. Otherwise it gives back down, the error that the server's
// silence caused.
func (k *Executor) whileDown(ctx context.Context, c *Change, p Recorded, o UndoOptions, down error) error {
	d := p.Act.Switch.Down
	if runs, err := k.runs(ctx, d); err != nil || runs {
		return down
	}
	text, err := rawOrNone(ctx, k.Doer, d.File)
	if err != nil {
		return err
	}
	found, had, err := edit.Get(d.Form, text, d.Key)
	if err != nil {
		return err
	}
	if !had {
		found = None
	}
	before, ok := d.plain(p.Made.Before)
	switch {
	case !ok:
		return down
	case found == before:
		return k.note(ctx, c, kindUndone, result{N: p.N})
	case found != d.Value && p.State == Done && !o.Force:
		drift := &Drifted{[]Drift{{Change: c.Number, Place: p.Act.Place(), Want: d.Value, Found: found}}}
		if o.Keep {
			return k.note(ctx, c, kindLeft, result{N: p.N, Why: drift.Error()})
		}
		return drift
	case before == None:
		text, err = edit.Unset(d.Form, text, d.Key)
	default:
		text, err = edit.Set(d.Form, text, d.Key, before)
	}
	if err == nil {
		err = k.note(ctx, c, kindUndoing, result{N: p.N})
	}
	if err == nil {
		err = k.Doer.Replace(ctx, d.File, text, 0o600)
	}
	if err != nil {
		return err
	}
	return k.note(ctx, c, kindUndone, result{N: p.N})
}

// plain gives a state of the switch in the form of the file; false if it has none.
func (d *Down) plain(state string) (string, bool) {
	if !d.Quoted || state == None {
		return state, true
	}
	inner, ok := strings.CutPrefix(state, "'")
	inner, end := strings.CutSuffix(inner, "'")
	return strings.ReplaceAll(inner, "''", "'"), ok && end
}

// runs tells whether the server may be running, by the file that holds its process id.
func (k *Executor) runs(ctx context.Context, d *Down) (bool, error) {
	text, err := k.Doer.ReadFile(ctx, d.PID)
	if errors.Is(err, fs.ErrNotExist) {
		_, err = k.Doer.Stat(ctx, path.Dir(d.PID)) // a data directory that is not mounted tells nothing
		return err != nil, err
	}
	if err != nil {
		return true, err
	}
	line, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		return true, err
	}
	_, err = k.Doer.Stat(ctx, fmt.Sprintf("/proc/%d", pid))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return true, err
}

// keepsItself tells whether the server stores the value where this package cannot edit it while the server is down.
func (s *Switch) keepsItself() bool { return s.Down != nil && s.Down.File == "" }

// TryRestarts refuses to try a draft that restarts servers if a value of it could not be undone should a server not
// start with it. The error is a *Refusal.
func (d Draft) TryRestarts() error {
	restarts := false
	for _, s := range d.Steps {
		restarts = restarts || s.Recipe.Restart != nil
	}
	for i, s := range d.Steps {
		for _, a := range s.Recipe.Acts {
			if restarts && a.Switch != nil && a.Switch.keepsItself() {
				return &Refusal{Why: fmt.Sprintf("step %d, %s: the server keeps the value itself, and were it not to start with it, nothing could take it back in time", i+1, s.Knob),
					What: "leave out --try or --restart, or the step with --skip " + s.Knob.String()}
			}
		}
	}
	return nil
}
