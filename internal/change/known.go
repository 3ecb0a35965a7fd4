package change

import (
	"errors"
	"fmt"
	"regexp"

	"plumb/internal/edit"
)

// What a journal asks for is looked at whole when it is read, before anything
// of it is done: half of a change must not be taken back before it shows that
// the other half is of a kind that nobody here knows.

// known says why an intent cannot be undone by this Plumb.
func (i intent) known(c *Change) error {
	switch {
	case c.Version < 1:
		return errors.New("an act before the record that begins the change")
	case i.Step < 0:
		return fmt.Errorf("an act of step %d", i.Step)
	case !i.Act.Valid():
		return unknown("an act that is not of exactly one kind")
	case i.Act.form() > c.Version:
		return unknown(fmt.Sprintf("an act of form %d in a journal of form %d", i.Act.form(), c.Version))
	}
	return i.Act.deed().known(i.Made)
}

// unknown refuses what a later Plumb may have written.
func unknown(what string) error {
	return &Refusal{Why: what + ": it was written by a newer Plumb, or is damaged", What: newerHint}
}

func (e *Edit) known(m Made) error {
	switch _, _, err := edit.Get(e.Form, nil, e.Key); {
	case e.File == "":
		return unknown("an edit of no file")
	case err != nil:
		return unknown(fmt.Sprintf("an edit of %s: %v", e.File, err))
	case m.Splice == nil:
		return unknown(fmt.Sprintf("an edit of %s that does not say what it changed", e.File))
	case m.Splice.At < 0:
		return unknown(fmt.Sprintf("an edit of %s at byte %d", e.File, m.Splice.At))
	case e.Apply != nil:
		return errors.Join(known([]Op{*e.Apply}), e.Still.known(e.File))
	}
	return e.Still.known(e.File)
}

// known says why a state cannot be read; on is what it is of.
func (l Inspection) known(on string) error {
	if l.Of != nil && l.Of.known() != nil {
		return unknown(fmt.Sprintf("%s, of which it does not say what it is of", on))
	}
	if _, err := regexp.Compile(l.Match); err != nil {
		return unknown(fmt.Sprintf("%s, read with %q", on, l.Match))
	}
	if !one(l.File != "", l.Argv != nil, l.Target != nil, l.Of != nil, l.Mounted != "", l.Socket != "") {
		return unknown(fmt.Sprintf("%s, without a word of how it is read", on))
	}
	return nil
}

func (s *Switch) known(Made) error {
	switch err := s.Inspect.known(s.On); {
	case err != nil:
		return err
	case len(s.Undo) == 0 && len(s.UndoNone) == 0:
		return unknown(fmt.Sprintf("a switch of %s that does not say how it is undone", s.On))
	}
	if s.Down != nil && s.Down.File != "" {
		if _, _, err := edit.Get(s.Down.Form, nil, s.Down.Key); err != nil {
			return unknown(fmt.Sprintf("a switch of %s, kept in %s: %v", s.On, s.Down.File, err))
		}
	}
	if _, err := regexp.Compile(s.Later); err != nil {
		return unknown(fmt.Sprintf("a switch of %s, which becomes %q later", s.On, s.Later))
	}
	return errors.Join(s.Still.known(s.On), known(s.Undo), known(s.UndoNone), known(s.Keep))
}

// known looks at operations: each is a write, a command or a statement.
func known(ops []Op) error {
	for _, o := range ops {
		if !one(o.Write != nil, len(o.Argv) > 0, o.Statement != "") || (o.Statement != "") != (o.Target != nil) {
			return unknown("an operation that is neither a write, a command nor a statement")
		}
	}
	return nil
}

// one tells whether exactly one of them is so.
func one(of ...bool) bool {
	n := 0
	for _, is := range of {
		if is {
			n++
		}
	}
	return n == 1
}
