package change

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"plumb/internal/edit"
	"plumb/internal/journal"
)

// The kinds of records of a change. The words are part of the file's form.
const (
	kindBegin         = "begin"          // Begin
	kindIntent        = "intent"         // intent: the act is about to be done
	kindPlan          = "plan"           // plan: all acts that will be done, since form 2
	kindMade          = "made"           // result: the identity and the state of what was made; since form 2
	kindProgress      = "progress"       // result: how far a copy is; since form 2
	kindReturning     = "returning"      // result: what was written in the new place of moved data is being copied back; since form 2
	kindDone          = "done"           // result
	kindFailed        = "failed"         // result: it was not done, or is taken back next
	kindUndoing       = "undoing"        // result: it is about to be undone
	kindUndone        = "undone"         // result
	kindLeft          = "left"           // result: its place was changed by others and was left as it is, or it was forgotten
	kindRestarting    = "restarting"     // restart: it is about to be done
	kindRestarted     = "restarted"      // result
	kindRestartedBack = "restarted-back" // result: done again once the files were as before
	kindEnd           = "end"            // result: all steps were tried
	kindConfirmed     = "confirmed"      // nothing
)

// Form of a change's journal. Form 1 had only edits and switches. A change of nothing else is still written in form 1,
// so that a Plumb of that time can undo it.
const Form = 2

// Begin opens the journal of a change.
type Begin struct {
	Version int       `json:"version"` // the form: 1 or Form
	Plumb   string    `json:"plumb"`   // version of the Plumb that made it
	Host    string    `json:"host"`
	User    string    `json:"user"`
	Try     time.Time `json:"try,omitzero"` // undone at this time unless confirmed
	Of      string    `json:"of,omitempty"` // what it is a stage of: "provision tank/mariadb"; "" when it stands alone
	// Loan is set if the change ends with the process that made it: it names the boot of the machine in which that
	// process runs. Such a change cannot be confirmed.
	Loan  string `json:"loan,omitempty"`
	Steps []Step `json:"steps"`
}

// intent is an act with all that undoing it needs.
type intent struct {
	Step int `json:"step"` // from 0
	Act  Act `json:"act"`
	Made `json:"made"`
}

// plan lists all acts of a change, so that one that was killed can be resumed from its journal alone.
type plan struct {
	Acts []plannedAct `json:"acts"`
}

type plannedAct struct {
	Step int `json:"step"`
	Act  Act `json:"act"`
}

// Made is what was found when an act was about to be done.
type Made struct {
	Before string       `json:"before,omitempty"` // of a switch: its state
	New    bool         `json:"new,omitempty"`    // of an edit: the file was not there
	Splice *edit.Splice `json:"splice,omitempty"` // of an edit: what changes in the file
	Value  *string      `json:"value,omitempty"`  // of an edit: what the key was set to in the file
	Unset  bool         `json:"unset,omitempty"`  // of an edit: the file did not set the key
	In     string       `json:"in,omitempty"`     // of an edit: the identity of the file's directory
	Mark   string       `json:"mark,omitempty"`   // of a making, copy or move: a word that no other act has, by which what it made is recognised
}

// result says what became of an intent; N is its record's number.
type result struct {
	N     int    `json:"intent,omitempty"`
	Got   string `json:"got,omitempty"` // the state read afterwards, when it is not the one wanted
	Why   string `json:"why,omitempty"`
	What  string `json:"what,omitempty"`
	Files int    `json:"files,omitempty"` // of a copy: how many files of its list are there
	// Forgotten says of an act that is left that nobody looked at it. An earlier Plumb does not know the field, and
	// leaves such an act alone as well.
	Forgotten bool `json:"forgotten,omitempty"`
	// Cut says of an act that failed that it was interrupted: what it began may exist all the same.
	Cut bool `json:"cut,omitempty"`
}

// Restart is a restart that a change did, or began.
type Restart struct {
	What string `json:"what"` // "a restart of mariadb.service"
	Do   []Op   `json:"do"`
	Back bool   `json:"-"` // done again since, for what was taken back
}

// State is what is known of a journaled act.
type State string

// The states of an act.
const (
	Begun   State = "begun"   // its intent is written; whether it was done is not known
	Done    State = "done"    //
	Failed  State = "failed"  // it was not done; what it left is taken back by an undo
	Undoing State = "undoing" // an undo of it began and did not end
	Undone  State = "undone"  //
	Left    State = "left"    // changed by others since, and left so; or forgotten
)

// Recorded is an act of a change as the journal tells it.
type Recorded struct {
	N     int // of its intent
	Step  int
	Act   Act
	Made  Made
	State State
	Got   string // the state that was reached, when it is not the one wanted
	Why   string // why it failed or was left

	Identity string // of what was made; "" before that was written down
	Kept     string // the state of what was made, or the digest of what was copied
	Files    int    // of a copy: how many files are there and compared
	// Forgotten is set if it was left without being looked at: whether it is in force is not known.
	Forgotten bool

	used      bool   // others may have written to what was made: the act at its KeepFrom was begun
	returning bool   // of a move: an undo has begun to copy back
	reached   bool   // it was done once, whatever happened later
	failed    bool   // it failed once
	cut       bool   // and was interrupted then
	seen      string // of a switch: its state when the first undo began
}

// open tells whether there may be something to undo.
func (p Recorded) open() bool { return p.State != Undone && p.State != Left }

