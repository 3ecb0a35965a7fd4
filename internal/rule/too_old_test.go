package rule_test

import (
	"strings"
	"testing"

	"plumb/internal/rule"
	"plumb/internal/stack"
)

// TestOldServersAreJudgedWhereTheRuleHolds puts servers older than the
// catalogue before the embedded rules: what speaks of every release, or of
// that version, is judged; what speaks of later ones is unknown and says why;
// quiet stays quiet.
func TestOldServersAreJudgedWhereTheRuleHolds(t *testing.T) {
	base := changeable(t)
	for _, version := range []string{"5.6.51", "8.0.46", "26.7.0"} {
		fired := 0
		for _, r := range base.Rules() {
			if len(r.For) != 1 || r.For[0].Kind != "mysql" {
				continue
			}
			for _, x := range r.Examples {
				for _, thing := range x.Things() {
					if thing.Ref.Kind == "mysql" {
						thing.Set("flavor", stack.Text("mysql"), "test")
						thing.Set("version", stack.Text(version), "test")
					}
				}
				speaks := false
				for _, c := range r.Claims() {
					speaks = speaks || c.Product == "mysql" && c.Has(version)
				}
				v := r.Try(x)
				if v.Outcome == rule.Fires {
					fired++
					if version == "5.6.51" && !speaks {
						t.Errorf("%s (%s) fires on a version of which it does not speak", r.ID, x.Name)
					}
				}
				older := len(v.Missing) > 0 && strings.Contains(v.Missing[0].Why, "older than")
				if older != (version == "5.6.51" && !speaks && v.Outcome == rule.Unknown) {
					t.Errorf("%s (%s) on %s: %s, missing %v", r.ID, x.Name, version, v.Outcome, v.Missing)
				}
			}
		}
		if fired < 10 {
			t.Errorf("%d examples fire on %s: the test shows nothing", fired, version)
		}
	}
}
