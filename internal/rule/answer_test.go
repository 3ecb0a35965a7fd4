package rule_test

import (
	"fmt"
	"testing"

	"plumb/internal/rule"
	"plumb/internal/stack"
)

// TestAnswersAreOfWhatIsThere asks which verdicts show that a rule has met
// what it is about: method does not exist on this server, page is unknown.
func TestAnswersAreOfWhatIsThere(t *testing.T) {
	known := map[string]any{"connections": 5, "pool": 4096, "sync": true, "method": nil}
	for when, want := range map[string]int{
		`db.connections > 4`:                      1,
		`db.connections > 5`:                      1,
		`db.page > 1`:                             0, // unknown
		`db.connections > 5 && db.page > 1`:       1, // decided by what is known
		`db.method == "direct"`:                   0,
		`db.page > 1 && db.method == "direct"`:    0,
		`has(db.method)`:                          0,
		`has(db.method) && db.method == "direct"`: 0,
		`!has(db.method) && db.connections > 4`:   1, // fires
		`!has(db.method) && db.connections > 5`:   1,
		`(!has(db.method) || db.method == "direct") && db.connections > 5`:                            1,
		`has(db.method) && db.connections > 5`:                                                        0, // ends at the first
		`db.connections > 5 && has(db.method)`:                                                        1,
		`(has(db.method) && db.method == "direct") || db.connections > 5`:                             1, // one way to fire was looked at
		`(has(db.method) && db.method == "direct") || (has(db.method) && db.sync)`:                    0,
		`has(db.method) ? db.method == "direct" : db.connections > 5`:                                 1,
		`db.sync ? db.method == "direct" : db.sync`:                                                   0,
		`db.sync && !(has(db.method) || db.connections > 4)`:                                          0, // careful rather than complete
		`db.pool > 8192 && db.sync && (has(db.method) ? db.method == "direct" : db.connections == 5)`: 1,
	} {
		t.Run(when, func(t *testing.T) {
			s := &stack.Stack{}
			thing(s, "server", "a", known)
			got := loadOne(t, ruleText("db in server", fmt.Sprintf("%q", when), "")).Answers(s)
			if len(got) != want {
				t.Errorf("got %q, want %d", outcomes(got), want)
			}
		})
	}
}

func TestAnswersWantAllThings(t *testing.T) {
	s := &stack.Stack{}
	thing(s, "server", "a", map[string]any{"connections": 5})
	text := ruleText("db in server, v in db.data", "db.connections > 9 && v.record > 1", "")
	if got := judge(t, text, s); len(got) != 1 || got[0].Outcome != rule.Quiet {
		t.Fatalf("got %s", outcomes(got))
	}
	if got := loadOne(t, text).Answers(s); len(got) != 0 {
		t.Errorf("the volume was not seen, and got %s", outcomes(got))
	}
}

func TestConditionNamesWhatDecides(t *testing.T) {
	of := func(bindings, when, more string) string {
		return loadOne(t, ruleText(bindings, when, more)).Rule("x/r").Condition()
	}
	same := of("db in server", "db.sync", "")
	if len(same) != 12 || same != of("db in server", "db.sync", "seeds: [a-01]") {
		t.Errorf("%s changes with what decides nothing", same)
	}
	for _, other := range []string{of("db in server", "db.connections > 1", ""), of("d in server", "d.sync", ""), of("db in server, o in server", "db.sync", "distinct: [db, o]")} {
		if other == same {
			t.Errorf("%s is also another condition's", same)
		}
	}
}
