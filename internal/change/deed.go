package change

import (
	"context"
	"crypto/rand"
	"strings"

	"plumb/internal/host"
)

// deed is what every kind of act can do. If it learns something on the way that undoing needs, it writes that
// to the journal before it goes on.
type deed interface {
	// place names what is changed, for people and to find two acts on one place.
	place() string
	// found reads what is there before the act; need is false when nothing is left to do.
	found(ctx context.Context, k *Executor) (made Made, need bool, err error)
	// do does it, or continues it; p is its record in the journal. got is the state that was reached, if it is
	// not the one wanted.
	do(ctx context.Context, k *Executor, c *Change, p *Recorded) (got string, err error)
	// drift says how the place differs both from what it was before and from what Plumb left; nil when it does
	// not differ from one of the two.
	drift(ctx context.Context, k *Executor, p *Recorded) (*Drift, error)
	// undo takes it back; with force also where others have changed it since.
	undo(ctx context.Context, k *Executor, c *Change, p *Recorded, force bool) error
	// known is an error that says why this Plumb cannot undo such an act of a journal; nil when it can.
	known(m Made) error
	// words say for people what was there before, and what the act makes of it.
	words(p *Recorded) (before, after string)
	// back lists the operations that undoing it would run, besides writing and renaming files.
	back(p *Recorded) []Op
}

// kinds lists what an act can be, as documents name it.
func (a Act) kinds() (names []string, set []deed) {
	add := func(name string, is bool, d deed) {
		if is {
			names, set = append(names, name), append(set, d)
		}
	}
	add("edit", a.Edit != nil, a.Edit)
	add("switch", a.Switch != nil, a.Switch)
	add("make", a.Make != nil, a.Make)
	add("copy", a.Copy != nil, a.Copy)
	add("move", a.Move != nil, a.Move)
	return names, set
}

// deed gives the kind that is set; nil unless it is exactly one.
func (a Act) deed() deed {
	if _, set := a.kinds(); len(set) == 1 {
		return set[0]
	}
	return nil
}

// Valid tells whether exactly one of its kinds is set.
func (a Act) Valid() bool { return a.deed() != nil }

// Needed tells whether anything is left to do for an act. It only reads.
func (a Act) Needed(ctx context.Context, d host.Doer) (bool, error) {
	_, need, err := a.deed().found(ctx, &Executor{Doer: d})
	return need, err
}

// Kind names what an act is: edit, switch, make, copy or move.
func (a Act) Kind() string { names, _ := a.kinds(); return strings.Join(names, " and ") }

// Place names what an act changes.
func (a Act) Place() string { return a.deed().place() }

// form is the least form of a journal that can hold the act.
func (a Act) form() int {
	if a.Edit != nil && a.Edit.Still == nil || a.Switch != nil && a.Switch.From == "" && a.Switch.Still == nil && !a.Switch.Either {
		return 1
	}
	return Form
}

// Words say for people what was at the place before the act, and what the act makes of it.
func (p Recorded) Words() (before, after string) { return p.Act.deed().words(&p) }

// Back lists what undoing it would run, besides writing and renaming files: commands, statements, and writes
// to the kernel's files.
func (p Recorded) Back() []Op { return p.Act.deed().back(&p) }

// markLetters are what marks are made of.
const markLetters = "abcdefghijklmnopqrstuvwxyz234567"

// isMark tells whether the mark in a journal is well formed: it becomes part of file names.
func isMark(mark string) bool { return mark != "" && strings.Trim(mark, markLetters) == "" }

// newMark makes a word that no other act has and that nobody can guess.
func newMark() string { return strings.ToLower(rand.Text()) }
