package fix

import (
	"errors"

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
	State  string   `json:"state"`                  // undone, left, gone (removed for good), or what it still is
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
		j := UndoActJSON{Change: u.Change, Place: u.Past.Act.Place(), State: string(u.Past.State)}
		if u.Err != nil {
			j.Error = u.Err.Error()
		} else {
			j.Aside = aside(u)
		}
		if w, ok := errors.AsType[*change.Waiting](u.Err); ok {
			j.Waits = w.For
		}
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
			if a.State == change.Undone || a.State == change.Left || a.State == change.Gone {
				continue
			}
			j := UndoActJSON{Change: c.Number, Place: a.Act.Place(), State: string(a.State), To: backValues(a, how.Discard)}
			for _, o := range a.Back() {
				j.Runs = append(j.Runs, opLine(o))
			}
			doc.Acts = append(doc.Acts, j)
		}
		if how.Restart {
			for _, r := range c.RestartsBack() {
				doc.Restarts = append(doc.Restarts, restartLine(r))
			}
		}
	}
	return doc
}
