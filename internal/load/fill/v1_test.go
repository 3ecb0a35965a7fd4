package fill

import (
	"os"
	"strings"
	"testing"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/load"
)

// v1 gives the notes that psql printed of a load of 2026-11-23 (3baf977).
func v1(t *testing.T) (rows host.Rows) {
	t.Helper()
	text, err := os.ReadFile("testdata/v1/notes.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.TrimSpace(line), "|")[1:] // the first is the workload
		var row []*string
		for i := range cells {
			row = append(row, &cells[i])
		}
		rows.Values = append(rows.Values, row)
	}
	return rows
}

func TestReadsWhatEarlierPlumbsNoted(t *testing.T) {
	notes, err := parseNotes(v1(t))
	if err != nil {
		t.Fatal(err)
	}
	s := stateOf(notes)
	if !s.Complete || len(s.Tables) != 1 || s.Matches([]load.Setting{{Name: "table-size", Value: "1000"}, {Name: "generator", Value: "1"}}) != nil {
		t.Errorf("%+v", s)
	}
}

// Notes of a newer form are not understood, so nothing is loaded or taken away by
// them.
func TestNewerNotesAreRefused(t *testing.T) {
	rows := v1(t)
	kind, name, version, none := kindForm, "", "2", "0"
	rows.Values = append(rows.Values, []*string{&kind, &name, &version, &none, &name})
	if _, err := parseNotes(rows); err == nil || !strings.Contains(hint.Of(err), "newer plumb") {
		t.Errorf("got %v", err)
	}
}
