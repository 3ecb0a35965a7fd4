package driven

import (
	"testing"

	"plumb/internal/backup/driven"
)

// TestChosenNamesWhatIsMissing: the error says where which backup of what is not.
func TestChosenNamesWhatIsMissing(t *testing.T) {
	s := driven.Set{Name: "main", URL: "s3://backups"}
	f := driven.Found{Backups: []driven.Taken{{Label: "older"}, {Label: "newer"}}}
	for label, want := range map[string]string{"": "newer", "older": "older"} {
		if b, err := chosen(f, s, label); err != nil || b.Label != want {
			t.Errorf("%q: %q, %v", label, b.Label, err)
		}
	}
	if _, err := chosen(f, s, "gone"); err == nil || err.Error() != "s3://backups has no backup gone of main" {
		t.Errorf("one that is not there: %v", err)
	}
	if _, err := chosen(driven.Found{}, s, ""); err == nil || err.Error() != "s3://backups has no backup of main" {
		t.Errorf("none: %v", err)
	}
}
