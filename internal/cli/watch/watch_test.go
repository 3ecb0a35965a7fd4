package watch

import (
	"strings"
	"testing"
	"time"

	"plumb/internal/cli/shell"
)

// An order of statements is one that there is, and of a screen that is printed.
func TestSortGoesWithOnce(t *testing.T) {
	for _, c := range []struct {
		once bool
		sort string
		want string // of the error
	}{{true, "time", ""}, {true, "rows", ""}, {true, "size", "--sort size is not known"}, {false, "time", ""}, {false, "rows", "--sort goes with --once"}} {
		err := watchFlags{Source: shell.Source{Timeout: time.Minute}, once: c.once, sort: c.sort, span: usualSpan}.validate()
		if (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
