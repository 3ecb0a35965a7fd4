package rule_test

import (
	"strings"
	"testing"

	"plumb/internal/rule"
)

// TestTitlesOfNotesNameTheThing: of a note people see the title alone, so it
// says which thing it is about, or what value. Only a rule about the whole
// host, with no value to tell, may go without.
func TestTitlesOfNotesNameTheThing(t *testing.T) {
	base := embedded(t)
	for _, r := range base.Rules() {
		if r.Harm == rule.Note && !strings.Contains(r.Title, "{") && len(r.For) > 0 {
			t.Errorf("%s: the title %q names no thing and no value", r.ID, r.Title)
		}
	}
}
