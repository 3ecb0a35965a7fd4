package fix

import (
	"time"

	"plumb/internal/catalog"
	"plumb/internal/change"
	"plumb/internal/fix"
	"plumb/internal/stack"
	"plumb/internal/view/page"
)

// FixJSON is version 1 of what fix --json prints.
type FixJSON struct {
	Plumb   int              `json:"plumb"`
	Kind    string           `json:"kind"`             // "fix"
	Change  int              `json:"change,omitempty"` // its number in the journal
	Applied bool             `json:"applied"`          // whether anything was tried
	Steps   []FixStepJSON    `json:"steps"`
	Refused []FixRefusedJSON `json:"refused"`
	Already []string         `json:"already"`        // knobs whose value is in force and lasts
	Missing []string         `json:"missing_rights"` // with any, the plan is refused as a whole
}

// FixStepJSON is one step and what became of it.
type FixStepJSON struct {
	Knob           string      `json:"knob"`
	From           stack.Value `json:"from"` // in force when it was prepared; null when that is not known
	To             stack.Value `json:"to"`
	Because        string      `json:"because"`
	Rules          []string    `json:"rules"`                  // that ask for it
	Effect         string      `json:"effect"`                 // now, reload, new-writes, remount or restart
	Waits          string      `json:"waits_for,omitempty"`    // what must happen before it is in force
	Lasts          string      `json:"persisted_in,omitempty"` // what makes it last
	Undo           string      `json:"undo"`                   // how it is taken back, in words
	Places         []string    `json:"places"`                 // that are changed, in their order
	DurabilityFrom string      `json:"durability_from"`
	DurabilityTo   string      `json:"durability_to"`
	Notes          []string    `json:"notes,omitempty"`
	State          string      `json:"state"`            // planned, done, waiting, failed or not begun
	Result         string      `json:"result,omitempty"` // what came of it, in words
	Fires          []string    `json:"still_fires"`      // rules that asked for it and still fire
}

// FixRefusedJSON is a step that is not done.
type FixRefusedJSON struct {
	Knob   string      `json:"knob"`
	To     stack.Value `json:"to"`
	Reason string      `json:"reason"`
	Hint   string      `json:"hint,omitempty"`
	Whole  bool        `json:"refuses_the_plan"` // whether nothing of the plan is done because of it
}

// Document makes the document of a fix.
func Document(r fix.Result, cat *catalog.Catalog) FixJSON {
	d := r.Draft
	doc := FixJSON{Plumb: 1, Kind: "fix", Change: r.Number, Applied: r.Number > 0, Steps: []FixStepJSON{}, Refused: []FixRefusedJSON{}, Already: []string{}, Missing: page.NotNil(d.Missing)}
	p := newFixPage(cat, page.Screen{})
	for i, s := range d.Steps {
		j := FixStepJSON{Knob: s.Knob.String(), From: s.Now, To: s.To, Because: s.Because, Rules: page.NotNil(s.Why), Effect: string(s.Recipe.Effect),
			Waits: s.Recipe.Waits, Lasts: s.Recipe.Lasts, DurabilityFrom: s.DurabilityFrom, DurabilityTo: s.DurabilityTo, Notes: s.Recipe.Notes, State: "planned",
			Undo: undoing(s), Places: []string{}, Fires: []string{}}
		for _, a := range s.Recipe.Acts {
			j.Places = append(j.Places, a.Place())
		}
		if i < len(r.Steps) && r.Number > 0 {
			j.State, j.Result = stateWord(r.Steps[i]), p.became(r.Steps[i], find(r.After, s.Knob))
			if a := find(r.After, s.Knob); a != nil {
				j.Fires = page.NotNil(a.Fires)
			}
		}
		doc.Steps = append(doc.Steps, j)
	}
	for _, no := range d.Refused {
		doc.Refused = append(doc.Refused, FixRefusedJSON{no.Knob.String(), no.To, no.Reason, no.Hint, no.Whole})
	}
	for _, s := range d.Already {
		doc.Already = append(doc.Already, s.Knob.String())
	}
	return doc
}

func stateWord(s change.StepOutcome) string {
	switch {
	case s.Failure != "":
		return "failed"
	case !s.Done:
		return "not begun"
	case s.Recipe.Waits != "" && !s.Restarted:
		return "waiting"
	}
	return "done"
}

// HistoryJSON is version 1 of what history --json prints.
type HistoryJSON struct {
	Plumb   int          `json:"plumb"`
	Kind    string       `json:"kind"` // "history"
	Changes []ChangeJSON `json:"changes"`
}

// ChangeJSON is one change.
type ChangeJSON struct {
	Number    int        `json:"number"`
	At        time.Time  `json:"at"`
	User      string     `json:"user"`
	Host      string     `json:"host"`
	Version   string     `json:"plumb_version"`
	State     string     `json:"state"`               // applied, undone, partly undone, try, overdue, interrupted, nothing done, forgotten (undone, but for acts that plumb undo --forget left) or damaged
	Open      bool       `json:"in_force"`            // whether there is something to undo
	Try       *time.Time `json:"undone_at,omitempty"` // unless it is confirmed before
	Confirmed bool       `json:"confirmed,omitempty"`
	Acts      []ActJSON  `json:"acts"`
	Damage    string     `json:"damage,omitempty"`   // of state damaged: why its journal cannot be read
	Restarts  []string   `json:"restarts,omitempty"` // that it did
}

// ActJSON is one act.
type ActJSON struct {
	Knob   string `json:"knob"`
	Act    string `json:"act"`    // edit, switch, make, copy or move
	Place  string `json:"place"`  // what it changed: a file and its key, a setting, a directory, a dataset
	Before string `json:"before"` // the state found, or the lines of a file; "not there" of what was made or copied
	After  string `json:"after"`  // the state reached, or the lines written; of what was made, copied or moved, in words
	New    bool   `json:"new_file,omitempty"`
	State  string `json:"state"`               // begun, done, failed, undoing, undone or left
	Why    string `json:"why,omitempty"`       // why it failed, or was left as others set it
	Unseen bool   `json:"forgotten,omitempty"` // it was left by plumb undo --forget, which did not look at it: whether it is in force is not known
}

// HistoryDocument makes the document of changes.
func HistoryDocument(all []*change.Change, now time.Time) HistoryJSON {
	doc := HistoryJSON{Plumb: 1, Kind: "history", Changes: []ChangeJSON{}}
	for _, c := range all {
		j := ChangeJSON{Number: c.Number, At: c.At, User: c.User, Host: c.Host, Version: c.Plumb, State: changeWord(c, now), Open: c.Open(), Confirmed: c.Confirmed, Acts: []ActJSON{}}
		if !c.Try.IsZero() {
			j.Try = &c.Try
		}
		if c.Damage != nil {
			j.Damage = c.Damage.Error()
		}
		for _, r := range c.Restarts {
			j.Restarts = append(j.Restarts, restartLine(r))
		}
		for _, a := range c.Acts {
			j.Acts = append(j.Acts, actJSON(c, a))
		}
		doc.Changes = append(doc.Changes, j)
	}
	return doc
}

func actJSON(c *change.Change, a change.Recorded) ActJSON {
	j := ActJSON{Act: a.Act.Kind(), Place: a.Act.Place(), State: string(a.State), Why: a.Why, New: a.Made.New, Unseen: a.Forgotten}
	j.Before, j.After = a.Words()
	if a.Step < len(c.Steps) {
		j.Knob = c.Steps[a.Step].Knob.String()
	}
	return j
}
