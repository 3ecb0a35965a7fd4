package archive

import (
	"testing"
	"time"
)

// What was pruned is told as far as it is known.
func TestPrunedText(t *testing.T) {
	at := time.Unix(1_800_000_000, 0)
	for want, one := range map[string]Pruned{
		"pruned before binlog.000004 at 2027-01-15 08:00:00 UTC by db1":                                                {Before: "binlog.000004", Since: at, By: "db1"},
		"pruned before binlog.000004 at 2027-01-15 08:00:00 UTC by db1; 1 piece is still there from before":            {Before: "binlog.000004", Since: at, By: "db1", Left: 1},
		"pruned before binlog.000004 at 2027-01-15 08:00:00 UTC by db2, which is not believed: it is signed by nobody": {Before: "binlog.000004", Since: at, By: "db2", Doubt: "it is signed by nobody"},
		"whether it was pruned is not known: read where the log of mysql begins: malformed note":                       {Doubt: "read where the log of mysql begins: malformed note"},
	} {
		if got := prunedText(one); got != want {
			t.Errorf("%q, and it should be %q", got, want)
		}
	}
}
