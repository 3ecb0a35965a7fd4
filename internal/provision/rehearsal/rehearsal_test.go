package rehearsal_test

import (
	"strings"
	"testing"

	"plumb/internal/provision/rehearsal"
)

// Each difference is one: a table that is other, gone or new.
func TestSame(t *testing.T) {
	before := map[string]string{"a": "1", "b": "2"}
	for what, after := range map[string]map[string]string{"other": {"a": "1", "b": "3"}, "gone": {"a": "1"}, "new": {"a": "1", "b": "2", "c": "3"}} {
		err := rehearsal.Same(before, after)
		if err == nil {
			t.Errorf("%s: no error", what)
		}
	}
	if err := rehearsal.Same(before, map[string]string{"b": "2", "a": "1"}); err != nil {
		t.Error(err)
	}
	many := map[string]string{}
	for _, name := range strings.Split("a b c d e f g", " ") {
		many[name] = "1"
	}
	if err := rehearsal.Same(many, nil); err == nil || !strings.Contains(err.Error(), "and 2 others") {
		t.Error(err)
	}
}
