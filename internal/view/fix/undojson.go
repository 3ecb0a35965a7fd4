package fix

import (
	"plumb/internal/change"
	"plumb/internal/fix"
)

// UndoJSON is version 1 of what undo --json prints.
type UndoJSON struct {
	Plumb    int           `json:"plumb"`
	Kind     string        `json:"kind"`              // "undo"
	DryRun   bool          `json:"dry_run,omitempty"` // nothing was done: what would be
	Acts     []UndoActJSON `json:"acts"`
	Restarts []string      `json:"restarts,omitempty"` // with --restart, that are done again once the acts are undone
}

// UndoActJSON is one act that was to be taken back.
type UndoActJSON struct {
	Change int      `json:"change"`
	Place  string   `json:"place"`
	State  string   `json:"state"`                  // undone, left, or what it still is
	Unseen bool     `json:"forgotten,omitempty"`    // it was left by --forget, which did not look at it: whether it is in force is not known
	To     string   `json:"to,omitempty"`           // of a dry run: what it goes back to, in words
	Runs   []string `json:"runs,omitempty"`         // of a dry run: commands and statements, as the journal has them
	Waits  string   `json:"waits_for,omitempty"`    // the server that does not answer; undo again once it runs
	Aside  string   `json:"set_aside_by,omitempty"` // by which command it was put aside in place of being removed, as others may have written to it
	Error  string   `json:"error,omitempty"`
}

// UndoDocument makes the document of an undo.
func UndoDocument(trail []fix.Undone) UndoJSON {
	doc := UndoJSON{Plumb: 1, Kind: "undo", Acts: []UndoActJSON{}}
	for _, u := range trail {
		j := UndoActJSON{Change: u.Change, Place: u.Past.Act.Place(), State: string(u.Past.State), Unseen: u.Past.Forgotten}
		if u.Err != nil {
			j.Error = u.Err.Error()
		} else {
			j.Aside = aside(u)
		}
		j.Waits = waitsFor(u.Err)
		doc.Acts = append(doc.Acts, j)
	}
	return doc
}

// UndoPlanDocument makes the document of what an undo would do.
func UndoPlanDocument(todo []*change.Change, how fix.Undo) UndoJSON {
	doc := UndoJSON{Plumb: 1, Kind: "undo", DryRun: true, Acts: []UndoActJSON{}}
	for _, c := range todo {
		for i := len(c.Acts) - 1; i >= 0; i-- {
			a := c.Acts[i]
			if a.State == change.Undone || a.State == change.Left {
				continue
			}
			doc.Acts = append(doc.Acts, undoPlanned(c, a, how))
		}
		if how.Restart {
			for _, r := range c.RestartsBack() {
				doc.Restarts = append(doc.Restarts, restartLine(r))
			}
		}
	}
	return doc
}

// undoPlanned says of one act what would be done to take it back.
func undoPlanned(c *change.Change, a change.Recorded, how fix.Undo) UndoActJSON {
	j := UndoActJSON{Change: c.Number, Place: a.Act.Place(), State: string(a.State), To: "stays as it is"}
	if how.Forget {
		return j
	}
	j.To = backValues(a, how.Discard)
	for _, o := range a.Back() {
		j.Runs = append(j.Runs, opLine(o))
	}
	return j
}
