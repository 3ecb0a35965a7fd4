package policy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"time"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/protect"
	"plumb/internal/stack"
)

// File is where runs keep their Memory.
const File = "/var/lib/plumb/protect/status.json"

// BackupsOf returns the file for runs that make backups, beside that of the other runs. As such runs take hours, they have a file and a
// lock of their own, so that the others need not wait.
func BackupsOf(file string) string { return path.Join(path.Dir(file), "backups.json") }

// form is the version of the file. A file of a later one is refused.
const form = 1

// Memory is what is kept of the runs so far.
type Memory struct {
	Form   int       `json:"form"`
	Policy string    `json:"policy"` // the file of the last run
	Began  time.Time `json:"began"`  // the last run, not counting those that found another one at work
	Ended  time.Time `json:"ended"`  // before Began if the last run is still at work, or was killed
	Lasts  []Last    `json:"acts"`
}

// Last is the result of an act when it was last done. The zero time stands for never.
type Last struct {
	Kind   Kind      `json:"kind"`
	Server stack.Ref `json:"server"`
	Target string    `json:"target,omitempty"`
	Point  string    `json:"point,omitempty"` // ID of the point with which it last went well
	OK     time.Time `json:"ok,omitzero"`     // when it last went well
	Failed time.Time `json:"failed,omitzero"` // when it last failed
	Since  time.Time `json:"since,omitzero"`  // since when it has failed every time; zero if it went well the last time
	Times  int       `json:"times,omitempty"` // how often it has failed since then
	Why    string    `json:"why,omitempty"`
	Hint   string    `json:"hint,omitempty"`
}

// Fails tells whether the act failed the last time.
func (l Last) Fails() bool { return !l.Since.IsZero() }

// index finds an act in Lasts; -1 when it was never done.
func (m Memory) index(kind Kind, server stack.Ref, target string) int {
	return slices.IndexFunc(m.Lasts, func(l Last) bool { return l.Kind == kind && l.Server == server && l.Target == target })
}

// Last returns what is known of an act, and false when it was never done.
func (m Memory) Last(kind Kind, server stack.Ref, target string) (Last, bool) {
	if i := m.index(kind, server, target); i >= 0 {
		return m.Lasts[i], true
	}
	return Last{}, false
}

// note remembers the result of an act.
func (m *Memory) note(a Act, at time.Time, err error) {
	i := m.index(a.Kind, a.Server, a.Target)
	if i < 0 {
		i, m.Lasts = len(m.Lasts), append(m.Lasts, Last{Kind: a.Kind, Server: a.Server, Target: a.Target})
	}
	l := &m.Lasts[i]
	if _, is := errors.AsType[*done](err); err == nil || is {
		l.OK, l.Point = at, a.Point
	}
	if err == nil {
		l.Since, l.Times, l.Why, l.Hint = time.Time{}, 0, "", ""
		return
	}
	if l.Since.IsZero() {
		l.Since = at
	}
	l.Failed, l.Why, l.Hint = at, err.Error(), hint.Of(err)
	l.Times++
}

// Done marks the error of an act that was done, but not all of it. The act is reported as failed, but is not due again because of it.
func Done(err error) error { return &done{err} }

type done struct{ error }

// Unwrap returns the error that was marked.
func (d *done) Unwrap() error { return d.error }

// forget drops the acts that the policy no longer asks for, whose failures would be reported for ever.
func (m *Memory) forget(p *Policy) {
	m.Lasts = slices.DeleteFunc(m.Lasts, func(l Last) bool { return !asked(p, l) })
}

func asked(p *Policy, l Last) bool {
	r := p.For(l.Server)
	if r == nil {
		return false
	}
	switch l.Kind {
	case Prove:
		return r.Drill != nil
	case Backup:
		return slices.ContainsFunc(r.Backup, func(s Store) bool { return s.Target() == l.Target })
	case Replicate:
		return slices.ContainsFunc(r.Replicate, func(t Target) bool { return t.To == l.Target })
	}
	return true
}

// Remember reads the memory of a file. It is empty if there is no such file.
func Remember(ctx context.Context, h host.Reader, file string) (m Memory, err error) {
	text, err := h.ReadFile(ctx, file)
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return Memory{}, hint.With(fmt.Errorf("read %s: %w", file, err), "remove it: plumb protect run makes it again")
	}
	if m.Form > form {
		return Memory{}, fmt.Errorf("read %s: %w", file, hint.Newer("it is a status", m.Form, form))
	}
	return m, nil
}

func (m Memory) write(ctx context.Context, d host.Doer, file string) error {
	m.Form = form
	if err := protect.WriteKept(ctx, d, file, m, 0o644); err != nil {
		return fmt.Errorf("write down what came of the run: %w", err)
	}
	return nil
}
