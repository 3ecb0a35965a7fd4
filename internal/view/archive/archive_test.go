package archive

import (
	"strings"
	"testing"
	"time"

	"plumb/internal/archive"
	"plumb/internal/view/page"
)

// Two series of a log that was reset have the same places: they are told apart as --log takes them.
func TestListOfSeries(t *testing.T) {
	of := func(server, series string) archive.Stretch {
		return archive.Stretch{Server: server, Series: series, From: "binlog.000001:0", To: "binlog.000001:487", Pieces: 2, Bytes: 487}
	}
	const two = "another series"
	for want, all := range map[string][]archive.Stretch{
		"mysql/b ": {of("mysql", "a"), of("mysql", "b"), of("other", "a")},
		"mysql ":   {of("mysql", "a"), of("mysql", "a"), of("other", "b")},
	} {
		got := List("file:///x", all, nil, page.Screen{Width: 100})
		if !strings.Contains(got, "\n  "+want) || !strings.Contains(got, "\n  other ") || strings.Contains(got, two) != strings.Contains(want, "/") {
			t.Errorf("%s", got)
		}
	}
}

// What was pruned is told as far as it is known.
func TestPrunedText(t *testing.T) {
	at := time.Unix(1_800_000_000, 0)
	for want, one := range map[string]Pruned{
		"pruned before binlog.000004 at 2027-01-15 08:00:00 UTC by db1":                                                               {Before: "binlog.000004", Since: at, By: "db1"},
		"pruned before binlog.000004 at 2027-01-15 08:00:00 UTC by db1; 1 piece is still there from before":                           {Before: "binlog.000004", Since: at, By: "db1", Left: 1},
		"pruned before binlog.000004 at 2027-01-15 08:00:00 UTC by db2, which is not trusted: nobody whom this host trusts signed it": {Before: "binlog.000004", Since: at, By: "db2", Doubt: "nobody whom this host trusts signed it"},
		"whether it was pruned is not known: read where the log of mysql begins: malformed note":                                      {Doubt: "read where the log of mysql begins: malformed note"},
	} {
		if got := prunedText(one); got != want {
			t.Errorf("%q, and it should be %q", got, want)
		}
	}
}