// Change is one run of fix as its journal tells it.
type Change struct {
	Number int
	Begin
	At        time.Time
	Acts      []Recorded
	Restarts  []Restart
	Damage    error // why its journal cannot be read; then nothing else of it is known
	Ended     bool  // all steps were tried, or taken back
	Confirmed bool
	Last      time.Time // of its last record

	log  journal.Log
	plan []plannedAct
	File string // its journal

	discard bool // an undo loses what a moved server wrote since
}

// Open tells whether anything of it may still be in force.
func (c *Change) Open() bool { return slices.ContainsFunc(c.Acts, Recorded.open) }

// RestartsBack lists the restarts that it did and that were not done again
// since all of it was taken back.
func (c *Change) RestartsBack() []Restart {
	return slices.DeleteFunc(slices.Clone(c.Restarts), func(r Restart) bool { return r.Back })
}

// Overdue tells whether it should have been undone by now and was not.
func (c *Change) Overdue(now time.Time) bool {
	return !c.Try.IsZero() && !c.Confirmed && c.Open() && now.After(c.Try)
}

// Stranded tells whether it is a loan of an earlier boot that is still in force: both the process that should have
// undone it and the one that watched that process are gone.
func (c *Change) Stranded(boot string) bool { return c.Loan != "" && c.Loan != boot && c.Open() }

// replay makes a change of its journal.
func replay(number int, file string, text []byte) (*Change, error) {
	log, err := journal.Read(text)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	c := &Change{Number: number, log: log, File: file}
	for _, r := range log.Records {
		if err := c.take(r); err != nil {
			return nil, fmt.Errorf("read %s: record %d: %w", file, r.N, err)
		}
	}
	return c, nil
}

// take adds a record to the picture.
func (c *Change) take(r journal.Record) error {
	c.Last = r.At
	switch r.Kind {
	case kindBegin:
		c.At = r.At
		if err := json.Unmarshal(r.Body, &c.Begin); err != nil {
			return err
		}
		if c.Version > Form {
			return &Refusal{Why: fmt.Sprintf("it was written by Plumb %s, in form %d: this one knows form %d", c.Plumb, c.Version, Form), What: newerHint}
		}
		return nil
	case kindPlan:
		return c.planned(r.Body)
	case kindConfirmed:
		c.Confirmed = true
		return nil
	case kindIntent:
		var i intent
		if err := json.Unmarshal(r.Body, &i); err != nil {
			return err
		}
		if err := i.known(c); err != nil {
			return err
		}
		c.Acts = append(c.Acts, Recorded{N: r.N, Step: i.Step, Act: i.Act, Made: i.Made, State: Begun})
		c.use(i.Act.Place())
		return nil
	case kindRestarting:
		var again Restart
		if err := json.Unmarshal(r.Body, &again); err != nil {
			return err
		}
		if err := known(again.Do); err != nil {
			return err
		}
		c.Restarts = append(c.Restarts, again)
		return nil
	}
	var res result
	if err := json.Unmarshal(r.Body, &res); err != nil {
		return err
	}
	return c.result(r.Kind, res)
}

// use notes, when the act at a place begins, which earlier things others may write to from now on.
func (c *Change) use(place string) {
	for i := range c.Acts {
		c.Acts[i].used = c.Acts[i].used || c.Acts[i].Act.spare().KeepFrom == place
	}
}

func (c *Change) result(kind string, res result) error {
	states := map[string]State{kindDone: Done, kindFailed: Failed, kindUndoing: Undoing, kindUndone: Undone, kindLeft: Left}
	state, ofAct := states[kind]
	ofAct = ofAct || slices.Contains([]string{kindMade, kindProgress, kindReturning}, kind)
	switch {
	case kind == kindEnd:
		c.Ended = true
		return nil
	case kind == kindRestartedBack:
		for i := range c.Restarts {
			c.Restarts[i].Back = c.Restarts[i].Back || c.Restarts[i].What == res.What
		}
		return nil
	case !ofAct:
		return nil // of a newer Plumb, or only for people
	}
	p := c.find(res.N)
	if p == nil {
		return fmt.Errorf("%s of record %d, which is not an intent", kind, res.N)
	}
	p.became(kind, state, res)
	return nil
}

// find gives the act whose intent has a number; nil when none has.
func (c *Change) find(n int) *Recorded {
	if i := slices.IndexFunc(c.Acts, func(p Recorded) bool { return p.N == n }); i >= 0 {
		return &c.Acts[i]
	}
	return nil
}

// became adds to an act what a later record says of it.
func (p *Recorded) became(kind string, state State, res result) {
	switch kind {
	case kindMade:
		p.Identity, p.Kept = res.Got, res.What
	case kindProgress:
		p.Files, p.Kept = res.Files, res.What
	case kindReturning:
		p.returning = true
	default:
		p.State, p.Why, p.Forgotten = state, res.Why, res.Forgotten
		p.reached, p.failed, p.cut = p.reached || state == Done, p.failed || state == Failed, p.cut || res.Cut
		if state == Undoing && p.seen == "" {
			p.seen = res.Got
		}
		if state == Done {
			p.Got = res.Got
		}
	}
}

// planned reads the record that lists the acts of a change.
func (c *Change) planned(body json.RawMessage) error {
	var all plan
	if err := json.Unmarshal(body, &all); err != nil {
		return err
	}
	for _, a := range all.Acts {
		if !a.Act.Valid() || a.Step < 0 || a.Act.form() > c.Version {
			return unknown("a plan with an act that is of no kind known here")
		}
	}
	c.plan = all.Acts
	return nil
}
