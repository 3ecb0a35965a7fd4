package rule_test

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestSevereRulesQuoteTheirSource: a rule of danger or outage says in the words
// of upstream when it holds. testdata/unquoted.txt lists the rules written
// before that was asked; it only gets shorter, and names none that has a quote,
// needs none or is gone.
func TestSevereRulesQuoteTheirSource(t *testing.T) {
	base := embedded(t)
	list, err := os.ReadFile("testdata/unquoted.txt")
	if err != nil {
		t.Fatal(err)
	}
	owed := strings.Fields(string(list))
	var unquoted []string
	severe := 0
	for _, r := range base.Rules() {
		if !r.Severe() {
			continue
		}
		severe++
		if r.Quote.Says != "" {
			continue
		}
		unquoted = append(unquoted, r.ID)
		if !slices.Contains(owed, r.ID) {
			t.Errorf("%s is a rule of %s and quotes no source", r.ID, r.Harm)
		}
	}
	for _, id := range owed {
		if !slices.Contains(unquoted, id) {
			t.Errorf("testdata/unquoted.txt names %s, which is no severe rule without a quote", id)
		}
	}
	if severe < 100 {
		t.Errorf("only %d severe rules: is the list of rules whole?", severe)
	}
}
