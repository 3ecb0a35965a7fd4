package inventory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/journal"
)

// The kinds of records of a book. The words are part of the file's form.
const (
	kindBegin  = "begin"  // begin
	kindIntent = "intent" // Thing: it is about to be made
	kindMade   = "made"   // result: it was made
	kindGone   = "gone"   // result: it is taken away
	kindLeft   = "left"   // result: it is no more in the book, and was not taken away

	kindAdopted = "adopted" // Thing: it was there, and is meant to live (form 2)
)

// Version is the form of books. Form 2 has things that are meant to live,
// which a Plumb that knows form 1 would take away: so it must refuse the book.
const Version = 2

// begin opens a book.
type begin struct {
	Version int    `json:"version"` // Version, or an earlier one
	Run     string `json:"run"`
	Boot    string `json:"boot,omitempty"` // of which life of the kernel; "" when unknown
}

// result says what became of an intent.
type result struct {
	N     int    `json:"intent"`          // its record's number
	Thing *Thing `json:"thing,omitempty"` // of made: as it came out
	Why   string `json:"why,omitempty"`   // of left
}

// Entry is a thing as the book tells it.
type Entry struct {
	N     int       // record of its intent
	At    time.Time // when it was about to be made
	Thing Thing
	Whole bool // it was made: name and proof are complete
	Gone  bool // it was taken away, or is not ours any more
}

// pages are what a book holds.
type pages struct {
	begin   begin
	begun   bool
	entries []Entry
	log     journal.Log
}

// replay reads a book.
func replay(text []byte) (*pages, error) {
	log, err := journal.Read(text)
	if err != nil {
		return nil, err
	}
	p := &pages{log: log}
	for _, r := range log.Records {
		if err := p.take(r); err != nil {
			return nil, fmt.Errorf("record %d: %w", r.N, err)
		}
	}
	return p, nil
}

// take adds a record to the picture.
func (p *pages) take(r journal.Record) error {
	switch r.Kind {
	case kindBegin:
		if err := json.Unmarshal(r.Body, &p.begin); err != nil {
			return err
		}
		if p.begin.Version > Version {
			return hint.With(fmt.Errorf("it is of form %d, of a later Plumb: this one knows form %d", p.begin.Version, Version), "use the Plumb that wrote it; nothing that it names was touched")
		}
		p.begun = true
		return nil
	case kindIntent, kindAdopted:
		e := Entry{N: r.N, At: r.At, Whole: r.Kind == kindAdopted}
		err := json.Unmarshal(r.Body, &e.Thing)
		p.entries = append(p.entries, e)
		return err
	}
	var res result
	if err := json.Unmarshal(r.Body, &res); err != nil {
		return err
	}
	i := slices.IndexFunc(p.entries, func(e Entry) bool { return e.N == res.N })
	if i < 0 {
		return fmt.Errorf("there is no intent %d", res.N)
	}
	switch r.Kind {
	case kindMade:
		if res.Thing != nil {
			p.entries[i].Thing = *res.Thing
		}
		p.entries[i].Whole = true
	case kindGone, kindLeft:
		p.entries[i].Gone = true
	default:
		return fmt.Errorf("it says %q, which a book never says", r.Kind)
	}
	return nil
}

// note writes a record down; when it returns, the record is on disk.
func (p *pages) note(ctx context.Context, d host.Doer, file, kind string, body any) error {
	text, err := p.log.Append(time.Now(), kind, body)
	if err != nil {
		return err
	}
	if err := d.Append(ctx, file, text); err != nil {
		p.log.Drop()
		return fmt.Errorf("keep the book of what is made: %w", err)
	}
	return p.take(p.log.Records[len(p.log.Records)-1])
}

// find gives the entry of a thing: the newest that is not gone, or else the
// newest. Two limits on devices have one file, so the proof counts too.
func (p *pages) find(t Thing) (Entry, bool) {
	best, found := Entry{}, false
	for _, e := range slices.Backward(p.entries) {
		if e.Thing.Kind != t.Kind || e.Thing.Name != t.Name || !maps.Equal(e.Thing.Proof, t.Proof) {
			continue
		}
		if !e.Gone {
			return e, true
		}
		if !found {
			best, found = e, true
		}
	}
	return best, found
}

// lives tells whether a thing is meant to live. One whose making did not end is
// not there to be used, and goes.
func (e Entry) lives() bool { return e.Whole && !e.Gone && e.Thing.Life != nil }

// open gives what is not gone, in the order in which it is taken away.
func (p *pages) open() []Entry {
	var all []Entry
	for _, e := range slices.Backward(p.entries) {
		if !e.Gone {
			all = append(all, e)
		}
	}
	slices.SortStableFunc(all, func(a, b Entry) int { return rank(a.Thing.Kind) - rank(b.Thing.Kind) })
	return all
}

// errInUse is why what others lie on is kept when they could not be taken away.
var errInUse = errors.New("kept until what uses it is gone")

// clear takes all away that is not meant to live. A directory whose pool,
// dataset or mount is still there, or a process that cannot be ended, is kept:
// the next sweep tries again. So is all that was made before something that
// lives: it may rest on it.
func (p *pages) clear(away func(Entry) error, tell func(Entry, error)) {
	used, lives := false, 0
	for _, e := range p.entries {
		if e.lives() {
			lives = e.N
		}
	}
	for _, e := range p.open() {
		kind := e.Thing.Kind
		switch {
		case e.lives():
			continue
		case e.N < lives, used && (kind == Loop || kind == File || kind == Tree):
			tell(e, fmt.Errorf("take %s %s away: %w", kind, e.Thing.Name, errInUse))
			continue
		}
		err := away(e)
		if err != nil && !errors.Is(err, ErrForeign) && (kind == Process || kind == Mount || kind == Pool || kind == Dataset || kind == Loop) {
			used = true
		}
		tell(e, err)
	}
}

func rank(kind string) int {
	switch kind {
	case Limit:
		return 0
	case Process:
		return 1
	}
	return 2
}
