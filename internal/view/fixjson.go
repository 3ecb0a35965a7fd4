package view

import (
	"time"

	"plumb/internal/catalog"
	"plumb/internal/change"
	"plumb/internal/stack"
)

// FixJSON is version 1 of what fix --json prints.
type FixJSON struct {
	Plumb   int              `json:"plumb"`
	Kind    string           `json:"kind"` // "fix"
	Change  int              `json:"change,omitempty"`
	Applied bool             `json:"applied"` // whether anything was tried
	Steps   []FixStepJSON    `json:"steps"`
	Refused []FixRefusedJSON `json:"refused"`
	Already []string         `json:"already"`
	Missing []string         `json:"missing_rights"`
}

// FixStepJSON is one step and what became of it.
type FixStepJSON struct {
	Knob           string      `json:"knob"`
	From           stack.Value `json:"from"`
	To             stack.Value `json:"to"`
	Because        string      `json:"because"`
	Rules          []string    `json:"rules"`
	Effect         string      `json:"effect"`
	Waits          string      `json:"waits_for,omitempty"`
	Lasts          string      `json:"lasts_in,omitempty"`
	DurabilityFrom string      `json:"durability_from"`
	DurabilityTo   string      `json:"durability_to"`
	Notes          []string    `json:"notes,omitempty"`
	State          string      `json:"state"` // planned, done, waiting, failed, not begun
	Result         string      `json:"result,omitempty"`
}

// FixRefusedJSON is a step that is not done.
type FixRefusedJSON struct {
	Knob   string      `json:"knob"`
	To     stack.Value `json:"to"`
	Reason string      `json:"reason"`
	Hint   string      `json:"hint,omitempty"`
	Whole  bool        `json:"refuses_the_plan"`
}

// FixDocument makes the document of a draft and, when it was applied, of what
// became of it.
func FixDocument(d change.Draft, out change.Outcome, after []After, cat *catalog.Catalog) FixJSON {
	doc := FixJSON{Plumb: 1, Kind: "fix", Change: out.Number, Applied: out.Number > 0, Steps: []FixStepJSON{}, Refused: []FixRefusedJSON{}, Already: []string{}, Missing: orEmpty(d.Missing)}
	p := newFixPage(cat, Screen{})
	for i, s := range d.Steps {
		j := FixStepJSON{Knob: s.Knob.String(), From: s.Now, To: s.To, Because: s.Because, Rules: orEmpty(s.Why), Effect: string(s.Recipe.Effect),
			Waits: s.Recipe.Waits, Lasts: s.Recipe.Lasts, DurabilityFrom: s.DurabilityFrom, DurabilityTo: s.DurabilityTo, Notes: s.Recipe.Notes, State: "planned"}
		if i < len(out.Steps) && out.Number > 0 {
			j.State, j.Result = stateWord(out.Steps[i]), p.became(out.Steps[i], find(after, s.Knob))
		}
		doc.Steps = append(doc.Steps, j)
	}
	for _, r := range d.Refused {
		doc.Refused = append(doc.Refused, FixRefusedJSON{r.Knob.String(), r.To, r.Reason, r.Hint, r.Whole})
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

func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
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
	State     string     `json:"state"`
	Open      bool       `json:"in_force"` // whether there is something to undo
	Try       *time.Time `json:"undone_at,omitempty"`
	Confirmed bool       `json:"confirmed,omitempty"`
	Acts      []ActJSON  `json:"acts"`
}

// ActJSON is one act.
type ActJSON struct {
	Knob   string `json:"knob"`
	Place  string `json:"place"`
	Values string `json:"values"`
	State  string `json:"state"`
	Why    string `json:"why,omitempty"`
}

// HistoryDocument makes the document of changes.
func HistoryDocument(all []*change.Change, now time.Time) HistoryJSON {
	doc := HistoryJSON{Plumb: 1, Kind: "history", Changes: []ChangeJSON{}}
	for _, c := range all {
		j := ChangeJSON{Number: c.Number, At: c.At, User: c.User, Host: c.Host, Version: c.Plumb, State: changeState(c, now), Open: c.Open(), Confirmed: c.Confirmed, Acts: []ActJSON{}}
		if !c.Try.IsZero() {
			j.Try = &c.Try
		}
		for _, a := range c.Acts {
			j.Acts = append(j.Acts, actJSON(c, a))
		}
		doc.Changes = append(doc.Changes, j)
	}
	return doc
}

func actJSON(c *change.Change, a change.Past) ActJSON {
	j := ActJSON{Place: a.Act.Place(), Values: pastValues(a), State: string(a.State), Why: a.Why}
	if a.Step < len(c.Steps) {
		j.Knob = c.Steps[a.Step].Knob.String()
	}
	return j
}

// UndoJSON is version 1 of what undo --json prints.
type UndoJSON struct {
	Plumb int           `json:"plumb"`
	Kind  string        `json:"kind"` // "undo"
	Acts  []UndoActJSON `json:"acts"`
}

// UndoActJSON is one act that was to be taken back.
type UndoActJSON struct {
	Change int    `json:"change"`
	Place  string `json:"place"`
	State  string `json:"state"` // undone, left, or what it still is
	Error  string `json:"error,omitempty"`
}

// UndoDocument makes the document of an undo.
func UndoDocument(trail []Undone) UndoJSON {
	doc := UndoJSON{Plumb: 1, Kind: "undo", Acts: []UndoActJSON{}}
	for _, u := range trail {
		j := UndoActJSON{Change: u.Change, Place: u.Past.Act.Place(), State: string(u.Past.State)}
		if u.Err != nil {
			j.Error = u.Err.Error()
		}
		doc.Acts = append(doc.Acts, j)
	}
	return doc
}
