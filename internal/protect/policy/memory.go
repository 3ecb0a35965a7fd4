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

// File is where runs write down what came of them.
const File = "/var/lib/plumb/protect/status.json"

// BackupsOf is where runs of backups write theirs, beside the file of the others: they last long, and are in nobody's way.
func BackupsOf(file string) string { return path.Join(path.Dir(file), "backups.json") }

// form of the file. A newer one is refused.
const form = 1

// Memory is what came of the runs so far.
type Memory struct {
	Form   int       `json:"form"`
	Policy string    `json:"policy"` // the file of the last run
	Began  time.Time `json:"began"`  // the last run that was not the second at once
	Ended  time.Time `json:"ended"`  // before Began: it runs, or was killed
	Lasts  []Last    `json:"acts"`
}

// Last is what came of an act when it was last done. The zero time stands for never.
type Last struct {
	Kind   Kind      `json:"kind"`
	Server stack.Ref `json:"server"`
	Target string    `json:"target,omitempty"`
	Point  string    `json:"point,omitempty"` // the last with which it went well
	OK     time.Time `json:"ok,omitzero"`     // when it last went well
	Failed time.Time `json:"failed,omitzero"` // when it last did not
	Since  time.Time `json:"since,omitzero"`  // when it began to fail; zero while it does not
	Times  int       `json:"times,omitempty"` // it failed since
	Why    string    `json:"why,omitempty"`
	Hint   string    `json:"hint,omitempty"`
}

// Fails tells whether it failed the last time.
func (l Last) Fails() bool { return !l.Since.IsZero() }

// Last gives what is known of an act.
func (m Memory) Last(kind Kind, server stack.Ref, target string) (Last, bool) {
	for _, l := range m.Lasts {
		if l.Kind == kind && l.Server == server && l.Target == target {
			return l, true
		}
	}
	return Last{}, false
}

// note writes down what came of an act.
func (m *Memory) note(a Act, at time.Time, err error) {
	l, known := m.Last(a.Kind, a.Server, a.Target)
	l.Kind, l.Server, l.Target = a.Kind, a.Server, a.Target
	if _, is := errors.AsType[*done](err); err == nil || is {
		l.OK, l.Point = at, a.Point
	}
	if err == nil {
		l.Since, l.Times, l.Why, l.Hint = time.Time{}, 0, "", ""
	} else {
		if l.Since.IsZero() {
			l.Since = at
		}
		l.Failed, l.Why, l.Hint = at, err.Error(), hint.Of(err)
		l.Times++
	}
	if !known {
		m.Lasts = append(m.Lasts, l)
		return
	}
	for i, had := range m.Lasts {
		if had.Kind == l.Kind && had.Server == l.Server && had.Target == l.Target {
			m.Lasts[i] = l
		}
	}
}

// Done marks the error of an act that was done, but not whole: it is told as one that failed, and not done again.
func Done(err error) error { return &done{err} }

type done struct{ error }

// Unwrap gives what went wrong.
func (d *done) Unwrap() error { return d.error }

// forget drops what the policy no longer asks for, so that it is not missed for ever.
func (m *Memory) forget(p *Policy) {
	var kept []Last
	for _, l := range m.Lasts {
		if asked(p, l) {
			kept = append(kept, l)
		}
	}
	m.Lasts = kept
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

// Remember reads what runs wrote down; nothing when none ever ran.
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
