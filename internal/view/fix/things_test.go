package fix

import (
	"encoding/json"
	"strings"
	"testing"

	"plumb/internal/change"
	"plumb/internal/fix"
	"plumb/internal/stack"
	"plumb/internal/view/page"
	"plumb/internal/view/viewtest"
)

// Every kind of act is shown: before it is done, as history, as a plan of its undo.
func TestActsThatMake(t *testing.T) {
	all, now := someHistory()
	c := all[0]
	acts := []change.Recorded{
		{Act: change.Act{Make: &change.Make{Thing: change.Thing{Path: "/srv/mysql"}, Directory: &change.Dir{Perm: 0o750, UID: 27, GID: 27}}}, State: change.Done},
		{Act: change.Act{Make: &change.Make{Thing: change.Thing{Dataset: "tank/db"}, Undo: []change.Op{{Argv: []string{"zfs", "destroy", "tank/db"}}}}}, State: change.Done},
		{Act: change.Act{Copy: &change.Copy{From: "/var/lib/mysql", To: "/srv/mysql/data"}}, State: change.Begun, Files: 512},
	}
	c.Acts = append(c.Acts, acts...)
	screen := page.Screen{Width: 80}
	viewtest.Golden(t, "history-things.txt", HistoryOf(c, now, screen)+UndoPlan([]*change.Change{c}, fix.Undo{}, screen))
	text, err := json.MarshalIndent([]any{HistoryDocument([]*change.Change{c}, now), UndoPlanDocument([]*change.Change{c}, fix.Undo{})}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	viewtest.Golden(t, "history-things.json", string(text)+"\n")
	var s change.Prepared
	s.Knob = stack.Knob{Of: stack.Ref{Kind: "host", Name: "db1"}, Name: "x"}
	for _, a := range acts {
		s.Recipe.Acts = append(s.Recipe.Acts, a.Act)
	}
	want := "removed, as long as it is unchanged, copy removed, as long as nobody changed it"
	if got := undoing(s); got != want {
		t.Errorf("undo: %s", got)
	}
	moved := &change.Change{Number: 3, Acts: []change.Recorded{}}
	for _, phase := range []string{change.MoveCopy, change.MoveAside, change.MoveGive} {
		moved.Acts = append(moved.Acts, change.Recorded{Act: change.Act{Move: &change.Move{Phase: phase, On: "mysql:3306"}}, State: change.Done})
	}
	for words, lose := range map[string]bool{"copy back what was written there since": false, "lose what was written there since": true} {
		text := UndoPlan([]*change.Change{moved}, fix.Undo{Discard: lose}, screen)
		if !strings.Contains(text, "data in place of mysql:3306: "+words+"\n    data at rest of mysql:3306: put the old files back in their place\n    data of mysql:3306: remove the copies\n") {
			t.Errorf("lose %v:\n%s", lose, text)
		}
	}
}

// What others may have written to is put aside by an undo, and not removed: before and afterwards, it says so.
func TestWhatIsPutAsideIsTold(t *testing.T) {
	argv := func(words ...string) []change.Op { return []change.Op{{Argv: words}} }
	past := change.Recorded{Act: change.Act{Make: &change.Make{Thing: change.Thing{Dataset: "tank/next"}, Undo: argv("zfs", "destroy", "tank/next"),
		Spare: change.Spare{Keep: argv("zfs", "rename", "tank/next", "tank/db.undone-1")}}}, State: change.Done}
	text := UndoPlan([]*change.Change{{Number: 1, Acts: []change.Recorded{past}}}, fix.Undo{}, page.Screen{Width: 120})
	if !strings.Contains(text, "tank/next: move it aside, because others may have written to it\n        runs  zfs rename tank/next tank/db.undone-1\n") || strings.Contains(text, "destroy") {
		t.Errorf("planned:\n%s", text)
	}
	past.State = change.Undone
	trail := []fix.Undone{{Change: 1, Past: past}}
	if text := UndoOutcome(trail, page.Screen{Width: 120}); !strings.Contains(text, "put aside   tank/next, because others may have written to it: zfs rename tank/next tank/db.undone-1\n1 act taken back") {
		t.Errorf("done:\n%s", text)
	}
	if doc := UndoDocument(trail); doc.Acts[0].Aside != "zfs rename tank/next tank/db.undone-1" {
		t.Errorf("%+v", doc)
	}
}
